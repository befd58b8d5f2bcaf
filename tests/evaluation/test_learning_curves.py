"""The grid of rounds, the choice of rounds, patience, and the race of curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.evaluation.learning_curves import (
    MIN_TRIALS,
    CurveRace,
    check_rounds,
    choose_rounds,
    first_rounds,
    has_stalled,
    round_grid,
)


def curve(rate, top, cap=500, start=0.3):
    """A curve that begins at `start` and approaches `top` like exp(-rate rounds)."""
    return top - (top - start) * np.exp(-rate * round_grid(cap))


def search(rng, n, cap=500):
    """Curves of configurations with learning rates a factor of 100 apart.

    They overfit: after its best point a curve falls, the sooner the larger its rate is.
    """
    grid = round_grid(cap)
    rates = np.exp(rng.uniform(np.log(0.005), np.log(0.5), n))
    tops = rng.normal(0.8, 0.05, n)
    falls = rng.uniform(0, 1e-2, n) * rates
    rises = rng.uniform(0.4, 1.0, n)
    curves = []
    for rate, top, fall, rise in zip(rates, tops, falls, rises, strict=True):
        noise = rng.normal(scale=1e-4, size=len(grid))
        gained = 0.5 * np.exp(-((rate * grid) ** rise))
        curves.append(top - gained - fall * grid + noise)
    return curves


# The grid


@pytest.mark.parametrize("cap", [1, 2, 99, 100, 101, 300, 1000, 12345])
def test_the_grid_ends_at_the_cap_and_steps_are_one_percent(cap):
    grid = round_grid(cap)
    assert grid[-1] == cap
    assert np.array_equal(grid[:100], np.arange(1, min(cap, 100) + 1))
    steps = np.diff(grid)
    assert (steps >= 1).all()
    assert (steps <= np.maximum(1, grid[:-1] // 100)).all()


def test_grids_of_two_caps_agree():
    short, long = round_grid(700), round_grid(5000)
    assert np.array_equal(short[:-1], long[: len(short) - 1])
    assert long[len(short) - 2] < 700 <= long[len(short) - 1]


@pytest.mark.parametrize("cap", [1, 5, 16, 50, 200, 1000, 5000])
def test_checks_are_doublings_on_the_grid(cap):
    checks = check_rounds(cap)
    assert np.isin(checks, round_grid(cap)).all()
    assert (checks <= cap // 2 * 1.01).all()
    assert (np.diff(checks) > 0).all()
    assert 1 <= first_rounds(cap) <= cap
    if len(checks):
        assert checks[0] == round_grid(cap)[round_grid(cap) >= first_rounds(cap)][0]
        assert np.allclose(checks[1:] / checks[:-1], 2, rtol=0.02)


# The choice of rounds


def test_the_choice_is_the_best_of_the_mean_curve():
    # The best of each fold alone is another point.
    folds = [np.array([0.9, 0.8, 0.2]), np.array([0.1, 0.8, 0.9])]
    assert choose_rounds(folds) == 1
    assert choose_rounds([np.array([0.0, 1.0, 0.9]), np.array([0.0, 0.1, 0.9])]) == 2


def test_no_fold_is_read_past_the_end_of_the_shortest():
    assert choose_rounds([np.array([0.1, 0.2]), np.array([0.1, 0.2, 5.0])]) == 1


def test_of_equal_scores_the_fewest_rounds_are_chosen():
    assert choose_rounds([np.array([0.1, 0.5, 0.5, 0.5])] * 3) == 1


# Patience


@pytest.mark.parametrize(
    "cap, best, stops",
    [
        # A hundred rounds, or half of those of the best score, whichever is more.
        (1000, 10, 110),
        (1000, 150, 250),
        (1000, 300, 450),
        # A third of a small cap.
        (90, 10, 40),
    ],
)
def test_a_fit_stops_after_its_patience(cap, best, stops):
    grid = round_grid(cap)
    scores = -np.abs(grid - best) / cap
    ends = [n for n in range(2, len(grid) + 1) if has_stalled(scores[:n], grid)]
    # The grid has steps of one percent.
    assert stops <= grid[ends[0] - 1] <= 1.011 * stops
    assert ends == list(range(ends[0], len(grid) + 1))


def test_a_fit_that_improves_goes_on():
    grid = round_grid(1000)
    assert not any(has_stalled(grid[:n] / 1000, grid) for n in range(1, len(grid) + 1))


def test_the_score_of_the_most_frequent_class_is_no_stall():
    grid = round_grid(1000)
    flat = np.full(len(grid), 0.65)
    assert not any(has_stalled(flat[:n], grid) for n in range(1, len(grid) + 1))
    flat[grid > 200] += 1e-3 * np.log(grid[grid > 200])
    assert not has_stalled(flat[grid <= 300], grid)
    # Worse than the start: the fit has a hundred rounds from where it left.
    flat[grid > 200] = 0.6
    assert not has_stalled(flat[grid <= 290], grid)
    assert has_stalled(flat[grid <= 310], grid)


# The race


def test_few_trials_say_nothing():
    few = [curve(0.1, 0.8)] * (MIN_TRIALS - 1)
    race = CurveRace(few, [0.8] * len(few))
    assert not race.ready
    assert race.chance(curve(0.5, 0.2)[:32]) == 1.0
    assert race.estimate(np.array([0.1, 0.3, 0.2])) == (0.3, None)
    assert CurveRace([], []).chance(np.array([0.1])) == 1.0


def test_what_is_best_already_has_won():
    curves = search(np.random.default_rng(0), 10)
    race = CurveRace(curves, [c.max() for c in curves])
    assert race.chance(np.linspace(0.0, 2.0, 32)) == 1.0


def test_a_saturated_curve_is_pruned_and_a_slow_one_is_not():
    curves = [curve(rate, 0.9 - rate / 10) for rate in np.geomspace(0.01, 0.5, 12)]
    race = CurveRace(curves, [c.max() for c in curves])
    saturated, slow = curve(0.3, 0.7)[:64], curve(0.01, 0.95)[:64]
    # At this round the slow one is the worse by far.
    assert slow[-1] < saturated[-1] - 0.05
    assert race.chance(saturated) < 0.01
    assert race.chance(slow) > 0.1
    score, variance = race.estimate(saturated)
    assert score == pytest.approx(0.7, abs=0.01)
    assert variance < 1e-4 < race.estimate(slow)[1]


def test_a_curve_that_has_not_left_its_start_is_not_pruned():
    curves = [curve(rate, 0.9) for rate in np.geomspace(0.1, 0.5, 12)]
    race = CurveRace(curves, [c.max() for c in curves])
    flat = np.full(32, 0.3)
    assert race.chance(flat) == 1.0
    assert race.estimate(flat) == (pytest.approx(0.3), None)


def test_constant_scores():
    race = CurveRace([np.full(100, 0.5)] * 6, [0.5] * 6)
    assert race.chance(np.full(32, 0.5)) == 1.0
    assert 0.0 <= race.chance(np.linspace(0.3, 0.4, 32)) <= 1.0


def test_complete_curves_may_be_shorter_than_the_first_part():
    curves = search(np.random.default_rng(1), 8)
    curves[0], curves[1] = curves[0][:20], curves[1][:1]
    race = CurveRace(curves, [c.max() for c in curves])
    assert 0.0 <= race.chance(curve(0.05, 0.7)[:64]) <= 1.0
    assert np.isfinite(race.estimate(curve(0.05, 0.7)[:64])).all()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_very_short_first_parts(length):
    curves = search(np.random.default_rng(2), 8)
    race = CurveRace(curves, [c.max() for c in curves])
    assert 0.0 <= race.chance(np.linspace(0.1, 0.2, length)) <= 1.0


def test_far_extrapolations_do_not_overflow():
    # All complete trials have nearly one curvature, the new one has another.
    curves = [curve(0.1, 0.8 + i / 1000) for i in range(8)]
    race = CurveRace(curves, [2.0 * i for i in range(8)])
    first = np.concatenate([np.linspace(0, 1, 16), 1 + np.arange(16.0) ** 5]) - 1e9
    assert 0.0 <= race.chance(first) <= 1.0
    assert np.isfinite(race.estimate(first)).all()


@given(
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-100, 100),
    seed=st.integers(0, 20),
)
def test_units_of_the_score_do_not_matter(scale, shift, seed):
    *curves, new = search(np.random.default_rng(seed), 9)
    scores = [c.max() for c in curves]
    plain = CurveRace(curves, scores)
    other = CurveRace(
        [scale * c + shift for c in curves], [scale * s + shift for s in scores]
    )
    first, same = new[:40], scale * new[:40] + shift
    assert other.chance(same) == pytest.approx(plain.chance(first), abs=1e-3)
    expected = scale * plain.estimate(first)[0] + shift
    assert other.estimate(same)[0] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@given(better=st.floats(0, 0.5), seed=st.integers(0, 20))
def test_a_higher_curve_of_the_same_shape_has_a_better_chance(better, seed):
    *curves, new = search(np.random.default_rng(seed), 9)
    race = CurveRace(curves, [c.max() for c in curves])
    assert race.chance(new[:40] + better) >= race.chance(new[:40]) - 1e-6


@pytest.mark.parametrize("rounds", [32, 64, 128])
def test_the_risk_is_kept_and_trials_are_pruned(rounds):
    rng = np.random.default_rng(0)
    risk = 0.01
    asked = pruned = lost = 0
    for _ in range(60):
        curves, scores = [], []
        for new in search(rng, 30):
            race = CurveRace(curves, scores)
            asked += race.ready
            if race.chance(new[:rounds]) < risk:
                pruned += 1
                lost += new.max() > max(scores)
                continue
            curves.append(new)
            scores.append(float(new.max()))
    assert pruned > 0.1 * asked
    assert lost <= 2 * risk * pruned


def test_the_estimate_of_a_pruned_trial_is_near_its_score():
    rng = np.random.default_rng(1)
    errors, deviations = [], []
    for _ in range(100):
        *curves, new = search(rng, 20)
        race = CurveRace(curves, [c.max() for c in curves])
        if race.chance(new[:64]) < 0.01:
            score, variance = race.estimate(new[:64])
            assert score < max(c.max() for c in curves)
            errors.append(abs(score - new.max()))
            deviations.append(np.sqrt(variance))
    assert len(errors) > 10
    assert np.median(errors) < 0.01
    # Rather too careful than too rash.
    assert np.mean(np.array(errors) <= 2 * np.array(deviations)) > 0.8
