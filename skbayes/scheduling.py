"""The loop of a search: ask, evaluate, tell, until a budget is spent."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from skbayes.optimizer import SpaceExhausted
from skbayes.trials import History, Trial

__all__ = ["StopReason", "run_trials"]


class StopReason:
    """Why a search ended: the values of `stop_reason_`."""

    N_ITER = "n_iter"
    TIMEOUT = "timeout"
    EXHAUSTED = "exhausted"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"


class _AskTell(Protocol):
    def ask(self, n: int = 1) -> list[dict[str, Any]]: ...

    def tell(self, params: dict[str, Any], score: float) -> Any: ...


def run_trials(
    optimizer: _AskTell,
    evaluate: Callable[[int, dict[str, Any]], Trial],
    *,
    n_iter: int,
    timeout: float | None = None,
    n_cells: float = float("inf"),
    report: Callable[[Trial, History], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[History, str]:
    """Make trials one after the other until a budget is spent.

    Parameters
    ----------
    optimizer : object with `ask` and `tell`
        Proposes configurations and learns their scores.
    evaluate : callable
        Called with the trial's number and parameters; returns the :class:`Trial`.
    n_iter : int
        The most trials to make.
    timeout : float or None, default=None
        Seconds. No trial is started once the time elapsed and the median duration of
        the finished trials together exceed it. The first trial always runs.
    n_cells : float, default=inf
        Number of configurations in the space.
    report : callable or None, default=None
        Called after each trial was told, with the trial and the history.
    clock : callable, default=time.perf_counter
        Returns the time in seconds.

    Returns
    -------
    history : History
        The finished trials.
    stop_reason : str
        One of the values of :class:`StopReason`.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupted before any trial had finished.
    """
    history = History()
    cycles: list[float] = []
    start = clock()
    try:
        while True:
            reason = _budget_spent(history, n_iter, n_cells)
            if reason is not None:
                return history, reason
            begin = clock()
            # A limit that plans: a trial expected to overrun is not started.
            if timeout is not None and cycles:
                if begin - start + statistics.median(cycles) > timeout:
                    return history, StopReason.TIMEOUT
            try:
                params = optimizer.ask()[0]
            except SpaceExhausted:
                return history, StopReason.EXHAUSTED
            trial = evaluate(len(history), params)
            history.append(trial)
            optimizer.tell(params, trial.score)
            cycles.append(clock() - begin)
            if report is not None:
                report(trial, history)
            if trial.stop_requested:
                return history, StopReason.CALLBACK
    except KeyboardInterrupt:
        if not history:
            raise
        warnings.warn(
            f"The search was interrupted; it ends with {len(history)} finished trials.",
            UserWarning,
            stacklevel=2,
        )
        return history, StopReason.INTERRUPTED


def _budget_spent(history: History, n_iter: int, n_cells: float) -> str | None:
    if len(history) >= n_cells:
        return StopReason.EXHAUSTED
    if len(history) >= n_iter:
        return StopReason.N_ITER
    return None
