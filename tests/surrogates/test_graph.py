import itertools
import pickle

import numpy as np
import pytest

from skbayes.surrogates import GraphField
from skbayes.surrogates import graph as graph_module
from skbayes.surrogates.graph import DECAYS, HarmonicFunction, NeighborGraph


def random_graph(seed=0, n=40, columns=3):
    nodes = np.random.default_rng(seed).random((n, columns))
    return NeighborGraph(nodes, [0] * columns)


def two_islands():
    """Return a graph with two components."""
    nodes = np.concatenate([0.01 * np.arange(12), 0.9 + 0.01 * np.arange(9)])
    graph = NeighborGraph(nodes[:, None], [0])
    assert sorted(len(part) for part in graph.components) == [9, 12]
    return graph


def solved(graph, labeled, labels):
    """Return the harmonic function by its definition, if each component has a label."""
    free = np.setdiff1d(np.arange(len(graph)), labeled)
    delta = graph.laplacian
    f = np.empty(len(graph))
    f[labeled] = labels
    right = -delta[np.ix_(free, labeled)] @ labels
    f[free] = np.linalg.solve(delta[np.ix_(free, free)], right)
    return f


def test_edges_join_the_nearest_and_are_about_a_seventh():
    graph = random_graph(n=70)
    nodes = np.random.default_rng(0).random((70, 3))
    distance = np.linalg.norm(nodes[:, None] - nodes, axis=2)
    joined = graph.W > 0
    assert 0.12 < joined.mean() <= 1 / 7
    np.testing.assert_array_equal(graph.W, graph.W.T)
    assert not np.any(np.diagonal(graph.W))
    np.testing.assert_allclose(graph.W[joined], np.exp(-0.5 * distance[joined] ** 2))
    # k is determined from the row that is a neighbor of no other row.
    k = min(joined.sum(axis=1))
    for is_joined, row in zip(joined, distance, strict=True):
        assert is_joined[np.argsort(row)[1 : k + 1]].all()


def test_a_grid_has_the_same_graph_in_any_order():
    nodes = np.array(list(itertools.product(np.linspace(0, 1, 4), repeat=3)))
    order = np.random.default_rng(0).permutation(len(nodes))
    W = NeighborGraph(nodes, [0, 0, 0]).W
    shuffled = NeighborGraph(nodes[order], [0, 0, 0]).W
    np.testing.assert_allclose(shuffled, W[np.ix_(order, order)])


def test_options_are_all_as_far_from_one_another():
    graph = NeighborGraph(np.array([[0.0], [0.5], [1.0]]), [3], "matern52", 0.5)
    assert len(set(graph.W[~np.eye(3, dtype=bool)])) == 1
    alone = NeighborGraph(np.array([[0.3]]), [0])
    assert alone.W.shape == (1, 1) and alone.W[0, 0] == 0


def test_configurations_are_mapped_to_their_nodes():
    nodes = np.array([[0.0, np.nan], [0.0, 1.0], [0.5, 0.5]])
    graph = NeighborGraph(nodes, [0, 0])
    others = np.array([[0.5, 0.5], [0.5, np.nan], [-0.0, np.nan]])
    np.testing.assert_array_equal(graph.places(others), [2, -1, 0])
    labeled, labels = graph.labels(np.array([2, -1, 0, 2]), np.array([1.0, 5, 2, 4]))
    assert labeled == [2, 0]
    np.testing.assert_array_equal(labels, [2.5, 2.0])


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(graph_module, "MAX_NODES", 9)
    with pytest.raises(ValueError, match="nodes must have at most 9 rows, got 10"):
        random_graph(n=10)


def test_the_influence_is_what_one_more_label_changes():
    graph = two_islands()
    labeled, labels = [0, 4, 20], np.array([0.0, 1.0, 0.3])
    harmonic = HarmonicFunction(graph)
    harmonic.label(labeled)
    f, influence = harmonic.values(labels), harmonic.influence()
    for k in set(range(len(graph))) - set(labeled):
        changed = solved(graph, [*labeled, k], np.append(labels, f[k] + 1.0))
        assert changed.sum() - f.sum() == pytest.approx(influence[k], abs=1e-6)
    np.testing.assert_array_equal(influence[labeled], 1.0)


def test_a_component_without_a_label_gets_the_mean():
    graph = two_islands()
    first, other = graph.components
    harmonic = HarmonicFunction(graph)
    harmonic.label(first[:2].tolist())
    f = harmonic.values(np.array([1.0, 4.0]))
    np.testing.assert_array_equal(f[other], 2.5)
    # One label determines the whole component.
    np.testing.assert_array_equal(harmonic.influence()[other], len(other))
    harmonic.label([int(other[0])])
    f = harmonic.values(np.array([1.0, 4.0, -7.0]))
    np.testing.assert_allclose(f[other], -7.0, atol=1e-5)


def test_a_copy_is_labeled_alone():
    harmonic = HarmonicFunction(random_graph())
    harmonic.label([1, 2])
    before = harmonic.influence()
    twin = harmonic.copy()
    twin.label([5])
    np.testing.assert_array_equal(harmonic.influence(), before)
    assert harmonic.labeled == [1, 2]
    again = pickle.loads(pickle.dumps(twin))
    np.testing.assert_array_equal(again.influence(), twin.influence())


def test_every_node_can_be_labeled():
    graph = two_islands()
    harmonic = HarmonicFunction(graph)
    harmonic.label(range(len(graph)))
    labels = np.arange(float(len(graph)))
    np.testing.assert_array_equal(harmonic.values(labels), labels)


def test_resistances_are_those_of_a_random_walk():
    """A walk from b reaches j before it returns with probability 1 / (D_b R_bj)."""
    graph = random_graph(n=25)
    b, j = 3, 11
    reaches = solved(graph, [b, j], np.array([0.0, 1.0]))
    escape = graph.W[b] @ reaches / graph.W[b].sum()
    resistance = graph.resistance(b)
    assert 1.0 / (graph.W[b].sum() * resistance[j]) == pytest.approx(escape)
    assert resistance[b] == 0.0
    # A label has no effect on another component.
    graph = two_islands()
    first, other = graph.components
    assert np.all(np.isinf(graph.resistance(int(first[0]))[other]))


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


def test_predictions_are_the_field_conditioned_on_the_scores():
    field = fitted()
    mean, variance = dense(field, np.arange(12), score(NODES[:12]))
    got_mean, got_sd = field.predict(NODES)
    np.testing.assert_allclose(got_mean[0], mean, rtol=1e-6)
    np.testing.assert_allclose(got_sd[0, 12:] ** 2, variance[12:], rtol=1e-6)
    np.testing.assert_allclose(got_mean[0, :12], score(NODES[:12]))
    assert np.all(got_sd[0, :12] < 1e-4 * got_sd[0, 12:].min())


def test_predictions_do_not_depend_on_earlier_fits():
    grown = GraphField(nodes=NODES)
    order = np.random.default_rng(1).permutation(12)
    for rows in (*(np.arange(count) for count in range(1, 13)), order):
        y = score(NODES[rows]) * (-1.0 if rows is order else 1.0)
        fresh = GraphField(nodes=NODES).fit(NODES[rows], y).predict(NODES)
        mean = grown.fit(NODES[rows], y).predict(NODES)
        np.testing.assert_array_equal(mean, fresh)


def test_configurations_that_are_no_nodes_are_ignored():
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
def test_few_or_equal_scores_give_finite_predictions(y):
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
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GraphField(**arguments).fit(NODES, score(NODES))
