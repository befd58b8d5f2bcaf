"""Draw images/search.gif: the trials of a search, one per frame.

    python docs/draw_search.py

Left: the trials on the cross-validated accuracy of a grid of 13 x 13 configurations.
Right: the best score after each trial, and its mean over random orders of the grid.
Takes about a minute.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.animation import FuncAnimation, PillowWriter  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from skbayes import BayesSearchCV  # noqa: E402

TARGET = Path(__file__).parent / "images" / "search.gif"
N_TRIALS = 20
C, GAMMA = np.logspace(-2, 3, 13), np.logspace(-6, 0, 13)


def expected_best(scores: np.ndarray, n_trials: int) -> np.ndarray:
    """Return the mean best score after 1 to `n_trials` random rows of a grid."""
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(scores)[:n_trials] for _ in range(5000)])
    return np.maximum.accumulate(orders, axis=1).mean(axis=0)


def main() -> None:
    """Run both searches and write the animation."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:900] / 16.0, y[:900]
    grid = GridSearchCV(SVC(), {"C": C, "gamma": GAMMA}, cv=3, n_jobs=2).fit(X, y)
    table = grid.cv_results_["mean_test_score"].reshape(13, 13)
    search = BayesSearchCV(
        SVC(),
        {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-6, 1.0, "log-uniform")},
        n_iter=N_TRIALS,
        cv=3,
        random_state=0,
    ).fit(X, y)
    params = search.cv_results_["params"]
    points = np.array([[p["C"], p["gamma"]] for p in params])
    best = np.maximum.accumulate(search.cv_results_["mean_test_score"])
    orders = expected_best(table.ravel(), N_TRIALS)

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 3.4), layout="constrained", dpi=100
    )
    levels = np.linspace(table.min(), 1.0, 14)
    mesh = left.contourf(C, GAMMA, table.T, levels=levels, cmap="Blues")
    figure.colorbar(mesh, ax=left, label="accuracy", format="%.1f")
    left.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
    marks = left.scatter(
        [], [], s=36, clip_on=False, color="#f28e1c", edgecolor="white", zorder=3
    )
    last = left.scatter(
        [], [], s=110, facecolor="none", edgecolor="#c22", lw=2, zorder=4
    )
    numbers = np.arange(1, N_TRIALS + 1)
    right.plot(numbers, orders, "--", color="0.5", label="random order of the grid")
    (line,) = right.step(
        [], [], where="post", color="#2a6fb0", lw=2, label="BayesSearchCV"
    )
    right.set(
        xlabel="trials", ylabel="best accuracy so far", xlim=(0.5, N_TRIALS + 0.5)
    )
    right.set_ylim(0.8, 0.96)
    right.legend(loc="lower right", frameon=False)
    right.spines[["top", "right"]].set_visible(False)

    def draw(frame: int) -> None:
        n = min(frame + 1, N_TRIALS)
        marks.set_offsets(points[:n])
        last.set_offsets(points[n - 1 : n])
        line.set_data(numbers[:n], best[:n])
        left.set_title(f"trial {n}: accuracy {search.trials_[n - 1].score:.3f}")
        right.set_title(f"best: {best[n - 1]:.3f}")

    # The last frame is shown for a while.
    animation = FuncAnimation(figure, draw, frames=N_TRIALS + 8)
    animation.save(TARGET, writer=PillowWriter(fps=2.5))


if __name__ == "__main__":
    main()
