"""Parameters of the searches: their number, and the errors for former names."""

import inspect

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import skbayes
from skbayes.acquisition import ProbabilityOfImprovement
from skbayes.evaluation.aspects.kept_fits import oof_method, returns_estimators
from skbayes.evaluation.aspects.shared_steps import parse_cache
from skbayes.evaluation.constraints import rule_and_bounds
from skbayes.evaluation.limits import parse_trial_limits
from skbayes.search.default_space import parse_initial_points
from skbayes.utils.did_you_mean import REPLACED

SEARCHES = [
    getattr(skbayes, name) for name in skbayes.__all__ if name.endswith("SearchCV")
]


def parameters(kind):
    return inspect.signature(kind).parameters


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_number_of_parameters(kind):
    assert len(parameters(kind)) <= (25 if kind is skbayes.BayesSearchCV else 30)


@pytest.mark.parametrize(
    "kind, name",
    [
        (k, name)
        for k in SEARCHES
        for name in REPLACED
        if REPLACED[name][0] in parameters(k)
    ],
)
def test_a_former_name_is_refused_and_the_new_spelling_named(kind, name):
    spelling = REPLACED[name][1]
    assert name not in parameters(kind)
    assert any(f"{parameter}=" in spelling for parameter in parameters(kind))
    with pytest.raises(TypeError, match="has no parameter") as in_constructor:
        kind(SVC(), **{name: 3})
    with pytest.raises(ValueError, match="has no parameter") as in_set_params:
        kind(SVC()).set_params(**{name: 3})
    for error in (in_constructor, in_set_params):
        assert str(error.value).endswith(f"Write {spelling}.")


def test_other_unknown_names_are_refused_as_before():
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator"):
        skbayes.BayesSearchCV(SVC()).set_params(C=3)
    with pytest.raises(TypeError, match="Did you mean 'constraints'"):
        skbayes.BayesSearchCV(SVC(), constrains=None)


@pytest.mark.parametrize(
    "given, expected",
    [
        ("auto", ("auto", 7)),
        (True, (True, 7)),
        (False, (False, 7)),
        ("2 GB", ("auto", 2 * 10**9)),
        (1, ("auto", 1)),
        (1e9, ("auto", 10**9)),
        ((True, "1 MiB"), (True, 1 << 20)),
        (("auto", 5), ("auto", 5)),
    ],
)
def test_cache(given, expected):
    assert parse_cache(given, 7) == expected


@pytest.mark.parametrize("given", ["yes", 0, -1, ("all", 5), (True, "x"), (True,)])
def test_wrong_cache(given):
    with pytest.raises(ValueError, match="cache must be"):
        parse_cache(given, 7)


@pytest.mark.parametrize(
    "given, expected",
    [
        ("default", (None, None)),
        (0, (None, 0)),
        (None, ([], None)),
        ([{"a": 1}], ([{"a": 1}], None)),
        ([{"a": 1}, 5], ([{"a": 1}], 5)),
        ((4,), ([], 4)),
    ],
)
def test_initial_points(given, expected):
    assert parse_initial_points(given) == expected


@pytest.mark.parametrize("given", [-1, [{"a": 1}, -1], True, [False]])
def test_wrong_initial_points(given):
    with pytest.raises(ValueError, match="initial_points: the number"):
        parse_initial_points(given)


def test_constraints():
    bounds = {"recall": ">= 0.9"}
    assert rule_and_bounds(None) == (None, {})
    assert rule_and_bounds(callable) == (callable, {})
    assert rule_and_bounds(bounds) == (None, bounds)
    assert rule_and_bounds([bounds, callable]) == (callable, bounds)
    with pytest.raises(ValueError, match="2 functions and 0 dicts"):
        rule_and_bounds([callable, len])
    with pytest.raises(TypeError, match="or a list of both"):
        rule_and_bounds(["recall >= 0.9"])


def test_a_surrogate_with_an_acquisition_function():
    search = skbayes.BayesSearchCV(SVC(), {"C": (0.1, 9.0)}, surrogate=("gp-rbf", "pi"))
    search.set_params(n_iter=2, cv=2).fit(*load_iris(return_X_y=True))
    assert search.optimizer_.surrogate == "gp-rbf"
    assert isinstance(search.optimizer_.acquisition, ProbabilityOfImprovement)
    with pytest.raises(ValueError, match="'EI' is not an acquisition function"):
        search.set_params(surrogate=("gp", "EI")).fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="a tuple of a surrogate and"):
        search.set_params(surrogate=("oracle", "ei")).fit([[0], [1]], [0, 1])


def test_trial_limits():
    assert parse_trial_limits(None) == parse_trial_limits({"time": None}) == {}
    assert parse_trial_limits({"time": "5 min"}) == {"time": 300}
    with pytest.raises(ValueError, match="'seconds' is not the name of a limit"):
        parse_trial_limits({"seconds": 3})
    with pytest.raises(ValueError, match=r"trial_limits\['time'\] must be a positive"):
        parse_trial_limits({"time": [3]})


def test_return_folds():
    both = ["estimators", "predict"]
    assert returns_estimators("estimators") and returns_estimators(both)
    assert not returns_estimators(False) and not returns_estimators("predict")
    assert oof_method(both) == oof_method("predict") == "predict"
    assert oof_method(False) is oof_method(["estimators"]) is None
    with pytest.raises(ValueError, match="names 2 methods"):
        oof_method(["predict", "predict_proba"])
    with pytest.raises(ValueError, match="return_folds='estimators'"):
        oof_method(True)
