"""Learning curves: grid of rounds, choice of rounds, patience, and racing."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.evaluation.learning_curves import (
    MIN_TRIALS,
    CurveScores,
    FoldCurveRace,
    Guide,
    check_rounds,
    choose_by_others,
    choose_rounds,
    has_stalled,
    round_grid,
)
from skbayes.evaluation.racing import Race


def test_guides_are_pickled_by_reference_and_grids_are_shared():
    guide = Guide("f1", -1.0)
    assert isinstance(guide, Guide) and pickle.loads(pickle.dumps(guide)) == guide
    curves = {"f1": [0.5, 0.25], "accuracy": [0.1, 0.2]}
    np.testing.assert_array_equal(guide.curve(curves), [-0.5, -0.25])
    assert Guide().curve(curves) is None and Guide().curve({}) is None
    np.testing.assert_array_equal(Guide().curve({"score": [0.5]}), [0.5])
    assert round_grid(300) is round_grid(300)
    with pytest.raises(ValueError, match="read-only"):
        round_grid(300)[0] = 2


def curve(rate, top, cap=500, start=0.3):
    """Return a curve that goes from `start` to `top` like exp(-rate rounds)."""
    return top - (top - start) * np.exp(-rate * round_grid(cap))


def search(rng, n, cap=500):
    """Return curves of configurations with learning rates a factor of 100 apart.

    The curves overfit: after its best point a curve decreases, earlier for larger
    rates.
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


def race_of(curves, scores=None, others=1e-3, folds=5):
    """Return a race of trials whose folds differ from the first by about `others`."""
    scores = [c.max() for c in curves] if scores is None else scores
    shifts = np.random.default_rng(0).normal(scale=others, size=(len(curves), folds))
    shifts[:, :1] = 0.0
    table = np.reshape(scores, (-1, 1)) + shifts
    return FoldCurveRace(curves, scores, Race(table))


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


