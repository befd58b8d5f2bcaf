"""Fitted estimators of the folds: the parameter `return_folds`."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np
from sklearn.utils.multiclass import type_of_target

from skbayes.trial.aspect import Aspect, Evaluation
from skbayes.trial.fold import FoldAspect, FoldCall, Job
from skbayes.trial.records import FoldResult, History, Trial, TrialState


class PortableFit:
    """Fitted estimator; None in another process if it cannot be pickled."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __getstate__(self) -> dict[str, bytes]:
        with contextlib.suppress(Exception):
            return {"content": cloudpickle.dumps(self.estimator)}
        return {"content": b""}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self.estimator = None
        with contextlib.suppress(Exception):
            self.estimator = pickle.loads(state["content"])


class _FoldFits(FoldAspect):
    """Return of the fitted estimator from the worker."""

    needs_estimator = True
    affects_errors = False

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Keep the fitted estimator."""
        return result.with_transient(fit=PortableFit(call.estimator))


class FoldEstimators(Aspect):
    """Fitted estimators of the best trial, or of all trials."""

    name = "fold_estimators"

    # Best trial of the stage.
    _best: Trial | None = None

    def prepare(self, spaces: Any, routed: Any) -> Any:
        """Check that there is a best trial."""
        self.by_trial: dict[int, list] = {}  # by number of the trial
        if self.settings.refit.plain is False:
            raise ValueError(
                f"return_folds={self.settings.params['return_folds']!r} and "
                "refit=False cannot be combined. The fits belong to the best trial, "
                "which refit chooses."
            )
        return spaces

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Check that each estimator, which may be the best one, has the method."""
        method = self.settings.return_folds.method
        if method is None:
            return
        if not all(hasattr(model, method) for model in models):
            raise ValueError(
                f"return_folds: {method!r} is not 'estimators' or a method of the "
                "estimator with each configuration of search_spaces. Use another one."
            )
        if method in ("predict_proba", "predict_log_proba") and job.y is not None:
            if type_of_target(job.y) == "multiclass-multioutput":
                raise ValueError(
                    f"return_folds={method!r} is not possible with several targets of "
                    "more than two classes. Use return_folds='predict'."
                )
        tested = np.concatenate([np.asarray(test) for _, test in job.splits])
        if not np.array_equal(np.sort(tested), np.arange(job.n_samples)):
            raise ValueError(
                "return_folds: out-of-fold predictions require a cv whose test sets "
                "contain every sample exactly once, such as KFold."
            )

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that returns the estimator of a fit.

        With early stopping, a fit has more rounds than its score. The fits of the best
        trial are then repeated after the search.
        """
        return None if self.settings.scores_rounds else _FoldFits()

    def begin_stage(self, role: str) -> None:
        """Forget the best trial of the stage before."""
        self._best = None

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Store the estimators of a trial, if all of its folds were fitted."""
        portable = [fold.transient.get("fit") for fold in trial.folds]
        fits = [fit and fit.estimator for fit in portable]
        if all(fit is not None for fit in fits):
            self.by_trial[trial.number] = fits
        return trial

    def seconds_after(self, history: History) -> float:
        """Return the seconds in which trials are fitted again for their estimators."""
        trials, of_all = history.best_first(), self.settings.return_folds.of_all
        return sum(
            len(trial.folds) * float(np.nanmax(trial.fit_times))
            for place, trial in enumerate(trials if of_all else trials[:1])
            if trial.number not in self.by_trial and (place == 0 or trial.fitted.all())
        )

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Drop the estimators of a trial that is not the best one."""
        refit, requested = self.settings.refit.plain, self.settings.return_folds
        if callable(refit) or requested.of_all:
            return {}  # a callable may choose any trial
        if self._best is None and trial.state == TrialState.COMPLETE:
            # The best trial of the previous stage is no longer the best one.
            for number in [n for n in self.by_trial if n < trial.number]:
                del self.by_trial[number]
        candidates = History([trial] if self._best is None else [self._best, trial])
        self._best = candidates.best
        for candidate in candidates:
            if candidate is not self._best:
                self.by_trial.pop(candidate.number, None)
        return {}
