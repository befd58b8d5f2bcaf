"""Pruning: trials without a chance to become the best skip their other folds."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from skbayes import compat
from skbayes.evaluation.aspect import Aspect
from skbayes.evaluation.fold import Outcomes
from skbayes.evaluation.trial import TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation


class Pruning(Aspect):
    """Comparison of the first folds of a trial with the best complete trial."""

    name = "pruning"
    parameters = {
        "pruning": ["boolean", compat.Interval(Real, 0, 0.5, closed="neither")]
    }

    def folds_at_a_time(self, n_workers: int) -> float:
        """Return 1."""
        return 1

    def verdict(self, plan: Evaluation, earlier: Outcomes) -> TrialState | None:
        """Prune a trial whose probability to become the best is below the risk."""
        scores = plan.guiding_scores(earlier)
        if scores is None:
            return None
        risk = self.run.pruning_risk
        assert risk is not None
        race = plan.race(plan.places[: len(scores)])
        return TrialState.PRUNED if race.chance(scores) < risk else None
