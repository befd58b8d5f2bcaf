"""HTML tables of a search, for notebooks and reports."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

from skbayes.defaults.for_search import resolved_spaces
from skbayes.inspection.advice import advice
from skbayes.loop.progress import time_text
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.results.scores import metrics_of
from skbayes.space import Space
from skbayes.utils.texts import html_table

# Maximum length of a value.
MAX_LENGTH = 120

GAIN = "Gain over the estimator's own values"


def result_html(search: Any) -> str:
    """Return an HTML table of the result of a search, its space and its budget."""
    rows: list[tuple[str, str]] = []
    if {"cv_results_", "trials_"} <= vars(search).keys():
        record = read_record(search)
        rows += [*_best(search, record), *_advice(search)]
        space: Space | str | None = record.space
    else:
        space = _planned_space(search)
    n_configurations = math.inf
    if isinstance(space, Space):
        n_configurations = space.n_configurations
        space = "\n".join(
            f"{column.name or '(choice of dict)'}: {_short(column.dimension)}"
            for column in space.columns
        )
    limits, n_iter, timeout = [], search.n_iter, search.timeout
    if isinstance(n_iter, Integral) and n_configurations <= int(n_iter):
        limits.append(f"all {n_configurations:.0f} configurations")
    elif n_iter is not None:
        limits.append(f"{n_iter} trials")
    if timeout is not None:
        limits.append(timeout if isinstance(timeout, str) else f"{timeout} s")
    if search.stopper is not None:
        limits.append("the stopper")
    if space:
        rows.append(("Search space", space))
    rows.append(("Budget", ", or ".join(limits) or "none"))
    return html_table(type(search).__name__, rows)


def _planned_space(search: Any) -> Space | str:
    """Return the search space before `fit`, or why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` issues the same warnings
        try:
            settings = replace(search._settings(), verbose=0)
            return Space.from_notation(resolved_spaces(settings, None, None)[0])
        except Exception as error:
            return " ".join(str(error).split())


def _best(search: Any, record: SearchRecord) -> Iterator[tuple[str, str]]:
    """Yield labels and texts of the best scores, or of the Pareto front."""
    attributes, results = vars(search), search.cv_results_
    if "pareto_params_" in attributes:
        n_front, n_trials = len(search.pareto_params_), len(search.trials_)
        yield "Pareto front", f"{n_front} of {n_trials} trials"
        for name in search.objectives if "best_index_" in attributes else ():
            if (means := results.get(f"mean_test_{name}")) is not None:
                yield f"Chosen: {name}", f"{means[search.best_index_]:.4g}"
    elif "best_score_" in attributes:
        metric = attributes.get("target_metric_", "score")
        named = search._refit_choice().metric
        if named in metrics_of(results):
            metric, record = named, read_record(search, metric=named)
        text = f"{record.sign * search.best_score_:.4g}"
        spread = results.get(f"std_test_{metric}")
        if spread is not None and search.n_splits_ > 1:
            std = spread[search.best_index_]
            text += f" ± {std:.2g} over {search.n_splits_} splits"
        yield f"Best {record.title}", text
        if not math.isnan(attributes.get("best_gain_", math.nan)):
            gain = f"{search.best_gain_:.2g} ± {search.best_gain_std_:.2g}"
            yield GAIN, f"{gain}, corrected for the choice of the best trial"


def _advice(search: Any) -> Iterator[tuple[str, str]]:
    """Yield labels and texts of the best configuration and of the advice."""
    if hasattr(search, "best_params_"):
        params = [f"{name} = {_short(v)}" for name, v in search.best_params_.items()]
        yield "Best configuration", "\n".join(params) or "those of the estimator"
    if sentences := advice(search):
        yield "Advice", "\n".join(sentences)


def effort_html(search: Any) -> str:
    """Return an HTML table of the trials and the time that a search needed."""
    record = read_record(search)
    rows = [("Trials", record.counts), ("Stop reason", search.stop_reason_)]
    rows += [("Time of all fits", time_text(record.fit_seconds))]
    if hasattr(search, "refit_time_"):
        rows.append(("Time of the refit", time_text(search.refit_time_)))
    rows.append(("Total time", time_text(search.total_time_)))
    return html_table("Effort", rows)


def _short(value: Any) -> str:
    text = f"{value:.8g}" if isinstance(value, float) else " ".join(repr(value).split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
