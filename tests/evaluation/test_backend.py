"""Backends: how folds are sent, and what returns from them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel

from skbayes.evaluation.backend import (
    Backend,
    DataHandle,
    ProcessBackend,
    ThreadBackend,
)
from skbayes.evaluation.fold import Fold, FoldOutcome, FoldTask, Inputs, run_folds
from skbayes.evaluation.killable import KillableBackend
from skbayes.evaluation.limits import FitLimits

X, y = load_iris(return_X_y=True)
ROWS = np.arange(len(y))
FOLDS = [Fold(index, {"C": 1.0}) for index in range(4)]


def task(estimator=None):
    splits = [(ROWS[ROWS % 4 != i], ROWS[ROWS % 4 == i]) for i in range(4)]
    options = {
        "scorer": get_scorer("accuracy"),
        "error_score": np.nan,
        "return_train_score": False,
        "return_n_test_samples": True,
        "return_times": True,
        "return_parameters": False,
        "verbose": 0,
    }
    return FoldTask(estimator or SVC(), Inputs(X, y, splits), options)


class Workers:
    """Parallel call that records the calls; each fold takes a given time."""

    n_jobs = 2

    def __init__(self, seconds):
        self.seconds = seconds
        self.sizes = []

    def __call__(self, calls):
        calls = list(calls)
        self.sizes.append([len(arguments[1]) for _, arguments, _ in calls])
        return [
            [FoldOutcome(seconds=self.seconds) for _ in arguments[1]]
            for _, arguments, _ in calls
        ]


@pytest.mark.parametrize(
    "seconds, sizes",
    [(1e-4, [4]), (1e-3, [4]), (0.002, [2, 2]), (0.1, [1, 1, 1, 1])],
)
def test_quick_folds_are_sent_together(seconds, sizes):
    backend, workers = Backend(task()), Workers(seconds)
    for _ in range(2):
        assert len(backend.run(workers, FOLDS)) == 4
    # The time of the first folds is not known.
    assert workers.sizes == [[1, 1, 1, 1], sizes]


@pytest.mark.parametrize("kind", [ThreadBackend, ProcessBackend, Backend])
def test_every_backend_returns_the_outcomes_in_order(kind):
    large = SVC(class_weight=dict.fromkeys(range(3000), 1.0))
    with kind(task(large)) as backend:
        if kind is ProcessBackend:
            # The task is not sent with each fold.
            assert len(pickle.dumps(backend._call(FOLDS[:1], 0.0)[1])) < 1000
        expected = run_folds(DataHandle(task(large)), FOLDS)
        for _ in range(2):
            found = backend.run(Parallel(n_jobs=1), FOLDS)
            assert [outcome.result.test_scores for outcome in found] == [
                outcome.result.test_scores for outcome in expected
            ]


def test_folds_of_processes_that_can_be_killed_are_sent_one_by_one():
    class Silent(Workers):
        def __call__(self, calls):
            calls = list(calls)
            self.sizes.append([pickle.loads(call[1][2]).index for call in calls])
            return [[FoldOutcome(seconds=self.seconds)] for _ in calls]

    workers = Silent(1e-4)
    with KillableBackend(Backend(task()), FitLimits(trial_timeout=9.0)) as backend:
        for _ in range(2):
            backend.run(workers, FOLDS)
    assert workers.sizes == [[0, 1, 2, 3]] * 2


class Unreadable:
    """Estimator that another process cannot load."""

    def __reduce__(self):
        return int, ("no number",)


def test_an_error_of_loading_the_task_is_returned():
    with ProcessBackend(task(Unreadable())) as backend:
        (outcome,) = run_folds(backend.handle, FOLDS[:1])
    assert outcome.status == "raised"
    assert isinstance(outcome.exception, ValueError)


def test_a_fit_that_searches_for_errors_raises_them():
    with ThreadBackend(task(), n_workers=2) as backend:
        with pytest.raises(ValueError, match="C"):
            backend.fit_here(Fold(0, {"C": -1.0}, raises=True))
        assert backend.fit_here(Fold(0, {"C": 1.0}, raises=True)).result is not None
