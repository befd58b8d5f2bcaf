"""Where counts are kept once they are made: in memory, or in files that all share."""

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
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skbayes import compat

__all__ = ["DiskCache", "MemoryCache", "Cache"]

Arrays = Mapping[str, npt.NDArray]

# Seconds to wait for another worker that is counting: as long as it takes.
PATIENCE = 1e6


class Cache(Protocol):
    """Keeps groups of arrays by name."""

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this name, made first if they are not there."""


class MemoryCache:
    """Keep arrays in the memory of this process.

    Parameters
    ----------
    limit : float, default=inf
        Bytes that they may take; what finds no room is made anew each time.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self._kept: dict[str, Arrays] = {}
        self._room = limit

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return arrays.

        Parameters
        ----------
        name : str
            What they are called.
        make : callable
            Makes them, if they are not there.

        Returns
        -------
        arrays : dict of str to ndarray
            The arrays.
        """
        if name in self._kept:
            return self._kept[name]
        arrays = make()
        size = _size(arrays)
        if size <= self._room:
            self._room -= size
            self._kept[name] = arrays
        return arrays


class DiskCache:
    """Keep arrays in files, which all processes of a machine map into their memory.

    They are mapped when they are asked for, and let go with the last reference to them:
    what was read of them is the system's cache, and no process grows by it.

    Parameters
    ----------
    limit : int
        Bytes that the files may take. What finds no room is made anew whenever it is
        needed.
    parent : str or None, default=None
        Where to make the folder; None for the environment variable
        ``JOBLIB_TEMP_FOLDER``, or the system's temporary folder.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """

    def __init__(self, limit: int, parent: str | None = None) -> None:
        place = parent or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
        place = os.path.expanduser(place)
        self.limit = limit
        self._elsewhere = MemoryCache(limit)
        os.makedirs(place, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix="skbayes-counts-", dir=place)
        compat.guard_folder(self.folder)

    def get(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return arrays.

        Parameters
        ----------
        name : str
            What they are called.
        make : callable
            Makes them, if they are not there.

        Returns
        -------
        arrays : dict of str to ndarray
            The arrays; those from a file cannot be written to.
        """
        if not os.path.isdir(self.folder):
            # On another machine than where the search runs.
            return self._elsewhere.get(name, make)
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
        """Write arrays, if there is room for them."""
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
        """Remember, for the process of the search, why something was not kept."""
        with contextlib.suppress(OSError):
            path = os.path.join(self.folder, "note")
            with open(path, "w", encoding="utf-8") as file:
                file.write(reason)

    def used(self) -> int:
        """Add up the sizes of the files.

        Returns
        -------
        n_bytes : int
            How much they take.
        """
        total = 0
        for folder, _, files in os.walk(self.folder):
            for file in files:
                # Others remove what their locks and drafts needed meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    total += os.path.getsize(os.path.join(folder, file))
        return total

    def close(self) -> None:
        """Remove the files; warns if some counts were not kept."""
        note = None
        with contextlib.suppress(OSError):
            with open(os.path.join(self.folder, "note"), encoding="utf-8") as file:
                note = file.read()
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
