"""Store of intermediate results that fits share, in a folder.

Each fit loads a copy of fitted transformers and their outputs. N-gram counts are arrays
that each process maps into its memory.
"""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import os
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt

from skbayes.trial import temporary_files
from skbayes.trial.temporary_files import (
    USER,
    MachineFolder,
    TemporaryFolder,
    place_of_folders,
)
from skbayes.utils.file_lock import file_lock
from skbayes.utils.optional import warn_or_log

# Size in bytes of the checksum at the end of a file.
CHECKSUM = 4

# Minimum size in bytes of files and arrays that are mapped instead of copied.
MAPPED = 1_000_000

# Prefixes of the names of files without a value: unfinished files, locks, and markers
# of values for which there was no space, and of values that are not stored.
_DRAFT, _LOCK, _NO_ROOM, _NOT_STORED = "draft-", "lock-", "no-room-", "not-stored-"
_NO_VALUES = (_DRAFT, _LOCK, _NO_ROOM, _NOT_STORED, USER)

# Marker of a value that was computed again because of a lack of space.
_MADE_AGAIN = f"{_NO_ROOM}again"

# Beginning of the names of folders.
_FOLDERS = "skbayes-prefixes"

# Seconds to wait for another process that computes the same value; no practical limit.
PATIENCE = 1e6

Arrays = Mapping[str, npt.NDArray]


def _digest(part: Any, before: bytes = b"") -> bytes:
    """Return a checksum that extends the checksum of the content `before`."""
    return zlib.crc32(part, int.from_bytes(before)).to_bytes(CHECKSUM)


class _CheckedFile:
    """File whose checksum is computed while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = _digest(b"")

    def write(self, part: Any) -> None:
        self.checksum = _digest(part, self.checksum)
        self._file.write(part)


@dataclass(frozen=True)
class PrefixStore:
    """Store of values in files of up to `limit` bytes, with the most recently used.

    The caller computes values again that cannot be written or read. A full disk or a
    missing or damaged file therefore only costs time.
    """

    folder: str
    limit: float

    def here(self) -> PrefixStore:
        """Return the store for the fits of this machine."""
        return self

    @property
    def is_here(self) -> bool:
        """Whether the folder is on this machine."""
        return os.path.isdir(self.folder)

    def has(self, key: str) -> bool:
        """Return whether a value is stored under a key."""
        return os.path.exists(os.path.join(self.folder, key))

    def load(self, key: str, mapped: bool = True) -> Any:
        """Return a copy of the value under a key, with mapped arrays, or None."""
        return self._read(key, mmap.ACCESS_COPY if mapped else None, MAPPED)

    def arrays(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Map stored arrays into memory; one process makes them if they are missing."""
        stored: Arrays | None = self._read(key, mmap.ACCESS_READ)
        if stored is not None:
            return stored
        with self.turn(key):
            stored = self._read(key, mmap.ACCESS_READ)
            if stored is not None:
                return stored
            made = make()
            self.save(key, made, sum(array.nbytes for array in made.values()))
            return self._read(key, mmap.ACCESS_READ) or made

    def _read(self, key: str, access: int | None, least: int = 0) -> Any:
        """Return a value; None if it is missing or damaged.

        Read-only arrays are not verified, since each fit maps them.
        """
        path = os.path.join(self.folder, key)
        try:
            with open(path, "rb") as file:
                if access is None or os.path.getsize(path) < least:
                    view = memoryview(bytearray(file.read()))
                else:
                    mapped = mmap.mmap(file.fileno(), 0, access=access)
                    view = memoryview(mapped)
            content, checksum = view[:-CHECKSUM], view[-CHECKSUM:]
            if access != mmap.ACCESS_READ and _digest(content) != checksum:
                return None
            with contextlib.suppress(OSError):
                os.utime(path)
            return temporary_files.read(content, least if access else math.inf)
        except Exception:
            return None

    @contextlib.contextmanager
    def turn(self, key: str) -> Iterator[None]:
        """Wait for another process that computes this value, if locks are supported.

        Nobody waits for a value that was not stored by the end of the first turn, and
        those that have waited compute it at the same time.
        """
        lock = os.path.join(self.folder, f"{_LOCK}{key}")
        not_stored = os.path.join(self.folder, f"{_NOT_STORED}{key}")
        with contextlib.ExitStack() as stack:
            if self.is_here and not os.path.exists(not_stored):
                with contextlib.suppress(sqlite3.Error):
                    # Without locks, or on a full disk, this fails immediately.
                    with file_lock(f"{lock}-{uuid.uuid4().hex}", patience=0.0):
                        pass
                    stack.enter_context(file_lock(lock, PATIENCE))
                if os.path.exists(not_stored):
                    stack.close()
            try:
                yield
            finally:
                if not self.has(key):
                    with contextlib.suppress(OSError):
                        Path(not_stored).touch()

    def save(self, key: str, value: Any, size: int = 0) -> None:
        """Store a value of at least `size` bytes, if it can be written within `limit`.

        A lack of space is noted by an empty file.
        """
        folder = Path(self.folder)
        draft = folder / f"{_DRAFT}{uuid.uuid4().hex}"
        try:
            if (folder / f"{_NO_ROOM}{key}").exists():
                (folder / _MADE_AGAIN).touch()
            self._make_room(size)
            with open(draft, "wb") as file:
                checked = _CheckedFile(file)
                temporary_files.write(checked, value, exact=True)
                file.write(checked.checksum)
            self._make_room(draft.stat().st_size)
            os.replace(draft, folder / key)
        except OSError:
            # Windows does not replace a file that is in use, and has the same value.
            if not self.has(key):
                self._note(key)
        except Exception:  # values that cannot be pickled
            pass
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        """Remove the least recently used files until there is space for a new one."""
        files = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(_NO_VALUES):
                    continue
                with contextlib.suppress(FileNotFoundError):  # removed by others
                    status = entry.stat()
                    files.append((status.st_mtime_ns, status.st_size, entry.path))
        total = size + sum(n_bytes for _, n_bytes, _ in files)
        for _, n_bytes, path in sorted(files):
            # A value above the limit cannot be stored in any case.
            if total <= self.limit or size > self.limit:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= n_bytes
                self._note(os.path.basename(path))
        if total > self.limit:
            raise OSError(errno.ENOSPC, "the limit is reached")

    def _note(self, key: str) -> None:
        with contextlib.suppress(OSError):
            (Path(self.folder) / f"{_NO_ROOM}{key}").touch()


