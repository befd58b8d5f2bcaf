"""What a running search shows: a line per trial, or a bar."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from skbayes.optional import import_optional
from skbayes.trials import History, Trial

__all__ = ["Lines", "in_minutes", "progress_bar"]

Report = Callable[[Trial, History], None]


def _best_so_far(history: History) -> str:
    best = history.best
    if best is None:
        return "none yet"
    return f"{best.score:.6g} (trial {best.number + 1})"


def in_minutes(seconds: float) -> str:
    """Write a time as minutes and seconds, or as hours and minutes.

    Parameters
    ----------
    seconds : float
        The time, finite.

    Returns
    -------
    text : str
        The time in words.

    Examples
    --------
    >>> from skbayes.progress import in_minutes
    >>> in_minutes(150.0), in_minutes(7500.0)
    ('2 min 30 s', '2 h 5 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _score(trial: Trial) -> str:
    if trial.state == "failed":
        return "failed"
    if trial.state == "complete":
        return f"score {trial.score:.6g}"
    return f"{trial.state} after {int(trial.fitted.sum())} folds"


class Lines:
    """Prints a line per trial: score, best so far, time elapsed and time left.

    Parameters
    ----------
    n_planned : int
        The most trials there will be.
    timeout : float or None
        The most seconds there will be.
    with_params : bool, default=False
        Whether the parameters are printed, too.
    clock : callable, default=time.perf_counter
        Returns the time in seconds.
    """

    def __init__(
        self,
        n_planned: int,
        timeout: float | None,
        with_params: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._n_planned = n_planned
        self._timeout = math.inf if timeout is None else timeout
        self._with_params = with_params
        self._clock = clock
        self._begin = self._last = clock()
        self._intervals: list[float] = []

    def __call__(self, trial: Trial, history: History) -> None:
        """Print the line of a trial that was just told."""
        now = self._clock()
        self._intervals.append(now - self._last)
        self._last = now
        elapsed = now - self._begin
        left = statistics.median(self._intervals) * (self._n_planned - len(history))
        left = max(0.0, min(left, self._timeout - elapsed))
        print(
            f"[trial {trial.number + 1}/{self._n_planned}] {_score(trial)}, best so "
            f"far {_best_so_far(history)}, elapsed {elapsed:.1f}s, left {left:.1f}s"
        )
        if self._with_params:
            shown = ", ".join(f"{k}={v!r}" for k, v in trial.params.items())
            print(f"[trial {trial.number + 1}/{self._n_planned}] {shown}")


@contextlib.contextmanager
def progress_bar(n_planned: int) -> Iterator[Report]:
    """Show a bar that grows by each trial; in notebooks a widget.

    Parameters
    ----------
    n_planned : int
        The most trials there will be.

    Yields
    ------
    report : callable
        To be called with each trial and the history.

    Raises
    ------
    ImportError
        If tqdm is not installed.
    """
    with _tqdm()(total=n_planned, desc="trials", unit="trial") as bar:

        def report(trial: Trial, history: History) -> None:
            bar.set_postfix_str(f"best {_best_so_far(history)}")
            bar.update()

        yield report


def _tqdm() -> Any:
    return import_optional(
        "tqdm.auto",
        extra="progress",
        purpose="progress_bar=True",
        instead=", or use verbose=1",
    ).tqdm
