"""Draw images/search.png: the trials of one search, and the mean of many searches.

    python docs/draw_search.py

Left: the trials of one search, on the cross-validated accuracy of a grid of 13 x 13
configurations. Right: the mean error of the best configuration so far, over 30 seeds,
and its standard error. All searches have the same ranges and folds. Takes two minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402
from scipy.stats import loguniform  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from skbayes import BayesSearchCV  # noqa: E402

TARGET = Path(__file__).parent / "images" / "search.png"
N_TRIALS, SEEDS = 25, 30
C, GAMMA = np.logspace(-2, 3, 13), np.logspace(-6, 0, 13)
COLORS = {"BayesSearchCV": "#2a6fb0", "RandomizedSearchCV": "#8a8a8a"}


def search_of(name: str, seed: int) -> Any:
    """Return a search by the name of its class."""
    options: dict[str, Any] = {"n_iter": N_TRIALS, "cv": 3, "random_state": seed}
    if name == "RandomizedSearchCV":
        space = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-6, 1.0)}
        return RandomizedSearchCV(SVC(), space, **options)
    space = {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-6, 1.0, "log-uniform")}
    # Without a prior from other data: all searches begin without information.
    return BayesSearchCV(SVC(), space, initial_points=None, **options)


def main() -> None:
    """Run the searches and draw the picture."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:900] / 16.0, y[:900]
    grid = GridSearchCV(SVC(), {"C": C, "gamma": GAMMA}, cv=3, n_jobs=2).fit(X, y)
    table = grid.cv_results_["mean_test_score"].reshape(13, 13)
    run = delayed(lambda name, seed: search_of(name, seed).fit(X, y))
    searches = {
        name: Parallel(2)(run(name, seed) for seed in range(SEEDS)) for name in COLORS
    }
    errors = {
        name: 1 - np.array([s.cv_results_["mean_test_score"] for s in searches])
        for name, searches in searches.items()
    }

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 3.4), layout="constrained", dpi=100
    )
    levels = np.linspace(table.min(), 1.0, 14)
    mesh = left.contourf(C, GAMMA, table.T, levels=levels, cmap="Blues")
    figure.colorbar(mesh, ax=left, label="accuracy", format="%.1f")
    left.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
    params = searches["BayesSearchCV"][0].cv_results_["params"]
    points = np.array([[p["C"], p["gamma"]] for p in params])
    marks = left.scatter(
        *points.T, s=40, c=np.arange(N_TRIALS) + 1, cmap="YlOrRd", edgecolor="0.3",
        zorder=3, clip_on=False,
    )  # fmt: skip
    figure.colorbar(marks, ax=left, label="trial")
    left.set_title("trials of one search")

    numbers = np.arange(1, N_TRIALS + 1)
    for name, values in errors.items():
        best = np.minimum.accumulate(values, axis=1)
        mean, error = best.mean(axis=0), best.std(axis=0, ddof=1) / np.sqrt(SEEDS)
        right.plot(numbers, mean, color=COLORS[name], lw=2, label=name)
        right.fill_between(
            numbers, mean - error, mean + error, color=COLORS[name], alpha=0.2, lw=0
        )
    # The grid has no order: the expected best of random rows.
    rng = np.random.default_rng(0)
    orders = np.array(
        [rng.permutation(1 - table.ravel())[:N_TRIALS] for _ in range(5000)]
    )
    mean = np.minimum.accumulate(orders, axis=1).mean(axis=0)
    right.plot(numbers, mean, "--", color="0.6", label="grid in random order")
    right.set(xlabel="trials", ylabel="error of the best so far", yscale="log")
    right.set_yticks([0.05, 0.1, 0.2, 0.4], ["5%", "10%", "20%", "40%"])
    right.minorticks_off()
    right.set_title(f"mean of {SEEDS} searches")
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET)
    for name, values in errors.items():
        best = np.minimum.accumulate(values, axis=1).mean(axis=0)
        print(name, np.round(best[[4, 9, 14, 24]], 4), "of 5, 10, 15, 25 trials")


if __name__ == "__main__":
    main()
