"""What makes a search this one: canonical texts, the same in every process.

A text says what something is, part by part, so that two searches can be compared and
the difference can be named. It does not depend on addresses, on the hashes of strings,
on the layout of arrays, on the state of random generators, or on the releases of
libraries.
"""

from __future__ import annotations

import enum
import functools
import inspect
import random
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from skbayes.journal.digest import Digest, is_data
from skbayes.results.warm_start import results_of_study, study_of
from skbayes.space import Distribution, Integer, Ordinal, Real, Space
from skbayes.space.dimensions import native
from skbayes.space.equality import keeps_more_than_parameters, same

__all__ = ["describe", "describe_search", "splits_are_reproducible"]

# Parameters of a search that change how long it runs, where, and what is made of its
# trials; or that the journal compares by itself.
NOT_OF_THE_SEARCH = frozenset(
    {
        "best_of",
        "journal",
        "n_iter",
        "n_jobs",
        "n_points",
        "pre_dispatch",
        "progress_bar",
        "random_state",
        "refit",
        "return_fold_estimators",
        "return_oof",
        "stopper",
        "timeout",
        "trials_per_stage",
        "verbose",
    }
)

# Parameters that have parts of their own.
_PARTS = frozenset(
    {"constraint", "cv", "estimator", "scoring", "search_spaces", "target_metric"}
)

# Parameters of any estimator that change how it is fitted, not to what. A cache is
# another object each time.
NOT_OF_AN_ESTIMATOR = frozenset({"memory", "n_jobs", "verbose"})

# What else a pickle holds, and no two releases of a library alike.
_NOT_OF_A_STATE = frozenset({"__doc__", "_sklearn_version"})

# A list of more items is given by its digest.
MAX_ITEMS = 200

# What is nested deeper is not looked at.
MAX_DEPTH = 50

_GENERATORS = (
    np.random.RandomState,
    np.random.Generator,
    np.random.BitGenerator,
    random.Random,
)


def describe_search(
    search: Any, space: Space, X: Any, y: Any, fit_params: Mapping[str, Any]
) -> dict[str, str]:
    """Describe what decides which trials a search makes, and what they give.

    Parameters
    ----------
    search : estimator
        The search. What counts is its class and all of its parameters, except for those
        that only say how long it runs, where, and what is done with its trials:
        `n_iter`, `timeout`, `stopper`, `n_jobs`, `pre_dispatch`, `verbose`,
        `progress_bar`, `journal`, `return_fold_estimators`, `return_oof`,
        `trials_per_stage` and `best_of`; `refit` counts only as far as it names the
        metric that guides the search. `random_state` and `n_points` do not count here
        because the journal keeps them by themselves.
        Of the estimator, `n_jobs`, `verbose` and `memory` do not count at any depth,
        and scikit-learn's own estimators are told apart by the parameters that are not
        at their defaults.
    space : Space
        The space that its `search_spaces` stand for.
    X, y : array-like
        The data.
    fit_params : dict
        Further arguments of `fit`.

    Returns
    -------
    identity : dict of str to str
        A text for each part.

    Warns
    -----
    UserWarning
        If it depends on something that has no name, such as a lambda: a later search is
        then taken to have the same.
    """
    params = search.get_params(deep=False)
    describer = _Describer()
    parts: dict[str, Callable[[], str]] = {
        "search": lambda: _qualified(type(search)),
        "estimator": lambda: describer(params["estimator"]),
        "search_spaces": lambda: _describe_space(space, describer),
        "constraint": lambda: describer(space.constraint),
        "X": lambda: _describe_data(X, describer),
        "y": lambda: _describe_data(y, describer),
        "scoring": lambda: describer(params.get("scoring")),
        "target_metric": lambda: describer(_target_metric(params)),
        "splits": lambda: _describe_splitter(params.get("cv"), describer),
    }
    for name in sorted(fit_params):
        parts[f"fit_params: {name}"] = functools.partial(
            _describe_data, fit_params[name], describer
        )
    for name in sorted(params.keys() - NOT_OF_THE_SEARCH - _PARTS):
        value = params[name]
        if name == "warm_start_from":
            value = _knowledge(value)
        parts[f"settings: {name}"] = functools.partial(describer, value)
    identity = {}
    for part, text in parts.items():
        describer.part = part
        identity[part] = text()
    describer.warn()
    return identity


def describe(value: Any) -> str:
    """Describe anything by a text that is the same in another process.

    Parameters
    ----------
    value : object
        An estimator, a function, data, or any other value.

    Returns
    -------
    text : str
        Its canonical text.

    Warns
    -----
    UserWarning
        If there is something in it that has no name, such as a lambda.

    Examples
    --------
    >>> from skbayes.journal.fingerprint import describe
    >>> from sklearn.preprocessing import Normalizer
    >>> describe([Normalizer(norm="l1"), 1.0, len])
    "[sklearn.preprocessing.Normalizer(norm='l1'), 1.0, builtins.len]"
    """
    describer = _Describer()
    text = describer(value)
    describer.warn()
    return text


