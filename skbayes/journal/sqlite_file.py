"""SQLite files of journals, with a lock for the writer and checks for all readers.

A missing or empty file becomes a journal. A journal of this format is continued. All
other files are not changed. The writer holds an exclusive lock on a second file next to
the journal until the search ends; readers need no lock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from skbayes.journal.file_checks import (
    check_companions,
    check_lock_file,
    check_names,
    has_locks,
    in_wal_mode,
    resolve,
)

__all__ = [
    "APPLICATION_ID",
    "FORMAT",
    "JournalFile",
    "guard_against_damage",
    "is_held",
    "reader",
]

# Values in the header of the file: "skby", and the version of the tables below.
APPLICATION_ID = 0x736B6279
FORMAT = 7

# `details` contains every field of a trial exactly; `state` and `score` repeat two of
# them for users of the sqlite3 shell. `place` and `digest` are described in
# `skbayes.journal.rows`.
SCHEMA = {
    "search": "CREATE TABLE search (name TEXT PRIMARY KEY, value, "
    "place INTEGER, digest TEXT) WITHOUT ROWID",
    "identity": "CREATE TABLE identity (part TEXT PRIMARY KEY, text TEXT, "
    "place INTEGER, digest TEXT) WITHOUT ROWID",
    "splits": "CREATE TABLE splits (number INTEGER PRIMARY KEY, train BLOB, test BLOB, "
    "place INTEGER, digest TEXT)",
    "proposals": "CREATE TABLE proposals (number INTEGER PRIMARY KEY, params TEXT, "
    "expected_improvement REAL, asked REAL, place INTEGER, digest TEXT)",
    "results": "CREATE TABLE results (number INTEGER PRIMARY KEY, state TEXT, "
    "score REAL, details TEXT, finished REAL, place INTEGER, digest TEXT)",
}
# Seconds for which the writer waits for readers.
PATIENCE = 30.0

# Seconds between commits that are synchronized with the disk.
SYNC_INTERVAL = 5.0

# Number of attempts to lock or read while other processes change the files.
MAX_TRIES = 20

# Maximum bytes of the files of a killed search for reading from a copy.
MAX_COPY = 2**28

# Files that this process writes. Closing another handle of such a file, except by
# SQLite, would release its locks.
_written: set[tuple[int, int] | None] = set()


class JournalFile:
    """Journal opened for writing, locked against other writers.

    A commit is in the file on return, and survives the death of the process. Every five
    seconds, a commit is synchronized with the disk. It and all earlier ones then
    survive a power failure. A process forked from the one that opened the file writes
    nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # All names of a file have the same lock.
        self.path = resolve(path)
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(
                f"journal: there is no folder {os.path.dirname(self.path)!r}."
            )
        check_names(self.path)
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._lock_path = self.path + "-lock"
        self._lock: sqlite3.Connection | None = _hold(self._lock_path, self.path)
        with contextlib.ExitStack() as undo:
            undo.callback(self._unlock)
            _check_bytes(self.path)
            check_companions(self.path)
            with _explained(self.path):
                self._connection = _connect(self.path, "rwc")
            undo.callback(self._connection.close)
            # The header is the first write, if the process is killed at any time.
            self.execute("PRAGMA cache_spill=OFF")
            self.is_new = self.execute("PRAGMA page_count") == [(0,)]
            if not self.is_new:
                with _explained(self.path), guard_against_damage(self.path):
                    _check_tables(self._connection)
            undo.pop_all()
        self._synced = time.monotonic()
        self._inode = _inode(self.path)
        _written.add(self._inode)

    def create(self, rows: Mapping[str, Iterable[tuple]]) -> None:
        """Create the tables and their first rows in one transaction."""
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
        """Disable waiting for the disk in commits."""
        # If the process dies during a commit, SQLite rolls it back with a rollback
        # journal, which exists next to the file only during a commit. With a
        # write-ahead log, the last trials would not be in the file.
        self.execute("PRAGMA journal_mode=DELETE")
        self.execute("PRAGMA synchronous=OFF")

    def execute(self, statement: str, values: tuple = ()) -> list[tuple]:
        """Run a statement of SQL and return its rows, one thread at a time."""
        if os.getpid() != self._pid:
            return []
        with self._mutex, _explained(self.path):
            return self._connection.execute(statement, values).fetchall()

    def insert(self, table: str, row: tuple) -> None:
        """Add a row; outside of a transaction, it is in the file on return."""
        marks = ", ".join("?" * len(row))
        statement = f"INSERT INTO {table} VALUES ({marks})"
        recently = time.monotonic() - self._synced < SYNC_INTERVAL
        if recently or self._connection.in_transaction:
            self.execute(statement, row)
            return
        self.execute("PRAGMA synchronous=FULL")
        try:
            self.execute(statement, row)
        finally:
            self.execute("PRAGMA synchronous=OFF")
        self._synced = time.monotonic()

    def close(self) -> None:
        """Synchronize with the disk, and release the lock."""
        if self._lock is None or os.getpid() != self._pid:
            return
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        _written.discard(self._inode)
        with contextlib.suppress(OSError), open(self.path, "r+b") as file:
            os.fsync(file)
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


