"""Overhead of a trial without its fits: scheduling, journal, data transfer, joblib.

The output is milliseconds per trial: the median over repeats of a run of --trials
trials, each of which takes a fraction of a second. The smallest value is also shown,
because other load can only increase the time.

- loop: proposals, executor, and fits that do nothing, without and with a journal of all
  proposals and results.
- search: `BayesSearchCV.fit` with proposals at no cost and an estimator that does
  nothing. It runs in the main thread, and with n_points 1 and 4 on threads and on loky,
  without and with a journal.
- grid: GridSearchCV on the same candidates, as a reference for the overhead of a
  search. All of its fits are passed to joblib in one call instead of one call per
  trial.

Proposals are drawn at random; overhead.py measures the time of real proposals. A result
has five folds with one score each. The compared settings are run alternately, and
the first run of each is not counted.

Example: python benchmarks/engine_overhead.py run --trials 200 --seeds 6
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from adder import Adder
from harness import Figures, Record, Study, main
from sklearn.model_selection import GridSearchCV, KFold

from skbayes import BayesSearchCV
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.journal.journal import Journal, NullJournal
from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.scheduler import Budget, Scheduler
from skbayes.space import Space
from skbayes.space.candidates import Configuration

N_FOLDS = 5
NOTATION = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
TARGET = 5.0


class Thoughtless:
    """Optimizer whose proposals take no time."""

    last_expected_improvement = None
    n_configurations = float("inf")

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._rng = np.random.default_rng(0)

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Draw a configuration at random."""
        row = self._rng.random(len(self._names))
        return Configuration(dict(zip(self._names, row.tolist(), strict=True)), row)

    def tell(self, params: Configuration, score: float, **more: Any) -> None:
        """Ignore the score."""

    def pend(self, params: Configuration) -> None:
        """Do nothing."""

    def forget(self, params: Configuration) -> None:
        """Do nothing."""

    def expected_cost(self, params: Configuration) -> None:
        """Return no expected cost."""


class ThoughtlessSearch(BayesSearchCV):
    """Search that draws its trials at random."""

    def _make_optimizer(self, run: Any) -> Any:
        return Thoughtless(["x"])


class _Evaluator:
    """Evaluator that creates trials without any fits."""

    def prepare(self, number: int, params: dict[str, Any]) -> Any:
        def task(parallel: Any) -> tuple[int, dict[str, Any]]:
            return number, params

        return task

    def conclude(self, evaluation: Any, outcomes: Any) -> Trial:
        number, params = outcomes
        return a_trial(number, params)

    def observation(self, trial: Trial) -> dict[str, Any]:
        """Return nothing in addition to the score."""
        return {}

    def learn(self, trial: Trial) -> None:
        """Ignore the trial."""

    def recall(self, trial: Trial) -> Trial:
        """Return the trial unchanged."""
        return trial


def a_trial(number: int, params: dict[str, Any]) -> Trial:
    folds = [
        FoldResult({"score": 0.5 + 0.01 * i}, 0.1, 0.01, 20) for i in range(N_FOLDS)
    ]
    return Trial(number=number, params=params, folds=folds, score=0.52, duration=0.1)


@contextlib.contextmanager
def a_journal(wanted: bool) -> Iterator[Journal | NullJournal]:
    """Open a new journal in a temporary folder if `wanted`, otherwise none."""
    if not wanted:
        yield NullJournal()
        return
    space = Space.from_notation(NOTATION)
    splits = [(np.arange(80), np.arange(80, 100))] * N_FOLDS
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(
            os.path.join(folder, "journal"),
            space=space,
            identity={},
            seed=0,
            n_points=1,
            splits=splits,
        ) as journal,
    ):
        yield journal


def loop(n_points: int, journal: bool, n_trials: int) -> float:
    """Return milliseconds per trial of the loop without a search."""
    environment = ExecutionContext(2 if n_points > 1 else None, "2*n_jobs")
    with (
        a_journal(journal) as log,
        joblib.parallel_config("threading"),
        TrialExecutor(environment, n_points, N_FOLDS) as executor,
    ):
        scheduler = Scheduler(
            Thoughtless(list(NOTATION)),
            _Evaluator(),
            executor,
            Budget(n_trials),
            n_points=n_points,
            journal=log,
        )
        began = time.perf_counter()
        scheduler.run()
        return 1e3 * (time.perf_counter() - began) / n_trials


def search(n_points: int, backend: str | None, journal: bool, n_trials: int) -> float:
    """Return milliseconds per trial of a whole search without its refit."""
    X, y = np.random.default_rng(0).random((100, 4)), np.zeros(100)
    settings: dict[str, Any] = {"cv": KFold(N_FOLDS), "refit": False}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if backend is not None:
            stack.enter_context(joblib.parallel_config(backend, n_jobs=2))
        if n_points == 0:
            grid = {"x": np.linspace(0.0, 1.0, n_trials)}
            made: Any = GridSearchCV(Adder(), grid, **settings)
        else:
            made = ThoughtlessSearch(
                Adder(),
                {"x": (0.0, 1.0)},
                n_iter=n_trials,
                pre_dispatch=n_points,
                journal=Path(folder) / "journal" if journal else None,
                random_state=0,
                **settings,
            )
        began = time.perf_counter()
        made.fit(X, y)
        return 1e3 * (time.perf_counter() - began) / n_trials


def settings() -> dict[str, Callable[[int], float]]:
    """Return the measured functions of the number of trials by name."""
    found: dict[str, Callable[[int], float]] = {}

    def add(name: str, function: Callable[..., float], *args: Any) -> None:
        found[name] = lambda n_trials: function(*args, n_trials)

    for n_points in (1, 4):
        for journal in (False, True):
            what = f"n_points={n_points}{' journal' if journal else ''}"
            add(f"loop {what}", loop, n_points, journal)
    for backend, points in ((None, (1,)), ("threading", (1, 4)), ("loky", (1, 4))):
        where = backend or "one-thread"
        add(f"grid {where}", search, 0, backend, False)
        for n_points in points:
            for journal in (False, True):
                what = f"n_points={n_points}{' journal' if journal else ''}"
                add(f"search {where} {what}", search, n_points, backend, journal)
    return found


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one setting; the first run of each starts workers and imports modules."""
    warnings.simplefilter("ignore")
    return {"figures": [settings()[task](options["trials"])]}


def summarize(study: Study, found: Figures, columns: Sequence[Any]) -> Record:
    """Print and return median and smallest milliseconds, without the first runs."""
    summary: Record = {"target": TARGET, "ms": {}}
    print(f"{'ms per trial':44}{'median':>9}{'smallest':>10}")
    for name in dict.fromkeys(task for task, _ in found["skbayes"]):
        runs = {seed: v for (task, seed), v in found["skbayes"].items() if task == name}
        values = [float(v[0]) for seed, v in runs.items() if seed > 0 or len(runs) == 1]
        median, least = round(float(np.median(values)), 3), round(min(values), 3)
        summary["ms"][name] = {"median": median, "smallest": least}
        print(f"{name:44}{median:9.2f}{least:10.2f}")
    return summary


STUDY = Study(
    name="engine_overhead",
    tasks=lambda: list(settings()),
    methods=("skbayes",),
    run=run,
    columns=lambda options: ["ms"],
    summarize=summarize,
    options={"trials": 100},
    seeds=8,
    smallest=("--trials", "3", "--seeds", "1")
    + ("--tasks", "loop n_points=1;search one-thread n_points=1 journal"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
