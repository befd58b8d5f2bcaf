import numpy as np
import pytest
from differences import assert_gradient
from scipy.special import logsumexp

from skbayes.acquisition import ExpectedHypervolumeImprovement
from skbayes.acquisition.observations import Observations
from skbayes.pareto.acquisition import ParetoProposer
from skbayes.pareto.hypervolume import reference_point
from skbayes.surrogates import GaussianProcess


def observations(n=12, pending=0, d=2):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    Y = np.column_stack([np.sin(5 * X[:, 0]), -X[:, 1], X[:, 2] ** 2, X[:, 0]])[:, :d]
    return Observations(X, Y, np.zeros_like(Y), rng.random((pending, 3)))


def unfitted(n_samples=(4, 2)):
    return ParetoProposer(
        [GaussianProcess(n_samples=n, random_state=i) for i, n in enumerate(n_samples)]
    )


CANDIDATES = np.random.default_rng(1).random((6, 3))


def test_scores_are_averages_over_samples_of_both_models():
    proposer = unfitted().fit(observations())
    one, other = (model.predict(CANDIDATES) for model in proposer.surrogates)
    assert (len(one[0]), len(other[0])) == (4, 2)
    logs = []
    for s, acquisition in enumerate(proposer.acquisitions):
        mean, sd = (np.column_stack([one[i][s], other[i][s % 2]]) for i in range(2))
        logs.append(acquisition(mean, sd).value)
    expected = logsumexp(logs, axis=0) - np.log(4)
    np.testing.assert_allclose(proposer.scores(CANDIDATES), expected)
    many = np.random.default_rng(1).random((2500, 3))
    scores = proposer.scores(many[[0, 1500, 2499]])
    np.testing.assert_allclose(proposer.scores(many)[[0, 1500, 2499]], scores)
    assert proposer.scores(many[:0]).shape == (0,)


@pytest.mark.parametrize("n_samples", [(0, 0), (4, 2), (2, 3, 2)])
def test_gradients_agree_with_finite_differences(n_samples):
    proposer = unfitted(n_samples).fit(observations(d=len(n_samples)))
    scores, gradient = proposer.scores_and_gradient(CANDIDATES)
    np.testing.assert_allclose(scores, proposer.scores(CANDIDATES))
    assert_gradient(proposer.scores, CANDIDATES, gradient)


def test_the_expected_improvement_is_a_share_of_the_volume_there_is():
    data = observations()
    data = Observations(data.X, data.scores + 1.0, data.noise, data.pending)
    proposer = unfitted((0, 0)).fit(data)
    predictions = [model.predict(CANDIDATES) for model in proposer.surrogates]
    mean, sd = (np.column_stack([p[i][0] for p in predictions]) for i in range(2))
    means = np.column_stack([m.predict(data.X)[0][0] for m in proposer.surrogates])
    reference = reference_point(data.y)
    box = np.prod(data.y.max(axis=0) - reference)
    acquisition = ExpectedHypervolumeImprovement(means, reference)
    for i, row in enumerate(CANDIDATES):
        value = np.exp(acquisition(mean[[i]], sd[[i]]).value[0])
        assert proposer.expected_improvement(row) == pytest.approx(value / box)


def test_costs_count_by_their_logarithms():
    data = observations()
    costs = np.exp(3 * data.scores)
    noise = np.full_like(costs, 0.01)
    one = unfitted().fit(Observations(data.X, -costs, noise, data.pending))
    # The values are shifted, so that they are no costs.
    logs = Observations(data.X, 99.0 - np.log(costs), noise / costs**2, data.pending)
    other = unfitted().fit(logs)
    np.testing.assert_allclose(
        one.scores(CANDIDATES), other.scores(CANDIDATES), rtol=1e-6
    )


def test_pending_points_are_worth_less_than_before():
    data = observations()
    alone = unfitted().fit(data)
    row = CANDIDATES[[np.argmax(alone.scores(CANDIDATES))]]
    waiting = unfitted().fit(Observations(data.X, data.scores, data.noise, row))
    assert waiting.scores(row)[0] < alone.scores(row)[0] - 1.0


def test_each_objective_may_fail_for_itself():
    data = observations()
    scores = data.scores.copy()
    scores[3, 0] = scores[5] = np.nan
    proposer = unfitted().fit(Observations(data.X, scores, data.noise, data.pending))
    worst = np.nanmin(scores, axis=0)
    filled = np.where(np.isnan(scores), worst, scores)
    expected = unfitted().fit(Observations(data.X, filled, data.noise, data.pending))
    np.testing.assert_array_equal(
        proposer.scores(CANDIDATES), expected.scores(CANDIDATES)
    )


class Plain:
    """Surrogate without gradients and without samples."""

    has_gradients = False

    def fit(self, X, y):
        self.mean = np.mean(y)
        return self

    def predict(self, X):
        return np.full((1, len(X)), self.mean), 1.0 + X[None, :, 0]

    def condition(self, X):
        return self


def test_one_model_without_gradients_disables_gradients():
    models = [Plain(), GaussianProcess(n_samples=3)]
    proposer = ParetoProposer(models).fit(observations(pending=1))
    assert isinstance(proposer, ParetoProposer)
    assert not proposer.has_gradients
    assert proposer.scores(CANDIDATES).shape == (6,)
