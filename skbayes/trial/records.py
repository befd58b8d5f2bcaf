"""Trials of a search, the results of their folds, and the history of all trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, overload

import numpy as np

from skbayes.utils.ranking import best_first


class TrialState(StrEnum):
    """State of a finished trial."""

    COMPLETE = "complete"
    FAILED = "failed"
    """The trial has no valid score."""
    PRUNED = "pruned"
    """With `pruning`, the first folds made it unlikely that it becomes the best."""
    TIMED_OUT = "timed_out"
    """A time limit prevented the fit of some folds."""
    OUT_OF_MEMORY = "out_of_memory"
    """A fit exceeded the memory limit of `trial_limits`."""

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def is_partial(self) -> bool:
        """Whether some folds were not fitted."""
        return self not in (TrialState.COMPLETE, TrialState.FAILED)


class FoldStatus(StrEnum):
    """Status of a fold of a trial."""

    FITTED = "fitted"
    """The fit ended, also if it failed."""
    SKIPPED = "skipped"
    """The fit was not started."""
    ABORTED = "aborted"
    """The fit exceeded a limit, or its process ended."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or the end of the search interrupted the fit."""
    RAISED = "raised"
    """The fit raised an exception that ends the search."""


@dataclass(frozen=True)
class FoldResult:
    """Result of one fold, from the worker to the table of results.

    Parameters
    ----------
    test_scores : dict of str to float
        Scores on the test set by metric. A single metric is called "score". Empty if
        the fit or its scorer failed and the metrics are not known.
    fit_time, score_time : float
        Times of the fit and of scoring in seconds.
    train_scores : dict of str to float, or None
        Scores on the training set; None if they are not requested.
    fit_error : str or None
        Traceback of a failed fit, or the reason for which a fit was aborted.
    status : FoldStatus, default="fitted"
        Status of the fit. Unless it is "fitted", scores and times are NaN.
    extras : dict of str to object
        Measurements of the aspects of trials, in the types of JSON. `costs` are stored
        separately from the scores. `multimetric` is 1 if a scorer returned a dict with
        a single metric called "score". `warm_up` marks the first fit of a class in a
        process. `outcomes` are outcomes with constraints. `shared_time` is the part of
        the times in seconds that shared steps of pipelines saved. `curves` are scores
        by metric after each round of a grid up to `max_rounds`. `rounds` is the number
        of rounds that the other folds choose. `test_scores` belong to a fit with
        `fitted_params`.
    transient : dict of str to object
        Values that are needed until the trial is finished, and not stored with it.
        Aspects add values such as fitted estimators. The other values are the
        `exception` of the fit with its `traceback`, the `reason` for which it was
        aborted, its `seconds` in the worker, and the seconds that it `waited` for a
        process.
    """

    test_scores: dict[str, float] = field(default_factory=dict)
    fit_time: float = math.nan
    score_time: float = math.nan
    train_scores: dict[str, float] | None = None
    fit_error: str | None = None
    status: FoldStatus = FoldStatus.FITTED
    extras: dict[str, Any] = field(default_factory=dict)
    transient: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", FoldStatus(self.status))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # skops stores the status as a plain string.
        vars(self).update(state, status=FoldStatus(state["status"]))

    @property
    def is_fitted(self) -> bool:
        """Whether the fit ended."""
        return self.status == FoldStatus.FITTED

    @property
    def seconds(self) -> float:
        """Seconds of the fold in the worker, 0 if they are not known."""
        return float(self.transient.get("seconds", 0.0))

    def with_extras(self, **extras: Any) -> FoldResult:
        """Return the result with more extras.

        Parameters
        ----------
        **extras : dict of str to object
            Values in the types of JSON.

        Returns
        -------
        result : FoldResult
            Copy of the result.
        """
        return replace(self, extras=self.extras | extras)

    def with_transient(self, **transient: Any) -> FoldResult:
        """Return the result with more transient values.

        Parameters
        ----------
        **transient : dict of str to object
            Values of any type.

        Returns
        -------
        result : FoldResult
            Copy of the result.
        """
        return replace(self, transient=self.transient | transient)

    def as_dict(self) -> dict[str, Any]:
        """Return the entries from which scikit-learn creates `cv_results_`."""
        excluded = ("status", "extras", "transient")
        entries = {k: v for k, v in vars(self).items() if k not in excluded}
        if self.train_scores is None:
            del entries["train_scores"]
        return entries


@dataclass(frozen=True)
class Fidelity:
    """Amount of data of a trial.

    Parameters
    ----------
    stage : int, default=0
        Stage of the search, starting from 0.
    train_fraction : float, default=1.0
        Fraction of the rows of each training set, averaged over the splits.
    subset : int, default=0
        Number of the training subset, among independent subsets of the same size.
    n_folds : int or None, default=None
        Number of folds, which are the first ones; None means all.

    Examples
    --------
    >>> from skbayes.trial import Fidelity
    >>> Fidelity(stage=1, train_fraction=0.2, n_folds=1)
    Fidelity(stage=1, train_fraction=0.2, subset=0, n_folds=1)
    """

    stage: int = 0
    train_fraction: float = 1.0
    subset: int = 0
    n_folds: int | None = None


