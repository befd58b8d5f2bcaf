"""Handles of the inputs of a search, which are sent with each fit instead of them.

joblib would pickle the arguments of another process again for every trial. A handle is
small, and each process loads the inputs once.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets

__all__ = ["DataHandle", "DiskHandle", "Inputs", "LocalHandle"]


@dataclass(frozen=True)
class Inputs:
    """Inputs that all fits of a search share."""

    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    subsets: Subsets | None = None
    outcome_params: dict[str, Any] = field(default_factory=dict)

    def split(self, index: int, fidelity: Fidelity = FULL_DATA) -> tuple[Any, Any]:
        """Return the training and test rows of one fold of a trial."""
        train, test = self.splits[index]
        if self.subsets is None:
            return train, test
        return self.subsets.rows(index, train, fidelity), test


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

    def portable(self) -> DataHandle:
        """Return the handle for another process of this machine."""
        return self

    def is_gone(self) -> bool | None:
        """Return whether the search has ended; None if this cannot be determined."""
        return None


class LocalHandle(DataHandle):
    """Handle of a task in memory, and of its copy `on_disk` for other processes."""

    on_disk: DataHandle | None = None

    def __init__(self, task: Any, n_slots: int) -> None:
        # With one worker, errors are raised where they occur, for debugging.
        super().__init__(task, returns_errors=n_slots > 1)
        self.stop = threading.Event()
        # Each trial in flight has enough threads for all slots.
        self._slots = threading.BoundedSemaphore(n_slots)

    def portable(self) -> DataHandle:
        """Return the handle for another process of this machine."""
        assert self.on_disk is not None
        return self.on_disk

    def room(self) -> AbstractContextManager[Any]:
        """Return a slot."""
        return self._slots

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return self.stop.is_set()


# Task that this process loaded last, and its memory map, by folder.
_loaded: dict[str, tuple[Any, mmap.mmap | None]] = {}


class DiskHandle(DataHandle):
    """Handle of a task in the files "head" and "arrays" of a folder on this machine.

    `places` are the begin and end of each array, and whether it is mapped.
    """

    def __init__(self, folder: str, places: tuple[tuple[int, int, bool], ...]) -> None:
        self.folder, self.places = folder, places
        self.key, self.returns_errors = folder, True
        self.n_shared = sum(end - begin for begin, end, shared in places if shared)

    def load(self) -> Any:
        """Return the task; it is read once per process."""
        if self.folder not in _loaded:
            _loaded.clear()
            _loaded[self.folder] = self._read()
        return _loaded[self.folder][0]

    def _read(self) -> tuple[Any, mmap.mmap | None]:
        head = (Path(self.folder) / "head").read_bytes()
        mapped, view = None, memoryview(b"")
        # An empty file cannot be mapped.
        if any(end for _, end, _ in self.places):
            with open(Path(self.folder) / "arrays", "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            view = memoryview(mapped)
        arrays = [view[begin:end] for begin, end, _ in self.places]
        # As in joblib, small arrays are writable.
        buffers = [
            array if shared else bytearray(array)
            for array, (_, _, shared) in zip(arrays, self.places, strict=True)
        ]
        return pickle.loads(head, buffers=buffers), mapped

    def is_gone(self) -> bool | None:
        """Return whether the search has ended."""
        return not os.path.exists(self.folder)

    def stopped(self) -> bool:
        """Return whether to skip fits that have not started."""
        return os.path.exists(os.path.join(self.folder, "stop"))

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        """Return a context that releases the mapped pages at its end."""
        try:
            yield
        finally:
            self._release_pages()

    def _release_pages(self) -> None:
        """Release the mapped pages: loky replaces a worker that has grown by 300 MB."""
        _, mapped = _loaded.get(self.folder, (None, None))
        if mapped is not None and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)
