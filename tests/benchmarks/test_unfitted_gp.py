import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from unfitted_gp import UnfittedGP

from skbayes.benchmark import load_nmt


@pytest.fixture(scope="module")
def table():
    return load_nmt("ru-en").first(1)


@pytest.mark.parametrize(
    "kernel, reference", [("matern52", Matern(nu=2.5)), ("rbf", RBF())]
)
def test_unfitted_process_is_scikit_learns(table, kernel, reference):
    method = UnfittedGP(table, 0, kernel=kernel)
    rows = [3, 40, 77, 120, 9]
    for row in rows:
        method.tell(table.params[row], float(table.scores[row, 0]))
    model = GaussianProcessRegressor(reference, alpha=1e-3, optimizer=None)
    model.fit(table.X[rows], table.scores[rows, 0])
    mean, sd = model.predict(table.X, return_std=True)
    np.testing.assert_allclose(method.predict(table.params), mean, atol=1e-8)
    best = table.scores[rows, 0].max()
    z = (mean - best) / sd
    improvement = sd * (z * norm.cdf(z) + norm.pdf(z))
    improvement[rows] = -1
    assert method.ask() == table.params[int(np.argmax(improvement))]


def test_unfitted_process_takes_one_objective():
    with pytest.raises(ValueError, match="one objective"):
        UnfittedGP(load_nmt("ru-en"), 0)
