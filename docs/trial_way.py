"""Figure of one trial's way through the package, traced in a search that runs.

Usage: ``python docs/trial_way.py > way.svg``. The contributing guide shows it.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from html import escape
from types import FrameType
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

import skbayes
from skbayes import BayesSearchCV
from skbayes.space.candidates import Configuration
from skbayes.trial.evaluator import Evaluation
from skbayes.trial.fold import Fold, Job, run_folds
from skbayes.trial.plan import Plan
from skbayes.trial.records import FoldResult, Trial

# Records in which a trial is described, from the plan of its search to its row.
RECORDS = (Job, Plan, Configuration, Evaluation, Fold, FoldResult, Trial)
FOLDER = str(inspect.getfile(skbayes)).removesuffix("__init__.py")
WIDTH, HEIGHT, ROW = 960, 66, 90


@dataclass(frozen=True)
class Step:
    """Record when it is made, by a function, perhaps in a worker."""

    record: str
    summary: str
    function: str
    module: str
    is_in_worker: bool


def way_of_a_trial() -> list[Step]:
    """Return where the records of the first trial of a search are made, in order."""
    steps: dict[str, Step] = {}
    makers = {kind.__init__.__code__: kind for kind in RECORDS}
    table = BayesSearchCV._table.__code__

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        kind = makers.get(frame.f_code)
        if kind is not None and kind.__name__ not in steps:
            summary = str(kind.__doc__).partition("\n")[0]
            steps[kind.__name__] = _step(kind.__name__, summary, frame.f_back)
        elif frame.f_code is table:
            summary = "Parameters, scores and times of the trial, as in GridSearchCV."
            steps["row"] = _step("row of cv_results_", summary, frame)

    X, y = np.zeros((8, 1)), np.array([0, 1] * 4)
    space = {"strategy": ["prior", "uniform"]}
    search = BayesSearchCV(DummyClassifier(), space, n_iter=1, cv=2, random_state=0)
    sys.setprofile(profile)
    try:
        search.fit(X, y)
    finally:
        sys.setprofile(None)
    return list(steps.values())


def _step(record: str, summary: str, frame: FrameType | None) -> Step:
    """Return the step of a record that the function with this frame makes."""
    stack = []
    while frame is not None:
        code = frame.f_code
        is_own = code.co_qualname.startswith(f"{record}.")
        if code.co_filename.startswith(FOLDER) and not is_own:
            stack.append(code)
        frame = frame.f_back
    path = stack[0].co_filename.removeprefix(FOLDER)
    in_worker = run_folds.__code__ in stack
    function = stack[0].co_qualname.partition(".<locals>")[0]
    return Step(record, summary, function, path, in_worker)


def figure(steps: list[Step]) -> str:
    """Draw the steps below each other, those of workers on the right."""
    height = ROW * len(steps) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-label="Records of a trial, in the order in which they are '
        'made" font-family="sans-serif" font-size="14" fill="currentColor" '
        'stroke="none">',
        '<text x="10" y="20" font-weight="bold">process of the search</text>',
        f'<text x="{WIDTH / 2 + 10}" y="20" font-weight="bold">worker</text>',
    ]
    for place, step in enumerate(steps):
        x = WIDTH / 2 + 10 if step.is_in_worker else 10
        y = 34 + place * ROW
        parts += [
            f'<rect x="{x}" y="{y}" width="{WIDTH / 2 - 20}" height="{HEIGHT}" rx="6" '
            'fill="none" stroke="currentColor"/>',
            f'<text x="{x + 12}" y="{y + 19}" font-weight="bold">'
            f"{escape(step.record)}</text>",
            f'<text x="{x + 12}" y="{y + 38}" font-size="13">'
            f"{escape(step.summary)}</text>",
            f'<text x="{x + 12}" y="{y + 56}" font-size="12">made by '
            f"{escape(step.function)}, {escape(step.module)}</text>",
        ]
        if place:
            before = WIDTH * (0.75 if steps[place - 1].is_in_worker else 0.25)
            here = WIDTH * (0.75 if step.is_in_worker else 0.25)
            parts.append(
                f'<path d="M {before} {y - ROW + HEIGHT} L {here} {y - 2} '
                f'm -5 -7 l 5 7 l 5 -7" '
                'fill="none" stroke="currentColor"/>'
            )
    return "\n".join([*parts, "</svg>"])


if __name__ == "__main__":
    print(figure(way_of_a_trial()))