def splits_are_reproducible(cv: Any) -> bool:
    """Whether a `cv` draws the same splits again, in this process or another.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As for a search.

    Returns
    -------
    reproducible : bool
        False for a splitter that shuffles without a seed of its own and for an iterator
        that is spent when it was read.
    """
    if cv is None or isinstance(cv, int | np.integer):
        return True
    if not hasattr(cv, "split"):
        return not isinstance(cv, Iterator)
    if not hasattr(cv, "random_state") or not getattr(cv, "shuffle", True):
        return True
    return isinstance(cv.random_state, int | np.integer)


def _describe_splitter(cv: Any, describer: _Describer) -> str:
    """Describe what the splits that are kept in the journal were drawn by."""
    if splits_are_reproducible(cv):
        return "compared one by one"
    return "an iterator" if isinstance(cv, Iterator) else describer(cv)


def _describe_data(data: Any, describer: _Describer) -> str:
    """Describe an argument of `fit`; lists by their digest, however short."""
    if isinstance(data, list | tuple):
        return Digest(describer).text(data)
    return describer(data)


def _target_metric(params: Mapping[str, Any]) -> Any:
    """Which of several metrics guides the search."""
    scoring, refit = params.get("scoring"), params.get("refit")
    wanted = params.get("target_metric")
    if scoring is None or isinstance(scoring, str):
        return None
    if wanted is None and isinstance(refit, str):
        return refit
    if wanted is None and isinstance(scoring, list | tuple | dict):
        return next(iter(scoring), None)
    return wanted


def _knowledge(source: Any) -> Any:
    """Leave out of the results to start from what changes when they are made again."""
    study = study_of(source)
    if study is not None:
        # The same study may be loaded again, which gives another object.
        return results_of_study(study)
    results = getattr(source, "cv_results_", source)
    if not isinstance(results, Mapping):
        return results
    return {name: results[name] for name in results if "_time" not in str(name)}


