"""Racing: trials without a chance to become the best skip their other folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skbayes.evaluation.aspect import Aspect
from skbayes.evaluation.fold import FoldOutcome
from skbayes.evaluation.racing import race_of

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation

__all__ = ["Racing"]


class Racing(Aspect):
    """Comparison of the first folds of a trial with the best complete trial."""

    name = "racing"
    one_fold_at_a_time = True

    def is_over(self, plan: Evaluation, earlier: Sequence[FoldOutcome]) -> bool:
        """Return whether the probability to become the best is below the risk."""
        scores = plan.guiding_scores(earlier)
        if scores is None or len(scores) == plan.n_folds:
            return False
        risk = self.run.options.pruning_risk
        assert risk is not None
        race = race_of(plan.complete_scores, range(len(scores)))
        return race.chance(scores) < risk
