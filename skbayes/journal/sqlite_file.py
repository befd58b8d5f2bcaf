"""The file of a journal: SQLite, locked while it is written, and never trusted.

Three states of a file are told apart before anything is written to it: empty or not
there (it becomes a journal), a journal of this format, and anything else, which is left
as it is. Whoever writes holds an exclusive lock on a second file beside it, for as long
as the search lasts; the journal itself can be read all the while.
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

# In the header of the file: "skby", and the version of what is in the tables below.
# Format 1 knows no stages and no training subsets: all its trials are of one stage and
# made on all rows. Format 2 does not say when the fits of a trial began, nor what the
# space is. What goes on with a file of an older format makes it one of the newest.
APPLICATION_ID = 0x736B6279
FORMAT = 3

# `details` holds every field of a trial exactly; `state` and `score` stand beside it
# for whoever looks at the file with sqlite3.
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

# Seconds that a reader may keep the writer waiting: for a commit, and at the end.
PATIENCE, LAST_PATIENCE = 30.0, 1.0

# How often the lock is tried anew when its file was removed at just that moment.
MAX_TRIES = 20


class JournalFile:
    """A journal opened for writing, locked against any other writer.

    Parameters
    ----------
    path : str or os.PathLike
        The file. If it is missing or empty it becomes a journal.
    durability : {"auto", "full"}, default="auto"
        "auto": a commit survives the death of the process, and as a rule a power cut,
        which may lose the last commits. "full": it survives both, and takes tens of
        milliseconds. Where the file system refuses the former it is the latter.

    Attributes
    ----------
    is_new : bool
        Whether there was no journal yet.

    Raises
    ------
    OSError
        If the file cannot be read or written.
    RuntimeError
        If another search holds it.
    ValueError
        If it is no journal, of a newer format, or damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], durability: Durability = "auto"
    ) -> None:
        # Whichever way it is named, it has one lock.
        self.path = os.path.realpath(os.fspath(path))
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(
                f"journal: there is no folder {os.path.dirname(self.path)!r}."
            )
        self._durability = durability
        self._mutex = threading.Lock()
        self._lock_path = self.path + "-lock"
        self._lock: sqlite3.Connection | None = _hold(self._lock_path, self.path)
        try:
            _check_bytes(self.path)
            with _explained(self.path):
                self._connection = _connect(self.path, "rwc")
            try:
                self.is_new = self.execute("PRAGMA page_count") == [(0,)]
                if not self.is_new:
                    with _explained(self.path), guard_against_damage(self.path):
                        _check_tables(self._connection)
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._unlock()
            raise

    def create(self, rows: dict[str, Iterable[tuple]]) -> None:
        """Make the tables of a new journal, all or nothing.

        Parameters
        ----------
        rows : dict of str to iterable of tuple
            Their first rows, by table.
        """
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
        """Choose how commits are made, and see that the file can be written."""
        mode = None
        if self._durability == "auto":
            with contextlib.suppress(OSError):
                ((mode,),) = self.execute("PRAGMA journal_mode=WAL")
        if mode != "wal":
            self.execute("PRAGMA journal_mode=DELETE")
        self.execute(f"PRAGMA synchronous={'NORMAL' if mode == 'wal' else 'FULL'}")
        self.execute("UPDATE search SET value = value + 1 WHERE name = 'runs'")
        self.execute(f"PRAGMA user_version={FORMAT}")

    def execute(self, statement: str, values: tuple = ()) -> list[tuple]:
        """Run a statement of SQL and return its rows; threads take turns."""
        with self._mutex, _explained(self.path):
            return self._connection.execute(statement, values).fetchall()

    def insert(self, table: str, row: tuple) -> None:
        """Add a row to a table; it is durable unless in a transaction."""
        marks = ", ".join("?" * len(row))
        self.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def close(self) -> None:
        """Leave one file behind, and let others have it."""
        if self._lock is None:
            return
        # If a reader or a full disk prevents it, the files beside stay: they are valid.
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
            # While it is held: whoever opened it before will find that it has gone.
            # What is not empty is no file of ours.
            with contextlib.suppress(OSError):
                if not os.path.getsize(self._lock_path):
                    os.unlink(self._lock_path)
            self._lock.close()
            self._lock = None


def _uri(path: str, mode: str) -> str:
    return f"{Path(path).as_uri()}?mode={mode}"