@dataclass(frozen=True)
class MachineStore:
    """Store of each machine of a cluster, in a folder that the first fit creates.

    A machine is identified by its name and its folder for temporary folders. `place` is
    this folder; by default, it is the folder of the process of the fit.
    """

    key: str
    limit: float
    place: str | None = None

    def here(self) -> PrefixStore:
        """Return the store for the fits of this machine."""
        return PrefixStore(self._folder.use(), self.limit)

    @property
    def _folder(self) -> MachineFolder:
        return MachineFolder(place_of_folders(self.place), _FOLDERS, self.key)

    def remove(self) -> bool:
        """Remove the folder of this machine; return whether values were redone."""
        folder = self._folder
        made_again = os.path.exists(os.path.join(folder.path, _MADE_AGAIN))
        folder.remove()
        return made_again


@contextlib.contextmanager
def temporary_store(place: str | None, limit: float) -> Iterator[PrefixStore | None]:
    """Yield a store that is removed at the end; None if no folder can be created."""
    place = place_of_folders(place)
    try:
        folder = TemporaryFolder(place, _FOLDERS)
    except OSError:
        yield None
        return
    try:
        yield PrefixStore(folder.path, limit)
    finally:
        made_again = os.path.exists(os.path.join(folder.path, _MADE_AGAIN))
        if folder.remove() and made_again:
            _warn_of_limit(place, limit)


@contextlib.contextmanager
def machine_store(
    place: str | None, limit: float, everywhere: Callable[[Callable], list[Any]]
) -> Iterator[MachineStore]:
    """Yield a store of each machine; `everywhere` calls a function on all machines."""
    store = MachineStore(uuid.uuid4().hex, limit, place)
    try:
        yield store
    finally:
        # This process may have run fits, too.
        if any([*everywhere(store.remove), store.remove()]):
            _warn_of_limit(place_of_folders(place), limit)


def _warn_of_limit(place: str, limit: float) -> None:
    warn_or_log(
        "Results that trials share were computed again, because the limit of temporary "
        f"files ({limit / 1e9:.3g} GB) was reached or the folder {place!r} is full. "
        "The scores are not affected. If the folder is full, choose one with more "
        "space by temp_folder of joblib.parallel_config."
    )
