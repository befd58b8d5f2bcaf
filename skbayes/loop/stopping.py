"""Stopping rules, which end a search before its budget is spent.

A stopper is called with the trials after each one, and ends the search by returning
True; any callable ``stopper(trials) -> bool`` will do. Its `reason` becomes the
`stop_reason_`. The stoppers here look at nothing but the trials, so that a search that
was interrupted and resumed ends where it would have ended anyway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from skbayes.evaluation.trial import Trial, TrialState
from skbayes.space.dimensions import is_number

__all__ = ["ExpectedImprovementBelow", "NoImprovement", "TargetScore"]


@dataclass(frozen=True)
class NoImprovement:
    """End the search when the last trials have not improved on the best before them.

    Parameters
    ----------
    n_trials : int
        How many trials in a row without an improvement are enough. Failed trials, and
        those that were not scored on all folds, count as no improvement.
    min_delta : float, default=0.0
        What counts as an improvement: the best of these trials is better than the best
        before them by more than this, in units of the score.

    Attributes
    ----------
    reason : str
        "no_improvement".

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.

    Examples
    --------
    >>> from skbayes.loop.stopping import NoImprovement
    >>> from skbayes.evaluation.trial import History, Trial
    >>> trials = [Trial(i, {}, [], s) for i, s in enumerate([0.6, 0.8, 0.7, 0.8])]
    >>> stopper = NoImprovement(2)
    >>> stopper(History(trials[:3])), stopper(History(trials))
    (False, True)
    """

    reason: ClassVar[str] = "no_improvement"

    n_trials: int
    min_delta: float = 0.0

    def __post_init__(self) -> None:
        _check_count("n_trials", self.n_trials)
        _check_number("min_delta", self.min_delta)
        if self.min_delta < 0:
            raise ValueError(f"min_delta must be 0 or more, got {self.min_delta!r}")

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Decide.

        Parameters
        ----------
        trials : History
            The trials so far.

        Returns
        -------
        stop : bool
            Whether to end the search.
        """
        if len(trials) < self.n_trials:
            return False
        before = _best_score(trials[: -self.n_trials])
        return not _best_score(trials[-self.n_trials :]) > before + self.min_delta


@dataclass(frozen=True)
class ExpectedImprovementBelow:
    """End the search when the model expects hardly any improvement.

    Parameters
    ----------
    threshold : float
        The expected improvement, in units of the score, that is not worth a trial.
    n_trials : int, default=1
        How many trials in a row must have been expected to improve by less, among
        those the model proposed; initial points do not count.

    Attributes
    ----------
    reason : str
        "expected_improvement".

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.

    Notes
    -----
    It is the improvement that the model expected of a trial when it proposed it. A
    model of few trials may be sure of itself too early: ask for several in a row.

    Examples
    --------
    >>> from skbayes.loop.stopping import ExpectedImprovementBelow
    >>> ExpectedImprovementBelow(1e-3, n_trials=3)
    ExpectedImprovementBelow(threshold=0.001, n_trials=3)
    """

    reason: ClassVar[str] = "expected_improvement"

    threshold: float
    n_trials: int = 1

    def __post_init__(self) -> None:
        _check_number("threshold", self.threshold)
        if self.threshold <= 0:
            raise ValueError(f"threshold must be positive, got {self.threshold!r}")
        _check_count("n_trials", self.n_trials)

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Decide.

        Parameters
        ----------
        trials : History
            The trials so far.

        Returns
        -------
        stop : bool
            Whether to end the search.
        """
        expected = [t.expected_improvement for t in trials]
        by_model = [value for value in expected if value is not None]
        last = by_model[-self.n_trials :]
        return len(last) == self.n_trials and all(v < self.threshold for v in last)


@dataclass(frozen=True)
class TargetScore:
    """End the search when a trial has reached a score.

    Parameters
    ----------
    score : float
        The score to reach, of the metric that guides the search. Greater is better, so
        that it is negative for a metric like "neg_mean_squared_error".

    Attributes
    ----------
    reason : str
        "target_score".

    Raises
    ------
    TypeError, ValueError
        If the score is not a finite number.

    Examples
    --------
    >>> from skbayes.loop.stopping import TargetScore
    >>> from skbayes.evaluation.trial import History, Trial
    >>> TargetScore(0.9)(History([Trial(0, {"C": 1}, [], score=0.93)]))
    True
    """

    reason: ClassVar[str] = "target_score"

    score: float

    def __post_init__(self) -> None:
        _check_number("score", self.score)

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Decide.

        Parameters
        ----------
        trials : History
            The trials so far.

        Returns
        -------
        stop : bool
            Whether to end the search.
        """
        return _best_score(trials) >= self.score


def _best_score(trials: Sequence[Trial]) -> float:
    """Best score among those scored on all folds, minus infinity if there is none.

    Trials that violate constraints on outcomes do not count.
    """
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    scores = [trial.score for trial in complete if trial.feasible]
    return max((s for s in scores if not math.isnan(s)), default=-math.inf)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be 1 or more, got {value!r}")


def _check_number(name: str, value: Any) -> None:
    if not is_number(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
