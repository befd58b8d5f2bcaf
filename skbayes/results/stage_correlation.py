"""Rank correlations between the stages of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.space.dimensions import key_of

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


def stage_correlation(
    history: History, optimizers: Sequence[Any], train_fractions: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the ``stage_correlation_`` of :class:`~skbayes.MultiStageSearchCV`."""
    rows = []
    for stage in range(len(optimizers) - 1):
        own, following = (
            [t for t in history if t.stage == s and t.state == TrialState.COMPLETE]
            for s in (stage, stage + 1)
        )
        if not following:
            continue
        pairs = _pairs(own, following, optimizers[stage])
        scores = [trial.score for trial in following]
        rows.append(
            (
                stage,
                stage + 1,
                train_fractions[stage],
                train_fractions[stage + 1],
                len(pairs),
                spearman(*np.reshape(pairs, (-1, 2)).T),
                len(following),
                spearman(_expected(following, optimizers[stage]), scores),
            )
        )
    return {n: np.array([row[k] for row in rows]) for k, n in enumerate(_COLUMNS)}


def _pairs(
    own: list[Trial], following: list[Trial], optimizer: Any
) -> list[tuple[float, float]]:
    """Return the scores of the configurations that were tried in both stages."""
    keys = [
        list(map(key_of, optimizer.space.encode([t.params for t in trials])))
        for trials in (own, following)
    ]
    first = dict(zip(keys[0], own, strict=True))
    return [
        (first[key].score, trial.score)
        for key, trial in zip(keys[1], following, strict=True)
        if key in first
    ]


def _expected(trials: list[Trial], optimizer: Any) -> np.ndarray | None:
    """Return the scores predicted by the surrogate of a stage; None without one."""
    try:
        mean: np.ndarray = optimizer.predict([trial.params for trial in trials])[0]
    except ValueError:
        return None
    return mean


def spearman(values: Any, other: Any) -> float:
    """Return the rank correlation of two lists; NaN if one is constant or too short."""
    if values is None or len(values) < 2:
        return float("nan")
    ranks = np.array([rankdata(values), rankdata(other)])
    if np.any(np.ptp(ranks, axis=1) == 0.0):
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])
