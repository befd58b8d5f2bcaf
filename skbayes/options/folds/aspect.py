"""Fitted estimators of the folds: the parameter `return_folds`."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect, FoldCall
from skbayes.trial.options import oof_method, returns_all, several_outputs
from skbayes.trial.records import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.trial.aspect import Evaluation
    from skbayes.trial.objectives import Objective
    from skbayes.trial.plan import Plan


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
    """Part that returns the fitted estimator."""

    needs_estimator = True
    affects_errors = False

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Keep the fitted estimator."""
        return result.keeping(fit=PortableFit(call.estimator))


class KeptFits(Aspect):
    """Fitted estimators of the best trial, or of all trials."""

    name = "kept_fits"

    def __init__(self, plan: Plan) -> None:
        # All stages share the fits, by number of the trial.
        self.kept: dict[int, list] = plan.notes.setdefault(self.name, {})
        self._best: Trial | None = None

    @classmethod
    def is_on(cls, plan: Plan) -> bool:
        """Return whether the fits are kept.

        With early stopping, a fit has more rounds than its score. The fits of the best
        trial are then repeated after the search.
        """
        return not plan.scores_rounds

    @classmethod
    def prepare(
        cls,
        settings: Mapping[str, Any],
        spaces: Any,
        objective: Objective,
        routed: Any,
    ) -> tuple[Any, None]:
        """Check that there is a best trial."""
        returned = settings["return_folds"]
        if settings["refit"] is False:
            raise ValueError(
                f"return_folds={returned!r} and refit=False cannot be combined. The "
                "fits belong to the best trial, which refit chooses."
            )
        return spaces, None

    @classmethod
    def check(cls, plan: Plan, models: Sequence[Any]) -> None:
        """Check that each estimator, which may be the best one, has the method."""
        method = oof_method(plan.settings["return_folds"])
        if method is not None and not all(hasattr(m, method) for m in models):
            raise ValueError(
                f"return_folds: {method!r} is not 'estimators' or a method of the "
                "estimator, with each configuration of search_spaces."
            )
        # For several labels of two classes, the output depends on the estimator.
        if method in ("predict_proba", "predict_log_proba") and plan.y is not None:
            several = type_of_target(plan.y) == "multiclass-multioutput"
            if several and is_classifier(plan.model):
                raise several_outputs(method)

    def fold_aspect(self) -> FoldAspect:
        """Return the part that returns the estimator of a fit."""
        return _FoldFits()

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Keep the estimators of a trial, if all of its folds were fitted."""
        parts = [fold.kept.get("fit") for fold in trial.folds]
        fits = [part.estimator for part in parts if part is not None]
        if len(fits) == len(parts) and all(fit is not None for fit in fits):
            self.kept[trial.number] = fits
        return trial

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Drop the estimators of a trial that is not the best one."""
        everything = returns_all(self.plan.settings["return_folds"])
        if callable(self.plan.refit.plain) or everything:
            return {}  # a callable may choose any trial
        if self._best is None and trial.state == TrialState.COMPLETE:
            # The best trial of the previous stage is no longer the best one.
            for number in [number for number in self.kept if number < trial.number]:
                del self.kept[number]
        candidates = History([trial] if self._best is None else [self._best, trial])
        self._best = candidates.best
        for candidate in candidates:
            if candidate is not self._best:
                self.kept.pop(candidate.number, None)
        return {}
