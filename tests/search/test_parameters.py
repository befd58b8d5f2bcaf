"""Parameters of the searches: number, names elsewhere, signatures and docstrings."""

import inspect
import re

import numpy as np
import pytest
from every_search import SEARCHES, X, small_search, y
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.acquisition import ExpectedImprovement, ProbabilityOfImprovement
from skbayes.loop.stopping import NoImprovement
from skbayes.search.parameters import _Off
from skbayes.trial.option_table import OPTIONS
from skbayes.trial.option_table import parameters as option_parameters
from skbayes.utils.did_you_mean import ELSEWHERE


def parameters(kind):
    return inspect.signature(kind).parameters


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_number_of_parameters(kind):
    assert len(parameters(kind)) <= (23 if kind is BayesSearchCV else 30)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_name_elsewhere_is_refused_and_the_code_named(kind):
    accepted = parameters(kind)
    for parameter, names, hint in ELSEWHERE:
        spelling = re.search(r"Write (.*)\.$", hint)
        if parameter not in accepted or spelling is None:
            continue
        assert "search" in spelling[1].lower() or spelling[1].split("=")[0] in accepted
        for name in names.split():
            assert name not in accepted
            with pytest.raises(ValueError, match="has no parameter") as caught:
                kind(SVC()).set_params(**{name: 3})
            assert str(caught.value).endswith(spelling[0])


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator"):
        BayesSearchCV(SVC()).set_params(C=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'constrains'"):
        BayesSearchCV(SVC(), constrains=None)


def test_a_surrogate_with_an_acquisition_function(fits_here):
    search = small_search(SVC(), {"C": (0.1, 9.0)}, surrogate=("gp-rbf", "pi"))
    search.fit(X, y)
    assert search.optimizer_.surrogate == "gp-rbf"
    assert isinstance(search.optimizer_.acquisition, ProbabilityOfImprovement)
    params = {"surrogate": ("gp", "ei-per-second"), "timeout": 1e5, "n_iter": 6}
    assert len(search.set_params(**params).fit(X, y).trials_) == 6


def test_a_search_without_a_number_of_trials(fits_here):
    search = small_search(SVC(), {"C": (0.1, 9.0)}, n_iter=None)
    search.set_params(stopper=NoImprovement(3)).fit(X, y)
    assert search.stop_reason_ == "no_improvement"
    assert isinstance(search.optimizer_.acquisition, ExpectedImprovement)
    assert not search.optimizer_.acquisition.per_cost
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


ENTRY = re.compile(r"^    (\w+) : (.*(?:\n+ {8}.*)*)", re.MULTILINE)


def entries(kind):
    """Return the entries of the docstring: of parameters, and of attributes."""
    _, parameters, attributes = re.split("Parameters\n|Attributes\n", kind.__doc__)
    rest = attributes.partition("    See Also\n")[0]
    return dict(ENTRY.findall(parameters)), dict(ENTRY.findall(rest))


def in_docstring(value):
    return "np.nan" if value is np.nan else repr(value).replace("'", '"')


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_docstring_describes_the_signature(kind):
    signature, (documented, _) = parameters(kind), entries(kind)
    assert list(documented) == list(signature)  # also in this order
    assert set(kind._parameter_constraints) == set(signature)
    for name, parameter in signature.items():
        kind_and_default = documented[name].partition("\n")[0]
        _, _, default = kind_and_default.rpartition(", default=")
        if parameter.default is parameter.empty or name == "objectives":
            assert "default=" not in kind_and_default
        else:
            assert default == in_docstring(parameter.default)


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_constructor_stores_its_arguments_and_checks_nothing(kind):
    sentinels = {name: object() for name in parameters(kind)}
    search = kind(**sentinels)
    assert all(getattr(search, name) is value for name, value in sentinels.items())
    assert search.get_params(deep=False) == sentinels


@pytest.mark.parametrize("kind", SEARCHES)
def test_attributes_of_a_fitted_search_have_types(kind):
    declared = [getattr(base, "__annotations__", {}) for base in kind.__mro__]
    annotated = {name for names in declared for name in names}
    for name in entries(kind)[1]:
        assert name in annotated or hasattr(kind, name), name


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_docstring_names_no_parameters_of_other_searches(kind):
    others = {name for search in SEARCHES for name in parameters(search)}
    named = set(re.findall(r"(?<![`\w])`(\w+)`(?!`)", kind.__doc__))
    assert not named & others - set(parameters(kind))


def test_options_are_turned_on_by_parameters_of_the_searches():
    named = {name for option in OPTIONS for name in option.parameters}
    assert named <= set(parameters(BayesSearchCV))


@pytest.mark.parametrize("name", option_parameters())
def test_without_its_option_a_parameter_must_be_off(name, no_trials):
    accepted = BayesSearchCV._parameter_constraints

    class Without(BayesSearchCV):
        _parameter_constraints = {**accepted, name: [_Off()]}

    with pytest.raises(NameError, match="Scheduler"):
        Without(SVC(), {"C": [1.0, 10.0]}).fit(X, y)
    with pytest.raises(ValueError, match=f"'{name}' .* must be None or False"):
        Without(SVC(), {"C": [1.0, 10.0]}, **{name: True}).fit(X, y)
