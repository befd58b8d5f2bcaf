"""SQLite files of journals: one table of rows with chained checksums.

A missing or empty file becomes a journal. A journal of this format is continued. All
other files are not changed. Readers need no lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator

from skbayes.journal.lock import (
    acquire_lock,
    check_beside,
    connect,
    release_lock,
    resolve,
    status_of,
)
from skbayes.utils.file_lock import is_busy

# Values in the header of the file: "skby", and the version of the content.
APPLICATION_ID, FORMAT = 0x736B6279, 9

# The first row is the header, the others are events of the search in their order.
# `digest` covers the row and the digest of the row before it.
SCHEMA = (
    "CREATE TABLE journal (place INTEGER PRIMARY KEY, kind TEXT, content TEXT, "
    "digest TEXT)"
)
SCAN = "SELECT type, name, sql FROM sqlite_master"

# Files next to a journal that SQLite would use.
COMPANIONS = ("-wal", "-shm", "-journal")

# Kind and content of a row. The content is JSON.
Row = tuple[str, str]

# Maximum length of texts that represent objects, and of strings shown in full.
MAX_TEXT = 120

# Seconds for which the writer waits for readers, and between commits that are
# synchronized with the disk.
PATIENCE, SYNC_INTERVAL = 30.0, 5.0

# Maximum number of attempts while other processes change the files, and of bytes of the
# files of a killed search for reading from a copy.
MAX_TRIES, MAX_COPY = 20, 2**28

# Files that this process writes. Closing another handle of such a file, except by
# SQLite, would release its locks.
_written: set[tuple[int, ...]] = set()


def digest_of(previous: str, place: int, row: Row) -> str:
    """Return the digest of a row, given that of the row before it, or ""."""
    text = f"{previous} {place} {row[0]} {row[1]}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _checked(stored: Iterable[tuple]) -> Iterator[tuple[Row, str]]:
    """Yield rows and their digests, from tuples of the columns of the table.

    A ValueError names the first fault.
    """
    n_rows, digest = 0, ""
    for place, kind, content, expected in stored:
        if place != n_rows:
            raise ValueError(f"row {n_rows} is missing")
        if type(kind) is not str or type(content) is not str:
            raise ValueError(f"row {place} contains no text")
        digest = digest_of(digest, place, (kind, content))
        if digest != expected:
            raise ValueError(f"row {place} ({kind[:9]}) does not match its checksum")
        yield (kind, content), digest
        n_rows += 1


class JournalFile:
    """Journal opened for writing, locked against other writers.

    A new file gets the given rows; otherwise, `rows` are those in the file. A row is in
    the file when `append` returns, and survives the death of the process. Every five
    seconds, a commit is synchronized with the disk, and survives a power failure. A
    process forked from the one that opened the file writes nothing.
    """

    def __init__(self, path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
        # All names of a file have the same lock.
        self.path = resolve(path, for_writing=True)
        self._pid, self._mutex = os.getpid(), threading.Lock()
        self._n_rows, self._digest = 0, ""
        with contextlib.ExitStack() as undo:
            self._lock = acquire_lock(self.path)
            undo.callback(release_lock, self.path, self._lock)
            _check_header(self.path)
            check_beside(self.path, *COMPANIONS)
            with guarded(self.path):
                self._connection = connect(self.path, "rwc", PATIENCE)
                undo.callback(self._connection.close)
                # The header is the first write, if the process is killed at any time.
                self._execute("PRAGMA cache_spill=OFF")
                if self._execute("PRAGMA page_count") == [(0,)]:
                    self._create(rows)
                self.rows: list[Row] = []
                for row, digest in _stored_rows(self._connection):
                    self.rows.append(row)
                    self._digest = digest
                self._n_rows = len(self.rows)
                # This fails if the file is read-only.
                for statement in ("BEGIN", f"PRAGMA user_version={FORMAT}", "ROLLBACK"):
                    self._execute(statement)
                # If the process dies during a commit, SQLite rolls it back with a
                # rollback journal, which exists next to the file only for that time.
                self._execute("PRAGMA synchronous=OFF")
                # On macOS, the disk may otherwise keep a commit in its own cache.
                self._execute("PRAGMA fullfsync=ON")
            self._undo = undo.pop_all()
        self._synced = time.monotonic()
        self._inode = (status_of(self.path) or ())[:2]
        _written.add(self._inode)

    def _execute(self, statement: str, values: tuple = ()) -> list[tuple]:
        return self._connection.execute(statement, values).fetchall()

    def _create(self, rows: Iterable[Row]) -> None:
        self._execute("BEGIN IMMEDIATE")
        self._execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._execute(f"PRAGMA user_version={FORMAT}")
        self._execute(SCHEMA)
        for row in rows:
            self._insert(row)
        self._execute("COMMIT")

    def _insert(self, row: Row) -> None:
        digest = digest_of(self._digest, self._n_rows, row)
        values = (self._n_rows, *row, digest)
        self._execute("INSERT INTO journal VALUES (?, ?, ?, ?)", values)
        self._n_rows, self._digest = self._n_rows + 1, digest

    def append(self, row: Row) -> None:
        """Add a row, one thread at a time."""
        if os.getpid() != self._pid:
            return
        with self._mutex, guarded(self.path):
            if time.monotonic() - self._synced < SYNC_INTERVAL:
                self._insert(row)
                return
            self._execute("PRAGMA synchronous=FULL")
            try:
                self._insert(row)
            finally:
                self._execute("PRAGMA synchronous=OFF")
            self._synced = time.monotonic()

    def close(self) -> None:
        """Synchronize with the disk, and release the lock; again without effect."""
        if self._inode not in _written or os.getpid() != self._pid:
            return
        self._connection.close()
        _written.discard(self._inode)
        with contextlib.suppress(OSError), open(self.path, "r+b") as file:
            os.fsync(file)
        self._undo.close()


# -- reading ----------------------------------------------------------------------


def read_file(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a journal, also during its search; ValueError if damaged."""
    path = resolve(path)
    status = status_of(path)
    if status is None:
        raise FileNotFoundError(f"journal: there is no file {path!r}.")
    if status[:2] not in _written and not _check_header(path):
        raise _foreign(path)
    with guarded(path), contextlib.ExitStack() as stack:
        reader = _open_reader(path, stack)
        stack.callback(reader.close)
        for row, _ in _stored_rows(reader):
            yield row


