"""Wrong arguments of an optimizer: what is refused, and that nothing remains of it."""

import math
from decimal import Decimal

import pytest

from skbayes import Optimizer
from skbayes.acquisition import ExpectedInfluence, UpperConfidenceBound
from skbayes.space import OptimumPrior, Space
from skbayes.surrogates import GaussianProcess, GraphField, ParzenEstimator

LINE, GRID = {"x": (0.0, 1.0)}, {"a": [1, 2, 3], "b": [1, 2, 3, 4]}
PRIOR = OptimumPrior(Space.from_notation(LINE), {"x": ([0.2, 0.3], [-1.0, 0.0])})
FAR, NEAR = {"x": 3.0}, {"x": 0.5}


def broken(params):
    return params["y"] > 0


def make(space=LINE, **arguments):
    return Optimizer(space, **{"random_state": 0, **arguments})


class NoNoise:
    def fit(self, X, y):
        return self

    predict = condition = None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"surrogate": "gauss"}, ValueError, "surrogate must be one of.*'gauss'"),
        ({"surrogate": object()}, ValueError, "with fit, predict"),
        ({"surrogate": GaussianProcess}, ValueError, "got the class GaussianProcess"),
        ({"acquisition": "best"}, ValueError, "acquisition must be one of.*'best'"),
        *(
            ({"n_initial_points": n}, ValueError, "n_initial_points must be")
            for n in (-1, 2.5)
        ),
        ({"initial_points": {"x": 1}}, TypeError, "list of dicts"),
        ({"initial_points": [{"x": 2.0}]}, ValueError, r"initial_points\[0\].*'x'"),
        ({"initial_points": [NEAR, {}]}, ValueError, r"\[1\].*'x' is missing"),
        ({"initial_points": [{"x": 0.9}], "constraint": lambda p: p["x"] < 0.5},
         ValueError, "not allowed by the constraint"),
        ({"initial_points": [NEAR], "constraint": broken}, ValueError,
         r"The constraint raised KeyError\('y'\) for \{'x': 0.5\}"),
        ({"constraint": 3}, TypeError, "constraint must be a callable"),
        ({"constraint": lambda params: False, "space": GRID}, ValueError,
         "The constraint allows none of the 12"),
        *(({"random_state": s}, ValueError, "random_state must be") for s in ("a", -1)),
        *(({"n_objectives": n}, ValueError, "n_objectives must be an integer >= 1")
          for n in (0, 1.5, "2")),
        ({"n_objectives": 2, "surrogate": "tpe"}, ValueError, "one objective only"),
        ({"direction": "min"}, ValueError, "'maximize' or 'minimize'.*got 'min'"),
        *(({"direction": d}, ValueError, "direction must be") for d in (-1, [])),
        ({"direction": ["maximize", "minimize"], "n_objectives": 3}, ValueError,
         "one element for each of 3 objectives"),
        ({"prior": {"x": [0.0]}}, TypeError, "prior must be an OptimumPrior"),
        ({"prior": PRIOR, "space": GRID}, ValueError, "prior: the prior is for"),
        *(({"surrogate": surrogate, "acquisition": acquisition}, ValueError,
           "acquisition .*(needs surrogate='graph'|does not predict scores)")
          for surrogate, acquisition in [
              ("gp", "eif"), ("trees", ExpectedInfluence()), ("random", "eif"),
              (GaussianProcess(), "eif"), (ParzenEstimator(), "eif"), ("tpe", "ucb"),
              (ParzenEstimator(), "pi"), ("random", UpperConfidenceBound()),
              ("sobol", "pi"),
          ]),
    ],
)  # fmt: skip
def test_wrong_arguments_of_the_constructor_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make(**arguments)


@pytest.mark.parametrize("notation", [{"x": [1, 2]}, LINE])
def test_a_constraint_that_raises(notation):
    message = r"The constraint raised KeyError\('y'\) for \{'x':"
    with pytest.raises(ValueError, match=message):
        Optimizer(notation, constraint=broken, random_state=0).ask()


def tell(score=1.0, params=NEAR, **details):
    return lambda optimizer: optimizer.tell(params, score, **details)


