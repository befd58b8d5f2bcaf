"""Test loss of ensembles and of single choices, from the predictions of searches.

The searches are those of ``truth.py``, whose predictions are stored in a folder; those
that are missing are made. For each search, members are selected from its out-of-fold
predictions. Predictions of the test rows, by fits on all rows ("refits") or by the fits
of the splits ("splits"), are then averaged with the weights. The columns are the mean
log ratio (× 1000) of the loss to that of the best configuration, refitted on all rows,
and the percentage of searches in which the loss is smaller.

Example: python benchmarks/ensembles.py run --folder predictions --seeds 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from pathlib import Path
from typing import Any

import numpy as np
import truth
from harness import Record, Study, main

from skbayes.search.combination import Scorer, select

# Options of the selections that are compared.
SELECTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy at most 5": {"max_members": 5},
    "greedy at most 25": {"max_members": 25},
    "greedy 50 rounds": {"n_rounds": 50},
}
METHODS = ("best", *SELECTIONS, "mean of the best 5")


def task_names() -> list[str]:
    """Return the tasks with a loss that is always positive: without accuracy."""
    return [
        name
        for name in truth.task_names()
        if not name.endswith(":svm") or name.split(":")[0] in truth.REGRESSION
    ]


def loss_of(y: np.ndarray, values: np.ndarray) -> float:
    """Return the log loss of probabilities, or the root mean squared error."""
    if values.ndim == 1:
        return float(np.sqrt(np.mean((y - values) ** 2)))
    p = values[np.arange(len(y)), y] / values.sum(axis=1)
    return -float(np.mean(np.log(np.clip(p, 1e-15, None))))


def weights_of(method: str, data: dict[str, np.ndarray]) -> dict[int, float]:
    """Return the weights of the configurations that a method chooses."""
    oof, folds, y = data["out_of_fold"], data["fold_of_row"], data["y"]
    means = data["scores"].mean(axis=1)
    finite = np.isfinite(oof.reshape(len(oof), -1)).all(axis=1) & np.isfinite(means)
    usable = np.flatnonzero(finite).tolist()
    order = sorted(usable, key=lambda k: -means[k])
    if method not in SELECTIONS:
        first = order[: 1 if method == "best" else 5]
        return dict.fromkeys(first, 1 / len(first))
    scorer = _Losses(y, oof, folds, loss_of)
    return select(scorer, folds.max() + 1, usable, **SELECTIONS[method])[0]


class _Losses(Scorer):
    """Negated losses of averages of the out-of-fold predictions."""

    def __init__(self, y: Any, oof: Any, folds: Any, loss_of: Any) -> None:
        self.y, self.oof, self.folds, self.loss_of = y, oof, folds, loss_of
        self.known: dict[Any, float] = {}

    def __call__(self, fold: int, weights: Any) -> float:
        total = sum(weights.values())
        key = fold, frozenset((k, w / total) for k, w in weights.items())
        if key not in self.known:
            part = self.folds == fold
            mean = sum(w / total * self.oof[k][part] for k, w in weights.items())
            self.known[key] = -self.loss_of(self.y[part], mean)
        return self.known[key]


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the log ratios of the losses to that of the best configuration."""
    path = Path(options["folder"]) / f"{task.replace(':', '-')}-{seed}.npz"
    if not path.exists():
        search = {"trials": options["trials"], "predictions": options["folder"]}
        truth.record("search", task, seed, search)
    data = dict(np.load(path))
    if data["refit"].ndim > 2:
        labels = np.unique(data["y"])
        data |= {name: np.searchsorted(labels, data[name]) for name in ("y", "y_test")}
    (best,) = weights_of("best", data)
    chosen = weights_of(method, data)
    figures = []
    for kind in ("refit", "fold_models"):
        mean = sum(w * data[kind][k] for k, w in chosen.items())
        losses = [loss_of(data["y_test"], p) for p in (mean, data["refit"][best])]
        ratio = float(np.clip(np.subtract(*np.log(np.maximum(losses, 1e-9))), -2, 2))
        figures += [1000.0 * ratio, 100.0 * (ratio < 0)]
    return {"figures": figures}


STUDY = Study(
    name="ensembles",
    tasks=task_names,
    methods=METHODS,
    run=run,
    columns=lambda options: ["refits", "better %", "splits", "better %"],
    group=lambda task: task.split(":")[1],
    options={"folder": "predictions", "trials": truth.N_TRIALS},
    seeds=2,
    smallest=("--tasks", "iris:linear", "--trials", "4", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
