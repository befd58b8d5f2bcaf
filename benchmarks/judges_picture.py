"""Plots of regret by trials and by proposal time, from the runs of judges.py.

The figure has one row per suite and one point per trial. The mean is over the tasks and
seeds that all plotted methods have finished. A method with fewer than LEAST runs on a
suite is omitted there. The proposal time is the processor time of a method from its
first trial to its last, without the fits.

Example: python benchmarks/judges_picture.py --methods skbayes,optuna-tpe,optuna-gp
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import judges
import numpy as np
from common import HERE, Cache, save_results

CURVES = HERE / "results/judges/curves.json"
PICTURE = HERE.parent / "docs/images/judges.png"
TITLES = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost (14 parameters)",
    "lcbench": "perceptrons (7 parameters)",
}
LABELS = {
    "skbayes": ("skbayes", "#d62728"),
    "optuna-tpe": ("Optuna (TPE)", "#1f77b4"),
    "optuna-gp": ("Optuna (GP)", "#17becf"),
    "hyperopt": ("Hyperopt", "#2ca02c"),
    "smac": ("SMAC", "#9467bd"),
    "hebo": ("HEBO", "#ff7f0e"),
    "random": ("random", "#7f7f7f"),
}
LEAST = 16
FIRST = 3  # earlier trials are part of every method's initial design


def collect(methods: list[str], n_trials: int) -> dict[str, Any]:
    """Return mean regret and proposal time after each trial, by suite and method."""
    store = Cache(f"judges/{n_trials}")
    thinking = {
        (method, r["task"], r["seed"]): np.cumsum(r["think"])
        for method in methods
        for r in store.load(method)
    }
    curves: dict[str, Any] = {}
    for judge in TITLES:
        found = judges.regrets(store, methods, judges.tasks_of(judge))
        here = {method: runs for method, runs in found.items() if len(runs) >= LEAST}
        if not here:
            continue
        runs = sorted(set.intersection(*(set(runs) for runs in here.values())))
        curves[judge] = {"runs": len(runs), "methods": {}}
        for method, values in here.items():
            regret = np.mean([values[run] for run in runs], axis=0)
            seconds = np.mean([thinking[method, *run] for run in runs], axis=0)
            curves[judge]["methods"][method] = {
                "regret": np.round(regret, 1).tolist(),
                "seconds": np.round(seconds, 4).tolist(),
            }
    return curves


def draw(curves: dict[str, Any]) -> None:
    """Write the figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(curves), 2, figsize=(9, 9), layout="constrained")
    handles: dict[str, Any] = {}
    for (judge, entry), (left, right) in zip(curves.items(), axes, strict=True):
        for method, curve in entry["methods"].items():
            label, color = LABELS[method]
            width = 2.5 if method == "skbayes" else 1.3
            regret = curve["regret"][FIRST - 1 :]
            trials = range(FIRST, FIRST + len(regret))
            style = {"color": color, "lw": width}
            handles[label] = left.plot(trials, regret, **style)[0]
            right.plot(curve["seconds"][FIRST - 1 :], regret, **style)
        title = f"{TITLES[judge]}, {entry['runs']} runs"
        left.set(title=title, ylabel="regret × 1000", ylim=(0, None))
        right.set(xscale="log", ylim=left.get_ylim())
        for ax in (left, right):
            ax.grid(alpha=0.3)
    axes[-1, 0].set_xlabel("trials")
    axes[-1, 1].set_xlabel("seconds of processor time for the proposals (log scale)")
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--methods", default=",".join(LABELS), help="comma-separated")
    add("--trials", type=int, default=40)
    add("--draw-only", action="store_true", help="plot the committed curves")
    args = parser.parse_args()
    if not args.draw_only:
        curves = collect(args.methods.split(","), args.trials)
        save_results("judges/curves", {"judges": curves})
    draw(json.loads(CURVES.read_text())["judges"])


if __name__ == "__main__":
    main()
