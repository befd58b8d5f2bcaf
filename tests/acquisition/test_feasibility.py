"""Probability of feasibility as a factor of the acquisition function."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from scipy.stats import norm

from skbayes.acquisition.feasibility import (
    Feasibility,
    feasible_first,
    fit_constrained,
    fit_feasibility,
)
from skbayes.acquisition.improvement import ExpectedImprovement
from skbayes.acquisition.observations import Observations
from skbayes.acquisition.proposers import ModelProposer, SamplingProposer
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.random_search import RandomSampler


def model(**kwargs):
    return GaussianProcess(winsorize_scores=False, **kwargs)


def observations(seed=0, n=9, n_constraints=2, n_pending=0, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    slacks = X @ rng.standard_normal((2, n_constraints))
    slacks += shift - np.quantile(slacks, 0.7, axis=0)
    return Observations(
        X,
        np.sin(3 * X[:, 0]) + X[:, 1],
        np.zeros(n),
        rng.random((n_pending, 2)),
        slacks=slacks,
    )


def by_hand(models, X):
    total = np.zeros(len(X))
    for one in models:
        mean, sd = one.predict(X)
        total += logsumexp(norm.logcdf(mean / sd), axis=0) - np.log(len(mean))
    return total


@pytest.mark.parametrize("n_pending", [0, 2])
def test_the_term_is_the_log_of_the_product_of_probabilities(n_pending):
    data = observations(n_pending=n_pending)
    term = fit_feasibility([model(), model(n_samples=0)], data)
    X = np.random.default_rng(1).random((7, 2))
    np.testing.assert_allclose(
        term.value(X), by_hand(term.models, X), rtol=1e-9, atol=1e-12
    )
    kept = np.all([one.predict(X)[0].mean(axis=0) > 0 for one in term.models], axis=0)
    sure = np.all(
        [
            np.abs(norm.cdf(m / s) - 0.5).min(axis=0) > 0.2
            for m, s in (one.predict(X) for one in term.models)
        ],
        axis=0,
    )
    assert np.array_equal(term.expects_feasible(X)[sure], kept[sure])


def test_gradients_are_those_of_finite_differences():
    term = fit_feasibility([model(), model()], observations())
    X = np.random.default_rng(2).random((4, 2))
    expected = [approx_fprime(x, lambda x: term.value(x[None])[0], 1e-6) for x in X]
    np.testing.assert_allclose(term.gradient(X), expected, rtol=1e-3, atol=1e-5)
    # The slope is not zero far from the feasible region.
    X = np.linspace(0, 1, 6)[:, None]
    term = Feasibility([model(n_samples=0).fit(X, -50.0 - X[:, 0])])
    assert np.all(np.isfinite(term.value(X)))
    assert np.all(np.isfinite(term.gradient(X)) & (term.gradient(X) != 0.0))


def test_unknown_slacks_are_left_out():
    data = observations(n_constraints=1)
    slacks = np.vstack([data.slacks, [[np.nan]]])
    extended = Observations(
        np.vstack([data.X, [[0.5, 0.5]]]),
        np.append(data.scores, np.nan),
        np.zeros(len(slacks)),
        data.pending,
        slacks=slacks,
    )
    X = np.random.default_rng(3).random((5, 2))
    one, other = (fit_feasibility([model()], o).value(X) for o in (data, extended))
    np.testing.assert_array_equal(one, other)
    assert extended.violation[-1] == np.inf
    unknown = Observations(
        data.X, data.scores, data.noise, data.pending, slacks=data.slacks * np.nan
    )
    assert fit_feasibility([model()], unknown) is None


def test_the_best_to_improve_on_keeps_the_constraints():
    data = observations()
    assert 0 < data.feasible.sum() < len(data.X)
    proposer = ModelProposer(GaussianProcess(n_samples=0), ExpectedImprovement())
    fitted, _ = fit_constrained(proposer, [model(), model()], data)
    mean = fitted.surrogate.predict(data.X[data.feasible])[0].max()
    assert fitted.best_f.item() == pytest.approx(mean, rel=1e-9)
    X = np.random.default_rng(4).random((6, 2))
    best = fitted.best_f
    plain = ExpectedImprovement()(*fitted.surrogate.predict(X), best).value[0]
    np.testing.assert_allclose(
        fitted.scores(X), plain + by_hand(fitted.terms[0].models, X), rtol=1e-9
    )


@pytest.mark.parametrize("n_pending", [0, 1])
def test_without_a_feasible_trial_the_probability_decides(n_pending):
    data = observations(n_pending=n_pending, shift=5.0)
    assert not data.feasible.any()
    proposer = ModelProposer(GaussianProcess(n_samples=0), ExpectedImprovement())
    fitted, changed = fit_constrained(proposer, [model(), model()], data)
    X = np.random.default_rng(5).random((6, 2))
    np.testing.assert_array_equal(fitted.scores(X), fitted.terms[0].value(X))
    scores, gradient = fitted.scores_and_gradient(X)
    np.testing.assert_array_equal(gradient, fitted.terms[0].gradient(X))
    assert not changed.pending_feasible.any()
    # The search is densest around the smallest violation.
    least = data.X[np.argmin(data.violation)]
    np.testing.assert_array_equal(changed.incumbents[0], least)


@pytest.mark.parametrize("seed", range(2))
def test_all_that_keep_the_constraints_come_first(seed):
    rng = np.random.default_rng(seed)
    n = 12
    scores = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    slacks = rng.normal(size=(n, 2))
    slacks[0] = np.nan
    data = Observations(
        rng.random((n, 2)), scores, np.zeros(n), np.empty((0, 2)), slacks=slacks
    )
    ordered = feasible_first(data)
    assert np.array_equal(np.isnan(ordered), np.isnan(scores))
    usable = np.flatnonzero(np.isfinite(scores))
    expected = sorted(usable, key=lambda i: (data.violation[i], -scores[i]))
    actual = sorted(usable, key=lambda i: -ordered[i])
    n_kept = int(data.feasible[usable].sum())
    assert actual[:n_kept] == expected[:n_kept]
    assert actual == expected


def test_samplers_learn_the_order_and_keep_their_own_draws():
    data = observations()
    fitted, _ = fit_constrained(
        SamplingProposer(RandomSampler()), [model(), model()], data
    )
    assert isinstance(fitted, SamplingProposer)
    assert len(fitted.terms) == 1


def test_outliers_do_not_hide_the_bound():
    X = np.linspace(0, 1, 8)[:, None]
    slacks = (X - 0.5).copy()
    slacks[-1] = 1e12
    data = Observations(X, X[:, 0], np.zeros(8), np.empty((0, 1)), slacks=slacks)
    term = fit_feasibility([model(n_samples=0)], data)
    assert np.array_equal(term.expects_feasible(X), X[:, 0] <= 0.5)
