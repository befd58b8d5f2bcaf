"""Default search spaces of estimators: `default_space`."""

from __future__ import annotations

from typing import Any

from skbayes.space.dimensions import is_number
from skbayes.spaces import learners, samplers, transformers, trees  # noqa: F401
from skbayes.spaces.catalog import DataFacts
from skbayes.spaces.changes import EditableSpace
from skbayes.spaces.parts import Part, is_k_means, own_params, parts_of

__all__ = [
    "default_space",
    "own_values",
    "reason_not_tuned",
    "space_of_parts",
    "unknown_parts",
]

# Fraction of training rows in the default cross-validation of GridSearchCV.
TRAIN_SHARE = 0.8

# Words in the names of parameters that are about computation or the form of the data.
TECHNICAL = (
    *("batch", "block", "cache", "contamination", "cv", "eps", "init", "iter", "jobs"),
    *("label", "leaf", "missing", "oversamples", "random", "size", "skips", "state"),
    *("best", "min", "param", "step", "steps", "stop", "tol", "trials", "value"),
    *("alphas", "values", "verbose"),
)


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
    facts = DataFacts.of(X, y, TRAIN_SHARE, own_score=True)
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


def reason_not_tuned(parts: list[Part]) -> str:
    """Return why some parameters are not tuned without `scoring`, or ""."""
    last = [part for part in parts if part.facts.own_score][-1:]
    name = type(last[0].estimator).__name__ if last else ""
    reasons = []
    if last and is_k_means(last[0].estimator):
        reasons.append(
            f"'{last[0].prefix}n_clusters' is not tuned, because {name}.score, the "
            "negative inertia, increases with the number of clusters"
        )
    if fixed := ", ".join(repr(part.prefix[:-2]) for part in parts if part.fixed):
        reasons.append(
            f"the steps before {name} ({fixed}) are not tuned, because {name}.score "
            "depends on the scale and the number of the columns"
        )
    if not reasons:
        return ""
    return (
        f"search_spaces='auto': {'; '.join(reasons)}. To tune them, set scoring, such "
        "as a function of (estimator, X, y) that returns silhouette_score of "
        "sklearn.metrics."
    )


def _nothing_known(parts: list[Part]) -> ValueError:
    labels = ", ".join(_label(part) for part in parts if part.known is None)
    reason = f"there is no default space for {labels}"
    if not labels:
        labels = ", ".join(map(_label, parts)) or "the estimator"
        reason = f"{labels} has no parameters to tune"
    if message := reason_not_tuned(parts):
        return ValueError(message)
    example = _example(parts)
    by_hand = f": search_spaces={example}" if example else ""
    return ValueError(
        f"search_spaces='auto': {reason}. Write the space by hand{by_hand}; "
        "estimator.get_params() lists the names."
    )


def _example(parts: list[Part]) -> str:
    """Return an example of a space, or "" if no parameter is likely to matter.

    The parameter is a number of moderate size. Classes in the catalog have no such
    parameter, or it is tuned by default.
    """
    for part in reversed(parts):
        if part.known is not None:
            continue
        for name, value in part.estimator.get_params(deep=False).items():
            technical = any(word in TECHNICAL for word in name.split("_"))
            if technical or not is_number(value) or not 1e-6 < value < 1e4:
                continue
            if isinstance(value, int):
                notation = f"({value!r}, {10 * value!r})"
            else:
                most = min(10 * value, 1.0) if value < 1.0 else 10 * value
                low, high = float(f"{value / 10:.3g}"), float(f"{most:.3g}")
                notation = f"({low!r}, {high!r}, 'log-uniform')"
            return f"{{{part.prefix + name!r}: {notation}}}"
    return ""
