"""Suggestions for misspelled names, and for the names that other libraries use."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

__all__ = ["NameHints", "did_you_mean", "suggest", "surrogate_elsewhere"]

# What other searches call a parameter, and what it may be called here.
ELSEWHERE = {
    "param_grid": "search_spaces",
    "param_distributions": "search_spaces",
    "param_space": "search_spaces",
    "params": "search_spaces",
    "dimensions": "search_spaces",
    "n_trials": "n_iter",
    "n_calls": "n_iter",
    "max_evals": "n_iter",
    "max_iter": "n_iter",
    "scoring": "objectives",
    "seed": "random_state",
    "sampler": "surrogate",
    "base_estimator": "surrogate",
    "acq_func": "acquisition",
    "n_startup_trials": "n_initial_points",
    "n_workers": "n_jobs",
    "callbacks": "stopper",
}

# The same of surrogates, in lower case.
SURROGATES_ELSEWHERE = {
    "gaussian_process": "gp",
    "gpr": "gp",
    "rf": "trees",
    "random_forest": "trees",
    "et": "trees",
    "gbrt": "trees",
    "lightgbm": "trees",
    "dummy": "random",
}

# How many names are suggested at most.
MOST = 3


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """Return at most three known names that are most like one that is not known.

    The most likely one comes first. They are chosen by the first of these rules that
    finds any: the same but for case and underscores; the same below a prefix; longer
    words for it; initials; similar spelling.

    Examples
    --------
    >>> from skbayes.utils.did_you_mean import suggest
    >>> suggest("C", ["svc", "svc__C", "svc__gamma"])
    ['svc__C']
    >>> suggest("mse", ["accuracy", "neg_mean_squared_error"])
    ['neg_mean_squared_error']
    """
    known = sorted(set(known), key=lambda one: (len(one), one))
    bare = _bare(name)
    for alike in (
        lambda one: _bare(one) == bare,
        lambda one: one.lower().endswith(f"__{name.lower()}"),
        lambda one: len(bare) > 2 and _bare(one).startswith(bare),
        lambda one: len(bare) > 2 and bare in _bare(one),
        lambda one: len(bare) > 2 and _initials(one).endswith(bare),
    ):
        found = [one for one in known if alike(one)]
        if found:
            return found[:MOST]
    return difflib.get_close_matches(name, known, n=MOST)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return suggestions as a sentence after a blank, or nothing if there are none."""
    names = [repr(one) for one in suggest(name, known)]
    return f" Did you mean {' or '.join(names)}?" if names else ""


def surrogate_elsewhere(name: str, known: Iterable[str]) -> str | None:
    """Return which known surrogate has another name, or other case, elsewhere."""
    ours = SURROGATES_ELSEWHERE.get(name.lower(), name.lower())
    return ours if ours != name and ours in known else None


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.lower().split("_"))


class NameHints:
    """Mix-in whose errors suggest names for arguments and attributes that do not exist.

    Only where Python would have raised an error anyway; nothing else is changed, so
    that cloning, pickling, signatures and `hasattr` are those of any estimator.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Not in `__new__`, whose signature documentation shows instead of `__init__`'s.
        constructor = vars(cls).get("__init__")
        if inspect.isfunction(constructor):
            setattr(cls, "__init__", _with_hints(constructor))  # noqa: B010

    if not TYPE_CHECKING:  # or type checkers would believe that any name is right

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property or a delegated method that has its own reason.
                return object.__getattribute__(self, name)
            raise _no_attribute(self, name)


def _with_hints(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that says more about keywords that it does not know."""
    parameters = inspect.signature(constructor).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return constructor
    by_place = [
        name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD
    ][1:]

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(by_place):
            extra = args[len(by_place)]
            raise TypeError(
                f"{type(self).__name__} takes only {' and '.join(by_place)} as "
                f"positional arguments, got also {extra!r}; pass it by name"
                f"{f', such as n_iter={extra}' if type(extra) is int else ''}."
            )
        for name in kwargs:
            if name not in parameters:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}."
                    f"{_meant(name, list(parameters)[1:])}"
                )
        constructor(self, *args, **kwargs)

    return __init__


def _meant(name: str, known: list[str]) -> str:
    if (ours := ELSEWHERE.get(name)) in known:
        return f" It is called {ours!r} here."
    return did_you_mean(name, known)


def _no_attribute(search: Any, name: str) -> AttributeError:
    """Return the error for an attribute that is not there, or not yet."""
    kind = type(search).__name__
    error: AttributeError
    learned = name.endswith("_") and not name.startswith("_")
    if learned and "cv_results_" not in vars(search):
        error = NotFittedError(
            f"This {kind} instance is not fitted yet, so that it has no {name!r}. Call "
            "'fit' with X and y first."
        )
    else:
        text = f"{kind!r} object has no attribute {name!r}."
        if name == "best_estimator_" and vars(search).get("refit") is False:
            text += " With refit=False nothing is fitted on all data."
        elif not name.startswith("_"):
            # `dir` of an estimator evaluates all attributes, and may end here again.
            known = object.__dir__(search)
            text += did_you_mean(name, [k for k in known if not k.startswith("_")])
        error = AttributeError(text)
    error.name, error.obj = name, search
    return error
