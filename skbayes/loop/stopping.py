"""Stopping rules that end a search before its budget is spent.

A stopper is called after each trial, with the trials so far, and ends the search by
returning True. Any callable ``stopper(trials) -> bool`` is a stopper; its `reason`
becomes the `stop_reason_`. The stoppers in this module only use the trials, so that an
interrupted and resumed search ends after the same trial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from skbayes.space.dimensions import is_number
from skbayes.trial.records import History, Trial


class _Stopper:
    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Return whether to end the search.

        Parameters
        ----------
        trials : History
            Trials so far.

        Returns
        -------
        stop : bool
            Whether to end the search.
        """
        return self._is_reached(trials)

    def _is_reached(self, trials: Sequence[Trial]) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class NoImprovement(_Stopper):
    """Stopper for a number of trials without an improvement.

    Parameters
    ----------
    n_trials : int
        Number of successive trials without an improvement after which the search ends.
        Failed trials and trials that were not scored on all folds count as no
        improvement.
    min_delta : float, default=0.0
        Minimum improvement, in units of the score. The best of these trials must be
        better than the best earlier trial by more than this.

    Attributes
    ----------
    reason : str
        Value of ``stop_reason_``: "no_improvement".

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.loop import NoImprovement
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": (1, 30)},
    ...     stopper=NoImprovement(5),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> len(search.trials_), search.stop_reason_
    (8, 'no_improvement')
    """

    reason: ClassVar[str] = "no_improvement"

    n_trials: int
    min_delta: float = 0.0

    def __post_init__(self) -> None:
        _check_count("n_trials", self.n_trials)
        _check_number("min_delta", self.min_delta)
        if self.min_delta < 0:
            raise ValueError(f"min_delta must be 0 or more, got {self.min_delta!r}")

    def _is_reached(self, trials: Sequence[Trial]) -> bool:
        if len(trials) < self.n_trials:
            return False
        before = _best_score(trials[: -self.n_trials])
        return not _best_score(trials[-self.n_trials :]) > before + self.min_delta


@dataclass(frozen=True)
class ExpectedImprovementBelow(_Stopper):
    """Stopper for a small expected improvement.

    Parameters
    ----------
    threshold : float
        Expected improvement, in units of the score, below which the search ends.
    n_trials : int, default=1
        Number of successive trials with a smaller expected improvement after which the
        search ends. Only trials proposed by the surrogate count, not initial points.

    Attributes
    ----------
    reason : str
        Value of ``stop_reason_``: "expected_improvement".

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    Notes
    -----
    The expected improvement of a trial is computed when it is proposed. With few
    trials, the surrogate can be overconfident: use several successive trials.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.loop import ExpectedImprovementBelow
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": (1, 30)},
    ...     stopper=ExpectedImprovementBelow(1e-3),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> len(search.trials_), search.stop_reason_
    (6, 'expected_improvement')
    """

    reason: ClassVar[str] = "expected_improvement"

    threshold: float
    n_trials: int = 1

    def __post_init__(self) -> None:
        _check_number("threshold", self.threshold)
        if self.threshold <= 0:
            raise ValueError(f"threshold must be positive, got {self.threshold!r}")
        _check_count("n_trials", self.n_trials)

    def _is_reached(self, trials: Sequence[Trial]) -> bool:
        expected = [trial.expected_improvement for trial in trials]
        last = [value for value in expected if value is not None][-self.n_trials :]
        return len(last) == self.n_trials and all(v < self.threshold for v in last)


@dataclass(frozen=True)
class TargetScore(_Stopper):
    """Stopper for a target score.

    Parameters
    ----------
    score : float
        Target for the metric that guides the search. Greater is better, so the target
        is negative for a metric such as "neg_mean_squared_error".

    Attributes
    ----------
    reason : str
        Value of ``stop_reason_``: "target_score".

    Raises
    ------
    TypeError, ValueError
        If the score is not a finite number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.loop import TargetScore
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": (1, 30)},
    ...     stopper=TargetScore(0.975),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> len(search.trials_), search.stop_reason_
    (3, 'target_score')
    """

    reason: ClassVar[str] = "target_score"

    score: float

    def __post_init__(self) -> None:
        _check_number("score", self.score)

    def _is_reached(self, trials: Sequence[Trial]) -> bool:
        return _best_score(trials) >= self.score


def _best_score(trials: Sequence[Trial]) -> float:
    """Return the score of the best trial if it is feasible, else minus infinity."""
    best = History(trials).best
    return best.score if best is not None and best.feasible else -math.inf


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
