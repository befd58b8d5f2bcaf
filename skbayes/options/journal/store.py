"""SQLite file of rows with checksums, and the lock of its writer.

SQLite undoes a write during which the process was killed, and checks the structure of
the file. A checksum in each row covers its content.

The lock is a second, empty SQLite file that the writer holds exclusively, so that the
rows can be read at any time. It is never removed, because another process may have
opened it. SQLite's locks are released at once when their process dies, even if a child
process survives, unlike the locks of ``flock``. They also exclude other searches in the
same process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any

from skbayes.utils.file_lock import file_lock, is_busy

# Values in the header of the file: "skby", and the version of the content.
APPLICATION_ID, FORMAT = 0x736B6279, 13

SCHEMA = (
    "CREATE TABLE journal (place INTEGER PRIMARY KEY, kind TEXT, content TEXT, "
    "checksum INTEGER)"
)

# Kind and content of a row. The content is JSON.
TextRow = tuple[str, str]

# Seconds that a connection waits for other connections, seconds that a writer waits for
# processes that inspect its lock, and seconds between commits that are synchronized
# with the disk.
PATIENCE, LOCK_PATIENCE, SYNC_INTERVAL = 30.0, 0.1, 5.0


class Store:
    """File of rows that is open for writing, and locked against other writers.

    A missing or empty file becomes a store when the first row is added. `rows` are the
    rows of the file when it was opened. A process forked from the one that opened the
    file writes nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _resolved(path)
        self._pid, self._mutex = os.getpid(), threading.Lock()
        if not os.path.isdir(folder := os.path.dirname(self.path)):
            raise FileNotFoundError(f"journal: there is no folder {folder!r}; make it.")
        with contextlib.ExitStack() as undo:
            undo.enter_context(_locked(self.path))
            undo.callback(_synchronize, self.path)
            with guarded(self.path):
                self._connection = connect(self.path, PATIENCE)
                undo.callback(self._connection.close)
                self.rows = _read(self._connection, self.path)
                # This fails if the file is read-only.
                for statement in ("BEGIN", f"PRAGMA user_version={FORMAT}", "ROLLBACK"):
                    self._connection.execute(statement)
                # On macOS, the disk may otherwise keep a commit in its own cache.
                self._connection.execute("PRAGMA fullfsync=ON")
            self._undo = undo.pop_all()
        self._n_rows, self._synced = len(self.rows), time.monotonic()

    @staticmethod
    def read(path: str | os.PathLike[str], is_new: bool = False) -> list[TextRow]:
        """Return the rows of any store, also while another process writes to it.

        A store that may be new can have no rows, or no file.
        """
        path = _resolved(path)
        if is_new and not os.path.exists(path):
            return []
        if not os.path.exists(path):
            raise FileNotFoundError(f"journal: there is no file {path!r}.")
        with guarded(path), contextlib.closing(connect(path, PATIENCE)) as connection:
            connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            rows = _read(connection, path)
        if not rows and not is_new:
            raise _foreign(path)
        return rows

    def append(self, *rows: TextRow) -> None:
        """Add rows in one transaction, one thread at a time.

        They are in the file on return, and survive the death of the process. Every five
        seconds, a commit is synchronized with the disk, and survives a power failure.
        """
        if os.getpid() != self._pid:
            return
        with self._mutex, guarded(self.path):
            is_due = time.monotonic() - self._synced >= SYNC_INTERVAL
            execute = self._connection.execute
            is_empty = not self._n_rows and _is_empty(self._connection, self.path)
            execute(f"PRAGMA synchronous={'FULL' if is_due else 'OFF'}")
            with self._connection:
                execute("BEGIN IMMEDIATE")
                if is_empty:
                    execute(f"PRAGMA application_id={APPLICATION_ID}")
                    execute(f"PRAGMA user_version={FORMAT}")
                    execute(SCHEMA)
                for place, row in enumerate(rows, self._n_rows):
                    values = place, *row, checksum(place, *row)
                    execute("INSERT INTO journal VALUES (?, ?, ?, ?)", values)
            self._n_rows += len(rows)
            if is_due:
                self._synced = time.monotonic()

    def close(self) -> None:
        """Synchronize with the disk and release the lock; a second call is ignored."""
        if os.getpid() == self._pid:
            self._undo.close()


def connect(path: str, patience: float) -> sqlite3.Connection:
    """Open a database without trusting its schema."""
    connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False
    )
    # Invalid text raises a ValueError, unlike sqlite3's own factory.
    connection.text_factory = bytes.decode
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def checksum(place: int, kind: str, content: str) -> int:
    """Return the checksum of a row."""
    return zlib.crc32(f"{place} {kind} {content}".encode())


