"""Messages about bounds that no trial meets."""

import warnings

import pytest

from skbayes.evaluation.constraints import Bound, Constraints, OutcomeMeasures
from skbayes.evaluation.trial import FoldResult, History, Trial
from skbayes.loop.feasibility import N_FIRST, FeasibilityMessages, unreachable_bounds

LIMITS = Constraints(
    (Bound("size", True, 100.0, True), Bound("recall", False, 0.5)), OutcomeMeasures()
)


def history(sizes, recall=0.9, stage=0):
    return History(
        [
            Trial(
                k,
                {},
                [
                    FoldResult(
                        {"score": 0.5},
                        extras={"outcomes": {"size": size, "recall": recall}},
                    )
                ],
                0.5,
                extras={"violation": 1.0},
                stage=stage,
            )
            for k, size in enumerate(sizes)
        ]
    )


def test_figures_say_how_far_a_bound_is():
    (sentence,) = unreachable_bounds(LIMITS, history([300.0, 250.0, 400.0]))
    assert "size <= 100" in sentence
    assert "smallest of 3 values is 250." in sentence
    (sentence,) = unreachable_bounds(LIMITS, history([50.0, 70.0], recall=0.25))
    assert "largest of 2 values is 0.25." in sentence
    assert not unreachable_bounds(LIMITS, history([300.0, 50.0]))
    assert not unreachable_bounds(LIMITS, History())


@pytest.mark.parametrize("kept", [False, True])
def test_it_is_told_once_after_the_first_trials(kept):
    told = []
    messages = FeasibilityMessages(LIMITS, told.append)
    trials = history([50.0 if kept else 300.0] * (N_FIRST + 3))
    for n in range(1, len(trials) + 1):
        messages(trials[n - 1], trials[:n])
        assert len(told) == (n >= N_FIRST and not kept)


def test_without_a_place_for_it_it_is_a_warning():
    trials = history([300.0] * N_FIRST)
    with pytest.warns(UserWarning, match="smallest of 10 values is 300"):
        FeasibilityMessages(LIMITS)(trials[-1], trials)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FeasibilityMessages(LIMITS)(trials[-1], trials)
