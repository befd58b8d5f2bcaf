"""Constraints on outcomes that are reported to an optimizer."""

import math

import numpy as np
import pytest

from skbayes import Optimizer

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def score_of(params):
    return -((params["x"] - 0.9) ** 2) - (params["y"] - 0.7) ** 2


def slack_of(params):
    """Return the slack of x + 2 y < 1.2; the best feasible point is (0.74, 0.38)."""
    return params["x"] + 2.0 * params["y"] - 1.2


# The distance of (0.9, 0.7) from the line, squared.
BEST = -((0.9 + 1.4 - 1.2) ** 2) / 5.0


def run(n, **options):
    optimizer = Optimizer(SPACE, **options)
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, score_of(params), constraints=[slack_of(params)])
    return optimizer


@pytest.mark.parametrize(
    ("options", "margin"),
    [({}, 0.01), ({"acquisition": "ucb"}, 0.03), ({"surrogate": "tpe"}, 0.15)],
)
def test_the_best_is_found_at_the_bound(options, margin):
    best = run(25, random_state=0, **options).best_params
    assert slack_of(best) <= 0.0
    assert BEST - margin < score_of(best) <= BEST + 1e-9


@pytest.mark.parametrize("surrogate", ["random", "sobol"])
def test_samplers_draw_where_the_constraints_probably_hold(surrogate):
    """By chance, about a third of the configurations keep them."""
    drawn = run(14, surrogate=surrogate, random_state=0).ask(10)
    assert sum(slack_of(params) <= 0.1 for params in drawn) >= 8


def test_constraints_that_are_always_satisfied_hardly_change_trials():
    plain, bounded = (Optimizer(SPACE, random_state=0) for _ in range(2))
    for _ in range(8):
        params = plain.ask()
        plain.tell(params, score_of(params))
        bounded.pend(params)
        bounded.tell(params, score_of(params), constraints=[-1.0])
    one, other = plain.ask(), bounded.ask()
    assert max(abs(one[name] - other[name]) for name in one) < 0.1


def test_the_best_keeps_the_constraints_or_violates_them_least():
    optimizer = Optimizer(SPACE, random_state=0)
    points = [{"x": v, "y": v} for v in (0.1, 0.2, 0.3, 0.4, 0.5)]
    data = [(5.0, [1.0, -9.0]), (9.0, [0.2, 0.3]), (7.0, [0.5, 0.0]), (1.0, [0.0, 0])]
    for params, (score, slacks) in zip(points[:3], data[:3], strict=True):
        optimizer.tell(params, score, constraints=slacks)
    assert optimizer.best_params == points[1] or optimizer.best_params == points[2]
    optimizer.tell(points[3], data[3][0], constraints=data[3][1])
    assert optimizer.best_params == points[3]
    optimizer.tell(points[4], 99.0, constraints=[math.nan, -1.0])
    assert optimizer.best_params == points[3]


def test_the_front_has_no_point_that_violates_a_constraint():
    optimizer = Optimizer(SPACE, surrogate="gp-rbf", random_state=0)
    for _ in range(9):
        params = optimizer.ask()
        scores = [params["x"], params["y"] - params["x"] ** 2]
        optimizer.tell(params, scores, constraints=[slack_of(params)])
    assert optimizer.pareto_front
    assert all(slack_of(params) <= 0.0 for params, _ in optimizer.pareto_front)
    configurations = [params for params, _ in optimizer.pareto_front]
    assert len(configurations) > 1


def test_expected_improvements_count_the_probability():
    optimizer = run(9, random_state=0)
    assert 0.0 <= optimizer.last_expected_improvement < 0.1
    impossible = Optimizer(SPACE, random_state=0)
    for _ in range(6):
        params = impossible.ask()
        impossible.tell(params, score_of(params), constraints=[1.0 + params["x"]])
    assert impossible.last_expected_improvement is None


def test_learned_constraints_guide_the_first_proposal():
    optimizer = Optimizer(SPACE, n_initial_points=1, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        optimizer.learn(params, score_of(params), constraints=[slack_of(params)])
    optimizer.learn({"x": 0.9, "y": 0.7}, 0.0)
    proposed = optimizer.ask()
    assert slack_of(proposed) < 0.2
    assert score_of(proposed) > BEST - 0.2


def test_predictions_of_scores_need_no_trial_that_keeps_the_constraints():
    optimizer, plain = (Optimizer(SPACE, random_state=0) for _ in range(2))
    for _ in range(5):
        params = optimizer.ask()
        optimizer.tell(params, score_of(params), constraints=[1.0])
        plain.tell(params, score_of(params))
    points = [{"x": 0.5, "y": 0.1}, {"x": 0.2, "y": 0.9}]
    for _ in range(2):
        np.testing.assert_array_equal(optimizer.predict(points), plain.predict(points))
        plain.pend(optimizer.ask())


@pytest.mark.parametrize("surrogate, others", [("gp", 1), ("tpe", 1), ("gp", 0)])
def test_a_constraint_that_is_never_measured_leaves_the_others(surrogate, others):
    with_it, without = (
        Optimizer(SPACE, surrogate=surrogate, random_state=0) for _ in range(2)
    )
    for _ in range(9):
        params = without.ask()
        assert with_it.ask() == params
        slacks = [slack_of(params)] * others
        without.tell(params, score_of(params), constraints=slacks or None)
        with_it.tell(params, score_of(params), constraints=[*slacks, math.nan])
    assert surrogate == "tpe" or with_it.last_expected_improvement is not None


def test_the_feasibility_of_a_trial_without_outcomes_is_unknown():
    optimizer = Optimizer(SPACE, random_state=0)
    points = [{"x": v, "y": v} for v in (0.1, 0.2, 0.3)]
    optimizer.tell(points[0], 9.0)
    assert optimizer.best_params == points[0]
    optimizer.tell(points[1], 1.0, constraints=[-1.0])
    optimizer.tell(points[2], 8.0)
    assert optimizer.best_params == points[1]
    assert optimizer.pareto_front == [(points[1], [1.0])]


def test_an_infinite_value_is_on_its_side_of_the_bound():
    optimizer = Optimizer(SPACE, random_state=0)
    points = [{"x": v, "y": v} for v in (0.1, 0.4, 0.6, 0.9)]
    for params, slack in zip(points, [-math.inf, -1.0, 1.0, math.inf], strict=True):
        optimizer.tell(params, params["x"], constraints=[slack])
    assert optimizer.best_params == points[1]
    only_infinite = Optimizer(SPACE, random_state=0, n_initial_points=2)
    for params, slack in zip(points[::3], [-math.inf, math.inf], strict=True):
        only_infinite.tell(params, 0.0, constraints=[slack])
    assert only_infinite.best_params == points[0]
    for one in (optimizer, only_infinite):
        assert np.isfinite(list(one.ask().values())).all()
