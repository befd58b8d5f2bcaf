"""Warm starts from the results of earlier searches."""

from __future__ import annotations

import ast
import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from skbayes.journal.reader import read_trials
from skbayes.results.scores import mean_scores
from skbayes.space import Space
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial, TrialState
from skbayes.utils.optional import warn_user
from skbayes.utils.optuna_study import results_of_study, study_of

Params = dict[str, Any]
Known = tuple[Params, float, float | None]


class KnownTrial(NamedTuple):
    """Earlier trial; the score is NaN if it failed.

    `fitted_params` are parameters that the search set in addition to `params`. `place`
    is its position in the source, and `trial` the object, if there is one.
    """

    params: Params
    score: Any
    noise: float | None = None
    cost: float | None = None
    failed: bool = False
    fitted_params: Mapping[str, Any] = MappingProxyType({})
    place: int = 0
    trial: Trial | None = None


# Number of digits by which numbers are compared: np.logspace(-5, 0, 6) begins with
# 9.999999999999999e-06 on some machines.
_DIGITS = 12


def known_results(source: Any, space: Space, metric: str = "score") -> list[Known]:
    """Collect the known scores of the configurations of a space.

    Parameters
    ----------
    source : search, dict, data frame, study, path or iterable of Trial
        Fitted search of scikit-learn or skbayes, its ``cv_results_``, a data frame of
        these, trials, the path of a journal, an Optuna study with one objective, a
        fitted OptunaSearchCV, or a scikit-optimize result.
    space : Space
        Space of the new search, which can differ from the earlier search.
    metric : str, default="score"
        Name of the metric, as in ``mean_test_<metric>``.

    Returns
    -------
    known : list of (params, score, noise)
        Configurations of `space` among the earlier ones, in their order and with plain
        Python values, and their mean scores. `noise` is the additional variance of the
        score of a trial that was not scored on all folds, otherwise None.

    Raises
    ------
    TypeError
        If `source` has an unsupported type.
    ValueError
        If `source` is not fitted, lacks hyper-parameters or the metric, or is a study
        with several objectives.
    OSError
        If the journal cannot be read.

    Warns
    -----
    UserWarning
        If some configurations are omitted. These are configurations outside of the
        space: they lack one of its hyper-parameters, have an additional one, or have a
        value that it does not contain. Trials without a finite score, and failed or
        pruned trials of a study, are also omitted. The same holds for candidates that a
        successive halving scored with fewer resources than its last candidates, and for
        those fitted on a smaller share of the training sets than others.

    Notes
    -----
    Values of a study are scores of `metric`, and greater is better. Values of a study
    that minimizes are negated, as for scorers such as "neg_log_loss". Values of a
    scikit-optimize result are negated, too.

    Numbers are compared to twelve digits, so that the ends of a grid made by
    `numpy.logspace` belong to the range between them. The constraint of the space is
    not checked: scores of forbidden configurations are also informative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results import known_results
    >>> from skbayes.space import Space
    >>> X, y = load_iris(return_X_y=True)
    >>> coarse = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3).fit(X, y)
    >>> fine = Space.from_notation({"C": (0.5, 200.0, "log-uniform")})
    >>> [params for params, score, noise in known_results(coarse, fine)]
    [{'C': 1.0}, {'C': 10.0}, {'C': 100.0}]
    """
    known = known_trials(source, space, metric, failures=False)
    return [(trial.params, trial.score, trial.noise) for trial in known]


