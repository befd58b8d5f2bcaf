"""What pictures are drawn of: the trials of a search as arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.evaluation.costs import TrialCosts
from skbayes.evaluation.objectives import COSTS
from skbayes.evaluation.trial import Trial
from skbayes.results.read import Source, open_source
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray

__all__ = ["RunningTrial", "SearchRecord", "read_record"]


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

    Made by :func:`read_record`.

    Parameters
    ----------
    number : ndarray of shape (n_trials,), int
        Numbers of the trials; some are missing while earlier ones run.
    params : list of dict
        Their parameters; where a journal holds only a text of a value, that text.
    score : ndarray of shape (n_trials,)
        Mean of `metric` over the splits; the higher, the better. NaN for failed trials;
        for raced and censored ones what their first folds promise.
    std : ndarray of shape (n_trials,)
        Its standard deviation over the splits.
    scores : dict of str to ndarray
        Means by metric, as the metric has them.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "censored" or "raced".
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
        else the first comparable one with the highest score. None before there is one.
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


def read_record(
    source: Any,
    *,
    metric: str | None = None,
    search_spaces: Any = None,
    name: str | None = None,
) -> SearchRecord:
    """Read the trials of a search, wherever they are.

    Parameters
    ----------
    source : estimator, History, DataFrame, str or os.PathLike
        A fitted search, also one that was unpickled or one of scikit-learn's; its
        `trials_`; the path of a journal, also of a search that still runs; or what
        :func:`skbayes.load_history` returned for it. A :class:`SearchRecord` is
        returned as it is, but for its name.
    metric : str or None, default=None
        Which score of several. None: the one that guided the search.
    search_spaces : dict, list of dict, Space or None, default=None
        What the parameters were chosen from, in any notation. None: as the search or
        the journal has it; a history does not.
    name : str or None, default=None
        What to call the search. None: by its class or the name of the journal.

    Returns
    -------
    record : SearchRecord
        The trials.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If there is no such metric, or `search_spaces` is wrong.
    OSError
        If the journal cannot be read.
    sklearn.exceptions.NotFittedError
        If the search was not fitted.

    Examples
    --------
    >>> from skbayes.inspection import read_record
    >>> from skbayes.evaluation.trial import History, Trial
    >>> folds = [{"test_scores": 0.7, "fit_time": 0.1, "score_time": 0.0}]
    >>> record = read_record(History([Trial(0, {"C": 1}, folds, score=0.7)]))
    >>> len(record), record.score, record.label
    (1, array([0.7]), 'score (higher is better)')
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string or None, got {name!r}.")
    if isinstance(source, SearchRecord):
        if metric not in (None, source.metric):
            raise ValueError(
                f"metric={metric!r}, but the record is about {source.metric!r}."
            )
        return source if name is None else dataclasses.replace(source, name=name)
    found = open_source(source, search_spaces)
    found.trials.sort(key=lambda trial: trial.number)
    return _record(found, metric, found.name if name is None else name)


def _record(found: Source, metric: str | None, name: str) -> SearchRecord:
    trials = found.trials
    guide, table = _score_table(trials, found)
    chosen = _check_metric(metric, guide, table)
    direction = _direction(chosen, guide, trials, table, found)
    guides = chosen == guide
    score = np.array([t.score for t in trials]) if guides else direction * table[chosen]
    started = np.array([_known(trial.started) for trial in trials], dtype=float)
    asked = [time for _, _, time in found.running]
    times = [*started[np.isfinite(started)], *asked]
    begin = min(times, default=0.0)
    duration = np.array([trial.duration for trial in trials], dtype=float)
    record = SearchRecord(
        number=np.array([trial.number for trial in trials], dtype=int),
        params=[trial.params for trial in trials],
        score=np.asarray(score, dtype=float),
        std=np.array([_deviation(t, chosen, guide) for t in trials], dtype=float),
        scores=table,
        state=np.array([trial.state for trial in trials], dtype=object),
        stage=np.array([trial.stage for trial in trials], dtype=int),
        train_fraction=np.array([t.train_fraction for t in trials], dtype=float),
        subset=np.array([trial.subset for trial in trials], dtype=int),
        started=started - begin,
        finished=started - begin + duration,
        duration=duration,
        fit_time=np.array([_mean(t.fit_times[t.fitted]) for t in trials], dtype=float),
        costs=_costs(trials),
        running=[RunningTrial(n, p, time - begin) for n, p, time in found.running],
        space=found.space,
        metric=chosen,
        name=name,
        method=found.method,
        n_points=found.n_points,
        sign=-1 if direction < 0 or chosen.startswith("neg_") else 1,
        directions=found.directions,
        settings=found.settings,
    )
    return dataclasses.replace(record, best=_best(record, found, guides))


