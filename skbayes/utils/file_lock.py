"""Locks of files by SQLite, which are released if their process dies."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator


@contextlib.contextmanager
def file_lock(path: str, patience: float) -> Iterator[None]:
    """Hold the lock of a file.

    If another holder keeps it for `patience` seconds, sqlite3.Error is raised.
    """
    # A fit may end in a thread other than the one in which it began.
    connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False
    )
    try:
        # Nothing is written to the file, so it needs no journal file.
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


def is_busy(error: Exception) -> bool:
    """Return whether an error of SQLite is due to a lock of another connection."""
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
