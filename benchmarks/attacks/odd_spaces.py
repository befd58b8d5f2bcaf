"""Search spaces that are large, have overlapping parts, or have a slow constraint.

    python benchmarks/attacks/odd_spaces.py before|after

Each search of 15 trials runs in a separate process. Its time and memory are counted
relative to those of a search in an ordinary space. A search passes if it finds all of
its trials within 10 seconds and 300 MB, and evaluates its constraint at most 100 times
per trial.

The script also tests objects and errors of users: options that are similar, and `rvs`,
`ppf` and constraints that raise an exception. The message of the error has to name the
parameter.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from tally import save

from skbayes import BayesSearchCV, ParetoSearchCV
from skbayes.space import Choice, Space

N_ITER, MAX_SECONDS, MAX_MB, MAX_ASKED, LIMIT = 15, 10.0, 300.0, 100.0, 90.0
X, Y = np.zeros((20, 1)), np.arange(20) % 2


class Scored(ClassifierMixin, BaseEstimator):
    """Classifier whose score is a function of its parameters."""

    def __init__(self, a: Any = 0, b: Any = 0, c: Any = 0) -> None:
        self.a, self.b, self.c = a, b, c

    def fit(self, X: Any, y: Any) -> Scored:
        """Fit nothing."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the first class."""
        return np.full(len(X), self.classes_[0])

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
HUNDRED = list(range(100))

CASES: dict[str, dict[str, tuple[Any, dict[str, Any]]]] = {
    "long ranges and lists": {
        "range(10**7)": ({"a": range(10**7)}, {}),
        "range(1, 10**7) and a float": ({"a": range(1, 10**7), "b": UNIT}, {}),
        "range(10**9, -1, -7)": ({"a": range(10**9, -1, -7)}, {}),
        "np.arange(10**7)": ({"a": np.arange(10**7)}, {}),
        "range in a choice": ({"c": Choice({"x": {"a": range(10**7)}, "y": {}})}, {}),
        "100,000 floats": ({"a": np.linspace(0, 1, 100_000).tolist()}, {}),
        "4,000 strings": ({"a": WORDS}, {}),
        "4,000 strings and a float": ({"a": WORDS, "b": UNIT}, {}),
        "4,000 strings twice": ({"a": WORDS, "c": WORDS}, {}),
        "4,000 strings, trees": ({"a": WORDS, "b": UNIT}, {"surrogate": "trees"}),
        "4,000 strings, tpe": ({"a": WORDS, "b": UNIT}, {"surrogate": "tpe"}),
        "20,000 strings": ({"a": [f"word {i}" for i in range(20_000)]}, {}),
        "1,000 lists": ({"a": [[i, i] for i in range(1000)]}, {}),
    },
    "overlapping dicts": {
        "200 of floats": ([{"a": (0.0, 1.0 + i), "b": (0, 5)} for i in range(200)], {}),
        "200 of lists": (
            [{"a": list(range(i, i + 20)), "b": (0, 5)} for i in range(200)],
            {},
        ),
        "200 that are equal": ([{"a": UNIT, "b": [1, 2, 3]} for _ in range(200)], {}),
        "200 of options": (
            [{"a": WORDS[i : i + 9], "b": UNIT} for i in range(200)],
            {},
        ),
    },
    "slow constraints": {
        "floats": ({"a": UNIT, "b": UNIT}, slow(lambda p: p["a"] + p["b"] < 1.5)),
        "floats, one of a hundred": (
            {"a": UNIT, "b": UNIT},
            slow(lambda p: p["a"] < 0.1 and p["b"] < 0.1),
        ),
        "2,000 cells": (
            {"a": HUNDRED, "b": list(range(20))},
            slow(lambda p: p["a"] + p["b"] < 100),
        ),
        "10,000 cells": (
            {"a": HUNDRED, "b": HUNDRED},
            slow(lambda p: p["a"] + p["b"] < 100),
        ),
        "4,000 strings": ({"a": WORDS}, slow(lambda p: p["a"] > "word 2")),
        "tpe": (
            {"a": UNIT, "b": UNIT},
            {"surrogate": "tpe", **slow(lambda p: p["b"] < 0.5)},
        ),
        "random": (
            {"a": UNIT, "b": UNIT},
            {"surrogate": "random", **slow(lambda p: p["b"] < 0.5)},
        ),
        "an option of two": (
            {"a": WORDS[:9], "b": UNIT},
            slow(lambda p: p["a"] in WORDS[:4]),
        ),
        "two objectives": (
            {"a": UNIT, "b": UNIT},
            {"objectives": {"accuracy": "max", "fit_time": "min"}}
            | slow(lambda p: p["b"] < 0.5),
        ),
    },
}


