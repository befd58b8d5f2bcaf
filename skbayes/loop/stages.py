"""Stages of a search: successive loops on the same workers and in one journal.

A stage begins after the end of the stage before. Its inputs (such as the best
configurations so far, or a model of all trials) therefore do not depend on timing. The
numbers of trials continue from stage to stage.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skbayes.evaluation.evaluator import CandidateEvaluator, on_full_data
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import FULL_DATA, Fidelity
from skbayes.evaluation.trial import History
from skbayes.loop.scheduler import Budget, Scheduler, StopReason

__all__ = ["Outcome", "Stage", "run_stages"]

logger = logging.getLogger("skbayes")

Params = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """Part of a search with a separate optimizer.

    Parameters
    ----------
    make_optimizer : callable
        ``make_optimizer(run, history)``, called at the start of the stage with the
        trials of all earlier stages.
    n_trials : int
        Maximum number of trials, at least 1.
    assign : callable, default=on_full_data
        ``assign(k, params)``. For the k-th trial of the stage, from 0, and its proposed
        configuration, it returns the parameters to set and the
        :class:`~skbayes.evaluation.subsets.Fidelity`, whose `stage` is filled in.
    fidelities : sequence of Fidelity, default=(FULL_DATA,)
        All fidelities that `assign` can return.
    weight : float or None, default=None
        Expected time of a trial, relative to those of other stages. None: the share of
        the training rows.
    n_points : int, default=1
        Number of trials in parallel, if larger than that of the search.
    """

    make_optimizer: Callable[[SearchRun, History], Any]
    n_trials: int
    assign: Callable[[int, Params], tuple[Params, Fidelity]] = on_full_data
    fidelities: Sequence[Fidelity] = (FULL_DATA,)
    weight: float | None = None
    n_points: int = 1

    def weight_in(self, run: SearchRun) -> float:
        """Return the expected time of a trial, relative to those on all rows."""
        if self.weight is None:
            return run.train_fraction(self.fidelities[0])
        return self.weight


@dataclass
class Outcome:
    """Outcome of a search with all its stages.

    Parameters
    ----------
    optimizers : list of object
        Optimizers of the stages that have begun.
    history : History
        Trials of all stages.
    kept : dict of int to list
        Fitted estimators, by trial number.
    stop_reason : str
        Stop reason of the last stage that has begun.
    unfinished : dict of int to dict
        Configurations of the trials that were dropped at the end of the timeout.
    """

    optimizers: list[Any]
    history: History = field(default_factory=History)
    kept: dict[int, list] = field(default_factory=dict)
    stop_reason: str = StopReason.N_ITER
    unfinished: dict[int, Params] = field(default_factory=dict)


def run_stages(
    run: SearchRun,
    stages: Sequence[Stage],
    optimizer: Any,
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
    start = budget.clock()
    if budget.timeout is not None:
        budget = dataclasses.replace(budget, deadline=start + budget.timeout)
    journal = run.journal
    outcome = Outcome([optimizer])
    for index, stage in enumerate(stages):
        first = len(outcome.history)
        if index > 0:
            journal.record_stage(index, first)
            optimizer = stage.make_optimizer(run, outcome.history)
            outcome.optimizers.append(optimizer)
            logger.info("stage %d begins after %d trials", index + 1, first)
        its_budget = dataclasses.replace(
            budget,
            n_iter=stage.n_trials,
            n_configurations=optimizer.n_configurations,
            timeout=_share(run, stages[index:], budget, start),
        )
        if index + 1 in journal.stages:
            # The stage ended in an earlier run.
            its_budget = Budget(journal.stages[index + 1] - first)
        its_evaluator = dataclasses.replace(
            evaluator, assign=_in_stage(stage, index, first)
        )
        n_points = max(run.n_points, stage.n_points)
        seconds = None if its_budget.timeout is None else its_budget.timeout * n_points
        if hasattr(optimizer, "limit_costs"):
            optimizer.limit_costs(run.options.trial_timeout, seconds or None)
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
        )
        backend = evaluator.backend
        outcome.stop_reason = scheduler.run(backend.stop, backend.renew)
        outcome.kept |= its_evaluator.kept
        outcome.unfinished |= scheduler.unfinished
        if outcome.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
            break
        if index + 1 < len(stages) and budget.clock() > budget.deadline:
            outcome.stop_reason = StopReason.TIMEOUT
            break
    return outcome


def _share(
    run: SearchRun, stages: Sequence[Stage], budget: Budget, start: float
) -> float | None:
    """Return the seconds available to the first of the remaining stages."""
    if budget.timeout is None:
        return None
    left = budget.timeout - (budget.clock() - start)
    weights = [stage.n_trials * stage.weight_in(run) for stage in stages]
    return max(0.0, left) * weights[0] / sum(weights)


def _in_stage(
    stage: Stage, index: int, first: int
) -> Callable[[int, Params], tuple[Params, Fidelity]]:
    def assign(number: int, params: Params) -> tuple[Params, Fidelity]:
        params, fidelity = stage.assign(number - first, params)
        return params, dataclasses.replace(fidelity, stage=index)

    return assign
