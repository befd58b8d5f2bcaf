"""Speed of `LiblinearClassifier` beside scikit-learn's copy of LIBLINEAR.

The same data, the same problem, and the tolerance that LIBLINEAR has for each solver;
fits take turns, and the ratio is that of the medians of processor time. scikit-learn's
copy of the library has sample weights and a generator of its own. IMDB is counted by
words (binary), once 10,000 and once 2,000 reviews; 4,000 rows of Letter are dense and
have 26 classes, which take 26 fits.

Example: python benchmarks/linear.py --repeats 5
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from typing import Any

import numpy as np
import shared
from common import save_results
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
    texts = shared.load().load_imdb()
    (train, y), (test, y_test) = texts["train"], texts["test"]
    vectorizer = CountVectorizer(binary=True, dtype=np.float64)
    X = vectorizer.fit_transform(train)
    X_test = vectorizer.transform(test)
    order = np.random.default_rng(0).permutation(len(y))
    many, some = order[:10_000], order[:2000]
    letter = shared.load().load_letter()
    scaler = StandardScaler().fit(letter["train"][0])
    return {
        "imdb 10,000": (X[many], y[many], X_test, y_test),
        "imdb 2,000": (X[some], y[some], X_test, y_test),
        "letter": (
            scaler.transform(letter["train"][0][:4000]),
            letter["train"][1][:4000],
            scaler.transform(letter["test"][0]),
            letter["test"][1],
        ),
    }


def pair(solver: str, C: float, several: bool) -> tuple[Any, Any]:
    """Return ours, and scikit-learn's with the same problem to solve."""
    settings = SOLVERS[solver]
    tol = 0.1 if settings["dual"] else 0.01
    common = {"C": C, "tol": tol, "fit_intercept": False, "random_state": 0}
    ours = LiblinearClassifier(**settings, **common)
    if settings["loss"] != "logistic":
        return ours, LinearSVC(**settings, **common)
    ratio = {"penalty": settings["penalty"], "dual": settings["dual"]}
    theirs = LogisticRegression(solver="liblinear", **ratio, **common)
    return ours, OneVsRestClassifier(theirs) if several else theirs


def fit(estimator: Any, X: Any, y: Any) -> float:
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
            both = pair(solver, options.C, len(np.unique(y)) > 2)
            times = [[fit(est, X, y) for est in both] for _ in range(options.repeats)]
            ours, theirs = np.median(times, axis=0)
            record = {
                "data": name,
                "solver": solver,
                "seconds": ours,
                "sklearn_seconds": theirs,
                "ratio": ours / theirs,
                "accuracy": both[0].score(X_test, y_test),
                "sklearn_accuracy": both[1].score(X_test, y_test),
            }
            records.append(record)
            print(
                f"{name:12}{solver:22}{ours:8.3f} s{theirs:8.3f} s  ratio "
                f"{ours / theirs:5.2f}  accuracy {record['accuracy']:.4f} "
                f"{record['sklearn_accuracy']:.4f}",
                flush=True,
            )
    mean = float(np.exp(np.mean([np.log(record["ratio"]) for record in records])))
    print(f"geometric mean of the ratios: {mean:.2f}")
    save_results("linear", {"options": vars(options), "ratio": mean, "runs": records})


if __name__ == "__main__":
    main()
