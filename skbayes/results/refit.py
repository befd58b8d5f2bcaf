"""Refit rules, which choose a simple or fast candidate among the best ones.

A rule is called with `cv_results_` and returns a row of it, as scikit-learn expects of
a callable `refit`. Candidates without a score (NaN) are never chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skbayes.results.frame import fold_scores, mean_scores
from skbayes.space.dimensions import FloatArray, is_number, native

__all__ = ["FastestWithin", "OneStandardError"]

Time = Literal["mean_fit_time", "mean_score_time"]


@dataclass(frozen=True)
class OneStandardError:
    """Choose the simplest candidate within one standard error of the best.

    Scores that close cannot be told apart by the splits at hand; of models that are as
    good as the best for all one knows, the simplest is the safer choice.

    Parameters
    ----------
    by : str, callable or None, default=None
        What makes a candidate simple: the name of a parameter that is a number, a
        callable ``by(params)`` that returns a number, or None for the mean time of a
        fit. The smallest is the simplest. Candidates that do not have the parameter, or
        for which it is None, count as the least simple; of equally simple ones the best
        is chosen.
    largest : bool, default=False
        Whether the largest is the simplest instead: True for the `alpha` of a ridge
        regression, whose larger values mean more regularization.
    metric : str, default="score"
        Name of the metric, "score" where there is only one.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong. When called, if there is no such metric or parameter,
        if a parameter is no number, if no candidate has a score, or if there is one
        split only, which has no standard error.

    See Also
    --------
    FastestWithin : Accepts a loss that you name.

    Notes
    -----
    The standard error is that of the best candidate, the standard deviation of its
    scores over the splits (with one degree of freedom less) divided by the square root
    of their number, as in [1]_. The splits share training data, so that it is too small
    rather than too large.

    With a callable `refit`, scikit-learn sets `best_index_` and `best_params_`, but not
    `best_score_`; the score is ``cv_results_["mean_test_score"][best_index_]``. Its
    halving searches ignore a callable `refit` and take the best of the last round.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical
       Learning", 2nd edition, section 7.10.1, Springer 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skbayes.results.refit import OneStandardError
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rule = OneStandardError("alpha", largest=True)
    >>> grid = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1, 10]}, refit=rule)
    >>> grid.fit(X, y).best_params_
    {'alpha': 0.1}
    """

    by: str | Callable[[dict[str, Any]], float] | None = None
    largest: bool = False
    metric: str = "score"

    def __post_init__(self) -> None:
        if not (self.by is None or isinstance(self.by, str) or callable(self.by)):
            raise TypeError(
                "by must be the name of a parameter, a callable on the parameters or "
                f"None, got {self.by!r}"
            )
        if not isinstance(self.largest, bool | np.bool_):
            raise TypeError(f"largest must be True or False, got {self.largest!r}")
        _check_metric(self.metric)

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the row of `cv_results` that is chosen."""
        means = _usable_means(cv_results, self.metric)
        best = fold_scores(cv_results, self.metric)[np.nanargmax(means)]
        if len(best) < 2:
            raise ValueError("OneStandardError needs at least two splits, got one")
        standard_error = np.std(best, ddof=1) / math.sqrt(len(best))
        costs = self._costs(cv_results)
        return _cheapest(costs, means, np.nanmax(means) - standard_error)

    def _costs(self, cv_results: Mapping[str, Any]) -> FloatArray:
        """Return how far from simple each candidate is."""
        if self.by is None:
            costs = np.array(cv_results["mean_fit_time"], dtype=float)
        else:
            costs = _numbers(self.by, cv_results["params"])
        return -costs if self.largest else costs


