"""Lock of a journal: a second SQLite file that the writer holds exclusively.

SQLite's locks are released at once when their process dies, even if a child process
survives, unlike those of ``flock``. They also exclude other connections of the same
process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from skbayes.journal.file_checks import check_beside, refuse, resolve, status_of

__all__ = ["Lock", "connect", "is_busy", "is_held"]

# Number of attempts while other processes create and remove the file.
MAX_TRIES = 20


def connect(path: str, mode: str, patience: float) -> sqlite3.Connection:
    """Open a database without executing or trusting its schema."""
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?mode={mode}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    # Invalid text raises a ValueError, unlike sqlite3's own factory.
    connection.text_factory = bytes.decode
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class Lock:
    """Lock of a journal; RuntimeError if another search holds it, else OSError."""

    def __init__(self, path: str) -> None:
        self._path = path + "-lock"
        _check(path)
        for _ in range(MAX_TRIES):
            seen = [status_of(self._path)]
            with contextlib.ExitStack() as undo:
                try:
                    self._held = connect(self._path, "rwc", patience=0.0)
                    undo.callback(self._held.close)
                    seen.append(status_of(self._path))
                    # Nothing is written to the file, so it needs no journal file.
                    self._held.execute("PRAGMA journal_mode=MEMORY")
                    self._held.execute("BEGIN EXCLUSIVE")
                except sqlite3.DatabaseError as error:
                    raise self._explained(error, path) from error
                # The last holder may have removed the file before or after it was
                # opened.
                seen.append(status_of(self._path))
                if seen[0] is not None and seen[0] == seen[1] == seen[2]:
                    undo.pop_all()
                    return
        raise RuntimeError(
            f"journal: {self._path!r} is repeatedly created and removed; try again."
        )

    def _explained(self, error: sqlite3.DatabaseError, path: str) -> Exception:
        folder = os.path.dirname(path)
        if not _has_locks(folder):
            return OSError(
                f"journal: {path!r} cannot be locked: the file system of {folder!r} "
                "does not support locks. Use a path on a local disk."
            )
        if is_busy(error):
            return RuntimeError(
                f"journal: {path!r} is in use by another search, in this process or "
                "another one. Wait until it ends, or use another file name; in nested "
                "cross-validation, leave journal=None."
            )
        return OSError(
            f"journal: {path!r} cannot be locked: {error}. The file {self._path!r} "
            "must be free, and its folder writable."
        )

    def release(self) -> None:
        """Remove the file, and release the lock."""
        # Removed while it is locked, so that a process that has opened it notices. A
        # file that is not empty is not a lock file.
        with contextlib.suppress(OSError):
            if not os.path.getsize(self._path):
                os.unlink(self._path)
        self._held.close()


def is_held(path: str | os.PathLike[str]) -> bool:
    """Return whether a search, in any process, is writing to a journal."""
    path = resolve(path)
    if not os.path.exists(path + "-lock"):
        return False
    _check(path)
    try:
        with contextlib.closing(connect(path + "-lock", "ro", patience=0.0)) as lock:
            lock.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        # The file may have been removed in the meantime, or not be a lock.
        return is_busy(error)
    return False


def is_busy(error: Exception) -> bool:
    """Return whether an error of SQLite is due to a lock of another connection."""
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def _check(path: str) -> None:
    """Raise a ValueError for a file at the path of the lock that is not a lock file."""
    refuse(path, "-lock-journal", "-lock-wal", "-lock-shm")
    status = check_beside(path, "-lock")
    if status is not None and status.st_size:
        refuse(path, "-lock")


def _has_locks(folder: str) -> bool:
    """Return whether files in a folder can be locked; SQLite reports them as busy."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EROFS)
    return True
