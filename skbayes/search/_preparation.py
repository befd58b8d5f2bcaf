"""Preparation of a run: space, seed, splits, subsets, journal, workers and budget."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from skbayes import compat
from skbayes.defaults.catalog import DataFacts, n_samples_of
from skbayes.defaults.default import (
    reason_not_tuned,
    space_of_parts,
    unknown_parts,
    with_names,
)
from skbayes.defaults.learned_prior import learned_prior
from skbayes.defaults.parts import owner_of, parts_of
from skbayes.evaluation.aspects.registry import aspects_of
from skbayes.evaluation.evaluator import CandidateEvaluator, make_backend, make_job
from skbayes.evaluation.limits import FitLimits
from skbayes.evaluation.options import (
    oof_method,
    parse_time,
    parse_trial_limits,
)
from skbayes.evaluation.prefix_store import (
    MachineStore,
    PrefixStore,
    machine_store,
    temporary_store,
)
from skbayes.evaluation.run import FitOptions, SearchRun
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.evaluation.trial import History, TrialState
from skbayes.journal.identity import describe_search, search_facts
from skbayes.journal.journal import Journal
from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.failures import FailingStart
from skbayes.loop.progress import Lines, PlannedStage, progress_bar
from skbayes.loop.scheduler import Budget
from skbayes.loop.stages import Stage
from skbayes.search.out_of_fold import check_partition
from skbayes.space import OptimumPrior, Space
from skbayes.tracking.autolog import autologged
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_or_log, warn_user

# Assumed fraction of training rows if it is not known before splitting.
CAUTIOUS_SHARE = 0.5

# Function that returns the facts about the data of a fit.
Facts = Callable[[], DataFacts]

# With more trials in progress, proposals and pruning have too few finished trials.
MAX_RACED_IN_FLIGHT = 16


# -- search space ---------------------------------------------------------------------


def resolved_spaces(search: Any, X: Any, y: Any) -> tuple[Any, list[str], Facts]:
    """Return the search space without "auto", and the parts that are not tuned.

    The returned function computes the facts about the data once, when they are needed.
    """

    @functools.cache
    def facts() -> DataFacts:
        share = train_share(search, X, y)
        return DataFacts.of(X, y, share, search.scoring is None)

    given, untuned = search.search_spaces, dict[str, None]()
    if isinstance(given, str) and given != "auto":
        raise TypeError(
            f"search_spaces must be 'auto', a dict or a list of dicts, got {given!r}."
        )

    def resolved(space: Any) -> Any:
        if not (isinstance(space, Mapping) and "auto" in space):
            return space
        space, unknown = _resolved(search, dict(space), facts)
        untuned.update(dict.fromkeys(unknown))
        return space

    if given is None or isinstance(given, str):
        given = {"auto": True}
    if isinstance(given, list | tuple):
        spaces: Any = list(map(resolved, given))
    else:
        spaces = resolved(given)
    if untuned and search.verbose not in (0, False, "progress"):
        names = ", ".join(untuned)
        print(f"search_spaces='auto': {names} are not known and keep their values.")
    return spaces, list(untuned), facts


def _resolved(search: Any, changes: dict, facts: Facts) -> tuple[Any, list[str]]:
    """Return the default space with the entries of a dict, and its unknown parts."""
    if not isinstance(auto := changes.pop("auto"), bool):
        raise TypeError(
            "search_spaces: the value of 'auto' must be True, for the default space, "
            f"or False, got {auto!r}."
        )
    if not auto:
        return changes, []
    known = facts()
    parts = parts_of(search.estimator, known)
    space = with_names(space_of_parts(parts, known), parts, changes)
    _check_removed(search, space, changes)
    if (reason := reason_not_tuned(parts)) and not changes:
        warn_user(reason)
    return (space | changes if changes else space), unknown_parts(parts)


def _check_removed(search: Any, space: Any, changes: Mapping[Any, Any]) -> None:
    """Raise ValueError if a removed parameter does not exist."""
    known = [*search._own_values(), *space]
    owners = tuple(f"{other}__" for other in [*space, *changes])
    for name, value in changes.items():
        if value is None and name not in known and not str(name).startswith(owners):
            kind = type(search.estimator).__name__
            raise ValueError(
                f"search_spaces names {name!r}, which {kind} does not have."
                f"{did_you_mean(str(name), known)}"
            )


def train_share(search: Any, X: Any, y: Any) -> float:
    """Return the smallest fraction of the rows that a trial may be fitted to."""
    n_samples = max(1, n_samples_of(X, y) or 1)
    share = _share_of_splits(search.cv, n_samples)
    sizes = vars(search).get(search._subset_parameter, 1.0)
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    shares = [
        size / (share * n_samples) if isinstance(size, Integral) else size
        for size in sizes
        if isinstance(size, int | float) and not isinstance(size, bool)
    ]
    return share * min([1.0, *shares])


def _share_of_splits(cv: Any, n_samples: int) -> float:
    if isinstance(cv, list | tuple):
        sizes = [len(split[0]) for split in cv if hasattr(split[0], "__len__")]
        return min(sizes, default=0) / n_samples or CAUTIOUS_SHARE
    if cv is None or isinstance(cv, Integral):
        cv = check_cv(5 if cv is None else int(cv))
    if hasattr(cv, "n_splits") and "Shuffle" not in type(cv).__name__:
        return 1.0 - 1.0 / max(2, int(cv.n_splits))
    return CAUTIOUS_SHARE


def with_ones(estimator: Any, space: Space) -> Space:
    """Return a space in which 1 and 1.0 differ if they do for the estimator."""
    both = {Integral, compat.RealNotInt}
    ones = []
    for name in space.parameter_names:
        owner, leaf = owner_of(estimator, name)
        if compat.number_types(owner, leaf) >= both:
            # A number that is refused can only stand for the other one.
            valid = [v for v in (1, 1.0) if not compat.refused_value(owner, leaf, v)]
            ones += [(name, type(value).__name__) for value in valid]
    return space.with_ones(ones)


def parse_initial_points(given: Any) -> tuple[list[Any] | None, int | None]:
    """Return the configurations to begin with, and the number of initial ones.

    The former is None for the default, the latter if it is not given.
    """
    if isinstance(given, Mapping):
        raise TypeError(
            "initial_points must be a list of dicts, one per configuration; write "
            f"initial_points=[{dict(given)!r}]."
        )
    if isinstance(given, str):
        return None, None
    points: list[Any] = [given] if isinstance(given, Integral) else list(given or [])
    if not (points and isinstance(points[-1], Integral)):
        return points, None
    number = points.pop()
    if isinstance(number, bool) or number < 0:
        raise ValueError(
            "initial_points: the number of configurations must be an int of 0 or more, "
            f"got {number!r}."
        )
    return None if isinstance(given, Integral) else points, int(number)


def points_to_begin_with(search: Any, space: Space) -> list[dict[str, Any]]:
    """Return the configurations that a search tries first.

    By default, this is the current configuration of the estimator if the space contains
    it, unless results of an earlier search on the same data are given.
    """
    given = parse_initial_points(search.initial_points)[0]
    if given is not None:
        return given
    if search.warm_start_from is not None:
        return []
    own = space.selection(search._own_values())
    return [own] if own is not None and space.allows(own) else []


def prior_of(search: Any, space: Space, facts: Facts) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search.

    None unless the initial configurations are the default.
    """
    if parse_initial_points(search.initial_points)[0] is not None:
        return None
    parts = parts_of(search.estimator, facts())
    rounds = (
        math.inf if search.early_stopping == "auto" else search.early_stopping or 0.0
    )
    return learned_prior(parts, space, search._own_values(), rounds)


