"""Expected time of the refit, which is reserved from a timeout."""

from __future__ import annotations

from skbayes.trial.options import MAX_MEMBERS
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
        return 1.0 if on_samples else plan.ladder.share_of_time(trial, history)

    trials = [history.best] if history.best is not None else []
    if plan.refit.rule == "ensemble":
        n_members = plan.refit.options.get("max_members", MAX_MEMBERS)
        trials = history.best_first()[:n_members]
    return sum(
        plan.seconds_on_all_rows(trial.folds, share_of_time(trial))
        for trial in trials or history[-1:]
    )