def _connect(path: str, mode: str, patience: float | None = None) -> sqlite3.Connection:
    """Open a database without executing or trusting its schema."""
    connection = sqlite3.connect(
        f"{Path(path).as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE if patience is None else patience,
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

    SQLite's locks are released at once when their process dies, even if a child process
    survives. They also exclude a second connection of the same process.
    """
    check_lock_file(path, lock_path)
    for _ in range(MAX_TRIES):
        seen = [_identity(lock_path)]
        lock = None
        try:
            lock = _connect(lock_path, "rwc", patience=0.0)
            seen.append(_identity(lock_path))
            # Nothing is written to the lock file, so it needs no journal file.
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
    raise RuntimeError(
        f"journal: {lock_path!r} is repeatedly created and removed; try again."
    )


def is_held(path: str | os.PathLike[str]) -> bool:
    """Return whether a search, in any process, is writing to a journal."""
    path = resolve(path)
    lock_path = path + "-lock"
    if not os.path.exists(lock_path):
        return False
    check_lock_file(path, lock_path)
    try:
        with contextlib.closing(_connect(lock_path, "ro", patience=0.0)) as lock:
            lock.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        # The file may have been removed in the meantime, or not be a lock.
        return _is_busy(error)
    return False


def _no_lock(error: sqlite3.DatabaseError, lock_path: str, path: str) -> Exception:
    folder = os.path.dirname(path)
    if not has_locks(folder):
        return OSError(
            f"journal: {path!r} cannot be locked: the file system of {folder!r} does "
            "not support locks. Use a path on a local disk."
        )
    if _is_busy(error):
        return RuntimeError(
            f"journal: {path!r} is in use by another search, in this process or "
            "another one. Wait until it ends, or use another file name; in nested "
            "cross-validation, leave journal=None."
        )
    return OSError(
        f"journal: {path!r} cannot be locked: {error}. The file {lock_path!r} must be "
        "free, and its folder writable."
    )


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def _inode(path: str) -> tuple[int, int] | None:
    identity = _identity(path)
    return None if identity is None else identity[:2]


def _identity(path: str) -> tuple[int, int, int] | None:
    """Identify a file by its inode; None if there is none.

    The file is not opened: closing it would release the lock of this process.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    # The time is needed because inode numbers are reused.
    return status.st_dev, status.st_ino, status.st_ctime_ns


# -- checks -----------------------------------------------------------------------


def _check_bytes(path: str) -> bool:
    """Return whether a file may be a journal; False if it is missing or empty.

    Raises an error for other files and formats. The header is read as bytes, so that
    SQLite never opens a foreign file.
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
    schema, version, application_id = struct.unpack(">44xI12xI4xI", header[:72])
    if application_id != APPLICATION_ID:
        raise _foreign(path)
    # SQLite's own messages would be misleading: no write access, or unknown format.
    if not {1, 2}.issuperset(header[18:20]) or schema > 4:
        raise _damaged(path, ValueError("no release of SQLite writes such a header"))
    if version != FORMAT:
        raise ValueError(
            f"journal: {path!r} was written by another release of skbayes (its format "
            f"is {version}, this release reads {FORMAT} only). It was not changed; use "
            "another file name."
        )
    return True


def _foreign(path: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not a journal of skbayes. It was not changed; use "
        "another file name."
    )


def _check_tables(connection: sqlite3.Connection) -> None:
    """Check that the file contains only the tables of a journal, undamaged."""
    check_schema(connection)
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            raise ValueError(verdict)


def check_schema(connection: sqlite3.Connection) -> None:
    """Check that the file contains only the tables of a journal."""
    tables = SCHEMA
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    if set(found) != {("table", name, sql) for name, sql in tables.items()}:
        raise ValueError("it has other tables than a journal")


# -- reading ----------------------------------------------------------------------


@contextlib.contextmanager
def reader(
    path: str | os.PathLike[str], allow_damage: bool = False
) -> Iterator[sqlite3.Connection]:
    """Open a journal for reading in one transaction, also during its search.

    It is opened read-only. Files next to it are neither written nor removed.
    """
    path = resolve(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"journal: there is no file {path!r}.")
    is_ours = _inode(path) in _written
    if not is_ours and not _check_bytes(path):
        raise _foreign(path)
    with_wal = not is_ours and in_wal_mode(path)
    with (
        _explained(path),
        contextlib.ExitStack() as stack,
        contextlib.closing(_open_reader(path, with_wal, stack)) as connection,
    ):
        with guard_against_damage(path):
            if not allow_damage:
                _check_tables(connection)
            yield connection


def _open_reader(
    path: str, with_wal: bool, stack: contextlib.ExitStack
) -> sqlite3.Connection:
    """Start reading; after a kill, from a copy, which SQLite may repair."""
    failure: Exception | None = None
    for _ in range(MAX_TRIES):
        check_companions(path, with_wal)
        if not with_wal:
            patience = PATIENCE if _may_be_written(path) else 0.0
            try:
                return _begin_reading(path, "ro", patience)
            except sqlite3.OperationalError as error:
                failure = error
            if not _may_be_written(path):
                # This needs no lock, which the file system may not support.
                return _begin_reading(path, "ro&immutable=1")
        copy = _copy(path, with_wal, stack)
        if copy is not None:
            return _begin_reading(copy, "rw")
        if failure is not None and _is_busy(failure):
            break
    raise failure or RuntimeError(
        f"journal: {path!r} changed while it was read; try again."
    )


def _may_be_written(path: str) -> bool:
    return os.path.lexists(path + "-lock") or os.path.lexists(path + "-journal")


def _begin_reading(
    path: str, mode: str, patience: float | None = None
) -> sqlite3.Connection:
    connection = _connect(path, mode, patience)
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except BaseException:
        connection.close()
        raise
    return connection


def _copy(path: str, with_wal: bool, stack: contextlib.ExitStack) -> str | None:
    """Copy the files of a killed search; None if they change because it is running."""
    sources = [path, path + "-journal", *([path + "-wal"] if with_wal else [])]
    before = list(map(_version, sources))
    if not any(before[1:]):
        return None
    if sum(version[1] for version in before if version) > MAX_COPY:
        raise ValueError(
            f"journal: {path!r} and the files next to it are larger than {MAX_COPY} "
            "bytes. Continue its search, or remove the files next to it."
        )
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    copy = os.path.join(folder, "journal")
    for source, version in zip(sources, before, strict=True):
        if version is not None:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(source, copy + source.removeprefix(path))
    if list(map(_version, sources)) != before:
        return None
    check_companions(copy, with_wal)
    return copy


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# -- errors -----------------------------------------------------------------------


def _damaged(path: str, error: Exception) -> ValueError:
    return ValueError(
        f"journal: {path!r} is damaged: {error}. It was not changed; use another file "
        "name, or restore a copy. To save its undamaged trials, run "
        "`python -m skbayes.journal check FILE --save NEW`."
    )


_DAMAGE = (sqlite3.DatabaseError, ValueError, LookupError, TypeError, RecursionError)


@contextlib.contextmanager
def guard_against_damage(path: str) -> Iterator[None]:
    """Turn errors from reading a damaged journal into a ValueError with advice."""
    try:
        yield
    except sqlite3.OperationalError:
        raise
    except (*_DAMAGE, OverflowError, zlib.error) as error:
        raise _damaged(path, error) from error


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn SQLite errors into errors that name the journal."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ValueError(f"journal: {path!r} has this row already: {error}") from error
    except sqlite3.OperationalError as error:
        reason = str(error)
        if _is_busy(error):
            reason = f"another program has kept it open for {PATIENCE:.0f} seconds"
        elif getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
            reason = "it was moved or removed while the search ran"
        raise OSError(
            f"journal: {path!r} cannot be used: {reason}. The trials in it are kept."
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # SQLite raises the latter for a name in a message.
        foreign = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
        raise (_foreign(path) if foreign else _damaged(path, error)) from error
