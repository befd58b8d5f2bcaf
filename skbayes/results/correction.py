"""Correction of the best score for having been chosen as the best.

Symbols: ``s`` of shape (n_candidates, n_splits) are the scores of one metric, a row a
candidate, a column a fold.
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
    r"""Correct the score of the best candidate for having been chosen as the best.

    The highest of many cross-validated scores is partly luck: on new data the winner
    does less well, the more so the more candidates there were and the closer they are.
    This estimates how much from the scores of the folds, without another fit.

    Parameters
    ----------
    cv_results : dict
        The `cv_results_` of a search. Candidates whose score is NaN on any fold are
        left out, and so are those that a successive halving dropped.
    index : int
        Row of the chosen candidate. If it is not the one with the highest mean, the
        same amount is taken off, which is then more than its due.
    n_splits : int
        Number of splits.
    metric : str, default="score"
        Name of the metric, "score" where there is only one.

    Returns
    -------
    score : float
        The corrected score, never above the mean score. NaN if the candidate has no
        score on some fold, or if there is one split only, which says nothing on luck.

    Raises
    ------
    ValueError
        If there are no such scores, or `index` is not a row.

    Notes
    -----
    The method is that of [1]_. Let :math:`s_k(j)` be the score of candidate :math:`j`
    on fold :math:`k` of :math:`K`, :math:`\bar s(j)` its mean and
    :math:`\hat\jmath` the candidate with the best mean. On each fold it is compared
    with the candidate that happens to be the best there:

    .. math::

        \text{corrected score} = \bar s(\hat\jmath) - \frac1K \sum_{k=1}^K
        \Bigl( \max_j s_k(j) - s_k(\hat\jmath) \Bigr).

    The luck of being the best on one fold stands for the luck of being the best on
    average, as if the two were equally large. Where all candidates are equally good and
    all scores independent and normal, the expected correction is
    :math:`\sqrt K - 1` times the optimism: 0.73 of it for three folds, 1.24 for five,
    2.16 for ten. On real data the folds are not independent, since a candidate that
    suits this data set by chance does so on all of them, and less is taken off.
    Measured by ``benchmarks/corrected_score.py`` on random searches over support vector
    machines for 100 rows: with five folds it removes 65 % of the optimism where the
    labels are random, and all of it where there is something to learn; with ten, 117 %
    and 143 %, so that the corrected score is somewhat too low. If one candidate is the
    best on every fold, nothing is corrected.

    The candidates are taken as given beforehand, where a Bayesian search has chosen the
    later ones by the scores of the earlier ones; repeated cross-validation tests on the
    same rows again. Nothing corrects what is wrong with the splits themselves, such as
    groups torn apart. A nested cross-validation, at many times the cost, or a test set
    kept aside is the better answer where the number itself matters.

    References
    ----------
    .. [1] R. J. Tibshirani and R. Tibshirani, "A bias correction for the minimum error
       rate in cross-validation", Annals of Applied Statistics 3(2), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results.correction import corrected_best_score
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
