"""Minimization, which must equal the maximization of negated scores."""

import copy
import math
import pickle

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.space import OptimumPrior, Space

SPACE = Space.from_notation({"x": (-5.0, 10.0), "y": (0.0, 15.0), "k": ["a", "b"]})
PRIOR = OptimumPrior(SPACE, {"x": ([0.0, 0.8, 1.0], [-2.0, 0.0, -1.0]), "k": [0, 1]})


def branin(params):
    """Return Branin's function, whose minimum is 0.397887; with option b, 1 more."""
    x, y = params["x"], params["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    wave = 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
    return valley**2 + wave + 10 + (params.get("k") == "b")


def run(sign, *, n=6, **options):
    """Return an optimizer of `sign` times a function, and all that it returned."""
    optimizer = Optimizer(SPACE, random_state=0, **options)
    optimizer.learn({"x": 9.0, "y": 2.0, "k": "b"}, sign * 3.0, noise=4.0)
    proposals = []
    for trial in range(n):
        params, _ = batch = optimizer.ask(2)
        optimizer.forget(batch[1])
        score = sign * branin(params)
        constraints = [4.0 - params["y"]]
        if trial == 2:
            score = math.nan
        if trial == 3:
            optimizer.tell(params, score, censored=True, cost=1.0, noise=9.0)
        else:
            optimizer.tell(params, score, noise=0.01, constraints=constraints)
        if trial == 4:
            optimizer = pickle.loads(pickle.dumps(copy.deepcopy(optimizer)))
        proposals.append((params, batch[1], optimizer.last_expected_improvement))
    return optimizer, proposals


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"acquisition": "ucb"},
        {"prior": PRIOR, "surrogate": "gp-rbf"},
        {"surrogate": "tpe", "n_initial_points": 2},
    ],
    ids=lambda options: " ".join(options) or "default",
)
def test_minimizing_is_maximizing_the_negative(options):
    smallest, proposals = run(1, direction="minimize", **options)
    greatest, expected = run(-1, **options)
    assert proposals == expected
    assert smallest.best_params == greatest.best_params
    front = smallest.pareto_front
    assert front == [(p, [-one for one in s]) for p, s in greatest.pareto_front]
    assert front[0][1] == [branin(front[0][0])]
    assert f"best score {branin(front[0][0]):.6g}" in repr(smallest)
    if options.get("surrogate") != "tpe":
        means, sds = smallest.predict([p for p, *_ in proposals])
        negated, same_sds = greatest.predict([p for p, *_ in proposals])
        np.testing.assert_array_equal(means, -negated)
        np.testing.assert_array_equal(sds, same_sds)


def test_the_minimum_of_branin_is_found():
    optimizer = Optimizer(
        {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, direction="minimize", random_state=0
    )
    for _ in range(40):
        params = optimizer.ask()
        optimizer.tell(params, branin(params))
    assert branin(optimizer.best_params) < 0.45
    (mean,), _ = optimizer.predict([optimizer.best_params])
    assert abs(mean - branin(optimizer.best_params)) < 1.0


def test_each_objective_has_its_direction():
    def both(params):
        return [params["n"], abs(params["n"] - 4)]

    optimizer = Optimizer(
        {"n": list(range(9))}, direction=["maximize", "minimize"], random_state=0
    )
    plain = Optimizer({"n": list(range(9))}, random_state=0)
    optimizer.tell({"n": 2}, math.nan)
    plain.tell({"n": 2}, math.nan)
    for _ in range(8):
        params = optimizer.ask()
        assert params == plain.ask()
        first, second = both(params)
        optimizer.tell(params, [first, second])
        plain.tell(params, [first, -second])
    front = [(n, abs(n - 4)) for n in range(4, 9)]
    assert sorted(map(tuple, (s for _, s in optimizer.pareto_front))) == front
    # One direction applies to all objectives.
    optimizer = Optimizer({"n": [0, 1, 2]}, direction="minimize", random_state=0)
    for n in range(3):
        optimizer.tell({"n": n}, [n, max(n, 1)])
    assert optimizer.pareto_front == [({"n": 0}, [0, 1])]
