"""SQLite files of journals: locked by the one writer, open to readers, never trusted.

A file that is missing or empty becomes a journal; one that holds a journal of this
format is continued; any other file is left as it is. The writer holds an exclusive lock
on a second file beside the journal until the search ends; readers need no lock.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

__all__ = ["APPLICATION_ID", "FORMAT", "JournalFile", "guard_against_damage", "reader"]

Durability = Literal["auto", "full"]

# In the header of the file: "skby", and the version of the tables below.
APPLICATION_ID = 0x736B6279
FORMAT = 4

# `details` holds every field of a trial exactly; `state` and `score` repeat two of them
# for users of the sqlite3 shell.
SCHEMA = {
    "search": "CREATE TABLE search (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "identity": "CREATE TABLE identity (part TEXT PRIMARY KEY, text TEXT) "
    "WITHOUT ROWID",
    "splits": "CREATE TABLE splits (number INTEGER PRIMARY KEY, train BLOB, test BLOB)",
    "proposals": "CREATE TABLE proposals (number INTEGER PRIMARY KEY, params TEXT, "
    "expected_improvement REAL, asked REAL)",
    "results": "CREATE TABLE results (number INTEGER PRIMARY KEY, state TEXT, "
    "score REAL, details TEXT, finished REAL)",
}

# Seconds that the writer waits for readers: at a commit, and when it closes the file.
PATIENCE, LAST_PATIENCE = 30.0, 1.0

# Attempts to take the lock while other processes remove its file.
MAX_TRIES = 20


class JournalFile:
    """Journal opened for writing, locked against any other writer.

    With `durability` "auto" a commit survives the death of the process, and a power cut
    may lose the last commits; with "full", or where the file system refuses the former,
    a commit survives both and takes tens of milliseconds.
    """

    def __init__(
        self, path: str | os.PathLike[str], durability: Durability = "auto"
    ) -> None:
        # All names of a file share one lock.
        self.path = os.path.realpath(os.fspath(path))
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(
                f"journal: there is no folder {os.path.dirname(self.path)!r}."
            )
        self._durability = durability
        self._mutex = threading.Lock()
        self._lock_path = self.path + "-lock"
        self._lock: sqlite3.Connection | None = _hold(self._lock_path, self.path)
        with contextlib.ExitStack() as undo:
            undo.callback(self._unlock)
            _check_bytes(self.path)
            with _explained(self.path):
                self._connection = _connect(self.path, "rwc")
            undo.callback(self._connection.close)
            self.is_new = self.execute("PRAGMA page_count") == [(0,)]
            if not self.is_new:
                with _explained(self.path), guard_against_damage(self.path):
                    _check_tables(self._connection)
            undo.pop_all()

    def create(self, rows: dict[str, Iterable[tuple]]) -> None:
        """Create the tables and their first rows, all or nothing."""
        self.execute("BEGIN IMMEDIATE")
        try:
            self.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self.execute(f"PRAGMA user_version={FORMAT}")
            for statement in SCHEMA.values():
                self.execute(statement)
            for table, values in rows.items():
                for row in values:
                    self.insert(table, row)
            self.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(OSError):
                self.execute("ROLLBACK")
            raise

    def start_writing(self) -> None:
        """Set the journal mode of SQLite, and check that the file can be written."""
        mode = None
        if self._durability == "auto":
            with contextlib.suppress(OSError):
                ((mode,),) = self.execute("PRAGMA journal_mode=WAL")
        if mode != "wal":
            self.execute("PRAGMA journal_mode=DELETE")
        self.execute(f"PRAGMA synchronous={'NORMAL' if mode == 'wal' else 'FULL'}")
        self.execute("UPDATE search SET value = value + 1 WHERE name = 'runs'")

    def execute(self, statement: str, values: tuple = ()) -> list[tuple]:
        """Run a statement of SQL and return its rows, one thread at a time."""
        with self._mutex, _explained(self.path):
            return self._connection.execute(statement, values).fetchall()

    def insert(self, table: str, row: tuple) -> None:
        """Add a row to a table; outside of a transaction it is durable on return."""
        marks = ", ".join("?" * len(row))
        self.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def close(self) -> None:
        """Merge SQLite's own files into the journal, and release the lock."""
        if self._lock is None:
            return
        # If a reader or a full disk prevents it, the files stay, and are valid.
        with contextlib.suppress(sqlite3.Error):
            connection = self._connection
            connection.execute(f"PRAGMA busy_timeout={int(LAST_PATIENCE * 1000)}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            # Removed while the lock is held, so that a process that has opened it
            # notices. A file that is not empty is not a lock file.
            with contextlib.suppress(OSError):
                if not os.path.getsize(self._lock_path):
                    os.unlink(self._lock_path)
            self._lock.close()
            self._lock = None


def _uri(path: str, mode: str) -> str:
    return f"{Path(path).as_uri()}?mode={mode}"


def _connect(path: str, mode: str, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open a database without executing or trusting what its schema holds."""
    connection = sqlite3.connect(
        _uri(path, mode),
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


# -- the lock ---------------------------------------------------------------------


def _hold(lock_path: str, path: str) -> sqlite3.Connection:
    """Take the lock, and return the connection that holds it.

    SQLite's locks are free at once when their process dies, even if a child of it
    lives on, and they keep out a second connection of the same process as well.
    """
    for _ in range(MAX_TRIES):
        seen = [_identity(lock_path)]
        lock = None
        try:
            lock = _connect(lock_path, "rwc", patience=0.0)
            seen.append(_identity(lock_path))
            # Nothing is written to the lock file; it needs no journal of its own.
            lock.execute("PRAGMA journal_mode=MEMORY")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if lock is not None:
                lock.close()
            raise _no_lock(error, lock_path, path) from error
        # The last holder may have removed the file before or after it was opened.
        seen.append(_identity(lock_path))
        if seen[0] is not None and seen[0] == seen[1] == seen[2]:
            return lock
        lock.close()
    raise RuntimeError(f"journal: {lock_path!r} comes and goes; try again.")


def _no_lock(error: sqlite3.DatabaseError, lock_path: str, path: str) -> Exception:
    if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
        return RuntimeError(
            f"journal: {path!r} is in use by another search, of another process or of "
            "this one. Wait for its end, or give the journal another name; in nested "
            "cross-validation, leave journal=None."
        )
    return OSError(
        f"journal: {path!r} cannot be locked: {error}. The file {lock_path!r} must be "
        "free, and its folder writable."
    )


def _identity(path: str) -> tuple[int, int, int] | None:
    """Identify a file by its inode; None if there is none.

    The file is not opened: closing it would release the lock of this process.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    # Inode numbers are reused, hence the time.
    return status.st_dev, status.st_ino, status.st_ctime_ns


# -- checks -----------------------------------------------------------------------


def _check_bytes(path: str) -> bool:
    """Whether a file may be a journal; False if it is missing or empty, else refused.

    The header is read as bytes, so that SQLite never opens a foreign file.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise type(error)(f"journal: {path!r} cannot be read: {error}") from error
    if not header:
        return False
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise _foreign(path)
    version, application_id = struct.unpack(">60xI4xI", header[:72])
    if application_id != APPLICATION_ID:
        raise _foreign(path)
    if version != FORMAT:
        raise ValueError(
            f"journal: {path!r} was written by another release of skbayes (its format "
            f"is {version}, this release reads {FORMAT} only). It was left as it is; "
            "give the journal another name."
        )
    return True


def _foreign(path: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not a journal of skbayes. It was left as it is; give "
        "the journal another name."
    )


def _check_tables(connection: sqlite3.Connection) -> None:
    """Check that the file holds the tables of a journal only, undamaged."""
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if sorted(found) != sorted(("table", name, sql) for name, sql in SCHEMA.items()):
        raise ValueError("it has other tables than a journal")
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            raise ValueError(verdict)


@contextlib.contextmanager
def reader(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a journal for reading in one transaction, without a lock."""
    path = os.path.realpath(os.fspath(path))
    if not os.path.isfile(path):
        raise FileNotFoundError(f"journal: there is no file {path!r}.")
    if not _check_bytes(path):
        raise _foreign(path)
    with _explained(path), contextlib.closing(_open_reader(path)) as connection:
        connection.execute("BEGIN")
        with guard_against_damage(path):
            _check_tables(connection)
            yield connection


def _open_reader(path: str) -> sqlite3.Connection:
    """Connect for reading, with write access where that fails.

    SQLite must roll back the unfinished commit of a killed process before it can read.
    """
    connection = _connect(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except BaseException as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise
        connection = _connect(path, "rw")
        connection.execute("PRAGMA query_only=ON")
    return connection


# -- errors -----------------------------------------------------------------------


def _damaged(path: str, error: Exception) -> ValueError:
    return ValueError(
        f"journal: {path!r} is damaged: {error}. It was left as it is; give the "
        "journal another name, or put back a copy."
    )


_DAMAGE = (sqlite3.DatabaseError, ValueError, LookupError, TypeError, RecursionError)


@contextlib.contextmanager
def guard_against_damage(path: str) -> Iterator[None]:
    """Turn the errors of reading a damaged journal into a ValueError that says so."""
    try:
        yield
    except sqlite3.OperationalError:
        raise
    except (*_DAMAGE, OverflowError, zlib.error) as error:
        raise _damaged(path, error) from error


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the errors of SQLite into errors that name the journal."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ValueError(f"journal: {path!r} has it already: {error}") from error
    except sqlite3.OperationalError as error:
        raise OSError(
            f"journal: {path!r} cannot be used: {error}. What it holds already is kept."
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # The latter is raised by SQLite for a name in a message.
        foreign = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
        raise (_foreign(path) if foreign else _damaged(path, error)) from error
