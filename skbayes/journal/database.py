"""Tables of databases with the rows of a journal, which several drivers share.

The rows are those of a file (:mod:`~skbayes.journal.file`). They are only added, never
changed or removed. The number of a row is the primary key, so a driver can add a row
only if it has read all rows before. Each driver therefore decides from the same rows,
and of two drivers that claim the same trial, one fails and reads the claim of the other
one.

On PostgreSQL, a driver holds an advisory lock, which ends with its connection. In other
databases, it increases a number in a second table at regular intervals. A driver whose
number has not changed for some time, on the clock of the one that reads it, is dead.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from skbayes.journal.file import (
    JournalFile,
    Row,
    checked,
    digest_of,
    guarded,
    read_file,
)
from skbayes.utils.optional import import_optional

# Name of the table that a URL without "#name" means.
TABLE = "skbayes_journal"

# Seconds between two signs of life of a driver, and without one until it is dead.
BEAT, LEASE = 5.0, 30.0

# Seconds for which it is not looked again whether a driver is alive, and for which
# SQLite waits for the locks of others.
LOOK, PATIENCE = 1.0, 10.0

# After these many seconds without an answer, PostgreSQL ends a connection to a machine
# that was lost: 30, and 3 times 10.
KEEPALIVES = {"idle": 30, "interval": 10, "count": 3}


# -- URLs -------------------------------------------------------------------------


def is_url(place: Any) -> bool:
    """Return whether a journal is in a database: a string that begins with a scheme."""
    return isinstance(place, str) and re.match(r"[\w+.-]+://", place) is not None


def _split_url(url: str) -> tuple[str, str]:
    """Return the URL of a database, and the name of the table that follows "#"."""
    found = re.search(r"#([^@/]*)$", url)
    return (url, "") if found is None else (url[: found.start()], found[1])


def display_name(place: str | os.PathLike[str]) -> str:
    """Return the path of a file, or a URL without its password and options."""
    if not is_url(place):
        return os.fspath(place)
    url, table = _split_url(str(place))
    url = re.sub(r"(://[^:/@]*):.*@", r"\1@", url).partition("?")[0]
    return f"{url}#{table}" if table else url


# -- stores of rows -----------------------------------------------------------------


def open_store(place: str | os.PathLike[str], rows: Sequence[Row]) -> Any:
    """Open a journal for writing; a new one gets the given rows."""
    return (JournalTable if is_url(place) else JournalFile)(place, rows)  # type: ignore


def read_rows(place: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a journal, also during its search; ValueError if damaged."""
    if not is_url(place):
        yield from read_file(place)
        return
    with _Database(str(place), creates=False) as database, guarded(database.name):
        for row, _ in checked(database.rows(0)):
            yield row


class JournalTable:
    """Journal in a table of a database, opened for writing with other drivers.

    A new table gets the given row; otherwise, `rows` are those in the table.
    """

    elsewhere = "another table (the name after '#' in the URL)"

    def __init__(self, url: str, rows: Sequence[Row]) -> None:
        self.path, self.driver = display_name(url), secrets.token_hex(8)
        self._pid, self._n_rows, self._digest = os.getpid(), 0, ""
        # What is known about other drivers: whether they are alive, when this was
        # looked at, their last sign of life, and when that was first seen.
        self._looks: dict[str, tuple[bool, float, int | None, float]] = {}
        self._ended = threading.Event()
        with contextlib.ExitStack() as undo:
            self._database = undo.enter_context(_Database(url))
            self._begin_to_live(undo)
            self.rows = self.news()
            if not self.rows:
                self.rows = [*rows] if self.append(*rows) else self.news()
            self._undo = undo.pop_all()

    def news(self) -> list[Row]:
        """Return the rows that others have added, at first all of them."""
        if os.getpid() != self._pid:
            return []
        found = []
        with guarded(self.path):
            stored = self._database.rows(self._n_rows)
            for row, digest in checked(stored, self._n_rows, self._digest):
                found.append(row)
                self._n_rows, self._digest = self._n_rows + 1, digest
        return found

    def append(self, row: Row) -> bool:
        """Add a row; return False if another driver has added one that is not read."""
        if os.getpid() != self._pid:
            return True
        digest = digest_of(self._digest, self._n_rows, row)
        if not self._database.insert(self._n_rows, *row, digest):
            return False
        self._n_rows, self._digest = self._n_rows + 1, digest
        return True

    def _begin_to_live(self, undo: contextlib.ExitStack) -> None:
        database = self._database
        if database.is_postgresql:
            database.lock(self.driver)
            return
        database.beat(self.driver, 0)

        def beat() -> None:
            number = 0
            while not self._ended.wait(BEAT):
                number += 1
                with contextlib.suppress(OSError):
                    database.beat(self.driver, number)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()

        def end() -> None:
            self._ended.set()
            thread.join()
            with contextlib.suppress(OSError):
                database.beat(self.driver, -1)

        undo.callback(end)

    def is_alive(self, driver: str) -> bool:
        """Return whether another driver is at work."""
        now = time.monotonic()
        alive, looked, beat, since = self._looks.get(driver, (True, -LOOK, None, now))
        if now < looked + LOOK:
            return alive
        if self._database.is_postgresql:
            alive = self._database.is_locked(driver)
        else:
            last = self._database.last_beat(driver)
            since = since if last == beat else now
            beat, alive = last, last >= 0 and now < since + LEASE
        self._looks[driver] = alive, now, beat, since
        return alive

    def close(self) -> None:
        """End the work of this driver; again without effect."""
        if os.getpid() == self._pid:
            self._undo.close()