def known_trials(
    source: Any,
    space: Space,
    metric: str = "score",
    failures: bool = True,
    n_outside: int = 0,
) -> list[KnownTrial]:
    """Return the output of `known_results`, with the costs and failures of studies.

    The source can also be the path of a journal. Otherwise, `n_outside` of its trials,
    which are outside of the space, have been removed.
    """
    if isinstance(source, str | os.PathLike):
        source, n_outside = journal_trials(source, space)
    rows = [KnownTrial(*row) for row in known_rows(source, metric)]
    n_rows = len(rows) + n_outside
    known: list[KnownTrial] = []
    for place, row in enumerate(rows):
        scored = bool(np.isfinite(row.score))
        if not scored and not (failures and row.failed):
            continue
        try:
            params = own_params(space, row.params, row.fitted_params)
        except ValueError:
            n_outside += scored
            continue
        score = float(row.score)
        known.append(row._replace(params=params, score=score, place=place))
    n_ignored = n_rows - len(known)
    counts = {
        "outside search_spaces": n_outside,
        "without a comparable score": n_ignored - n_outside,
    }
    if n_ignored:
        reasons = ", ".join(f"{n} {reason}" for reason, n in counts.items() if n)
        warn_user(
            f"warm_start_from: {n_ignored} of {n_rows} known configurations are "
            f"ignored ({reasons})."
        )
    return known


def journal_trials(path: str | os.PathLike, space: Space) -> tuple[list[Trial], int]:
    """Return the trials of a journal within the space, and the number of others."""
    try:
        return read_trials(path, space)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"warm_start_from: there is no journal {os.fspath(path)!r}."
        ) from error


def own_params(
    space: Space, params: Any, fitted: Mapping[str, Any] = MappingProxyType({})
) -> Params:
    """Return a configuration of `space`, or raise a ValueError.

    It includes those `fitted` parameters that are dimensions of the space.
    """
    if fitted:
        names = space.parameter_names
        own = {k: v for k, v in params.items() if k in names or k not in fitted}
        params = own | {k: v for k, v in fitted.items() if k in names}
    try:
        return space.canonicalize(params)
    except ValueError:
        if not isinstance(params, Mapping):
            raise
    rounded = {
        name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
        for name, value in params.items()
    }
    return space.canonicalize(rounded)


def known_rows(source: Any, metric: str) -> Sequence[tuple]:
    """Return all known trials; missing scores are NaN."""
    study = study_of(source)
    if study is not None:
        return results_of_study(study)
    if all(hasattr(source, name) for name in ("x_iters", "func_vals", "space")):
        return _rows_of_skopt(source)
    trials = getattr(source, "trials_", source)
    if isinstance(trials, History):
        guiding = getattr(source, "target_metric_", "score")
        return rows_of_trials(trials, metric, guiding)
    results = getattr(source, "cv_results_", source)
    if results is source and hasattr(source, "fit") and not isinstance(source, type):
        raise ValueError(
            f"warm_start_from: this {type(source).__name__} is not fitted; fit it "
            "first, or pass its cv_results_"
        )
    if hasattr(results, "columns"):
        results = {str(name): results[name].to_list() for name in results.columns}
    if isinstance(results, Mapping):
        return _rows_of_results(results, metric)
    trials = list(results) if hasattr(results, "__iter__") else [None]
    if not all(isinstance(trial, Trial) for trial in trials):
        raise TypeError(
            "warm_start_from must be a fitted search, its cv_results_ as a dict or "
            "data frame, trials, a study of Optuna, or a result of scikit-optimize, "
            f"got {type(source).__name__}. Pass the best configurations of searches on "
            "other data as initial_points."
        )
    return rows_of_trials(trials, metric, "score")


def _rows_of_skopt(result: Any) -> list[KnownTrial]:
    names = [dimension.name for dimension in result.space.dimensions]
    if None in names:
        raise ValueError(
            "warm_start_from: a dimension of scikit-optimize's result has no name; "
            "give it that of the parameter: Real(..., name='C')."
        )
    values = np.asarray(result.func_vals, dtype=float)
    times: list[Any] = [None] * len(values)
    if hasattr(result, "log_time"):
        times = np.exp(result.log_time).tolist()
    return [
        KnownTrial(
            dict(zip(names, point, strict=True)),
            -float(value) if np.isfinite(value) else np.nan,
            cost=seconds,
            failed=not np.isfinite(value),
        )
        for point, value, seconds in zip(result.x_iters, values, times, strict=True)
    ]


