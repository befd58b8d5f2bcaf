import pickle

import numpy as np
import pytest

from skbayes.surrogates import GraphField
from skbayes.surrogates.graph_field import DECAYS

NODES = np.random.default_rng(0).random((50, 2))


def score(X):
    return 30.0 + 5.0 * np.sin(6 * X[:, 0]) + X[:, 1]


def fitted(count=12):
    X = NODES[:count]
    return GraphField(nodes=NODES).fit(X, score(X))


def dense(field, labeled, y):
    """Return mean and variance by the formula, at the best hyper-parameters."""
    target = (y - y.mean()) / y.std()
    best = None
    degree = field.graph.W.sum() / len(NODES)
    for decay in DECAYS * degree:
        K = np.linalg.inv(field.graph.laplacian + decay * np.eye(len(NODES)))
        K_L = K[np.ix_(labeled, labeled)]
        amplitude = target @ np.linalg.solve(K_L, target) / len(y)
        likelihood = -0.5 * np.linalg.slogdet(amplitude * K_L)[1] - 0.5 * len(y)
        if best is None or likelihood > best[0]:
            weights = np.linalg.solve(K_L, K[labeled])
            mean = y.mean() + y.std() * (target @ weights)
            variance = np.diag(K) - np.sum(K[labeled] * weights, axis=0)
            best = likelihood, mean, y.std() ** 2 * amplitude * variance
    return best[1:]


def test_it_is_the_gaussian_field_conditioned_on_the_scores():
    field = fitted()
    mean, variance = dense(field, np.arange(12), score(NODES[:12]))
    got_mean, got_sd = field.predict(NODES)
    np.testing.assert_allclose(got_mean[0], mean, rtol=1e-6)
    np.testing.assert_allclose(got_sd[0, 12:] ** 2, variance[12:], rtol=1e-6)
    np.testing.assert_allclose(got_mean[0, :12], score(NODES[:12]))
    assert np.all(got_sd[0, :12] < 1e-4 * got_sd[0, 12:].min())


def test_one_score_after_the_other_is_all_at_once():
    slow = GraphField(nodes=NODES)
    for count in range(1, 13):
        slow.fit(NODES[:count], score(NODES[:count]))
    for one, other in zip(slow.predict(NODES), fitted().predict(NODES), strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_may_change_and_nodes_come_in_another_order():
    field = fitted()
    order = np.random.default_rng(1).permutation(12)
    X, y = NODES[order], -score(NODES[order])
    again = field.fit(X, y).predict(NODES)
    fresh = GraphField(nodes=NODES).fit(X, y).predict(NODES)
    for one, other in zip(again, fresh, strict=True):
        np.testing.assert_array_equal(one, other)


def test_predictions_scale_with_the_scores():
    mean, sd = fitted().predict(NODES)
    X = NODES[:12]
    for factor in (1e-150, 1e150):
        field = GraphField(nodes=NODES).fit(X, factor * score(X))
        scaled_mean, scaled_sd = field.predict(NODES)
        np.testing.assert_allclose(scaled_mean, factor * mean)
        np.testing.assert_allclose(scaled_sd, factor * sd)


def test_what_is_no_node_is_left_out():
    X, y = NODES[:12], score(NODES[:12])
    stranger = np.array([[0.5, 2.0]])
    field = GraphField(nodes=NODES).fit(np.vstack([X, stranger]), np.append(y, 99.0))
    np.testing.assert_array_equal(field.predict(NODES)[0], fitted().predict(NODES)[0])
    mean, sd = field.predict(stranger)
    assert mean[0, 0] == pytest.approx(y.mean()) and sd[0, 0] > 0
    alone = GraphField(nodes=NODES).fit(stranger, np.array([7.0]))
    mean, sd = alone.predict(NODES)
    np.testing.assert_array_equal(mean, 7.0)
    assert np.all(sd > 0)


@pytest.mark.parametrize("y", [[3.0], [3.0, 3.0, 3.0], [0.0, 0.0], [3.0, 5.0]])
def test_few_or_equal_scores(y):
    y = np.array(y)
    field = GraphField(nodes=NODES).fit(NODES[: len(y)], y)
    mean, sd = field.predict(NODES)
    assert np.all(np.isfinite(mean)) and np.all(sd > 0)
    np.testing.assert_allclose(mean[0, : len(y)], y, atol=1e-9)


def test_pickles_are_small():
    assert len(pickle.dumps(fitted())) < 10_000
    assert pickle.loads(pickle.dumps(GraphField())).nodes is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "cubic"}, "kernel must be one of"),
        ({"length_scale": 0.0}, "length_scale must be > 0"),
        ({"length_scale": np.inf}, "length_scale must be > 0 and finite"),
        ({}, "nodes must be given"),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GraphField(**arguments).fit(NODES, score(NODES))
