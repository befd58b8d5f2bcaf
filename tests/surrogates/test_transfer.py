import copy

import numpy as np
import pytest

from skbayes.space import Choice, Space
from skbayes.space.candidates import Candidates
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.transfer import (
    MAX_POINTS,
    N_BOOTSTRAP,
    MultiFidelity,
    Source,
    SourceModel,
    TransferSurrogate,
    ranking_weights,
)

SPACE = Space.from_notation(
    {
        "x": (0.0, 1.0),
        "y": (0.0, 1.0),
        "kind": Choice({"a": {}, "b": {"z": (0.0, 1.0)}}),
    }
)
COLUMN = {column.name: j for j, column in enumerate(SPACE.columns)}


def rows(n, seed=0):
    return SPACE.from_uniform(np.random.default_rng(seed).random((n, SPACE.n_columns)))


def score(X):
    """A score that depends on two columns."""
    return -np.square(X[:, COLUMN["x"]] - 0.3) - np.square(X[:, COLUMN["y"]] - 0.8)


def source(seed, unit=1.0):
    X = rows(25, seed)
    return Source(X, 7.0 + unit * score(X))


def fitted(sources, n, surrogate="gp-matern52", seed=9):
    model = TransferSurrogate(surrogate, sources, random_state=0)
    model.prepare(Candidates(SPACE))
    X = rows(n, seed)
    return model.fit(X, 100.0 * score(X)), X


def test_weights_are_shares_of_bootstrap_samples_that_a_model_ranks_best():
    rng = np.random.default_rng(0)
    y = rng.normal(size=12)
    good, bad, noise = y**3, -y, rng.normal(size=12)
    own = np.full(12, np.mean(y))
    weights = ranking_weights(np.array([good, bad, noise]), own, y, rng)
    assert np.sum(weights) == pytest.approx(1.0) and np.all(weights >= 0.0)
    # Of the first no sample has a loss.
    assert weights[0] > 0.99
    assert np.all(ranking_weights(np.array([bad]), own, y, rng) == [0.0, 1.0])


def test_models_that_rank_alike_share_their_weight():
    y = np.arange(8.0)
    weights = ranking_weights(
        np.array([y, 2 * y + 1, -y]), y[::-1], y, np.random.default_rng(1)
    )
    np.testing.assert_allclose(weights, [0.5, 0.5, 0.0, 0.0], atol=1e-12)


def test_an_own_model_that_predicts_the_scores_excludes_all_that_do_worse():
    rng = np.random.default_rng(0)
    y = rng.normal(size=15)
    sources = np.array([y + rng.normal(0.0, 2.0, 15) for _ in range(30)])
    assert ranking_weights(sources, y, y, rng)[-1] == 1.0


def test_the_losses_are_those_of_their_definition():
    rng = np.random.default_rng(2)
    y, own = rng.normal(size=6), rng.normal(size=6)
    sources = y + rng.normal(0.0, 1.0, (2, 6))
    weights = ranking_weights(sources, own, y, np.random.default_rng(5))
    drawn = np.random.default_rng(5).multinomial(6, np.full(6, 1 / 6), N_BOOTSTRAP)

    def loss(predicted, others, counts):
        # Pairs of which the prediction of one is on the wrong side of the other.
        return sum(
            counts[j] * counts[k]
            for j in range(6)
            for k in range(6)
            if j != k and (predicted[j] < others[k]) != (y[j] < y[k])
        )

    models = [(sources[0], sources[0]), (sources[1], sources[1]), (own, y)]
    losses = np.array([[loss(*one, counts) for counts in drawn] for one in models])
    kept = np.median(losses, axis=1) <= np.quantile(losses[-1], 0.2)
    kept[-1] = True
    losses = np.where(kept[:, None], losses, np.inf)
    best = losses == np.min(losses, axis=0)
    np.testing.assert_allclose(weights, np.mean(best / np.sum(best, axis=0), axis=1))


def test_scores_of_a_source_count_by_their_ranks():
    X = rows(20)
    one = SourceModel(Source(X, score(X)), SPACE.n_options)
    other = SourceModel(Source(X, np.exp(9.0 * score(X)) - 3.0), SPACE.n_options)
    np.testing.assert_allclose(one.predict(X)[0], other.predict(X)[0], atol=1e-9)


