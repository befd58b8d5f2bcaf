"""Fitted estimators of the folds: the parameter `return_folds`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skbayes.evaluation.aspect import Aspect, FoldAspect, Parameter
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.options import oof_method, returns_all, several_outputs
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun


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
    condition = "keeps_fits"

    def __init__(self, run: SearchRun) -> None:
        super().__init__(run)
        # All stages share the fits, by number of the trial.
        self.kept: dict[int, list] = run.notes.setdefault(self.name, {})
        self._best: Trial | None = None

    @classmethod
    def prepare(
        cls, search: Any, spaces: Any, objective: Any, y: Any, fit_params: Any
    ) -> tuple[Any, None]:
        """Check that there is a best trial, and that it has the method."""
        returned = search.return_folds
        if search.refit is False:
            raise ValueError(
                f"return_folds={returned!r} and refit=False cannot be combined. The "
                "fits are those of the best trial, which refit chooses."
            )
        method = oof_method(returned)
        if method is not None and not hasattr(search.estimator, method):
            raise ValueError(
                f"return_folds: {method!r} is not 'estimators' or a method of the "
                "estimator."
            )
        # For several labels of two classes, the output depends on the estimator.
        if method in ("predict_proba", "predict_log_proba") and y is not None:
            several = type_of_target(y) == "multiclass-multioutput"
            if several and is_classifier(search.estimator):
                raise several_outputs(method)
        return spaces, None

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
        everything = returns_all(self.run.settings["return_folds"])
        if callable(self.run.refit.plain) or everything:
            return  # a callable may choose any trial
        candidates = History([trial] if self._best is None else [self._best, trial])
        self._best = candidates.best
        for candidate in candidates:
            if candidate is not self._best:
                self.kept.pop(candidate.number, None)
