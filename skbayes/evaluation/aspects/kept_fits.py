"""Fitted estimators of the folds: `return_fold_estimators` and `return_oof`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skbayes.evaluation.aspect import Aspect, Conflict, FoldAspect, Parameter
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun

__all__ = ["KeptFits"]


class _FoldFits(FoldAspect):
    """Return of the fitted estimator."""

    needs_estimator = True
    affects_errors = False

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the fitted estimator to the outcome."""
        outcome.estimator = call.estimator


class KeptFits(Aspect):
    """Fitted estimators of the best trial, or of all trials.

    Parameters
    ----------
    return_fold_estimators : bool, default=False
        Whether to keep the estimators that were fitted on the splits with the best
        configuration, as ``fold_estimators_``. If `refit` is a callable, the estimators
        of all trials are kept until the search ends.
    return_oof : str or None, default=None
        Name of a method such as "predict" or "predict_proba". For each sample, it is
        called on the estimator with the best configuration that was fitted without this
        sample. The outputs are stored as ``oof_predictions_``. Requires a `cv` that
        tests each sample exactly once.

    Attributes
    ----------
    fold_estimators_ : list of estimators
        Estimators fitted on the splits with the best configuration, if
        `return_fold_estimators` is set.
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        Out-of-fold predictions in the order of the samples, if `return_oof` is set.
    """

    name = "kept_fits"
    parameters = (
        Parameter(
            "return_fold_estimators", ["boolean"], default=False, changes_trials=False
        ),
        Parameter("return_oof", [str, None], default=None, changes_trials=False),
    )
    conflicts = tuple(
        Conflict(
            name,
            "refit",
            [False],
            "The fits are those of the best trial, which refit chooses.",
        )
        for name in ("return_fold_estimators", "return_oof")
    )

    @classmethod
    def is_on(cls, run: SearchRun) -> bool:
        """Return whether fitted estimators are kept.

        With rounds, a fit has more rounds than its score. The fits of the best trial
        are then repeated after the search.
        """
        return super().is_on(run) and run.options.rounds is None

    def __init__(self, run: SearchRun) -> None:
        super().__init__(run)
        self.kept: dict[int, list] = {}
        self._best: Trial | None = None

    def fold_aspect(self) -> FoldAspect:
        """Return the part that returns the estimator of a fit."""
        return _FoldFits()

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
        if callable(self.run.settings["refit"]):
            return  # it may choose any trial
        candidates = History([trial] if self._best is None else [self._best, trial])
        self._best = candidates.best
        for candidate in candidates:
            if candidate is not self._best:
                self.kept.pop(candidate.number, None)
