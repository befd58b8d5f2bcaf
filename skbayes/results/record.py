"""Record of a search: its trials as arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.evaluation.costs import TrialCosts
from skbayes.evaluation.objectives import COSTS
from skbayes.evaluation.trial import Trial, TrialState
from skbayes.results.curves import TrialCurves, curves_of
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray

__all__ = ["RunningTrial", "SearchRecord", "Source", "make_record"]


@dataclass(frozen=True)
class RunningTrial:
    """A trial that has not finished.

    Parameters
    ----------
    number : int
        Its number.
    params : dict of str to object
        Its parameters.
    started : float
        When it was asked for, in seconds since the first trial began.
    """

    number: int
    params: dict[str, Any]
    started: float


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """The finished trials of a search, in order of their numbers, as arrays.

    Made by :func:`skbayes.inspection.read_record`.

    Parameters
    ----------
    number : ndarray of shape (n_trials,), int
        Numbers of the trials; some are missing while earlier ones run.
    params : list of dict
        Their parameters; where a journal holds only a text of a value, that text.
    score : ndarray of shape (n_trials,)
        Mean of `metric` over the splits; the higher, the better. NaN for failed trials;
        for those that were pruned or timed out what their first folds predict.
    std : ndarray of shape (n_trials,)
        Its standard deviation over the splits.
    scores : dict of str to ndarray
        Means by metric, as the metric has them.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "timed_out", "out_of_memory" or "pruned".
    stage : ndarray of shape (n_trials,), int
        The stage of the search, from 0.
    train_fraction : ndarray of shape (n_trials,)
        Share of the rows of the training sets.
    subset : ndarray of shape (n_trials,), int
        Which of several subsets of that size.
    started, finished : ndarray of shape (n_trials,)
        When the fits began and ended, in seconds since the first trial began; NaN where
        that is not known. The time between two runs of a search that was interrupted
        counts.
    duration : ndarray of shape (n_trials,)
        Wall time of the fits in seconds.
    fit_time : ndarray of shape (n_trials,)
        Mean time of one fit in seconds.
    costs : dict of str to ndarray
        What was measured of the fits beside scores, by name.
    outcomes : dict of str to ndarray
        Means of the outcomes on which there are constraints, by name.
    violation : ndarray of shape (n_trials,) or None
        By how much trials violate the constraints on their outcomes, 0 if not at all;
        None if there are none.
    curves : list of TrialCurves or None
        Scores of each trial after each round, where rounds are counted; None where they
        are not known.
    running : list of RunningTrial
        Trials that were asked for and have not finished.
    space : Space or None
        What the parameters were chosen from; None if that is not known. Of a journal
        texts stand for objects.
    metric : str
        The metric of `score`; "score" if it has no name.
    name : str
        What to call the search in a legend.
    method : str
        Name of its class, "" if that is not known.
    n_points : int or None
        How many trials were in flight at a time; None if that is not known.
    sign : int
        -1 if the metric is one that is to be small: a score called ``neg_…``, an
        objective to minimize. ``sign * score`` is what a user knows it by.
    directions : dict of str to int
        For each of several objectives 1 or -1, as it is to be large or small; empty for
        a search with one.
    settings : dict of str to object
        Those of `tradeoff`, `cost` and `score_range` that the search has.
    best : int or None
        Place of the best trial in these arrays: the one that the search has chosen, or
        else the first eligible one with the highest score. None before there is one.
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
    started: FloatArray
    finished: FloatArray
    duration: FloatArray
    fit_time: FloatArray
    costs: dict[str, FloatArray] = field(default_factory=dict)
    outcomes: dict[str, FloatArray] = field(default_factory=dict)
    violation: FloatArray | None = None
    curves: list[TrialCurves | None] = field(default_factory=list)
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

    def __len__(self) -> int:
        return len(self.number)

    @property
    def shown(self) -> FloatArray:
        """Scores as a user knows them, shape (n_trials,): errors are positive."""
        return self.sign * self.score

    @property
    def label(self) -> str:
        """What to write on an axis of `shown`, with the direction that is better."""
        name = self.metric
        if self.sign < 0:
            name = name.removeprefix("neg_")
        better = "higher" if self.sign > 0 else "lower"
        return f"{name.replace('_', ' ')} ({better} is better)"

    @property
    def complete(self) -> np.ndarray:
        """Which trials were finished and have a score, shape (n_trials,)."""
        return (self.state == "complete") & np.isfinite(self.score)

    @property
    def comparable(self) -> np.ndarray:
        """Which trials can be compared: complete, and on the most training rows."""
        shares = self.train_fraction[self.complete]
        return self.complete & (self.train_fraction == shares.max(initial=0.0))

    @property
    def eligible(self) -> np.ndarray:
        """Which trials may be the best: comparable, with the least violation of all."""
        return self._least_violating(self.comparable)

    @property
    def allowed(self) -> np.ndarray:
        """Which trials may be on a front: complete, with the least violation of all."""
        return self._least_violating(self.complete)

    def _least_violating(self, usable: np.ndarray) -> np.ndarray:
        if self.violation is None or not np.any(usable):
            return usable
        return usable & (self.violation <= np.min(self.violation[usable]))


@dataclass
class Source:
    """Trials as a reader found them, and what is known of the search that made them."""

    trials: list[Trial]
    # Number, parameters and time (seconds since 1970) of trials that run.
    running: list[tuple[int, dict[str, Any], float]] = field(default_factory=list)
    space: Space | None = None
    # The metric that guided the search, and what a metric called "score" stands for.
    metric: str | None = None
    scoring: str | None = None
    name: str = "search"
    method: str = ""
    n_points: int | None = None
    directions: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    # Number of the trial that the search has chosen.
    best: int | None = None


