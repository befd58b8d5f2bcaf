"""Number of rounds of a trial, chosen from the learning curves of its folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from skbayes.evaluation.learning_curves import (
    FoldCurveRace,
    Guide,
    choose_by_others,
    choose_rounds,
    round_grid,
)
from skbayes.evaluation.racing import FoldScores, Race
from skbayes.evaluation.rounds.watched_fit import (
    RoundLimits,
    final_model,
    learner_of,
    round_params,
)
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.space.dimensions import FloatArray

__all__ = [
    "CurveScores",
    "KnownCurves",
    "last_round",
    "most_rounds",
    "params_with_rounds",
    "rounds_by_fold",
    "score_at_rounds",
]


def most_rounds(estimator: Any, params: dict[str, Any], limits: RoundLimits) -> int:
    """Return the maximum number of rounds with parameters set; 0 if there is none."""
    estimator = clone(estimator).set_params(**clone(params, safe=False))
    model, path = final_model(estimator)
    learner = learner_of(model)
    return 0 if learner is None else limits.cap_of(learner, model, path)


def params_with_rounds(
    estimator: Any, params: dict[str, Any], rounds: int | None
) -> dict[str, Any]:
    """Return parameters, including those that set the number of rounds, if any."""
    if rounds is None:
        return params
    estimator = clone(estimator).set_params(**clone(params, safe=False))
    return {**params, **round_params(estimator, rounds)}


def score_at_rounds(
    folds: Sequence[FoldResult], guide: Guide, missing: float = math.nan
) -> int | None:
    """Choose the number of rounds of a trial, or None, and set the scores of its folds.

    The mean curve over the folds is best at this number. A fold is scored at the number
    that the other folds choose, so that the choice does not bias the score. The same
    applies to outcomes with curves. A score of NaN is replaced by `missing`.
    """
    watched = [fold for fold in folds if _curves_of(fold)]
    _cut(watched)
    curves = _guiding_curves(watched, guide)
    if curves is None:
        return None
    for fold, place in zip(watched, choose_by_others(curves), strict=True):
        test, train = _curves_of(fold), fold.extras.get("train_curves")
        # Costs have no curves.
        fold.test_scores |= _scores_at(test, place, missing)
        if train is not None:
            costs = fold.train_scores or {}
            fold.train_scores = costs | _scores_at(train, place, missing)
        for name, curve in fold.extras.get("outcome_curves", {}).items():
            fold.extras["outcomes"][name] = curve[place]
    return int(round_grid(watched[0].extras["max_rounds"])[choose_rounds(curves)])


def rounds_by_fold(folds: Sequence[FoldResult], guide: Guide) -> list[int | None]:
    """Return the number of rounds that each fold is scored at; None without curves."""
    watched = [fold for fold in folds if _curves_of(fold)]
    curves = _guiding_curves(watched, guide)
    if curves is None:
        return [None] * len(folds)
    grid = round_grid(watched[0].extras["max_rounds"])
    chosen = iter(choose_by_others(curves))
    return [int(grid[next(chosen)]) if _curves_of(fold) else None for fold in folds]


@dataclass(frozen=True)
class CurveScores(FoldScores):
    """Guiding scores of a complete trial, with the curves of its folds."""

    curves: list[FloatArray]

    def of(self, places: Sequence[int]) -> FloatArray:
        """Return the scores of some folds, computed without the other folds."""
        curves = [self.curves[place] for place in places]
        chosen = choose_by_others(curves)
        return np.array([curve[k] for curve, k in zip(curves, chosen, strict=True)])

    @classmethod
    def of_trial(cls, trial: Trial, scores: FoldScores, guide: Guide) -> FoldScores:
        """Add the curves of a complete trial, if all of its folds have one."""
        curves = None
        if all(map(_curves_of, trial.folds)):
            curves = _guiding_curves(trial.folds, guide)
        return scores if curves is None else cls(scores.scores, curves)


@dataclass
class KnownCurves:
    """First folds of the complete trials of a stage, and their scores by split."""

    _known: dict[tuple, list[tuple[FloatArray, FloatArray]]] = field(
        default_factory=dict
    )

    def add(self, trial: Trial, scores: FloatArray, guide: Guide) -> None:
        """Add a complete trial with its scores by split."""
        curve = guide.curve(_curves_of(trial.folds[0]))
        if curve is not None and np.isfinite(curve).all():
            key = (
                trial.folds[0].extras["max_rounds"],
                trial.train_fraction,
                trial.subset,
            )
            self._known.setdefault(key, []).append((curve, scores))

    def race(
        self, max_rounds: int, train_fraction: float, subset: int
    ) -> FoldCurveRace:
        """Return a race for the first fold of a trial with comparable trials."""
        known = self._known.get((max_rounds, train_fraction, subset), [])
        table = [scores for _, scores in known]
        # The score of a fold without any others is the best one of its curve.
        first = [float(np.max(curve)) for curve, _ in known]
        race = Race(table, [np.array([score]) for score in first])
        return FoldCurveRace([curve for curve, _ in known], first, race)


def last_round(fold: FoldResult | None) -> int | None:
    """Return the last round of a fold's curves; None if it has no curves."""
    if fold is None or not _curves_of(fold):
        return None
    n_points = min(map(len, _curves_of(fold).values()))
    return int(round_grid(fold.extras["max_rounds"])[n_points - 1])


def _cut(folds: Sequence[FoldResult]) -> None:
    kinds = ("curves", "train_curves", "outcome_curves")
    tables = [
        fold.extras[kind] for fold in folds for kind in kinds if kind in fold.extras
    ]
    length = min(
        (len(curve) for table in tables for curve in table.values()), default=0
    )
    for table in tables:
        for name, curve in table.items():
            table[name] = curve[:length]


def _curves_of(fold: FoldResult) -> dict[str, list[float]]:
    curves: dict[str, list[float]] = fold.extras.get("curves", {})
    return curves


def _guiding_curves(
    folds: Sequence[FoldResult], guide: Guide
) -> list[FloatArray] | None:
    """Return the curves, with minus infinity for NaN; None if one is missing."""
    curves = [guide.curve(_curves_of(fold)) for fold in folds]
    if not curves or any(curve is None for curve in curves):
        return None
    known = [curve for curve in curves if curve is not None]
    return [np.where(np.isnan(curve), -np.inf, curve) for curve in known]


def _scores_at(
    curves: dict[str, list[float]], place: int, missing: float
) -> dict[str, float]:
    return {
        name: missing if math.isnan(curve[place]) else curve[place]
        for name, curve in curves.items()
    }