def _check_header(path: str) -> bool:
    """Return whether a file is a journal; False if empty, ValueError if foreign."""
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
    if version != FORMAT:
        raise ValueError(
            f"journal: {path!r} was written by another release of skbayes (its format "
            f"is {version}, this release reads {FORMAT} only). It was not changed; use "
            "another file name."
        )
    # SQLite's own messages would be misleading, or it would look for other files.
    if header[18:20] != b"\1\1" or schema > 4:
        raise _damaged(path, "skbayes does not write such a header")
    return True


def _stored_rows(connection: sqlite3.Connection) -> Iterator[tuple[Row, str]]:
    """Yield the rows with their digests; ValueError at the first fault."""
    if connection.execute(SCAN).fetchall() != [("table", "journal", SCHEMA)]:
        raise ValueError("it has other tables than a journal")
    columns = "place, kind, content, digest"
    yield from _checked(
        connection.execute(f"SELECT {columns} FROM journal ORDER BY place")
    )
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            raise ValueError(verdict)


def _open_reader(path: str, stack: contextlib.ExitStack) -> sqlite3.Connection:
    """Start reading; from a copy if SQLite has to repair or cannot lock the file."""
    failure: Exception = RuntimeError(
        f"journal: {path!r} changed while it was read; try again."
    )
    for _ in range(MAX_TRIES):
        check_beside(path, *COMPANIONS)
        is_open = any(map(os.path.lexists, (path + "-lock", path + "-journal")))
        try:
            return _begin_reading(path, "ro", PATIENCE if is_open else 0.0)
        except sqlite3.OperationalError as error:
            failure = error
        copy = _copy(path, stack)
        if copy is not None:
            return _begin_reading(copy, "rw", PATIENCE)
        if is_busy(failure):
            break
    raise failure


def _begin_reading(path: str, mode: str, patience: float) -> sqlite3.Connection:
    connection = connect(path, mode, patience)
    try:
        for statement in ("PRAGMA query_only=ON", "BEGIN", SCAN):
            connection.execute(statement).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _copy(path: str, stack: contextlib.ExitStack) -> str | None:
    """Copy the files of a journal; None if they change because a search is running."""
    sources = {path: status_of(path), path + "-journal": status_of(path + "-journal")}
    if sum(status[2] for status in sources.values() if status) > MAX_COPY:
        raise ValueError(
            f"journal: {path!r} and the file ending in '-journal' next to it have more "
            f"than {MAX_COPY} bytes. Continue the search, or remove the second file."
        )
    copy = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "journal")
    with contextlib.suppress(FileNotFoundError):
        for source, status in sources.items():
            if status is not None:
                shutil.copyfile(source, copy + source.removeprefix(path))
    if {source: status_of(source) for source in sources} != sources:
        return None
    check_beside(copy, *COMPANIONS)
    return copy


# -- errors -----------------------------------------------------------------------


def _foreign(path: str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is not a journal of skbayes. It was not changed; use "
        "another file name."
    )


def _damaged(path: str, error: Exception | str) -> ValueError:
    return ValueError(
        f"journal: {path!r} is damaged: {error}. It was not changed; use another file "
        "name, or restore a copy. To save its undamaged trials, run "
        "`python -m skbayes.journal check FILE --save NEW`."
    )


@contextlib.contextmanager
def guarded(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of SQLite, and of parsing the content, into errors with advice."""
    path = os.fspath(path)
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
        *(RecursionError, OverflowError),
    ) as error:
        if str(error).startswith("journal: "):
            raise
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise _foreign(path) from error
        raise _damaged(path, error) from error
