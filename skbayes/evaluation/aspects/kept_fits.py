"""Fitted estimators of the folds: `return_fold_estimators` and `return_oof`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.trial import FoldResult, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun

__all__ = ["KeptFits"]


class _FoldFits(FoldAspect):
    """Return of the fitted estimator."""

    name = "kept_fits"
    needs_estimator = True

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the fitted estimator to the outcome."""
        outcome.estimator = call.result["estimator"]


class KeptFits(Aspect):
    """Fitted estimators of the best trial, or of all trials.

    With rounds, the fits have more rounds than their scores. The fits of the best trial
    are then repeated after the search.
    """

    name = "kept_fits"

    def __init__(self, run: SearchRun) -> None:
        super().__init__(run)
        self.kept: dict[int, list] = {}
        self._best: Trial | None = None

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that returns the estimator of a fit."""
        return _FoldFits() if self.run.options.rounds is None else None

    def conclude(
        self, plan: Evaluation, folds: Sequence[FoldResult], state: TrialState
    ) -> dict[str, Any]:
        """Keep the estimators of a trial, if all of its folds were fitted."""
        fits = [outcome.estimator for outcome in plan.outcomes]
        if len(fits) == plan.n_folds and all(fit is not None for fit in fits):
            self.kept[plan.number] = fits
        return {}

    def learn(self, trial: Trial) -> None:
        """Drop the estimators of a trial that is not the best one."""
        if self.run.options.keep_fits != "best":
            return
        beaten: Trial | None = trial
        if trial.state == TrialState.COMPLETE:
            if self._best is None or trial.order > self._best.order:
                self._best, beaten = trial, self._best
        if beaten is not None:
            self.kept.pop(beaten.number, None)
