"""Functions outside of the core, whose modules are imported when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skbayes import compat
from skbayes.trial.plan import NullTasks
from skbayes.utils.late import load

if TYPE_CHECKING:
    from skbayes.defaults.catalog import DataFacts
    from skbayes.options.callbacks.tasks import TaskTree
    from skbayes.space import OptimumPrior, Space


# -- default spaces, and names of known classes ---------------------------------------


def own_values(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and its parts, by full name."""
    values: dict[str, Any] = load("skbayes.defaults.parts:own_values")(estimator)
    return values


def resolved_spaces(
    settings: Mapping[str, Any], X: Any, y: Any, sizes: Any
) -> tuple[Any, list[str], Callable[[], DataFacts]]:
    """Return the space without "auto", the parts that are not tuned, and the facts."""
    resolved: tuple[Any, list[str], Callable[[], DataFacts]] = load(
        "skbayes.defaults.for_search:resolved_spaces"
    )(settings, X, y, sizes)
    return resolved


def prior_of(
    settings: Mapping[str, Any],
    space: Space,
    own: Mapping[str, Any],
    facts: Callable[[], DataFacts],
) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search."""
    prior: OptimumPrior | None = load("skbayes.defaults.for_search:prior_of")(
        settings, space, own, facts
    )
    return prior


def check_name(name: str, owner: Any, base: Any) -> None:
    """Raise ValueError for a name that an estimator does not have."""
    load("skbayes.defaults.names:check_name")(name, owner, base)


def check_aliases(name: str, owner: Any, params: Mapping[str, Any]) -> None:
    """Raise ValueError for two names of one parameter."""
    load("skbayes.defaults.names:check_aliases")(name, owner, params)


def warn_of_range(name: str, owner: Any, dimension: Any) -> None:
    """Warn of a range of floats for a parameter that is known to be a scale."""
    load("skbayes.defaults.names:warn_of_range")(name, owner, dimension)


# -- callbacks ------------------------------------------------------------------------


def tasks_of(search: Any, X: Any, y: Any, sample_weight: Any) -> NullTasks | TaskTree:
    """Return the tasks of a fit, which are reported if there are callbacks."""
    parts = search.get_params(deep=True).values()
    if not any(map(compat.has_callbacks, (search, *parts))):
        return NullTasks()
    tree: TaskTree = load("skbayes.options.callbacks.tasks:TaskTree")(
        search, X, y, sample_weight
    )
    return tree


# -- readers of a fitted search -------------------------------------------------------


def result_html(search: Any) -> str:
    """Return an HTML table of the result of a search, its space and its budget."""
    text: str = load("skbayes.inspection.html:result_html")(search)
    return text


def write_report(search: Any, path: str | PathLike[str]) -> Path:
    """Write the result of a search to an HTML page."""
    written: Path = load("skbayes.inspection.report:write_report")(search, path)
    return written


def draw_summary(search: Any, path: str | PathLike[str] | None) -> Any:
    """Draw the main plots of a search in one figure, or write it to a file."""
    return load("skbayes.inspection.report:draw_summary")(search, path)


def advice(search: Any) -> list[str]:
    """Return suggestions for the next search."""
    sentences: list[str] = load("skbayes.inspection.advice:advice")(search)
    return sentences
