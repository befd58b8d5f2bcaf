"""Parameters of the searches: their number, and the errors for former names."""

import inspect

import pytest
from every_search import SEARCHES, X, small_search, y
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.acquisition import ProbabilityOfImprovement
from skbayes.evaluation.constraints import rule_and_bounds
from skbayes.evaluation.options import (
    oof_method,
    parse_cache,
    parse_trial_limits,
    returns_estimators,
)
from skbayes.search._knowledge import parse_initial_points
from skbayes.utils.did_you_mean import REPLACED


def parameters(kind):
    return inspect.signature(kind).parameters


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_number_of_parameters(kind):
    assert len(parameters(kind)) <= (24 if kind is BayesSearchCV else 30)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_former_name_is_refused_and_the_new_spelling_named(kind):
    for name, (parameter, spelling) in REPLACED.items():
        assert name not in parameters(kind)
        if parameter not in parameters(kind):
            continue
        assert any(f"{parameter}=" in spelling for parameter in parameters(kind))
        with pytest.raises(TypeError, match="has no parameter") as in_constructor:
            kind(SVC(), **{name: 3})
        with pytest.raises(ValueError, match="has no parameter") as in_set_params:
            kind(SVC()).set_params(**{name: 3})
        for error in (in_constructor, in_set_params):
            assert str(error.value).endswith(f"Write {spelling}.")


def test_other_unknown_names_are_refused_as_before():
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator"):
        BayesSearchCV(SVC()).set_params(C=3)
    with pytest.raises(TypeError, match="Did you mean 'constraints'"):
        BayesSearchCV(SVC(), constrains=None)


def test_cache():
    for given, expected in [
        ("auto", ("auto", 7)),
        (True, (True, 7)),
        (False, (False, 7)),
        ("2 GB", ("auto", 2 * 10**9)),
        (1, ("auto", 1)),
        (1e9, ("auto", 10**9)),
        ((True, "1 MiB"), (True, 1 << 20)),
        (("auto", 5), ("auto", 5)),
    ]:
        assert parse_cache(given, 7) == expected
    for wrong in ("yes", 0, -1, ("all", 5), (True, "x"), (True,)):
        with pytest.raises(ValueError, match="cache must be"):
            parse_cache(wrong, 7)


def test_initial_points():
    point = {"a": 1}
    assert parse_initial_points("default") == (None, None)
    assert parse_initial_points(0) == (None, 0)
    assert parse_initial_points(None) == ([], None)
    assert parse_initial_points([point]) == ([point], None)
    assert parse_initial_points([point, 5]) == ([point], 5)
    assert parse_initial_points((4,)) == ([], 4)
    for wrong in (-1, [point, -1], True, [False]):
        with pytest.raises(ValueError, match="initial_points: the number"):
            parse_initial_points(wrong)


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
    search = small_search(SVC(), {"C": (0.1, 9.0)}, surrogate=("gp-rbf", "pi"))
    search.fit(X, y)
    assert search.optimizer_.surrogate == "gp-rbf"
    assert isinstance(search.optimizer_.acquisition, ProbabilityOfImprovement)
    more = {"surrogate": ("gp", "ei-per-second"), "timeout": 1e5, "n_iter": 6}
    assert len(search.set_params(**more).fit(X, y).trials_) == 6
    with pytest.raises(ValueError, match="a tuple of a surrogate and"):
        search.set_params(surrogate=("oracle", "ei")).fit(X, y)


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
