"""Correction of the best score for the selection of the best candidate.

Symbols: ``s`` of shape (n_candidates, n_splits) are the scores of one metric, with one
row for each candidate and one column for each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.results.frame import fold_scores, mean_scores

__all__ = ["corrected_best_score"]


def corrected_best_score(
    cv_results: Mapping[str, Any],
    index: int,
    n_splits: int,
    metric: str = "score",
) -> float:
    r"""Correct the score of the best candidate for its selection among many.

    The highest of many cross-validated scores is too optimistic: on new data, the best
    candidate usually scores lower. The difference is larger for many candidates and for
    candidates with similar scores. This function estimates the difference from the
    scores of the folds, without additional fits.

    Parameters
    ----------
    cv_results : dict
        ``cv_results_`` of a search. Candidates with a NaN score on any fold are
        omitted, and so are candidates that a successive halving has eliminated.
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
    The method is that of [1]_. Let :math:`s_k(j)` be the score of candidate :math:`j`
    on fold :math:`k` of :math:`K`, :math:`\bar s(j)` its mean, and :math:`\hat\jmath`
    the candidate with the best mean. On each fold, it is compared with the candidate
    that is the best on this fold:

    .. math::

        \text{corrected score} = \bar s(\hat\jmath) - \frac1K \sum_{k=1}^K
        \Bigl( \max_j s_k(j) - s_k(\hat\jmath) \Bigr).

    The method assumes that the optimism of the best candidate on one fold equals the
    optimism of the best mean. If all candidates are equally good and all scores are
    independent and normal, the expected correction is :math:`\sqrt K - 1` times the
    optimism. This factor is 0.73 for three folds, 1.24 for five, and 2.16 for ten.
    The folds of real data are not independent: a candidate that fits the data set by
    chance scores well on all folds, and the correction is smaller.

    We measured the correction with ``benchmarks/corrected_score.py`` on random searches
    over support vector machines with 100 rows. With five folds, it removes 65% of the
    optimism for random labels, and all of it for informative data. With ten folds, it
    removes 117% and 143%, so the corrected score is slightly too low. If one candidate
    is the best on every fold, the correction is zero.

    The method assumes a fixed list of candidates, but a Bayesian search chooses later
    candidates by the scores of earlier ones. Repeated cross-validation tests on the
    same rows several times. The correction does not account for invalid splits, such as
    splits that separate the rows of a group. If you need an accurate score, use nested
    cross-validation, which is many times more expensive, or a separate test set.

    References
    ----------
    .. [1] R. J. Tibshirani and R. Tibshirani, "A bias correction for the minimum error
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
    winner = candidates[np.argmax(candidates.mean(axis=1))]
    optimism = np.mean(candidates.max(axis=0) - winner)
    return float(np.mean(s[index]) - optimism)
