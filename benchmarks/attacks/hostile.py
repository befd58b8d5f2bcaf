"""Hostile journals: values, rows, tables and bytes that no search writes.

    python benchmarks/attacks/hostile.py before|after [--cases 100000]

Journals are changed in one to three places, and checksums are recomputed. Each changed
journal is then read in one of four ways: by a continued search, by `load_history`, by a
warm start, or by a report. Some are also continued by a search. An attack passes if the
journal is read, or refused by a ValueError that names it, within 1 s of processor time
and 200 MB of memory. A search may take 3 s.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import os
import random
import signal
import sqlite3
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tally
from sklearn.dummy import DummyRegressor

from skbayes import BayesSearchCV, load_history
from skbayes.inspection import read_record
from skbayes.journal.file import digest_of
from skbayes.journal.journal import Journal
from skbayes.journal.reader import read_trials
from skbayes.space import Choice, Space

MAX_SECONDS, MAX_MEGABYTES, GIVE_UP = 1.0, 200, 20

X, y = np.arange(24.0).reshape(12, 2), np.arange(12.0)

NOTATION = {
    "constant": (1.0, 100.0, "log-uniform"),
    "strategy": Choice({"quantile": {"quantile": [0.1, 0.5, 1.0]}, "constant": {}}),
}
SPACE = Space.from_notation(NOTATION)


def scores(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    return {"a": float(estimator.quantile or 0), "b": 1.0 / estimator.constant}


def search(path: str | None, kind: int, n_iter: int) -> BayesSearchCV:
    more: dict[str, Any] = {"initial_points": 2}
    if kind:
        more = {"scoring": scores, "refit": "a", "return_train_score": True}
        more |= {"surrogate": "random"}
    return BayesSearchCV(
        DummyRegressor(),
        NOTATION,
        n_iter=n_iter,
        cv=2,
        journal=path,
        random_state=0,
        **more,
    )


def base_journals(folder: str) -> list[bytes]:
    """Return two journals as files, with one metric and with two."""
    files = []
    for kind in (0, 1):
        path = os.path.join(folder, f"base{kind}.journal")
        search(path, kind, 5).fit(X, y)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            # An unfinished trial.
            connection.execute(
                "DELETE FROM journal WHERE kind = 'result' AND content LIKE ?",
                ('{"number": 4,%',),
            )
            seal(connection)
            connection.commit()
            files.append(connection.serialize())
    return files


def seal(connection: sqlite3.Connection) -> None:
    """Assign places without gaps, and recompute the checksums."""
    rows = connection.execute(
        "SELECT kind, content FROM journal ORDER BY place"
    ).fetchall()
    connection.execute("DELETE FROM journal")
    digest = ""
    for place, row in enumerate(rows):
        if all(type(value) is str for value in row):
            digest = digest_of(digest, place, row)
        connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, ?)", (place, *row, digest)
        )


# -- changes ----------------------------------------------------------------------


def blobs() -> list[str]:
    """Return texts in the place of a compressed split of 6 of 12 rows."""
    objects = io.BytesIO()
    np.save(objects, np.array([print], dtype=object), allow_pickle=True)
    steps = [
        bytes(47),
        bytes(48),
        b"\xff" * 48,
        b"\x7f" * 48,
        bytes(2**26),
        bytes(2**28),
        np.ones(2**19, "<i8").tobytes(),
        zlib.compress(bytes(2**22)),
        objects.getvalue(),
        b"",
    ]
    packed = [zlib.compress(data) for data in steps]
    packed += [packed[1][:-4], packed[1] + b"more", b"x", b""]
    texts = [base64.b85encode(data).decode() for data in packed]
    return [*texts, "!", "\u00e9", " ", "x" * 10**6, "~" * 5]


BLOBS = blobs()

HOSTILE: list[Callable[[random.Random], Any]] = [
    lambda r: r.choice([None, True, False, 0, 1, -1, 2, 0.5, 1e308, -1e308, 1e-320]),
    lambda r: r.choice([float("nan"), float("inf"), -float("inf"), -0.0]),
    lambda r: r.choice([2**31, 2**53, 2**63 - 1, -(2**63), 10**9, 10**12]),
    lambda r: r.choice(
        ["", "x", "score", "\0", "\n", "é" * 9, "$x_$", "<b>", "%s", "None"]
    ),
    lambda r: "x" * r.choice([100, 1000, 10**5]),
    lambda r: r.choice(["complete", "failed", "pruned", "timed_out", "Real", "Choice"]),
    lambda r: r.choice(["seed", "stage 1", "stage x", "run 0", "facts", "n_points"]),
]

# JSON values for which SQLite has no type.
NESTED: list[Callable[[random.Random], Any]] = [
    lambda r: r.choice(
        [[], {}, [[]], [{}], {"": {}}, [None], {"x": None}, [1, 2], "[]"]
    ),
    lambda r: 10 ** r.choice([20, 100, 400, 4000]),
    lambda r: [0] * r.choice([10, 1000, 10**4]),
    lambda r: {str(i): i for i in range(r.choice([10, 1000, 5000]))},
    lambda r: nested(r.choice([10, 60, 500])),
    lambda r: {"column": r.choice([-1, 0, 1, 99]), "option": r.choice([-1, 0, 9, 1.0])},
    lambda r: {"column": 0, "position": r.choice([-1, 2, 0.5, "0.5"]), "value": 3},
    lambda r: {"value": r.choice([1, "x", [1], None, {}, 10**30])},
    lambda r: {"name": "x", "kind": "Real", "low": 1, "high": r.choice([0, 10**400])},
]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if depth % 2 else {"a": value}
    return value


def change_json(text: str, rng: random.Random) -> str:
    """Change one element of a JSON text."""
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(
            ["", "null", "[]", "{}", "1", "NaN", "[" * 10**5, '{"a":' * 999]
        )
    if kind < 0.1:
        start = rng.randrange(len(text))
        return (
            text[:start]
            + rng.choice(["", "\x00", '"', "}", "9" * 5000])
            + text[start + 1 :]
        )
    try:
        value = json.loads(text)
        places = list(inside(value))
    except (ValueError, TypeError, RecursionError):  # already changed
        return text
    if not places:
        return text
    holder, key = rng.choice(places)
    new = rng.choice(HOSTILE + NESTED)(rng)
    splits = value.get("splits") if isinstance(value, dict) else None
    if isinstance(splits, list) and splits and rng.random() < 0.3:
        # The other places in the header are many more.
        holder = splits[0] if isinstance(splits[0], list) and splits[0] else splits
        key, new = 0, rng.choice([*BLOBS, new])
    action = rng.random()
    if action < 0.7:
        holder[key] = new
    elif action < 0.85:
        del holder[key]
    elif isinstance(holder, dict):
        name = rng.choice(["x", "", "score", "a", "column", "text", "import", key])
        holder[f"{name}{rng.choice(['', '2'])}"] = new
    else:
        holder += [holder[key]] * rng.choice([1, 2, 1000])
    return json.dumps(value)


def inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each list or dict in a value, with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items)[:1000]:
        yield value, key
        if isinstance(item, list | dict):
            yield from inside(item)


def change_row(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Change, remove or repeat one row."""
    rows = connection.execute("SELECT * FROM journal").fetchall()
    if not rows:
        return
    # Every third change is one of the header.
    row = rng.choice([rows[0]] * (len(rows) // 2) + rows)
    action = rng.random()
    if action < 0.04:
        connection.execute("DELETE FROM journal WHERE place IS ?", row[:1])
    elif action < 0.08:
        place = rng.choice([99, 2**62, -1])
        kind = rng.choice([row[1], "search", "stage", "result", "x", ""])
        connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, ?)", (place, kind, *row[2:])
        )
    else:
        column, value = "content", row[2]
        if action < 0.15:
            column = rng.choice(["place", "kind", "content"])
            value = rng.choice(HOSTILE)(rng)
            if rng.random() < 0.2:
                value = rng.choice(BLOBS).encode()
        elif isinstance(value, str) and value:
            value = change_json(value, rng)
        connection.execute(
            f"UPDATE journal SET {column} = ? WHERE place IS ?", (value, row[0])
        )


