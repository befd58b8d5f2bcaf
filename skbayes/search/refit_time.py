"""Expected time of the refit, which is reserved from a timeout."""

from __future__ import annotations

from skbayes.search.final_model import MAX_MEMBERS
from skbayes.search.ladder import EXPONENT, Costs, TimedLadder
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial


def refit_seconds(history: History, plan: Plan, on_samples: bool = False) -> float:
    """Return the expected seconds of the refit after some trials.

    They are those of the best trial, of the best ones for an ensemble, or of the last
    trial if none is complete. With `on_samples`, the refit has the fraction of the rows
    that the trial has.
    """
    if plan.refit.plain is False or not history:
        return 0.0

    def share_of_time(trial: Trial) -> float:
        """Return the time of a fit relative to one on all rows of a training set."""
        share = trial.fidelity.train_fraction
        if on_samples or not isinstance(plan.ladder, TimedLadder):
            return 1.0 if on_samples else share
        costs = Costs.measured(history, 1)
        if len(costs.first) < 2:
            return float(share**EXPONENT)
        return costs.of_fit(share) / costs.of_fit(1.0)

    trials = [history.best] if history.best is not None else []
    if plan.refit.rule == "ensemble":
        n_members = plan.refit.options.get("max_members", MAX_MEMBERS)
        trials = history.best_first()[:n_members]
    return sum(
        plan.seconds_on_all_rows(trial.folds, share_of_time(trial))
        for trial in trials or history[-1:]
    )
