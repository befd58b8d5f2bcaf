"""Out-of-fold predictions of the trials, for ensembles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from skbayes.options.ensembles.responses import Response, measured_response
from skbayes.trial.aspect import Aspect, Evaluation
from skbayes.trial.fast_metrics import Target
from skbayes.trial.fold import FoldAspect, FoldCall, Job
from skbayes.trial.records import FoldResult, Trial, TrialState

# Maximum number of trials whose predictions are stored, and their size in bytes.
MAX_STORED, MEMORY_LIMIT = 100, 1e9


@dataclass
class PredictionStore:
    """Predictions of the best trials on each test set, by number of the trial."""

    responses: dict[int, list[Response]] = field(default_factory=dict)
    # Stage and score; the trials of earlier stages are dropped first.
    _ranks: dict[int, tuple[int, float]] = field(default_factory=dict)

    def add(self, trial: Trial, responses: list[Response]) -> None:
        """Add a trial, and drop the worst ones beyond the limits."""
        self.responses[trial.number] = responses
        self._ranks[trial.number] = trial.fidelity.stage, trial.score
        while len(self._ranks) > MAX_STORED or self._size > MEMORY_LIMIT:
            worst = min(self._ranks, key=lambda k: (self._ranks[k], -k))
            del self._ranks[worst], self.responses[worst]

    @property
    def _size(self) -> int:
        by_trial = self.responses.values()
        return sum(fold.values.nbytes for folds in by_trial for fold in folds)


class _FoldPredictions(FoldAspect):
    """Predictions on the test set for the target."""

    needs_estimator = True
    affects_errors = False

    def __init__(self, target: Target) -> None:
        self.target = target

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Pass on the predictions until the trial is closed."""
        if result.fit_error is not None:
            return result
        X, _ = call.test_set()
        try:
            response = measured_response(call.estimator, X, self.target)
        except Exception:  # such as the error for which scoring failed, too
            if call.raises:
                raise
            return result
        return result.with_transient(response=response)


class Predictions(Aspect):
    """Out-of-fold predictions of the best complete trials."""

    name = "predictions"

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Determine the kind of the target."""
        self._target, self.store = Target.of(models[0], job.y), PredictionStore()

    def fold_aspect(self) -> FoldAspect:
        """Return the part that predicts the test set."""
        return _FoldPredictions(self._target)

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Store the predictions of a trial that can be a member of an ensemble."""
        responses: list[Any] = [fold.transient.get("response") for fold in trial.folds]
        is_usable = trial.state == TrialState.COMPLETE and trial.feasible
        if is_usable and None not in responses and math.isfinite(trial.score):
            self.store.add(trial, responses)
        return trial
