"""Search space of an estimator: `default_space`."""

from __future__ import annotations

import dataclasses
from typing import Any

from sklearn.base import is_classifier

from skbayes.spaces import learners, trees  # noqa: F401  fill the catalog
from skbayes.spaces.catalog import Notation, find
from skbayes.spaces.changes import EditableSpace
from skbayes.spaces.facts import DataFacts
from skbayes.spaces.own_values import with_own_values

__all__ = ["default_space"]

# Folds of the cross-validation that GridSearchCV makes by default.
N_FOLDS = 5


def default_space(estimator: Any, X: Any = None, y: Any = None) -> EditableSpace:
    """Return the search space of an estimator whose class is known.

    Parameters
    ----------
    estimator : estimator
        The estimator, or a pipeline or another composition of estimators.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Training data, which some bounds depend on; without them, the bounds are
        cautious.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets.

    Returns
    -------
    space : EditableSpace
        A dict in the notation of `search_spaces`. It has the full names of the
        parameters, and holds the estimator's own values.

    Raises
    ------
    ValueError
        If no part of the estimator is known.

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
    facts = DataFacts.of(X, y, 1.0 - 1.0 / N_FOLDS)
    return EditableSpace(_part_space(estimator, facts) or {})


def _part_space(part: Any, facts: DataFacts) -> Notation | None:
    """Return the space of one part without those inside it, None if it is unknown."""
    entry = find(part)
    if entry is None:
        return None
    if not is_classifier(part):
        facts = dataclasses.replace(facts, n_classes=None, imbalanced=False)
    own = part.get_params(deep=False)
    space = {k: v for k, v in entry.build(own, facts).items() if k in own}
    return with_own_values(space, own, entry.stands_for)