def _connect(path: str, mode: str, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open a database so that nothing written in it is executed or believed."""
    connection = sqlite3.connect(
        _uri(path, mode),
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    # Unlike sqlite3's own, it says what is wrong by a ValueError.
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
            # Nothing is ever written; a journal of this file itself would be litter.
            lock.execute("PRAGMA journal_mode=MEMORY")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if lock is not None:
                lock.close()
            raise _no_lock(error, lock_path, path) from error
        # Its last holder may have removed it after it was opened here, or before.
        seen.append(_identity(lock_path))
        if seen[0] is not None and seen[0] == seen[1] == seen[2]:
            return lock
        lock.close()
    raise RuntimeError(f"journal: {lock_path!r} comes and goes; try again.")


def _no_lock(error: sqlite3.DatabaseError, lock_path: str, path: str) -> Exception:
    if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
        return RuntimeError(
            f"journal: {path!r} is in use by another search, of another process or of "
            "this one. Wait for its end, or give the journal another name."
        )
    return OSError(
        f"journal: {path!r} cannot be locked: {error}. The file {lock_path!r} must be "
        "free, and its folder writable."
    )


def _identity(path: str) -> tuple[int, int, int] | None:
    """Tell a file from another that takes its name later; None if there is none.

    It is never opened for this: closing it would end the lock of this very process.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    # The number of a file that was removed is given to the next one made.
    return status.st_dev, status.st_ino, status.st_ctime_ns


# -- what the file is -------------------------------------------------------------


def _check_bytes(path: str) -> None:
    """Refuse what is no journal; a file that is missing or empty may become one.

    The header is read as bytes, so that SQLite never touches somebody else's file.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise type(error)(f"journal: {path!r} cannot be read: {error}") from error
    if not header:
        return
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise _foreign(path)
    version, application_id = struct.unpack(">60xI4xI", header[:72])
    _check_header(path, application_id, version)


def _foreign(path: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not a journal of skbayes. It was left as it is; give "
        "the journal another name."
    )


def _check_header(path: str, application_id: int, version: int) -> None:
    if application_id != APPLICATION_ID:
        raise _foreign(path)
    if version > FORMAT:
        raise ValueError(
            f"journal: {path!r} was written by a newer release of skbayes (its format "
            f"is {version}, this release knows {FORMAT}). It was left as it is."
        )


def _check_tables(connection: sqlite3.Connection) -> None:
    """See that there is nothing but the tables of a journal, whole ones."""
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if sorted(found) != sorted(("table", name, sql) for name, sql in SCHEMA.items()):
        raise ValueError("it has other tables than a journal")
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            raise ValueError(verdict)


@contextlib.contextmanager
def reader(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a journal to look at it, at one instant of its life, without a lock.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Yields
    ------
    connection : sqlite3.Connection
        In a transaction, so that what it shows does not change.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is no journal, of a newer format, or damaged.
    """
    path = os.path.realpath(os.fspath(path))
    if not os.path.isfile(path):
        raise FileNotFoundError(f"journal: there is no file {path!r}.")
    with _explained(path), contextlib.closing(_open_reader(path)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        _check_header(path, application_id, version)
        connection.execute("BEGIN")
        with guard_against_damage(path):
            _check_tables(connection)
            yield connection


def _open_reader(path: str) -> sqlite3.Connection:
    """Connect, for reading only if that is possible.

    What a process that was killed left half written must be undone before it can be
    read, which SQLite does by itself if it may.
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
    """Turn whatever reading a damaged journal raises into one clear error.

    Parameters
    ----------
    path : str
        The file, for the message.

    Raises
    ------
    ValueError
        If what is inside the context finds that it cannot be read.
    """
    try:
        yield
    except sqlite3.OperationalError:
        raise
    except (*_DAMAGE, OverflowError, zlib.error) as error:
        raise _damaged(path, error) from error


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what SQLite raises into errors that name the journal."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ValueError(f"journal: {path!r} has it already: {error}") from error
    except sqlite3.OperationalError as error:
        raise OSError(
            f"journal: {path!r} cannot be used: {error}. What it holds already is kept."
        ) from error
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise _foreign(path) from error
        raise _damaged(path, error) from error
    except UnicodeDecodeError as error:
        # In a message about a name in it.
        raise _damaged(path, error) from error
