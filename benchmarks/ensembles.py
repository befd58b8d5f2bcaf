"""Test loss of ensembles and of single choices, from recorded predictions.

The folder contains the predictions of ``truth.py run --predictions FOLDER``. For each
search, members are selected from its out-of-fold predictions. Predictions of the test
rows, by fits on all rows or by the fits of the splits, are then averaged with the
weights.

    python benchmarks/ensembles.py FOLDER
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from skbayes.search.combination import select

# Options of the selections that are compared.
SELECTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy, at most 5": {"max_members": 5},
    "greedy, at most 25": {"max_members": 25},
    "greedy, 50 rounds": {"n_rounds": 50},
}


def score_of(scoring: str, y: np.ndarray, values: np.ndarray) -> float:
    """Return the score of predictions; votes for accuracy."""
    if scoring == "neg_root_mean_squared_error":
        return -float(np.sqrt(np.mean((y - values) ** 2)))
    if scoring == "accuracy":
        return float(np.mean(np.argmax(values, axis=1) == y))
    p = values[np.arange(len(y)), y] / values.sum(axis=1)
    return float(np.mean(np.log(np.clip(p, 1e-15, None))))


def losses(path: Path) -> dict[str, float]:
    """Return the test loss of each method for one recorded search."""
    data = np.load(path)
    scoring, folds = str(data["scoring"]), data["fold_of_row"]
    y, y_test = data["y"], data["y_test"]
    oof, tests = data["out_of_fold"], {k: data[k] for k in ("refit", "fold_models")}
    if scoring != "neg_root_mean_squared_error":
        labels = np.unique(y)
        y, y_test = np.searchsorted(labels, y), np.searchsorted(labels, y_test)
        if scoring == "accuracy":
            oof = (oof[..., None] == labels).astype(float)
            if tests["refit"].ndim == 2:
                tests = {k: (v[..., None] == labels) * 1.0 for k, v in tests.items()}
    rows = [np.flatnonzero(folds == fold) for fold in range(folds.max() + 1)]
    means = data["scores"].mean(axis=1)
    finite = np.isfinite(oof.reshape(len(oof), -1)).all(axis=1)
    n_trials = data["refit"].shape[0]
    usable = [int(k) for k in np.flatnonzero(finite & np.isfinite(means)[: len(oof)])]
    usable = [k for k in usable if k < n_trials]
    known: dict[Any, float] = {}

    def score(fold: int, weights: Any) -> float:
        total = sum(weights.values())
        key = fold, frozenset((k, w / total) for k, w in weights.items())
        if key not in known:
            part = rows[fold]
            mean = sum(w / total * oof[k][part] for k, w in weights.items())
            known[key] = score_of(scoring, y[part], mean)
        return known[key]

    best = max(usable, key=lambda k: (means[k], -k))
    chosen: dict[str, dict[int, float]] = {"best": {best: 1.0}}
    if (own := int(data["own"])) in usable:
        chosen["own values"] = {own: 1.0}
    for name, options in SELECTIONS.items():
        chosen[name] = select(score, len(rows), usable, **options)[0]
    first = sorted(usable, key=lambda k: -means[k])[:5]
    chosen["mean of the best 5"] = dict.fromkeys(first, 1 / len(first))
    found = {}
    for name, weights in chosen.items():
        for kind, predicted in tests.items():
            mean = sum(w * predicted[k] for k, w in weights.items())
            found[f"{name} ({kind})"] = -score_of(scoring, y_test, mean)
    return found


def main() -> None:
    """Print the mean log ratio of the losses to those of the best configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(parser.parse_args().folder.glob("*.npz")):
        learner = path.stem.rsplit("-", 2)[1]
        if learner == "svm" and np.load(path)["scoring"] == "accuracy":
            continue  # no loss that is always positive
        found = losses(path)
        for name, loss in found.items():
            ratio = np.log(max(loss, 1e-9) / max(found["best (refit)"], 1e-9))
            for group in (learner, "all"):
                ratios[name][group].append(float(np.clip(ratio, -2.0, 2.0)))
    groups = sorted(ratios["best (refit)"])
    print("1000 x mean log ratio of the loss to that of best (refit), and % better")
    print(f"{'':34s}" + "".join(f"{group:>18s}" for group in groups))
    for name, by_group in ratios.items():
        cells = []
        for group in groups:
            values = 1000 * np.array(by_group[group])
            error = values.std(ddof=1) / np.sqrt(len(values))
            share = 100 * np.mean(values < 0)
            cells.append(f"{values.mean():7.0f} ±{error:3.0f} {share:3.0f}%")
        print(f"{name:34s}" + "".join(f"{cell:>18s}" for cell in cells))


if __name__ == "__main__":
    main()
