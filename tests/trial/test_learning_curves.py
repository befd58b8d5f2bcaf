"""Learning curves: grid of rounds, choice of rounds, and patience."""

import pickle

import numpy as np
import pytest

from skbayes.trial.learning_curves import (
    Guide,
    choose_by_others,
    choose_rounds,
    has_stalled,
    round_grid,
)


def test_guides_are_pickled_by_reference_and_grids_are_shared():
    guide = Guide("f1", -1.0)
    assert isinstance(guide, Guide) and pickle.loads(pickle.dumps(guide)) == guide
    curves = {"f1": [0.5, 0.25], "accuracy": [0.1, 0.2]}
    np.testing.assert_array_equal(guide.curve(curves), [-0.5, -0.25])
    assert Guide().curve(curves) is Guide("recall").curve(curves) is None
    np.testing.assert_array_equal(Guide().curve({"score": [0.5]}), [0.5])
    assert round_grid(300) is round_grid(300)
    with pytest.raises(ValueError, match="read-only"):
        round_grid(300)[0] = 2


# The grid


@pytest.mark.parametrize("cap", [1, 2, 19, 20, 21, 300, 1000, 12345])
def test_the_grid_ends_at_the_cap_and_steps_are_ten_percent(cap):
    grid = round_grid(cap)
    assert grid[-1] == cap
    assert np.array_equal(grid[:20], np.arange(1, min(cap, 20) + 1))
    steps = np.diff(grid)
    assert (steps >= 1).all()
    assert (steps <= np.maximum(1, grid[:-1] // 10)).all()
    # The grid of a larger cap has the same points.
    longer = round_grid(20_000)
    assert np.array_equal(grid[:-1], longer[: len(grid) - 1])
    assert cap <= longer[len(grid) - 1]


# The choice of rounds


@pytest.mark.parametrize(
    "folds, chosen",
    [
        # The best of each fold alone is another point.
        ([[0.9, 0.8, 0.2], [0.1, 0.8, 0.9]], 1),
        # No fold is read past the end of the shortest.
        ([[0.1, 0.2], [0.1, 0.2, 5.0]], 1),
        # Equal scores select the fewest rounds.
        ([[0.1, 0.5, 0.5, 0.5]] * 3, 1),
    ],
)
def test_the_choice_is_the_best_of_the_mean_curve(folds, chosen):
    assert choose_rounds([*map(np.array, folds)]) == chosen


@pytest.mark.parametrize("n_folds", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_others_choose_the_best_of_their_mean_curve(n_folds, seed):
    rng = np.random.default_rng(seed)
    # Few values, so that there are ties, and curves of several lengths.
    curves = [rng.integers(0, 4, rng.integers(6, 9)) / 4 for _ in range(n_folds)]
    length = min(map(len, curves))
    for i, place in enumerate(choose_by_others(curves)):
        others = [curve[:length] for curve in curves[:i] + curves[i + 1 :]]
        assert place == choose_rounds(others or [curves[i]])


def test_points_that_one_fold_cannot_score_are_avoided():
    bad = np.array([-np.inf, 0.1, 0.2])
    assert choose_by_others([bad, np.array([0.9, 0.5, 0.4])]) == [1, 2]
    assert choose_by_others([np.full(3, -np.inf)] * 2) == [0, 0]


def test_the_scores_of_equal_configurations_are_not_biased():
    # Curves of noise: the score at any number of rounds is 0 on new data.
    rng = np.random.default_rng(0)
    reported, best = [], []
    for _ in range(1000):
        folds = rng.normal(size=(5, 30))
        chosen = choose_by_others(folds)
        reported.append(np.mean(folds[np.arange(5), chosen]))
        best.append(folds.mean(axis=0).max())
    assert np.mean(best) > 0.8
    assert abs(np.mean(reported)) < 0.06


# Patience


@pytest.mark.parametrize(
    "cap, best, stops",
    [
        # Fifty rounds, or half of those of the best score, whichever is more.
        (1000, 10, 60),
        (1000, 150, 225),
        (1000, 300, 450),
        # A third of a small cap.
        (90, 10, 40),
    ],
)
def test_a_fit_stops_after_its_patience(cap, best, stops):
    grid = round_grid(cap)
    scores = -np.abs(grid - best) / cap
    ends = [n for n in range(2, len(grid) + 1) if has_stalled(scores[:n], grid)]
    # The best point and the end are on a grid with steps of ten percent.
    assert stops <= grid[ends[0] - 1] <= 1.1**2 * stops
    assert ends == list(range(ends[0], len(grid) + 1))


def test_the_score_of_the_most_frequent_class_is_no_stall():
    grid = round_grid(1000)
    assert not any(has_stalled(grid[:n] / 1000, grid) for n in range(1, len(grid) + 1))
    flat = np.full(len(grid), 0.65)
    assert not any(has_stalled(flat[:n], grid) for n in range(1, len(grid) + 1))
    flat[grid > 200] += 1e-3 * np.log(grid[grid > 200])
    assert not has_stalled(flat[grid <= 300], grid)
    # The scores are worse than at the start: the fit has a hundred more rounds.
    flat[grid > 200] = 0.6
    assert not has_stalled(flat[grid <= 290], grid)
    assert has_stalled(flat[grid <= 320], grid)
