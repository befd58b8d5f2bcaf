"""Caches of arrays: in memory, or in files that all processes share."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skbayes import compat

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

    They are mapped when they are asked for, and let go with the last reference to them:
    what was read of them is the system's cache, and no process grows by it. On another
    machine than where the search runs the arrays are kept in memory.
    """

    def __init__(self, limit: int, parent: str | None = None) -> None:
        place = parent or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
        place = os.path.expanduser(place)
        super().__init__(limit)
        self.limit = limit
        os.makedirs(place, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix="skbayes-counts-", dir=place)
        compat.guard_folder(self.folder)

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this name, made by `make` if they are not there."""
        if not os.path.isdir(self.folder):
            return super().get(name, make)
        digest = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
        path = os.path.join(self.folder, digest)
        if not os.path.isdir(path):
            # Whoever comes first counts, the others wait for it.
            with _locked(path + "-lock"):
                if not os.path.isdir(path):
                    arrays = make()
                    if not self._keep(path, arrays):
                        return arrays
                    # Its memory is not needed any more: below, the files are.
                    del arrays
        return {
            file.removesuffix(".npy"): _load(os.path.join(path, file))
            for file in os.listdir(path)
        }

    def _keep(self, path: str, arrays: Arrays) -> bool:
        """Write arrays if there is room for them; return whether they were written."""
        if self.used() + _size(arrays) > self.limit:
            self._note("counts_limit is reached")
            return False
        # Renamed when complete: a worker may die while it writes.
        draft = tempfile.mkdtemp(prefix="draft-", dir=self.folder)
        try:
            for name, array in arrays.items():
                np.save(os.path.join(draft, name + ".npy"), array)
            os.rename(draft, path)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            self._note(f"they could not be written ({error.strerror})")
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
        note = None
        with contextlib.suppress(OSError):
            note = Path(self.folder, "note").read_text(encoding="utf-8")
        shutil.rmtree(self.folder, ignore_errors=True)
        compat.release_folder(self.folder)
        if note is not None:
            warnings.warn(
                f"Some n-grams were counted again in each trial that needed them: "
                f"{note}, {self.limit / 1e9:.3g} GB in the temporary folder "
                f"{os.path.dirname(self.folder)!r}. The results are the same; the "
                "search would be faster with a larger counts_limit, in a folder with "
                "room for it (temp_folder of joblib.parallel_config chooses one).",
                UserWarning,
                stacklevel=2,
            )


def _size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def _load(path: str) -> Any:
    array = np.load(path, mmap_mode="r")
    # A plain array over the mapped file: slices of a memmap are slow to make.
    return array.view(np.ndarray)


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock that is free again when this process dies, on every system."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()