def change_tables(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Change the schema, or make the tables large."""
    statements = [
        "DROP TABLE journal",
        "DELETE FROM journal",
        "ALTER TABLE journal ADD COLUMN more",
        "ALTER TABLE journal RENAME TO other",
        "CREATE TABLE more AS SELECT * FROM journal",
        "CREATE INDEX i ON journal (abs(1))",
        "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM journal; END",
        "CREATE VIEW v AS SELECT * FROM journal",
        "DROP TABLE journal; CREATE VIEW journal AS WITH RECURSIVE n(i) AS (SELECT 1 "
        "UNION ALL SELECT i + 1 FROM n) SELECT i AS place, 'result' AS kind, "
        "'{}' AS content, '' AS digest FROM n",
        "PRAGMA user_version = 4",
        "PRAGMA user_version = 2147483647",
        "PRAGMA application_id = 0",
        "PRAGMA encoding = 'UTF-16'",
        "CREATE TABLE big (x); INSERT INTO big VALUES (zeroblob(3000000))",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 1",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = NULL",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2000000",
        f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = '{'x' * 9999}'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view'",
    ]
    connection.executescript(rng.choice(statements))


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change bytes of the file, most often in a file header or page header."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        page = rng.randrange(len(data) // 4096) * 4096
        start = rng.choice([rng.randrange(100), page + rng.randrange(20)])
        start = rng.choice([start, rng.randrange(len(data))])
        new = rng.choice([b"\0", b"\xff", b"\x7f\xff\xff\xff", rng.randbytes(4)])
        changed[start : start + len(new)] = new
    return bytes(changed[: len(data)])


def hostile_journal(files: list[bytes], rng: random.Random) -> tuple[str, int, bytes]:
    """Return the category of an attack, the changed journal, and the file."""
    kind = rng.randrange(len(files))
    category = rng.choices(["values", "tables", "bytes"], [85, 5, 10])[0]
    if category == "bytes":
        return category, kind, change_bytes(files[kind], rng)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(files[kind])
        with contextlib.suppress(sqlite3.Error):
            if category == "tables":
                change_tables(connection, rng)
            else:
                for _ in range(rng.choice([1, 1, 2, 3])):
                    change_row(connection, rng)
                if rng.random() < 0.95:
                    seal(connection)
        with contextlib.suppress(sqlite3.Error):
            connection.commit()
        return category, kind, connection.serialize()


# -- readers ----------------------------------------------------------------------


def read_as_search(path: str, kind: int) -> None:
    halves = np.split(np.arange(12), 2)
    with Journal(
        path,
        space=SPACE,
        identity=identity(kind),
        seed=None,
        n_points=None,
        splits=[(halves[1], halves[0]), (halves[0], halves[1])],
        n_samples=12,
    ):
        pass


@functools.cache
def identity(kind: int) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        search(path, kind, 1).fit(X, y)
        return load_history(path).attrs["identity"]


READERS: dict[str, Callable[[str, int], Any]] = {
    "fit": read_as_search,
    "load_history": lambda path, kind: load_history(path),
    "warm start": lambda path, kind: read_trials(path, SPACE),
    "report": lambda path, kind: read_record(path),
    "whole search": lambda path, kind: search(path, kind, 6).fit(X, y),
}


def outcome(path: str, reader: str, kind: int) -> str:
    """Return "read", "refused", or a description of the failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            READERS[reader](path, kind)
    except Exception as error:
        if isinstance(error, ValueError) and os.path.basename(path) in str(error):
            return "refused"
        return f"{reader}: {type(error).__name__}: {error}"[:150]
    return "read"


def _memory(name: str) -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) / 1024


