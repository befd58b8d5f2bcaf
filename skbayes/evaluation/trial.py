"""Trials of a search: their folds, their states, and the history of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, overload

import numpy as np

__all__ = ["FoldResult", "History", "Trial", "TrialState", "name_blank_scores"]


class TrialState(StrEnum):
    """State of a finished trial."""

    COMPLETE = "complete"
    FAILED = "failed"
    """It has no usable score."""
    PRUNED = "pruned"
    """Its first folds left it no chance to become the best."""
    TIMED_OUT = "timed_out"
    """The limit per trial kept some of its folds from being fitted."""
    OUT_OF_MEMORY = "out_of_memory"
    """One of its fits exceeded `trial_memory`."""

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def is_partial(self) -> bool:
        """Whether some folds were not fitted."""
        return self not in (TrialState.COMPLETE, TrialState.FAILED)


@dataclass
class FoldResult:
    """Scores and times of one fit.

    Parameters
    ----------
    test_scores : float or dict of str to float
        Score on the test set, or scores by metric.
    fit_time, score_time : float
        Seconds.
    n_test_samples : int
        Rows of the test set.
    train_scores : float, dict or None
        Scores on the training set, where asked for.
    fit_error : str or None
        Traceback of a fit that failed, or the reason why a fit was ended.
    skipped : bool
        Whether the fold was not fitted, or not to the end; scores and times are NaN.
    costs : dict of str to float or None
        Costs that are kept apart from the scores.
    warm_up : bool
        Whether it was the first fit of its kind in its process.
    outcomes : dict of str to float or None
        Outcomes on which the search has constraints.
    shared_time : float
        Seconds of `fit_time` and `score_time` that were not spent, because another
        trial had fitted the same first steps before.
    curves : dict of str to list of float, or None
        Test scores after each round of a grid, by metric, where rounds are counted.
    train_curves : dict of str to list of float, or None
        Training scores after each round, where asked for.
    max_rounds : int
        The most rounds that the fit could have; 0 if it has none.
    """

    test_scores: Any = math.nan
    fit_time: float = math.nan
    score_time: float = math.nan
    n_test_samples: int = 0
    train_scores: Any = None
    fit_error: str | None = None
    skipped: bool = False
    costs: dict[str, float] | None = None
    warm_up: bool = False
    outcomes: dict[str, float] | None = None
    shared_time: float = 0.0
    curves: dict[str, list[float]] | None = None
    train_curves: dict[str, list[float]] | None = None
    max_rounds: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return what scikit-learn makes columns of `cv_results_` of."""
        names = ["test_scores", "fit_time", "score_time", "n_test_samples", "fit_error"]
        names += [] if self.train_scores is None else ["train_scores"]
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Trial:
    """One configuration and what its fits gave.

    Parameters
    ----------
    number : int
        Position in the search, from 0.
    params : dict of str to object
        The parameters that were tried.
    folds : list of FoldResult
        One result per split.
    score : float
        The mean of the metric that guides the search over the splits, NaN for a failed
        trial: what the optimizer was told. For a trial that was not finished the mean
        that its first folds predict, NaN if there are none.
    duration : float
        Wall time of the trial's fits in seconds.
    state : {"complete", "failed", "timed_out", "out_of_memory", "pruned"}
        A trial failed if it has no usable score; it timed out if a limit of time kept
        some of its folds from being fitted, was out of memory if one of its fits was
        ended at the limit of memory, and was pruned if its first folds left it no
        chance to become the best. A string of the class `TrialState`.
    error : str or None
        The first traceback among its fits; None if all of them succeeded.
    stop_requested : bool
        Whether a callback asked to end the search during this trial.
    expected_improvement : float or None
        By how much the model expected it to exceed the best score, when it proposed it;
        None if no model did.
    noise : float or None
        Variance that the folds left out add to `score`; None for all other trials.
    stage : int
        The stage of the search that made it, from 0.
    train_fraction : float
        Share of the rows of each training set that it was fitted on.
    subset : int
        On which of several independent subsets of that size.
    started : float or None
        When its fits began, in seconds since 1970; None if that is not known, or if it
        had none. Trials that differ in nothing else are equal.
    violation : float or None
        Sum of the positive slacks of the constraints on its outcomes: 0 if it satisfies
        all of them, infinite if an outcome is unknown; None if the search has no
        constraints.
    rounds : int or None
        Number of rounds with the best mean score over the splits, at which the folds
        are scored; None if rounds are not counted.

    Examples
    --------
    >>> from skbayes.evaluation.trial import FoldResult, Trial
    >>> folds = [FoldResult(0.8, 0.1, 0.0), FoldResult(0.6, 0.1, 0.0)]
    >>> trial = Trial(0, {"C": 1}, folds, score=0.7)
    >>> trial.scores["score"]
    array([0.8, 0.6])
    """

    number: int
    params: dict[str, Any]
    folds: list[FoldResult] = field(repr=False)
    score: float
    duration: float = 0.0
    state: TrialState = TrialState.COMPLETE
    error: str | None = field(default=None, repr=False)
    stop_requested: bool = field(default=False, repr=False)
    expected_improvement: float | None = field(default=None, repr=False)
    noise: float | None = field(default=None, repr=False)
    stage: int = field(default=0, repr=False)
    train_fraction: float = field(default=1.0, repr=False)
    subset: int = field(default=0, repr=False)
    started: float | None = field(default=None, repr=False, compare=False)
    violation: float | None = field(default=None, repr=False)
    rounds: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", TrialState(self.state))

    @property
    def feasible(self) -> bool:
        """Whether it satisfies all constraints on its outcomes, if there are any."""
        return self.violation is None or self.violation <= 0.0

    @property
    def outcomes(self) -> dict[str, float]:
        """Means of the constrained outcomes over the splits that were fitted."""
        fitted = [f.outcomes for f in self.folds if not f.skipped and f.outcomes]
        names = dict.fromkeys(name for one in fitted for name in one)
        return {
            name: float(np.mean([one.get(name, math.nan) for one in fitted]))
            for name in names
        }

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Test scores by metric, each an array of shape (n_splits,)."""
        return self._by_metric("test_scores")

    @property
    def train_scores(self) -> dict[str, np.ndarray]:
        """Training scores by metric, each of shape (n_splits,); empty if not kept."""
        return self._by_metric("train_scores")

    @property
    def shared_time(self) -> float:
        """Mean time in seconds that a fold saved by shared steps of a pipeline."""
        seconds = [fold.shared_time for fold in self.folds if not fold.skipped]
        return float(np.mean(seconds)) if seconds else 0.0

    @property
    def fitted(self) -> np.ndarray:
        """Which splits were fitted, not skipped, a boolean array of (n_splits,)."""
        return np.array([not fold.skipped for fold in self.folds], bool)

    @property
    def fit_times(self) -> np.ndarray:
        """Seconds of each fit, an array of shape (n_splits,)."""
        return np.array([fold.fit_time for fold in self.folds], dtype=float)

    @property
    def score_times(self) -> np.ndarray:
        """Seconds of each scoring, an array of shape (n_splits,)."""
        return np.array([fold.score_time for fold in self.folds], dtype=float)

    def _by_metric(self, key: str) -> dict[str, np.ndarray]:
        values = [getattr(fold, key) for fold in self.folds]
        values = [value for value in values if value is not None]
        metrics = next((list(v) for v in values if isinstance(v, dict)), None)
        if metrics is None:
            return {"score": np.array(values, dtype=float)} if values else {}
        # A failed fold of a multi-metric callable holds one number for all metrics.
        return {
            name: _numbers([v[name] if isinstance(v, dict) else v for v in values])
            for name in metrics
        }


def _numbers(values: list[Any]) -> np.ndarray:
    """Return an array of numbers, also of integers that NumPy keeps as objects."""
    array = np.array(values)
    return array.astype(float) if array.dtype == object else array


def name_blank_scores(folds: Sequence[FoldResult]) -> None:
    """Give folds that were not fitted the names of the metrics that others have."""
    named = next((f.test_scores for f in folds if isinstance(f.test_scores, dict)), {})
    for fold in folds:
        if named and fold.skipped and not isinstance(fold.test_scores, dict):
            blank = dict.fromkeys(named, math.nan)
            fold.test_scores = blank
            fold.train_scores = None if fold.train_scores is None else dict(blank)


class History(Sequence[Trial]):
    """The finished trials of a search, in the order they were told.

    A read-only sequence of :class:`Trial`, except for `append`.

    Parameters
    ----------
    trials : iterable of Trial, default=()
        Trials to begin with.

    Examples
    --------
    >>> from skbayes.evaluation.trial import History, Trial
    >>> history = History([Trial(0, {"C": 1}, [], score=0.7)])
    >>> history.append(Trial(1, {"C": 2}, [], score=0.9))
    >>> len(history), history.best.params
    (2, {'C': 2})
    """

    def __init__(self, trials: Sequence[Trial] = ()) -> None:
        self._trials = list(trials)

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> History: ...

    def __getitem__(self, index: int | slice) -> Trial | History:
        if isinstance(index, slice):
            return History(self._trials[index])
        return self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return self._trials == other._trials

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n_failed = sum(trial.state == TrialState.FAILED for trial in self)
        return f"<History of {len(self)} trials, {n_failed} failed>"

    def append(self, trial: Trial) -> None:
        """Add a finished trial."""
        self._trials.append(trial)

    @property
    def best(self) -> Trial | None:
        """The first complete trial with the highest score; None before there is one.

        Scores of different stages are not comparable: what counts is the last stage
        that has a complete trial. With constraints it is the best that keeps them, or
        else the one that violates them least.
        """
        usable = [
            t
            for t in self
            if t.state == TrialState.COMPLETE and not math.isnan(t.score)
        ]
        return max(
            usable,
            key=lambda trial: (trial.stage, -(trial.violation or 0.0), trial.score),
            default=None,
        )

    @property
    def params(self) -> list[dict[str, Any]]:
        """The parameters of every trial."""
        return [trial.params for trial in self]

    @property
    def folds(self) -> list[FoldResult]:
        """The results of every fit, trial after trial, split after split."""
        return [fold for trial in self for fold in trial.folds]
