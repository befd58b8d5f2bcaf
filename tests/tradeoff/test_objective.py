"""Costs of trials from the measurements of their fits."""

import numpy as np
import pytest

from skbayes.results.trial_costs import trial_cost, trial_costs
from skbayes.tradeoff.objective import parse_cost
from skbayes.trial.measure import COSTS
from skbayes.trial.records import FoldResult, Trial


def trial(*folds, **fields):
    """Return a trial from times; those of first fits are negative."""
    results = [
        FoldResult(extras={"costs": {"fit_time": abs(t), "size": 1}, "warm_up": t < 0})
        for t in folds
    ]
    return Trial(0, {}, results, 0.5, **fields)


@pytest.mark.parametrize(
    ("trials", "fractions", "expected"),
    [
        # First fits do not count, unless there are no others.
        ([(-9.0, 2.0), (3.0, 5.0)], [1.0, 1.0], [2.0, 4.0]),
        ([(-9.0, -7.0), (-3.0,)], [1.0, 1.0], [8.0, 3.0]),
        # Only first fits: the median on as many rows, or a share of that on all rows.
        ([(-9.0,), (2.0,), (3.0,), (7.0,)], [1.0] * 4, [3.0, 2.0, 3.0, 7.0]),
        ([(-9.0,), (2.0,), (4.0,)], [0.5, 1.0, 1.0], [1.5, 2.0, 4.0]),
        ([(2.0,), ()], [1.0, 1.0], [2.0, np.nan]),
    ],
)
def test_costs_without_first_fits(trials, fractions, expected):
    trials = [trial(*times) for times in trials]
    costs = trial_costs(trials, "fit_time", np.array(fractions))
    np.testing.assert_array_equal(costs, expected)
    # The size does not depend on the process.
    assert trial_cost(trial(-1.0), "size") == 1


def test_failed_trials_have_no_cost_and_no_cost_is_negative():
    assert np.isnan(trial_cost(trial(1.0, state="failed"), "fit_time"))
    wrong = Trial(0, {}, [FoldResult(extras={"costs": {"cost": -1.0}})], 0.5)
    with pytest.raises(ValueError, match="cost must be 0 or more"):
        trial_cost(wrong, "cost")


def test_a_cost_is_a_name_or_a_callable():
    assert parse_cost("fit_time") == ("fit_time", COSTS["fit_time"])
    name, measure = parse_cost(len)
    assert (name, measure({"estimator": [1, 2]})) == ("cost", 2)
    for wrong, error in (("price", ValueError), (3, TypeError), (list, TypeError)):
        with pytest.raises(error, match="cost must be one of"):
            parse_cost(wrong)
