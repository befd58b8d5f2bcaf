"""Warm starts from the results of earlier searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from skbayes.results.read import params_of_space, read_trials
from skbayes.results.record import Source
from skbayes.space import Space
from skbayes.trial.plan import Plan
from skbayes.trial.records import KnownTrial, Trial, TrialState
from skbayes.utils.did_you_mean import naming
from skbayes.utils.optional import warn_user

Params = dict[str, Any]
Known = tuple[Params, float, float | None]


def known_results(source: Any, space: Space, metric: str = "score") -> list[Known]:
    """Collect the known scores of the configurations of a space.

    Parameters
    ----------
    source : search, History, dict, study or path
        Fitted search of scikit-learn or skbayes, its ``trials_`` or ``cv_results_``,
        the path of a journal, an Optuna study with one objective, or a fitted
        OptunaSearchCV.
    space : Space
        Space of the new search, which can differ from the earlier search.
    metric : str, default="score"
        Name of the metric, as in ``mean_test_<metric>``.

    Returns
    -------
    known : list of (params, score, noise)
        Configurations of the earlier search that are in `space`, in their order and
        with plain Python values, and their mean scores. `noise` is the additional
        variance of the score of a trial that was not scored on all folds, or None.

    Raises
    ------
    TypeError
        If `source` has an unsupported type.
    ValueError
        If `source` is not fitted, lacks the metric, or is a study with several
        objectives.
    OSError
        If the journal cannot be read.

    Warns
    -----
    UserWarning
        If some configurations are omitted. These are configurations outside of the
        space, configurations without a finite score, and failed or pruned trials of a
        study. Trials with fewer resources, or a smaller share of the training sets,
        than other trials are also omitted. A configuration is outside of the space if
        it lacks a hyper-parameter, or if the space lacks one of its hyper-parameters or
        values.

    Notes
    -----
    Values of a study are scores of `metric`, and greater is better. Values of a study
    that minimizes are negated, as for scorers such as "neg_log_loss".

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
    with naming("source"):
        trials = known_trials(source, space, metric)
    return [(k.params, k.score, k.noise) for k in trials if not math.isnan(k.score)]


def known_trials(source: Any, space: Space, metric: str = "score") -> list[KnownTrial]:
    """Return the output of `known_results`, with the costs and failures of studies."""
    try:
        trials = read_trials(source, space, metric)
    except TypeError as error:
        text = f"{error} Pass the configurations of other results as initial_points."
        raise TypeError(text) from None
    return comparable_trials(trials, space, metric)


def comparable_trials(source: Source, space: Space, metric: str) -> list[KnownTrial]:
    """Return the trials of a source in a space that have a comparable score."""
    trials: list[KnownTrial] = []
    n_outside, n_rows = 0, len(source.trials)
    largest = max(map(_amount, source.trials), default=(1.0, 0))
    for trial in source.trials:
        score, noise = math.nan, None
        if _amount(trial) == largest:
            score, noise = _score_of(trial, metric, source.metric or "score")
        cost = trial.duration or None if source.is_study else None
        scored = math.isfinite(score)
        has_failed = source.is_study and trial.state == TrialState.FAILED
        if not scored and not has_failed:
            continue
        try:
            params = params_of_space(space, trial.params, trial.fitted_params)
        except ValueError:
            n_outside += scored
            continue
        trials.append(KnownTrial(params, float(score), noise, cost, trial))
    n_ignored = n_rows - len(trials)
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
    return trials


def _score_of(trial: Trial, metric: str, guide: str) -> tuple[float, float | None]:
    """Return mean and noise of a metric; `Trial.score` is the mean of `guide`."""
    scores, complete = trial.scores, trial.state == TrialState.COMPLETE
    if complete and scores and metric not in scores:
        remedy = "Use a single metric as `scoring`, as in the earlier search."
        if list(scores) != ["score"]:
            remedy = f"Use scoring={list(scores)}, and one of these metrics as `refit`."
        raise ValueError(
            f"the trials have no scores {metric!r}, only {list(scores)}. {remedy}"
        )
    # The noise of a partial mean is only known for the guiding metric.
    if metric == guide or not scores:
        return trial.score, trial.noise
    mean = float(scores[metric][: trial.n_folds].mean()) if complete else math.nan
    return mean, None


def _amount(trial: Trial) -> tuple[float, int]:
    """Return the amount of data of a trial; scores of equal amounts are comparable."""
    return trial.fidelity.train_fraction, trial.n_folds


def known_slacks(plan: Plan) -> list[list[float] | None]:
    """Return the slacks of the constraints for each earlier observation.

    They are None if the earlier search did not measure outcomes with constraints.
    """
    bounds = plan.constraints
    return [
        bounds.of_trial(observation.trial)
        if bounds is not None and observation.trial.outcomes
        else None
        for observation in plan.known_trials
    ]


def promising(plan: Plan, slacks: Sequence[list[float] | None] = ()) -> list[tuple]:
    """Return the earlier observations that did not fail and are allowed.

    If some of them satisfy the constraints, only those are returned.
    """
    allowed = [
        (trial, values and all(slack <= 0.0 for slack in values))
        for trial, values in zip_longest(plan.known_trials, slacks)
        if not np.all(np.isnan(trial.score)) and plan.space.allows(trial.params)
    ]
    feasible = [trial for trial, is_feasible in allowed if is_feasible]
    return feasible or [trial for trial, _ in allowed]


def teach(optimizer: Any, plan: Plan) -> None:
    """Pass the observations of earlier searches to an optimizer."""
    slacks = known_slacks(plan)
    for observation, values in zip(plan.known_trials, slacks, strict=True):
        optimizer.learn(*observation[:4], constraints=values)
    # The best known configuration is tried again, so the result is not worse.
    for params in plan.objective.best_known(promising(plan, slacks)):
        optimizer.enqueue(params)
    for observation in plan.known_trials:
        if np.all(np.isfinite(observation.score)):  # a cost may be unknown
            optimizer.exclude(observation.params)
