"""Suggestions for misspelled names and for the names in other libraries."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

import skbayes

# Parameter names of other libraries, and possible equivalents in skbayes.
ELSEWHERE = {
    "param_grid": "search_spaces",
    "param_distributions": "search_spaces",
    "param_space": "search_spaces",
    "params": "search_spaces",
    "dimensions": "search_spaces",
    "n_trials": "n_iter",
    "n_calls": "n_iter",
    "max_evals": "n_iter",
    "max_trials": "n_iter",
    "num_samples": "n_iter",
    "budget": "n_iter",
    "max_time": "timeout",
    "time_limit": "timeout",
    "time_budget": "timeout",
    "time_left_for_this_task": "timeout",
    "metric": "scoring",
    "storage": "journal",
    "study": "warm_start_from",
    "strategy": "surrogate",
    "max_iter": "early_stopping",
    "scoring": "objectives",
    "seed": "random_state",
    "sampler": "surrogate",
    "base_estimator": "surrogate",
    "acq_func": "acquisition",
    "n_startup_trials": "n_initial_points",
    "n_workers": "n_jobs",
    "callbacks": "stopper",
    "catch": "error_score",
}

# Parameters of other libraries that correspond to a value of a parameter: the name of
# this parameter, and the code.
SPELLINGS = {
    "n_initial_points": ("initial_points", "initial_points=5"),
    "n_startup_trials": ("initial_points", "initial_points=5"),
    **dict.fromkeys(
        ("factor", "min_resources", "max_resources", "resource"),
        ("search_spaces", "MultiStageSearchCV(estimator, space, stages=(0.3, 1.0))"),
    ),
    **dict.fromkeys(("enable_pruning", "pruner"), ("pruning", "pruning=True")),
    "fit_params": ("estimator", "search.fit(X, y, sample_weight=weights)"),
    "return_estimator": ("return_folds", "return_folds='estimators'"),
    "n_points": ("pre_dispatch", "pre_dispatch=4"),
    "acq_func": ("surrogate", "surrogate=('gp', 'ucb')"),
}

# Parameters for the direction of the optimization in other libraries.
DIRECTIONS = (
    *("direction", "directions", "mode", "sense", "greater_is_better"),
    *("maximize", "maximise", "minimize", "minimise"),
)

# Hints for these names, by a parameter that the class has.
DIRECTION_HINTS = {
    "direction": "To minimize the scores, pass direction='minimize'.",
    "objectives": (
        "Each objective has its direction, such as objectives={'roc_auc': 'max', "
        "'fit_time': 'min'}."
    ),
    "scoring": (
        "A search maximizes scoring. To minimize a loss, maximize its negative, such "
        "as scoring='neg_log_loss'."
    ),
}

# Names of surrogates in other libraries, in lowercase.
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

# Maximum number of suggested names.
MOST = 3


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """Return at most three known names that are similar to an unknown one.

    The names match the first rule with a match. The rules are: equal except for case
    and underscores, equal after a prefix such as "svc__", beginning with the name,
    containing it, initials that end with it such as "mse", and similar spelling.
    """
    known = sorted(set(known), key=lambda candidate: (len(candidate), candidate))
    bare = _bare(name)
    for alike in (
        lambda candidate: _bare(candidate) == bare,
        lambda candidate: candidate.lower().endswith(f"__{name.lower()}"),
        lambda candidate: len(bare) > 2 and _bare(candidate).startswith(bare),
        lambda candidate: len(bare) > 2 and bare in _bare(candidate),
        lambda candidate: len(bare) > 2 and _initials(candidate).endswith(bare),
    ):
        found = [candidate for candidate in known if alike(candidate)]
        if found:
            return found[:MOST]
    return difflib.get_close_matches(name, known, n=MOST)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with suggestions after a space, or "" without suggestions."""
    names = [repr(similar) for similar in suggest(name, known)]
    return f" Did you mean {' or '.join(names)}?" if names else ""


def surrogate_elsewhere(name: str, known: Iterable[str]) -> str | None:
    """Return the known surrogate that has this name or another case elsewhere."""
    equivalent = SURROGATES_ELSEWHERE.get(name.lower(), name.lower())
    return equivalent if equivalent != name and equivalent in known else None


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.lower().split("_"))


class ArgumentHints:
    """Mix-in that adds suggestions to errors for unknown arguments.

    Cloning, pickling and signatures work as for any class.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # `__init__` is wrapped, because documentation shows the signature of `__new__`.
        constructor = vars(cls).get("__init__")
        if inspect.isfunction(constructor):
            setattr(cls, "__init__", with_hints(constructor))  # noqa: B010


class NameHints(ArgumentHints):
    """Mix-in that adds suggestions to errors for unknown arguments and attributes.

    `hasattr` works as for any estimator.
    """

    if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property or a delegated method that raises its own error.
                return object.__getattribute__(self, name)
            raise _no_attribute(self, name)


def with_hints(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that adds suggestions to errors for unknown arguments."""
    parameters = inspect.signature(constructor).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return constructor
    _, *by_place = (n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY)

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(by_place):
            extra = args[len(by_place)]
            is_count = type(extra) is int and "n_iter" in parameters
            raise TypeError(
                f"{type(self).__name__} takes only {' and '.join(by_place)} as "
                f"positional arguments, got also {extra!r}; pass it by name"
                f"{f', such as n_iter={extra}' if is_count else ''}."
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
    if (equivalent := ELSEWHERE.get(name)) in known:
        return f" It is called {equivalent!r} here."
    if name in DIRECTIONS:
        hints = (f" {hint}" for key, hint in DIRECTION_HINTS.items() if key in known)
        return next(hints, "")
    if remedy := spelling_of(name, known):
        return f" {remedy}"
    return did_you_mean(name, known)


def spelling_of(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the code for a parameter of other libraries, or ""."""
    owner, spelling = SPELLINGS.get(name, ("", ""))
    return f"Write {spelling}." if owner and owner in known else ""


def _no_attribute(search: Any, name: str) -> AttributeError:
    """Return the error for an attribute that does not exist, or does not exist yet."""
    kind = type(search).__name__
    error: AttributeError
    learned = name.endswith("_") and not name.startswith("_")
    if learned and "cv_results_" not in vars(search):
        error = NotFittedError(
            f"This {kind} instance is not fitted yet. Call 'fit' with X and y before "
            f"using {name!r}."
        )
    else:
        text = f"{kind!r} object has no attribute {name!r}."
        if name == "best_estimator_" and vars(search).get("refit") is False:
            text += " With refit=False nothing is fitted on all data."
        elif not name.startswith("_"):
            # `dir` of an estimator evaluates all attributes, which may recurse.
            known = object.__dir__(search)
            text += did_you_mean(name, [k for k in known if not k.startswith("_")])
        error = AttributeError(text)
    error.name, error.obj = name, search
    return error


def missing_name(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks; it names the module that has it.

    Parameters
    ----------
    module : str
        Name of the module.
    name : str
        Missing name.

    Returns
    -------
    error : AttributeError
        Error to raise.
    """
    text = f"module {module!r} has no attribute {name!r}"
    # A submodule that is being imported is not an attribute yet.
    if name[0] != "_" and importlib.util.find_spec(f"{module}.{name}") is None:
        for home in ("skbayes", *(f"skbayes.{each}" for each in skbayes._PACKAGES)):
            if name in importlib.import_module(home).__all__:
                return AttributeError(f"{text}; it is {home}.{name}", name=name)
    return AttributeError(text, name=name)
