"""Stopping criteria."""

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.loop.stopping import ExpectedImprovementBelow, NoImprovement, TargetScore
from skbayes.trial.records import History, Trial


def history(*scores):
    """Return trials with these scores; a pair also gives the state."""
    pairs = [s if isinstance(s, tuple) else (s, "complete") for s in scores]
    return History(
        Trial(number, {"x": number}, [], score=score, state=state)
        for number, (score, state) in enumerate(pairs)
    )


def proposals(*expected):
    return History(
        Trial(i, {}, [], score=0.0, expected_improvement=value)
        for i, value in enumerate(expected)
    )


FAILED = (math.nan, "failed")


@pytest.mark.parametrize(
    "stopper, scores, stops",
    [
        (NoImprovement(2), [1, (5.0, "pruned"), (9.0, "timed_out")], True),
        (NoImprovement(2), [(5.0, "pruned"), 1, 1], False),
        (NoImprovement(2, min_delta=0.5), [1.0, 1.25, 1.5], True),
        (NoImprovement(2, min_delta=0.49), [1.0, 1.25, 1.5], False),
        (TargetScore(0.9), [], False),
        (TargetScore(0.9), [0.8], False),
        (TargetScore(0.9), [0.9], True),
        (TargetScore(0.9), [0.95, 0.1], True),
        (TargetScore(0.9), [FAILED, (0.95, "pruned"), (0.95, "timed_out")], False),
    ],
)
def test_stoppers_by_score_apply_at_their_threshold(stopper, scores, stops):
    trials = history(*scores)
    before = copy.deepcopy(trials), copy.deepcopy(stopper)
    assert stopper(trials) is stopper(trials) is stops
    assert (trials, stopper) == before


SCORES = st.lists(st.one_of(st.floats(-9, 9), st.just(FAILED)), max_size=12)


@given(SCORES, st.integers(1, 5))
def test_no_improvement_counts_since_the_best(scores, n_trials):
    numbers = [s if isinstance(s, float) else -math.inf for s in scores]
    best, since = -math.inf, 0
    for number in numbers:
        since = 0 if number > best else since + 1
        best = max(best, number)
    assert NoImprovement(n_trials)(history(*scores)) is (since >= n_trials)


@pytest.mark.parametrize(
    "expected, n_trials, stops",
    [
        ([], 1, False),
        ([None, None], 1, False),
        ([0.05], 1, True),
        ([0.1], 1, False),
        ([0.05, 0.2], 1, False),
        ([0.2, 0.05, None], 1, True),
        ([None, 0.05], 2, False),
        ([0.05, None, 0.05], 2, True),
        ([0.05, 0.2, 0.05], 2, False),
        ([math.nan], 1, False),
    ],
)
def test_small_expected_improvements_stop_the_search(expected, n_trials, stops):
    stopper = ExpectedImprovementBelow(0.1, n_trials)
    assert stopper(proposals(*expected)) is stops


STOPPERS = [
    (NoImprovement(20, min_delta=0.5), "no_improvement"),
    (ExpectedImprovementBelow(0.1), "expected_improvement"),
    (TargetScore(-3), "target_score"),
]


@pytest.mark.parametrize("stopper, reason", STOPPERS, ids=lambda one: repr(one))
def test_stoppers_can_be_pickled_and_compared(stopper, reason):
    assert stopper.reason == reason
    for other in (pickle.loads(pickle.dumps(stopper)), copy.deepcopy(stopper)):
        assert other == stopper and other.reason == reason
    assert eval(repr(stopper)) == stopper


@pytest.mark.parametrize(
    "make, error, match",
    [
        (lambda: NoImprovement(0), ValueError, "n_trials must be 1 or more"),
        (lambda: NoImprovement(2.0), TypeError, "n_trials must be an int"),
        (lambda: NoImprovement(True), TypeError, "n_trials must be an int"),
        (lambda: NoImprovement(2, -1), ValueError, "min_delta must be 0 or more"),
        (lambda: NoImprovement(2, "1"), TypeError, "min_delta must be a number"),
        (lambda: ExpectedImprovementBelow(0), ValueError, "threshold must be positive"),
        (lambda: ExpectedImprovementBelow("a"), TypeError, "threshold must be a numb"),
        (lambda: ExpectedImprovementBelow(1, 0), ValueError, "n_trials must be 1"),
        (lambda: TargetScore(math.nan), ValueError, "score must be finite"),
        (lambda: TargetScore(None), TypeError, "score must be a number"),
    ],
)
def test_wrong_arguments_of_stoppers_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()
