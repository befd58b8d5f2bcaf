"""Lookup tables of scikit-learn estimators that were trained on whole grids.

All six tables that are distributed with skbayes describe neural machine translation
systems. The tables of this script test whether results on them hold for other
estimators. They are tasks of sklearn_tasks.py with lists of values instead of ranges.
Each table is a file in results/grids/; the script computes the missing ones, which
takes some minutes for all of them.

    python benchmarks/grids.py
    python -m skbayes.benchmark --tables benchmarks/grids.py:digits_mlp
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from skbayes.benchmark import LookupTable

FOLDER = Path(__file__).parent / "results" / "grids"

_MLP = {
    "n_hidden": [4, 16, 64],
    "alpha": [1e-5, 1e-2, 1e0, 1e1],
    "learning_rate_init": [1e-4, 1e-3, 1e-2, 1e-1],
    "activation": ["relu", "tanh", "logistic"],
    "solver": ["adam", "sgd"],
}
_BOOSTING = {
    "learning_rate": [0.03, 0.1, 0.3, 1.0],
    "max_iter": [5, 10, 20],
    "max_leaf_nodes": [2, 4, 8, 16],
    "min_samples_leaf": [1, 5, 20],
    "l2_regularization": [1e-3, 1e0, 1e2],
    "max_features": [0.2, 0.5, 1.0],
}
_LINEAR = {
    "loss": ["hinge", "log_loss", "modified_huber"],
    "alpha": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2],
    "l1_ratio": [0.0, 0.3, 0.7, 1.0],
    "learning_rate": ["optimal", "invscaling", "constant", "adaptive"],
    "eta0": [1e-3, 1e-2, 1e-1],
}
GRIDS = {
    "digits-svm": {
        "C": [10.0**k for k in range(-2, 5)],
        "gamma": [10.0 ** (k / 2) for k in range(-12, 1)],
    },
    "digits-mlp": _MLP,
    "digits-linear": _LINEAR,
    "breast_cancer-linear": _LINEAR,
    "wine-mlp": _MLP,
    "breast_cancer-boosting": _BOOSTING,
    "diabetes-boosting": _BOOSTING,
}


def load(task: str) -> LookupTable:
    return LookupTable.from_csv(
        FOLDER / f"{task}.csv",
        list(GRIDS[task]),
        {"score": "max"},
        name=task,
    )


def digits_svm() -> LookupTable:
    return load("digits-svm")


def digits_mlp() -> LookupTable:
    return load("digits-mlp")


def digits_linear() -> LookupTable:
    return load("digits-linear")


def breast_cancer_linear() -> LookupTable:
    return load("breast_cancer-linear")


def wine_mlp() -> LookupTable:
    return load("wine-mlp")


def breast_cancer_boosting() -> LookupTable:
    return load("breast_cancer-boosting")


def diabetes_boosting() -> LookupTable:
    return load("diabetes-boosting")


def main() -> None:
    import csv
    import math
    import warnings

    from sklearn_tasks import evaluate

    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for task, grid in GRIDS.items():
        path = FOLDER / f"{task}.csv"
        if path.exists():
            continue
        rows = []
        for values in product(*grid.values()):
            score = evaluate(task, dict(zip(grid, values, strict=True)))
            # The score of a failed fit is that of a guess.
            rows.append([*values, 0.0 if math.isnan(score) else round(score, 6)])
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*grid, "score"])
            writer.writerows(rows)
        print(task, len(rows), "rows", flush=True)


if __name__ == "__main__":
    main()
