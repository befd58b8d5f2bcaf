"""Greedy selection of the members of an ensemble."""

import itertools

import numpy as np
import pytest

from skbayes.search.combination import select, select_members

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=60)
FOLDS = np.array_split(np.arange(60), 5)


def models(n, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return [TARGET + noise * rng.normal(size=60) for _ in range(n)]


def scores_of(predictions):
    def score(fold, weights):
        total = sum(weights.values())
        mean = sum(w / total * predictions[k] for k, w in weights.items())
        rows = FOLDS[fold]
        return -float(np.mean((mean[rows] - TARGET[rows]) ** 2))

    return score


def overall(predictions):
    score = scores_of(predictions)
    return lambda weights: np.mean([score(fold, weights) for fold in range(5)])


def best_first(score, n):
    return sorted(range(n), key=lambda k: -score({k: 1}))


@pytest.mark.parametrize("seed", range(5))
def test_weights_sum_to_one_and_the_ensemble_is_not_worse_than_the_best(seed):
    predictions = models(12, seed=seed)
    weights, score, left_out = select(scores_of(predictions), 5, range(12))
    assert sum(weights.values()) == pytest.approx(1.0)
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    single = max(overall(predictions)({k: 1}) for k in range(12))
    assert score >= single
    assert score == pytest.approx(overall(predictions)(weights))
    # The members were not selected on the splits of this score.
    assert left_out < score + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_two_members_equal_an_exhaustive_search(seed):
    predictions = models(2, seed=seed)
    score, n_rounds = overall(predictions), 8
    chosen = select_members(score, best_first(score, 2), n_rounds=n_rounds)
    mixtures = [
        {0: a, 1: b}
        for a, b in itertools.product(range(n_rounds + 1), repeat=2)
        if 1 <= a + b <= n_rounds
    ]
    # The loss is convex: greedy steps reach the best mixture of their own size.
    same_size = [m for m in mixtures if sum(m.values()) == sum(chosen.values())]
    assert score(chosen) == pytest.approx(max(map(score, same_size)))


def test_the_order_of_candidates_and_copies_do_not_matter():
    predictions = models(8)
    weights, score, _ = select(scores_of(predictions), 5, range(8))
    again = select(scores_of(predictions), 5, [5, 3, 7, 1, 0, 2, 4, 6])
    assert again[0] == pytest.approx(weights)
    # Of equal candidates, only the first one is selected.
    copied = [*predictions, *predictions]
    with_copies = select(scores_of(copied), 5, range(16), n_rounds=1)
    assert set(with_copies[0]) <= set(range(8))


def test_limits_of_the_members():
    predictions = models(20)
    score = overall(predictions)
    order = best_first(score, 20)
    assert len(select_members(score, order, max_members=3)) <= 3
    assert select_members(score, order, max_members=1) == {order[0]: 1}
    assert select_members(score, order, min_gain=1e9) == {order[0]: 1}
    none = select_members(score, order, is_allowed=lambda weights: False)
    assert none == {order[0]: 1}
    few = select(scores_of(predictions), 5, range(20), max_members=2)[0]
    assert len(few) == 2
    assert sum(few.values()) == pytest.approx(1.0)


def test_one_split_gives_no_score_of_splits_that_were_left_out():
    predictions = models(4)
    weights, score, left_out = select(scores_of(predictions), 1, range(4))
    assert weights
    assert np.isnan(left_out)
    assert np.isfinite(score)
