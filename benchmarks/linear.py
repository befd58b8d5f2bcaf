"""Speed of `LiblinearClassifier` compared with scikit-learn's copy of LIBLINEAR.

Both solve the same problem on the same data, with LIBLINEAR's tolerance for each
solver. The fits alternate, and the output is the ratio of the medians of processor
time. The classifier is measured with and without liblinear-official. Without it
("fallback"), the classifier calls scikit-learn's copy, which has sample weights and a
different random generator.

The features of IMDB are binary word counts, of 10,000 and of 2,000 reviews. Those of
the four science groups of 20 Newsgroups are of the same kind. The 4,000 rows of Letter
are dense and have 26 classes, which require 26 fits.

Example: python benchmarks/linear.py --repeats 5
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import shared
from common import save_results
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skbayes.text import LiblinearClassifier

SOLVERS: dict[str, dict[str, Any]] = {
    "L2R_LR": {"loss": "logistic", "penalty": "l2", "dual": False},
    "L2R_L2LOSS_SVC_DUAL": {"loss": "squared_hinge", "penalty": "l2", "dual": True},
    "L2R_L2LOSS_SVC": {"loss": "squared_hinge", "penalty": "l2", "dual": False},
    "L2R_L1LOSS_SVC_DUAL": {"loss": "hinge", "penalty": "l2", "dual": True},
    "L1R_L2LOSS_SVC": {"loss": "squared_hinge", "penalty": "l1", "dual": False},
    "L1R_LR": {"loss": "logistic", "penalty": "l1", "dual": False},
    "L2R_LR_DUAL": {"loss": "logistic", "penalty": "l2", "dual": True},
}


def data_sets() -> dict[str, tuple[Any, Any, Any, Any]]:
    X, y, X_test, y_test = counted(shared.load().load_imdb())
    order = np.random.default_rng(0).permutation(len(y))
    many, some = order[:10_000], order[:2000]
    letter = shared.load().load_letter()
    scaler = StandardScaler().fit(letter["train"][0])
    return {
        "imdb 10,000": (X[many], y[many], X_test, y_test),
        "imdb 2,000": (X[some], y[some], X_test, y_test),
        "20n science": counted(shared.load().load_newsgroups_task("science")),
        "letter": (
            scaler.transform(letter["train"][0][:4000]),
            letter["train"][1][:4000],
            scaler.transform(letter["test"][0]),
            letter["test"][1],
        ),
    }


def counted(texts: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return binary word counts of the texts of a task."""
    (train, y), (test, y_test) = texts["train"], texts["test"]
    vectorizer = CountVectorizer(binary=True, dtype=np.float64)
    return vectorizer.fit_transform(train), y, vectorizer.transform(test), y_test


def pair(solver: str, C: float, several: bool) -> tuple[Any, Any]:
    """Return our classifier, and scikit-learn's with the same problem."""
    settings = SOLVERS[solver]
    tol = 0.1 if settings["dual"] else 0.01
    common = {"C": C, "tol": tol, "fit_intercept": False, "random_state": 0}
    ours = LiblinearClassifier(**settings, **common)
    if settings["loss"] != "logistic":
        return ours, LinearSVC(**settings, **common)
    ratio = {"penalty": settings["penalty"], "dual": settings["dual"]}
    theirs = LogisticRegression(solver="liblinear", **ratio, **common)
    return ours, OneVsRestClassifier(theirs) if several else theirs


def fit(estimator: Any, X: Any, y: Any, *, installed: bool = True) -> float:
    """Return the seconds of a fit, with liblinear-official or without it."""
    with patch("skbayes.text._liblinear._is_installed", lambda: installed):
        start = time.process_time()
        estimator.fit(X, y)
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--C", type=float, default=0.1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records = []
    for name, (X, y, X_test, y_test) in data_sets().items():
        for solver in SOLVERS:
            own, other = pair(solver, options.C, len(np.unique(y)) > 2)
            fallback = clone(own)
            times = [
                [
                    fit(own, X, y),
                    fit(other, X, y),
                    fit(fallback, X, y, installed=False),
                ]
                for _ in range(options.repeats)
            ]
            ours, theirs, without = np.median(times, axis=0)
            equal = np.mean(own.predict(X_test) == fallback.predict(X_test))
            record = {
                "data": name,
                "solver": solver,
                "seconds": ours,
                "sklearn_seconds": theirs,
                "ratio": ours / theirs,
                "accuracy": own.score(X_test, y_test),
                "sklearn_accuracy": other.score(X_test, y_test),
                "fallback_seconds": without,
                "fallback_accuracy": fallback.score(X_test, y_test),
                "fallback_equal": float(equal),
            }
            records.append(record)
            print(
                f"{name:12}{solver:22}{ours:8.3f} s{theirs:8.3f} s  ratio "
                f"{ours / theirs:5.2f}  accuracy {record['accuracy']:.4f} "
                f"{record['sklearn_accuracy']:.4f}; fallback {without:8.3f} s "
                f"{record['fallback_accuracy']:.4f}, {equal:.1%} of predictions equal",
                flush=True,
            )
    mean = geometric_mean([record["ratio"] for record in records])
    of_fallback = geometric_mean(
        [record["fallback_seconds"] / record["seconds"] for record in records]
    )
    print(f"geometric means of the ratios: {mean:.2f}, fallback {of_fallback:.2f}")
    summary = {"ratio": mean, "fallback_ratio": of_fallback, "runs": records}
    save_results("linear", {"options": vars(options), **summary})


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    main()
