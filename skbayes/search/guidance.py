"""Messages for the names that a newcomer to a search gets wrong."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from skbayes.suggest import did_you_mean

__all__ = ["Guidance"]

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


class Guidance:
    """Says what was probably meant by an argument or attribute that does not exist.

    Only where Python would have raised an error anyway; nothing else is changed, so
    that cloning, pickling, signatures and `hasattr` are those of any estimator.

    Parameters
    ----------
    *args, **kwargs : object
        What `__init__` takes; keywords that it does not take are refused.

    Raises
    ------
    TypeError
        If there is such a keyword.
    """

    if not TYPE_CHECKING:  # or type checkers would believe that any name is right

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            """Refuse keywords that `__init__` does not know."""
            known = inspect.signature(cls.__init__).parameters
            takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
            for name in kwargs:
                if name not in known and not takes_all:
                    raise TypeError(
                        f"{cls.__name__} has no parameter {name!r}."
                        f"{_meant(name, list(known)[1:])}"
                    )
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property or a delegated method that has its own reason.
                return object.__getattribute__(self, name)
            raise _no_attribute(self, name)


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