# -- run ------------------------------------------------------------------------------


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
        ),
    )


def routed_outcome_params(routed: Any) -> dict[str, Any]:
    """Return the routed parameters for the scorers of constrained outcomes.

    Without metadata routing, they are the weights that the metrics of the search get.
    """
    # Without metadata, scikit-learn returns an object that contains every key.
    if isinstance(routed, dict) and "constraints" in routed:
        return dict(routed["constraints"].score)
    weights = routed.scorer.score.get("sample_weight")
    return {} if weights is None else {"sample_weight": weights}


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
    if run.refit.rule == "ensemble" and len(splits) < 2:
        raise ValueError(
            f"refit={search.refit!r} requires at least two splits, between which the "
            "gain of an ensemble varies. Use cv=5, or refit=True."
        )
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
    context = ExecutionContext(search.n_jobs, search.pre_dispatch)
    # By default, as many trials are in progress as keep the workers busy.
    n_points = context.trials_in_flight(len(run.splits))
    if run.pruning_risk is not None:
        # With pruning, the fits of a trial run one after the other.
        n_points = min(context.trials_in_flight(1), MAX_RACED_IN_FLIGHT)
    given = None if isinstance(search.pre_dispatch, str) else int(search.pre_dispatch)
    run = dataclasses.replace(run, context=context, n_points=given or n_points)
    if search.journal is None:
        return run
    if compat.is_in_cross_validation():
        raise ValueError(
            f"journal={search.journal!r}: the search is fitted "
            "inside cross-validation, once for each outer fold, and a journal "
            "contains one search. Set journal=None."
        )
    journal: Any = Journal(
        search.journal,
        space=run.space,
        identity=describe_search(
            search, run.space, run.X, run.y, run.params, run.splits
        ),
        seed=run.seed if isinstance(search.random_state, Integral) else None,
        drawn_seed=run.seed,
        n_points=given,
        default_n_points=run.n_points,
        splits=run.splits,
        facts=search_facts(search),
    )
    run = dataclasses.replace(
        run,
        journal=stack.enter_context(journal),
        seed=journal.seed,
        splits=journal.splits,
        n_points=journal.n_points,
    )
    _check_recorded_scores(search, run)
    return run


