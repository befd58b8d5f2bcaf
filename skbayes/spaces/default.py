"""Default search spaces of estimators: `default_space`."""

from __future__ import annotations

from typing import Any

from skbayes.space.dimensions import is_number
from skbayes.spaces import learners, transformers, trees  # noqa: F401
from skbayes.spaces.changes import EditableSpace
from skbayes.spaces.facts import DataFacts
from skbayes.spaces.parts import Part, own_params, parts_of

__all__ = ["default_space", "own_values", "space_of_parts", "unknown_parts"]

# Fraction of training rows in the default cross-validation of GridSearchCV.
TRAIN_SHARE = 0.8


def default_space(estimator: Any, X: Any = None, y: Any = None) -> EditableSpace:
    """Return the default search space of an estimator.

    Parameters
    ----------
    estimator : estimator
        The estimator: a single estimator, a pipeline, or another composition.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Training data. Some bounds depend on the number of rows and columns. Without
        data, these bounds are narrower.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. They determine whether class weights are tuned, and the scale of some
        penalties.

    Returns
    -------
    space : EditableSpace
        Search space in dict notation, as for `search_spaces` of a search, with the full
        names of the hyper-parameters. It contains the current values of the estimator.

    Raises
    ------
    ValueError
        If no part of the estimator has a default space, or nothing can be tuned.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbayes.spaces import default_space
    >>> default_space(Ridge())
    {
        "alpha": (0.0001, 10000.0, "log-uniform"),
        "fit_intercept": [True, False],
    }
    """
    facts = DataFacts.of(X, y, TRAIN_SHARE)
    return space_of_parts(parts_of(estimator, facts), facts)


def space_of_parts(parts: list[Part], facts: DataFacts) -> EditableSpace:
    """Return the search space of the parts of an estimator; raise if it is empty."""
    space = EditableSpace()
    space.facts = facts
    for part in parts:
        space.update(part.space)
    if not space:
        raise _nothing_known(parts)
    return space


def unknown_parts(parts: list[Part]) -> list[str]:
    """Return the names and classes of the parts that have no default space."""
    return [_label(part) for part in parts if part.known is None]


def own_values(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and its parts, by full name.

    If a parameter is None and this stands for another value, as in XGBoost, the other
    value is returned.
    """
    values = dict(estimator.get_params())
    for part in parts_of(estimator, DataFacts()):
        if part.known is None:
            continue
        for name, value in own_params(part.estimator, part.known).items():
            if value is None:
                value = part.known.stands_for.get(name)
            if values.get(part.prefix + name) is None:
                values[part.prefix + name] = value
    return values


def _label(part: Part) -> str:
    kind = type(part.estimator).__name__
    return f"{part.prefix[:-2]} ({kind})" if part.prefix else kind


def _nothing_known(parts: list[Part]) -> ValueError:
    labels = ", ".join(_label(part) for part in parts if part.known is None)
    reason = f"there is no default space for {labels}"
    if not labels:
        labels = ", ".join(map(_label, parts)) or "the estimator"
        reason = f"{labels} has no parameters to tune"
    return ValueError(
        f"search_spaces='auto': {reason}. Write the space by hand: search_spaces="
        f"{_example(parts)}; estimator.get_params() lists the names."
    )


def _example(parts: list[Part]) -> str:
    """Return an example of a space, with a numeric parameter of the estimator."""
    for part in reversed(parts):
        for name, value in part.estimator.get_params(deep=False).items():
            if (
                name in ("random_state", "verbose")
                or not is_number(value)
                or value <= 0
            ):
                continue
            prior = "" if isinstance(value, int) else ", 'log-uniform'"
            low, high = (
                (value, 10 * value)
                if isinstance(value, int)
                else (value / 10, 10 * value)
            )
            return f"{{{part.prefix + name!r}: ({low!r}, {high!r}{prior})}}"
    return "{'name': [1, 2, 3]}"
