"""Stages of a search: each is scheduled after the one before, in one history."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from skbayes.evaluation.run import NullJournal, SearchRun, Stage
from skbayes.evaluation.trial import History
from skbayes.loop.scheduler import Budget, Scheduler, StopReason

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import CandidateEvaluator


logger = logging.getLogger("skbayes")

Params = dict[str, Any]


@dataclasses.dataclass
class Outcome:
    """Outcome of a search: optimizers and trials of the stages that have begun.

    `stop_reason` is that of the last stage, and `unfinished` are the configurations
    that were dropped at the end of the timeout.
    """

    optimizers: list[Any]
    history: History = dataclasses.field(default_factory=History)
    stop_reason: str = StopReason.N_ITER
    unfinished: dict[int, Params] = dataclasses.field(default_factory=dict)


def run_stages(
    run: SearchRun,
    journal: NullJournal,
    evaluator: CandidateEvaluator,
    executor: Any,
    budget: Budget,
    report: Callable | None = None,
) -> Outcome:
    """Run the stages in order, each with a copy of the evaluator.

    Each stage has a share of the remaining time, by trials and weight. A stopper
    observes the trials of one stage and ends that stage; a callback ends the search.
    No stage begins after the end of the timeout.
    """
    if budget.timeout is not None:
        deadline = budget.clock() + budget.timeout
        budget = dataclasses.replace(budget, deadline=deadline)
    stages, optimizer = run.stages, run.optimizer
    outcome = Outcome([optimizer])
    for index, stage in enumerate(stages):
        first = len(outcome.history)
        if index > 0:
            journal.record_stage(index, first)
            optimizer = stage.make_optimizer(run, outcome.history)
            outcome.optimizers.append(optimizer)
            logger.info("stage %d begins after %d trials", index + 1, first)
        if index + 1 in journal.stages:
            # The stage ended in an earlier run.
            its_budget = Budget(journal.stages[index + 1] - first)
        else:
            its_budget = _budget_of_stage(run, stages[index:], budget, optimizer)
        assign = functools.partial(stage.assigned, index, first)
        its_evaluator = dataclasses.replace(evaluator, assign=assign)
        n_points = max(run.n_points, stage.n_points)
        seconds = None if its_budget.timeout is None else its_budget.timeout * n_points
        if hasattr(optimizer, "limit_costs"):
            optimizer.limit_costs(run.options.limits.trial_timeout, seconds or None)
        scheduler = Scheduler(
            optimizer,
            its_evaluator,
            executor,
            its_budget,
            n_points=n_points,
            journal=journal,
            report=report,
            score_of=run.objective.of_trial,
            history=outcome.history,
            stage=index,
        )
        backend = evaluator.backend
        outcome.stop_reason = scheduler.run(backend.stop, backend.renew)
        outcome.unfinished |= scheduler.unfinished
        if outcome.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
            break
        if index + 1 < len(stages) and budget.clock() > budget.deadline:
            outcome.stop_reason = StopReason.TIMEOUT
            break
    return outcome


def _budget_of_stage(
    run: SearchRun, stages: Sequence[Stage], budget: Budget, optimizer: Any
) -> Budget:
    """Return the budget of the first of the remaining stages."""
    timeout = None
    if budget.timeout is not None:
        weights = [stage.n_trials * stage.weight_in(run) for stage in stages]
        # The weights of searches without a number of trials are infinite.
        share = 1.0 if len(stages) == 1 else weights[0] / sum(weights)
        timeout = share * max(0.0, budget.deadline - budget.clock())
    return dataclasses.replace(
        budget,
        n_iter=stages[0].n_trials,
        n_configurations=optimizer.n_configurations,
        timeout=timeout,
    )
