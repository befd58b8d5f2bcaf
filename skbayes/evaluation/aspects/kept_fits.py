"""Fitted estimators of the folds: the parameter `return_folds`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skbayes.evaluation.aspect import Aspect, Conflict, FoldAspect, Parameter, is_given
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun

__all__ = ["KeptFits", "oof_method", "returns_all", "returns_estimators"]


def returns_estimators(return_folds: Any) -> bool:
    """Return whether the estimators of the folds are requested."""
    return "estimators" in _requests(return_folds)


def returns_all(return_folds: Any) -> bool:
    """Return whether the results of all trials are requested."""
    return "all" in _requests(return_folds)


def oof_method(return_folds: Any) -> str | None:
    """Return the method for out-of-fold predictions, if one is requested."""
    requests = _requests(return_folds)
    methods = [name for name in requests if name not in ("estimators", "all")]
    if requests == ["all"]:
        raise ValueError(
            f"return_folds={return_folds!r} does not say what to return; write "
            "return_folds=['all', 'estimators'], or a method such as 'predict_proba'."
        )
    if len(methods) > 1:
        raise ValueError(
            f"return_folds={return_folds!r} names {len(methods)} methods; one is "
            "possible, such as return_folds=['estimators', 'predict_proba']."
        )
    return methods[0] if methods else None


def _requests(return_folds: Any) -> list[str]:
    if return_folds is True:
        raise ValueError(
            "return_folds=True does not say what to return; write "
            "return_folds='estimators', or a method such as 'predict_proba'."
        )
    if isinstance(return_folds, str):
        return [return_folds]
    return list(return_folds or [])


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
    return_folds : False, str or list of str, default=False
        Results of the fits on the splits with the best configuration. If `refit` is a
        callable, the estimators of all trials are kept until the search ends.

        - "estimators" stores the fitted estimators as ``fold_estimators_``.
        - The name of a method, such as "predict" or "predict_proba", stores its outputs
          as ``oof_predictions_``. For each sample, the method is called on the
          estimator that was fitted without this sample. Requires a `cv` that tests each
          sample exactly once.
        - A list contains "estimators", a method, or both. With "all" in the list, the
          results of all complete trials are also stored. The estimators of all trials
          are then in memory at the same time.

    Attributes
    ----------
    fold_estimators_ : list of estimators
        Estimators fitted on the splits with the best configuration, if `return_folds`
        contains "estimators".
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        Out-of-fold predictions in the order of the samples, if `return_folds` contains
        a method.
    all_fold_estimators_ : list of (list of estimators or None)
        Estimators fitted on the splits for each row of ``cv_results_``, if
        `return_folds` contains "all" and "estimators". None for a trial that was not
        complete.
    all_oof_predictions_ : list of (ndarray or None)
        Out-of-fold predictions for each row of ``cv_results_``, if `return_folds`
        contains "all" and a method.
    """

    name = "kept_fits"
    parameters = (
        Parameter(
            "return_folds",
            ["boolean", str, list, tuple],
            default=False,
            changes_trials=False,
        ),
    )
    conflicts = (
        Conflict(
            "return_folds",
            "refit",
            [False],
            "The fits are those of the best trial, which refit chooses.",
        ),
    )

    @classmethod
    def is_on(cls, run: SearchRun) -> bool:
        """Return whether fitted estimators are kept.

        With rounds, a fit has more rounds than its score. The fits of the best trial
        are then repeated after the search.
        """
        return super().is_on(run) and not is_given(run.settings.get("rounds"))

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
        settings = self.run.settings
        if callable(settings["refit"]) or returns_all(settings["return_folds"]):
            return  # a callable may choose any trial
        candidates = History([trial] if self._best is None else [self._best, trial])
        self._best = candidates.best
        for candidate in candidates:
            if candidate is not self._best:
                self.kept.pop(candidate.number, None)
