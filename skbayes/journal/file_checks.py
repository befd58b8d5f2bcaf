"""Checks of the path of a journal and of the files next to it, before SQLite opens any.

SQLite processes the files next to a database as soon as it opens it. It merges a `-wal`
into the database, rolls back the changes in a `-journal`, and deletes a file that the
latter names. No file is opened before its type is known: opening a named pipe waits,
opening a device may affect it, and closing a file releases the locks of this process.
"""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["check_beside", "check_companions", "refuse", "resolve", "status_of"]

# Longest suffix of the files that SQLite looks for next to a journal.
LONGEST_SUFFIX = "-lock-journal"

# Maximum number of bytes in a path for SQLite.
MAX_PATH = 512

# First bytes of a rollback journal; at its end, they mark the name of a super-journal.
ROLLBACK_MAGIC = bytes.fromhex("d9d505f920a163d7")

_KINDS = {
    **dict.fromkeys((stat.S_IFCHR, stat.S_IFBLK), "a device"),
    **{stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO"},
    **{stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a symbolic link"},
}


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
    if status is not None and not stat.S_ISREG(status.st_mode):
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


def check_companions(path: str) -> None:
    """Raise a ValueError for files that a killed search does not leave."""
    refuse(path, "-wal", "-shm")
    status = check_beside(path, "-journal")
    if status is None:
        return
    try:
        file = open(path + "-journal", "rb")
    except FileNotFoundError:
        return  # the commit of a running search has ended
    with file:
        begin = file.read(len(ROLLBACK_MAGIC))
        file.seek(max(status.st_size - len(ROLLBACK_MAGIC), 0))
        end = file.read()
    # SQLite first writes zeros instead; a file that begins with zeros has no effect
    # yet. A name of another file at the end is not that of a journal.
    if not ROLLBACK_MAGIC.startswith(begin.rstrip(b"\0")) or end == ROLLBACK_MAGIC:
        refuse(path, "-journal")


def check_beside(path: str, suffix: str) -> os.stat_result | None:
    """Return the status of a file next to a journal; ValueError if it is special."""
    status = _stat(path + suffix, follow=False)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise ValueError(
            f"journal: {path!r} is not opened, because {path + suffix!r} next to it is "
            f"{_kind(status)}. Remove it, or use another file name for the journal."
        )
    return status


def refuse(path: str, *suffixes: str) -> None:
    """Raise a ValueError for files next to a journal, if they exist."""
    for suffix in suffixes:
        if os.path.lexists(path + suffix):
            raise ValueError(
                f"journal: {path!r} is not opened, because skbayes did not write "
                f"{path + suffix!r} next to it, and SQLite could change or delete "
                "files because of that file. Remove it, or use another file name for "
                "the journal."
            )


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
