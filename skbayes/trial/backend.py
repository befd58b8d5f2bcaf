"""Backends: where the fits of a search run, and how they receive their inputs.

A backend sends folds to joblib and returns their results. joblib would pickle the
inputs, which all fits share, again for every trial. Instead, each fit receives a small
handle, and each process loads the inputs once. Large arrays are stored in one file,
which the workers map into memory, so that the machine has one copy for any number of
workers. Dask has its own store for such inputs.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from skbayes.trial.fold import Fold, Job, run_folds
from skbayes.trial.records import FoldResult
from skbayes.trial.temporary_files import (
    TemporaryFolder,
    place_of_folders,
    read,
    write,
)


class DataHandle:
    """Handle that contains the job.

    With `returns_errors`, an exception in a worker is returned. If it were raised, it
    would end the pool, and thereby the folds of other trials.
    """

    def __init__(self, job: Any, returns_errors: bool = True) -> None:
        self._job = job
        self.returns_errors = returns_errors

    def load(self) -> Any:
        """Return the job, in the process of the fit."""
        return self._job

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return False

    def fit_context(self) -> AbstractContextManager[Any]:
        """Return a context in which a fit runs, after waiting until it may run."""
        return contextlib.nullcontext()


class LocalHandle(DataHandle):
    """Handle of a job in memory."""

    def __init__(self, job: Any, n_slots: int) -> None:
        # With one worker, errors are raised where they occur, for debugging.
        super().__init__(job, returns_errors=n_slots > 1)
        self.stop = threading.Event()
        # Each trial in flight has enough threads for all slots.
        self._slots = threading.BoundedSemaphore(n_slots)

    def fit_context(self) -> AbstractContextManager[Any]:
        """Return a slot."""
        return self._slots

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return self.stop.is_set()


# Task that this process loaded last, and its memory map, by key of the handle.
_loaded: dict[str, tuple[Any, mmap.mmap | None]] = {}


class DiskHandle(DataHandle):
    """Handle of a job in the file "job" of a folder on this machine.

    Arrays of more than `least` bytes, `n_shared` bytes in total, are mapped into
    memory. As in joblib, small arrays are copied, so that they are writable.
    """

    def __init__(self, folder: str, sizes: Sequence[int], least: float) -> None:
        self.folder, self.least = folder, least
        self.returns_errors = True
        self.n_shared = sum(n_bytes for n_bytes in sizes if n_bytes > least)

    def load(self) -> Any:
        """Return the job; it is read once per process."""
        if self.folder not in _loaded:
            _loaded.clear()
            with open(os.path.join(self.folder, "job"), "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            job = read(memoryview(mapped), self.least)
            _loaded[self.folder] = job, mapped
        return _loaded[self.folder][0]

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return os.path.exists(os.path.join(self.folder, "stop"))

    @contextlib.contextmanager
    def fit_context(self) -> Iterator[None]:
        """Return a context that releases the mapped pages at its end.

        loky replaces a worker that has grown by 300 MB.
        """
        try:
            yield
        finally:
            _, mapped = _loaded.get(self.folder, (None, None))
            if mapped is not None and hasattr(mapped, "madvise"):
                mapped.madvise(mmap.MADV_DONTNEED)


# Loads of this process: a thread waits while another one loads the same job.
_loading = threading.Lock()


class DaskHandle(DataHandle):
    """Handle of a job in the memory of the workers of Dask."""

    def __init__(self, key: str) -> None:
        super().__init__(None)
        self.key = key

    def load(self) -> Any:
        """Return the job; it is fetched once per process."""
        with _loading:
            if self.key not in _loaded:
                # If Dask loses the job, the fit has not failed.
                self.returns_errors = False
                job = _gathered(self.key)
                self.returns_errors = True
                # Keep the job of one other search.
                for other in list(_loaded)[:-1]:
                    _loaded.pop(other)
                _loaded[self.key] = job, None
            return _loaded[self.key][0]


class Backend:
    """Unknown backend of joblib, to which the inputs are sent with each fit.

    It is the base class of the backends, and a context manager that removes the
    transferred inputs at exit. The `handle`, which is sent with each fit, is a
    :class:`DataHandle` or becomes one during the transfer. The `deadline` is the end of
    the timeout of the search on the clock `time.monotonic`, and the last `reserved`
    seconds before it are for the refit. `start_time` is the time in seconds that the
    first processes took to start.
    """

    # Whether the fits run on this machine.
    is_local = False
    # Whether the fits run in this process.
    is_here = False
    # Seconds of fits that are sent together. Sending a fit takes up to a millisecond.
    batch_seconds = 0.005

    def __init__(
        self,
        job: Job,
        *,
        n_workers: int = 1,
        temp_folder: str | None = None,
        max_nbytes: float = 1e6,
        client: Any = None,
    ) -> None:
        self.job, self.n_workers, self.client = job, n_workers, client
        self.temp_folder, self.max_nbytes = temp_folder, max_nbytes
        self.deadline: float | None = None
        self.reserved = 0.0
        self.start_time = 0.0
        self._fold_seconds = math.inf
        self.handle: Any = self._transfer()

    def _transfer(self) -> Any:
        return DataHandle(self.job)

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the transferred inputs."""

    def warm_up(self) -> None:
        """Start processes for the fits before the first trial, if there are any."""

    def run(
        self, parallel: Parallel, folds: Sequence[Fold], spent: float = 0.0
    ) -> list[FoldResult]:
        """Run folds in parallel; earlier folds of their trial took `spent` seconds."""
        size = max(1, int(self.batch_seconds / max(self._fold_seconds, 1e-9)))
        batches = [folds[i : i + size] for i in range(0, len(folds), size)]
        parts = parallel(self._call(batch, spent) for batch in batches)
        results = [result for part in parts for result in part]
        self._fold_seconds = max(result.seconds for result in results)
        return results

    def _call(self, folds: Sequence[Fold], spent: float) -> Any:
        """Return a call for joblib, which returns the list of their results."""
        # The handle is replaced if the first one was lost.
        return delayed(run_folds)(self.handle, folds)

    def fit_here(self, fold: Fold) -> FoldResult:
        """Run one fold in this process, or in a process that can be killed."""
        return run_folds(DataHandle(self.job, returns_errors=False), [fold])[0]

    def end_after(self, seconds: float) -> None:
        """Abort all fits after some seconds, as far as this is possible."""
        self.deadline = time.monotonic() + seconds

    @property
    def aborts(self) -> bool:
        """Whether running fits are aborted at a limit."""
        return False

    @property
    def end(self) -> float | None:
        """Time at which fits are aborted, so that the refit ends by the deadline."""
        return None if self.deadline is None else self.deadline - self.reserved

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
        return LocalHandle(self.job, self.n_workers)

    def stop(self) -> None:
        """Request that fits that have not started are skipped."""
        self.handle.stop.set()


