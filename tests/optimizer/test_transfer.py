"""Optimizers with a warm start from searches on other data."""

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.optimizer.initial_design import MAX_FIRST, first_rows
from skbayes.space import Space
from skbayes.surrogates.transfer import Source, SourceModel

SPACE = Space.from_notation({"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": ["a", "b"]})
COLUMN = {column.name: j for j, column in enumerate(SPACE.columns)}


def rows(n, seed=0):
    return SPACE.from_uniform(np.random.default_rng(seed).random((n, SPACE.n_columns)))


def source(peak, seed=0):
    X = rows(20, seed)
    return Source(X, -np.square(X[:, COLUMN["x"]] - peak))


def first(sources, space=SPACE):
    models = [SourceModel(one, space.n_options) for one in sources]
    return first_rows(space, sources, models)


def score(params):
    return -((params["x"] - 0.4) ** 2)


def told(optimizer, n):
    found = []
    for _ in range(n):
        found.append(optimizer.ask())
        optimizer.tell(found[-1], score(found[-1]))
    return found


def test_sources_that_differ_give_configurations_for_each():
    alone = first([source(0.7)])
    assert len(alone) == 1
    assert abs(alone[0, COLUMN["x"]] - 0.7) < 0.15
    X = first([source(0.1, 1), source(0.1, 2), source(0.9, 3)])
    assert 2 <= len(X) <= MAX_FIRST
    x = X[:, COLUMN["x"]]
    assert np.min(np.abs(x - 0.1)) < 0.15 and np.min(np.abs(x - 0.9)) < 0.15


def test_what_a_source_does_not_know_is_in_the_middle():
    X = rows(20)
    X[:, [COLUMN["y"], COLUMN["kind"]]] = np.nan
    (row,) = first([Source(X, X[:, COLUMN["x"]])])
    assert row[COLUMN["y"]] == 0.5
    assert SPACE.decode(row[None])[0]["kind"] == "a"


def test_the_constraint_is_asked():
    space = Space.from_notation(SPACE, constraint=lambda params: params["x"] < 0.5)
    assert np.all(first([source(0.6)], space)[:, COLUMN["x"]] < 0.5)
    never = Space.from_notation(SPACE, constraint=lambda params: False)
    assert len(first([source(0.6)], never)) == 0


def test_the_model_decides_after_the_first_configurations():
    optimizer = Optimizer(SPACE, random_state=0)
    optimizer.transfer([source(0.4)])
    found = told(optimizer, 4)
    assert optimizer.last_expected_improvement is not None
    plain = told(Optimizer(SPACE, random_state=0), 4)
    assert sum(map(score, found)) > sum(map(score, plain))
    fixed = Optimizer(SPACE, n_initial_points=4, random_state=0)
    fixed.transfer([source(0.4)])
    told(fixed, 4)
    assert fixed.last_expected_improvement is None


def test_a_misleading_source_is_left_behind():
    optimizer = Optimizer(SPACE, random_state=0)
    X = rows(20)
    optimizer.transfer([Source(X, np.square(X[:, COLUMN["x"]] - 0.4))])
    found = told(optimizer, 15)
    assert max(map(score, found)) > -1e-3


def test_initial_points_come_first():
    points = [{"x": 0.9, "y": 0.1, "kind": "b"}]
    optimizer = Optimizer(SPACE, initial_points=points, random_state=0)
    optimizer.transfer([source(0.4)])
    found = told(optimizer, 2)
    assert found[0] == points[0] and abs(found[1]["x"] - 0.4) < 0.15


def test_a_resumed_run_makes_the_same_proposals():
    one = Optimizer(SPACE, random_state=0)
    one.transfer([source(0.4), source(0.9, 2)])
    found = told(one, 5)
    pending = one.ask()
    again = Optimizer(SPACE, random_state=0)
    again.transfer([source(0.4), source(0.9, 2)])
    for params in found:
        again.tell(params, score(params))
    again.pend(pending)
    assert one.ask(2) == again.ask(2)


@pytest.mark.parametrize(
    "options",
    [
        {"surrogate": "random"},
        {"surrogate": "tpe"},
        {"surrogate": "gp-additive"},
        {"acquisition": "ucb"},
    ],
)
def test_other_surrogates_and_acquisitions(options):
    optimizer = Optimizer(SPACE, random_state=0, **options)
    optimizer.transfer([source(0.4)])
    found = told(optimizer, 6)
    assert abs(found[0]["x"] - 0.4) < 0.15


def test_several_objectives_are_refused():
    with pytest.raises(ValueError, match="sources"):
        Optimizer(SPACE, n_objectives=2).transfer([source(0.4)])
