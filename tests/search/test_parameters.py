"""Parameters of the searches: number, former names, signatures and docstrings."""

import inspect
import re

import pytest
from every_search import SEARCHES, X, small_search, y
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.acquisition import ExpectedImprovement, ProbabilityOfImprovement
from skbayes.evaluation.aspect import Aspect, Parameter
from skbayes.evaluation.aspects import registry
from skbayes.evaluation.constraints import rule_and_bounds
from skbayes.evaluation.options import (
    oof_method,
    parse_trial_limits,
    returns_estimators,
)
from skbayes.loop.stopping import NoImprovement
from skbayes.search import BaseBayesSearchCV
from skbayes.search._parameters import (
    SHARED,
    SharedEntries,
    parameters_of,
    share_parameters,
)
from skbayes.search._preparation import parse_initial_points
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


def test_a_surrogate_with_an_acquisition_function(fits_here):
    search = small_search(SVC(), {"C": (0.1, 9.0)}, surrogate=("gp-rbf", "pi"))
    search.fit(X, y)
    assert search.optimizer_.surrogate == "gp-rbf"
    assert isinstance(search.optimizer_.acquisition, ProbabilityOfImprovement)
    more = {"surrogate": ("gp", "ei-per-second"), "timeout": 1e5, "n_iter": 6}
    assert len(search.set_params(**more).fit(X, y).trials_) == 6
    with pytest.raises(ValueError, match="a tuple of a surrogate and"):
        search.set_params(surrogate=("oracle", "ei")).fit(X, y)


def test_a_search_without_a_number_of_trials(fits_here):
    search = small_search(SVC(), {"C": (0.1, 9.0)}, n_iter=None)
    with pytest.raises(ValueError, match="n_iter=None requires timeout or stopper"):
        search.fit(X, y)
    search.set_params(stopper=NoImprovement(3)).fit(X, y)
    assert search.stop_reason_ == "no_improvement"
    assert isinstance(search.optimizer_.acquisition, ExpectedImprovement)
    search.set_params(stopper=lambda history: len(history) == 4, timeout=1e5)
    search.fit(X, y)
    assert len(search.trials_) == 4
    # Its time is the only limit.
    assert search.optimizer_.acquisition.per_cost
    search.set_params(surrogate="tpe").fit(X, y)
    assert not search.optimizer_.acquisition.per_cost
    search.set_params(surrogate=("gp", "pi")).fit(X, y)
    assert isinstance(search.optimizer_.acquisition, ProbabilityOfImprovement)
    finite = small_search(SVC(), {"C": [1, 2, 3]}, n_iter=None, timeout=1e5)
    assert finite.fit(X, y).stop_reason_ == "exhausted"


@pytest.mark.parametrize("verbose", [1, "progress"])
def test_reports_without_a_number_of_trials(verbose, capsys):
    pytest.importorskip("tqdm")
    options = {"n_iter": None, "stopper": lambda history: len(history) == 2}
    search = small_search(SVC(), {"C": (0.1, 9.0)}, verbose=verbose, **options)
    assert len(search.fit(X, y).trials_) == 2
    out, err = capsys.readouterr()
    if verbose == 1:
        assert "folds for each candidate\n[1] trial 0: score" in out
        assert "left" not in out and "inf" not in out
    else:
        assert "2trial [" in err


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


ALL = [BaseBayesSearchCV, *BaseBayesSearchCV.__subclasses__()]


def n_entries(name, doc):
    return len(re.findall(rf"^    {name} : .*$", doc, re.MULTILINE))


ALL_ENTRIES = """Search.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    """


class _Speed(Aspect):
    """Speed of the fits.

    Parameters
    ----------
    speed : int, default=3
        Speed, > 0.

    Attributes
    ----------
    speed_ : float
        Speed of the best fit.
    """

    name = "speed"
    parameters = (Parameter("speed", [int], default=3, changes_trials=False),)


@pytest.mark.parametrize("search", ALL, ids=lambda one: one.__name__)
def test_signature_constraints_and_docstring_have_the_same_parameters(search):
    assert not re.findall(r"^ *\{\w+\}$", search.__doc__, re.MULTILINE)
    names = set(inspect.signature(search).parameters)
    assert names == set(search._parameter_constraints) == set(parameters_of(search))
    for name in names:
        assert n_entries(name, search.__doc__) == 1
    if inspect.isabstract(search):
        return
    # The constructor stores its arguments, and checks nothing.
    sentinels = {name: object() for name in names}
    made = search(**sentinels)
    assert all(getattr(made, name) is value for name, value in sentinels.items())
    assert set(made.get_params(deep=False)) == names


def test_every_shared_parameter_has_an_entry():
    sources = [(aspect, aspect.parameters) for aspect in registry.ASPECTS]
    for source, parameters in [(SharedEntries, SHARED), *sources]:
        for param in parameters:
            assert n_entries(param.name, source.__doc__)


def test_a_parameter_of_an_aspect_is_a_parameter_of_the_searches(monkeypatch):
    monkeypatch.setattr(registry, "ASPECTS", (*registry.ASPECTS, _Speed))

    @share_parameters
    class Fast(BayesSearchCV):
        __doc__ = ALL_ENTRIES

        def __init__(self, estimator, *, n_iter=7, **shared):
            self._store(locals())

    @share_parameters
    class Slow(Fast):
        __doc__ = ALL_ENTRIES

        _omitted = ("speed",)

        def __init__(self, estimator, **shared):
            self._store(locals())

    search = Fast(None)
    assert search.speed == 3 and search.n_iter == 7
    assert Fast(None, speed=5).get_params()["speed"] == 5
    assert Fast._parameter_constraints["speed"] == [int]
    assert "speed" in Fast._without_effect
    assert "Speed, > 0." in Fast.__doc__ and "speed_ : float" in Fast.__doc__
    assert "n_iter : int or None, default=7" in Fast.__doc__
    assert "speed" not in inspect.signature(Slow).parameters
    assert "peed" not in Slow.__doc__
    assert Slow(None).n_iter == 7
    with pytest.raises(TypeError, match="Slow has no parameter 'speed'"):
        Slow(None, speed=1)


def test_the_nearest_class_supplies_an_entry():
    @share_parameters
    class First:
        """Have an entry of its own.

        Parameters
        ----------
        cv : int
            Its own.
        {n_jobs}
        """

        def __init__(self, estimator, *, cv=5, **shared):
            self._store(locals())

    @share_parameters
    class Second(First):
        """Take the entries.

        Parameters
        ----------
        {cv}
        {n_jobs}
        """

        def __init__(self, estimator, *, cv=5, **shared):
            self._store(locals())

    assert "cv : int\n" in Second.__doc__ and "Its own." in Second.__doc__
    shared = re.search(r"n_jobs : .*\n(?: {8}.*\n)+", SharedEntries.__doc__)[0]
    for line in shared.splitlines():
        assert line.strip() in Second.__doc__


def test_a_name_without_an_entry_is_an_error():
    with pytest.raises(KeyError, match="no_such_parameter"):

        @share_parameters
        class Wrong:
            """Refer to nothing.

            {no_such_parameter}
            """

            def __init__(self, **shared):
                self._store(locals())
