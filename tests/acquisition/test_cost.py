import numpy as np
import pytest
from scipy.stats import norm

from skbayes.acquisition.terms import CostTerm, LimitTerm
from skbayes.surrogates import GaussianProcess


def cost_model():
    rng = np.random.default_rng(0)
    X = rng.random((12, 3))
    X[::4, 2] = np.nan
    return GaussianProcess(n_samples=0).fit(X, 3 * X[:, 0] + X[:, 1]), rng.random(
        (7, 3)
    )


def test_values():
    model, X = cost_model()
    mean, sd = (part[0] for part in model.predict(X))
    np.testing.assert_allclose(CostTerm(model, 0.5).value(X), -0.5 * mean)
    total = np.sqrt(sd**2 + 0.04)
    expected = norm.logcdf(2.0, mean, total)
    np.testing.assert_allclose(LimitTerm(model, 0.04, 2.0).value(X), expected)


@pytest.mark.parametrize("limit", [-60.0, 0.0, 2.0, 60.0])
def test_gradients_agree_with_finite_differences(limit):
    model, X = cost_model()
    for term in (CostTerm(model, 0.7), LimitTerm(model, 0.04, limit)):
        gradient = term.gradient(X)
        assert np.all(np.isfinite(gradient))
        for column, step in enumerate(1e-6 * np.eye(3)):
            numeric = (term.value(X + step) - term.value(X - step)) / 2e-6
            np.testing.assert_allclose(
                gradient[:, column], numeric, rtol=1e-3, atol=1e-4
            )
