"""Running search: its journal, callbacks, workers, budget, stages and reports."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.failures import FailingStart, naming_strings
from skbayes.loop.progress import Lines, PlannedStage, Report, progress_bar
from skbayes.loop.scheduler import Budget, Scheduler, StopReason
from skbayes.search import outside
from skbayes.search.parameters import SearchParameters
from skbayes.search.preparation import nearest_point
from skbayes.trial.backend import Backend
from skbayes.trial.evaluator import (
    CandidateEvaluator,
    can_end_fits,
    make_backend,
    make_job,
)
from skbayes.trial.fold import Job
from skbayes.trial.plan import (
    Allowance,
    NullJournal,
    Plan,
    Progress,
    Stage,
    StageStart,
)
from skbayes.trial.records import History, Trial
from skbayes.trial.settings import MAX_MEMBERS
from skbayes.utils.optional import warn_or_log, warn_user

logger = logging.getLogger("skbayes")

# Default maximum number of trials in progress with pruning. With more, too few trials
# are finished when one is proposed or pruned.
MAX_IN_FLIGHT_PRUNING = 16


@dataclass
class Outcome:
    """Outcome of a search: optimizers and trials of the stages that have begun.

    `stop_reason` is the reason for the end of the last stage. With `is_over`, no other
    stage may begin. With a timeout, the refit is expected to take `refit_seconds`.
    """

    optimizers: list[Any]
    history: History = field(default_factory=History)
    stop_reason: str = StopReason.N_ITER
    is_over: bool = False
    refit_seconds: float = 0.0


@dataclass(frozen=True)
class RunningSearch:
    """Search whose callbacks and journal are open.

    The number of trials in flight, `n_points`, is read from the journal if there is
    one. The `optimizer` is for the first stage. `begin` is by `time.perf_counter`.
    """

    search: SearchParameters
    plan: Plan
    context: ExecutionContext
    journal: NullJournal
    optimizer: Any
    n_points: int
    begin: float

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls,
        search: SearchParameters,
        plan: Plan,
        params: Mapping[str, Any],
        begin: float,
    ) -> Iterator[RunningSearch]:
        """Open the callbacks and the journal of a search, until its refit has ended.

        `params` are the arguments of `fit`.
        """
        optimizer = plan.ladder.stages[0].make_optimizer(plan, History())
        with contextlib.ExitStack() as stack:
            stack.enter_context(naming_strings(plan.X))
            if "mlflow" in sys.modules:
                data = plan.X, plan.y, params.get("sample_weight")
                stack.enter_context(outside.autologged(search, *data))
            stack.enter_context(plan.tasks.fit())
            pre_dispatch = search.pre_dispatch
            context = ExecutionContext(search.n_jobs, pre_dispatch)
            if can_end_fits(plan, context):
                context.wait_in_threads()
            journal = NullJournal()
            # By default, as many trials are in progress as keep the workers busy.
            n_points = context.trials_in_flight(len(plan.splits))
            if plan.settings.pruning_risk is not None:
                # With pruning, the fits of a trial run one after the other.
                n_points = min(context.trials_in_flight(1), MAX_IN_FLIGHT_PRUNING)
            if not isinstance(pre_dispatch, str):
                n_points = int(pre_dispatch)
            if search.journal is not None:
                file = stack.enter_context(outside.journal_of(search, plan, n_points))
                journal, n_points = file, file.n_points
                outside.check_recorded_scores(plan, file)
            yield cls(search, plan, context, journal, optimizer, n_points, begin)

    def run(self, trial_data: Callable[[Any], Any] | None = None) -> Outcome:
        """Run the trials of all stages; without any trial, return one without fits.

        The stages in the journal are run first, and then those that the ladder chooses.
        A stopper observes the trials of one stage and ends that stage; a callback ends
        the search. `trial_data`, if given, makes the data of the trials from the store
        of shared results.
        """
        outcome = Outcome([])
        history = outcome.history
        with self._workers(trial_data) as (evaluator, executor, budget, report):
            for stage, start, allowance in self._stages(outcome, budget):
                optimizer = outcome.optimizers[-1]
                n_points = max(self.n_points, stage.n_points)
                if hasattr(optimizer, "limit_costs"):
                    of_trial = self.plan.settings.limits.trial_timeout
                    limits = of_trial, allowance.trial_seconds
                    seconds = (allowance.seconds or 0.0) * n_points
                    limit = min(filter(None, limits), default=None)
                    optimizer.limit_costs(limit, seconds or None)
                scheduler = Scheduler(
                    optimizer,
                    evaluator.of_stage(start.stage, stage),
                    executor,
                    dataclasses.replace(
                        budget,
                        n_iter=allowance.n_trials,
                        timeout=allowance.seconds,
                        n_configurations=optimizer.n_configurations,
                    ),
                    n_points=n_points,
                    journal=self.journal,
                    report=report,
                    score_of=self.plan.objective.of_trial,
                    history=history,
                    start=start,
                )
                backend = evaluator.backend
                outcome.stop_reason = scheduler.run(backend.stop, backend.renew)
                outcome.is_over |= scheduler.is_over
            if budget.reserve is not None:
                outcome.refit_seconds = budget.reserve(history)
            if not history:
                evaluator = evaluator.of_stage(0, self.plan.ladder.stages[0])
                history.append(evaluator.untried(_untried_params(self.plan)))
        return outcome

    def _stages(
        self, outcome: Outcome, budget: Budget
    ) -> Iterator[tuple[Stage, StageStart, Allowance]]:
        """Yield each stage with its start, and the number and time of its trials."""
        plan, ladder, history = self.plan, self.plan.ladder, outcome.history
        recorded = list(self.journal.stages)
        stage: Stage | None = None
        is_open, is_full = True, False
        for index in itertools.count():
            is_recorded, last = index < len(recorded), stage
            n_before = len(history)
            if n_before >= ladder.n_trials or (outcome.is_over and not is_recorded):
                return
            seconds = None
            if budget.timeout is not None:
                seconds = max(0.0, budget.left(history))
            n_workers = self.context.n_workers
            progress = Progress(plan, history, seconds, n_workers, is_open, is_full)
            # Stages of an earlier run are run again, regardless of the time.
            if is_recorded:
                stage = ladder.stage_of(recorded[index])
            else:
                stage = ladder.following(last, progress)
            if stage is None:
                return
            if index > 0 and not is_recorded and seconds == 0.0:
                outcome.stop_reason = StopReason.TIMEOUT
                return
            if is_recorded or stage is not last:
                start = stage.start(len(outcome.optimizers), len(history))
                if is_recorded:
                    start = recorded[index]
                optimizer = self.optimizer
                if index > 0:
                    optimizer = stage.make_optimizer(plan, history)
                outcome.optimizers.append(optimizer)
                logger.info("stage %d begins: %s", start.stage + 1, start)
            if index + 1 < len(recorded):
                allowance = Allowance(recorded[index + 1].first - start.first)
            else:
                begun = self.journal.stages[: start.stage]
                allowance = ladder.allowance(stage, begun, progress)
            n_trials = allowance.n_trials
            if index + 1 == len(recorded):
                # It was the last stage of an earlier run.
                n_trials = max(n_trials, len(self.journal.proposals) - start.first)
            n_trials = min(n_trials, ladder.n_trials - start.first)
            yield stage, start, dataclasses.replace(allowance, n_trials=n_trials)
            # A stopper, or the end of the space, may have ended the stage.
            is_open = outcome.stop_reason in (StopReason.TIMEOUT, StopReason.N_ITER)
            is_open &= stage is not last or len(history) > n_before
            is_full = is_open and outcome.stop_reason == StopReason.N_ITER

    @contextlib.contextmanager
    def _workers(
        self, trial_data: Callable[[Any], Any] | None
    ) -> Iterator[tuple[CandidateEvaluator, TrialExecutor, Budget, Report]]:
        """Yield the evaluator, the executor, the whole budget, and the reports."""
        plan, context, stages = self.plan, self.context, self.plan.ladder.stages
        planned = [
            PlannedStage(
                min(stage.n_trials, self.optimizer.n_configurations),
                stage.weight_in(plan),
                max(self.n_points, stage.n_points) if context.can_overlap else 1,
            )
            for stage in stages
        ]
        n_planned = sum(stage.n_trials for stage in planned)
        n_points = max(self.n_points, *(stage.n_points for stage in stages))
        with (
            self._job(trial_data) as job,
            make_backend(plan, job, context) as backend,
            context.bounded_blas(),
            plan.tasks.searching(n_planned * len(plan.splits)),
            TrialExecutor(context, n_points, len(plan.splits)) as executor,
            self._reporting(planned, backend) as report,
        ):
            backend.warm_up()
            evaluator = CandidateEvaluator(plan, backend, n_planned)
            budget = self._begin_budget(backend, n_planned)
            yield evaluator, executor, budget, report

    @contextlib.contextmanager
    def _job(self, trial_data: Callable[[Any], Any] | None) -> Iterator[Job]:
        """Yield the job of the trials, with the store of shared results."""
        plan, context, limit = self.plan, self.context, self.search._cache_limit
        shares = any(aspect.needs_store for aspect in plan.aspects)
        X, store = plan.X, None
        with contextlib.ExitStack() as stack:
            if context.kind.is_local and (shares or trial_data is not None):
                opened = outside.temporary_store(context.temp_folder, limit)
                store = stack.enter_context(opened)
            if trial_data is not None:
                X, store = stack.enter_context(trial_data(store)), None
            for aspect in plan.aspects:
                aspect.begin_search(plan.space, store)
            yield make_job(plan, X)

    def _begin_budget(self, backend: Backend, n_planned: float) -> Budget:
        """Return the budget, and set the deadline of the backend.

        The time to start processes for the fits does not count, up to one second plus
        10% of the timeout.
        """
        settings = self.plan.settings
        budget = Budget(n_planned, stoppers=settings.stoppers)
        timeout = settings.limits.timeout
        if timeout is None:
            return budget
        elapsed = time.perf_counter() - self.begin
        left = timeout - elapsed + min(backend.start_time, 1.0 + 0.1 * timeout)
        backend.end_after(left)
        deadline = budget.clock() + left
        reserve = functools.partial(self._reserved, backend)
        return dataclasses.replace(
            budget, timeout=left, deadline=deadline, reserve=reserve
        )

    def _reserved(self, backend: Backend, history: History) -> float:
        """Return the expected seconds of the last fits, and reserve them."""
        if history:
            on_samples = self.search._refits_samples
            seconds = refit_seconds(history, self.plan, on_samples)
            repeated = (one.seconds_after(history) for one in self.plan.aspects)
            backend.reserved = seconds + sum(repeated)
        return backend.reserved

    def warn_of_long_refit(self, seconds: float) -> None:
        """Warn if the refit probably exceeds the timeout."""
        timeout = self.plan.settings.limits.timeout
        if timeout is None:
            return
        excess = time.perf_counter() - self.begin + seconds - timeout
        if min(seconds, excess) > 2.0 * (1.0 + 0.1 * timeout):
            warn_user(
                f"timeout={self.search.timeout!r}: the refit takes about "
                f"{seconds:.3g} s, so fit will exceed the limit by {excess:.3g} s. "
                "Increase timeout, or use refit=False."
            )

    @contextlib.contextmanager
    def _reporting(
        self, stages: list[PlannedStage], backend: Backend
    ) -> Iterator[Report]:
        """Yield the callback that reports and checks each finished trial."""
        plan, n_splits = self.plan, len(self.plan.splits)
        recalled, verbose = dict(self.journal.results), plan.verbose
        n_planned, in_flight = sum(stage.n_trials for stage in stages), self.n_points
        reports: list[Report] = []
        metric, scoring = plan.objective.name or "score", plan.settings.scoring
        if metric == "score" and isinstance(scoring, str):
            metric = scoring
        with contextlib.ExitStack() as stack:
            if plan.settings.verbose == "progress":
                bar = progress_bar(n_planned, recalled, metric)
                reports.append(stack.enter_context(bar))
            if verbose > 0:
                print(
                    f"Fitting {n_splits} folds for each of {n_planned} candidates, "
                    f"totalling {n_planned * n_splits} fits"
                    if math.isfinite(n_planned)
                    else f"Fitting {n_splits} folds for each candidate"
                )
                n_workers = self.context.n_workers
                is_given = not isinstance(self.search.pre_dispatch, str)
                if is_given and n_workers > in_flight * n_splits:
                    print(
                        f"{n_workers} workers can do more than "
                        f"{in_flight * n_splits} fits at a time: pre_dispatch="
                        "'2*n_jobs' would keep them busy."
                    )
                timeout = plan.settings.limits.timeout
                lines = Lines(stages, timeout, recalled, verbose > 1, metric)
                reports.append(lines)
            sizes = self.search._subset_parameter
            reports.append(FailingStart(plan, backend, sizes))
            bounds = plan.constraints
            announce = print if verbose > 0 else warn_or_log

            def report(trial: Trial, history: History) -> None:
                for observer in reports:
                    observer(trial, history)
                if bounds is not None and (
                    text := outside.unreachable_text(bounds, history)
                ):
                    announce(text)

            yield report


def _untried_params(plan: Plan) -> dict[str, Any]:
    """Return the estimator's own configuration, or the nearest one of the space."""
    params = nearest_point(plan.space, plan.current_values)
    if plan.space.allows(params):
        return params
    optimizer = plan.ladder.stages[0].make_optimizer(plan, History())
    return dict(optimizer.propose().params)


def refit_seconds(history: History, plan: Plan, on_samples: bool = False) -> float:
    """Return the expected seconds of the refit after some trials.

    They follow from the times of the best trial, of the best trials for an ensemble, or
    of the last trial if none is complete. With `on_samples`, the refit uses the same
    fraction of the rows as the trial.
    """
    if plan.refit.plain is False:
        return 0.0

    def share_of_time(trial: Trial) -> float:
        return 1.0 if on_samples else plan.ladder.share_of_time(trial, history)

    trials = [history.best] if history.best is not None else []
    if plan.refit.rule == "ensemble":
        n_members = plan.refit.options.get("max_members", MAX_MEMBERS)
        trials = history.best_first()[:n_members]
    return sum(
        plan.job.seconds_on_all_rows(trial.folds, share_of_time(trial))
        for trial in trials or history[-1:]
    )
