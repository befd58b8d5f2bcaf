"""What every surrogate that can be chosen by its name has to keep."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, Optimizer
from skbayes.optimizer import SpaceExhausted
from skbayes.space import Choice
from skbayes.surrogates.registry import SURROGATES

CHOICES = [(name, "ei") for name in SURROGATES] + [("graph", "eif")]
TREE = {
    "a": [1, 2, 3, 4, 5],
    "kind": Choice({"u": {"c": [0.1, 1.0, 10.0]}, "v": {"d": ["x", "y"]}, "w": {}}),
}
N_CELLS = 5 * (3 + 2 + 1)


@pytest.fixture(params=CHOICES, ids="-".join)
def make(request):
    surrogate, acquisition = request.param
    if surrogate == "trees":
        pytest.importorskip("lightgbm")

    def optimizer(space=TREE, **arguments):
        arguments = {"random_state": 0} | arguments
        return Optimizer(
            space, surrogate=surrogate, acquisition=acquisition, **arguments
        )

    return optimizer


def score(params):
    return -abs(params["a"] - 4) - abs(math.log10(params.get("c", 100.0)))


def run(optimizer, n, objective=score):
    asked = []
    for _ in range(n):
        (params,) = optimizer.ask()
        optimizer.tell(params, objective(params))
        asked.append(params)
    return asked


def test_a_finite_space_is_exhausted_in_exactly_its_size(make):
    optimizer = make()
    assert len({repr(params) for params in run(optimizer, N_CELLS)}) == N_CELLS
    with pytest.raises(SpaceExhausted, match="All 30 configurations"):
        optimizer.ask()


def test_the_same_seed_gives_the_same_trials(make):
    assert run(make(), 14) == run(make(), 14)


def test_another_seed_gives_other_trials(make):
    assert run(make(), 14) != run(make(random_state=1), 14)


def test_failures_are_survived(make):
    def objective(params):
        return math.nan if params["kind"] == "v" else score(params)

    asked = run(make(), N_CELLS, objective)
    assert len({repr(params) for params in asked}) == N_CELLS
    only = make()
    assert len(run(only, 12, lambda params: math.nan)) == 12


@pytest.mark.parametrize("value", [0.0, 1.0, -1e250, 1e250])
def test_equal_scores_are_survived(make, value):
    assert len(run(make(), 12, lambda params: value)) == 12


def test_what_is_pending_is_not_proposed_again(make):
    optimizer = make()
    run(optimizer, 9)
    batch = optimizer.ask(N_CELLS)
    assert len({repr(params) for params in batch}) == len(batch) == N_CELLS - 9


def test_several_at_once_are_as_many_asked_one_by_one(make):
    one, other = make(), make()
    for optimizer in (one, other):
        run(optimizer, 9)
    assert one.ask(5) == [other.ask()[0] for _ in range(5)]


def test_a_proposal_depends_on_what_was_told_and_not_on_how_it_was_asked(make):
    first, replayed = make(), make()
    trials = run(first, 12)
    for params in trials:
        replayed.tell(params, score(params))
    assert replayed.ask(3) == first.ask(3)


def test_what_is_forgotten_leaves_no_trace(make):
    one, other = make(), make()
    for optimizer in (one, other):
        run(optimizer, 10)
    for params in one.ask(3):
        one.forget(params)
    assert run(one, 5) == run(other, 5)


@pytest.mark.parametrize("when", [0, 2, 12])
def test_a_copy_made_on_the_way_continues_alike(make, when):
    optimizer = make()
    run(optimizer, when)
    optimizer.ask()
    again = pickle.loads(pickle.dumps(optimizer))
    assert run(again, 4) == run(copy.deepcopy(optimizer), 4) == run(optimizer, 4)


def test_what_is_told_twice_and_learnt_is_taken(make):
    optimizer = make(n_initial_points=0)
    cells = optimizer.space.decode(optimizer.space.enumerate(np.arange(N_CELLS)))
    for params in cells[::4]:
        optimizer.learn(params, score(params))
    optimizer.tell(cells[1], 1.0)
    optimizer.tell(cells[1], -1.0)
    optimizer.tell(cells[2], math.nan)
    assert len(run(optimizer, 8)) == 8


def test_a_constraint_is_kept_and_told_points_outside_it_are_welcome(make):
    def constraint(params):
        return params["a"] <= 3 or params["kind"] == "w"

    optimizer = make(constraint=constraint)
    outside = {"a": 5, "kind": "u", "c": 1.0}
    optimizer.tell(outside, score(outside))
    asked = run(optimizer, 20)
    assert all(map(constraint, asked)) and len({repr(p) for p in asked}) == 20
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


@pytest.mark.parametrize("space", [{}, {"a": [1]}, {"a": ["x", "y"]}])
def test_the_smallest_spaces(make, space):
    optimizer = make(space, n_initial_points=0)
    optimizer.learn({name: values[0] for name, values in space.items()}, 1.0)
    size = int(optimizer.n_configurations)
    assert len(run(optimizer, size, lambda params: 0.0)) == size
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


@pytest.mark.parametrize("name", [name for name in SURROGATES if name != "graph"])
def test_an_infinite_space_with_conditional_parameters(name):
    if name == "trees":
        pytest.importorskip("lightgbm")
    space = {
        "x": (0.0, 1.0),
        "n": (1, 10_000, "log-uniform"),
        "kind": Choice({"u": {"c": (0.1, 10.0, "log-uniform")}, "v": {}}),
    }
    optimizer = Optimizer(space, surrogate=name, random_state=0)
    asked = run(optimizer, 20, lambda p: p["x"] * p["n"] + p.get("c", 0.0))
    assert all(params in optimizer.space for params in asked)
    assert len({repr(params) for params in asked}) == 20
    assert {"u", "v"} == {params["kind"] for params in asked}


@pytest.mark.parametrize(("surrogate", "acquisition"), CHOICES)
def test_a_search_with_it_goes_on_from_its_journal(surrogate, acquisition, tmp_path):
    if surrogate == "trees":
        pytest.importorskip("lightgbm")
    trials = {}
    for name, budgets in (("at_once", [9]), ("in_parts", [5, 9])):
        for n_iter in budgets:
            search = BayesSearchCV(
                DecisionTreeClassifier(random_state=0),
                {"max_depth": [1, 2, 3, 4], "min_samples_leaf": [1, 5, 20]},
                surrogate=surrogate,
                acquisition=acquisition,
                n_iter=n_iter,
                cv=2,
                n_initial_points=3,
                journal=tmp_path / name,
                random_state=0,
            ).fit(*load_iris(return_X_y=True))
        trials[name] = [trial.params for trial in search.trials_]
    assert len(trials["at_once"]) == 9 and search.best_score_ > 0.9
    assert trials["in_parts"] == trials["at_once"]