@dataclass(frozen=True)
class FastestWithin:
    """Choose the fastest candidate whose score is at most `epsilon` below the best.

    Parameters
    ----------
    epsilon : float
        How much may be lost, in units of the score.
    relative : bool, default=False
        Whether `epsilon` is a fraction of the best score's absolute value instead: 0.01
        allows 0.891 where the best is 0.9, and -101 where it is -100.
    time : {"mean_fit_time", "mean_score_time"}, default="mean_fit_time"
        Which time is to be short: that of fitting, or that of scoring, which is mostly
        predicting.
    metric : str, default="score"
        Name of the metric, "score" where there is only one.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong. When called, if there is no such metric, or no
        candidate has a score.

    See Also
    --------
    OneStandardError : Accepts what the splits cannot tell apart.

    Notes
    -----
    Times are measured, so that the choice between candidates that take about as long is
    left to chance, and may be another when the search is run again. Compare times only
    among fits that ran under the same load, on the same kind of machine.

    With a callable `refit`, scikit-learn sets `best_index_` and `best_params_`, but not
    `best_score_`; the score is ``cv_results_["mean_test_score"][best_index_]``. Its
    halving searches ignore a callable `refit` and take the best of the last round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skbayes.results.refit import FastestWithin
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> grid = GridSearchCV(
    ...     forest, {"n_estimators": [5, 100]}, refit=FastestWithin(0.05)
    ... )
    >>> grid.fit(X, y).best_params_
    {'n_estimators': 5}
    """

    epsilon: float
    relative: bool = False
    time: Time = "mean_fit_time"
    metric: str = "score"

    def __post_init__(self) -> None:
        if not is_number(self.epsilon):
            raise TypeError(f"epsilon must be a number, got {self.epsilon!r}")
        if not 0 <= self.epsilon < math.inf:
            raise ValueError(
                f"epsilon must be 0 or more, and finite, got {self.epsilon!r}"
            )
        if not isinstance(self.relative, bool | np.bool_):
            raise TypeError(f"relative must be True or False, got {self.relative!r}")
        if self.time not in ("mean_fit_time", "mean_score_time"):
            raise ValueError(
                f"time must be 'mean_fit_time' or 'mean_score_time', got {self.time!r}"
            )
        _check_metric(self.metric)

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the row of `cv_results` that is chosen."""
        means = _usable_means(cv_results, self.metric)
        best = np.nanmax(means)
        margin = self.epsilon * (abs(best) if self.relative else 1.0)
        times = np.array(cv_results[self.time], dtype=float)
        return _cheapest(times, means, best - margin)


def _check_metric(metric: Any) -> None:
    if not isinstance(metric, str):
        raise TypeError(f"metric must be the name of a metric, got {metric!r}")


def _numbers(by: str | Callable, params: Sequence[dict[str, Any]]) -> FloatArray:
    """Return what `by` makes of each candidate's parameters, NaN for None."""
    found = []
    for one in params:
        value = native(by(one) if callable(by) else one.get(by))
        if not (value is None or isinstance(value, bool) or is_number(value)):
            raise ValueError(
                f"by={by!r} must give numbers, got {value!r} for {one!r}; pass a "
                "callable that says how simple a candidate is"
            )
        found.append(math.nan if value is None else float(value))
    if isinstance(by, str) and not any(by in one for one in params):
        names = sorted({name for one in params for name in one})
        raise ValueError(f"by={by!r} is none of the parameters, which are {names}")
    return np.array(found)


def _usable_means(cv_results: Mapping[str, Any], metric: str) -> FloatArray:
    means = mean_scores(cv_results, metric)
    if "feasible" in cv_results:
        # Candidates that violate constraints are chosen only if all of them do.
        kept = np.asarray(cv_results["feasible"], dtype=bool)
        if np.any(kept & np.isfinite(means)):
            means[~kept] = np.nan
    if not np.isfinite(means).any():
        raise ValueError(
            f"no candidate has a finite score {metric!r}, so that there is none to "
            "choose"
        )
    return means


def _cheapest(costs: FloatArray, means: FloatArray, lowest: float) -> int:
    """Return the cheapest row among those whose mean score is not below `lowest`.

    Ties go to the better score, then to the first row; an unknown cost comes last.
    """
    rows = np.flatnonzero(means >= lowest)
    costs = np.where(np.isnan(costs), np.inf, costs)[rows]
    return int(rows[np.lexsort((rows, -means[rows], costs))[0]])
