"""Lock of a journal, and checks of its path and of the files next to it.

The lock is a second SQLite file that the writer holds exclusively. SQLite's locks are
released at once when their process dies, even if a child process survives, unlike those
of ``flock``. They also exclude other connections of the same process.

SQLite processes the files next to a database as soon as it opens it. It merges a `-wal`
into the database, rolls back the changes in a `-journal`, and deletes a file that the
latter names. They are therefore checked first. No file is opened before its type is
known: opening a named pipe waits, opening a device may affect it, and closing a file
releases the locks of this process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import sys
from pathlib import Path, PurePath

from skbayes.utils.file_lock import is_busy

# Maximum number of attempts while other processes create and remove the file.
MAX_TRIES = 20

# Longest suffix of the files that SQLite looks for next to a journal, and maximum
# number of bytes in a path for SQLite.
LONGEST_SUFFIX, MAX_PATH = "-lock-journal", 512

# First bytes of a rollback journal; at its end, they mark the name of a super-journal.
ROLLBACK_MAGIC = bytes.fromhex("d9d505f920a163d7")

# Whether the system refuses to remove a file that SQLite has opened.
_KEEPS_OPEN_FILES = sys.platform == "win32"

# Kinds of files by their letter in ``ls -l``.
_KINDS = {
    **{"b": "a device", "c": "a device", "d": "a folder", "l": "a symbolic link"},
    **{"p": "a FIFO", "s": "a socket"},
}


def connect(path: str, mode: str, patience: float) -> sqlite3.Connection:
    """Open a database without executing or trusting its schema."""
    connection = sqlite3.connect(
        f"{_uri(Path(path))}?mode={mode}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    # Invalid text raises a ValueError, unlike sqlite3's own factory.
    connection.text_factory = bytes.decode
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _uri(path: PurePath) -> str:
    """Return the URI of a file; SQLite refuses those that name a host.

    Python resolves a network drive of Windows to such a path.
    """
    uri = path.as_uri()
    host = uri.startswith("file://") and not uri.startswith("file:///")
    return uri.replace("file://", "file:////", 1) if host else uri


def acquire_lock(path: str) -> sqlite3.Connection:
    """Lock a journal; RuntimeError if another search holds the lock, else OSError."""
    lock = path + "-lock"
    _check_lock(path)
    for _ in range(MAX_TRIES):
        seen = [status_of(lock)]
        with contextlib.ExitStack() as undo:
            try:
                held = connect(lock, "rwc", patience=0.0)
                undo.callback(held.close)
                seen.append(status_of(lock))
                # Nothing is written to the file, so it needs no journal file.
                held.execute("PRAGMA journal_mode=MEMORY")
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.DatabaseError as error:
                if is_busy(error):
                    raise RuntimeError(
                        f"journal: {path!r} is in use by another search, in this "
                        "process or another one. Wait until it ends, or use another "
                        "file name; in nested cross-validation, leave journal=None. If "
                        "there is no other search, the file system does not support "
                        "locks: use a path on a local disk."
                    ) from error
                raise OSError(
                    f"journal: {path!r} cannot be locked: {error}. The file {lock!r} "
                    "must be free, and its folder writable."
                ) from error
            # The last holder may have removed the file before or after it was opened.
            seen.append(status_of(lock))
            if seen[0] is not None and seen[0] == seen[1] == seen[2]:
                undo.pop_all()
                return held
    raise RuntimeError(
        f"journal: {lock!r} is repeatedly created and removed; try again."
    )


def release_lock(path: str, held: sqlite3.Connection) -> None:
    """Remove the lock file, and release the lock."""
    # Removed while it is locked, so that a process that has opened it notices.
    if not _KEEPS_OPEN_FILES:
        _remove_lock(path)
    held.close()
    if _KEEPS_OPEN_FILES:  # also those of other processes
        _remove_lock(path)


def _remove_lock(path: str) -> None:
    # A file that is not empty is not a lock file.
    with contextlib.suppress(OSError):
        if not os.path.getsize(path + "-lock"):
            os.unlink(path + "-lock")


def is_held(path: str | os.PathLike[str]) -> bool:
    """Return whether a search, in any process, is writing to a journal."""
    path = resolve(path)
    if not os.path.exists(path + "-lock"):
        return False
    _check_lock(path)
    try:
        with contextlib.closing(connect(path + "-lock", "ro", patience=0.0)) as lock:
            lock.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        # The file may have been removed in the meantime, or not be a lock.
        return is_busy(error)
    return False


def _check_lock(path: str) -> None:
    check_beside(path, "-lock-journal", "-lock-wal", "-lock-shm", "-lock")


# -- paths and the files next to them ---------------------------------------------


def status_of(path: str) -> tuple[int, ...] | None:
    """Identify a version of a file without opening it; None if there is none."""
    status = _stat(path)
    if status is None:
        return None
    # The time is needed because inode numbers are reused.
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def _stat(path: str, follow: bool = True) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _kind(status: os.stat_result) -> str:
    """Return "" for a regular file, and a name of any other kind."""
    letter = stat.filemode(status.st_mode)[0]
    return "" if letter == "-" else _KINDS.get(letter, "a special file")


def resolve(path: str | os.PathLike[str], for_writing: bool = False) -> str:
    """Return the canonical path of a file, which may be missing, or raise an error."""
    name = os.fsdecode(path)
    try:
        real = os.path.realpath(name)
        status = _stat(real)
        _stat(real + LONGEST_SUFFIX)
        too_long = len(os.fsencode(real + LONGEST_SUFFIX)) > MAX_PATH
    except (ValueError, OSError) as error:
        if getattr(error, "errno", None) not in (None, errno.ENAMETOOLONG, errno.ELOOP):
            raise type(error)(f"journal: {name!r} cannot be read: {error}") from error
        raise ValueError(f"journal: {name!r} is not a path: {error}.") from error
    if too_long:
        raise ValueError(
            f"journal: {name!r} is too long for SQLite, which opens paths of up to "
            f"{MAX_PATH - len(LONGEST_SUFFIX)} bytes."
        )
    if status is not None and _kind(status):
        raise ValueError(f"journal: {name!r} is {_kind(status)}, not a regular file.")
    folder = os.path.dirname(real)
    if for_writing and not os.path.isdir(folder):
        raise FileNotFoundError(f"journal: there is no folder {folder!r}.")
    if for_writing and status is not None and status.st_nlink > 1:
        raise ValueError(
            f"journal: {real!r} has {status.st_nlink} names (hard links), which have "
            "separate locks. Use a copy of the file, or a symbolic link."
        )
    return real


def check_beside(path: str, *suffixes: str) -> None:
    """Raise a ValueError for files next to a journal that skbayes does not write."""
    for suffix in suffixes:
        status = _stat(path + suffix, follow=False)
        if status is None:
            continue
        if _kind(status):
            reason = f"{path + suffix!r} next to it is {_kind(status)}"
        elif suffix == "-lock" and not status.st_size:
            continue
        elif suffix == "-journal" and _is_of_a_kill(path + suffix, status.st_size):
            continue
        else:
            reason = (
                f"skbayes did not write {path + suffix!r} next to it, and SQLite could "
                "change or delete files because of that file"
            )
        raise ValueError(
            f"journal: {path!r} is not opened, because {reason}. Remove it, or use "
            "another file name for the journal."
        )


def _is_of_a_kill(path: str, size: int) -> bool:
    """Return whether a killed search may have left this rollback journal."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return True  # the commit of a running search has ended
    with file:
        begin = file.read(len(ROLLBACK_MAGIC))
        file.seek(max(size - len(ROLLBACK_MAGIC), 0))
        end = file.read()
    # SQLite first writes zeros instead; a file that begins with zeros has no effect
    # yet. A name of another file at the end is not that of a journal.
    return ROLLBACK_MAGIC.startswith(begin.rstrip(b"\0")) and end != ROLLBACK_MAGIC
