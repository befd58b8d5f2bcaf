import numpy as np
import pytest
from differences import assert_gradient
from scipy.stats import norm, spearmanr

from skbayes.acquisition import ExpectedImprovement, UpperConfidenceBound
from skbayes.acquisition.observations import Observations
from skbayes.acquisition.proposers import ModelProposer
from skbayes.acquisition.terms import (
    CostTerm,
    LimitTerm,
    LogTerm,
    PriorTerm,
    agreement,
    prior_terms,
    sum_gradients,
    sum_values,
)
from skbayes.space import OptimumPrior, Space
from skbayes.surrogates import GaussianProcess


class Bump(LogTerm):
    """Logarithm of a normal density in the first column."""

    def __init__(self, center, sd=0.02):
        self.center, self.sd = center, sd

    def value(self, X):
        return -0.5 * ((X[:, 0] - self.center) / self.sd) ** 2

    def gradient(self, X):
        result = np.zeros(X.shape)
        result[:, 0] = -(X[:, 0] - self.center) / self.sd**2
        return result


def test_terms_are_summed():
    X = np.random.default_rng(0).random((4, 2))
    terms = [Bump(0.2), Bump(0.5)]
    expected = terms[0].value(X) + terms[1].value(X)
    np.testing.assert_allclose(sum_values(terms, X), expected)
    assert sum_values([], X).shape == (4,)
    assert sum_gradients([], X).shape == (4, 2)


@pytest.mark.parametrize("acquisition", [ExpectedImprovement(), UpperConfidenceBound()])
def test_gradients_agree_with_finite_differences(acquisition):
    rng = np.random.default_rng(0)
    X = rng.random((9, 2))
    data = Observations(X, 3.0 * X[:, 1], np.zeros(9), X[:0])
    plain = ModelProposer(GaussianProcess(n_samples=0), acquisition).fit(data)
    assert plain.with_terms([]) is plain
    proposer = plain.with_terms([Bump(0.4, sd=0.5)])
    candidates = rng.random((5, 2))
    scores, gradient = proposer.scores_and_gradient(candidates)
    np.testing.assert_allclose(scores, proposer.scores(candidates))
    unit = 1.0 if acquisition.is_log else np.std(data.y)
    added = scores - plain.scores(candidates)
    np.testing.assert_allclose(added, unit * Bump(0.4, sd=0.5).value(candidates))
    assert_gradient(proposer.scores, candidates, gradient)
    # The expected improvement refers to the score alone.
    row = candidates[0]
    assert proposer.expected_improvement(row) == plain.expected_improvement(row)


def cost_model():
    rng = np.random.default_rng(0)
    X = rng.random((12, 3))
    X[::4, 2] = np.nan
    model = GaussianProcess(n_samples=0).fit(X, 3 * X[:, 0] + X[:, 1])
    return model, rng.random((7, 3))


def test_cost_and_limit_terms_follow_their_formulas():
    model, X = cost_model()
    mean, sd = (part[0] for part in model.predict(X))
    np.testing.assert_allclose(CostTerm(model, 0.5).value(X), -0.5 * mean)
    total = np.sqrt(sd**2 + 0.04)
    expected = norm.logcdf(2.0, mean, total)
    np.testing.assert_allclose(LimitTerm(model, 0.04, 2.0).value(X), expected)


@pytest.mark.parametrize("limit", [-60.0, 0.0, 2.0, 60.0])
def test_cost_and_limit_terms_have_finite_and_correct_gradients(limit):
    model, X = cost_model()
    for term in (CostTerm(model, 0.7), LimitTerm(model, 0.04, limit)):
        gradient = term.gradient(X)
        assert np.all(np.isfinite(gradient))
        assert_gradient(term.value, X, gradient, rtol=1e-3, atol=1e-4)


SPACE = Space.from_notation({"x": (0.0, 1.0), "y": (0.0, 1.0), "c": ["a", "b"]})
PRIOR = OptimumPrior(SPACE, {"x": ([0.0, 1.0], [-2.0, 2.0]), "c": [1.0, 0.0]})


def rows(n, seed=0):
    return SPACE.from_uniform(np.random.default_rng(seed).random((n, SPACE.n_columns)))


def observed(X, scores):
    return Observations(X, np.asarray(scores), np.zeros(np.shape(scores)), X[:0])


def test_a_term_is_a_multiple_of_the_log_density():
    X, term = rows(20), PriorTerm(PRIOR, 0.3)
    np.testing.assert_allclose(term.value(X), 0.3 * PRIOR.log_density(X))
    np.testing.assert_allclose(term.gradient(X), 0.3 * PRIOR.gradient(X))
    drawn = term.draw(np.random.default_rng(0))
    assert np.mean(PRIOR.log_density(drawn)) > np.mean(PRIOR.log_density(rows(200)))


def test_the_weight_falls_with_the_number_of_observations():
    for n in (1, 2, 5, 50):
        X = rows(n)
        (term,) = prior_terms(PRIOR, observed(X, PRIOR.log_density(X)))
        assert term.weight == 5.0 / n
    data = observed(rows(3), np.zeros(3))
    assert prior_terms(OptimumPrior(SPACE, {"c": [2.0, 2.0]}), data) == []


@pytest.mark.parametrize("seed", range(4))
def test_agreement_is_twice_the_p_value_of_a_negative_correlation(seed):
    rng = np.random.default_rng(seed)
    X = rows(int(rng.integers(4, 12)), seed)
    scores = -PRIOR.log_density(X) + rng.normal(0.0, 4.0, len(X))
    expected = spearmanr(PRIOR.log_density(X), scores, alternative="less").pvalue
    data = observed(X, scores)
    assert agreement(PRIOR, data) == pytest.approx(min(1.0, 2.0 * expected))
    (term,) = prior_terms(PRIOR, data)
    assert term.weight == pytest.approx(5.0 / len(X) * min(1.0, 2.0 * expected))


def test_priors_that_agree_or_are_flat_have_full_weight():
    X = rows(10)
    density = PRIOR.log_density(X)
    assert agreement(PRIOR, observed(X, -density)) < 1e-6
    assert agreement(PRIOR, observed(X, density)) == 1.0
    assert agreement(PRIOR, observed(X, np.zeros(10))) == 1.0
    assert agreement(PRIOR, observed(X[:2], -density[:2])) == 1.0
    same = np.repeat(X[:1], 10, axis=0)
    assert agreement(PRIOR, observed(same, np.arange(10.0))) == 1.0


def test_failures_and_several_objectives_count_by_their_ranks():
    X = rows(12)
    density = PRIOR.log_density(X)
    scores = np.where(density > np.median(density), np.nan, 1.0 + rows(12, 1)[:, 0])
    assert agreement(PRIOR, observed(X, scores)) < 0.05
    both = np.column_stack([-density, -np.exp(density)])
    assert agreement(PRIOR, observed(X, both)) < 1e-6
    assert agreement(PRIOR, observed(X, both * [1, -1])) == 1.0