def _describe_space(space: Space, describe: Callable[[Any], str]) -> str:
    """Write down a space with all that its options open."""

    def branch(tree: Iterable[tuple[int, list]]) -> str:
        return "{" + ", ".join(entry(*pair) for pair in tree) + "}"

    def entry(place: int, options: list) -> str:
        name = space.columns[place].name
        dimension = space.columns[place].dimension
        opened = " or ".join(map(branch, options))
        if name is None:
            return f"either {opened}"
        text = f"{name!r}: {values(dimension)}"
        return f"{text} opens {opened}" if options else text

    def values(dimension: Any) -> str:
        if isinstance(dimension, Distribution):
            return describe(dimension.distribution)
        if hasattr(dimension, "values"):
            scale = f" ({dimension.scale})" if isinstance(dimension, Ordinal) else ""
            options = describe(list(dimension.values))
            return f"{type(dimension).__name__}{scale} {options}"
        if isinstance(dimension, Real | Integer):
            return repr(dimension)
        return describe(dimension)

    return branch(space.tree)


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that say what it is.

    Of scikit-learn's own estimators, those that are not at their defaults: releases
    differ in what else there is, and in how a default is written.
    """
    params = estimator.get_params(deep=False)
    defaults: dict[str, Any] = {}
    if type(estimator).__module__.startswith("sklearn."):
        signature = inspect.signature(type(estimator))
        defaults = {name: one.default for name, one in signature.parameters.items()}
    return {
        name: params[name]
        for name in params.keys() - NOT_OF_AN_ESTIMATOR
        if name not in defaults or not same(native(params[name]), defaults[name])
    }


def _qualified(thing: Any) -> str:
    """Name of a class or function with its module, without the private parts of it."""
    module = getattr(thing, "__module__", None) or ""
    parts = [
        part
        for part in module.split(".")
        if not part.startswith("_") or part.startswith("__")
    ]
    return ".".join([*filter(None, parts), thing.__qualname__])


class _Describer:
    """Describes values, and remembers what it could not tell from another.

    Attributes
    ----------
    part : str
        Where the values belong, for the warning.
    """

    def __init__(self) -> None:
        self.part = "value"
        self._unverifiable: list[str] = []
        # Values that are being described, so that what holds itself has an end.
        self._open: list[Any] = []
        # Whether what estimators learnt counts too.
        self._whole = False

    def warn(self) -> None:
        """Warn, once, if something could not be told from another."""
        if self._unverifiable:
            listed = ", ".join(dict.fromkeys(self._unverifiable))
            warnings.warn(
                f"journal: not verifiable, and taken to be what they were: {listed}. "
                "Functions that are defined with def in a module, and objects that can "
                "be pickled, are compared.",
                UserWarning,
                stacklevel=4,
            )

    def _not_verifiable(self, name: str) -> str:
        self._unverifiable.append(f"{name} in {self.part}")
        return f"{name} (not verifiable)"

    def __call__(self, value: Any) -> str:
        value = native(value)
        if any(value is outer for outer in self._open):
            return "<itself>"
        if len(self._open) == MAX_DEPTH:
            return self._not_verifiable(_qualified(type(value)))
        self._open.append(value)
        try:
            return self._text(value)
        finally:
            self._open.pop()

    def _text(self, value: Any) -> str:
        if isinstance(value, enum.Enum):
            return f"{_qualified(type(value))}.{value.name}"
        if type(value) is int:
            return repr(value) if abs(value) < 2**64 else hex(value)
        if value is None or type(value) in (bool, float, complex, str, bytes, range):
            return repr(value)
        if isinstance(value, np.generic | type(...)):
            return repr(str(value))
        if isinstance(value, type):
            return _qualified(value)
        if is_data(value):
            return Digest(self).text(value)
        if isinstance(value, list | tuple | AbstractSet | Mapping):
            return self._collection(value)
        if isinstance(value, _GENERATORS):
            return _qualified(type(value))
        if hasattr(value, "get_params"):
            return self._estimator(value)
        if all(hasattr(value, name) for name in ("dist", "args", "kwds", "ppf")):
            return self._distribution(value)
        if isinstance(value, functools.partial):
            parts = [self(value.func), *map(self, value.args)]
            return f"partial({', '.join(parts + self._named(value.keywords))})"
        if isinstance(value, np.ufunc):
            return f"ufunc {value.__name__}"
        if callable(value) and hasattr(value, "__qualname__"):
            return self._function(value)
        return self._object(value)

    def _collection(self, value: Any) -> str:
        """Describe a collection; those without an order, or with keys, are sorted."""
        if len(value) > MAX_ITEMS and isinstance(value, list | tuple):
            return Digest(self).text(value)
        kind = type(value)
        if isinstance(value, Mapping):
            items = sorted(f"{self(key)}: {self(value[key])}" for key in value)
        elif isinstance(value, AbstractSet):
            items = sorted(map(self, value))
        else:
            items = list(map(self, value))
        text = ", ".join(items)
        if isinstance(value, Mapping | AbstractSet):
            text = f"{{{text}}}"
        else:
            comma = "," if len(items) == 1 else ""
            text = f"[{text}]" if isinstance(value, list) else f"({text}{comma})"
        plain = kind in (list, tuple, dict, set, frozenset)
        return text if plain else f"{_qualified(kind)}{text}"

    def _named(self, values: Mapping[str, Any]) -> list[str]:
        return [f"{name}={self(values[name])}" for name in sorted(values)]

    def _estimator(self, estimator: Any) -> str:
        if self._whole:
            return self._object(estimator)
        if not keeps_more_than_parameters(estimator):
            named = self._named(_parameters(estimator))
            return f"{_qualified(type(estimator))}({', '.join(named)})"
        self._whole = True
        try:
            return self._object(estimator)
        finally:
            self._whole = False

    def _distribution(self, frozen: Any) -> str:
        """Describe a frozen distribution of scipy.stats."""
        dist = frozen.dist
        known = type(dist).__module__.startswith("scipy.stats")
        # Those with data of their own, such as rv_histogram, are more than their names.
        known = known and type(dist).__name__.endswith("_gen")
        arguments = [*map(self, frozen.args), *self._named(frozen.kwds)]
        name = dist.name if known else self._object(dist)
        return f"{name}({', '.join(arguments)})"

    def _function(self, function: Any) -> str:
        owner = getattr(function, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            return f"{self(owner)}.{function.__name__}"
        name = _qualified(function)
        closure = getattr(function, "__closure__", None)
        if "<lambda>" in name or ("<locals>" in name and closure):
            return self._not_verifiable(name)
        return name

    def _object(self, value: Any) -> str:
        """Describe any other object by what a pickle of it would hold."""
        name = _qualified(type(value))
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # it cannot be pickled
            return self._not_verifiable(name)
        if isinstance(reduced, str):
            return f"{name} {reduced}"
        function, arguments, *rest = reduced
        # The class itself comes first among the arguments of copyreg.__newobj__.
        parts = [self(one) for one in arguments if one is not type(value)]
        if function is not type(value) and function.__name__ != "__newobj__":
            parts.insert(0, self(function))
        state, *items = rest or [None]
        if isinstance(state, dict) and all(isinstance(key, str) for key in state):
            # What is None in one release may be absent in another.
            names = state.keys() - _NOT_OF_A_STATE
            own = {name: state[name] for name in names if state[name] is not None}
            parts += self._named(own)
        elif state is not None:
            parts.append(self(state))
        parts += [self(list(more)) for more in items if isinstance(more, Iterator)]
        return f"{name}({', '.join(parts)})"
