import copy

import lightgbm
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from skbayes import Optimizer
from skbayes.hypertune.monotonicity import (
    KNOWN_MONOTONICITY,
    RoundRobinOptimizer,
    center_of,
    check_monotonicity,
    derive_signs,
    known_monotonicity,
)
from skbayes.space import Choice, Space
from skbayes.trial.records import Fidelity, Trial

RANGE = (1.0, 2.0)


SCALED = make_pipeline(StandardScaler(), SVC())
COLUMNS = ColumnTransformer([("both", SCALED, [0, 1])])
NESTED = Pipeline([("columns", COLUMNS), ("last", Ridge())])
MODEL = Pipeline([("model", SVC())])


class Mine(SVC):
    """Class with the signs of its base."""


class Backwards(BaseEstimator):
    """Estimator whose alpha has no known monotonicity."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha


@pytest.mark.parametrize(
    ("estimator", "space", "expected"),
    [
        (SVC(), {"C": RANGE, "gamma": RANGE, "tol": RANGE}, {"C": 1, "gamma": 1}),
        (Mine(), {"C": RANGE}, {"C": 1}),
        (SGDClassifier(), {"alpha": RANGE, "l1_ratio": (0.0, 1.0)}, {"alpha": -1}),
        (KNeighborsClassifier(), {"n_neighbors": (1, 9)}, {"n_neighbors": 1}),
        (DecisionTreeClassifier(), {"max_depth": [2, 3, None]}, {}),
        (BaggingClassifier(SVC()), {"estimator__C": [1, 2]}, {"estimator__C": 1}),
        (SCALED, {"svc__C": RANGE}, {"svc__C": 1}),
        (lightgbm.LGBMClassifier(), {"num_leaves": (2, 9)}, {"num_leaves": 1}),
        (NESTED, {"columns__both__svc__C": RANGE, "last__alpha": RANGE},
         {"columns__both__svc__C": 1, "last__alpha": -1}),
        # A chosen step has the signs of the chosen estimator.
        (MODEL, {"model": Choice([(SVC(), {"model__C": RANGE}),
                                  (Ridge(), {"model__alpha": RANGE})])},
         {"model__C": 1, "model__alpha": -1}),
        (MODEL, [{"model": [SVC()], "model__C": RANGE},
                 {"model": [LogisticRegression()], "model__C": RANGE},
                 {"model": [SGDClassifier()], "model__alpha": RANGE}],
         {"model__C": 1, "model__alpha": -1}),
        # Signs that differ between alternatives are dropped.
        (MODEL, [{"model": [Ridge()], "model__alpha": RANGE},
                 {"model": [Backwards()], "model__alpha": RANGE}], {}),
    ],
)  # fmt: skip
def test_signs_of_estimators_are_in_the_table(estimator, space, expected):
    assert known_monotonicity(estimator, space) == expected


def test_the_table_names_what_exists():
    """Each class of scikit-learn has the parameters in the table."""
    theirs = dict(all_estimators())
    ours = {"LGBMModel": lightgbm.LGBMModel, "XGBModel": None}
    for name, signs in KNOWN_MONOTONICITY.items():
        assert set(signs.values()) <= {1, -1}
        if (cls := theirs.get(name, ours.get(name))) is None:
            assert name in ours
            continue
        assert not set(signs) - set(cls._get_param_names()), name


def check(complexity, space):
    return check_monotonicity(complexity, SVC(), Space.from_notation(space))


def test_signs_of_the_user_replace_those_of_the_table():
    space = {"C": RANGE, "gamma": RANGE, "kernel": ["rbf", "poly"]}
    assert check("auto", space) == {"C": 1, "gamma": 1}
    assert check(None, space) == {}
    assert check({"gamma": -1}, space) == {"gamma": -1}
    assert check({"gamma": 1, "C": 0, "kernel": 0}, space) == {"gamma": 1}


@pytest.mark.parametrize(
    ("complexity", "error", "message"),
    [
        ({"kernel": 1}, ValueError, "'kernel' have no order"),
        ({"c": 1}, ValueError, "names 'c', which is not in search_spaces"),
        ({"C": 2}, ValueError, "must be"),
        ({"C": True}, ValueError, "must be"),
        ({"C": "up"}, ValueError, "must be"),
        (["C"], TypeError, "complexity must be"),
        ("none", TypeError, "complexity must be"),
    ],
)
def test_wrong_signs_are_named(complexity, error, message):
    with pytest.raises(error, match=message):
        check(complexity, {"C": RANGE, "kernel": ["rbf", "poly"]})


PLANE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
TREE = {"kind": Choice({"u": {"c": (0.0, 1.0)}, "v": {"d": (0.0, 1.0)}})}


def trials(*rows):
    """Return trials of (subset, parameters, score)."""
    return [
        Trial(n, params, [], score, fidelity=Fidelity(subset=subset))
        for n, (subset, params, score) in enumerate(rows)
    ]


def plane_trials(a, b=(0.5,) * 5):
    pairs = enumerate(zip(a, b, strict=True))
    return trials(*((n, {"a": one, "b": other}, 1.0) for n, (one, other) in pairs))


def side_by_side(space=PLANE, n=3):
    return RoundRobinOptimizer([Optimizer(space, random_state=k) for k in range(n)])


def ask(optimizer, n=1):
    return [optimizer.propose().params for _ in range(n)]


def score(params):
    return -((params["a"] - 0.3) ** 2) - params["b"]


@pytest.mark.parametrize("n_under_way", [1, 3])
def test_each_optimizer_proposes_as_if_it_were_alone(n_under_way):
    together = side_by_side()
    asked, waiting = [], []
    for _ in range(12):
        while len(waiting) < n_under_way:
            waiting += ask(together)
        asked.append(waiting.pop(0))
        together.tell(asked[-1], score(asked[-1]))
    for number in range(3):
        alone = Optimizer(PLANE, random_state=number)
        for params in asked[number::3]:
            assert ask(alone) == [params]
            alone.tell(params, score(params))


def test_scores_of_equal_configurations_belong_to_their_proposals():
    optimizers = [Optimizer(PLANE, initial_points=[{"a": 0.5, "b": 0.5}])] * 2
    together = RoundRobinOptimizer([copy.deepcopy(one) for one in optimizers])
    first, second = together.propose(), together.propose()
    assert first.params == second.params
    together.tell(second, 2.0)
    together.tell(first, 1.0)
    scores = [one.predict([first.params])[0] for one in together.optimizers]
    assert np.ravel(scores) == pytest.approx([1.0, 2.0])


def test_proposals_of_an_earlier_run_are_pending():
    one, other = side_by_side(), side_by_side()
    for params in ask(one, 7):
        other.pend(params)
    assert ask(one, 2) == ask(other, 2)


def test_forgotten_configurations_can_be_proposed_again():
    together = side_by_side({"x": [1, 2]}, 2)
    assert together.n_configurations == 4
    first = ask(together, 4)
    together.tell(first[0], 1.0)
    together.forget(first[3])
    assert [one.n_told for one in together.optimizers] == [1, 0]
    assert ask(together) == first[3:]


def test_a_withdrawn_proposal_does_not_change_the_next_one():
    plain, other = side_by_side(), side_by_side()
    first = plain.propose()
    other.forget(other.propose())
    other.pend(first)
    assert ask(plain, 5) == ask(other, 5)


def test_costs_are_those_of_the_proposing_optimizer():
    together = side_by_side()
    (params,) = ask(together)
    assert together.expected_cost(params) is None
    together.tell(params, 1.0, cost=2.0)
    params = ask(together, 3)[-1]
    assert together.expected_cost(params) == pytest.approx(2.0)
    together.limit_costs(3.0, 9.0)
    for one in together.optimizers:
        assert (one.cost_limit, one.cost_budget) == (3.0, 3.0)


def test_the_center_is_not_moved_by_an_outlier():
    space = Space.from_notation({"C": (1e-3, 1e3, "log-uniform"), "n": (1, 9)})
    values = [(0.1, 2), (0.2, 2), (0.1, 3), (0.1, 2), (1000.0, 9)]
    optima = space.encode([{"C": C, "n": n} for C, n in values])
    (center,) = space.decode(center_of(space, optima)[None, :])
    assert center["C"] == pytest.approx(0.1) and center["n"] == 2
    # The center of a tree is a configuration.
    space = Space.from_notation(TREE)
    rows = [{"kind": "v", "d": 0.2}, {"kind": "u", "c": 0.9}, {"kind": "v", "d": 0.4}]
    (center,) = space.decode(center_of(space, space.encode(rows))[None, :])
    assert center == {"kind": "v", "d": pytest.approx(0.3, abs=1e-6)}


@pytest.mark.parametrize("seed", range(3))
def test_points_lie_between_the_simple_end_and_the_center(seed):
    space = Space.from_notation({**PLANE, "free": (0.0, 1.0)})
    history = trials(*((n, {"a": 0.4, "b": 0.7, "free": n / 5}, 1.0) for n in range(5)))
    plan = derive_signs(space, {"a": 1, "b": -1}, history, seed)
    a, b, free = plan.points.T
    assert len(plan.points) == 10
    assert 0 <= a.min() and a.max() <= 0.4 and np.ptp(a) > 0.2
    assert 0.7 <= b.min() and b.max() <= 1 and np.ptp(b) > 0.15
    assert np.ptp(free) > 0.6
    np.testing.assert_array_equal(plan.signs, np.tile([1, -1, 0], (10, 1)))
    one, other = (derive_signs(space, {"a": 1, "b": -1}, history, s) for s in (seed, 9))
    np.testing.assert_array_equal(one.points, plan.points)
    assert not np.array_equal(other.points, plan.points)


def test_the_best_complete_trial_of_each_sample_counts():
    space = Space.from_notation(PLANE)
    history = trials(
        (0, {"a": 0.1, "b": 0.1}, 0.5),
        (0, {"a": 0.3, "b": 0.2}, 0.9),
        (1, {"a": 0.3, "b": 0.2}, 0.1),
        (1, {"a": 0.9, "b": 0.9}, float("nan")),
    )
    plan = derive_signs(space, {"a": 1}, history, 0)
    np.testing.assert_allclose(plan.optima, [[0.3, 0.2]] * 2, atol=1e-6)
    assert derive_signs(space, {"a": 1}, history[-1:], 0) is None


def test_a_center_at_the_simple_end_disables_signs():
    space = Space.from_notation(PLANE)
    plan = derive_signs(space, {"a": 1, "b": 1}, plane_trials([0.0] * 5), 0)
    assert not plan.signs[:, 0].any() and plan.signs[:, 1].all()


def test_signs_are_about_the_branch_of_the_center():
    space = Space.from_notation(TREE)
    history = trials(*((n, {"kind": "v", "d": 0.6}, 1.0) for n in range(3)))
    plan = derive_signs(space, {"c": 1, "d": 1}, history, 0)
    decoded = space.decode(plan.points)
    assert {params["kind"] for params in decoded} == {"v"}
    names = [column.name for column in space.columns]
    assert plan.signs[:, names.index("d")].all()
    assert not plan.signs[:, names.index("c")].any()
