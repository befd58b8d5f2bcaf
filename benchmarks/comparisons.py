"""Comparisons in the examples and the documentation, repeated with other seeds.

A program that compares searches shows one seed. This script runs it with ten seeds of
the data, the folds and the searches, and counts the seeds with which each comparison
holds::

    python benchmarks/comparisons.py
    python benchmarks/comparisons.py quickstart --check

Arguments select programs by a part of their paths. ``--check`` exits with status 1 if a
comparison holds with fewer than nine of ten seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import re
import sys
import tempfile
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import one_thread  # noqa: F401

# isort: split
import numpy as np

os.environ.setdefault("MPLBACKEND", "agg")

ROOT = Path(__file__).resolve().parents[1]
N_SEEDS = 10
# The seeds of a program, and the code of a page.
SEED = re.compile(r'(?<=random_state=)0\b|(?<="random_state": )0\b|(?<=default_rng\()0')
# The comparisons of docs/quick_start.rst are in the sections before this one.
END = "\nResults\n---"
PYTHON = re.compile(r"^\.\. code-block:: python\n\n((?:(?: {3}.*)?\n)+)", re.M)


class Comparison(NamedTuple):
    """Two expressions of the variables of a program.

    The first value is not less than the second one with the share `required` of the
    seeds; 0 if the program does not say so, and only the difference is of interest.
    `printed(label)` is the number that follows a label in the output, and
    `last(figure, label)` the end of a line in a figure.
    """

    name: str
    first: str
    second: str
    required: float = 0.9


_GRID = "searches['grid']"
_RANGES = "searches['ranges of the grid']"
_AUTO = "searches['without a space']"
_CV, _TEST = "best_score_", "score(X_test, y_test)"
COMPARISONS = {
    "examples/quickstart.py": [
        Comparison("half of the trials", f"{_RANGES}.{_CV}", f"{_GRID}.{_CV}"),
        Comparison("no space", f"{_AUTO}.{_CV}", f"{_GRID}.{_CV}"),
        Comparison("half, new data", f"{_RANGES}.{_TEST}", f"{_GRID}.{_TEST}", 0.0),
        Comparison("no space, new data", f"{_AUTO}.{_TEST}", f"{_GRID}.{_TEST}", 0.0),
    ],
    "README.md": [
        Comparison("eight trials", "search.best_score_", "before.best_score_", 0.7),
    ],
    "docs/quick_start.rst": [
        Comparison("ten trials, grid", "search.best_score_", "grid.best_score_", 0.7),
        Comparison("no space, ranges", "auto.best_score_", "search.best_score_"),
    ],
    "docs/draw_pictures.py": [
        Comparison(
            "convergence.png: BayesSearchCV, RandomizedSearchCV",
            "last(convergence(), 'BayesSearchCV')",
            "last(convergence(), 'RandomizedSearchCV')",
        ),
    ],
    "examples/data/text.py": [
        Comparison("tuned, counts of words", "accuracy", "plain_accuracy"),
    ],
    "examples/data/groups.py": [
        Comparison("random, groups", "leaking.best_score_", "grouped.best_score_"),
    ],
    "examples/data/time_series.py": [
        Comparison(
            "random splits: error on later data, cross-validated",
            "printed('KFold: cross-validated [0-9.]*, later data')",
            "printed('KFold: cross-validated')",
        ),
    ],
    "examples/methods/multi_stage.py": [
        Comparison(
            "seconds on all rows, in stages",
            "printed('BayesSearchCV: 24 trials in')",
            "printed('MultiStageSearchCV: 24 trials in')",
        ),
        Comparison(
            "test accuracy in stages, on all rows",
            "staged.score(X_test, y_test)",
            "plain.score(X_test, y_test)",
            0.0,
        ),
    ],
}


def code_of(program: str) -> str:
    """Return the code of a script, of the first part of a page, or of a change."""
    text = (ROOT / program).read_text("utf-8")
    if program == "README.md":
        (change,) = re.findall(r"^```diff\n(.*?)^```", text, re.M | re.S)
        before, after = (
            re.sub(rf"^[{sign}].*\n|^.", "", change, flags=re.M) for sign in "+-"
        )
        return f"{before}before = search\n{after}"
    if program.endswith(".rst"):
        return "\n".join(map(textwrap.dedent, PYTHON.findall(text.partition(END)[0])))
    return text


def last(figure: Any, label: str) -> float:
    """Return the last value of a line in the first axes of a figure."""
    (line,) = (e for e in figure.axes[0].get_lines() if e.get_label() == label)
    return float(line.get_ydata()[-1])


def run(program: str, seed: int) -> list[tuple[float, float]]:
    """Run a program with another seed; return both values of each comparison."""
    is_main = "docs/draw" not in program
    names: dict[str, Any] = {"__name__": "__main__" if is_main else "imported"}
    names |= {"__file__": str(ROOT / program), "last": last}
    output = io.StringIO()
    with contextlib.redirect_stdout(output), tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec(compile(SEED.sub(str(seed), code_of(program)), program, "exec"), names)
        os.chdir(ROOT)

    def printed(label: str) -> float:
        match = re.search(rf"^{label} (-?[0-9.]+[0-9])", output.getvalue(), re.M)
        assert match is not None
        return float(match[1])

    names["printed"] = printed
    return [
        (float(eval(c.first, names)), float(eval(c.second, names)))
        for c in COMPARISONS[program]
    ]


def main() -> int:
    """Run the programs, print the counts and the differences, and return the status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", default=[""])
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    failed = False
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for program, comparisons in COMPARISONS.items():
            if not any(part in program for part in options.programs):
                continue
            print(program, flush=True)
            futures = [pool.submit(run, program, seed) for seed in range(options.seeds)]
            values = np.array([future.result() for future in futures])
            for comparison, (first, second) in zip(
                comparisons, values.transpose(1, 2, 0), strict=True
            ):
                n_held = int(np.sum(first >= second))
                apart = first - second
                error = apart.std(ddof=1) / math.sqrt(len(apart))
                fails = n_held < comparison.required * options.seeds
                failed |= fails
                print(
                    f"  {comparison.name}: {n_held} of {options.seeds}, "
                    f"{first.mean():.4f} and {second.mean():.4f}, difference "
                    f"{apart.mean():+.4f} ± {error:.4f}{' FAILS' if fails else ''}",
                    flush=True,
                )
    return int(failed and options.check)


if __name__ == "__main__":
    sys.exit(main())