def _gave_up(*_: object) -> None:
    raise TimeoutError(f"more than {GIVE_UP} s")


def check(file: bytes, reader: str, kind: int) -> tally.Figures:
    """Read a changed journal, and check the time and the memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile.journal")
        Path(path).write_bytes(file)
        Path("/proc/self/clear_refs").write_text("5")
        # Processor time excludes the time of other programs.
        before, start = _memory("VmRSS"), time.process_time()
        signal.alarm(GIVE_UP)
        result = outcome(path, reader, kind)
        signal.alarm(0)
        seconds, megabytes = time.process_time() - start, _memory("VmHWM") - before
    limit = MAX_SECONDS * (3 if reader == "whole search" else 1)
    if result not in ("read", "refused"):
        raise RuntimeError(result)
    if seconds > limit or megabytes > MAX_MEGABYTES:
        raise RuntimeError(f"{reader}: {seconds:.1f} s, {megabytes:.0f} MB")
    is_read = int(result == "read")
    return {"held": 1, "read": is_read, "longest_s": seconds, "most_mb": megabytes}


def cases(n_cases: int, seed: int) -> Iterator[tuple]:
    signal.signal(signal.SIGALRM, _gave_up)
    with tempfile.TemporaryDirectory() as folder:
        files = base_journals(folder)
    for reader in READERS:
        yield f"unchanged, {reader}", check, files[0], reader, 0
    for case in range(n_cases):
        category, kind, file = hostile_journal(files, random.Random(f"{seed} {case}"))
        # Running a search takes as long as reading a hundred journals.
        reader = "whole search" if case % 100 == 0 else [*READERS][case % 4]
        yield f"{category}, {reader}", check, file, reader, kind


if __name__ == "__main__":
    tally.main(cases, n_cases=100_000)
