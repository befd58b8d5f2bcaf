"""Scores of types other than float, compared with GridSearchCV.

    python benchmarks/attacks/odd_scores.py before|after

For each type of number, the same scorer is passed to GridSearchCV and to the searches.
It is used alone or as one of two metrics, with and without a journal, and with one
worker or two. A search passes if its mean scores and its choice are equal to those of
GridSearchCV, or if both raise an exception of the same type. A continued search must
give the same result.
"""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from tally import save

from skbayes import BayesSearchCV, ParetoSearchCV, TradeoffSearchCV

X, Y = np.arange(40.0)[:, None], np.arange(40) % 2
SPACE = {"strategy": ["prior", "uniform", "stratified"]}
WORTH = {"prior": 0.25, "uniform": 0.75, "stratified": 0.5}

CONVERSIONS = {
    "long double": np.longdouble,
    "long double in an array": lambda v: np.array(v, dtype=np.longdouble),
    "Decimal": Decimal,
    "Decimal NaN": lambda v: Decimal("nan"),
    "Fraction": Fraction,
    "complex": complex,
    "complex, imaginary part": lambda v: complex(v, 1.0),
    "complex64": np.complex64,
    "complex long double": np.clongdouble,
    "float16": np.float16,
    "float32": np.float32,
    "int": lambda v: int(v > 0.5),
    "int8": lambda v: np.int8(v > 0.5),
    "bool": lambda v: v > 0.5,
    "NumPy bool": lambda v: np.bool_(v > 0.5),
    "array of none": np.array,
    "array of one": lambda v: np.array([v]),
    "array of an object": lambda v: np.array(Fraction(v), dtype=object),
    "masked": lambda v: np.ma.masked,
    "infinite": lambda v: float("inf"),
    "too large": lambda v: 10**400,
    "str": str,
    "list": lambda v: [v],
    "None": lambda v: None,
}


class Scorer:
    """Scorer that returns one score, or two, of an unusual type."""

    def __init__(self, kind: str, several: bool) -> None:
        self.kind, self.several = kind, several

    def __call__(self, estimator: Any, X: Any, y: Any) -> Any:
        """Return the score or scores."""
        score = CONVERSIONS[self.kind](WORTH[estimator.strategy])
        return {"a": score, "b": score} if self.several else score


class Measure:
    """Cost function that returns an unusual type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, estimator: Any) -> Any:
        """Return the cost."""
        return CONVERSIONS[self.kind](WORTH[estimator.strategy])


def outcome(make: Any, scorer: Scorer, **keywords: Any) -> Any:
    """Return mean scores and choice of a search, or the type of its exception."""
    search = make(
        DummyClassifier(random_state=0),
        SPACE,
        scoring=scorer,
        cv=2,
        return_train_score=True,
        refit="a" if scorer.several else True,
        **keywords,
    )
    name = "a" if scorer.several else "score"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            search.fit(X, Y)
        except Exception as error:
            return type(error).__name__
    results = search.cv_results_
    columns = [
        results[f"{part}_{name}"] for part in ("mean_test", "rank_test", "mean_train")
    ]
    assert all(column.dtype.kind in "fi" for column in columns)
    rows = zip((one["strategy"] for one in results["params"]), *columns, strict=True)
    table = re.sub(r"np\.\w+\((\S+)\)", r"\1", repr(sorted(rows)))
    # Among several best configurations, the order of the trials decides.
    tied = sum(rank == 1 for rank in columns[1]) > 1
    return table, None if tied else search.best_params_["strategy"]


def searches(folder: str, scorer: Scorer) -> dict[str, list[Any]]:
    """Return the outcomes of all searches by category."""
    seeded = {"n_iter": 3, "random_state": 0}
    path = Path(folder) / "journal"
    two = {"n_jobs": 2, "pre_dispatch": 2}
    found = {
        "plain": [outcome(BayesSearchCV, scorer, **seeded)],
        "two workers": [outcome(BayesSearchCV, scorer, **seeded, **two)],
        "journal": [
            outcome(BayesSearchCV, scorer, **seeded, journal=path) for _ in range(2)
        ],
    }
    if not scorer.several and scorer.kind not in ("Decimal NaN", "infinite"):
        tradeoff = {**seeded, "train_sizes": (1.0,), "tradeoff": 0.0}
        found["TradeoffSearchCV"] = [outcome(TradeoffSearchCV, scorer, **tradeoff)]
    return found


def pareto(kind: str) -> bool:
    """Return whether a front of two unusual scores is found, with a journal."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = ParetoSearchCV(
            DummyClassifier(random_state=0),
            SPACE,
            {"a": ("max", Scorer(kind, False)), "b": ("max", Measure(kind))},
            n_iter=3,
            cv=2,
            refit=False,
            journal=Path(folder) / "journal",
            random_state=0,
        )
        try:
            search.fit(X, Y)
        except Exception as error:
            print(f"  ParetoSearchCV, {kind}: {type(error).__name__}: {error}")
            return False
        return [one["strategy"] for one in search.pareto_params_] == ["uniform"]


def main(when: str) -> None:
    """Test all types, and save the counts."""
    counts: dict[str, dict[str, float]] = {}
    for kind in CONVERSIONS:
        for several in (False, True):
            scorer = Scorer(kind, several)
            expected = outcome(GridSearchCV, scorer)
            with tempfile.TemporaryDirectory() as folder:
                found = searches(folder, scorer)
            for category, outcomes in found.items():
                row = counts.setdefault(category, {"tried": 0, "held": 0})
                for one in outcomes:
                    row["tried"] += 1
                    row["held"] += one == expected
                    if one != expected:
                        print(f"  {category}, {kind}, {several}: {one} not {expected}")
    kinds = ["long double", "Decimal", "Fraction", "complex", "float32"]
    counts["ParetoSearchCV"] = {
        "tried": len(kinds),
        "held": sum(pareto(kind) for kind in kinds),
    }
    save("odd_scores", when, counts)


if __name__ == "__main__":
    main(sys.argv[1])
