"""Search spaces that are large, have overlapping parts, or have a slow constraint.

    python benchmarks/attacks/odd_spaces.py before|after

Each search of 15 trials runs in a separate process. Its time and memory are counted
relative to those of a search in an ordinary space. A search passes if it finds all of
its trials within 10 seconds and 300 MB, and evaluates its constraint at most 100 times
per trial.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tally
from sklearn.base import BaseEstimator

from skbayes import BayesSearchCV, ParetoSearchCV
from skbayes.space import Choice

N_ITER, MAX_SECONDS, MAX_MB, MAX_ASKED, LIMIT = 15, 10.0, 300.0, 100.0, 90.0
X, Y = np.zeros((20, 1)), np.arange(20) % 2


class Scored(BaseEstimator):
    """Estimator whose score is a function of its parameters."""

    def __init__(self, a: Any = 0, b: Any = 0, c: Any = 0) -> None:
        self.a, self.b, self.c = a, b, c

    def fit(self, X: Any, y: Any) -> Scored:
        """Fit nothing."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the first class."""
        return np.zeros(len(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the parameters."""
        number = isinstance(self.a, int | float)
        a = self.a if number else sum(map(ord, str(self.a)))
        b = self.b if isinstance(self.b, int | float) else 0
        return float(np.sin(a * 1e-3) + b)


class SlowConstraint:
    """Constraint that applies a rule and takes 10 ms."""

    n_asked = 0

    def __init__(self, rule: Callable[[dict], bool]) -> None:
        self.rule = rule

    def __call__(self, params: dict) -> bool:
        """Return the value of the rule after 10 ms."""
        SlowConstraint.n_asked += 1
        time.sleep(0.01)
        return self.rule(params)


def slow(rule: Callable[[dict], bool]) -> dict[str, Any]:
    """Return the keyword argument of a search with a slow constraint."""
    return {"constraints": SlowConstraint(rule)}


WORDS = [f"word {i}" for i in range(4000)]
UNIT = (0.0, 1.0)
FLOATS = {"a": UNIT, "b": UNIT}
OPTIONS = {"a": WORDS, "b": UNIT}
HUNDRED = list(range(100))
HALF = slow(lambda p: p["b"] < 0.5)
BELOW_HUNDRED = slow(lambda p: p["a"] + p["b"] < 100)
CORNER = slow(lambda p: p["a"] < 0.1 and p["b"] < 0.1)
TWO_OBJECTIVES = {"objectives": {"accuracy": "max", "fit_time": "min"}}

CASES: dict[str, dict[str, tuple[Any, dict[str, Any]]]] = {
    "long ranges and lists": {
        "range(10**5)": ({"a": range(10**5)}, {}),
        "range(1, 10**5) and a float": ({"a": range(1, 10**5), "b": UNIT}, {}),
        "np.arange(10**5)": ({"a": np.arange(10**5)}, {}),
        "range in a choice": ({"c": Choice({"x": {"a": range(10**5)}, "y": {}})}, {}),
        "100,000 floats": ({"a": np.linspace(0, 1, 100_000).tolist()}, {}),
        "4,000 strings": ({"a": WORDS}, {}),
        "4,000 strings and a float": (OPTIONS, {}),
        "4,000 strings twice": ({"a": WORDS, "c": WORDS}, {}),
        "4,000 strings, trees": (OPTIONS, {"surrogate": "trees"}),
        "4,000 strings, tpe": (OPTIONS, {"surrogate": "tpe"}),
        "20,000 strings": ({"a": [f"word {i}" for i in range(20_000)]}, {}),
        "1,000 lists": ({"a": [[i, i] for i in range(1000)]}, {}),
    },
    "overlapping dicts": {
        "200 of floats": ([{"a": (0.0, 1.0 + i), "b": (0, 5)} for i in range(200)], {}),
        "200 of lists": (
            [{"a": [*range(i, i + 20)], "b": (0, 5)} for i in range(200)],
            {},
        ),
        "200 that are equal": ([{"a": UNIT, "b": [1, 2, 3]} for _ in range(200)], {}),
        "200 of options": (
            [{"a": WORDS[i : i + 9], "b": UNIT} for i in range(200)],
            {},
        ),
    },
    "slow constraints": {
        "floats": (FLOATS, slow(lambda p: p["a"] + p["b"] < 1.5)),
        "floats, one of a hundred": (FLOATS, CORNER),
        "2,000 cells": ({"a": HUNDRED, "b": list(range(20))}, BELOW_HUNDRED),
        "10,000 cells": ({"a": HUNDRED, "b": HUNDRED}, BELOW_HUNDRED),
        "4,000 strings": ({"a": WORDS}, slow(lambda p: p["a"] > "word 2")),
        "tpe": (FLOATS, {"surrogate": "tpe", **HALF}),
        "random": (FLOATS, {"surrogate": "random", **HALF}),
        "an option of two": (
            {"a": WORDS[:9], "b": UNIT},
            slow(lambda p: p["a"] in WORDS[:4]),
        ),
        "two objectives": (FLOATS, {**TWO_OBJECTIVES, **HALF}),
    },
}


def run(category: str, name: str) -> None:
    """Run one search, and print its time and memory as JSON."""
    space, keywords = CASES[category][name]
    kind = ParetoSearchCV if "objectives" in keywords else BayesSearchCV
    keywords = {"n_iter": N_ITER, "cv": 2, "random_state": 0, **keywords}
    # The first search of a process loads libraries.
    BayesSearchCV(Scored(), {"a": [1, 2, 3], "b": UNIT}, n_iter=1, cv=2).fit(X, Y)
    begin, used = time.perf_counter(), _peak()
    search = kind(Scored(), space, **keywords).fit(X, Y)
    figures = {
        "slowest, s": time.perf_counter() - begin,
        "largest, MB": _peak() - used,
        "most asked a trial": SlowConstraint.n_asked / N_ITER,
        "trials": len(search.trials_),
    }
    print(json.dumps(figures))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def is_limited(category: str, name: str) -> tally.Figures:
    """Run one search in a separate process, and check what it took."""
    program = "import sys; from odd_spaces import run; run(*sys.argv[1:])"
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, category, name],
        cwd=tally.HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    figures = json.loads(process.stdout.splitlines()[-1])
    held = (
        figures.pop("trials") == N_ITER
        and figures["slowest, s"] <= MAX_SECONDS
        and figures["largest, MB"] <= MAX_MB
        and figures["most asked a trial"] <= MAX_ASKED
    )
    return {"held": int(held), **figures}


def cases() -> Iterator[tuple]:
    for category, searches in CASES.items():
        for name in searches:
            yield category, is_limited, category, name


if __name__ == "__main__":
    tally.main(cases)
