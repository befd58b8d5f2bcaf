import sys

import lightgbm
import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.surrogates import TreeEnsemble
from skbayes.surrogates.trees import import_lightgbm


def data(n=40, seed=0):
    """Return two ordered columns, the second often inactive, and three options."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random((n, 2)), rng.integers(3, size=n) / 2])
    X[::3, 1] = np.nan
    return X, np.sin(5 * X[:, 0]) + (X[:, 2] == 0.5)


OPTIONS = [0, 0, 3]


def test_predictions_are_those_of_the_leaves():
    """The reference is mean and variance in the leaf of a random tree."""
    X, y = data()
    candidates, _ = data(15, seed=1)
    model = TreeEnsemble(10, n_options=OPTIONS).fit(X, y)
    booster = model._booster
    codes = np.array([1, 1, 2])
    leaves_of_X, theirs = (
        booster.predict(part * codes, pred_leaf=True) for part in (X, candidates)
    )
    mean, sd = model.predict(candidates)
    for i, leaves in enumerate(theirs):
        inside = [y[leaves_of_X[:, t] == leaf] for t, leaf in enumerate(leaves)]
        means = [part.mean() for part in inside]
        variance = np.var(means) + np.mean([part.var() for part in inside])
        assert mean[0, i] == pytest.approx(np.mean(means))
        assert sd[0, i] == pytest.approx(np.sqrt(variance))


def test_uncertainty_is_greater_far_from_observations():
    X, y = data(150)
    candidates, truth = data(300, seed=1)
    model = TreeEnsemble(n_options=OPTIONS).fit(X, y)
    mean, sd = model.predict(candidates)
    assert np.corrcoef(mean[0], truth)[0, 1] > 0.9
    assert np.mean(np.abs(mean[0] - truth) < 2 * sd[0]) > 0.8
    assert model.predict(X)[1].mean() < sd.mean()


def test_scores_of_any_number_and_spaces_without_columns():
    X, y = data()
    constant = TreeEnsemble().fit(X, np.full(len(X), 3.0)).predict(X)
    np.testing.assert_array_equal(constant[0], 3.0)
    empty = TreeEnsemble().fit(np.empty((3, 0)), np.arange(3.0))
    assert empty.predict(np.empty((2, 0)))[0] == pytest.approx(1.0)
    assert empty.predict(np.empty((0, 0)))[0].shape == (1, 0)
    for n in range(1, 6):
        X, y = data(n)
        mean, sd = TreeEnsemble(n_options=OPTIONS).fit(X, y).predict(data(9, 1)[0])
        assert mean.shape == sd.shape == (1, 9)
        assert np.all((y.min() <= mean) & (mean <= y.max()) & (sd > 0))
    with pytest.raises(ValueError, match="n_trees must be >= 2, got 1"):
        TreeEnsemble(1)


def test_noisy_scores_weigh_less():
    X = np.array([[0.5], [0.5], [0.1], [0.9]])
    y = np.array([1.0, 0.0, 0.5, 0.5])
    at = X[:1]
    means = [
        TreeEnsemble().fit(X, y, np.array([0.0, noise, 0.0, 0.0])).predict(at)[0][0, 0]
        for noise in (0.0, 1.0, 1e300)
    ]
    assert means[0] < means[1] < means[2]
    # The variance of both scores is 1 / 4, so that the second one has half the weight.
    half = TreeEnsemble().fit(X[:2], y[:2], np.array([0.0, 0.25])).predict(at)[0]
    np.testing.assert_allclose(half, 2.0 / 3.0)


def test_pending_configurations_count_as_predicted():
    X, y = data()
    pending = data(3, seed=5)[0]
    model = TreeEnsemble(n_options=OPTIONS).fit(X, y)
    before = model.predict(X)
    conditioned = model.condition(pending)
    predicted = model.predict(pending)[0][0]
    direct = TreeEnsemble(n_options=OPTIONS).fit(
        np.vstack([X, pending]), np.append(y, predicted)
    )
    for one, other in zip(conditioned.predict(X), direct.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(model.predict(X), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    assert import_lightgbm() is lightgbm
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"skbayes\[lightgbm\]"):
        Optimizer({"x": (0.0, 1.0)}, surrogate="trees")
