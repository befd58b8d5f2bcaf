"""Figures of learned_priors.rst: python docs/draw_known.py [names]."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from skbayes.defaults.learned_prior import library  # noqa: E402

FOLDER = Path(__file__).parent / "images" / "known"
SHOWN = ("SVC", "LogisticRegression", "DecisionTreeClassifier", "LGBMClassifier")
SHOWN += ("XGBClassifier",)
DPI = 80
COLUMNS = 4


def draw(name):
    """Plot the densities of one class, each relative to a uniform density."""
    densities = library()[name]["densities"]
    n_rows = -(-len(densities) // COLUMNS)
    figure, axes = plt.subplots(
        n_rows, COLUMNS, figsize=(9, 1.7 * n_rows), sharey=True, squeeze=False
    )
    for ax, (parameter, density) in zip(axes.flat, densities.items(), strict=False):
        ax.axhline(1.0, color="0.7", linewidth=0.8)
        options = density.get("options", [])
        if "at" in density:
            ax.fill_between(density["at"], np.exp(density["log_density"]), alpha=0.4)
            ax.set_xscale(density["scale"])
            for option, log in options:
                ax.axhline(np.exp(log), linestyle=":", label=repr(option))
            if options:
                ax.legend(fontsize=6, frameon=False)
        else:
            heights = np.exp([log for _, log in options])
            ax.bar([str(option) for option, _ in options], heights, alpha=0.4)
        ax.set_title(parameter, fontsize=9)
        ax.tick_params(labelsize=7)
        ax.set_ylim(0.0, None)
    for ax in axes.flat[len(densities) :]:
        ax.set_axis_off()
    figure.tight_layout()
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SHOWN)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in parser.parse_args().names:
        figure = draw(name)
        figure.savefig(FOLDER / f"{name}.png", dpi=DPI)
        plt.close(figure)


if __name__ == "__main__":
    main()
