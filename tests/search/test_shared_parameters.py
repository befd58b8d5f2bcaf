"""Parameters that the searches share: signatures, constraints and docstrings."""

import inspect
import re

import pytest

from skbayes import BayesSearchCV
from skbayes.evaluation.aspect import Aspect, Parameter
from skbayes.evaluation.aspects import registry
from skbayes.search import BaseBayesSearchCV
from skbayes.search._parameters import (
    SHARED,
    SharedEntries,
    parameters_of,
    share_parameters,
)

SEARCHES = [BaseBayesSearchCV, *BaseBayesSearchCV.__subclasses__()]


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


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: one.__name__)
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
    assert "n_iter : int, default=7" in Fast.__doc__
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