def _known(time: float | None) -> float:
    return math.nan if time is None else time


# -- scores ---------------------------------------------------------------------------


def _score_table(
    trials: Sequence[Trial], found: Source
) -> tuple[str, dict[str, FloatArray]]:
    """Return the name of the guiding metric, and the mean scores by metric."""
    tables = [trial.scores for trial in trials if trial.state != "failed"]
    names = list(dict.fromkeys(name for table in tables for name in table)) or ["score"]
    means = {
        name: np.array([_mean(_fitted(trial, name)) for trial in trials], dtype=float)
        for name in names
    }
    if names == ["score"]:
        name = found.scoring or "score"
        return name, {name: means["score"]}
    return _guide(trials, means, found.metric), means


def _guide(
    trials: Sequence[Trial], means: Mapping[str, FloatArray], known: str | None
) -> str:
    """Return which of several metrics guided the search."""
    if known in means:
        return str(known)
    score = np.array([trial.score for trial in trials])
    for name, mean in means.items():
        complete = np.array([trial.state == "complete" for trial in trials])
        if np.allclose(np.abs(mean[complete]), np.abs(score[complete]), equal_nan=True):
            return name
    return "score"


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


def _direction(
    metric: str,
    guide: str,
    trials: Sequence[Trial],
    table: Mapping[str, FloatArray],
    found: Source,
) -> int:
    """Return 1 for a metric that is to be large, -1 for one that is to be small."""
    if metric in found.directions:
        return found.directions[metric]
    if metric != guide or metric not in table:
        return 1
    # A history does not say it, but has the metric and what is maximized.
    score = np.array([trial.score for trial in trials], dtype=float)
    usable = np.array([t.state == "complete" for t in trials], dtype=bool)
    usable &= np.isfinite(score) & (score != 0.0)
    opposite = np.sign(table[metric][usable]) == -np.sign(score[usable])
    return -1 if usable.any() and opposite.all() else 1


def _fitted(trial: Trial, metric: str) -> FloatArray:
    """Scores of the folds that were fitted; none of a failed trial."""
    if trial.state == "failed" or metric not in trial.scores:
        return np.empty(0)
    return trial.scores[metric][trial.fitted]


def _mean(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _deviation(trial: Trial, metric: str, guide: str) -> float:
    name = metric if metric in trial.scores else "score"
    values = _fitted(trial, name)
    return float(np.std(values)) if len(values) else math.nan


def _costs(trials: Sequence[Trial]) -> dict[str, FloatArray]:
    """Return what was measured apart from the scores, by name."""
    folds = [fold.get("costs", {}) for trial in trials for fold in trial.folds]
    names = list(dict.fromkeys(name for costs in folds for name in costs))
    shares = np.array([trial.train_fraction for trial in trials])
    relative = shares / shares.max(initial=0.0) if len(shares) else shares
    return {
        name: TrialCosts(name if name in COSTS else _unnamed).of_all(trials, relative)
        for name in names
    }


def _unnamed(estimator: Any) -> float:
    """Stand for a cost that has no name; it was measured when the trial was made."""
    return math.nan


def _best(record: SearchRecord, found: Source, guides: bool) -> int | None:
    """Return the place of the trial that was chosen, or is the best."""
    if guides and found.best is not None:
        return int(np.flatnonzero(record.number == found.best)[0])
    if not record.comparable.any():
        return None
    return int(np.argmax(np.where(record.comparable, record.score, -np.inf)))
