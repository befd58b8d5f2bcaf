"""Learning curves of trials: scores after each boosting round or epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skbayes.evaluation.learning_curves import round_grid
from skbayes.evaluation.trial import FoldResult, Trial, TrialState
from skbayes.space.dimensions import FloatArray

__all__ = ["TrialCurves", "curves_of"]


@dataclass(frozen=True, eq=False)
class TrialCurves:
    """Scores of one trial after each round.

    Parameters
    ----------
    rounds : ndarray of shape (n_points,), int
        Numbers of rounds, up to the end of the shortest fit.
    scores : ndarray of shape (n_curves, n_points)
        Test scores of each fitted split; greater is better.
    chosen : int or None
        Number of rounds with the best mean score; None for a trial that was pruned
        after its first rounds.
    """

    rounds: np.ndarray
    scores: FloatArray
    chosen: int | None = None


def curves_of(trial: Trial, metric: str, direction: int = 1) -> TrialCurves | None:
    """Return the curves of one metric; None for a failed trial or without rounds."""
    watched = [fold for fold in trial.folds if fold.extras.get("curves")]
    curves = [_curve(fold, metric) for fold in watched]
    if trial.state == TrialState.FAILED or not watched:
        return None
    length = min(map(len, curves))
    scores = direction * np.array([curve[:length] for curve in curves], dtype=float)
    rounds = round_grid(watched[0].extras["max_rounds"])[:length]
    return TrialCurves(rounds, scores, trial.rounds)


def _curve(fold: FoldResult, metric: str) -> list[float]:
    curves = fold.extras.get("curves", {})
    return next(iter(curves.values())) if len(curves) == 1 else curves.get(metric, [])
