import numpy as np
import pytest
from scipy.stats import spearmanr

from skbayes.acquisition.base import Observations
from skbayes.acquisition.terms import PriorTerm, agreement, prior_terms
from skbayes.space import OptimumPrior, Space

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
    known = observed(rows(3), np.zeros(3))
    assert prior_terms(None, known) == []
    assert prior_terms(OptimumPrior(SPACE, {"c": [2.0, 2.0]}), known) == []


@pytest.mark.parametrize("seed", range(4))
def test_agreement_is_twice_the_p_value_of_a_negative_correlation(seed):
    rng = np.random.default_rng(seed)
    X = rows(int(rng.integers(4, 12)), seed)
    scores = -PRIOR.log_density(X) + rng.normal(0.0, 4.0, len(X))
    expected = spearmanr(PRIOR.log_density(X), scores, alternative="less").pvalue
    known = observed(X, scores)
    assert agreement(PRIOR, known) == pytest.approx(min(1.0, 2.0 * expected))
    (term,) = prior_terms(PRIOR, known)
    assert term.weight == pytest.approx(5.0 / len(X) * min(1.0, 2.0 * expected))


def test_what_agrees_or_says_nothing_is_believed():
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
