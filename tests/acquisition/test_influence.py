import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.acquisition import ExpectedInfluence
from skbayes.acquisition.influence import LABELS, InfluenceProposer, to_labels
from skbayes.acquisition.observations import Observations
from skbayes.surrogates.graph import NeighborGraph

NODES = np.random.default_rng(0).random((45, 2))
GRAPH = NeighborGraph(NODES, [0, 0])
LABELED = [4, 11, 23, 40]
Y = np.array([2.0, 5.0, 3.0, 1.0])


def observed(scores=Y, rows=LABELED, pending=()):
    return Observations(
        X=NODES[rows],
        scores=np.asarray(scores, dtype=float),
        noise=np.zeros(len(rows)),
        pending=NODES[list(pending)].reshape(-1, 2),
    )


def proposer(labels="linear", **arguments):
    unfitted = InfluenceProposer(GRAPH, ExpectedInfluence(labels))
    return unfitted.fit(observed(**arguments))


def harmonic(labeled, labels):
    """Return the harmonic function f without rank-one updates."""
    free = np.setdiff1d(np.arange(len(NODES)), labeled)
    delta = GRAPH.laplacian
    f = np.empty(len(NODES))
    f[labeled] = labels
    f[free] = np.linalg.solve(
        delta[np.ix_(free, free)], -delta[np.ix_(free, labeled)] @ labels
    )
    return f


def by_definition(labels, weight=None, unlabeled_only=False):
    """Return a(k) by labeling each node with 0 and with 1."""
    f = harmonic(LABELED, labels)
    weight = f if weight is None else weight
    worth = np.full(len(NODES), -np.inf)
    for k in set(range(len(NODES))) - set(LABELED):
        with_k = [*LABELED, k]
        counted = np.ones(len(NODES), dtype=bool)
        if unlabeled_only:
            counted[with_k] = False
        sums = [
            np.sum(
                np.abs(1 - label - harmonic(with_k, np.append(labels, label)))[counted]
            )
            for label in (0.0, 1.0)
        ]
        worth[k] = (1 - weight[k]) * sums[0] + weight[k] * sums[1]
    return worth


FREE = np.setdiff1d(np.arange(45), LABELED)


@pytest.mark.parametrize(
    "name, labels", [("best", [0.0, 1.0, 0.0, 0.0]), ("linear", [0.25, 1.0, 0.5, 0.0])]
)
def test_the_worth_is_that_of_the_definition(name, labels):
    worth = by_definition(np.array(labels))
    np.testing.assert_allclose(
        proposer(name).scores(NODES[FREE]), worth[FREE], rtol=1e-5
    )


def test_a_random_walk_labels_the_nodes_that_it_reaches():
    """Random walks from the best node to each other one and back."""
    best, labels = LABELED[1], []
    for node in LABELED:
        if node == best:
            labels.append(1.0)
            continue
        reaches = harmonic([best, node], np.array([0.0, 1.0]))
        labels.append(float(GRAPH.W[best] @ reaches / GRAPH.W[best].sum() > 0.5))
    assert sorted(set(labels)) == [0.0, 1.0]
    actual = to_labels("random-walk", Y, GRAPH, LABELED)
    np.testing.assert_array_equal(actual, labels)
    worth = by_definition(np.array(labels))
    np.testing.assert_allclose(
        proposer("random-walk").scores(NODES[FREE]), worth[FREE], rtol=1e-5
    )


def test_released_labels_use_the_lowest_prediction_only():
    f = harmonic(LABELED, Y)
    # Only the lowest prediction of the unlabeled nodes has an effect.
    weight = 0.5 * (5.0 - f) / (5.0 - f[FREE].min())
    worth = by_definition(np.array([0.0, 1.0, 0.0, 0.0]), weight, True)
    np.testing.assert_allclose(
        proposer("released").scores(NODES[FREE]), worth[FREE], rtol=1e-5
    )


@pytest.mark.parametrize("labels", LABELS)
def test_scores_count_by_their_scale_alone(labels):
    worth = proposer(labels).scores(NODES[FREE])
    for factor in (1e-200, 1e200):
        scaled = proposer(labels, scores=factor * Y - factor).scores(NODES[FREE])
        np.testing.assert_allclose(scaled, worth, rtol=1e-6)


@pytest.mark.parametrize("labels", LABELS)
def test_equal_and_failed_scores_give_finite_values(labels):
    for scores in ([3.0, 3.0, 3.0, 3.0], [np.nan, 5.0, np.nan, np.nan]):
        worth = proposer(labels, scores=scores).scores(NODES[FREE])
        assert np.all(np.isfinite(worth))
    one = proposer(scores=[2.0, 5.0, 1.0, np.nan]).scores(NODES)
    other = proposer(scores=[2.0, 5.0, 1.0, 1.0]).scores(NODES)
    np.testing.assert_array_equal(one, other)
    # A configuration that is no node has no effect.
    outside = Observations(
        np.array([[2.0, 2.0]]), np.array([9.0]), np.zeros(1), np.empty((0, 2))
    )
    unfitted = InfluenceProposer(GRAPH, ExpectedInfluence(labels))
    assert len(set(unfitted.fit(outside).scores(NODES))) == 1


@pytest.mark.parametrize("labels", LABELS)
def test_pending_nodes_have_their_predicted_labels(labels):
    before = proposer(labels).scores(NODES[FREE])
    unfitted = InfluenceProposer(GRAPH, ExpectedInfluence(labels))
    pending = unfitted.fit(observed(pending=[FREE[3], FREE[7], LABELED[0]]))
    assert not np.allclose(pending.scores(NODES[FREE]), before)
    # It has no effect when it is no longer pending.
    np.testing.assert_array_equal(unfitted.fit(observed()).scores(NODES[FREE]), before)


def test_scores_do_not_depend_on_how_many_labels_are_added_at_once():
    unfitted = InfluenceProposer(GRAPH, ExpectedInfluence())
    for count in range(1, 5):
        last = unfitted.fit(observed(scores=Y[:count], rows=LABELED[:count]))
    np.testing.assert_array_equal(last.scores(NODES), proposer().scores(NODES))
    # Observations in another order are not a continuation.
    back = unfitted.fit(observed(scores=Y[::-1], rows=LABELED[::-1]))
    np.testing.assert_allclose(back.scores(NODES[FREE]), proposer().scores(NODES[FREE]))


def test_unknown_kinds_of_labels_are_refused():
    with pytest.raises(ValueError, match="labels must be one of.*'linear'.*'log'"):
        ExpectedInfluence("log")
    assert repr(ExpectedInfluence("best")) == "ExpectedInfluence(labels='best')"


def test_the_improvement_is_not_known():
    optimizer = Optimizer(
        {"a": [1, 2, 3, 4], "b": [1, 2, 3]},
        surrogate="graph",
        acquisition="eif",
        random_state=0,
    )
    for b in (1, 2, 3):
        optimizer.tell({"a": 2, "b": b}, float(b))
    optimizer.ask()
    assert optimizer.last_expected_improvement is None
