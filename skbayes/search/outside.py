"""Functions outside of the core, whose modules are imported when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skbayes import compat
from skbayes.trial.aspect import Bounds, Tasks
from skbayes.trial.plan import Header, Ladder, Plan
from skbayes.trial.records import History, KnownTrial
from skbayes.utils.late import load

if TYPE_CHECKING:
    from skbayes.defaults.catalog import DataFacts
    from skbayes.options.ensembles.combination import EnsembleResult
    from skbayes.options.journal.journal import Journal
    from skbayes.search.parameters import SearchParameters
    from skbayes.space import OptimumPrior, Space
    from skbayes.trial.fold import Job
    from skbayes.trial.objectives import Objective
    from skbayes.trial.settings import Rule, Settings


# -- default spaces, and names of known classes ---------------------------------------


def current_values(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and its parts, by full name."""
    return load("skbayes.defaults.parts:current_values")(estimator)


def resolved_spaces(
    settings: Settings, X: Any, y: Any
) -> tuple[Any, list[str], Callable[[], DataFacts]]:
    """Return the space without "auto", the parts that are not tuned, and the facts."""
    return load("skbayes.defaults.for_search:resolved_spaces")(settings, X, y)


def prior_of(
    settings: Settings,
    space: Space,
    current_values: Mapping[str, Any],
    facts: Callable[[], DataFacts],
) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search."""
    return load("skbayes.defaults.for_search:prior_of")(
        settings, space, current_values, facts
    )


def numbers_meant(
    settings: Settings,
    space: Space,
    current_values: Mapping[str, Any],
    facts: Callable[[], DataFacts],
) -> dict[str, Any]:
    """Return the numbers of features that options mean, where the space has ranges."""
    return load("skbayes.defaults.for_search:numbers_meant")(
        settings, space, current_values, facts
    )


def check_name(name: str, owner: Any, base: Any) -> None:
    """Check that an estimator has a parameter with this name."""
    load("skbayes.defaults.names:check_name")(name, owner, base)


def check_aliases(name: str, owner: Any, params: Mapping[str, Any]) -> None:
    """Raise ValueError for two names of one parameter."""
    load("skbayes.defaults.names:check_aliases")(name, owner, params)


def warn_of_range(name: str, owner: Any, dimension: Any) -> None:
    """Warn of a range of floats for a parameter that is known to be a scale."""
    load("skbayes.defaults.names:warn_of_range")(name, owner, dimension)


# -- callbacks ------------------------------------------------------------------------


def tasks_of(search: Any, X: Any, y: Any, sample_weight: Any) -> Tasks:
    """Return the tasks of a fit, which are reported if there are callbacks."""
    parts = search.get_params(deep=True).values()
    if not any(map(compat.has_callbacks, (search, *parts))):
        return Tasks()
    return load("skbayes.options.callbacks.tasks:TaskTree")(search, X, y, sample_weight)


# -- options --------------------------------------------------------------------------


def rule_and_bounds(constraints: Any) -> tuple[Rule | None, Mapping[str, Any]]:
    """Return the rule for configurations, and the bounds on outcomes, if any."""
    if constraints is None:
        return None, {}
    return load("skbayes.options.constraints.bounds:rule_and_bounds")(constraints)


def outcome_scorer(parsed: Callable[[], tuple[Settings, Objective]]) -> Any:
    """Return the scorer of outcomes that are not metrics of the search, if any."""
    return load("skbayes.options.constraints.aspect:outcome_scorer")(parsed)


def unreachable_text(bounds: Bounds, history: History) -> str | None:
    """Return the bounds that none of the first complete trials satisfies, if any."""
    return load("skbayes.options.constraints.aspect:unreachable_text")(bounds, history)


def stages_before_all_folds(
    search: Any, settings: Settings, prior: OptimumPrior | None, y: Any
) -> Ladder | None:
    """Return stages with one fold before all, unless each trial needs all folds."""
    make = load("skbayes.stages.optimizers:before_all_folds")
    return make(search, settings, prior, y)


def winner_fits(plan: Plan, ranked: History, best: int) -> dict[str, Any]:
    """Return the attributes that `return_folds` requests."""
    return load("skbayes.options.folds.out_of_fold:winner_fits")(plan, ranked, best)


def check_final_model(plan: Plan, models: Sequence[Any]) -> None:
    """Raise ValueError if the trials cannot be members of an ensemble."""
    load("skbayes.options.ensembles.final_model:check_final_model")(plan, models)


def select_ensemble(
    plan: Plan, ranked: History, fitted: Mapping[str, Any]
) -> tuple[EnsembleResult, list[int]]:
    """Select an ensemble; return it and the rows of its members, if any."""
    select = load("skbayes.options.ensembles.final_model:select_ensemble")
    return select(plan, ranked, fitted)


def unfitted_ensemble(plan: Plan, models: list[Any]) -> Any:
    """Return an ensemble whose members are fits of the splits, in their order."""
    return load("skbayes.options.ensembles.final_model:unfitted_ensemble")(plan, models)


def cv_of(plan: Plan) -> Any:
    """Return a value of `cv` with which a clone of the ensemble can be fitted."""
    return load("skbayes.options.ensembles.final_model:cv_of")(plan)


def header_of(
    search: SearchParameters,
    settings: Settings,
    space: Space,
    job: Job,
    params: Mapping[str, Any],
    seed: int,
) -> Header:
    """Return the header of the journal of a search, which may have earlier runs."""
    make = load("skbayes.options.journal.opening:header_of")
    return make(search, settings, space, job, params, seed)


def journal_of(search: SearchParameters, plan: Plan, n_points: int) -> Journal:
    """Return the journal of a search, with the default number of trials in flight."""
    kind = load("skbayes.options.journal.journal:Journal")
    return kind(search.journal, plan.space, plan.header, n_points)


def check_recorded_scores(plan: Plan, journal: Journal) -> None:
    """Check that the trials of a journal have the metric that guides the search."""
    load("skbayes.options.journal.opening:check_recorded_scores")(plan, journal)


def temporary_store(place: str | None, limit: float) -> AbstractContextManager[Any]:
    """Return a store of results that trials share, which is removed at the end."""
    return load("skbayes.trial.shared_store:temporary_store")(place, limit)


def autologged(
    search: Any, X: Any, y: Any, sample_weight: Any
) -> AbstractContextManager[None]:
    """Return a context in which MLflow logs a search, if its autologging is on."""
    return load("skbayes.tracking.mlflow_runs:autologged")(search, X, y, sample_weight)


def known_trials(source: Any, space: Space, metric: str = "score") -> list[KnownTrial]:
    """Return the trials of an earlier search."""
    read = load("skbayes.options.warm_start.known_trials:known_trials")
    return read(source, space, metric)


def comparable_trials(source: Any, space: Space, metric: str) -> list[KnownTrial]:
    """Return the trials of a source that have a comparable score."""
    read = load("skbayes.options.warm_start.known_trials:comparable_trials")
    return read(source, space, metric)


def promising(plan: Plan) -> list[KnownTrial]:
    """Return the known trials that did not fail and are allowed."""
    if not plan.known_trials:
        return []
    return load("skbayes.options.warm_start.known_trials:promising")(plan)


def teach(optimizer: Any, plan: Plan) -> None:
    """Pass the known trials to an optimizer, if any."""
    if plan.known_trials:
        load("skbayes.options.warm_start.known_trials:teach")(optimizer, plan)


# -- readers of a fitted search -------------------------------------------------------


def result_html(search: Any) -> str:
    """Return an HTML table of the result of a search, its space and its budget."""
    return load("skbayes.inspection.html:result_html")(search)


def write_report(search: Any, path: str | PathLike[str]) -> Path:
    """Write the result of a search to an HTML page."""
    return load("skbayes.inspection.report:write_report")(search, path)


def draw_summary(search: Any, path: str | PathLike[str] | None) -> Any:
    """Draw the main plots of a search in one figure, or write it to a file."""
    return load("skbayes.inspection.report:draw_summary")(search, path)


def advice(search: Any) -> list[str]:
    """Return suggestions for the next search."""
    return load("skbayes.inspection.advice:advice")(search)
