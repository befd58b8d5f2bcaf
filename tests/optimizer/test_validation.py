import math
from decimal import Decimal

import numpy as np
import pytest

from skbayes.optimizer.validation import check_cost, check_noise, check_score
from skbayes.surrogates import GaussianProcess


class NoNoise:
    def fit(self, X, y):
        return self


class AnyNoise:
    def fit(self, X, y, **details):
        return self


def test_scores_are_floats_or_nan():
    for score in (1, 1.0, True, np.float32(1.0), np.int8(1)):
        value = check_score(score)
        assert type(value) is float and value == 1.0
    for failed in (math.nan, math.inf, -math.inf, 10**400):
        assert math.isnan(check_score(failed))
    for wrong in (None, "1", [1.0], np.ones(1), 1j):
        with pytest.raises(TypeError, match="score must be a number"):
            check_score(wrong)


@pytest.mark.parametrize(
    ("cost", "censored", "error", "message"),
    [
        ("1 s", False, TypeError, "cost must be a number, got '1 s'"),
        (Decimal(1), False, TypeError, "cost must be a number"),
        (0.0, False, ValueError, "cost must be > 0 and finite.*got 0.0"),
        (-1, False, ValueError, "cost must be > 0"),
        (math.nan, False, ValueError, "cost must be > 0"),
        (math.inf, True, ValueError, "cost must be > 0"),
        (10**400, False, ValueError, "cost must be > 0 and finite"),
        (None, True, ValueError, "cost must be given with censored=True"),
        (1.0, 1, TypeError, "censored must be True or False, got 1"),
        (1.0, None, TypeError, "censored must be True or False"),
    ],
)
def test_costs_that_are_refused(cost, censored, error, message):
    with pytest.raises(error, match=message):
        check_cost(cost, censored)
    assert check_cost(None, False) is None
    for accepted in (True, False, np.True_):
        assert check_cost(2, accepted) == 2.0
        assert check_cost(np.float32(1e-6), accepted) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("noise", "error", "message"),
    [
        ("much", TypeError, "noise must be a number, got 'much'"),
        (-0.1, ValueError, "noise must be >= 0 and finite.*got -0.1"),
        (math.nan, ValueError, "noise must be >= 0 and finite"),
        (math.inf, ValueError, "noise must be >= 0 and finite"),
    ],
)
def test_noise_that_is_refused(noise, error, message):
    with pytest.raises(error, match=message):
        check_noise(noise, "gp")
    for surrogate in ("gp", GaussianProcess(), AnyNoise()):
        assert check_noise(None, surrogate) == check_noise(0, surrogate) == 0.0
        assert check_noise(np.float64(0.5), surrogate) == 0.5
    assert check_noise(None, NoNoise()) == check_noise(0.0, NoNoise()) == 0.0
    with pytest.raises(ValueError, match="the surrogate .*NoNoise.* no parameter"):
        check_noise(0.1, NoNoise())
