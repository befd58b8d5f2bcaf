"""Caches of arrays: in memory, or in files that all processes share."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skbayes import compat
from skbayes.utils.optional import warn_or_log

__all__ = ["DiskCache", "MemoryCache"]

Arrays = Mapping[str, npt.NDArray]

# Seconds to wait for another worker that is counting: as long as it takes.
PATIENCE = 1e6


class MemoryCache:
    """Groups of arrays by name, up to `limit` bytes, in the memory of this process."""

    def __init__(self, limit: float = math.inf) -> None:
        self._kept: dict[str, Arrays] = {}
        self._room = limit

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this name, made by `make` if they are not there."""
        if name in self._kept:
            return self._kept[name]
        arrays = make()
        size = _size(arrays)
        if size <= self._room:
            self._room -= size
            self._kept[name] = arrays
        return arrays


class DiskCache(MemoryCache):
    """Cache in files, which all processes of a machine map into their memory.

    Files are mapped on request, and released with the last reference to them. The
    operating system caches what was read, so that the memory of no process grows.
    The arrays are kept in memory if there is no folder: on another machine than that of
    the search, or if no folder with support for locks can be created.
    """

    def __init__(self, limit: int, parent: str | None = None) -> None:
        place = parent or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
        place = os.path.expanduser(place)
        super().__init__(limit)
        self.limit = limit
        self._pid = os.getpid()
        self.folder = ""
        try:
            os.makedirs(place, exist_ok=True)
            self.folder = tempfile.mkdtemp(prefix="skbayes-counts-", dir=place)
            compat.guard_folder(self.folder)
            with _locked(os.path.join(self.folder, "lock"), patience=0.0):
                pass
        except (OSError, sqlite3.Error):
            self.close()
            self.folder = ""

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this name, made by `make` if they are not there."""
        if not os.path.isdir(self.folder):
            return super().get(name, make)
        digest = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
        path = os.path.join(self.folder, digest)
        if not os.path.isdir(path):
            # Whoever comes first counts, the others wait for it.
            with contextlib.ExitStack() as stack:
                try:
                    stack.enter_context(_locked(path + "-lock", PATIENCE))
                except sqlite3.Error as error:  # a full disk
                    self._note(f"they could not be written ({error})")
                    return make()
                if not os.path.isdir(path):
                    arrays = make()
                    if not self._keep(path, arrays):
                        return arrays
                    # Its memory is not needed any more: below, the files are.
                    del arrays
        try:
            return {
                file.removesuffix(".npy"): _load(os.path.join(path, file))
                for file in os.listdir(path)
            }
        except FileNotFoundError:  # another program has removed them
            return make()

    def _keep(self, path: str, arrays: Arrays) -> bool:
        """Write arrays if there is room for them; return whether they were written."""
        if self.used() + _size(arrays) > self.limit:
            self._note("counts_limit is reached")
            return False
        # Renamed when complete: a worker may die while it writes.
        draft = ""
        try:
            draft = tempfile.mkdtemp(prefix="draft-", dir=self.folder)
            for name, array in arrays.items():
                np.save(os.path.join(draft, name + ".npy"), array)
            os.rename(draft, path)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            self._note(f"they could not be written ({error.strerror or error})")
            return False
        return True

    def _note(self, reason: str) -> None:
        """Record, for the process of the search, why something was not written."""
        with contextlib.suppress(OSError):
            Path(self.folder, "note").write_text(reason, encoding="utf-8")

    def used(self) -> int:
        """Return how many bytes the files take."""
        total = 0
        for folder, _, files in os.walk(self.folder):
            for file in files:
                # Others remove their locks and drafts meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    total += os.path.getsize(os.path.join(folder, file))
        return total

    def close(self) -> None:
        """Remove the files; warns if some counts were not kept."""
        # A process that a fit forked leaves the folder to the search.
        if not self.folder or os.getpid() != self._pid:
            return
        note = None
        with contextlib.suppress(OSError):
            # A full disk has room for a name, not for a reason.
            note = Path(self.folder, "note").read_text(encoding="utf-8") or "disk full"
        shutil.rmtree(self.folder, ignore_errors=True)
        compat.release_folder(self.folder)
        if note is not None:
            warn_or_log(
                f"Some n-grams were counted again in each trial that needed them: "
                f"{note}, {self.limit / 1e9:.3g} GB in the temporary folder "
                f"{os.path.dirname(self.folder)!r}. The results are the same; the "
                "search would be faster with a larger counts_limit, in a folder with "
                "room for it (temp_folder of joblib.parallel_config chooses one).",
                stacklevel=2,
            )


def _size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def _load(path: str) -> Any:
    array = np.load(path, mmap_mode="r")
    # A plain array over the mapped file: slices of a memmap are slow to make.
    return array.view(np.ndarray)


@contextlib.contextmanager
def _locked(path: str, patience: float) -> Iterator[None]:
    """Hold a lock that is free again when this process dies, on every system."""
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()