# -- SQL --------------------------------------------------------------------------


class _Database(contextlib.AbstractContextManager):
    """Connections to the tables of a journal; all errors are OSErrors with advice."""

    def __init__(self, url: str, creates: bool = True) -> None:
        self.name = display_name(url)
        url, table = _split_url(url)
        if not re.fullmatch(r"[A-Za-z_]\w{0,40}", table or TABLE, re.ASCII):
            raise ValueError(
                f"journal: {table!r} is not the name of a table. Use up to 41 letters, "
                "digits and underscores after '#'."
            )
        self._sql = sql = import_optional(
            "sqlalchemy", extra="database", purpose="journal=<URL of a database>"
        )
        integer, key = sql.Integer, {"primary_key": True, "autoincrement": False}
        # Without a length, MySQL would limit texts to 64 kB.
        text = sql.Text().with_variant(sql.Text(2**31 - 1), "mysql", "mariadb")
        meta = sql.MetaData()
        self.table = sql.Table(
            table or TABLE,
            meta,
            sql.Column("place", integer, **key),
            sql.Column("kind", sql.String(16)),
            sql.Column("content", text),
            sql.Column("digest", sql.String(32)),
        )
        self._drivers = sql.Table(
            f"{table or TABLE}_drivers",
            meta,
            sql.Column("driver", sql.String(16), primary_key=True),
            sql.Column("beat", integer),
        )
        self._engine = self._make_engine(url)
        file = self._engine.url.database if self._has_files else None
        if not creates and file is not None and not os.path.exists(file):
            raise FileNotFoundError(f"journal: there is no file {file!r}.")
        with self._advising():
            self._connection = self._engine.connect()
        if creates:
            self._create()
        elif not self._exists(self.table):
            self.__exit__()
            raise FileNotFoundError(
                f"journal: {self.name!r} has no table {self.table.name!r}."
            )

    def _make_engine(self, url: str) -> Any:
        sql, more = self._sql, {}
        try:
            parsed = sql.engine.make_url(url)
            if "@" in (parsed.host or ""):
                raise ValueError("write '@' in a user name or password as '%40'")
            # The extra installs psycopg 3, which is not the default of all releases.
            if parsed.drivername == "postgresql":
                parsed = parsed.set(drivername="postgresql+psycopg")
            self.is_postgresql = parsed.get_backend_name() == "postgresql"
            self._has_files = parsed.get_backend_name() == "sqlite"
            if self._has_files:
                if parsed.database in (None, "", ":memory:"):
                    raise ValueError("a database in memory has one process")
                more["connect_args"] = {"timeout": PATIENCE}
            engine = sql.create_engine(
                parsed,
                isolation_level="AUTOCOMMIT",
                poolclass=sql.pool.NullPool,
                hide_parameters=True,
                **more,
            )
        except ModuleNotFoundError as error:
            raise ImportError(
                f"journal: {self.name!r} needs the module {error.name!r}, which is not "
                'installed. For PostgreSQL, run pip install "skbayes[database]".'
            ) from error
        except (ValueError, sql.exc.ArgumentError) as error:
            raise ValueError(
                f"journal: {self.name!r} is not the URL of a database: {error}. "
                "Examples are 'postgresql://user@host/database#table' and "
                "'sqlite:///folder/file.db'."
            ) from error
        if self._has_files:
            sql.event.listen(engine, "connect", _distrust_schema)
        return engine

    def __exit__(self, *exc_info: object) -> None:
        with contextlib.suppress(self._sql.exc.SQLAlchemyError):
            self._connection.close()
        self._engine.dispose()

    @contextlib.contextmanager
    def _advising(self) -> Iterator[None]:
        try:
            yield
        except self._sql.exc.SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip(" ?.\n")
            raise OSError(
                f"journal: {self.name!r} cannot be used: {reason}. The trials in it "
                "are kept. The rights that a driver needs are in the documentation, "
                "under 'Several drivers'."
            ) from getattr(error, "orig", None)

    def _run(self, statement: Any, connection: Any = None) -> list[tuple]:
        with self._advising():
            result = (connection or self._connection).execute(statement)
            return [tuple(row) for row in result] if result.returns_rows else []

    def _exists(self, table: Any) -> bool:
        with self._advising():
            return bool(self._sql.inspect(self._connection).has_table(table.name))

    def _create(self) -> None:
        """Create the tables that do not exist."""
        tables = [self.table] if self.is_postgresql else [self.table, self._drivers]
        for table in tables:
            try:
                with self._advising():
                    table.create(self._connection, checkfirst=True)
            except OSError:
                # Another driver may have created it in the meantime.
                if not self._exists(table):
                    self.__exit__()
                    raise

    def rows(self, first: int) -> list[tuple]:
        """Return the rows from a place on."""
        columns, place = self.table.c, self.table.c.place
        statement = self._sql.select(*columns).where(place >= first).order_by(place)
        return self._run(statement)

    def insert(self, *values: Any) -> bool:
        """Insert a row; return False if there is one in its place."""
        with self._advising():
            try:
                self._connection.execute(self.table.insert().values(values))
            except self._sql.exc.IntegrityError:
                if not self.rows(values[0]):
                    raise
                return False
        return True

    # -- signs of life ----------------------------------------------------------------

    def lock(self, driver: str) -> None:
        """Hold the lock of a driver while the connection is open."""
        for name, number in KEEPALIVES.items():
            self._run(self._sql.text(f"SET tcp_keepalives_{name} = {number}"))
        self._run(self._sql.text(f"SELECT pg_advisory_lock({self._key(driver)})"))

    def is_locked(self, driver: str) -> bool:
        """Return whether the connection of a driver is open."""
        key = self._key(driver)
        statement = f"SELECT CASE WHEN pg_try_advisory_lock({key}) THEN "
        statement += f"pg_advisory_unlock({key}) ELSE false END"
        return self._run(self._sql.text(statement)) == [(False,)]

    def _key(self, driver: str) -> int:
        text = f"{self.table.name} {driver}".encode()
        digest = hashlib.blake2b(text, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def beat(self, driver: str, number: int) -> None:
        """Store a sign of life, in a separate connection; the first one is 0."""
        table = self._drivers
        if number == 0:
            statement = table.insert().values(driver=driver, beat=0)
        else:
            mine = table.c.driver == driver
            statement = table.update().where(mine).values(beat=number)
        with self._advising(), self._engine.connect() as connection:
            self._run(statement, connection)

    def last_beat(self, driver: str) -> int:
        """Return the last sign of life of a driver; -1 if its work has ended."""
        table = self._drivers
        mine = table.c.driver == driver
        found = self._run(self._sql.select(table.c.beat).where(mine))
        return found[0][0] if found else -1


def _distrust_schema(connection: Any, record: Any) -> None:
    """Prevent SQLite from running functions that a schema names."""
    connection.execute("PRAGMA trusted_schema=OFF")