def _value(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


def _is_empty(connection: sqlite3.Connection, path: str) -> bool:
    # SQLite also counts no pages in a file of a few bytes. It first undoes a write.
    return _value(connection, "page_count") == os.path.getsize(path) == 0


def _read(connection: sqlite3.Connection, path: str) -> list[TextRow]:
    """Return the rows of a database.

    A ValueError names a database that is not a journal of this format, or its damage.
    """
    rows: list[TextRow] = []
    if _is_empty(connection, path):
        return rows
    if _value(connection, "application_id") != APPLICATION_ID:
        raise _foreign(path)
    version = _value(connection, "user_version")
    if version != FORMAT:
        raise ValueError(
            f"journal: {path!r} was written by another release of skbayes (its format "
            f"is {version}, this release reads {FORMAT} only). It was not changed; use "
            "another file name."
        )
    # A copy of a file with a write-ahead log would not be complete.
    if _value(connection, "journal_mode") != "delete":
        raise ValueError("skbayes does not write such a header")
    # Views, triggers and expressions in a file are never evaluated.
    schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if schema != [("table", "journal", SCHEMA)]:
        raise ValueError("it has other tables than a journal")
    stored = connection.execute("SELECT * FROM journal ORDER BY place")
    for place, kind, content, expected in stored:
        if place != len(rows):
            raise ValueError(f"row {len(rows)} is missing")
        if checksum(place, kind, content) != expected:
            raise ValueError(f"row {place} ({kind!s:.9}) does not match its checksum")
        rows.append((kind, content))
    verdict = _value(connection, "quick_check(1)")
    if verdict != "ok":
        raise ValueError(verdict)
    return rows


def _resolved(path: str | os.PathLike[str]) -> str:
    """Return the canonical path of a regular or missing file."""
    name = os.fsdecode(path)
    try:
        real = os.path.realpath(name)
        is_other = os.path.exists(real) and not os.path.isfile(real)
    except ValueError as error:
        raise ValueError(f"journal: {name!r} is not a path: {error}.") from error
    if is_other:
        raise ValueError(f"journal: {name!r} is not a regular file; use another.")
    return real


def _synchronize(path: str) -> None:
    with contextlib.suppress(OSError), open(path, "r+b") as file:
        os.fsync(file)


def _locked(path: str) -> contextlib.ExitStack:
    """Hold the lock of a store; RuntimeError if another search holds it."""
    lock = contextlib.ExitStack()
    try:
        lock.enter_context(file_lock(path + "-lock", LOCK_PATIENCE))
    except sqlite3.Error as error:
        if is_busy(error):
            raise RuntimeError(
                f"journal: {path!r} is in use by another search, in this process or "
                "another one. Wait until it ends, or use another file name; in nested "
                "cross-validation, leave journal=None. If there is no other search, "
                "the file system does not support locks: use a path on a local disk."
            ) from error
        raise OSError(
            f"journal: {path!r} cannot be locked: {error}. Another program may "
            f"hold {path + '-lock'!r}, or the folder may not be writable."
        ) from error
    return lock


def is_held(path: str | os.PathLike[str]) -> bool:
    """Return whether a search, in any process, is writing to a store."""
    lock = _resolved(path) + "-lock"
    if not os.path.exists(lock):
        return False
    try:
        with contextlib.closing(connect(lock, patience=0.0)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        return is_busy(error)
    return False


# -- errors -----------------------------------------------------------------------


def _foreign(path: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not a journal of skbayes. It was not changed; use "
        "another file name."
    )


def _damaged(path: str, fault: object) -> ValueError:
    return ValueError(
        f"journal: {path!r} is damaged: {fault}. It was not changed; restore a copy, "
        "or use another file name."
    )


@contextlib.contextmanager
def guarded(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of SQLite, and of parsing the content, into errors with advice."""
    path = os.fsdecode(path)
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = str(error)
        if is_busy(error):
            reason = f"another program has kept it open for {PATIENCE:.0f} seconds"
        elif getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
            reason = "it was moved or removed while the search ran"
        raise OSError(
            f"journal: {path!r} cannot be used: {reason}. The trials in it are kept."
        ) from error
    except (
        *(sqlite3.DatabaseError, zlib.error, ValueError, LookupError, TypeError),
        *(AttributeError, RecursionError),
    ) as error:
        if str(error).startswith("journal: "):
            raise
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise _foreign(path) from error
        raise _damaged(path, error) from error
