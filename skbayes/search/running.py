"""Running search: its journal, callbacks, workers, budget, stages and reports."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.journal.identity import describe_search, search_metadata
from skbayes.journal.journal import Journal
from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.failures import FailingStart, naming_strings
from skbayes.loop.progress import Lines, PlannedStage, Report, progress_bar
from skbayes.loop.scheduler import Budget, Scheduler, StopReason
from skbayes.search.parameters import SearchParameters
from skbayes.search.plan import draw_subsets, nearest_point
from skbayes.trial.aspects.constraints import unreachable_text
from skbayes.trial.backend import Backend
from skbayes.trial.evaluator import CandidateEvaluator, make_backend, make_job
from skbayes.trial.plan import NullJournal, Plan
from skbayes.trial.prefix_store import machine_store, temporary_store
from skbayes.trial.records import History, Trial, TrialState
from skbayes.utils.optional import warn_or_log

logger = logging.getLogger("skbayes")

# With more trials in progress, proposals and pruning have too few finished trials.
MAX_RACED_IN_FLIGHT = 16


@dataclass
class Outcome:
    """Outcome of a search: optimizers and trials of the stages that have begun.

    `stop_reason` is the reason for the end of the last stage.
    """

    optimizers: list[Any]
    history: History = field(default_factory=History)
    stop_reason: str = StopReason.N_ITER


@dataclass(frozen=True)
class RunningSearch:
    """Search whose callbacks and journal are open.

    The `plan` has the seed and the splits of the journal, and `n_points` is its number
    of trials in flight. The `optimizer` belongs to the first stage. `begin` is a time
    of `time.perf_counter`.
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
        optimizer = plan.stages[0].make_optimizer(plan, History())
        with contextlib.ExitStack() as stack:
            stack.enter_context(naming_strings(plan.X))
            if "mlflow" in sys.modules:
                from skbayes.tracking.mlflow_runs import autologged

                data = plan.X, plan.y, params.get("sample_weight")
                stack.enter_context(autologged(search, *data))
            stack.enter_context(plan.tasks.fit())
            given = plan.settings["pre_dispatch"]
            # Processes that can be killed need threads only. Callbacks need workers.
            in_threads = plan.limits.is_given and not plan.is_observed
            context = ExecutionContext(search.n_jobs, given, in_threads)
            journal = NullJournal()
            # By default, as many trials are in progress as keep the workers busy.
            n_points = context.trials_in_flight(len(plan.splits))
            if plan.pruning_risk is not None:
                # With pruning, the fits of a trial run one after the other.
                n_points = min(context.trials_in_flight(1), MAX_RACED_IN_FLIGHT)
            if not isinstance(given, str):
                n_points = int(given)
            if search.journal is not None:
                file = _journal_of(search, plan, params, n_points)
                journal = file = stack.enter_context(file)
                n_points, drawn = file.n_points, plan.seed
                job = dataclasses.replace(plan.job, splits=file.splits)
                plan = dataclasses.replace(plan, seed=file.seed, job=job)
                if file.seed != drawn:
                    optimizer = plan.stages[0].make_optimizer(plan, History())
                _check_recorded_scores(plan, file)
            subsets = draw_subsets(plan, search._subset_parameter)
            job = dataclasses.replace(plan.job, subsets=subsets)
            plan = dataclasses.replace(plan, job=job)
            yield cls(search, plan, context, journal, optimizer, n_points, begin)

    def run(self, trial_data: Callable[[Any], Any] | None = None) -> Outcome:
        """Run the trials of all stages, or return one that was not finished.

        Each stage has a share of the remaining time, by trials and weight. A stopper
        observes the trials of one stage and ends that stage; a callback ends the
        search. No stage begins after the end of the timeout. `trial_data`, if given,
        makes the data of the trials from the store of shared results.
        """
        plan, journal, optimizer = self.plan, self.journal, self.optimizer
        outcome = Outcome([optimizer])
        history = outcome.history
        with self._workers(trial_data) as (evaluator, executor, budget, report):
            backend = evaluator.backend
            for index, stage in enumerate(plan.stages):
                first = len(history)
                if index > 0:
                    journal.record_stage(index, first)
                its_budget = self._budget_of_stage(index, history, budget)
                if index > 0 and its_budget.n_iter:
                    optimizer = stage.make_optimizer(plan, history)
                    logger.info("stage %d begins after %d trials", index + 1, first)
                if index > 0:
                    outcome.optimizers.append(optimizer)
                if not its_budget.n_iter:
                    continue
                its_budget = dataclasses.replace(
                    its_budget, n_configurations=optimizer.n_configurations
                )
                n_points = max(self.n_points, stage.n_points)
                if hasattr(optimizer, "limit_costs"):
                    seconds = (its_budget.timeout or 0.0) * n_points
                    limits = [plan.limits.trial_timeout]
                    if stage.pace is not None and its_budget.timeout:
                        limits.append(stage.trial_share * its_budget.timeout)
                    limit = min(filter(None, limits), default=None)
                    optimizer.limit_costs(limit, seconds or None)
                scheduler = Scheduler(
                    optimizer,
                    evaluator.of_stage(index, stage),
                    executor,
                    its_budget,
                    n_points=n_points,
                    journal=journal,
                    report=report,
                    score_of=plan.objective.of_trial,
                    history=history,
                    stage=index,
                )
                outcome.stop_reason = scheduler.run(backend.stop, backend.renew)
                if outcome.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
                    break
                is_over = budget.clock() > budget.deadline
                if is_over and index + 1 < len(plan.stages):
                    outcome.stop_reason = StopReason.TIMEOUT
                    break
            if not history:
                evaluator = evaluator.of_stage(0, plan.stages[0])
                history.append(evaluator.untried(_untried_params(plan)))
        return outcome

    @contextlib.contextmanager
    def _workers(
        self, trial_data: Callable[[Any], Any] | None
    ) -> Iterator[tuple[CandidateEvaluator, TrialExecutor, Budget, Report | None]]:
        """Yield the evaluator, the executor, the whole budget, and the reports."""
        plan, context, overlap = self.plan, self.context, self.context.can_overlap
        stages = [
            PlannedStage(
                min(stage.n_trials, self.optimizer.n_configurations),
                stage.weight_in(plan),
                max(self.n_points, stage.n_points) if overlap else 1,
            )
            for stage in plan.stages
        ]
        n_planned = sum(stage.n_trials for stage in stages)
        n_points = max(self.n_points, *(stage.n_points for stage in plan.stages))
        with (
            self._shared_results(trial_data) as X,
            make_backend(plan, make_job(plan, X), context) as backend,
            context.bounded_blas(),
            plan.tasks.searching(n_planned * len(plan.splits)),
            TrialExecutor(context, n_points, len(plan.splits)) as executor,
            self._reporting(stages) as report,
        ):
            backend.warm_up(executor)
            evaluator = CandidateEvaluator(plan, backend, n_planned)
            budget = self._begin_budget(backend, n_planned)
            yield evaluator, executor, budget, report

    @contextlib.contextmanager
    def _shared_results(self, trial_data: Callable[[Any], Any] | None) -> Iterator[Any]:
        """Yield the data of the trials, with the store of shared results."""
        plan, context, limit = self.plan, self.context, self.search._cache_limit
        has_steps = type(plan.estimator) is Pipeline and len(plan.estimator.steps) > 1
        if trial_data is None and not has_steps:
            yield plan.X
            return
        opened_store: Any = temporary_store(context.temp_folder, limit)
        if not context.kind.is_local:
            everywhere = context.everywhere
            opened_store = machine_store(context.temp_folder, limit, everywhere)
        with opened_store as store:
            if trial_data is not None:
                with trial_data(store) as X:
                    yield X
            else:
                plan.notes["shared_steps"] = store
                yield plan.X
                del plan.notes["shared_steps"]

    def _begin_budget(self, backend: Backend, n_planned: float) -> Budget:
        """Return the budget, and limit the backend.

        Of the time to start processes for the fits, one second and 10% of the timeout
        do not count. The search should return one second later at most.
        """
        plan, left = self.plan, None
        timeout = plan.limits.timeout
        if timeout is not None:
            elapsed = time.perf_counter() - self.begin
            left = timeout - elapsed + min(backend.start_time, 1.0 + 0.1 * timeout)
            backend.end_after(left)
        # A finite `error_score` hides failures of the scorer.
        is_hidden = np.isfinite(plan.missing_score)

        def begins_with_failures(history: History) -> bool:
            last = history[-1]
            failed = last.error is not None or not np.isfinite(last.score)
            check = FailingStart(plan, plan.stages[0], backend)
            return (failed or is_hidden) and check(history)

        stoppers = [begins_with_failures, *plan.settings["stopper"]]
        budget = Budget(n_planned, left, stoppers=stoppers)
        if left is None:
            return budget
        return dataclasses.replace(budget, deadline=budget.clock() + left)

    def _budget_of_stage(self, index: int, history: History, budget: Budget) -> Budget:
        """Return the budget of a stage that begins after some trials."""
        recorded = self.journal.stages.get(index + 1)
        if recorded is not None:
            # The stage ended in an earlier run.
            return Budget(recorded - len(history))
        stages = self.plan.stages[index:]
        n_trials, timeout = stages[0].n_trials, None
        if budget.timeout is not None:
            left = max(0.0, budget.deadline - budget.clock())
            if stages[0].pace is not None:
                n_workers = self.context.n_workers
                n_trials, timeout = stages[0].pace(self.plan, history, left, n_workers)
                # Trials of an earlier run belong to the stage that was not recorded.
                n_recorded = len(self.journal.proposals) - len(history)
                n_trials = max(n_trials, n_recorded)
            else:
                weights = [s.n_trials * s.weight_in(self.plan) for s in stages]
                # The weights of searches without a number of trials are infinite.
                share = 1.0 if len(stages) == 1 else weights[0] / sum(weights)
                timeout = share * left
        return dataclasses.replace(budget, n_iter=n_trials, timeout=timeout)

    @contextlib.contextmanager
    def _reporting(self, stages: list[PlannedStage]) -> Iterator[Report | None]:
        """Yield the callback that reports each finished trial, or None."""
        plan, n_splits = self.plan, len(self.plan.splits)
        recalled, verbose = dict(self.journal.results), plan.verbose
        n_planned, in_flight = sum(stage.n_trials for stage in stages), self.n_points
        reports: list[Report] = []
        metric, scoring = plan.objective.name or "score", plan.settings["scoring"]
        if metric == "score" and isinstance(scoring, str):
            metric = scoring
        with contextlib.ExitStack() as stack:
            if plan.settings["verbose"] == "progress":
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
                is_given = not isinstance(plan.settings["pre_dispatch"], str)
                if is_given and n_workers > in_flight * n_splits:
                    print(
                        f"{n_workers} workers can do more than "
                        f"{in_flight * n_splits} fits at a time: pre_dispatch="
                        "'2*n_jobs' would keep them busy."
                    )
                timeout = plan.limits.timeout
                lines = Lines(stages, timeout, recalled, verbose > 1, metric)
                reports.append(lines)
            bounds = plan.constraints
            tell = print if verbose > 0 else warn_or_log

            def report(trial: Trial, history: History) -> None:
                for observer in reports:
                    observer(trial, history)
                if bounds is not None and (text := unreachable_text(bounds, history)):
                    tell(text)

            yield report if reports or bounds is not None else None


