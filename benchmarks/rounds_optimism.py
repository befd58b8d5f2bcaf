"""Optimism of scores at numbers of rounds that are chosen by cross-validation.

A search fits random configurations on 200 rows with five folds and `rounds=100`. Three
rules choose the number of rounds that a fold is scored at, from the same curves:

- "all folds": the number with the best mean over all folds, as for the refit.
- "other folds": the number with the best mean over the other folds (the search).
- "fixed": 20 rounds.

The optimism is the accuracy of the folds minus that of the same models on 1,000 new
rows. The configuration with the best mean score by each rule is fitted to the 200 rows,
with the number of rounds that is best over all folds.

Example: ``python benchmarks/rounds_optimism.py --seeds 4 --save``
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from common import save_results
from rounds_tasks import ROUNDS_NAME, SPACES, table
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split

from skbayes import BayesSearchCV
from skbayes.evaluation.learning_curves import choose_by_others, choose_rounds

CAP, N_ROWS, N_NEW, N_TRIALS = 100, 200, 1000, 4
FIXED = 20  # each of the first 20 rounds is a point of the curves
LEARNERS = ("lightgbm", "histgb", "gradient")
DATA = ("made", "adult")
Array = np.ndarray
GRADIENT_SPACE = {
    "learning_rate": (0.01, 0.3, "log-uniform"),
    "max_leaf_nodes": (4, 48, "log-uniform"),
    "min_samples_leaf": (2, 50, "log-uniform"),
    "subsample": (0.5, 1.0),
}


def model_of(learner: str, seed: int) -> tuple[Any, dict[str, Any], str]:
    """Return an estimator, its search space, and its parameter for the rounds."""
    if learner == "gradient":
        model = GradientBoostingClassifier(random_state=seed, max_depth=None)
        return model, GRADIENT_SPACE, "n_estimators"
    if learner == "histgb":
        hist = HistGradientBoostingClassifier(random_state=seed, early_stopping=False)
        return hist, SPACES[learner], ROUNDS_NAME[learner]
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_jobs=1, verbose=-1, random_state=seed, subsample_freq=1
    )
    return model, SPACES[learner], ROUNDS_NAME[learner]


def rows_of(data: str, seed: int) -> list[Array]:
    """Return training and new rows, and their labels."""
    if data == "made":
        X, y = make_classification(
            N_ROWS + N_NEW, 10, n_informative=4, flip_y=0.2, random_state=seed
        )
    else:
        X, y = table(data)
    return train_test_split(
        X, y, train_size=N_ROWS, test_size=N_NEW, stratify=y, random_state=seed
    )


def accuracies(estimator: Any, X: Array, y: Array) -> dict[str, float]:
    """Return the accuracy on the test rows of a fold, and on the new rows."""
    right = estimator.predict(X) == y
    return {"fold": np.mean(right[:-N_NEW]), "new": np.mean(right[-N_NEW:])}


RULES = {
    "all folds": lambda curves: [choose_rounds(curves)] * len(curves),
    "other folds": choose_by_others,
    "fixed": lambda curves: [FIXED - 1] * len(curves),
}


def run(learner: str, data: str, seed: int) -> dict[str, dict[str, float]]:
    """Return the optimism, the accuracy of the refit, and its overstatement by rule."""
    X, X_new, y, y_new = rows_of(data, seed)
    model, space, name = model_of(learner, seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
    new = np.arange(N_ROWS, N_ROWS + N_NEW)
    search = BayesSearchCV(
        model, space, n_iter=N_TRIALS, scoring=accuracies, target_metric="fold",
        cv=[(train, np.concatenate([test, new])) for train, test in folds],
        rounds=CAP, surrogate="random", refit=False, n_points=1, random_state=seed,
    ).fit(np.concatenate([X, X_new]), np.concatenate([y, y_new]))  # fmt: skip
    tables = [
        [fold.extras["curves"] for fold in trial.folds] for trial in search.trials_
    ]
    own = [[np.array(one["fold"]) for one in curves] for curves in tables]
    grid = np.unique(search.learning_curves_["rounds"])
    found = {}
    for rule, choose in RULES.items():
        chosen = [choose(curves) for curves in own]
        scores, on_new = (
            np.array([
                [one[kind][k] for one, k in zip(curves, places, strict=True)]
                for curves, places in zip(tables, chosen, strict=True)
            ])
            for kind in ("fold", "new")
        )  # fmt: skip
        best = int(np.argmax(scores.mean(axis=1)))
        place = chosen[best][0] if rule == "fixed" else choose_rounds(own[best])
        fitted = clone(model).set_params(
            **search.trials_[best].params, **{name: grid[place]}
        )
        refit = fitted.fit(X, y).score(X_new, y_new)
        found[rule] = {
            "optimism": float(np.mean(scores - on_new)),
            "best score minus refit": float(scores[best].mean()) - refit,
            "refit": refit,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: dict[str, list] = defaultdict(list)
    for seed in range(options.seeds):
        for learner in LEARNERS:
            for data in DATA:
                found = run(learner, data, seed)
                base = found["other folds"]["refit"] - found["all folds"]["refit"]
                found["other folds"]["refit, difference"] = base
                for figures in found.values():
                    # Paired, because all rules score the same test rows.
                    fixed = found["fixed"]["optimism"]
                    figures["more than fixed"] = figures["optimism"] - fixed
                for rule, figures in found.items():
                    records[f"{learner}, {rule}"].append(figures)
                    records[f"all, {rule}"].append(figures)
    results = {}
    for row, figures in records.items():
        results[row] = {
            key: [round(float(np.mean(values)), 4),
                  round(float(np.std(values, ddof=1) / len(values) ** 0.5), 4)]
            for key in figures[0]
            for values in [[one[key] for one in figures]]
        }  # fmt: skip
        text = (f"{key} {m:+.4f} ± {e:.4f}" for key, (m, e) in results[row].items())
        print(f"{row:24}", ", ".join(text))
    if options.save:
        save_results("rounds/optimism", results)


if __name__ == "__main__":
    main()
