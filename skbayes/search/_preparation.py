"""Preparation of a run: seed, splits, training subsets, journal, workers and budget."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from skbayes import compat
from skbayes.evaluation.aspects.registry import aspects_of
from skbayes.evaluation.backend import Backend
from skbayes.evaluation.evaluator import CandidateEvaluator, fold_task, make_backend
from skbayes.evaluation.limits import FitLimits
from skbayes.evaluation.options import (
    oof_method,
    parse_cache,
    parse_time,
    parse_trial_limits,
)
from skbayes.evaluation.prefix import PrefixCache
from skbayes.evaluation.prefix_store import machine_store, temporary_store
from skbayes.evaluation.run import FitOptions, SearchRun
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.evaluation.trial import History, TrialState
from skbayes.journal.database import display_name
from skbayes.journal.identity import describe_search, search_facts
from skbayes.journal.journal import Journal, NullJournal
from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.failures import FailingStart
from skbayes.loop.progress import Lines, PlannedStage, progress_bar
from skbayes.loop.scheduler import Budget
from skbayes.loop.stages import Stage
from skbayes.search.out_of_fold import check_partition
from skbayes.tracking.autolog import autologged
from skbayes.utils.optional import warn_or_log, warn_user

__all__ = [
    "described",
    "begin_budget",
    "draw_seed",
    "draw_splits",
    "draw_subsets",
    "fit_options",
    "logged",
    "open_journal",
    "plan_stages",
    "print_advice",
    "trial_workers",
]

# With more trials in progress, proposals and pruning have too few finished trials.
MAX_RACED_IN_FLIGHT = 16


def fit_options(search: Any) -> FitOptions:
    error_score, limits = search.error_score, parse_trial_limits(search.trial_limits)
    return FitOptions(
        error_score if isinstance(error_score, str) else float(error_score),
        search.return_train_score,
        0 if isinstance(search.verbose, str) else search.verbose,
        FitLimits(
            limits.get("time"),
            limits.get("memory"),
            parse_time("timeout", search.timeout),
            gpus=limits.get("gpu"),
        ),
    )


def draw_seed(random_state: Any) -> int:
    """Return `random_state` if it is an integer, or else an integer drawn from it."""
    if isinstance(random_state, Integral):
        return int(random_state)
    rng = check_random_state(random_state)
    return int(rng.randint(np.iinfo(np.int32).max))


def draw_splits(search: Any, run: SearchRun) -> list[tuple]:
    """Draw the splits, once for all trials."""
    X, y, split_params = run.X, run.y, run.split_params
    cv = check_cv(search.cv, y, classifier=is_classifier(run.estimator))
    compat.check_input(search, X, y, split_params)
    no_groups = split_params.get("groups") is None
    try:
        # Without groups, scikit-learn 1.6 returns empty test sets.
        if no_groups and isinstance(cv, StratifiedGroupKFold):
            raise ValueError("The 'groups' parameter should not be None.")
        n_splits = cv.get_n_splits(X, y, **split_params)
        splits = list(cv.split(X, y, **split_params))
    except ValueError as error:
        number = search.cv is None or isinstance(search.cv, Integral)
        name = f"cv={search.cv}" if number else "cv"
        remedy = ""
        if no_groups and "groups" in str(error):
            remedy = " Call fit(X, y, groups=groups)."
        raise ValueError(f"{name}: {error}{remedy}") from error
    if not splits:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? Were there no "
            "candidates? The parameter cv must yield at least one split."
        )
    if len(splits) != n_splits:
        # scikit-learn's tests match this message, which changed in version 1.9.
        verb = "return" if compat.HAS_CALLBACKS else "returned"
        raise ValueError(
            f"cv.split and cv.get_n_splits {verb} inconsistent results. Expected "
            f"{n_splits} splits, got {len(splits)}"
        )
    if oof_method(search.return_folds) is not None:
        check_partition(splits, run.n_samples)
    return splits


def described(run: SearchRun) -> dict[str, Any]:
    """Return the attributes that are known before the first trial."""
    return {
        "search_spaces_": run.search_spaces,
        "untuned_": run.untuned,
        "initial_points_": run.initial_points,
        "n_splits_": len(run.splits),
        "n_points_": run.n_points,
    }


def open_journal(search: Any, run: SearchRun, stack: contextlib.ExitStack) -> SearchRun:
    """Return the run with its workers and its journal, if any.

    Seed, splits and number of trials in flight are those of the journal.
    """
    gpus = run.options.limits.gpus
    context = ExecutionContext(search.n_jobs, search.pre_dispatch, gpus)
    run = dataclasses.replace(run, context=context)
    run = dataclasses.replace(run, n_points=_trials_in_flight(search, run))
    journal = NullJournal()
    if search.journal is not None:
        if compat.is_in_cross_validation():
            raise ValueError(
                f"journal={display_name(search.journal)!r}: the search is fitted "
                "inside cross-validation, once for each outer fold, and a journal "
                "contains one search. Set journal=None."
            )
        journal = Journal(
            search.journal,
            space=run.space,
            identity=describe_search(
                search, run.space, run.X, run.y, run.params, run.splits
            ),
            seed=run.seed if isinstance(search.random_state, Integral) else None,
            drawn_seed=run.seed,
            n_points=_given_in_flight(search),
            default_n_points=run.n_points,
            n_slots=_default_in_flight(run),
            splits=run.splits,
            facts=search_facts(search),
            n_samples=run.n_samples,
        )
    run = dataclasses.replace(run, journal=stack.enter_context(journal))
    _check_recorded_scores(search, run)
    if run.journal.seed is not None:
        run = dataclasses.replace(
            run,
            seed=run.journal.seed,
            splits=run.journal.splits,
            n_points=run.journal.n_points,
        )
    return run


def _check_recorded_scores(search: Any, run: SearchRun) -> None:
    """Check that the trials of the journal have the metric that guides the search."""
    for trial in run.journal.results.values():
        is_complete = trial.state == TrialState.COMPLETE and trial.error is None
        try:
            for fold in trial.folds:
                if fold.fit_error is None:
                    run.objective.learn(fold.test_scores)
                if not is_complete:
                    continue
                run.objective(fold.test_scores)
                train_scores = fold.train_scores or {}
                if (
                    run.options.return_train_score
                    and fold.test_scores.keys() != train_scores.keys()
                ):
                    raise ValueError("its training scores have other metrics")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"journal: {display_name(search.journal)!r} has other metrics in trial "
                f"{trial.number} than this search: {error}."
            ) from error


def _given_in_flight(search: Any) -> int | None:
    """Return the number of trials in progress that `pre_dispatch` sets, if any."""
    given = search.pre_dispatch
    return None if isinstance(given, str) else int(given)


def _trials_in_flight(search: Any, run: SearchRun) -> int:
    """Return the number of trials in progress; by default, it keeps workers busy."""
    given = _given_in_flight(search)
    return _default_in_flight(run) if given is None else given


def _default_in_flight(run: SearchRun) -> int:
    if run.racing_risk is None:
        return run.context.trials_in_flight(len(run.splits))
    # With racing, the fits of a trial run one after the other.
    return min(run.context.trials_in_flight(1), MAX_RACED_IN_FLIGHT)


def draw_subsets(
    search: Any, run: SearchRun, stages: Sequence[Stage]
) -> Subsets | None:
    """Draw the training subsets of all stages, once for all trials."""
    fidelities = [fidelity for stage in stages for fidelity in stage.fidelities]
    if all(f == FULL_DATA or f.is_whole for f in fidelities):
        return None
    parameter = search._subset_parameter
    subsets = Subsets.draw(
        run.splits,
        fidelities,
        n_samples=run.n_samples,
        labels=run.y if is_classifier(search.estimator) else None,
        groups=run.split_params.get("groups"),
        seed=run.seed,
        parameter=parameter,
    )
    shares = [subsets.fraction(stage.fidelities[0]) for stage in stages]
    if shares != sorted(shares):
        raise ValueError(
            f"{parameter}: training sets must not become smaller from stage to stage, "
            f"got {getattr(search, parameter)!r}."
        )
    _warn_of_few_rows(parameter, fidelities, subsets)
    return subsets


def _warn_of_few_rows(
    parameter: str, fidelities: Sequence[Fidelity], subsets: Subsets
) -> None:
    """Warn of probable percentages, and of stages that end below all rows."""
    numbers = sorted({fidelity.train_size for fidelity in fidelities})
    whole = all(isinstance(number, int) for number in numbers)
    if len(numbers) > 1 and whole and numbers[-1] == 100 < max(subsets.sizes):
        given = ", ".join(map(str, numbers))
        shares = ", ".join(str(number / 100) for number in numbers)
        warn_user(
            f"{parameter}: integers are numbers of rows. With ({given}), no trial is "
            f"fitted to more than 100 of the {max(subsets.sizes)} training rows. "
            f"For fractions of the rows, write ({shares}).",
        )
    elif parameter == "stages" and len(fidelities) > 1 and not fidelities[-1].is_whole:
        share = subsets.fraction(fidelities[-1])
        if share < 1.0:
            last = fidelities[-1].train_size
            warn_user(
                f"stages ends at {last!r}, {share:.0%} of the training rows. The best "
                "trial is then chosen by fits to a part of the rows. To end with all "
                "rows, add the stage 1.0.",
            )


def plan_stages(
    run: SearchRun, stages: Sequence[Stage], optimizer: Any
) -> list[PlannedStage]:
    overlap = run.context.can_overlap
    return [
        PlannedStage(
            min(stage.n_trials, optimizer.n_configurations),
            stage.weight_in(run),
            max(run.n_points, stage.n_points) if overlap else 1,
        )
        for stage in stages
    ]


def begin_budget(
    run: SearchRun,
    stage: Stage,
    stoppers: Sequence[Callable[[History], bool]],
    evaluator: CandidateEvaluator,
    begin: float,
) -> Budget:
    """Return the budget of a search that began at `begin`, and limit the backend.

    The first stage is given.
    The clock is `time.perf_counter`. Of the time to start processes for the fits, one
    second and 10% of the timeout do not count. The search should return one second
    later at most.
    """
    left, backend = None, evaluator.backend
    timeout = run.options.limits.timeout
    if timeout is not None:
        elapsed = time.perf_counter() - begin
        left = timeout - elapsed + min(backend.start_time, 1.0 + 0.1 * timeout)
        backend.end_after(left)
    first = _failing_start(run, stage, backend)
    return Budget(evaluator.n_planned, left, stoppers=[first, *stoppers])


def _failing_start(
    run: SearchRun, stage: Stage, backend: Backend
) -> Callable[[History], bool]:
    """Return the stopper that detects errors in the data when the first trials fail."""
    # A finite `error_score` hides failures of the scorer.
    is_hidden = np.isfinite(run.options.missing_score)

    def stop(history: History) -> bool:
        last = history[-1]
        failed = last.error is not None or not np.isfinite(last.score)
        return (failed or is_hidden) and FailingStart.of(run, stage, backend)(history)

    return stop


@contextlib.contextmanager
def trial_workers(
    search: Any, run: SearchRun, stages: Sequence[Stage], plan: Sequence[PlannedStage]
) -> Iterator[tuple[CandidateEvaluator, TrialExecutor, Callable | None]]:
    """Yield the evaluator of trials, the executor, and the callback for each trial."""
    context, n_splits = run.context, len(run.splits)
    n_planned = sum(stage.n_trials for stage in plan)
    n_points = max(run.n_points, *(stage.n_points for stage in stages))
    with _shared_results(search, run) as (X, cache):
        run = dataclasses.replace(run, cache=cache)
        with (
            make_backend(run, fold_task(run, X)) as backend,
            context.bounded_blas(),
            run.tasks.searching(n_planned),
            TrialExecutor(context, n_points, n_splits) as executor,
            _reporting(search, run, plan) as report,
        ):
            backend.warm_up(executor)
            yield CandidateEvaluator(run, backend, n_planned), executor, report


@contextlib.contextmanager
def _shared_results(
    search: Any, run: SearchRun
) -> Iterator[tuple[Any, PrefixCache | None]]:
    """Yield the data of the trials, and the cache of steps that the fits share."""
    trial_data = search._trial_data(run)
    rules, limit = parse_cache(search.cache, search._cache_limit)
    if trial_data is None and not (rules and _has_steps(run)):
        yield run.X, None
        return
    place = run.context.temp_folder
    store_of_search: Any = (
        temporary_store(place, limit)
        if run.context.kind.is_local
        else machine_store(place, limit, run.context.everywhere)
    )
    with store_of_search as store:
        if trial_data is not None:
            with trial_data(store) as X:
                yield X, None
        elif store is None:
            yield run.X, None
        else:
            only_known = rules == "auto"
            yield run.X, PrefixCache(store, run.space.n_values, only_known)


def _has_steps(run: SearchRun) -> bool:
    return type(run.estimator) is Pipeline and len(run.estimator.steps) > 1


@contextlib.contextmanager
def _reporting(
    search: Any, run: SearchRun, plan: Sequence[PlannedStage]
) -> Iterator[Callable | None]:
    """Yield the callback that reports each finished trial, or None."""
    n_splits, n_workers = len(run.splits), run.context.n_workers
    recalled = dict(run.journal.results)
    n_planned = sum(stage.n_trials for stage in plan)
    with contextlib.ExitStack() as stack:
        reports = []
        if search.verbose == "progress":
            bar = progress_bar(n_planned, recalled)
            reports.append(stack.enter_context(bar))
        if run.options.verbose > 0:
            print(
                f"Fitting {n_splits} folds for each of {n_planned} candidates, "
                f"totalling {n_planned * n_splits} fits"
                if math.isfinite(n_planned)
                else f"Fitting {n_splits} folds for each candidate"
            )
            if _given_in_flight(search) and n_workers > run.n_points * n_splits:
                print(
                    f"{n_workers} workers can do more than "
                    f"{run.n_points * n_splits} fits at a time: pre_dispatch="
                    "'2*n_jobs' would keep them busy."
                )
            timeout, with_params = run.options.limits.timeout, run.options.verbose > 1
            reports.append(Lines(plan, timeout, recalled, with_params))
        aspects = aspects_of(run)
        tell = print if run.options.verbose > 0 else warn_or_log

        def report(trial: Any, history: History) -> None:
            for observer in reports:
                observer(trial, history)
            for aspect in aspects:
                if (message := aspect.message(trial, history)) is not None:
                    tell(message)

        yield report if reports or aspects else None


def logged(search: Any, X: Any) -> contextlib.AbstractContextManager[None]:
    """Return the context of a fit, which logs it if MLflow is in use."""
    if "mlflow" not in sys.modules:
        return contextlib.nullcontext()
    return autologged(search, X)


def print_advice(search: Any) -> None:
    """Print suggestions for the next search in one line."""
    # Imported late, because it imports scikit-learn's forests.
    from skbayes.inspection.advice import advice

    sentences = advice(search)
    if sentences:
        print(f"Advice: {' '.join(sentences)}")
