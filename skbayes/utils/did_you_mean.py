"""Suggestions for misspelled names and for the names in other libraries."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

# Parameters, and their names in scikit-learn's searches, scikit-optimize's
# BayesSearchCV and OptunaSearchCV, with a hint if more than the name differs. The first
# row with a parameter of the class applies.
ELSEWHERE = [
    ("search_spaces", "param_grid param_distributions", ""),
    ("n_iter", "n_candidates n_trials", ""),
    ("objectives", "scoring", ""),
    ("warm_start_from", "study", ""),
    ("stopper", "callbacks", ""),
    ("error_score", "catch", ""),
    (
        "search_spaces",
        "factor resource min_resources max_resources aggressive_elimination subsample",
        "Write MultiStageSearchCV(estimator, space, stages=(0.3, 1.0)).",
    ),
    ("pruning", "enable_pruning", "Write pruning=True."),
    ("estimator", "fit_params", "Write search.fit(X, y, sample_weight=weights)."),
    ("pre_dispatch", "n_points", "Write pre_dispatch=4."),
    ("surrogate", "optimizer_kwargs", "Write surrogate=('gp', 'ucb')."),
]

# Maximum number of suggested names.
MAX_SUGGESTIONS = 3


def suggest(name: str, names: Iterable[str]) -> list[str]:
    """Return at most three known names that are similar to an unknown one.

    The names match the first rule with a match. The rules are: equal except for case
    and underscores, equal after a prefix such as "svc__", beginning with the name,
    containing it, initials that end with it such as "mse", and similar spelling.
    """
    names = sorted(set(names), key=lambda other: (len(other), other))
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
        if similar := list(filter(rule, names)):
            return similar[:MAX_SUGGESTIONS]
    return difflib.get_close_matches(name, names, n=MAX_SUGGESTIONS)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return a sentence with suggestions after a space, or "" without suggestions."""
    names = " or ".join(map(repr, suggest(name, choices)))
    return f" Did you mean {names}?" if names else ""


@contextlib.contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Prepend the name of a parameter to errors that do not contain it."""
    try:
        yield
    except (AttributeError, FileNotFoundError, TypeError, ValueError) as error:
        if parameter in str(error):
            raise
        raise type(error)(f"{parameter}: {error}") from error


def name_elsewhere(name: str, parameters: Container[str]) -> str:
    """Return a sentence after a space about a parameter of other libraries, or ""."""
    for parameter, names, hint in ELSEWHERE:
        if parameter in parameters and name in names.split():
            return f" {hint or f'It is called {parameter!r} here.'}"
    return ""


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
                public = [n for n in object.__dir__(self) if not n.startswith("_")]
                text += did_you_mean(name, public)
            raised = error(text)
            raised.name, raised.obj = name, self
            raise raised