class ProcessBackend(Backend):
    """Other processes of this machine, with the inputs in a temporary folder."""

    is_local = True

    def _transfer(self) -> Any:
        place = place_of_folders(self.temp_folder)
        try:
            self._temporary = TemporaryFolder(place, "skbayes-data")
            self._folder = Path(self._temporary.path)
            try:
                sizes = self._write()
            except BaseException:
                self._temporary.remove()
                raise
        except OSError as error:
            raise OSError(
                error.errno,
                f"the data of the search could not be written to the temporary "
                f"folder ({error.strerror}); choose another one with temp_folder of "
                "joblib.parallel_config",
                place,
            ) from error
        return DiskHandle(self._temporary.path, sizes, self.max_nbytes)

    def _write(self) -> list[int]:
        """Write the file; workers that have mapped an old file keep it."""
        draft = self._folder / "draft"
        with open(draft, "wb") as file:
            sizes = write(file, self.job)
        os.replace(draft, self._folder / "job")
        return sizes

    def __exit__(self, *exception: object) -> None:
        """Remove the folder."""
        self._temporary.remove()

    def stop(self) -> None:
        """Request that fits that have not started are skipped."""
        # If the disk is full, fits that have not started are run.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            (self._folder / "stop").touch()

    def restore(self) -> None:
        """Restore a file that another program has removed."""
        if not (self._folder / "job").exists():
            # If this fails, workers that have loaded the data can continue.
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._write()


class DaskBackend(Backend):
    """Workers of a Dask cluster; the first one sends the inputs to the others.

    Each process keeps the inputs itself, because Dask soon removes all copies but one,
    and would transfer them again for later fits.
    """

    def _transfer(self) -> Any:
        # The data are not hashed, because hashing takes longer than sending them.
        self._future = self.client.scatter(DataHandle(self.job), hash=False)
        return DaskHandle(self._future.key)

    def renew(self) -> None:
        """Scatter the inputs again."""
        try:
            self.handle = self._transfer()
        except Exception as error:
            raise lost_cluster(error) from error

    def __exit__(self, *exception: object) -> None:
        """Release the inputs."""
        self._future.release()
        with contextlib.suppress(Exception):  # the cluster has ended
            self.client.run(_forget, self.handle.key, wait=False)


def lost_cluster(cause: BaseException) -> RuntimeError:
    """Return the error for a cluster of Dask that can no longer be reached."""
    error = RuntimeError(
        "The cluster of Dask or its client was closed before the end of the search. "
        "Keep both open until fit returns. With a journal, another fit continues after "
        "the finished trials."
    )
    # Without a context, because a context would make it count as the crash of a worker.
    error.__cause__ = cause
    return error


def _gathered(key: str) -> Any:
    """Return a job in the memory of any worker of Dask."""
    from distributed import Future, get_client

    client = get_client()
    state: Any = "memory"  # otherwise, the client would wait for a message
    return client.gather(Future(key, client, state=state)).load()


async def _forget(key: str) -> None:
    _loaded.pop(key, None)
