"""Refit rules that choose a simple or fast candidate among the best ones.

A rule is called with `cv_results_` and returns the index of a row, as scikit-learn
expects of a callable `refit`. Candidates with a NaN score are never chosen.
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
    """Rule that chooses the simplest candidate within one standard error of the best.

    The splits cannot distinguish scores this close. Among candidates that may be as
    good as the best one, the simplest is the safest choice.

    Parameters
    ----------
    by : str, callable or None, default=None
        Measure of complexity: the name of a numeric hyper-parameter, or a callable
        ``by(params)`` that returns a number. By default, the mean fit time. The
        candidate with the smallest value is the simplest. Candidates without the
        hyper-parameter, or with the value None, are the least simple. Ties go to the
        best score.
    largest : bool, default=False
        Whether the largest value is the simplest. Use True for the `alpha` of a ridge
        regression, for which larger values mean more regularization.
    metric : str, default="score"
        Name of the metric; "score" if there is only one.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. When called: if the metric or hyper-parameter does
        not exist, if the hyper-parameter is not numeric, if no candidate has a score,
        or if there is only one split, which has no standard error.

    See Also
    --------
    FastestWithin : Rule with a loss that you choose.

    Notes
    -----
    The standard error is that of the best candidate, as in [1]_. It is the standard
    deviation of the scores over the splits (with one degree of freedom less), divided
    by the square root of their number. The training sets of the splits overlap, so the
    standard error is more likely too small than too large.

    With a callable `refit`, scikit-learn sets ``best_index_`` and ``best_params_``, but
    not ``best_score_``; the score is
    ``cv_results_["mean_test_score"][best_index_]``. Its halving searches ignore a
    callable `refit` and choose the best candidate of the last round.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical
       Learning", 2nd edition, section 7.10.1, Springer 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skbayes.results import OneStandardError
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
        """Return the chosen row of `cv_results`."""
        means = _usable_means(cv_results, self.metric)
        best = fold_scores(cv_results, self.metric)[np.nanargmax(means)]
        if len(best) < 2:
            raise ValueError("OneStandardError needs at least two splits, got one")
        standard_error = np.std(best, ddof=1) / math.sqrt(len(best))
        costs = self._costs(cv_results)
        return _cheapest(costs, means, np.nanmax(means) - standard_error)

    def _costs(self, cv_results: Mapping[str, Any]) -> FloatArray:
        if self.by is None:
            costs = np.array(cv_results["mean_fit_time"], dtype=float)
        else:
            costs = _numbers(self.by, cv_results["params"])
        return -costs if self.largest else costs


@dataclass(frozen=True)
class FastestWithin:
    """Rule that chooses the fastest candidate at most `epsilon` below the best score.

    Parameters
    ----------
    epsilon : float
        Maximum loss, in units of the score.
    relative : bool, default=False
        Whether `epsilon` is a fraction of the absolute value of the best score. For
        example, 0.01 allows 0.891 if the best is 0.9, and -101 if the best is -100.
    time : {"mean_fit_time", "mean_score_time"}, default="mean_fit_time"
        Time to minimize: the fit time, or the score time, which is mostly prediction.
    metric : str, default="score"
        Name of the metric; "score" if there is only one.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. When called: if the metric does not exist, or no
        candidate has a score.

    See Also
    --------
    OneStandardError : Rule with a loss that depends on the variation of the scores.

    Notes
    -----
    Times are measured, so the choice between candidates with similar times is random
    and can differ between runs. Only compare times of fits under the same load and on
    the same type of machine.

    With a callable `refit`, scikit-learn sets ``best_index_`` and ``best_params_``, but
    not ``best_score_``; the score is
    ``cv_results_["mean_test_score"][best_index_]``. Its halving searches ignore a
    callable `refit` and choose the best candidate of the last round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skbayes.results import FastestWithin
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
        """Return the chosen row of `cv_results`."""
        means = _usable_means(cv_results, self.metric)
        best = np.nanmax(means)
        margin = self.epsilon * (abs(best) if self.relative else 1.0)
        times = np.array(cv_results[self.time], dtype=float)
        return _cheapest(times, means, best - margin)


def _check_metric(metric: Any) -> None:
    if not isinstance(metric, str):
        raise TypeError(f"metric must be the name of a metric, got {metric!r}")


def _numbers(by: str | Callable, candidates: Sequence[dict[str, Any]]) -> FloatArray:
    """Return the value of `by` for each candidate, NaN for None."""
    found = []
    for params in candidates:
        value = native(by(params) if callable(by) else params.get(by))
        if not (value is None or isinstance(value, bool) or is_number(value)):
            raise ValueError(
                f"by={by!r} must give numbers, got {value!r} for {params!r}; pass a "
                "callable that returns the complexity of a candidate"
            )
        found.append(math.nan if value is None else float(value))
    if isinstance(by, str) and not any(by in params for params in candidates):
        names = sorted({name for params in candidates for name in params})
        raise ValueError(f"by={by!r} is not a hyper-parameter; they are {names}")
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
            f"no candidate has a finite score {metric!r}, so none can be chosen"
        )
    return means


def _cheapest(costs: FloatArray, means: FloatArray, lowest: float) -> int:
    """Return the cheapest row with a mean of at least `lowest`; the best of ties."""
    rows = np.flatnonzero(means >= lowest)
    costs = np.where(np.isnan(costs), np.inf, costs)[rows]
    return int(rows[np.lexsort((rows, -means[rows], costs))[0]])
