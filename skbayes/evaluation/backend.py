"""Backends: where the fits of a search run, and how they receive their inputs.

A backend sends folds to joblib and returns their outcomes. The inputs that all fits
share are transferred once. Large arrays are stored in one file, which the workers map
into memory, so that the machine has one copy for any number of workers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import pickle
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skbayes.evaluation.data_transfer import DataHandle, DiskHandle, LocalHandle
from skbayes.evaluation.fit_server import end_servers, run_limited_folds, start_server
from skbayes.evaluation.fold import Fold, FoldOutcome, FoldTask, run_folds
from skbayes.evaluation.limits import FitLimits, memory_text
from skbayes.evaluation.temporary_folder import TemporaryFolder, place_of_folders
from skbayes.utils.optional import warn_user
from skbayes.utils.process_tree import machine_name

__all__ = [
    "Backend",
    "DaskBackend",
    "KillableBackend",
    "ProcessBackend",
    "ThreadBackend",
    "make_backend",
]

# Alignment of arrays in bytes, for efficient access by the processor.
ALIGNMENT = 64


class Backend:
    """Backend of joblib that is not known, to which the inputs are sent with each fit.

    It is the base class of the backends, and a context manager that removes the
    transferred inputs at exit. The `handle`, which is sent with each fit, is a
    :class:`DataHandle` or becomes one during the transfer. The `deadline` is the end of
    the timeout of the search on the clock `time.monotonic`, and `start_time` the
    seconds that the start of the first processes took.
    """

    # Whether the fits run on this machine.
    is_local = False
    # Whether the fits run in this process.
    is_here = False
    # Seconds of fits that are sent together. Sending a fit takes up to a millisecond.
    batch_seconds = 0.005

    def __init__(
        self,
        task: FoldTask,
        *,
        n_workers: int = 1,
        temp_folder: str | None = None,
        max_nbytes: float = 1e6,
        client: Any = None,
    ) -> None:
        self.task, self.n_workers, self.client = task, n_workers, client
        self.temp_folder, self.max_nbytes = temp_folder, max_nbytes
        self.deadline: float | None = None
        self.start_time = 0.0
        self._fold_seconds = math.inf
        self.handle: Any = self._transfer()

    def _transfer(self) -> Any:
        return DataHandle(self.task)

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the transferred inputs."""

    def warm_up(self, executor: Any) -> None:
        """Start processes for the fits before the first trial, if there are any."""

    def run(
        self, parallel: Parallel, folds: Sequence[Fold], spent: float = 0.0
    ) -> list[FoldOutcome]:
        """Run folds in parallel, after other folds of their trial ran for `spent` s."""
        size = max(1, int(self.batch_seconds / max(self._fold_seconds, 1e-9)))
        batches = [folds[i : i + size] for i in range(0, len(folds), size)]
        parts = parallel(self._call(batch, spent) for batch in batches)
        outcomes = [outcome for part in parts for outcome in part]
        self._fold_seconds = max(outcome.seconds for outcome in outcomes)
        return outcomes

    def _call(self, folds: Sequence[Fold], spent: float) -> Any:
        """Return a call for joblib, whose result is the list of outcomes."""
        # The handle is replaced if the first one was lost.
        return delayed(run_folds)(self.handle, folds)

    def fit_here(self, fold: Fold) -> FoldOutcome:
        """Run one fold in this process, or in another one that can be killed."""
        return run_folds(DataHandle(self.task, returns_errors=False), [fold])[0]

    def end_after(self, seconds: float) -> None:
        """Abort all fits after some seconds, as far as this is possible."""
        self.deadline = time.monotonic() + seconds

    def stop(self) -> None:
        """Request that fits that have not started are skipped, if supported."""

    def renew(self) -> None:
        """Transfer the inputs again if a worker was lost; may replace `handle`."""
        self.restore()

    def restore(self) -> None:
        """Restore files that another program has removed."""


class ThreadBackend(Backend):
    """The calling thread, or several threads of this process."""

    is_local = is_here = True

    def _transfer(self) -> Any:
        return LocalHandle(self.task, self.n_workers)

    def stop(self) -> None:
        """Request that fits that have not started are skipped."""
        self.handle.stop.set()


