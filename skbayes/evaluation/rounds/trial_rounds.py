"""Number of rounds of a trial, from the curves of its folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from skbayes.evaluation.learning_curves import (
    CurveRace,
    choose_rounds,
    first_rounds,
    round_grid,
)
from skbayes.evaluation.rounds.watched_fit import RoundLimits, final_model, learner_of
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.space.dimensions import FloatArray

__all__ = [
    "FirstPart",
    "KnownCurves",
    "last_round",
    "mean_curve",
    "most_rounds",
    "settle_rounds",
]


def most_rounds(estimator: Any, params: dict[str, Any], limits: RoundLimits) -> int:
    """Return the most rounds of an estimator with parameters set; 0 if it has none."""
    estimator = clone(estimator).set_params(**clone(params, safe=False))
    model, path = final_model(estimator)
    learner = learner_of(model)
    return 0 if learner is None else limits.cap_of(learner, model, path)


def mean_curve(folds: Sequence[FoldResult], metric: str | None) -> FloatArray | None:
    """Return the mean curve up to the end of the shortest; None if a fold has none."""
    curves = [_curve(fold, metric) for fold in folds]
    known = [curve for curve in curves if curve is not None]
    if not known or len(known) < len(folds):
        return None
    length = min(map(len, known))
    return np.mean([curve[:length] for curve in known], axis=0)


def settle_rounds(folds: Sequence[FoldResult], metric: str | None) -> int | None:
    """Set the scores of folds to those at the best number of rounds, and return it.

    The number is the best of the curve that is averaged over folds. None: they have no
    curves.
    """
    watched = [fold for fold in folds if fold.curves]
    _cut(watched)
    curves = [_curve(fold, metric) for fold in watched]
    if not watched or any(curve is None for curve in curves):
        return None
    place = choose_rounds(
        [np.nan_to_num(curve, nan=-np.inf) for curve in curves if curve is not None]
    )
    for fold in watched:
        assert fold.curves is not None
        fold.test_scores = _scores_at(fold.curves, place, fold.test_scores)
        if fold.train_curves is not None:
            fold.train_scores = _scores_at(fold.train_curves, place, fold.train_scores)
    return int(round_grid(watched[0].max_rounds)[place])


class FirstPart:
    """First rounds of all folds of a trial, which show whether it can be the best.

    Parameters
    ----------
    cap : int
        The most rounds of the trial.
    race : CurveRace
        Compares with the complete trials.
    metric : str or None
        Score that guides the search, if there are several.
    risk : float
        Chance to become the best below which a trial is pruned.
    """

    def __init__(
        self, cap: int, race: CurveRace, metric: str | None, risk: float
    ) -> None:
        grid = round_grid(cap)
        self._n_points = 1 + int(np.searchsorted(grid, first_rounds(cap)))
        self.max_rounds = int(grid[self._n_points - 1])
        self._race, self._metric, self._risk = race, metric, risk

    def is_hopeless(self, folds: Sequence[FoldResult | None]) -> bool:
        """Tell whether the trial can be spared its other rounds."""
        curve = self._curve(folds)
        return curve is not None and self._race.chance(curve) < self._risk

    def estimate(self, folds: Sequence[FoldResult | None]) -> tuple[float, Any]:
        """Return the score that is predicted for the trial, and its variance."""
        curve = self._curve(folds)
        assert curve is not None
        return self._race.estimate(curve)

    def _curve(self, folds: Sequence[FoldResult | None]) -> FloatArray | None:
        known = [fold for fold in folds if fold is not None]
        curve = mean_curve(known, self._metric) if known else None
        if len(known) < len(folds) or curve is None or not np.isfinite(curve).all():
            return None
        return curve if len(curve) == self._n_points else None


@dataclass
class KnownCurves:
    """Curves of the complete trials of a stage."""

    _known: dict[tuple, list[tuple[FloatArray, float]]] = field(default_factory=dict)

    def add(self, trial: Trial, metric: str | None) -> None:
        """Take note of a complete trial."""
        curve = mean_curve(trial.folds, metric)
        if curve is not None and np.isfinite(curve).all():
            key = (trial.folds[0].max_rounds, trial.train_fraction, trial.subset)
            self._known.setdefault(key, []).append((curve, trial.score))

    def race(self, max_rounds: int, train_fraction: float, subset: int) -> CurveRace:
        """Return what compares a trial with those like it."""
        known = self._known.get((max_rounds, train_fraction, subset), [])
        return CurveRace([curve for curve, _ in known], [score for _, score in known])


def last_round(fold: FoldResult | None) -> int | None:
    """Return the number of rounds at the end of a fold's curves; None without any."""
    if fold is None or not fold.curves:
        return None
    n_points = min(map(len, fold.curves.values()))
    return int(round_grid(fold.max_rounds)[n_points - 1])


def _cut(folds: Sequence[FoldResult]) -> None:
    """Cut curves to the length of the shortest one."""
    tables = [t for fold in folds for t in (fold.curves, fold.train_curves) if t]
    length = min(
        (len(curve) for table in tables for curve in table.values()), default=0
    )
    for table in tables:
        for name, curve in table.items():
            table[name] = curve[:length]


def _curve(fold: FoldResult, metric: str | None) -> FloatArray | None:
    """Return the curve of a fold's guiding score."""
    if not fold.curves:
        return None
    only = next(iter(fold.curves)) if len(fold.curves) == 1 else metric
    return np.array(fold.curves[only], dtype=float) if only in fold.curves else None


def _scores_at(curves: dict[str, list[float]], place: int, like: Any) -> Any:
    if isinstance(like, dict):
        return {name: curve[place] for name, curve in curves.items()}
    (curve,) = curves.values()
    return curve[place]
