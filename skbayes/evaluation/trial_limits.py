"""Limits of the trials of a search, whose fits run in processes that can be killed."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
from sklearn.utils.parallel import delayed

from skbayes.evaluation.data_transfer import DataHandle
from skbayes.evaluation.fit_server import (
    PortableTask,
    end_servers,
    run_limited_fold,
    start_server,
)
from skbayes.evaluation.fold import Fold, FoldOutcome, FoldTask, run_fold
from skbayes.evaluation.limits import FitLimits, memory_text

__all__ = ["TrialLimits", "limit_fits", "warn_of_soft_limits"]


@dataclasses.dataclass
class TrialLimits:
    """Limits of the trials of a search, with fits in processes that can be killed.

    Parameters
    ----------
    limits : FitLimits
        Limits of the first fit of a trial.
    task : PortableTask
        Inputs that all fits share.
    local_handle : DataHandle or None
        Handle of the data on this machine, if the fits run here.
    in_process : bool
        Whether fits with parameters that cannot be pickled can run in this process.
    start_time : float
        Seconds that the start of the first processes took.
    """

    limits: FitLimits
    task: PortableTask
    local_handle: DataHandle | None
    in_process: bool
    start_time: float = 0.0
    _has_warned: bool = dataclasses.field(default=False, init=False)

    def call(self, handle: Any, task: FoldTask, fold: Fold, seconds: float) -> Any:
        """Return the limited call of a fold, after earlier folds ran for seconds."""
        limits = self.limits.after(seconds, self.local_handle is not None)
        try:
            content = cloudpickle.dumps(fold)
        except Exception as error:
            if not self.in_process:
                raise
            if not self._has_warned:
                self._has_warned = True
                warn_of_soft_limits(error, limits)
            return delayed(run_fold)(handle, task, fold)
        return delayed(run_limited_fold)(handle, self.task, content, limits)

    def end_at(self, deadline: float) -> None:
        """Set the end of the timeout of the search, by `time.monotonic`."""
        self.limits = dataclasses.replace(self.limits, deadline=deadline)

    def run(self, task: FoldTask, fold: Fold) -> FoldOutcome:
        """Run one fold of another task on this machine."""
        assert self.local_handle is not None
        content = cloudpickle.dumps(fold)
        return run_limited_fold(
            self.local_handle, _portable(task), content, self.limits
        )


@contextlib.contextmanager
def limit_fits(
    handle: Any,
    task: FoldTask,
    limits: FitLimits,
    transport: str,
    warm_up: Callable[[Any], None],
) -> Iterator[TrialLimits | None]:
    """Start the processes for the fits of a search, and end them at exit.

    Yields None if the inputs cannot be sent to another process.

    Parameters
    ----------
    handle : DataHandle or other
        Handle of the data; a future for Dask.
    task : FoldTask
        Inputs that all fits share.
    limits : FitLimits
        Limits of the fits.
    transport : str
        Transport of the data, as in `transfer_data`.
    warm_up : callable
        Runs a call for joblib once in each worker before the first trial.

    Raises
    ------
    ValueError
        If a process exceeds the memory limit before its first fit.
    """
    in_process = transport == "copy"
    local = transport in ("copy", "disk")
    begin = time.perf_counter()
    try:
        portable, error = _portable(task), None
        # In other workers, the first fits find such errors.
        if in_process or (local and limits.trial_memory is not None):
            error = _first_start(handle, portable, limits)
            if not in_process:
                end_servers(handle.portable().key)
        if local and not in_process and limits.timeout is not None:
            warm_up(delayed(start_server)(handle, portable, limits))
    except (pickle.PicklingError, TypeError, AttributeError) as problem:
        error = problem
    try:
        if error is not None:
            if in_process:
                warn_of_soft_limits(error, limits)
            yield None
            return
        local_handle = handle if local else None
        yield TrialLimits(
            limits, portable, local_handle, in_process, time.perf_counter() - begin
        )
    finally:
        if local:
            end_servers(handle.portable().key)


def _portable(task: FoldTask) -> PortableTask:
    content = cloudpickle.dumps(dataclasses.replace(task, catch_errors=True))
    return PortableTask(uuid.uuid4().hex, content)


def _first_start(
    handle: DataHandle, task: PortableTask, limits: FitLimits
) -> BaseException | None:
    """Start a process for fits; return the reason why it cannot load its inputs."""
    outcome, size = start_server(handle, task, limits)
    if outcome is not None:
        return outcome.exception
    if limits.trial_memory is not None and size >= limits.trial_memory:
        raise ValueError(
            f"trial_memory={memory_text(limits.trial_memory)} is too small: before its "
            f"first fit, a process uses {memory_text(size)} of memory."
        )
    return None


def warn_of_soft_limits(error: BaseException, limits: FitLimits) -> None:
    """Warn that the fits run in the process of the search."""
    names = ("timeout", "trial_timeout", "trial_memory")
    given = [name for name in names if getattr(limits, name) is not None]
    warnings.warn(
        f"{' and '.join(given)} cannot end a running fit, since it cannot be sent to "
        f"another process ({type(error).__name__}: {error}). Time limits are checked "
        "between the folds of a trial only, and trial_memory is not checked.",
        UserWarning,
        stacklevel=2,
    )
