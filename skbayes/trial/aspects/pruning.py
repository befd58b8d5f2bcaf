"""Pruning: trials without a chance to become the best skip their other folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import Results
from skbayes.trial.pruning import first_scores, race_of
from skbayes.trial.records import TrialState

if TYPE_CHECKING:
    from skbayes.trial.evaluator import Evaluation


class Pruning(Aspect):
    """Comparison of the first folds of a trial with the best complete trial."""

    name = "pruning"

    def begin(self, evaluation: Evaluation) -> None:
        """Let the folds run one after the other; the first one depends on the trial.

        Similar configurations have similar residuals, and would all be pruned if the
        first fold disfavors them.
        """
        places = [index for group in evaluation.groups for index in group]
        first = evaluation.number % len(places)
        places = places[first:] + places[:first]
        evaluation.groups = [[index] for index in places]

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Prune a trial whose probability to become the best is below the risk."""
        if not evaluation.complete:  # the metric may not be known yet
            return None
        objective, risk = self.plan.objective, self.plan.pruning_risk
        scores = first_scores([*earlier.values()], objective)
        if scores is None:
            return None
        assert risk is not None
        race = race_of(evaluation.complete, [*earlier], objective)
        return TrialState.PRUNED if race.chance(scores) < risk else None
