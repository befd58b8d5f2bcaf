"""Suggestions for misspelled names and for the names in other libraries."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

import skbayes

# Parameters for the names in scikit-learn's searches, scikit-optimize and Optuna, with
# a hint if not only the name differs. The first row with a parameter of the class
# applies.
ELSEWHERE = [
    ("search_spaces", "param_grid param_distributions dimensions", ""),
    ("n_iter", "n_candidates n_calls n_trials", ""),
    ("objectives", "scoring", ""),
    ("journal", "storage", ""),
    ("warm_start_from", "study", ""),
    ("surrogate", "base_estimator sampler", ""),
    ("random_state", "seed", ""),
    ("stopper", "callbacks", ""),
    ("error_score", "catch", ""),
    (
        "objectives",
        "direction directions",
        "Each objective has its direction, such as objectives={'roc_auc': 'max', "
        "'fit_time': 'min'}.",
    ),
    (
        "scoring",
        "direction directions",
        "A search maximizes scoring. To minimize a loss, maximize its negative, such "
        "as scoring='neg_log_loss'.",
    ),
    (
        "search_spaces",
        "factor min_resources max_resources resource",
        "Write MultiStageSearchCV(estimator, space, stages=(0.3, 1.0)).",
    ),
    ("initial_points", "n_initial_points n_startup_trials", "Write initial_points=5."),
    ("pruning", "enable_pruning pruner", "Write pruning=True."),
    ("estimator", "fit_params", "Write search.fit(X, y, sample_weight=weights)."),
    ("pre_dispatch", "n_points", "Write pre_dispatch=4."),
    ("surrogate", "acq_func", "Write surrogate=('gp', 'ucb')."),
]

# Names of surrogates in other libraries, in lowercase.
SURROGATES_ELSEWHERE = {
    **dict.fromkeys(("gaussian_process", "gpr"), "gp"),
    **dict.fromkeys(("rf", "random_forest", "et", "gbrt", "lightgbm"), "trees"),
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
    known = sorted(set(known), key=lambda other: (len(other), other))
    bare = _bare(name)
    rules = [
        lambda other: _bare(other) == bare,
        lambda other: other.lower().endswith(f"__{name.lower()}"),
    ]
    if len(bare) > 2:
        rules += [
            lambda other: _bare(other).startswith(bare),
            lambda other: bare in _bare(other),
            lambda other: "".join(w[:1] for w in other.split("_")).endswith(bare),
        ]
    for rule in rules:
        if found := list(filter(rule, known)):
            return found[:MOST]
    return difflib.get_close_matches(name, known, n=MOST)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with suggestions after a space, or "" without suggestions."""
    names = " or ".join(map(repr, suggest(name, known)))
    return f" Did you mean {names}?" if names else ""


@contextlib.contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Let errors begin with the name of a parameter, unless they contain it."""
    try:
        yield
    except (AttributeError, FileNotFoundError, TypeError, ValueError) as error:
        if parameter in str(error):
            raise
        raise type(error)(f"{parameter}: {error}") from error


def name_elsewhere(name: str, known: Container[str]) -> str:
    """Return a sentence after a space about a parameter of other libraries, or ""."""
    for parameter, names, hint in ELSEWHERE:
        if parameter in known and name in names.split():
            return f" {hint or f'It is called {parameter!r} here.'}"
    return ""


def surrogate_elsewhere(name: str, known: Container[str]) -> str | None:
    """Return the known surrogate that has this name or another case elsewhere."""
    equivalent = SURROGATES_ELSEWHERE.get(name.lower(), name.lower())
    return equivalent if equivalent != name and equivalent in known else None


class NameHints:
    """Mix-in that adds suggestions to errors for unknown attributes.

    `hasattr` works as for any estimator.
    """

    if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property or a delegated method that raises its own error.
                return object.__getattribute__(self, name)
            kind, is_public = type(self).__name__, not name.startswith("_")
            text = f"{kind!r} object has no attribute {name!r}."
            error = AttributeError
            if is_public and name.endswith("_") and "cv_results_" not in vars(self):
                error = NotFittedError
                text = (
                    f"This {kind} instance is not fitted yet. Call 'fit' with X and y "
                    f"before using {name!r}."
                )
            elif name == "best_estimator_" and vars(self).get("refit") is False:
                text += " With refit=False nothing is fitted on all data."
            elif is_public:
                # `dir` of an estimator evaluates all attributes, which may recurse.
                known = object.__dir__(self)
                text += did_you_mean(name, [k for k in known if not k.startswith("_")])
            raised = error(text)
            raised.name, raised.obj = name, self
            raise raised


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