@pytest.mark.parametrize("cap", [1, 5, 16, 50, 200, 1000, 5000])
def test_checks_are_doublings_on_the_grid(cap):
    checks = check_rounds(cap)
    assert np.isin(checks, round_grid(cap)).all()
    assert (checks <= 1.1 * (cap // 2)).all()
    assert (checks < cap).all()
    # As many doublings as there are from 1/32 of the cap, or 16 rounds, to its half.
    doublings = np.log2(cap / max(16, cap // 32))
    assert len(checks) == max(0, int(doublings))
    assert (1.8 < checks[1:] / checks[:-1]).all()
    assert (checks[1:] / checks[:-1] < 2.2).all()


# The choice of rounds


@pytest.mark.parametrize(
    "folds, chosen",
    [
        # The best of each fold alone is another point.
        ([[0.9, 0.8, 0.2], [0.1, 0.8, 0.9]], 1),
        ([[0.0, 1.0, 0.9], [0.0, 0.1, 0.9]], 2),
        # No fold is read past the end of the shortest.
        ([[0.1, 0.2], [0.1, 0.2, 5.0]], 1),
        # Of equal scores, the fewest rounds.
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
    chosen = choose_by_others(curves)
    for i, place in enumerate(chosen):
        others = [curve[:length] for curve in curves[:i] + curves[i + 1 :]]
        assert place == choose_rounds(others or [curves[i]])
        if others:
            # The fold itself has no influence.
            changed = [*curves]
            changed[i] = rng.normal(size=length)
            assert choose_by_others(changed)[i] == place


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


@pytest.mark.parametrize("m", [1, 2, 4])
def test_estimates_from_first_folds_are_not_biased(m):
    # One fold chooses its own rounds, so that its score is too high by 2.
    rng = np.random.default_rng(m)
    errors = []
    for _ in range(400):
        curves = rng.normal(size=(4, 5, 30))
        curves[0] += 10.0  # the best trial, not by chance
        trials = [CurveScores(np.zeros(5), [*one]) for one in curves]
        table = [one.of(range(5)) for one in trials]
        race = Race(table[:3], [one.of(range(m)) for one in trials[:3]])
        score, _ = race.estimate(trials[3].of(range(m)))
        errors.append(score - table[3].mean())
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 20
    assert np.mean(errors) < 0.3


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
    # Worse than the start: the fit has a hundred rounds from where it left.
    flat[grid > 200] = 0.6
    assert not has_stalled(flat[grid <= 290], grid)
    assert has_stalled(flat[grid <= 320], grid)


# The race


def test_few_trials_or_one_split_say_nothing():
    assert not race_of(search(np.random.default_rng(0), 10), folds=1).ready
    few = [curve(0.1, 0.8)] * (MIN_TRIALS - 1)
    race = race_of(few)
    assert not race.ready
    assert race.chance(curve(0.5, 0.2)[:32]) == 1.0
    none = FoldCurveRace([], [], Race([]))
    assert not none.ready
    assert none.chance(np.array([0.1])) == 1.0
    assert none.estimate(np.array([0.1, 0.3, 0.2])) == (0.3, None)


def test_a_saturated_curve_is_pruned_and_a_slow_one_is_not():
    curves = [curve(rate, 0.9 - rate / 10) for rate in np.geomspace(0.01, 0.5, 12)]
    race = race_of(curves)
    n = int(np.searchsorted(round_grid(500), 64))
    saturated, slow = curve(0.3, 0.7)[:n], curve(0.01, 0.95)[:n]
    assert race.chance(np.linspace(0.0, 2.0, 32)) == pytest.approx(1.0)
    # A curve that has not left its start is not pruned.
    steep = race_of([curve(rate, 0.9) for rate in np.geomspace(0.1, 0.5, 12)])
    assert steep.chance(np.full(32, 0.3)) == 1.0
    # At this round the slow one is the worse by far.
    assert slow[-1] < saturated[-1] - 0.05
    assert race.chance(saturated) < 0.01
    assert race.chance(slow) > 0.1
    score, variance = race.estimate(saturated)
    assert score == pytest.approx(0.7, abs=0.01)
    assert 1e-4 < variance < race.estimate(slow)[1]


def test_the_more_the_folds_differ_the_less_the_first_decides():
    curves = [curve(rate, 0.9 - rate / 10) for rate in np.geomspace(0.01, 0.5, 12)]
    alike, unlike = race_of(curves, others=1e-3), race_of(curves, others=0.2)
    first = curve(0.3, 0.7)[:32]
    assert alike.chance(first) < 0.01 < unlike.chance(first)
    assert alike.estimate(first)[1] < unlike.estimate(first)[1]


@pytest.mark.parametrize("score", [0.5, 0.69, 0.7])
def test_of_a_curve_that_gains_nothing_the_race_of_folds_decides(score):
    rng = np.random.default_rng(3)
    table = 0.7 + rng.normal(scale=0.01, size=(10, 5))
    curves = [np.concatenate([[0.0], np.full(30, row[0])]) for row in table]
    folds = Race(table)
    race = FoldCurveRace(curves, table[:, 0], folds)
    first = np.concatenate([[0.0], np.full(20, score)])
    assert race.chance(first) == pytest.approx(folds.chance([score]), abs=0.02)
    expected, variance = folds.estimate([score])
    assert race.estimate(first)[0] == pytest.approx(expected, abs=1e-3)
    # The distance to the best counts too, as that of a uniform distribution.
    lacking = max(table.mean(axis=1).max() - expected, 0.0)
    variance += lacking**2 / 12
    assert race.estimate(first)[1] == pytest.approx(variance, rel=0.1)


def unusual():
    """Return complete curves of a race with their scores, and the start of another."""
    some = search(np.random.default_rng(2), 8)
    for length in (1, 2, 3, 4, 7):
        yield some, None, np.linspace(0.1, 0.2, length)
    yield [some[0][:20], some[1][:1], *some[2:]], None, curve(0.05, 0.7)[:32]
    yield [np.full(50, 0.5)] * 6, None, np.linspace(0.3, 0.4, 32)
    # All complete trials have nearly one curvature, the new one has another.
    alike = [curve(0.1, 0.8 + i / 1000) for i in range(8)]
    first = np.concatenate([np.linspace(0, 1, 16), 1 + np.arange(16.0) ** 5]) - 1e9
    yield alike, [2.0 * i for i in range(8)], first


@pytest.mark.parametrize("curves, scores, first", list(unusual()))
def test_unusual_curves_have_a_chance_and_an_estimate(curves, scores, first):
    race = race_of(curves, scores)
    assert 0.0 <= race.chance(first) <= 1.0
    assert np.isfinite(race.estimate(first)).all()


def test_it_is_small_when_it_is_sent_to_a_worker():
    curves = search(np.random.default_rng(0), 50, cap=1000)
    race = race_of(curves)
    sent = pickle.dumps(race)
    assert len(sent) < 2 * sum(c.nbytes for c in curves)
    first = curve(0.05, 0.7)[:32]
    assert pickle.loads(sent).chance(first) == race.chance(first)
    assert pickle.loads(sent).estimate(first) == race.estimate(first)


@given(
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-100, 100),
    seed=st.integers(0, 20),
)
def test_units_of_the_score_do_not_matter(scale, shift, seed):
    *curves, new = search(np.random.default_rng(seed), 9)
    plain = race_of(curves)
    other = race_of([scale * c + shift for c in curves], others=scale * 1e-3)
    first, same = new[:32], scale * new[:32] + shift
    assert other.chance(same) == pytest.approx(plain.chance(first), abs=1e-3)
    expected = scale * plain.estimate(first)[0] + shift
    assert other.estimate(same)[0] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@given(better=st.floats(0, 0.5), seed=st.integers(0, 20))
def test_a_higher_curve_of_the_same_shape_has_a_better_chance(better, seed):
    *curves, new = search(np.random.default_rng(seed), 9)
    race = race_of(curves)
    assert race.chance(new[:32] + better) >= race.chance(new[:32]) - 1e-6


def fold_search(rng, n, folds=5):
    """Return curves of `n` trials, with small differences between the folds."""
    hardness = rng.normal(scale=0.05, size=folds)
    return [
        np.array([c + h + e for h, e in zip(hardness, own, strict=True)])
        for c, own in zip(
            search(rng, n), rng.normal(scale=0.005, size=(n, folds)), strict=True
        )
    ]


def pruned_trials(rng, rounds):
    """Give estimate, variance, score and the best score before it of pruned trials."""
    curves, table, asked = [], [], 0
    found = []
    for trial in fold_search(rng, 30):
        row = CurveScores(np.zeros(len(trial)), [*trial]).of(range(len(trial)))
        n = int(np.searchsorted(round_grid(500), rounds))
        best = [curve.max() for curve in curves]
        race = FoldCurveRace(curves, best, Race(table, [[one] for one in best]))
        asked += race.ready
        if race.chance(trial[0, :n]) < 0.01:
            best = max(float(np.mean(r)) for r in table)
            found.append((*race.estimate(trial[0, :n]), float(np.mean(row)), best))
        else:
            curves.append(trial[0])
            table.append(row)
    return found, asked


@pytest.mark.parametrize("rounds", [32, 64, 128])
def test_the_risk_is_kept_and_trials_are_pruned(rounds):
    rng = np.random.default_rng(0)
    pruned, asked = [], 0
    for _ in range(12):
        found, n = pruned_trials(rng, rounds)
        pruned += found
        asked += n
    assert len(pruned) > 0.1 * asked
    assert sum(score > best for *_, score, best in pruned) <= 0.02 * len(pruned)
    if rounds == 64:
        # The estimates are near the scores.
        estimates, variances, scores, best = np.transpose(pruned)
        assert (estimates < best).all()
        errors = np.abs(estimates - scores)
        assert np.median(errors) < 0.01
        assert np.mean(errors <= 2 * np.sqrt(variances)) > 0.8