def make_record(
    found: Source, metric: str | None = None, name: str | None = None
) -> SearchRecord:
    """Turn trials into arrays, with the scores of one metric."""
    trials = sorted(found.trials, key=lambda trial: trial.number)

    def column(name: str, kind: Any = float) -> np.ndarray:
        return np.array([getattr(trial, name) for trial in trials], dtype=kind)

    state, own_score = column("state", object), column("score")
    usable = np.where(state == "complete", own_score, np.nan)
    guide, table = _score_table(trials, usable, found)
    chosen = _check_metric(metric, guide, table)
    direction = found.directions.get(chosen, 1)
    if chosen == guide and chosen in table and chosen not in found.directions:
        direction = _direction(usable, table[chosen])
    started, duration = column("started"), column("duration")
    asked = [time for _, _, time in found.running]
    begin = min([*started[np.isfinite(started)], *asked], default=0.0)
    record = SearchRecord(
        number=column("number", int),
        params=[trial.params for trial in trials],
        score=own_score if chosen == guide else direction * table[chosen],
        std=np.array([_reduce(np.std, _fitted(t, chosen)) for t in trials], float),
        scores=table,
        state=state,
        stage=column("stage", int),
        train_fraction=column("train_fraction"),
        subset=column("subset", int),
        started=started - begin,
        finished=started - begin + duration,
        duration=duration,
        fit_time=np.array(
            [_reduce(np.mean, t.fit_times[t.fitted]) for t in trials], dtype=float
        ),
        costs=_costs(trials),
        outcomes=_outcomes(trials),
        violation=_violation(trials),
        curves=[curves_of(trial, chosen, direction) for trial in trials],
        running=[RunningTrial(n, p, time - begin) for n, p, time in found.running],
        space=found.space,
        metric=chosen,
        name=found.name if name is None else name,
        method=found.method,
        n_points=found.n_points,
        sign=-1 if direction < 0 or chosen.startswith("neg_") else 1,
        directions=found.directions,
        settings=found.settings,
    )
    if chosen == guide and found.best is not None:
        best = int(np.flatnonzero(record.number == found.best)[0])
    elif record.eligible.any():
        best = int(np.argmax(np.where(record.eligible, record.score, -np.inf)))
    else:
        return record
    return dataclasses.replace(record, best=best)


def _score_table(
    trials: Sequence[Trial], usable: FloatArray, found: Source
) -> tuple[str, dict[str, FloatArray]]:
    """Return the name of the guiding metric, and the mean scores by metric."""
    # The scores of a trial are a new dict of arrays each time they are asked for.
    tables = [{} if t.state == TrialState.FAILED else t.scores for t in trials]
    fitted = [trial.fitted for trial in trials]
    names = list(dict.fromkeys(name for table in tables for name in table)) or ["score"]
    none = np.empty(0)
    means = {
        name: np.array(
            [
                _reduce(np.mean, table[name][places] if name in table else none)
                for table, places in zip(tables, fitted, strict=True)
            ],
            dtype=float,
        )
        for name in names
    }
    if names == ["score"]:
        name = found.scoring or "score"
        return name, {name: means["score"]}
    if found.metric in means:
        return str(found.metric), means
    complete = [i for i, t in enumerate(trials) if t.state == TrialState.COMPLETE]
    for name, mean in means.items():
        a, b = np.abs(mean[complete]), np.abs(usable[complete])
        if np.allclose(a, b, equal_nan=True):
            return name, means
    return "score", means


def _check_metric(
    metric: str | None, guide: str, table: Mapping[str, FloatArray]
) -> str:
    # With one metric "score" is its name in `cv_results_`.
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
    """Return -1 if what is maximized is the negated metric, else 1."""
    # A history does not name the direction, but has the metric and the score.
    usable = np.isfinite(score) & (score != 0.0)
    opposite = np.sign(mean[usable]) == -np.sign(score[usable])
    return -1 if usable.any() and opposite.all() else 1


def _fitted(trial: Trial, metric: str, default: str = "score") -> FloatArray:
    """Return the scores of the folds that were fitted; none of a failed trial."""
    name = metric if metric in trial.scores else default
    if trial.state == TrialState.FAILED or name not in trial.scores:
        return np.empty(0)
    return trial.scores[name][trial.fitted]


def _reduce(function: Any, values: FloatArray) -> float:
    return float(function(values)) if len(values) else math.nan


def _costs(trials: Sequence[Trial]) -> dict[str, FloatArray]:
    """Return what was measured apart from the scores, by name."""
    folds = [fold.costs or {} for trial in trials for fold in trial.folds]
    names = list(dict.fromkeys(name for costs in folds for name in costs))
    shares = np.array([trial.train_fraction for trial in trials])
    relative = shares / shares.max(initial=0.0) if len(shares) else shares
    return {
        name: TrialCosts(name if name in COSTS else _unnamed).of_all(trials, relative)
        for name in names
    }


def _outcomes(trials: Sequence[Trial]) -> dict[str, FloatArray]:
    """Return the means of constrained outcomes, by name."""
    tables = [trial.outcomes for trial in trials]
    names = list(dict.fromkeys(name for table in tables for name in table))
    return {
        name: np.array([table.get(name, math.nan) for table in tables])
        for name in names
    }


def _violation(trials: Sequence[Trial]) -> FloatArray | None:
    """Return the violations of constraints; None if no trial has any constraint."""
    if all(trial.violation is None for trial in trials):
        return None
    return np.array([trial.violation or 0.0 for trial in trials], dtype=np.float64)


def _unnamed(estimator: Any) -> float:
    """Stand for a cost that has no name; it was measured when the trial was made."""
    return math.nan