@dataclass(frozen=True)
class Trial:
    """Configuration with the results of its fits.

    Parameters
    ----------
    number : int
        Position in the search, starting from 0.
    params : dict of str to object
        Configuration that was evaluated.
    folds : tuple of FoldResult
        Results of the splits.
    score : float
        Mean of the metric that guides the search, over the folds of the trial's
        fidelity. The surrogate is fitted to this value. It is NaN for a failed trial.
        For an unfinished trial, it is the mean that is predicted from the first folds,
        or NaN without any fold.
    duration : float
        Wall time of the fits in seconds.
    state : {"complete", "failed", "timed_out", "out_of_memory", "pruned"}
        State of the trial, a string of the class `TrialState`:

        - "complete": all folds of its fidelity were fitted;
        - "failed": the trial has no valid score;
        - "timed_out": a time limit prevented the fit of some folds;
        - "out_of_memory": a fit was aborted at the memory limit;
        - "pruned": the other folds were skipped, because the first ones made it
          unlikely that the trial becomes the best one.
    expected_improvement : float or None
        Expected improvement over the best score when the trial was proposed. None if no
        surrogate was used to propose it.
    noise : float or None
        Variance of `score` due to skipped folds; None for all other trials.
    fidelity : Fidelity
        Amount of data of the trial.
    started : float or None
        Start of the first fit in seconds since 1970; None if it is unknown or if there
        was no fit. It is ignored when trials are compared for equality.
    extras : dict of str to object
        Values of the aspects of trials, in the types of JSON: `violation`, `rounds`,
        `fitted_params` and `stop_requested`.

    Examples
    --------
    >>> from skbayes.trial import FoldResult, Trial
    >>> folds = [FoldResult({"score": score}, 0.1, 0.0) for score in (0.8, 0.6)]
    >>> trial = Trial(0, {"C": 1}, folds, score=0.7)
    >>> trial.scores["score"]
    array([0.8, 0.6])
    """

    number: int
    params: dict[str, Any]
    folds: Sequence[FoldResult] = field(repr=False)
    score: float
    duration: float = 0.0
    state: TrialState = TrialState.COMPLETE
    expected_improvement: float | None = field(default=None, repr=False)
    noise: float | None = field(default=None, repr=False)
    fidelity: Fidelity = field(default=Fidelity(), repr=False)
    started: float | None = field(default=None, repr=False, compare=False)
    extras: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", TrialState(self.state))
        object.__setattr__(self, "folds", tuple(self.folds))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # skops stores the state of the trial as a plain string.
        vars(self).update(state, state=TrialState(state["state"]))

    @property
    def error(self) -> str | None:
        """First traceback of its fits; None if all fits succeeded."""
        errors = (fold.fit_error for fold in self.folds)
        return next((error for error in errors if error is not None), None)

    @property
    def stop_requested(self) -> bool:
        """Whether a callback requested the end of the search during this trial."""
        return bool(self.extras.get("stop_requested", False))

    @property
    def violation(self) -> float | None:
        """Sum of the violations of the constraints; None without constraints.

        It is infinite if an outcome is unknown.
        """
        return self.extras.get("violation")

    @property
    def rounds(self) -> int | None:
        """Number of rounds with the best mean score over the splits, if available.

        Each fold is scored at the number of rounds that is best for the other folds.
        """
        return self.extras.get("rounds")

    @property
    def fitted_params(self) -> dict[str, Any]:
        """Parameters of the fits that were not proposed, such as a number of rounds.

        The rows of ``cv_results_`` and the final fit have them in addition to `params`.
        """
        return dict(self.extras.get("fitted_params", {}))

    @property
    def feasible(self) -> bool:
        """Whether all constraints on outcomes are satisfied, if there are any."""
        return self.violation is None or self.violation <= 0.0

    @property
    def outcomes(self) -> dict[str, float]:
        """Mean over the fitted splits of each outcome with a constraint."""
        return mean_outcomes(self.folds)

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Test scores by metric, as arrays of shape (n_splits,)."""
        return _by_metric([fold.test_scores for fold in self.folds])

    @property
    def train_scores(self) -> dict[str, np.ndarray]:
        """Training scores by metric, as arrays of shape (n_splits,), if available."""
        return _by_metric([fold.train_scores or {} for fold in self.folds])

    @property
    def shared_time(self) -> float:
        """Mean time per fold in seconds that was saved by shared pipeline steps."""
        fitted = [fold for fold in self.folds if fold.is_fitted]
        seconds = [fold.extras.get("shared_time", 0.0) for fold in fitted]
        return float(np.mean(seconds)) if seconds else 0.0

    @property
    def n_folds(self) -> int:
        """Number of folds of its fidelity."""
        return len(self.folds[: self.fidelity.n_folds])

    @property
    def fitted(self) -> np.ndarray:
        """Boolean array of shape (n_splits,), True for splits that were fitted."""
        return np.array([fold.is_fitted for fold in self.folds], bool)

    @property
    def fit_times(self) -> np.ndarray:
        """Fit times in seconds, array of shape (n_splits,)."""
        return np.array([fold.fit_time for fold in self.folds], dtype=float)

    @property
    def score_times(self) -> np.ndarray:
        """Score times in seconds, array of shape (n_splits,)."""
        return np.array([fold.score_time for fold in self.folds], dtype=float)


def succeeded(trial: Trial) -> bool:
    """Return whether a trial is complete, and none of its fits failed."""
    return trial.state == TrialState.COMPLETE and trial.error is None


def _by_metric(scores: list[dict[str, float]]) -> dict[str, np.ndarray]:
    """Return scores by metric as arrays, also for integers that NumPy cannot hold."""
    arrays = {
        name: np.array([of_fold.get(name, math.nan) for of_fold in scores])
        for name in next(filter(None, scores), {})
    }
    return {k: a.astype(float) if a.dtype == object else a for k, a in arrays.items()}


def mean_outcomes(folds: Sequence[FoldResult]) -> dict[str, float]:
    """Return the mean over the fitted folds of each outcome, NaN if one is unknown."""
    fitted = [fold.extras.get("outcomes", {}) for fold in folds if fold.is_fitted]
    names = dict.fromkeys(name for outcomes in fitted for name in outcomes)
    return {
        name: float(np.mean([outcomes.get(name, math.nan) for outcomes in fitted]))
        for name in names
    }


class History(Sequence[Trial]):
    """Finished trials of a search, in the order of their numbers.

    It is a read-only sequence of :class:`Trial`, except for `append`.

    Parameters
    ----------
    trials : iterable of Trial, default=()
        Initial trials.

    Examples
    --------
    >>> from skbayes.trial import History, Trial
    >>> history = History([Trial(0, {"C": 1}, [], score=0.7)])
    >>> history.append(Trial(1, {"C": 2}, [], score=0.9))
    >>> len(history), history.best.params
    (2, {'C': 2})
    """

    # Position of the best of the first trials, and their number.
    _best: int | None = None
    _n_ranked = 0

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

    def __repr__(self) -> str:
        states = [trial.state for trial in self]
        text = ", ".join(
            f"{states.count(state)} {state.replace('_', ' ')}"
            for state in TrialState
            if state == TrialState.FAILED or (state.is_partial and state in states)
        )
        return f"<History of {len(self)} trials, {text}>"

    def append(self, trial: Trial) -> None:
        """Add a finished trial.

        Parameters
        ----------
        trial : Trial
            Trial to add.
        """
        self._trials.append(trial)

    @property
    def best(self) -> Trial | None:
        """First complete trial with the highest score, or None if there is none.

        Scores of different stages are not comparable. Therefore, only the last stage
        with a complete trial is considered. With constraints, it is the best trial that
        satisfies them, or else the trial that violates them least.
        """
        if self._n_ranked < len(self):
            # The best trial is requested after each of possibly many trials.
            places = [] if self._best is None else [self._best]
            ranked = self._ranked([*places, *range(self._n_ranked, len(self))])
            self._best, self._n_ranked = next(iter(ranked), None), len(self)
        return None if self._best is None else self._trials[self._best]

    def best_first(self) -> list[Trial]:
        """Return the complete trials of the last stage with any, best first.

        A smaller violation of the constraints counts more than a greater score. Equally
        good trials keep their order.
        """
        return [self._trials[place] for place in self._ranked(range(len(self)))]

    def _ranked(self, places: Sequence[int]) -> list[int]:
        """Return the positions of the complete trials of the last stage, best first."""
        usable = [
            (place, trial)
            for place in places
            if (trial := self._trials[place]).state == TrialState.COMPLETE
            and not math.isnan(trial.score)
        ]
        last = max((trial.fidelity.stage for _, trial in usable), default=0)
        of_stage = [pair for pair in usable if pair[1].fidelity.stage == last]
        scores = [trial.score for _, trial in of_stage]
        order = best_first(scores, [trial.violation or 0.0 for _, trial in of_stage])
        return [of_stage[place][0] for place in order]

    @property
    def violations(self) -> np.ndarray:
        """Violations of the constraints by trial; 0 without constraints."""
        return np.array([trial.violation or 0.0 for trial in self], dtype=float)

    @property
    def params(self) -> list[dict[str, Any]]:
        """Configurations of all trials."""
        return [trial.params for trial in self]

    @property
    def folds(self) -> list[FoldResult]:
        """Results of all fits, ordered by trial and split."""
        return [fold for trial in self for fold in trial.folds]


class KnownTrial(NamedTuple):
    """Earlier trial, its configuration in a space, and its score, NaN if it failed."""

    params: dict[str, Any]
    score: Any
    noise: float | None
    cost: float | None
    trial: Trial
