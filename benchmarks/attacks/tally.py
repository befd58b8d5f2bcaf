"""Harness of the attacks: counts the cases that pass, and saves the counts as JSON.

Each script yields its cases as tuples (category, check, *arguments). A case passes if
``check(*arguments)`` returns a true value, and fails if it returns a false value or
raises an exception. A check that counts more returns a dict of figures with "held" and
"tried", which is 1 by default; a dict without "held" is only a measurement. Integers of
a category are added; of floats, the largest is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from skbayes import BayesSearchCV

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "attacks"
HELPERS = [str(HERE), str(HERE.parents[1] / "tests" / "helpers")]
sys.path[:0] = [folder for folder in HELPERS if folder not in sys.path]

Figures = dict[str, Any]


def main(cases: Callable[..., Iterable[tuple]], n_cases: int | None = None) -> None:
    """Run the cases of a script with the arguments of the command line.

    If `n_cases` is given, it is the default number of cases, and `cases` is called with
    a number and a seed. Ctrl-C saves the counts so far.
    """
    script = sys.modules["__main__"]
    parser = argparse.ArgumentParser(
        description=script.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "when", choices=("before", "after"), help="release, for the file"
    )
    parser.add_argument("--only", default="", help="regular expression of categories")
    parser.add_argument("--case", type=int, help="number of the only case to run")
    parser.add_argument("--seed", type=int, default=0, help="of cases drawn at random")
    if n_cases is not None:
        parser.add_argument(
            "--cases", type=int, default=n_cases, help="default: %(default)s"
        )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    limits = () if n_cases is None else (args.cases, args.seed)
    counts: dict[str, Figures] = {}
    failures = set[str]()
    try:
        for number, (category, check, *arguments) in enumerate(cases(*limits)):
            if args.case in (None, number) and re.search(args.only, category):
                figures, failure = run(check, arguments)
                add(counts.setdefault(category, {}), figures)
                if failure is not None and failure not in failures:
                    failures.add(failure)
                    case = f"{category}, case {number} of seed {args.seed}"
                    print(f"{case}: {ascii(failure)[:300]}", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    width = max(map(len, counts), default=0)
    for category, figures in counts.items():
        shown = "  ".join(f"{key} {value:g}" for key, value in figures.items())
        print(f"{category:{width}}  {shown}")
    path = RESULTS / f"{Path(script.__file__ or '').stem}-{args.when}.json"
    if path.exists() and (args.only or args.case is not None):
        counts = json.loads(path.read_text()) | counts
    path.write_text(json.dumps(counts, indent=2) + "\n")


def run(check: Callable[..., Any], arguments: list[Any]) -> tuple[Figures, str | None]:
    """Run one case; return its figures, and a description if it fails."""
    begin = time.perf_counter()
    try:
        result = check(*arguments)
        message = f"{check.__name__}{tuple(arguments)} returned {result}"
    except Exception as error:
        result, message = False, f"{type(error).__name__}: {error}"
    figures = result if isinstance(result, dict) else {"held": int(bool(result))}
    if "held" not in figures:
        return figures, None
    figures = {"tried": 1, **figures}
    figures.setdefault("longest_s", time.perf_counter() - begin)
    return figures, None if figures["held"] == figures["tried"] else message


def add(total: Figures, figures: Figures) -> None:
    """Add integers to the figures of a category, and keep the largest of floats."""
    for key, value in figures.items():
        if isinstance(value, float):
            total[key] = round(max(total.get(key, value), value), 3)
        else:
            total[key] = total.get(key, 0) + int(value)


def count(outcomes: Iterable[bool]) -> Figures:
    """Return the numbers of things tried and held."""
    held = [bool(held) for held in outcomes]
    return {"tried": len(held), "held": sum(held)}


# -- what several attacks use ----------------------------------------------------------


class Scored(BaseEstimator):
    """Estimator whose score is its parameter `value`."""

    def __init__(self, value: float = 0.5) -> None:
        self.value = value

    def fit(self, X: Any, y: Any) -> Scored:
        """Fit nothing."""
        return self

    def score(self, X: Any, y: Any) -> float:
        """Return the value."""
        return self.value


def make_search(estimator: Any, space: Any, **params: Any) -> BayesSearchCV:
    """Return a BayesSearchCV of random configurations."""
    shared = {"cv": 2, "surrogate": "random", "random_state": 0}
    return BayesSearchCV(estimator, space, **(shared | params))


@contextlib.contextmanager
def meanwhile(act: Callable[[], Any], pause: Callable[[], float]) -> Iterator[None]:
    """Call a function again and again in a thread, after pauses of some seconds."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(pause()):
            act()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