def _rows_of_results(results: Mapping[str, Any], metric: str) -> list[KnownTrial]:
    try:
        scores = mean_scores(results, metric)
    except ValueError as error:
        raise ValueError(f"warm_start_from: {error}") from error
    params = _params_of(results)
    if len(params) != len(scores):
        raise ValueError(
            f"warm_start_from: the results have {len(params)} configurations and "
            f"{len(scores)} scores."
        )
    fitted = results.get("fitted_params", [{}] * len(params))
    return [
        KnownTrial(row, float(score), fitted_params=fitted_params_of(more))
        for row, score, more in zip(params, scores, fitted, strict=True)
    ]


def fitted_params_of(value: Any) -> Mapping[str, Any]:
    """Return the value of the column `fitted_params`, which a file has as text."""
    if isinstance(value, str):
        with contextlib.suppress(SyntaxError, ValueError):
            value = ast.literal_eval(value)
    return value if isinstance(value, Mapping) else {}


def _params_of(results: Mapping[str, Any]) -> list[Any]:
    # In a table that was read from a file, they are strings.
    if all(isinstance(row, Mapping) for row in results.get("params", [None])):
        return list(results["params"])
    columns = {
        name.removeprefix("param_"): values
        for name, values in results.items()
        if name.startswith("param_")
    }
    if not columns:
        raise ValueError(
            "warm_start_from: the results have neither a column 'params' of dicts nor "
            "columns 'param_*'"
        )
    return [
        {n: value for n, value in zip(columns, row, strict=True) if not _is_nan(value)}
        for row in zip(*columns.values(), strict=True)
    ]


def _is_nan(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    # The missing value of pandas' nullable dtypes.
    return type(value).__name__ == "NAType"


def _remedy(metrics: list[str]) -> str:
    if metrics == ["score"]:
        return "Use a single metric as `scoring`, as in the earlier search."
    return f"Use scoring={metrics!r}, and one of these metrics as `refit`."


def rows_of_trials(
    trials: Sequence[Trial], metric: str, guiding: str
) -> list[KnownTrial]:
    """Return rows of trials; `guiding` is the name of the metric of `Trial.score`."""
    whole = max((_amount(trial) for trial in trials), default=(1.0, 0))
    rows: list[KnownTrial] = []
    for trial in trials:
        scores = trial.scores
        complete = trial.state == TrialState.COMPLETE
        if complete and scores and metric not in scores:
            raise ValueError(
                f"warm_start_from: the trials have no scores {metric!r}, only "
                f"{list(scores)}. {_remedy(list(scores))}"
            )
        # The noise of a partial mean is only known for the guiding metric.
        score, noise = math.nan, None
        if _amount(trial) == whole and metric == guiding:
            score, noise = trial.score, trial.noise
        elif _amount(trial) == whole and complete and scores:
            score = float(scores[metric][: trial.n_folds].mean())
        own = KnownTrial(trial.params, score, noise, trial=trial)
        rows.append(own._replace(fitted_params=trial.fitted_params))
    return rows


def _amount(trial: Trial) -> tuple[float, int]:
    """Return the amount of data of a trial, by which scores are comparable."""
    return trial.fidelity.train_fraction, trial.n_folds


def known_slacks(plan: Plan) -> list[list[float] | None]:
    """Return the slacks of the constraints for each known observation, None if unknown.

    They are known if an earlier search measured outcomes with constraints.
    """
    bounds = plan.constraints
    return [
        bounds.of_trial(known.trial)
        if bounds is not None and known.trial is not None and known.trial.outcomes
        else None
        for known in plan.known
    ]


def promising(plan: Plan, slacks: Sequence[list[float] | None] = ()) -> list[tuple]:
    """Return the known observations that did not fail and are allowed.

    If some of them satisfy the constraints, only those are returned.
    """
    allowed = [
        (known, own and all(slack <= 0.0 for slack in own))
        for known, own in zip_longest(plan.known, slacks)
        if not np.all(np.isnan(known.score)) and plan.space.allows(known.params)
    ]
    satisfying = [observation for observation, is_kept in allowed if is_kept]
    return satisfying or [observation for observation, _ in allowed]
