"""Messages for the names that a newcomer to a search gets wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from skbayes.utils.did_you_mean import did_you_mean

__all__ = ["NameHints"]

# What other searches call a parameter, and what it may be called here.
ELSEWHERE = {
    "param_grid": ("search_spaces",),
    "param_distributions": ("search_spaces",),
    "param_space": ("search_spaces",),
    "params": ("search_spaces",),
    "dimensions": ("search_spaces",),
    "n_trials": ("n_iter",),
    "n_calls": ("n_iter",),
    "max_evals": ("n_iter",),
    "max_iter": ("n_iter",),
    "scoring": ("objectives",),
    "seed": ("random_state",),
    "sampler": ("surrogate",),
    "base_estimator": ("surrogate",),
    "acq_func": ("acquisition",),
    "n_startup_trials": ("n_initial_points",),
    "n_workers": ("n_jobs",),
    "callbacks": ("stopper",),
}


class NameHints:
    """Says what was probably meant by an argument or attribute that does not exist.

    Only where Python would have raised an error anyway; nothing else is changed, so
    that cloning, pickling, signatures and `hasattr` are those of any estimator.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Not in `__new__`, whose signature documentation shows instead of `__init__`'s.
        constructor = vars(cls).get("__init__")
        if inspect.isfunction(constructor):
            setattr(cls, "__init__", _guided(constructor))  # noqa: B010

    if not TYPE_CHECKING:  # or type checkers would believe that any name is right

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property or a delegated method that has its own reason.
                return object.__getattribute__(self, name)
            raise _no_attribute(self, name)


def _guided(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that says more about keywords that it does not know."""
    parameters = inspect.signature(constructor).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return constructor

    @functools.wraps(constructor)
    def guided(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in parameters:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}."
                    f"{_meant(name, list(parameters)[1:])}"
                )
        constructor(self, *args, **kwargs)

    return guided


def _meant(name: str, known: list[str]) -> str:
    for other in ELSEWHERE.get(name, ()):
        if other in known:
            return f" It is called {other!r} here."
    return did_you_mean(name, known)


def _no_attribute(search: Any, name: str) -> AttributeError:
    """Return the error for an attribute that is not there, or not yet."""
    kind = type(search).__name__
    error: AttributeError
    learnt = name.endswith("_") and not name.startswith("_")
    if learnt and "cv_results_" not in vars(search):
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
