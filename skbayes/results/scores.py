"""Scores of candidates: correction of the best one, and choice among similar ones.

These functions also accept the `cv_results_` of scikit-learn's searches. The last part
is the rank correlation between the stages of a search.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from skbayes.space import Space
from skbayes.space.dimensions import FloatArray, is_number, key_of, native
from skbayes.space.lists import option_key
from skbayes.trial.records import History, Trial, TrialState, succeeded
from skbayes.utils.optional import warn_user

Time = Literal["mean_fit_time", "mean_score_time"]

_MEAN = "mean_test_"

# Columns of `stage_correlation_`.
_COLUMNS = (
    "stage",
    "next_stage",
    "train_fraction",
    "next_train_fraction",
    "n_both",
    "rank_correlation",
    "n_next",
    "model_correlation",
)


def mean_scores(cv_results: Mapping[str, Any], metric: str) -> FloatArray:
    """Return mean test scores, NaN for failures and for trials on fewer rows."""
    if _MEAN + metric not in cv_results:
        raise ValueError(
            f"there are no scores {_MEAN + metric!r} among the results; the metrics "
            f"are {metrics_of(cv_results)}"
        )
    means = np.array(cv_results[_MEAN + metric], dtype=float)
    means[~np.isfinite(means)] = np.nan
    most = np.isfinite(means)
    for key in ("n_resources", "train_fraction", "n_folds"):
        if key in cv_results:
            amounts = np.asarray(cv_results[key])
            most &= amounts >= amounts.max(initial=0, where=most)
    means[~most] = np.nan
    return means


def metrics_of(cv_results: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics."""
    return [key[len(_MEAN) :] for key in cv_results if key.startswith(_MEAN)]


def fold_scores(
    cv_results: Mapping[str, Any], metric: str, n_splits: int | None = None
) -> FloatArray:
    """Return the test scores of every fold, of shape (n_candidates, n_splits)."""
    folds: list[FloatArray] = []
    while n_splits is None or len(folds) < n_splits:
        key = f"split{len(folds)}_test_{metric}"
        if key not in cv_results:
            break
        folds.append(np.asarray(cv_results[key], dtype=float))
    if not folds or (n_splits is not None and len(folds) < n_splits):
        raise ValueError(f"there are no scores 'split{len(folds)}_test_{metric}'")
    return np.column_stack(folds)


# -- correction ---------------------------------------------------------------------