NUMBER = "n must be an integer >= 1 or None"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *((lambda o, n=n: o.ask(n), ValueError, NUMBER) for n in (0, -1, 1.5, "2")),
        *((tell(s), TypeError, "score must be a number")
          for s in (None, "good", 1j, ["a", "b"])),
        (tell([]), ValueError, "a number or a list"),
        (tell(params=FAR), ValueError, "'x'"),
        *((lambda o, name=name: getattr(o, name)(FAR), ValueError, "'x'")
          for name in ("forget", "pend", "expected_cost")),
        (lambda o: o.forget({"x": 0.25}), ValueError,
         r"params: \{'x': 0.25\} is not pending"),
        *((tell(cost=c), TypeError, "cost must be a number, got ")
          for c in ("1 s", Decimal(1))),
        *((tell(cost=c), ValueError, f"cost must be > 0 and finite.*got {c!r}")
          for c in (0.0, -1, math.nan, math.inf, 10**400)),
        (tell(censored=True), ValueError, "cost must be given with censored=True"),
        *((tell(cost=1.0, censored=c), TypeError, f"True or False, got {c}")
          for c in (1, None)),
        (tell(noise="much"), TypeError, "noise must be a number, got 'much'"),
        *((tell(noise=n), ValueError, f"noise must be >= 0 and finite.*got {n}")
          for n in (-0.1, math.nan, math.inf)),
        (lambda o: o.learn(NEAR, 1.0, noise=-0.1), ValueError, "noise must be >= 0"),
        (lambda o: o.learn(FAR, 1.0), ValueError, "'x'"),
        *((tell(constraints=c), TypeError, "constraints must be a list of numbers")
          for c in (0.5, ["a"])),
    ],
)  # fmt: skip
def test_refused_calls_do_not_change_the_optimizer(call, error, message):
    optimizer, new = make(), make()
    with pytest.raises(error, match=message):
        call(optimizer)
    assert optimizer.n_told == 0
    assert optimizer.ask() == new.ask()


TWO = "a list of 2 numbers, as before"


@pytest.mark.parametrize(
    ("options", "first", "second", "message"),
    [
        ({}, tell([1.0, 2.0]), tell(1.0), TWO),
        ({}, tell([1.0, 2.0]), tell([1.0, 2.0, 3.0]), TWO),
        ({}, tell(1.0), tell([1.0, 2.0]), "a number, as before"),
        ({"n_objectives": 2}, tell([1.0, 2.0]), tell(1.0), "a list of 2 numbers"),
        ({"direction": ["maximize", "minimize"]}, tell(math.nan), tell(1.0),
         "a list of 2 numbers"),
        ({}, tell([1.0, 2.0]), tell([1.0, 2.0], noise=0.5),
         "noise must have one number for each of 2"),
        ({"acquisition": "ucb"}, tell(math.nan), tell([1.0, 2.0]),
         "acquisition must be 'ei'"),
        ({}, tell(constraints=[0.5, -0.5]), tell(constraints=[0.5]),
         "constraints must have 2 values, as before"),
        ({"surrogate": NoNoise()}, tell(noise=0.0), tell(noise=0.1),
         "surrogate .*NoNoise.* no parameter"),
        *(({"surrogate": s, "space": {"x": [0.0, 0.5, 1.0]}}, tell(), tell(noise=0.1),
           "noise must be 0 or None") for s in ("graph", GraphField())),
    ],
)  # fmt: skip
def test_scores_that_do_not_fit_earlier_trials_are_refused(
    options, first, second, message
):
    optimizer = make(**options)
    first(optimizer)
    with pytest.raises(ValueError, match=message):
        second(optimizer)
    assert optimizer.n_told == 1


@pytest.mark.parametrize("name", ["cost_limit", "cost_budget"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, "2", [1.0]])
def test_wrong_limits_are_refused(name, value):
    optimizer = Optimizer(LINE)
    with pytest.raises((TypeError, ValueError), match=name):
        setattr(optimizer, name, value)
    assert getattr(optimizer, name) is None
    setattr(optimizer, name, 3)
    assert getattr(optimizer, name) == 3.0
