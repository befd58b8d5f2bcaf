"""Scores of types other than float, compared with GridSearchCV.

    python benchmarks/attacks/odd_scores.py before|after

For each type of number, the same scorer is passed to GridSearchCV and to the searches.
It is used alone or as one of two metrics, with and without a journal, and with one
worker or two. A search passes if its mean scores and its choice are equal to those of
GridSearchCV, or if both raise an exception of the same type. A continued search must
give the same result.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import tally
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

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


def cost(kind: str, estimator: Any) -> Any:
    """Return a cost of an unusual type."""
    return CONVERSIONS[kind](WORTH[estimator.strategy])


@functools.lru_cache(maxsize=1)
def expected(kind: str, several: bool) -> Any:
    return outcome(GridSearchCV, kind, several)


def outcome(make: Any, kind: str, several: bool, **keywords: Any) -> Any:
    """Return mean scores and choice of a search, or the type of its exception."""
    search = make(
        DummyClassifier(random_state=0),
        SPACE,
        scoring=Scorer(kind, several),
        cv=2,
        return_train_score=True,
        refit="a" if several else True,
        **keywords,
    )
    name = "a" if several else "score"
    try:
        search.fit(X, Y)
    except ImportError:
        raise
    except Exception as error:
        # GridSearchCV refits the first configuration then.
        if not str(error).startswith("No trial has a score"):
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
    kinds = [str(column.dtype) for column in columns]
    return table, kinds, None if tied else search.best_params_["strategy"]


SEEDED = {"n_iter": 3, "random_state": 0}


def equals_grid(kind: str, several: bool, make: Any, params: dict[str, Any]) -> bool:
    actual = outcome(make, kind, several, **SEEDED, **params)
    if actual != expected(kind, several):
        raise RuntimeError(f"{kind}: {actual} not {expected(kind, several)}")
    return True


def equals_grid_twice(kind: str, several: bool) -> tally.Figures:
    """Run a search with a journal, and continue it."""
    with tempfile.TemporaryDirectory() as folder:
        params = {"journal": Path(folder) / "journal", **SEEDED}
        outcomes = [outcome(BayesSearchCV, kind, several, **params) for _ in range(2)]
    return tally.count(one == expected(kind, several) for one in outcomes)


def has_front(kind: str) -> bool:
    """Return whether a front of two unusual scores is found, with a journal."""
    measure = functools.partial(cost, kind)
    with tempfile.TemporaryDirectory() as folder:
        search = ParetoSearchCV(
            DummyClassifier(random_state=0),
            SPACE,
            {"a": ("max", Scorer(kind, False)), "b": ("max", measure)},
            cv=2,
            refit=False,
            journal=Path(folder) / "journal",
            **SEEDED,
        ).fit(X, Y)
    return [one["strategy"] for one in search.pareto_params_] == ["uniform"]


def cases() -> Iterator[tuple]:
    tradeoff = {"train_sizes": (1.0,), "tradeoff": 0.0}
    workers = {"n_jobs": 2, "pre_dispatch": 2}
    for kind in CONVERSIONS:
        for several in (False, True):
            yield "plain", equals_grid, kind, several, BayesSearchCV, {}
            yield "two workers", equals_grid, kind, several, BayesSearchCV, workers
            yield "journal", equals_grid_twice, kind, several
        if kind not in ("Decimal NaN", "infinite"):
            search = TradeoffSearchCV
            yield "TradeoffSearchCV", equals_grid, kind, False, search, tradeoff
    for kind in ("long double", "Decimal", "Fraction", "complex", "float32"):
        yield "ParetoSearchCV", has_front, kind


if __name__ == "__main__":
    tally.main(cases)
