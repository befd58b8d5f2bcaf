"""Consecutive loops in a searcher with two stages."""

import numpy as np
import pytest
from simple_estimators import Sized
from sklearn.datasets import load_iris
from two_stage_search import InTwoStages

from skbayes import load_history
from skbayes.evaluation.subsets import Fidelity

X, y = load_iris(return_X_y=True)
SPACE = {"quality": (0.0, 1.0)}


def search(**kwargs):
    defaults = {"n_iter": 10, "cv": 3, "random_state": 0, "refit": False}
    return InTwoStages(Sized(), SPACE, **(defaults | kwargs))


def summary(fitted):
    return [
        (t.number, t.stage, t.train_fraction, t.subset, t.params, t.score)
        for t in fitted.trials_
    ]


def test_each_trial_is_made_on_what_its_stage_says():
    fitted = search().fit(X, y)
    results = fitted.cv_results_
    np.testing.assert_array_equal(results["stage"], [0] * 5 + [1] * 5)
    np.testing.assert_array_equal(results["train_fraction"], [0.2] * 5 + [1.0] * 5)
    np.testing.assert_array_equal(results["subset"], [0, 1, 0, 1, 0] + [0] * 5)
    # Sized scores the number of rows it was fitted on, by a digit of its own.
    sizes = [round(score) for score in results["mean_test_score"]]
    assert sizes == [20] * 5 + [100] * 5
    best = sorted(fitted.trials_[:5], key=lambda trial: -trial.score)[:2]
    assert [t.params for t in fitted.trials_[5:7]] == [t.params for t in best]


@pytest.mark.parametrize("n_points", [3])
def test_the_trials_do_not_depend_on_the_workers(n_points):
    one = search(pre_dispatch=n_points).fit(X, y)
    two = search(pre_dispatch=n_points, n_jobs=2).fit(X, y)
    assert summary(one) == summary(two)


@pytest.mark.parametrize("n_done", [0, 3, 5, 9])
def test_a_journal_goes_on_in_any_stage(n_done, tmp_path):
    expected = search().fit(X, y)

    class Killed(BaseException):
        pass

    def kill(history):
        if history[-1].number + 1 == n_done:
            raise Killed

    journal = tmp_path / "journal"
    if n_done:
        with pytest.raises(Killed):
            search(journal=journal, stopper=kill).fit(X, y)
    fitted = search(journal=journal).fit(X, y)
    assert summary(fitted) == summary(expected)
    frame = load_history(journal)
    assert frame["stage"].tolist() == [0] * 5 + [1] * 5
    assert summary(search(journal=journal).fit(X, y)) == summary(expected)


def test_a_journal_remembers_where_a_stage_ended(tmp_path):
    journal = tmp_path / "journal"
    search(journal=journal, stopper=lambda trials: True).fit(X, y)
    fitted = search(journal=journal).fit(X, y)
    assert [trial.stage for trial in fitted.trials_] == [0] + [1] * 5


def test_a_stopper_ends_a_stage_and_sees_its_trials_alone():
    seen = []

    def after_three(history):
        seen.append([trial.stage for trial in history])
        return len(history) == 3

    fitted = search(stopper=after_three).fit(X, y)
    assert [trial.stage for trial in fitted.trials_] == [0, 0, 0, 1, 1, 1]
    assert seen == [[0] * n for n in (1, 2, 3)] + [[1] * n for n in (1, 2, 3)]
    assert fitted.stop_reason_ == "stopper"


def test_a_space_that_is_exhausted_ends_a_stage():
    spaces = {"quality": [0.1, 0.2, 0.3]}
    fitted = InTwoStages(Sized(), spaces, n_iter=10, cv=3, refit=False).fit(X, y)
    assert [trial.stage for trial in fitted.trials_] == [0] * 3 + [1] * 3
    assert fitted.stop_reason_ == "exhausted"


@pytest.mark.parametrize("at, stages", [(2, [0, 0]), (7, [0] * 5 + [1] * 2)])
def test_an_interrupt_ends_the_search_in_any_stage(at, stages):
    def interrupt(history):
        if history[-1].number + 1 == at:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        fitted = search(stopper=interrupt).fit(X, y)
    assert [trial.stage for trial in fitted.trials_] == stages
    assert fitted.stop_reason_ == "interrupted"


def test_a_subset_that_is_too_small_is_refused_before_any_fit():
    class Tiny(InTwoStages):
        def _small(self, number, params):
            return params, Fidelity(train_size=2)

    with pytest.raises(ValueError, match="Use at least 3"):
        Tiny(Sized(), SPACE, cv=3, error_score="raise").fit(X, y)


def test_a_race_is_run_among_the_trials_of_a_stage():
    fitted = search(racing=0.49, n_iter=12, journal=None).fit(X, y)
    second = [trial for trial in fitted.trials_ if trial.stage == 1]
    # Those of the first stage score far less, and would let every one pass.
    assert [trial.state for trial in second[:3]] == ["complete"] * 3
    assert any(trial.state == "pruned" for trial in second)