def _check_recorded_scores(search: Any, run: SearchRun) -> None:
    """Check that the trials of the journal have the metric that guides the search."""
    for trial in run.journal.results.values():
        is_complete = trial.state == TrialState.COMPLETE and trial.error is None
        try:
            for fold in trial.folds:
                if fold.fit_error is None:
                    run.objective.learn(fold.test_scores)
                if is_complete:
                    run.objective(fold.test_scores)
                    train_metrics = (fold.train_scores or {}).keys()
                    is_same = train_metrics == fold.test_scores.keys()
                    if run.options.return_train_score and not is_same:
                        raise ValueError("its training scores have other metrics")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"journal: {search.journal!r} has other metrics in trial "
                f"{trial.number} than this search: {error}."
            ) from error


def draw_subsets(
    search: Any, run: SearchRun, stages: Sequence[Stage]
) -> Subsets | None:
    """Draw the training subsets of all stages, once for all trials."""
    fidelities = [fidelity for stage in stages for fidelity in stage.fidelities]
    if all(f == FULL_DATA or f.is_whole for f in fidelities):
        return None
    parameter = search._subset_parameter
    subsets = drawn_from(search, run, run.splits, fidelities)
    shares = [subsets.fraction(stage.fidelities[0]) for stage in stages]
    if shares != sorted(shares):
        raise ValueError(
            f"{parameter}: training sets must not become smaller from stage to stage, "
            f"got {getattr(search, parameter)!r}."
        )
    _warn_of_few_rows(parameter, fidelities, subsets)
    return subsets


def drawn_from(search: Any, run: SearchRun, splits: Any, fidelities: Any) -> Subsets:
    return Subsets.draw(
        splits,
        fidelities,
        n_samples=run.n_samples,
        labels=run.y if is_classifier(search.estimator) else None,
        groups=run.split_params.get("groups"),
        seed=run.seed,
        parameter=search._subset_parameter,
    )


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
            f"For fractions of the rows, write ({shares})."
        )
    elif parameter == "stages" and len(fidelities) > 1 and not fidelities[-1].is_whole:
        share = subsets.fraction(fidelities[-1])
        if share < 1.0:
            last = fidelities[-1].train_size
            warn_user(
                f"stages ends at {last!r}, {share:.0%} of the training rows. The best "
                "trial is then chosen by fits to a part of the rows. To end with all "
                "rows, add the stage 1.0."
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
    # A finite `error_score` hides failures of the scorer.
    is_hidden = np.isfinite(run.options.missing_score)

    def begins_with_failures(history: History) -> bool:
        last = history[-1]
        failed = last.error is not None or not np.isfinite(last.score)
        return (failed or is_hidden) and FailingStart(run, stage, backend)(history)

    return Budget(evaluator.n_planned, left, stoppers=[begins_with_failures, *stoppers])


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
            make_backend(run, make_job(run, X)) as backend,
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
) -> Iterator[tuple[Any, PrefixStore | MachineStore | None]]:
    """Yield the data of the trials, and the store of steps that the fits share."""
    trial_data = search._trial_data(run)
    limit = search._cache_limit
    has_steps = type(run.estimator) is Pipeline and len(run.estimator.steps) > 1
    if trial_data is None and not has_steps:
        yield run.X, None
        return
    context: Any = run.context
    store_of_search: Any = temporary_store(context.temp_folder, limit)
    if not context.kind.is_local:
        store_of_search = machine_store(context.temp_folder, limit, context.everywhere)
    with store_of_search as store:
        if trial_data is not None:
            with trial_data(store) as X:
                yield X, None
        else:
            yield run.X, store


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
            is_given = not isinstance(search.pre_dispatch, str)
            if is_given and n_workers > run.n_points * n_splits:
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