def run(category: str, name: str) -> None:
    """Run one search, and print its time and memory as JSON."""
    space, keywords = CASES[category][name]
    warnings.simplefilter("ignore")
    kind = ParetoSearchCV if "objectives" in keywords else BayesSearchCV
    keywords = {"n_iter": N_ITER, "cv": 2, "random_state": 0, **keywords}
    # The first search of a process loads libraries.
    BayesSearchCV(Scored(), {"a": [1, 2, 3], "b": UNIT}, n_iter=1, cv=2).fit(X, Y)
    begin, used = time.perf_counter(), _peak()
    search = kind(Scored(), space, **keywords).fit(X, Y)
    figures = {
        "seconds": time.perf_counter() - begin,
        "mb": _peak() - used,
        "asked": SlowConstraint.n_asked / N_ITER,
        "trials": len(search.trials_),
    }
    print(json.dumps(figures))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def measure(category: str) -> dict[str, float]:
    """Run all searches of a category; count those that pass."""
    held, slowest, largest, most_asked = 0, 0.0, 0.0, 0.0
    for name in CASES[category]:
        figures = _in_a_process(category, name)
        print(f"  {category}: {name}: {figures}", flush=True)
        seconds, mb, asked = (figures.get(k, 0.0) for k in ("seconds", "mb", "asked"))
        held += (
            figures.get("trials") == N_ITER
            and seconds <= MAX_SECONDS
            and mb <= MAX_MB
            and asked <= MAX_ASKED
        )
        slowest, largest = max(slowest, seconds), max(largest, mb)
        most_asked = max(most_asked, asked)
    counts = {"tried": len(CASES[category]), "held": held}
    figures = {"slowest, s": slowest, "largest, MB": largest}
    if most_asked:
        figures["most asked a trial"] = most_asked
    return counts | {name: round(figure, 1) for name, figure in figures.items()}


def _in_a_process(category: str, name: str) -> dict[str, float]:
    command = [sys.executable, __file__, "run", category, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"seconds": LIMIT}
    if done.returncode:
        print(done.stderr[-500:])
        return {}
    return json.loads(done.stdout.splitlines()[-1])


# -- errors and objects of users ------------------------------------------------------


class Raises:
    """Distribution of which one method raises an exception."""

    def __init__(self, method: str, error: Exception) -> None:
        self.method, self.error = method, error

    def _answer(self, method: str, value: Any) -> Any:
        if method == self.method:
            raise self.error
        return value

    def rvs(self, size: Any = None, random_state: Any = None) -> float:
        """Draw a value."""
        return self._answer("rvs", random_state.random_sample(size))


class RaisesQuantiles(Raises):
    """Distribution with quantiles, which are used instead of draws."""

    def ppf(self, q: Any) -> Any:
        """Return quantiles."""
        return self._answer("ppf", np.asarray(q, dtype=float))

    def cdf(self, x: Any) -> Any:
        """Return cumulative probabilities."""
        return self._answer("cdf", np.clip(np.asarray(x, dtype=float), 0.0, 1.0))

    def support(self) -> Any:
        """Return the ends of the support."""
        return self._answer("support", (0.0, 1.0))


class Plain:
    """Object without state."""


class Slots:
    """Object with its state in slots."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


ERRORS = [ValueError("own"), KeyError("own"), ZeroDivisionError("own"), OSError("own")]
ERRORS += [TypeError("own"), MemoryError("own"), RecursionError("own")]


def measure_errors() -> dict[str, float]:
    """Count the errors in methods of users that name the parameter and the cause."""
    tried = held = 0
    for error in ERRORS:
        for method in ("rvs", "ppf", "cdf", "support"):
            kind = Raises if method == "rvs" else RaisesQuantiles
            notation = {"alpha": [1, 2], "beta": kind(method, error)}
            tried += 1
            held += _names(lambda n=notation: Space.from_notation(n), "'beta'")

        def constraint(params: dict, error: Exception = error) -> bool:
            raise error

        search = BayesSearchCV(Scored(), {"a": UNIT}, constraints=constraint, n_iter=2)
        tried += 1
        held += _names(lambda s=search: s.fit(X, Y), "constraint")
    return {"tried": tried, "held": held}


def _names(act: Callable[[], Any], name: str) -> bool:
    try:
        act()
    except (TypeError, ValueError) as error:
        return name in str(error) and "own" in str(error)
    except Exception as error:
        print(f"  {type(error).__name__}: {error}")
    return False


def measure_objects() -> dict[str, float]:
    """Count the lists of distinct objects in which each object is one option."""
    lists = {
        "plain": [Plain(), Plain(), Plain()],
        "slots": [Slots(1), Slots(2), Slots(1)],
        "functions": [lambda: 1, lambda: 1],
        "generators": [np.random.default_rng(0), np.random.default_rng(1)],
        "equal for themselves": [_Equal(), _Equal()],
        "not comparable": [_Refuses(), _Refuses()],
    }
    expected = {"equal for themselves": 1}
    held = 0
    for name, options in lists.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            space = Space.from_notation({"a": options})
        n = len(space.columns[0].dimension.values)
        held += n == expected.get(name, len(options))
        print(f"  objects: {name}: {n} of {len(options)} options")
    return {"tried": len(lists), "held": held}


class _Equal:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equal)

    def __hash__(self) -> int:
        return 1


class _Refuses:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(*sys.argv[2:])
    else:
        counts = {category: measure(category) for category in CASES}
        counts["errors of rvs, ppf and constraints"] = measure_errors()
        counts["objects of one class"] = measure_objects()
        save("odd_spaces", sys.argv[1], counts)
