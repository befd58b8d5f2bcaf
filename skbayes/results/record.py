"""Record of a search: its trials as arrays."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from os import PathLike
from typing import Any, Protocol

import numpy as np

from skbayes.results.scores import compared
from skbayes.results.trial_costs import trial_costs
from skbayes.space import Space
from skbayes.space.dimensions import Dimension, FloatArray
from skbayes.trial.records import History, Trial, TrialState
from skbayes.utils.ranking import best_first, least_violating
from skbayes.utils.texts import positive_name

# Classes of scikit-learn that change the outputs of a model.
WRAPPERS = {
    "CalibratedClassifierCV",
    "FixedThresholdClassifier",
    "FrozenEstimator",
    "TransformedTargetRegressor",
    "TunedThresholdClassifierCV",
}


class FittedSearch(Protocol):
    """Fitted search of skbayes or scikit-learn."""

    @property
    def estimator(self) -> Any:
        """Estimator that is tuned."""

    @property
    def cv_results_(self) -> Any:
        """Results with one row per trial."""


@dataclass(frozen=True)
class Source:
    """Trials of a search, and what their source contains about the search.

    `metric` is the metric of the scores of the trials, and `direction` is -1 if its
    values are negated; `directions` are the directions of several objectives. `scoring`
    is the name of a metric called "score". `running` contains numbers, configurations
    and starts (seconds since 1970). `best` and `own_index` are the numbers of the
    chosen trial and of the trial of the estimator's own values. `is_study` marks an
    Optuna study, whose failures and durations a new search learns.
    """

    trials: Sequence[Trial]
    space: Space | None = None
    metric: str | None = None
    direction: int = 1
    directions: Mapping[str, int] = field(default_factory=dict)
    running: Sequence[tuple[int, dict[str, Any], float]] = ()
    scoring: str | None = None
    best: int | None = None
    own_index: int | None = None
    name: str = "search"
    method: str = ""
    n_points: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_study: bool = False


@dataclass(frozen=True)
class RunningTrial:
    """Trial that has not finished.

    Parameters
    ----------
    number : int
        Number of the trial.
    params : dict of str to object
        Configuration of the trial.
    started : float
        Start of the trial, in seconds since the start of the first trial.
    """

    number: int
    params: dict[str, Any]
    started: float


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """The finished trials of a search, in order of their numbers, as arrays.

    Created by :func:`skbayes.inspection.read_record`.

    Parameters
    ----------
    number : ndarray of shape (n_trials,), int
        Numbers of the trials. Numbers of running trials are missing.
    params : list of dict
        Configurations. Values that a journal stores only as text are texts.
    score : ndarray of shape (n_trials,)
        Mean of `metric` over the splits; greater is better. NaN for failed trials. For
        pruned and timed out trials, an estimate from their first folds.
    std : ndarray of shape (n_trials,)
        Standard deviation of `metric` over the splits.
    scores : dict of str to ndarray
        Mean of each metric over the splits, on the scale of the scorer.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "timed_out", "out_of_memory" or "pruned".
    stage : ndarray of shape (n_trials,), int
        Stage of the search, from 0.
    train_fraction : ndarray of shape (n_trials,)
        Share of the rows of the training sets.
    subset : ndarray of shape (n_trials,), int
        Number of the subset, if there are several of the same size.
    n_folds : ndarray of shape (n_trials,), int
        Number of folds of the trial.
    started, finished : ndarray of shape (n_trials,)
        Start of the first fit and end of the last one, in seconds since the start of
        the first trial. NaN if unknown. The time between an interruption of a search
        and its continuation counts.
    duration : ndarray of shape (n_trials,)
        Wall time of the fits in seconds.
    fit_time : ndarray of shape (n_trials,)
        Mean time of one fit in seconds.
    costs : dict of str to ndarray
        Costs of the fits, by name.
    outcomes : dict of str to ndarray
        Means of the outcomes with constraints, by name.
    violation : ndarray of shape (n_trials,) or None
        Violation of the constraints on outcomes, 0 if all are satisfied; None if there
        are no constraints.
    running : list of RunningTrial
        Trials that have started and not finished.
    space : Space or None
        Search space; None if unknown.
    metric : str
        Metric of `score`; "score" if it has no name.
    name : str
        Name of the search in legends.
    method : str
        Name of the class of the search; "" if unknown.
    n_points : int or None
        Number of trials in parallel; None if unknown.
    sign : int
        -1 if the metric is a negated one (a score called ``neg_…``, or an objective to
        minimize), else 1. ``sign * score`` is the metric itself.
    directions : dict of str to int
        For each of several objectives, 1 to maximize it or -1 to minimize it; empty for
        a search with one objective.
    settings : dict of str to object
        Values of `tradeoff`, `cost`, `score_range` and ``train_fractions_``, if the
        search has them.
    best : int or None
        Position of the best trial in the arrays: the trial chosen by the search, or
        else the first eligible one with the highest score. None if there is none.
    own_index : int or None
        Position of the trial of the estimator's own values; None if unknown.
    trials : sequence of Trial
        The trials themselves, in the same order.
    """

    number: np.ndarray
    params: list[dict[str, Any]]
    score: FloatArray
    std: FloatArray
    scores: dict[str, FloatArray]
    state: np.ndarray
    stage: np.ndarray
    train_fraction: FloatArray
    subset: np.ndarray
    n_folds: np.ndarray
    started: FloatArray
    finished: FloatArray
    duration: FloatArray
    fit_time: FloatArray
    costs: dict[str, FloatArray] = field(default_factory=dict)
    outcomes: dict[str, FloatArray] = field(default_factory=dict)
    violation: FloatArray | None = None
    running: list[RunningTrial] = field(default_factory=list)
    space: Space | None = None
    metric: str = "score"
    name: str = "search"
    method: str = ""
    n_points: int | None = None
    sign: int = 1
    directions: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    best: int | None = None
    own_index: int | None = None
    trials: Sequence[Trial] = ()

    def __len__(self) -> int:
        return len(self.number)

    @property
    def shown(self) -> FloatArray:
        """Scores on the scale of the metric, shape (n_trials,); errors are positive."""
        return self.sign * self.score

    @property
    def title(self) -> str:
        """Name of `shown`: the metric, or the error for a negated metric."""
        if self.sign > 0:
            return self.metric
        return positive_name(self.metric)

    @property
    def label(self) -> str:
        """Label of `shown` for an axis, with the better direction."""
        name = self.title
        better = "higher" if self.sign > 0 else "lower"
        return f"{name.replace('_', ' ')} ({better} is better)"

    @property
    def complete(self) -> np.ndarray:
        """Mask of complete trials with a score, shape (n_trials,)."""
        return (self.state == "complete") & np.isfinite(self.score)

    @property
    def comparable(self) -> np.ndarray:
        """Mask of comparable trials: complete, and of the highest fidelity.

        In a search with a time limit, it is the fidelity of the chosen trial.
        """
        if any(trial.fidelity.n_folds is not None for trial in self.trials):
            numbers = [trial.number for trial in compared(self.trials)]
            return np.isin(self.number, numbers)
        shares = self.train_fraction[self.complete]
        return self.complete & (self.train_fraction == shares.max(initial=0.0))

    @property
    def scored(self) -> np.ndarray:
        """Mask of trials to learn from: comparable ones, and pruned ones like them.

        In a search with a time limit, these are the trials of the largest stage.
        """
        if any(trial.fidelity.n_folds is not None for trial in self.trials):
            counts = np.bincount(self.stage[self.complete], minlength=1)
            return self.complete & (self.stage == counts.argmax())
        is_pruned = (self.state == "pruned") & self.highest
        return self.comparable | (is_pruned & np.isfinite(self.score))

    @property
    def highest(self) -> np.ndarray:
        """Mask of trials of any state with the fidelity of the comparable ones."""
        rows = self.train_fraction == self.train_fraction[self.comparable].max(
            initial=0.0
        )
        return rows & (self.n_folds == self.n_folds[self.comparable].max(initial=0))

    @property
    def eligible(self) -> np.ndarray:
        """Mask of candidates for the best: comparable, with the smallest violation."""
        return self._least_violating(self.comparable)

    @property
    def allowed(self) -> np.ndarray:
        """Mask of candidates for a front: complete, with the smallest violation."""
        return self._least_violating(self.complete)

    @property
    def models(self) -> list[Any]:
        """Model of each trial in a choice among models; None without one.

        Wrappers are omitted: the model in a CalibratedClassifierCV may be an SVC.
        """
        return [
            next((_inner(v) for v in params.values() if hasattr(v, "predict")), None)
            for params in self.params
        ]

    @property
    def counts(self) -> str:
        """Number of trials in words, by state unless all are complete."""
        states = Counter(state.replace("_", " ") for state in self.state)
        n_outside = 0
        if self.violation is not None:
            n_outside = int(np.sum(self.complete & (self.violation > 0.0)))
        parts = [f"{n} {state}" for state, n in states.items()]
        parts += [f"{n_outside} violate constraints"] if n_outside else []
        is_plain = parts == [f"{len(self)} complete"] or not parts
        return str(len(self)) + ("" if is_plain else f" ({', '.join(parts)})")

    @property
    def fit_seconds(self) -> float:
        """Time of fitting and scoring of all folds, in seconds."""
        fits = [fold for t in self.trials for fold in t.folds if fold.is_fitted]
        times = [time for fold in fits for time in (fold.fit_time, fold.score_time)]
        return float(np.nansum(times))

    @property
    def order(self) -> np.ndarray:
        """Positions of the trials, the best comparable one first."""
        score = np.where(self.comparable, self.score, np.nan)
        return best_first(score, self.violation)

    def _least_violating(self, usable: np.ndarray) -> np.ndarray:
        if self.violation is None:
            return usable
        return usable & least_violating(self.violation, usable)


def _inner(model: Any) -> Any:
    """Return the last step of a pipeline, and the model in a wrapper of its outputs."""
    for name in ("estimator", "regressor"):
        if type(model).__name__ in WRAPPERS and hasattr(model, name):
            return _inner(getattr(model, name))
    steps = getattr(model, "steps", None)
    return _inner(steps[-1][1]) if steps else model


def dimensions_by_name(space: Space | None) -> dict[str, list[Dimension]]:
    """Return the dimensions of each hyper-parameter: several if it is in branches."""
    by_name: dict[str, list[Dimension]] = {}
    for column in space.columns if space is not None else []:
        if column.name is not None:
            by_name.setdefault(column.name, []).append(column.dimension)
    return by_name


def make_record(source: Source, metric: str | None = None) -> SearchRecord:
    """Convert the trials of a source to arrays, with the scores of one metric."""
    trials = sorted(source.trials, key=lambda trial: trial.number)

    def column(name: str, kind: Any = float) -> np.ndarray:
        return np.array(list(map(attrgetter(name), trials)), dtype=kind)

    state, trial_score = column("state", object), column("score")
    complete = state == "complete"
    scores, guide = _fitted_scores(trials), source.metric
    if list(scores) == ["score"]:
        guide = source.scoring or "score"
        scores = {guide: scores["score"]}
    means = {name: _reduced(np.mean, values) for name, values in scores.items()}
    if guide not in means:
        guide = _guide_of(trial_score, means, complete)
    chosen = _check_metric(metric, guide, means)
    direction = source.directions.get(chosen, source.direction)
    if chosen == guide and chosen in means and chosen not in source.directions:
        direction *= _direction(trial_score[complete], means[chosen][complete])
    started, duration = column("started"), column("duration")
    begins = [*started[np.isfinite(started)], *(time for *_, time in source.running)]
    begin = min(begins, default=0.0)
    has_bounds = any(trial.violation is not None for trial in trials)
    record = SearchRecord(
        trials=trials,
        number=column("number", int),
        params=[trial.params for trial in trials],
        score=trial_score if chosen == guide else direction * means[chosen],
        std=_reduced(np.std, scores.get(chosen, [np.empty(0)] * len(trials))),
        scores=means,
        state=state,
        stage=column("fidelity.stage", int),
        train_fraction=column("fidelity.train_fraction"),
        subset=column("fidelity.subset", int),
        n_folds=column("n_folds", int),
        started=started - begin,
        finished=started - begin + duration,
        duration=duration,
        fit_time=_reduced(np.mean, [t.fit_times[t.fitted] for t in trials]),
        costs=_costs(trials),
        outcomes=_outcomes(trials),
        violation=History(trials).violations if has_bounds else None,
        running=[RunningTrial(n, p, time - begin) for n, p, time in source.running],
        space=source.space,
        metric=chosen,
        name=source.name,
        method=source.method,
        n_points=source.n_points,
        sign=-1 if direction < 0 or chosen.startswith("neg_") else 1,
        directions=dict(source.directions),
        settings=dict(source.settings),
    )
    places = {int(number): place for place, number in enumerate(record.number)}
    place = None
    if source.best is not None and chosen == guide:
        place = places[source.best]
    elif record.eligible.any():
        place = int(record.order[0])
    own_index = None if source.own_index is None else places.get(source.own_index)
    return dataclasses.replace(record, best=place, own_index=own_index)


def _fitted_scores(trials: Sequence[Trial]) -> dict[str, list[FloatArray]]:
    """Return the scores of the fitted folds of each trial, by metric."""
    # `Trial.scores` builds a new dict of arrays at each access.
    tables = [{} if t.state == TrialState.FAILED else t.scores for t in trials]
    fitted = [trial.fitted for trial in trials]
    names = [name for table in tables for name in table]
    names = names or [name for trial in trials for name in trial.scores]
    return {
        name: [
            table[name][places] if name in table else np.empty(0)
            for table, places in zip(tables, fitted, strict=True)
        ]
        for name in dict.fromkeys(names or ["score"])
    }


def _reduced(function: Any, values: Sequence[FloatArray]) -> FloatArray:
    """Return a statistic of each array, NaN for empty ones."""
    return np.array([function(v) if len(v) else math.nan for v in values], dtype=float)


def _guide_of(
    score: FloatArray, means: Mapping[str, FloatArray], complete: np.ndarray
) -> str:
    """Return the metric whose means are the scores of complete trials, up to a sign."""
    for name, mean in means.items():
        a, b = np.abs(mean[complete]), np.abs(score[complete])
        if np.allclose(a, b, equal_nan=True):
            return name
    return "score"


def _check_metric(
    metric: str | None, guide: str, table: Mapping[str, FloatArray]
) -> str:
    # A single metric is called "score" in `cv_results_`.
    if metric is None or (metric == "score" and len(table) == 1):
        return guide
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a string or None, got {metric!r}.")
    if metric not in table:
        raise ValueError(
            f"metric must be one of {list(table)} or None, got {metric!r}."
        )
    return metric


def _direction(score: FloatArray, mean: FloatArray) -> int:
    """Return -1 if the search maximizes the negated metric, else 1."""
    # A history does not contain the direction, but both the metric and the score.
    usable = np.isfinite(score) & (score != 0.0)
    opposite = np.sign(mean[usable]) == -np.sign(score[usable])
    return -1 if usable.any() and opposite.all() else 1


def _costs(trials: Sequence[Trial]) -> dict[str, FloatArray]:
    folds = [fold.extras.get("costs", {}) for trial in trials for fold in trial.folds]
    names = list(dict.fromkeys(name for costs in folds for name in costs))
    shares = np.array([trial.fidelity.train_fraction for trial in trials])
    relative = shares / shares.max(initial=0.0) if len(shares) else shares
    return {name: trial_costs(trials, name, relative) for name in names}


def _outcomes(trials: Sequence[Trial]) -> dict[str, FloatArray]:
    tables = [trial.outcomes for trial in trials]
    names = list(dict.fromkeys(name for table in tables for name in table))
    return {n: np.array([table.get(n, math.nan) for table in tables]) for n in names}


# Sources of the trials of a search that the displays accept.
AnySource = (
    FittedSearch | History | SearchRecord | Mapping[str, Any] | str | PathLike[str]
)