def corrected_best_score(
    cv_results: Mapping[str, Any], index: int, n_splits: int, metric: str = "score"
) -> float:
    r"""Correct the score of the best candidate for its selection among many.

    The highest of many cross-validated scores is too optimistic: on new data, the best
    candidate usually scores lower. The difference is larger for many candidates and for
    candidates with similar scores. This function estimates the difference from the
    scores of the folds, without additional fits.

    Parameters
    ----------
    cv_results : dict
        ``cv_results_`` of a search. Candidates with a NaN score on any fold, and
        candidates that a successive halving has eliminated, are omitted.
    index : int
        Row of the chosen candidate. The correction is estimated for the candidate with
        the highest mean score; for any other candidate, it is too large.
    n_splits : int
        Number of splits.
    metric : str, default="score"
        Name of the metric; "score" if there is only one.

    Returns
    -------
    score : float
        Corrected score, never above the mean score. NaN if the candidate has no score
        on some fold, or if there is only one split.

    Raises
    ------
    ValueError
        If there are no scores for `metric`, or `index` is not a row.

    Notes
    -----
    The optimism is the smaller one of two estimates. Let :math:`s_k(j)` be the score of
    candidate :math:`j` on fold :math:`k` of :math:`K`, :math:`\bar s(j)` its mean, and
    :math:`\hat\jmath` the candidate with the best mean. Both estimates assume that the
    errors of a candidate on two folds have the correlation :math:`1 / K`, because the
    training sets overlap [1]_. The variance of the error of a mean is then :math:`r^2 =
    2 / K - 1 / K^2` times the variance on one fold.

    The first estimate compares the winner with the best candidate of each fold [2]_:

    .. math::

        \frac{r}{1 - r} \cdot \frac1K \sum_{k=1}^K
        \Bigl( \max_j s_k(j) - s_k(\hat\jmath) \Bigr).

    It is zero if one candidate is the best on every fold. The factor makes it exact if
    all candidates are equally good; [2]_ has the factor 1.

    The second estimate shrinks the best mean toward the median :math:`m` of the means:

    .. math::

        \min\Bigl(1, \frac{\sigma^2}{\tau^2}\Bigr) \bigl(\bar s(\hat\jmath) - m\bigr),
        \qquad \sigma^2 = \Bigl(\frac1K + \frac1{K - 1}\Bigr) v.

    Here, :math:`v` is the variance of the scores on the folds without the effects of
    candidates and folds, and :math:`\tau^2` is the mean square of :math:`\bar s(j) - m`
    over the candidates above the median. A ratio near 1 means that the candidates
    differ only by chance. Candidates below the median are ignored, so that failed
    configurations have no effect.

    The method assumes a fixed list of candidates, but a Bayesian search chooses later
    candidates by the scores of earlier ones. Repeated cross-validation tests on the
    same rows several times. The correction does not account for invalid splits, such as
    splits that separate the rows of a group. If you need an accurate score, use nested
    cross-validation, which is many times more expensive, or a separate test set.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine
       Learning 52, 2003.
    .. [2] R. J. Tibshirani and R. Tibshirani, "A bias correction for the minimum error
       rate in cross-validation", Annals of Applied Statistics 3(2), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results import corrected_best_score
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100]}, cv=5).fit(X, y)
    >>> corrected = corrected_best_score(
    ...     grid.cv_results_, grid.best_index_, grid.n_splits_
    ... )
    >>> print(f"{grid.best_score_:.3f}, corrected {corrected:.3f}")
    0.980, corrected 0.973
    """
    means = mean_scores(cv_results, metric)
    if not 0 <= index < len(means):
        raise ValueError(
            f"index must be a row of the results, 0 to {len(means) - 1}, got {index!r}"
        )
    s = fold_scores(cv_results, metric, n_splits)
    usable = np.isfinite(means) & np.isfinite(s).all(axis=1)
    if n_splits < 2 or not usable[index]:
        return float("nan")
    candidates = s[usable]
    optimism = min(_gap_on_folds(candidates), _shrinkage(candidates))
    return float(np.mean(s[index]) - optimism)


def _gap_on_folds(s: np.ndarray) -> float:
    """Return the optimism by the mean difference from the best of each fold."""
    n_splits = s.shape[1]
    r = np.sqrt(2.0 / n_splits - 1.0 / n_splits**2)
    winner = s[np.argmax(s.mean(axis=1))]
    return float(r / (1.0 - r) * np.mean(s.max(axis=0) - winner))


def _shrinkage(s: np.ndarray) -> float:
    """Return the optimism by the variance components of candidates and folds."""
    n_candidates, n_splits = s.shape
    means = s.mean(axis=1)
    above = np.maximum(means - np.median(means), 0.0)
    if not above.any():
        return 0.0
    residuals = s - means[:, None] - s.mean(axis=0) + s.mean()
    v = np.sum(residuals**2) / ((n_candidates - 1) * (n_splits - 1))
    noise = (1.0 / n_splits + 1.0 / (n_splits - 1)) * v
    signal = 2.0 * np.mean(above**2)
    return float(min(1.0, noise / signal) * above.max())


# -- rules for `refit`, which never choose a candidate with a NaN score --------------


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
        not exist, if the hyper-parameter is not numeric, or if no candidate has a
        score.

    Warns
    -----
    UserWarning
        If there is only one split, or a time limit allowed only one fold. It has no
        standard error, so the best candidate is chosen.

    See Also
    --------
    FastestWithin : Rule with a loss that you choose.

    Notes
    -----
    As in [1]_, the best candidate determines the standard error. It is the standard
    deviation of its scores over the splits (with one degree of freedom less), divided
    by the square root of the number of splits. The training sets of the splits overlap,
    so the standard error is more likely too small than too large.

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
        row = int(np.nanargmax(means))
        best = fold_scores(cv_results, self.metric)[row]
        best = best[np.isfinite(best)]
        if len(best) < 2:
            warn_user(
                "OneStandardError: the best candidate has the score of one fold, which "
                "has no standard error. It is chosen."
            )
            return row
        standard_error = np.std(best, ddof=1) / math.sqrt(len(best))
        if self.by is None:
            costs = np.array(cv_results["mean_fit_time"], dtype=float)
        else:
            costs = _numbers(self.by, cv_results["params"])
        costs = -costs if self.largest else costs
        return _cheapest(costs, means, np.nanmax(means) - standard_error)


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

    The Notes of :class:`OneStandardError` describe the effects of a callable `refit`.

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
    numbers = []
    for params in candidates:
        value = native(by(params) if callable(by) else params.get(by))
        if not (value is None or isinstance(value, bool) or is_number(value)):
            raise ValueError(
                f"by={by!r} must give numbers, got {value!r} for {params!r}; pass a "
                "callable that returns the complexity of a candidate"
            )
        numbers.append(math.nan if value is None else float(value))
    if isinstance(by, str) and not any(by in params for params in candidates):
        names = sorted({name for params in candidates for name in params})
        raise ValueError(f"by={by!r} is not a hyper-parameter; they are {names}")
    return np.array(numbers)


