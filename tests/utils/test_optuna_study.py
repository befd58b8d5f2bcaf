"""Studies of Optuna."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from skbayes.utils.optuna_study import results_of_study, study_of


def study(direction, *states):
    trials = [
        SimpleNamespace(
            params={"a": i},
            value=float(i),
            state=SimpleNamespace(name=s),
            duration=timedelta(seconds=i),
        )
        for i, s in enumerate(states)
    ]
    return SimpleNamespace(trials=trials, directions=[SimpleNamespace(name=direction)])


def test_a_study_and_what_holds_one():
    own = study("MAXIMIZE")
    assert study_of(own) is own
    assert study_of(SimpleNamespace(study_=own)) is own
    for other in ({"params": []}, SimpleNamespace, type(own), None):
        assert study_of(other) is None


@pytest.mark.parametrize(("direction", "sign"), [("MAXIMIZE", 1), ("MINIMIZE", -1)])
def test_greater_is_better_and_unfinished_trials_are_left_out(direction, sign):
    found = results_of_study(
        study(direction, "COMPLETE", "COMPLETE", "FAIL", "PRUNED", "RUNNING")
    )
    params, scores, noise, seconds, failed = zip(*found, strict=True)
    assert params == ({"a": 0}, {"a": 1}, {"a": 2}, {"a": 3})
    np.testing.assert_array_equal(scores, [0.0, sign, np.nan, np.nan])
    assert noise == (None,) * 4
    assert seconds == (None, 1.0, 2.0, None)
    assert failed == (False, False, True, False)


def test_several_objectives_are_refused():
    source = study("MAXIMIZE", "COMPLETE")
    source.directions *= 2
    with pytest.raises(ValueError, match="2 objectives"):
        results_of_study(source)
