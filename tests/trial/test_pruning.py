"""Predictions from the first folds compared with simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.trial.pruning import Race


def test_with_too_few_trials_nothing_is_pruned():
    for table in ([], [[0.9, 0.8], [0.7, 0.6]], [[0.9], [0.8], [0.7]]):
        assert Race(table).chance([0.1]) == 1.0
    race = Race([[0.9, 0.8], [0.7, 0.6]])
    assert race.estimate([0.1, 0.3]) == (pytest.approx(0.2), None)


def test_with_all_folds_the_chance_is_certain():
    race = Race([[0.9, 0.8], [0.7, 0.65], [0.5, 0.4]])
    assert race.chance([0.95, 0.8]) == 1.0
    assert race.chance([0.85, 0.8]) == 0.0
    assert race.estimate([0.85, 0.8]) == (pytest.approx(0.825), 0.0)


def test_equal_scores_do_not_make_the_chance_certain():
    race = Race([[0.5, 0.5]] * 3)
    assert race.chance([0.5]) == 1.0
    assert race.chance([0.4]) == 0.0
    # Trials that agree do not make the choice certain.
    race = Race([[0.99, 0.97, 0.99]] * 4)
    assert 0.02 < race.chance([0.98]) < 0.5
    assert race.chance([0.33]) < 0.01


@given(
    scores=st.lists(st.floats(-5, 5), min_size=1, max_size=4),
    better=st.floats(0.01, 3),
    seed=st.integers(0, 99),
)
def test_better_folds_give_a_better_chance(scores, better, seed):
    race = Race(np.random.default_rng(seed).normal(size=(5, 4)))
    scores = np.array(scores)
    assert race.chance(scores + better) >= race.chance(scores)
    lower, higher = race.estimate(scores), race.estimate(scores + better)
    assert higher[0] == pytest.approx(lower[0] + better)
    assert higher[1] == lower[1] >= 0


@pytest.mark.parametrize("m", [1, 4])
def test_the_chance_is_calibrated(m):
    # Trials that differ, splits that differ more, and noise of each fit: of the trials
    # that are given a chance near p, about a share of p exceeds the best.
    rng = np.random.default_rng(0)
    chances, wins, errors, noises = [], [], [], []
    for _ in range(800):
        n, K = 12, 5
        splits = rng.normal(scale=2.0, size=K)
        table = rng.normal(size=(n, 1)) + splits + rng.normal(scale=0.5, size=(n, K))
        race = Race(table)
        # With a flat prior on its true value, around the best.
        level = table.mean(axis=1).max() + rng.uniform(-4, 4) - splits.mean()
        trial = level + splits + rng.normal(scale=0.5, size=K)
        chances.append(race.chance(trial[:m]))
        wins.append(trial.mean() > table.mean(axis=1).max())
        score, noise = race.estimate(trial[:m])
        errors.append(score - trial.mean())
        noises.append(noise)
    chances, wins = np.array(chances), np.array(wins)
    for low, high in [(0.0, 0.01), (0.01, 0.3), (0.3, 0.7), (0.7, 0.99), (0.99, 1.0)]:
        among = (chances >= low) & (chances <= high)
        expected = chances[among].mean()
        se = np.sqrt(max(expected * (1 - expected), 1e-3) / among.sum())
        assert abs(wins[among].mean() - expected) < 4 * se + 0.1
    assert 0.9 <= np.mean(noises) / np.mean(np.square(errors)) < 1.1


def test_bad_trials_and_repeated_ones_do_not_count():
    rng = np.random.default_rng(0)
    good = rng.normal(scale=0.1, size=(3, 5))
    bad = rng.normal(loc=-9.0, scale=3.0, size=(9, 5))
    race = Race(good)
    for others in (bad, good[:2]):
        other = Race([*others, *good])
        for scores in ([-0.2], [0.1, -0.1], [-1.0, 0.0, 0.5]):
            assert other.chance(scores) == pytest.approx(race.chance(scores))