def _usable_means(cv_results: Mapping[str, Any], metric: str) -> FloatArray:
    means = mean_scores(cv_results, metric)
    if "feasible" in cv_results:
        # Candidates that violate constraints are chosen only if all of them do.
        feasible = np.asarray(cv_results["feasible"], dtype=bool)
        if np.any(feasible & np.isfinite(means)):
            means[~feasible] = np.nan
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


# -- stages of a search ---------------------------------------------------------------


def compared(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials among which the best one is chosen, best first.

    They are the complete trials of one stage, because scores of different stages are
    not comparable. It is the last stage in which the best configuration of the stage
    before was completed. After a stage with fewer folds, this must also be the case for
    the first configuration that succeeded, unless it failed later.
    """
    chosen: list[Trial] = []
    first = next(filter(succeeded, trials), None)
    for stage in sorted({trial.fidelity.stage for trial in trials}):
        tried = [trial for trial in trials if trial.fidelity.stage == stage]
        complete = History(tried).best_first()
        done = {option_key(trial.params) for trial in complete}
        failed = {option_key(trial.params) for trial in tried} - done
        candidates = (option_key(trial.params) for trial in chosen)
        needed = {next((key for key in candidates if key not in failed), None)}
        if chosen and chosen[0].fidelity.n_folds is not None:
            needed |= {first and option_key(first.params)} - failed
        if complete and needed <= done | {None}:
            chosen = complete
    return chosen


def stage_correlation(
    history: History, optimizers: Sequence[Any], train_fractions: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the ``stage_correlation_`` of :class:`~skbayes.MultiStageSearchCV`."""
    rows = []
    usable = [trial for trial in history if trial.state == TrialState.COMPLETE]
    stages = sorted({trial.fidelity.stage for trial in history})
    for stage, following_stage in pairwise(stages):
        optimizer = optimizers[stage]
        trials, following = (
            [trial for trial in usable if trial.fidelity.stage == each]
            for each in (stage, following_stage)
        )
        if not following:
            continue
        scores = dict(_scores_of(trials, optimizer.space))
        later = _scores_of(following, optimizer.space)
        pairs = [(scores[key], score) for key, score in later if key in scores]
        expected = None
        # Without a surrogate, nothing is expected.
        with contextlib.suppress(ValueError):
            expected = optimizer.predict([trial.params for trial in following])[0]
        rows.append(
            (
                stage,
                following_stage,
                train_fractions[stage],
                train_fractions[following_stage],
                len(pairs),
                spearman(*np.reshape(pairs, (-1, 2)).T),
                len(following),
                spearman(expected, [score for _, score in later]),
            )
        )
    return {n: np.array([row[k] for row in rows]) for k, n in enumerate(_COLUMNS)}


def _scores_of(trials: Sequence[Trial], space: Space) -> list[tuple[Any, float]]:
    """Return a key of the configuration and the score of each trial."""
    keys = map(key_of, space.encode([trial.params for trial in trials]))
    return [(key, trial.score) for key, trial in zip(keys, trials, strict=True)]


def spearman(values: Any, reference: Any) -> float:
    """Return the rank correlation of two lists; NaN if one is constant or too short."""
    if values is None or len(values) < 2:
        return float("nan")
    ranks = np.array([rankdata(values), rankdata(reference)])
    if np.any(np.ptp(ranks, axis=1) == 0.0):
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])
