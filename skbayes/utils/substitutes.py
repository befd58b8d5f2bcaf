"""Substitutes for private functions of scikit-learn that a release lacks.

With the substitutes, a search works and has the same scores, but other features of the
private functions are missing. `skbayes.compat` uses them, and `private_names` warns.
"""

from __future__ import annotations

import numbers
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import process_routing


class AnyValue:
    """Constraint of a parameter that accepts every value."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return `object`, which scikit-learn interprets as "an instance of object"."""
        return object


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Any], Any]:
    """Return a decorator without effect."""
    return lambda method: method


# -- data -----------------------------------------------------------------------------


def _take(values: Any, rows: Any) -> Any:
    """Select rows of an object with one entry per sample."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    return values[rows] if hasattr(values, "shape") else [values[i] for i in rows]


def _n_samples(values: Any) -> int | None:
    shape = getattr(values, "shape", None)
    if shape is not None:
        return shape[0] if len(shape) else None
    return len(values) if hasattr(values, "__len__") else None


def safe_split(
    estimator: Any, X: Any, y: Any, indices: Any, train_indices: Any = None
) -> tuple[Any, Any]:
    """Select rows of the data, and also columns of a precomputed kernel."""
    taken = _take(X, indices)
    if get_tags(estimator).input_tags.pairwise:
        taken = taken[:, indices if train_indices is None else train_indices]
    return taken, None if y is None else _take(y, indices)


def check_fit_params(X: Any, params: Any, indices: Any = None) -> dict[str, Any]:
    """Select rows of the parameters that have one entry per sample."""
    params = dict(params or {})
    if indices is None:
        return params
    n_samples = _n_samples(X)
    return {
        name: _take(value, indices)
        if not isinstance(value, str) and _n_samples(value) == n_samples
        else value
        for name, value in params.items()
    }


# -- one fit --------------------------------------------------------------------------


def fit_and_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scorer: Any,
    train: Any,
    test: Any,
    parameters: Mapping[str, Any],
    fit_params: Any,
    score_params: Any,
    verbose: int = 0,
    return_train_score: bool = False,
    return_n_test_samples: bool = False,
    return_times: bool = False,
    return_estimator: bool = False,
    split_progress: Any = None,
    candidate_progress: Any = None,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Fit on one training set and score on its test set, without messages."""
    fit_params = check_fit_params(X, fit_params, train)
    estimator = estimator.set_params(**clone(dict(parameters), safe=False))
    begin = time.time()
    X_train, y_train = safe_split(estimator, X, y, train)
    X_test, y_test = safe_split(estimator, X, y, test, train)
    parts = [("test", X_test, y_test, test)]
    if return_train_score:
        parts.append(("train", X_train, y_train, train))
    result: dict[str, Any] = {"fit_error": None, "score_time": 0.0}
    try:
        targets = () if y_train is None else (y_train,)
        estimator.fit(X_train, *targets, **fit_params)
    except Exception:
        if error_score == "raise":
            raise
        result["fit_error"] = traceback.format_exc()
    result["fit_time"] = time.time() - begin
    for part, X_part, y_part, rows in parts:
        if result["fit_error"] is None:
            given = check_fit_params(X, score_params, rows)
            scores = _score(estimator, X_part, y_part, scorer, given, error_score)
            if part == "test":
                result["score_time"] = time.time() - begin - result["fit_time"]
        else:
            names = getattr(scorer, "_scorers", None)
            scores = error_score if names is None else dict.fromkeys(names, error_score)
        result[f"{part}_scores"] = scores
    return {
        **result,
        "n_test_samples": _n_samples(X_test),
        "estimator": estimator,
        "parameters": parameters,
    }


def _score(
    estimator: Any, X: Any, y: Any, scorer: Any, params: Any, error_score: Any
) -> Any:
    """Return a score or a dict of scores; the error score if scoring fails."""
    try:
        scores = scorer(estimator, X, *(() if y is None else (y,)), **params)
    except Exception:
        if error_score == "raise":
            raise
        scores = traceback.format_exc()
    # With several metrics, the scores of failed metrics are error messages.
    if isinstance(scores, dict):
        return {name: _checked(score, error_score) for name, score in scores.items()}
    return _checked(scores, error_score)


def _checked(score: Any, error_score: Any) -> Any:
    if not isinstance(score, str):
        return float(score)
    warnings.warn(
        f"Scoring failed. The score on this train-test partition for these parameters "
        f"will be set to {error_score}. Details: \n{score}",
        UserWarning,
        stacklevel=4,
    )
    return error_score


