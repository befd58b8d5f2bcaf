"""Store of intermediate results that fits share, in a folder.

Each fit loads a copy of the results of pipeline steps. N-gram counts are arrays that
each process maps into its memory.
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
from skbayes.trial.temporary_files import TemporaryFolder, place_of_folders
from skbayes.utils.file_lock import file_lock
from skbayes.utils.optional import warn_or_log

# Size in bytes of the checksum at the end of a file.
CHECKSUM = 4

# Prefixes of the names of files without a value: unfinished files, locks, and markers
# of values for which there was no space.
_DRAFT, _LOCK, _NO_SPACE = "draft-", "lock-", "no-space-"
_NO_VALUES = (_DRAFT, _LOCK, _NO_SPACE)

# Marker of a value that was computed again because of a lack of space.
_MADE_AGAIN = f"{_NO_SPACE}again"

# Maximum number of seconds to wait for another process that computes the same value.
PATIENCE = 1e6

Arrays = Mapping[str, npt.NDArray]


def _checksum(content: Any) -> bytes:
    return zlib.crc32(content).to_bytes(CHECKSUM)


def _mapped(file: BinaryIO) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@dataclass(frozen=True)
class PrefixStore:
    """Store of values in files of up to `limit` bytes in total.

    If the limit is reached, the least recently used values are removed.
    The caller computes values again that cannot be written or read. A full disk or a
    missing or damaged file therefore only costs time.
    """

    folder: str
    limit: float

    def load(self, key: str, mapped: bool = False) -> Any:
        """Return the value under a key; None if it is missing or damaged.

        Arrays that are `mapped` are read-only and not verified, since each fit maps
        them.
        """
        path = os.path.join(self.folder, key)
        try:
            with open(path, "rb") as file:
                view = memoryview(_mapped(file) if mapped else file.read())
            content, checksum = view[:-CHECKSUM], view[-CHECKSUM:]
            if not mapped and _checksum(content) != checksum:
                return None
            with contextlib.suppress(OSError):
                os.utime(path)
            return temporary_files.read(content, 0 if mapped else math.inf)
        except Exception:
            return None

    def arrays(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Map stored arrays into memory; one process makes them if they are missing."""
        stored: Arrays | None = self.load(key, mapped=True)
        if stored is not None:
            return stored
        with self._one_process(key):
            stored = self.load(key, mapped=True)
            if stored is not None:
                return stored
            made = make()
            self.save(key, made, sum(array.nbytes for array in made.values()))
            return self.load(key, mapped=True) or made

    @contextlib.contextmanager
    def _one_process(self, key: str) -> Iterator[None]:
        """Wait for another process that makes the same arrays, if files have locks."""
        lock = os.path.join(self.folder, f"{_LOCK}{key}")
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(sqlite3.Error):
                # Without locks, or on a full disk, this fails immediately.
                with file_lock(f"{lock}-{uuid.uuid4().hex}", patience=0.0):
                    pass
                stack.enter_context(file_lock(lock, PATIENCE))
            yield

    def save(self, key: str, value: Any, size: int = 0) -> bool:
        """Store a value of at least `size` bytes, if it can be written within `limit`.

        Return whether it is stored. A lack of space is noted by an empty file.
        """
        folder = Path(self.folder)
        draft = folder / f"{_DRAFT}{uuid.uuid4().hex}"
        try:
            if (folder / f"{_NO_SPACE}{key}").exists():
                (folder / _MADE_AGAIN).touch()
            self._free_space(size)
            with open(draft, "w+b") as file:
                temporary_files.write(file, value, exact=True)
                file.flush()
                with _mapped(file) as content:
                    file.write(_checksum(content))
            self._free_space(draft.stat().st_size)
            os.replace(draft, folder / key)
        except OSError:
            # Windows does not replace a file that is in use, and has the same value.
            if not (folder / key).exists():
                self._note(key)
        except Exception:  # values that cannot be pickled
            pass
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        return (folder / key).exists()

    def _free_space(self, size: int) -> None:
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
            (Path(self.folder) / f"{_NO_SPACE}{key}").touch()


@contextlib.contextmanager
def temporary_store(place: str | None, limit: float) -> Iterator[PrefixStore | None]:
    """Yield a store that is removed at the end; None if no folder can be created."""
    place = place_of_folders(place)
    try:
        folder = TemporaryFolder(place, "skbayes-prefixes")
    except OSError:
        yield None
        return
    try:
        yield PrefixStore(folder.path, limit)
    finally:
        made_again = os.path.exists(os.path.join(folder.path, _MADE_AGAIN))
        if folder.remove() and made_again:
            warn_or_log(
                "Results that trials share were computed again, because the limit of "
                f"temporary files ({limit / 1e9:.3g} GB) was reached or the folder "
                f"{place!r} is full. The scores are not affected. If the folder is "
                "full, choose one with more space with temp_folder of "
                "joblib.parallel_config."
            )
