"""A search in stages: one loop after another, on the same workers and in one journal.

A stage begins when the one before has ended, so that whatever it is made of (the best
configurations so far, a model of all trials) does not depend on the timing. Numbers of
trials go on from stage to stage.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skbayes.evaluation.evaluator import CandidateEvaluator, on_full_data
from skbayes.evaluation.subsets import Fidelity
from skbayes.evaluation.trial import History
from skbayes.loop.scheduler import Budget, Scheduler, StopReason

__all__ = ["Outcome", "Stage", "run_stages"]

logger = logging.getLogger("skbayes")

Params = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """A part of a search with an optimizer of its own.

    Parameters
    ----------
    make_optimizer : callable
        ``make_optimizer(seed, history)``, called when the stage begins, with the trials
        of all stages before it.
    n_trials : int
        The most trials, at least 1.
    setting : callable, default=on_full_data
        ``setting(k, params)``: of the stage's k-th trial, from 0, and what was proposed
        for it, the parameters to set and the
        :class:`~skbayes.evaluation.subsets.Fidelity` that it is made on. The setting's
        `stage` is filled in.
    weight : float, default=1.0
        What a trial is expected to take, relative to those of other stages.
    n_points : int, default=1
        How many of its trials are under way at a time, if that is more than in the
        search at large.
    """

    make_optimizer: Callable[[int, History], Any]
    n_trials: int
    setting: Callable[[int, Params], tuple[Params, Fidelity]] = on_full_data
    weight: float = 1.0
    n_points: int = 1


@dataclass
class Outcome:
    """What the stages of a search gave.

    Parameters
    ----------
    optimizers : list of object
        Those of the stages that began.
    history : History
        The trials of all stages.
    kept : dict of int to list
        Fitted estimators, by the trial's number.
    stop_reason : str
        Why the last stage that began has ended.
    """

    optimizers: list[Any]
    history: History = field(default_factory=History)
    kept: dict[int, list] = field(default_factory=dict)
    stop_reason: str = StopReason.N_ITER


def run_stages(
    stages: Sequence[Stage],
    optimizer: Any,
    seed: int,
    evaluator: CandidateEvaluator,
    executor: Any,
    budget: Budget,
    *,
    log: Any,
    n_points: int = 1,
    report: Callable | None = None,
    score_of: Callable | None = None,
    on_interrupt: Callable[[], None] = lambda: None,
    on_death: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run one stage after the other.

    Parameters
    ----------
    stages : sequence of Stage
        At least one.
    optimizer : object
        That of the first stage.
    seed : int
        Given to those of the others.
    evaluator : CandidateEvaluator
        Makes the trials; each stage works with a copy that has seen none.
    executor : TrialExecutor
        Runs them.
    budget : Budget
        Of the search; its `n_iter` and `n_configurations` are those of the stages. Each
        stage may take its share of the time that is left, by trials and weight. A
        stopper sees the trials of one stage, and ends that one; a callback ends the
        search.
    log : NullJournal or Journal
        Keeps proposals, results and where stages begin.
    n_points : int, default=1
        Trials in flight.
    report : callable, default=None
        Called after each trial was told, with the trial and the history.
    score_of : callable, default=None
        Returns what an optimizer is told of a trial. None: its score.
    on_interrupt, on_death : callable, default=None
        As for :meth:`skbayes.loop.scheduler.Scheduler.run`.

    Returns
    -------
    outcome : Outcome
        What they gave.

    Raises
    ------
    KeyboardInterrupt, Exception
        As `run` does.
    """
    start = budget.clock()
    outcome = Outcome([optimizer])
    for index, stage in enumerate(stages):
        first = len(outcome.history)
        if index > 0:
            log.record_stage(index, first)
            optimizer = stage.make_optimizer(seed, outcome.history)
            outcome.optimizers.append(optimizer)
            logger.info("stage %d begins after %d trials", index + 1, first)
        its_budget = dataclasses.replace(
            budget,
            n_iter=stage.n_trials,
            n_configurations=optimizer.n_configurations,
            timeout=_share(stages[index:], budget, start),
        )
        if index + 1 in log.stages:
            # It has ended before, for whatever reason.
            n_trials = log.stages[index + 1] - first
            its_budget = Budget(n_trials)
        its_evaluator = dataclasses.replace(
            evaluator, setting=_in_stage(stage, index, first)
        )
        scheduler = Scheduler(
            optimizer,
            its_evaluator,
            executor,
            its_budget,
            n_points=max(n_points, stage.n_points),
            log=log,
            report=report,
            score_of=score_of,
            history=outcome.history,
        )
        outcome.stop_reason = scheduler.run(on_interrupt, on_death)
        outcome.kept |= its_evaluator.kept
        if outcome.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
            break
    return outcome


def _share(stages: Sequence[Stage], budget: Budget, start: float) -> float | None:
    """Seconds that the first of the stages to come may take."""
    if budget.timeout is None:
        return None
    left = budget.timeout - (budget.clock() - start)
    weights = [stage.n_trials * stage.weight for stage in stages]
    return max(0.0, left) * weights[0] / sum(weights)


def _in_stage(
    stage: Stage, index: int, first: int
) -> Callable[[int, Params], tuple[Params, Fidelity]]:
    def setting(number: int, params: Params) -> tuple[Params, Fidelity]:
        params, its_setting = stage.setting(number - first, params)
        return params, dataclasses.replace(its_setting, stage=index)

    return setting