class _Pickler(cloudpickle.Pickler):
    """Pickler that stores arrays separately which NumPy would copy into the pickle."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in (np.ndarray, np.memmap) and not obj.dtype.hasobject:
            # Strided arrays, and memory maps as their base arrays.
            array = obj.view(np.ndarray)
            plain = array.flags.c_contiguous or array.flags.f_contiguous
            array = array if plain else np.ascontiguousarray(array)
            return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(obj)


class ProcessBackend(Backend):
    """Other processes of this machine, with the inputs in a temporary folder."""

    is_local = True

    def _transfer(self) -> Any:
        place = place_of_folders(self.temp_folder)
        try:
            self._temporary = TemporaryFolder(place, f"skbayes-data-{machine_name()}-")
            self._folder = self._temporary.path
            try:
                return DiskHandle(self._folder, self._write())
            except BaseException:
                self._temporary.remove()
                raise
        except OSError as error:
            raise OSError(
                error.errno,
                f"the data of the search could not be written into the temporary "
                f"folder ({error.strerror}); choose another one by temp_folder of "
                "joblib.parallel_config",
                place,
            ) from error

    def _write(self) -> tuple[tuple[int, int, bool], ...]:
        buffers: list[pickle.PickleBuffer] = []
        with self._replaced("head") as file:
            pickler = _Pickler(file, protocol=5, buffer_callback=buffers.append)
            pickler.dump(self.task)
        places = []
        with self._replaced("arrays") as file:
            for buffer in buffers:
                raw = buffer.raw()
                file.write(bytes(-file.tell() % ALIGNMENT))
                begin = file.tell()
                file.write(raw)
                shared = raw.nbytes > self.max_nbytes
                places.append((begin, begin + raw.nbytes, shared))
        return tuple(places)

    @contextlib.contextmanager
    def _replaced(self, name: str) -> Iterator[Any]:
        """Write a new file; workers that have mapped an old one keep it."""
        draft = Path(self._folder) / f"{name}-draft"
        with open(draft, "wb") as file:
            yield file
        os.replace(draft, Path(self._folder) / name)

    def __exit__(self, *exception: object) -> None:
        """Remove the folder."""
        self._temporary.remove()

    def stop(self) -> None:
        """Request that fits that have not started are skipped."""
        # If the disk is full, fits that have not started are run.
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            (Path(self._folder) / "stop").touch()

    def restore(self) -> None:
        """Restore files that another program has removed."""
        files = [Path(self._folder, name) for name in ("head", "arrays")]
        if not all(file.exists() for file in files):
            # If this fails, workers that have loaded the data can continue.
            with contextlib.suppress(OSError):
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                self._write()


class DaskBackend(Backend):
    """Workers of a Dask cluster, to which the inputs are scattered once."""

    def _transfer(self) -> Any:
        # Dask replaces a future among the arguments of a task by its value. The data
        # are not hashed, because this takes longer than sending them.
        return self.client.scatter(DataHandle(self.task), broadcast=True, hash=False)

    def renew(self) -> None:
        """Scatter the inputs again."""
        self.handle = self._transfer()

    def __exit__(self, *exception: object) -> None:
        """Release the inputs."""
        self.handle.release()


class KillableBackend(Backend):
    """Processes that are killed at a limit, each of them for a worker of a backend.

    If the inputs cannot be sent to another process, the fits run in the backend itself.
    """

    batch_seconds = 0.0

    def __init__(self, backend: Backend, limits: FitLimits) -> None:
        self._backend, self._limits = backend, limits
        self._copy: ProcessBackend | None = None
        self._runs_in_backend = self._has_warned = False
        super().__init__(backend.task, n_workers=backend.n_workers)

    def _transfer(self) -> Any:
        """Transfer the inputs of fits in this process to other processes, too."""
        inner = self._backend
        self.is_local, self.is_here = inner.is_local, inner.is_here
        if inner.is_here:
            try:
                self._copy = ProcessBackend(
                    inner.task,
                    temp_folder=inner.temp_folder,
                    max_nbytes=inner.max_nbytes,
                )
                inner.handle.on_disk = self._copy.handle
            except (pickle.PicklingError, TypeError, AttributeError, OSError) as error:
                if isinstance(error, OSError) and self._limits.of_trials:
                    raise
                self._run_in_backend(error)

    def _run_in_backend(self, error: BaseException) -> None:
        self._runs_in_backend = True
        if self.is_here:
            self._warn(error)

    def __exit__(self, *exception: object) -> None:
        """End the processes, and remove the transferred inputs."""
        if self.is_local and not (self.is_here and self._copy is None):
            end_servers(self._backend.handle.portable().key)
        if self._copy is not None:
            self._copy.__exit__(*exception)
        self._backend.__exit__(*exception)

    def warm_up(self, executor: Any) -> None:
        """Start processes; ValueError if the inputs exceed the memory limit."""
        if self._runs_in_backend or not self.is_local:
            return
        begin, limits, handle = time.perf_counter(), self._limits, self._backend.handle
        if self.is_here or limits.trial_memory is not None:
            outcome, size = start_server(handle, limits)
            if outcome is not None:
                assert outcome.exception is not None
                return self._run_in_backend(outcome.exception)
            if limits.trial_memory is not None and size >= limits.trial_memory:
                raise ValueError(
                    f"trial_limits['memory']={memory_text(limits.trial_memory)} is "
                    "too small: before its first fit, a process uses "
                    f"{memory_text(size)} of memory."
                )
        if not self.is_here:
            end_servers(handle.portable().key)
            if limits.timeout is not None:
                calls = [delayed(start_server)(handle, limits)] * self.n_workers
                executor.warm_up(lambda parallel: parallel(calls), limits.timeout)
        self.start_time = time.perf_counter() - begin

    def _call(self, folds: Sequence[Fold], spent: float) -> Any:
        if not self._runs_in_backend:
            limits = self._limits.after(spent, self.is_local)
            try:
                content = cloudpickle.dumps(*folds)
                handle = self._backend.handle
                return delayed(run_limited_folds)(handle, content, limits)
            except Exception as error:
                if not self.is_here:
                    raise
                if not self._has_warned:
                    self._warn(error)
        return self._backend._call(folds, spent)

    def fit_here(self, fold: Fold) -> FoldOutcome:
        """Run one fold in another process, if this is possible."""
        if self._runs_in_backend or not self.is_local:
            return self._backend.fit_here(fold)
        content, handle = cloudpickle.dumps(fold), self._backend.handle
        return run_limited_folds(handle, content, self._limits)[0]

    def _warn(self, error: BaseException) -> None:
        self._has_warned = True
        given = ["timeout"] if self._limits.timeout is not None else []
        given += ["trial_limits"] if self._limits.of_trials else []
        warn_user(
            f"{' and '.join(given)} cannot abort a running fit, since it cannot be "
            f"sent to another process ({type(error).__name__}: {error}). Time limits "
            "are checked between the folds of a trial only, and the memory limit is "
            "not checked.",
        )

    def end_after(self, seconds: float) -> None:
        """Abort all fits after some seconds."""
        super().end_after(seconds)
        self._limits = dataclasses.replace(self._limits, deadline=self.deadline)

    def stop(self) -> None:
        """Request that fits that have not started are skipped, if supported."""
        self._backend.stop()

    def renew(self) -> None:
        """Transfer the inputs again if a worker was lost."""
        self._backend.renew()
        self.restore()

    def restore(self) -> None:
        """Restore files that another program has removed."""
        for backend in (self._backend, self._copy):
            if backend is not None:
                backend.restore()


def make_backend(run: Any, task: FoldTask) -> Backend:
    """Make the backend of a search, for the inputs that all fits share."""
    options, kind = run.options, run.context.kind
    backend: Backend = kind(task, **run.context.backend_options)
    limits = FitLimits(options.trial_timeout, options.trial_memory, options.timeout)
    if limits.of_trials or (
        limits.timeout is not None and aborts_at_timeout(kind, run)
    ):
        return KillableBackend(backend, limits)
    return backend


def aborts_at_timeout(kind: type[Backend], run: Any) -> bool:
    """Return whether fits are aborted at a timeout; callbacks may keep them here."""
    return kind.is_local and not (kind.is_here and run.is_observed)
