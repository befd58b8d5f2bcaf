"""Backends: where the fits of a search run, and how they receive their inputs.

A backend sends folds to joblib and returns their outcomes. joblib would pickle the
inputs, which all fits share, again for every trial. Instead, each fit receives a small
handle, and each process loads the inputs once. Large arrays are stored in one file,
which the workers map into memory, so that the machine has one copy for any number of
workers.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from skbayes.evaluation.fold import Fold, FoldOutcome, FoldTask, run_folds
from skbayes.evaluation.temporary_files import (
    TemporaryFolder,
    place_of_folders,
    read,
    write,
)

__all__ = [
    "Backend",
    "DaskBackend",
    "DataHandle",
    "DiskHandle",
    "LocalHandle",
    "ProcessBackend",
    "ThreadBackend",
]


class DataHandle:
    """Handle that contains the task; the `key` is the same for all handles of the data.

    An exception in a worker would end its pool, and thereby the folds of other trials.
    If `returns_errors`, it is therefore returned.
    """

    n_shared = 0

    def __init__(self, task: Any, returns_errors: bool = True) -> None:
        self._task = task
        self.returns_errors = returns_errors
        self.key = uuid.uuid4().hex

    def load(self) -> Any:
        """Return the task, in the process of the fit."""
        return self._task

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return False

    def room(self) -> AbstractContextManager[Any]:
        """Return a context in which a fit runs, after waiting until it may run."""
        return contextlib.nullcontext()

    def is_gone(self) -> bool | None:
        """Return whether the search has ended; None if this cannot be determined."""
        return None


class LocalHandle(DataHandle):
    """Handle of a task in memory."""

    def __init__(self, task: Any, n_slots: int) -> None:
        # With one worker, errors are raised where they occur, for debugging.
        super().__init__(task, returns_errors=n_slots > 1)
        self.stop = threading.Event()
        # Each trial in flight has enough threads for all slots.
        self._slots = threading.BoundedSemaphore(n_slots)

    def room(self) -> AbstractContextManager[Any]:
        """Return a slot."""
        return self._slots

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return self.stop.is_set()


# Task that this process loaded last, and its memory map, by folder.
_loaded: dict[str, tuple[Any, mmap.mmap]] = {}


class DiskHandle(DataHandle):
    """Handle of a task in the file "task" of a folder on this machine.

    Arrays of more than `least` bytes, `n_shared` bytes in total, are mapped into
    memory. As in joblib, small arrays are copied, so that they are writable.
    """

    def __init__(self, folder: str, sizes: Sequence[int], least: float) -> None:
        self.folder, self.least = folder, least
        self.key, self.returns_errors = folder, True
        self.n_shared = sum(n_bytes for n_bytes in sizes if n_bytes > least)

    def load(self) -> Any:
        """Return the task; it is read once per process."""
        if self.folder not in _loaded:
            _loaded.clear()
            with open(os.path.join(self.folder, "task"), "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            task = read(memoryview(mapped), self.least)
            _loaded[self.folder] = task, mapped
        return _loaded[self.folder][0]

    def is_gone(self) -> bool | None:
        """Return whether the search has ended."""
        return not os.path.exists(self.folder)

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return os.path.exists(os.path.join(self.folder, "stop"))

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        """Return a context that releases the mapped pages at its end.

        loky replaces a worker that has grown by 300 MB.
        """
        try:
            yield
        finally:
            _, mapped = _loaded.get(self.folder, (None, None))
            if mapped is not None and hasattr(mapped, "madvise"):
                mapped.madvise(mmap.MADV_DONTNEED)


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
                f"the data of the search could not be written into the temporary "
                f"folder ({error.strerror}); choose another one by temp_folder of "
                "joblib.parallel_config",
                place,
            ) from error
        return DiskHandle(self._temporary.path, sizes, self.max_nbytes)

    def _write(self) -> list[int]:
        """Write the file; workers that have mapped an old one keep it."""
        draft = self._folder / "draft"
        with open(draft, "wb") as file:
            sizes = write(file, self.task)
        os.replace(draft, self._folder / "task")
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
        if not (self._folder / "task").exists():
            # If this fails, workers that have loaded the data can continue.
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, exist_ok=True)
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
