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

    We compared several forms (:doc:`/settled_measurements`) in simulations, in which a
    part of the error of a candidate is the same on all folds. The unit of the
    errors is the standard deviation of one fold. The table shows root mean square
    errors on settings that were not used for the choice. "Folds" is the form of [2]_,
    and "divided" is the same divided by :math:`\max(1, \sqrt K - 1)`.

    ===== ========== ===== ======= =========
    K     Best score Folds Divided This form
    ===== ========== ===== ======= =========
    3     1.24       0.92  0.92    0.76
    5     1.07       0.78  0.77    0.70
    10    0.93       0.71  0.69    0.67
    20    0.84       0.75  0.67    0.68
    ===== ========== ===== ======= =========

    If the folds are independent, the form of [2]_ is too low by 0.7 for ten folds and
    by 0.9 for twenty. This form is too low by 0.2 and 0.1. If half of the variance is
    shared by all folds, the scores of all forms are too high. The form of [2]_ is then
    the most accurate one for ten and twenty folds: its root mean square error is 1.01,
    and that of this form is 1.15 and 1.25.

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