def _untried_params(plan: Plan) -> dict[str, Any]:
    """Return the estimator's own configuration, or the nearest one of the space."""
    params = nearest_point(plan.space, plan.own)
    if plan.space.allows(params):
        return params
    optimizer = plan.stages[0].make_optimizer(plan, History())
    proposed: dict[str, Any] = optimizer.propose().params
    return proposed


def _journal_of(
    search: SearchParameters, plan: Plan, params: Mapping[str, Any], n_points: int
) -> Journal:
    if compat.is_in_cross_validation():
        raise ValueError(
            f"journal={search.journal!r}: the search is fitted "
            "inside cross-validation, once for each outer fold, and a journal "
            "contains one search. Set journal=None."
        )
    settings = plan.settings
    given = settings["pre_dispatch"]
    return Journal(
        settings["journal"],
        space=plan.space,
        identity=describe_search(
            type(search),
            settings,
            search._without_effect,
            plan.space,
            plan.X,
            plan.y,
            compat.check_fit_params(plan.X, params),
            plan.splits,
        ),
        seed=plan.seed if isinstance(settings["random_state"], Integral) else None,
        drawn_seed=plan.seed,
        n_points=None if isinstance(given, str) else int(given),
        default_n_points=n_points,
        splits=list(plan.splits),
        metadata=search_metadata(type(search), settings),
    )


def _check_recorded_scores(plan: Plan, journal: NullJournal) -> None:
    """Check that the trials of the journal have the metric that guides the search."""
    for trial in journal.results.values():
        is_complete = trial.state == TrialState.COMPLETE and trial.error is None
        try:
            for fold in trial.folds:
                if fold.fit_error is None:
                    plan.objective.learn(fold.test_scores)
                if is_complete:
                    plan.objective(fold.test_scores)
                    train_metrics = (fold.train_scores or {}).keys()
                    is_same = train_metrics == fold.test_scores.keys()
                    if plan.job.options["return_train_score"] and not is_same:
                        raise ValueError("its training scores have other metrics")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"journal: {plan.settings['journal']!r} has other metrics in trial "
                f"{trial.number} than this search: {error}."
            ) from error
