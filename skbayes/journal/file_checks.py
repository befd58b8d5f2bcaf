"""Checks of the path of a journal and of the files next to it, before SQLite opens any.

SQLite processes the files next to a database as soon as it opens it. It merges a `-wal`
into the database, rolls back the changes in a `-journal`, and deletes a file that the
latter names.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile

__all__ = [
    "check_companions",
    "check_lock_file",
    "check_names",
    "has_locks",
    "in_wal_mode",
    "resolve",
]

# Longest suffix of the files that SQLite looks for next to a journal.
LONGEST_SUFFIX = "-lock-journal"

# Maximum number of bytes in a path for SQLite.
MAX_PATH = 512

# First bytes of a rollback journal; at its end, they mark the name of a super-journal.
ROLLBACK_MAGIC = bytes.fromhex("d9d505f920a163d7")

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
}


def resolve(path: str | os.PathLike[str]) -> str:
    """Return the canonical path of a file, which may be missing, or raise a ValueError.

    No file is opened: opening a named pipe waits, and opening a device may affect it.
    """
    name = os.fsdecode(path)
    try:
        real = os.path.realpath(name)
        status = _status(os.stat, real)
        _status(os.stat, real + LONGEST_SUFFIX)
        too_long = len(os.fsencode(real + LONGEST_SUFFIX)) > MAX_PATH
    except ValueError as error:
        raise ValueError(f"journal: {name!r} is not a path: {error}.") from error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.ELOOP):
            raise type(error)(f"journal: {name!r} cannot be read: {error}") from error
        raise ValueError(f"journal: {name!r} is not a path: {error}.") from error
    if too_long:
        raise ValueError(
            f"journal: {name!r} is too long for SQLite, which opens paths of up to "
            f"{MAX_PATH - len(LONGEST_SUFFIX)} bytes."
        )
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise ValueError(f"journal: {name!r} is {_kind(status)}, not a regular file.")
    return real


def check_names(path: str) -> None:
    """Raise ValueError for a file with several names, which have separate locks."""
    status = _status(os.stat, path)
    if status is not None and status.st_nlink > 1:
        raise ValueError(
            f"journal: {path!r} has {status.st_nlink} names (hard links). A search "
            "under another name would write to the same file. Use a copy of the file, "
            "or a symbolic link."
        )


def in_wal_mode(path: str) -> bool:
    """Return whether the header requires a `-wal` file of another program."""
    with open(path, "rb") as file:
        return file.read(20)[18:] == b"\2\2"


def check_companions(path: str, with_wal: bool = False) -> None:
    """Raise a ValueError for files next to a journal that were not written with it.

    A search that was killed while writing leaves only a rollback journal. Another
    program can switch a journal to the mode with a `-wal` and its index.
    """
    if not with_wal:
        _refuse(path, ("-wal", "-shm"))
    elif _status(os.lstat, path + "-wal") is None:
        raise ValueError(
            f"journal: {path!r} is the journal of a killed search. Its last trials "
            f"are in {path + '-wal'!r}, which is missing. Restore that file."
        )
    for suffix in ("-journal", "-wal", "-shm"):
        status = _status(os.lstat, path + suffix)
        if status is not None:
            _check_regular(path, path + suffix, status)
    _check_rollback_journal(path, path + "-journal")


def _check_rollback_journal(path: str, beside: str) -> None:
    """Reject a rollback journal of another program, or one that names another file."""
    status = _status(os.lstat, beside)
    if status is None:
        return
    try:
        file = open(beside, "rb")
    except FileNotFoundError:
        return  # the commit of a running search has ended
    with file:
        begin = file.read(len(ROLLBACK_MAGIC))
        file.seek(max(status.st_size - len(ROLLBACK_MAGIC), 0))
        end = file.read()
    # SQLite first writes zeros instead; a file that begins with zeros has no effect
    # yet.
    known = ROLLBACK_MAGIC.startswith(begin.rstrip(b"\0"))
    if not known or end == ROLLBACK_MAGIC:
        raise _not_ours(path, beside)


def check_lock_file(path: str, lock_path: str) -> None:
    """Raise a ValueError for a file at the path of the lock that is not a lock file.

    The file is not opened: closing it would release the lock of this process.
    """
    _refuse(path, ("-lock-journal", "-lock-wal", "-lock-shm"))
    status = _status(os.lstat, lock_path)
    if status is not None:
        _check_regular(path, lock_path, status)
        if status.st_size:
            raise _not_ours(path, lock_path)


def has_locks(folder: str) -> bool:
    """Return whether files in a folder can be locked; SQLite reports them as busy."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        file = tempfile.TemporaryFile(dir=folder)
    except OSError:
        return True
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _status(function, path: str) -> os.stat_result | None:
    try:
        return function(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _kind(status: os.stat_result) -> str:
    return KINDS.get(stat.S_IFMT(status.st_mode), "a special file")


def _refuse(path: str, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        if os.path.lexists(path + suffix):
            raise _not_ours(path, path + suffix)


def _check_regular(path: str, beside: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(
            f"journal: {path!r} is not opened, because {beside!r} next to it is "
            f"{_kind(status)}. Remove it, or use another file name for the journal."
        )


def _not_ours(path: str, beside: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not opened, because skbayes did not write {beside!r} "
        "next to it, and SQLite could change or delete files because of that file. "
        "Remove it, or use another file name for the journal."
    )