def test_columns_that_a_source_does_not_know_change_nothing():
    X = rows(20)
    X[:, COLUMN["y"]] = np.nan
    model = SourceModel(Source(X, -np.square(X[:, COLUMN["x"]])), SPACE.n_options)
    assert not model.known[COLUMN["y"]] and model.known[COLUMN["x"]]
    moved, candidates = rows(10, 3), rows(10, 3)
    moved[:, COLUMN["y"]] = 0.25
    np.testing.assert_array_equal(model.predict(moved)[0], model.predict(candidates)[0])
    assert np.all(model.predict(candidates, True)[1][:, COLUMN["y"]] == 0.0)


def test_many_scores_of_a_source_are_thinned_out():
    X = rows(3 * MAX_POINTS)
    model = SourceModel(Source(X, score(X)), SPACE.n_options)
    candidates = rows(200, 5)
    correlation = np.corrcoef(model.predict(candidates)[0], score(candidates))[0, 1]
    assert correlation > 0.8


def test_sources_that_agree_help_and_others_fade():
    candidates = rows(300, 11)
    X = rows(25, 1)
    wrong = Source(X, -score(X))
    for n in (1, 4, 10):
        model, _ = fitted([source(0), source(2, unit=50.0), wrong], n)
        mean, sd = model.predict(candidates)
        assert mean.shape == sd.shape == (len(mean), 300)
        if n > 1:
            assert model.weights_[2] < 0.05
            best = np.argmax(np.mean(mean, axis=0))
            assert score(candidates)[best] > np.quantile(score(candidates), 0.9)
        else:
            np.testing.assert_allclose(model.weights_, [1 / 3, 1 / 3, 1 / 3, 0.0])
    plain, X = fitted([wrong], 12)
    assert plain.weights_[-1] > 0.95


def test_means_are_in_units_of_the_scores():
    model, X = fitted([source(0)], 10)
    candidates = rows(50, 4)
    expected = 100.0 * score(candidates)
    mean = np.mean(model.predict(candidates)[0], axis=0)
    assert np.mean(np.abs(mean - expected)) < 0.5 * np.std(expected)


def test_a_model_without_leave_one_out_is_fitted_in_folds():
    model, _ = fitted([source(0)], 9, surrogate="trees")
    assert not model.has_gradients
    assert model.weights_[0] > 0.5


RNG = np.random.default_rng(0)
EARLIER = RNG.random((12, 2))
KNOWN, NEW = RNG.random((5, 2)), RNG.random((7, 2))


def f(X):
    return np.sin(5 * X[:, 0]) + X[:, 1]


def with_fidelity(inner=None, fidelity=1.0):
    inner = GaussianProcess(n_options=[0, 0]) if inner is None else inner
    return MultiFidelity(inner, EARLIER, f(EARLIER), np.full(12, 0.4), fidelity)


def with_column(X, fidelity):
    return np.column_stack([X, np.full(len(X), fidelity)])


def test_it_is_the_surrogate_with_one_more_column():
    wrapped = with_fidelity().fit(KNOWN, f(KNOWN) + 1)
    plain = GaussianProcess(n_options=[0, 0, 0]).fit(
        np.vstack([with_column(KNOWN, 1.0), with_column(EARLIER, 0.4)]),
        np.concatenate([f(KNOWN) + 1, f(EARLIER)]),
    )
    for one, other in zip(
        wrapped.predict(NEW), plain.predict(with_column(NEW, 1.0)), strict=True
    ):
        np.testing.assert_allclose(one, other)
    pending = wrapped.condition(NEW[:2])
    expected = plain.condition(with_column(NEW[:2], 1.0))
    np.testing.assert_allclose(
        pending.predict(NEW)[1], expected.predict(with_column(NEW, 1.0))[1]
    )
    # The model itself knows of nothing pending.
    np.testing.assert_allclose(
        wrapped.predict(NEW)[1], plain.predict(with_column(NEW, 1.0))[1]
    )


def test_the_original_is_not_changed_and_copies_are_independent():
    inner = GaussianProcess(n_options=[0, 0])
    one = with_fidelity(inner)
    other = copy.deepcopy(one)
    one.fit(KNOWN, f(KNOWN))
    assert inner.n_options == [0, 0] and not hasattr(inner, "thetas_")
    assert not hasattr(other.surrogate, "thetas_")