def report_failures(results: Sequence[dict], error_score: Any) -> None:
    """Warn about failed fits, or raise ValueError if all fits failed."""
    counts = Counter(result["fit_error"] for result in results if result["fit_error"])
    if not counts:
        return
    details = "\n".join(
        f"{count} fits failed with the following error:\n{error}"
        for error, count in counts.items()
    )
    if counts.total() == len(results):
        raise ValueError(f"\nAll the {len(results)} fits failed.\n{details}")
    warnings.warn(
        f"\n{counts.total()} fits failed out of a total of {len(results)}.\nThe score "
        f"on these train-test partitions will be set to {error_score}.\n{details}",
        FitFailedWarning,
        stacklevel=2,
    )


# -- the search -----------------------------------------------------------------------


def check_multimetric_refit(search: Any, scores: Mapping[str, Any]) -> None:
    """Raise ValueError if `refit` is not valid for several metrics."""
    refit = search.refit
    if refit is False or callable(refit):
        return
    if not isinstance(refit, str) or refit not in scores:
        raise ValueError(
            "For multi-metric scoring, the parameter refit must be the name of a "
            f"metric, a callable or False, got {refit!r}."
        )


def resolve_scorers(search: Any) -> tuple[Any, Any]:
    """Return the scorer of a search and the metric that `refit` selects by."""
    if callable(search.scoring):
        return search.scoring, "score"
    raises = search.error_score == "raise"
    scorers = check_scoring(search.estimator, search.scoring, raise_exc=raises)
    if search.scoring is None or isinstance(search.scoring, str):
        return scorers, "score"
    is_dict = isinstance(search.scoring, Mapping)
    names = dict.fromkeys(search.scoring) if is_dict else set(search.scoring)
    check_multimetric_refit(search, dict.fromkeys(names))
    return scorers, search.refit


def route_fit_params(search: Any, params: Mapping[str, Any]) -> Any:
    """Split fit parameters; without metadata routing, the scorer receives none."""
    if get_config().get("enable_metadata_routing"):
        return process_routing(search, "fit", **params)
    params = dict(params)
    groups = params.pop("groups", None)
    return Bunch(
        estimator=Bunch(fit=params),
        splitter=Bunch(split={"groups": groups}),
        scorer=Bunch(score={}),
    )


def select_best_index(refit: Any, refit_metric: Any, results: Mapping) -> int:
    """Return the row that a callable `refit` returns, or the first one of rank 1."""
    if not callable(refit):
        return int(results[f"rank_test_{refit_metric}"].argmin())
    best = refit(results)
    if not isinstance(best, numbers.Integral):
        raise TypeError("best_index_ returned is not an integer")
    if not 0 <= int(best) < len(results["params"]):
        raise IndexError("best_index_ index out of range")
    return int(best)


def format_results(
    search: Any,
    candidate_params: Sequence[Mapping[str, Any]],
    n_splits: int,
    out: Sequence[Mapping[str, Any]],
    more_results: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return `cv_results_` of the fits; columns of parameters have type object."""
    more = more_results or {}
    results: dict[str, Any] = {name: np.asarray(more[name]) for name in more}

    def add(name: str, values: Sequence[Any]) -> np.ndarray:
        table = np.array(values, dtype=float).reshape(-1, n_splits)
        results[f"mean_{name}"] = table.mean(axis=1)
        results[f"std_{name}"] = table.std(axis=1)
        return table

    for time_ in ("fit_time", "score_time"):
        add(time_, [fold[time_] for fold in out])
    for name in dict.fromkeys(name for row in candidate_params for name in row):
        column = np.ma.masked_all(len(candidate_params), dtype=object)
        for i, row in enumerate(candidate_params):
            if name in row:
                column[i] = row[name]
        results[f"param_{name}"] = column
    results["params"] = candidate_params
    for part in ("test", "train")[: 1 + bool(search.return_train_score)]:
        scores = [fold[f"{part}_scores"] for fold in out]
        for metric in scores[0]:
            table = add(f"{part}_{metric}", [by_name[metric] for by_name in scores])
            for split, column in enumerate(table.T):
                results[f"split{split}_{part}_{metric}"] = column
            if part == "test":
                # Rows without a score share the last rank.
                score = np.nan_to_num(-table.mean(axis=1), nan=np.inf)
                rank = rankdata(score, method="min").astype(np.int32)
                results[f"rank_test_{metric}"] = rank
    return results
