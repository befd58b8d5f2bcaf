"""Hostile files next to a journal, invalid journal names, and copies of journals.

    python benchmarks/attacks/companions.py before|after

Four readers are tested: `fit` (which opens the journal for writing), `load_history`, a
warm start, and a report. An attack passes if the reader raises a ValueError that names
the journal within two seconds, and if no file is changed, created or removed. The copy
of the journal file of a killed search passes if all of its trials are read. Each attack
runs in a separate process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tally
from journal_samples import SPACE, in_child, open_journal, record

from skbayes import load_history
from skbayes.inspection import read_record
from skbayes.journal.reader import read_trials

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECONDS = 2.0


READERS: dict[str, Callable] = {
    "fit": lambda path: open_journal(path).close(),
    "load_history": load_history,
    "warm start": lambda path: read_trials(path, SPACE),
    "report": read_record,
}


def super_journal(
    victim: str, n_pages: int, sector: int = 512, records: int = 0
) -> bytes:
    """Return a rollback journal that makes SQLite delete the victim file."""
    name = os.fsencode(victim)
    numbers = (records, 1, n_pages, sector, 4096)
    header = struct.pack(">8s5I", MAGIC, *numbers).ljust(sector, b"\0")
    end = struct.pack(">2I", len(name), sum(name)) + MAGIC
    return header + struct.pack(">I", 2**30 // 4096 + 1) + name + end


def bound_socket(path: str) -> None:
    """Create a Unix socket, whose path has to be short."""
    folder = os.getcwd()
    os.chdir(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.basename(path))
    os.chdir(folder)


def state(folder: str) -> dict[str, Any]:
    """Return the names and contents of the files in a folder."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        kind = path.lstat().st_mode
        found[str(path)] = kind, path.read_bytes() if path.is_file() else b""
    return found


def read_refused(reader: str, path: str) -> None:
    """Let a reader raise an error that names the journal, or end this process."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        READERS[reader](path)
    except ValueError as error:
        if "journal: " in str(error) and repr(path)[:40] in str(error):
            return
    os._exit(1)


def is_refused(reader: str, path: str, folder: str) -> bool:
    """Return whether a reader refuses a journal in time and without other changes."""
    before = state(folder)
    return in_child(read_refused, reader, path) == 0 and state(folder) == before


def attacks(folder: str) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield categories, and functions that plant an attack next to a journal."""
    victim = os.path.join(folder, "thesis")

    def plant(suffix: str, content: bytes, link: bool = False) -> Callable:
        def make(path: str) -> None:
            place = path + suffix
            if link:
                os.symlink(folder + "/elsewhere", place)
                place = folder + "/elsewhere"
            Path(place).write_bytes(content)

        return make

    for sector in (512, 4096):
        for records in (0, 2**32 - 1):
            for n_pages in (1, 9, 100):
                for link in (False, True):
                    content = super_journal(victim, n_pages, sector, records)
                    yield (
                        "super-journal beside a journal",
                        plant("-journal", content, link),
                    )

    def beside_lock(lock: bytes | None, n_pages: int) -> Callable:
        def make(path: str) -> None:
            if lock is not None:
                Path(path + "-lock").write_bytes(lock)
            plant("-lock-journal", super_journal(victim, n_pages))(path)

        return make

    database = Path(folder, "database")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    for lock in (None, b"", database.read_bytes(), b"text"):
        for n_pages in (1, 2):
            yield "super-journal beside a lock (fit only)", beside_lock(lock, n_pages)

    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE more (x)")
        log = Path(f"{database}-wal").read_bytes()
        index = Path(f"{database}-shm").read_bytes()
    for content in (log, log[:32], b"text", b""):
        yield "write-ahead log of others", plant("-wal", content)
        yield "write-ahead log of others", plant("-wal", content, link=True)
    for content in (index, b"text", b""):
        yield "write-ahead log of others", plant("-shm", content)
    yield "text beside a journal", plant("-journal", b"notes on the search")
    yield "text beside a journal", plant("-journal", b"\n" * 5000)
    for suffix in ("-journal", "-wal", "-shm"):
        for special in (os.mkfifo, os.mkdir, bound_socket):
            yield (
                "FIFOs, folders, sockets beside a journal",
                lambda path, one=special, suffix=suffix: one(path + suffix),
            )
    for special in (os.mkfifo, os.mkdir, bound_socket):
        yield (
            "FIFOs, folders, sockets as a lock (fit only)",
            lambda path, one=special: one(path + "-lock"),
        )
    for target in ("missing", "thesis"):
        yield (
            "links as a lock (fit only)",
            lambda path, to=target: os.symlink(f"{folder}/{to}", path + "-lock"),
        )


def odd_names(folder: str) -> Iterator[tuple[str, Any]]:
    """Yield categories, and names that are not regular files."""
    for name, make in (("fifo", os.mkfifo), ("dir", os.mkdir), ("sock", bound_socket)):
        make(os.path.join(folder, name))
        os.symlink(os.path.join(folder, name), os.path.join(folder, f"to {name}"))
        yield "FIFOs, folders, sockets by name", os.path.join(folder, name)
        yield "FIFOs, folders, sockets by name", os.path.join(folder, f"to {name}")
    for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/tty"):
        yield "devices", device
    for name in ("a\0b", "\0", "journal\0", "\ud800"):
        yield "NULs and lone surrogates", os.path.join(folder, name)
    for name in ("a" * 248, "a" * 256, "a" * 5000, "/".join("a" * 9) * 300, "é" * 125):
        yield "too long", os.path.join(folder, name)
    os.symlink(os.path.join(folder, "round"), os.path.join(folder, "round"))
    yield "links to themselves", os.path.join(folder, "round")


def is_refused_beside(number: int, reader: str, good: bytes) -> tally.Figures:
    """Plant an attack next to a journal, and read the journal."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        Path(path).write_bytes(good)
        Path(folder, "thesis").write_text("a life's work")
        _, plant = list(attacks(folder))[number]
        plant(path)
        held = is_refused(reader, path, folder)
        deleted = not os.path.exists(os.path.join(folder, "thesis"))
    return {"held": int(held), "victims deleted": int(deleted)}


def write_and_die(path: str, n_trials: int) -> None:
    record(open_journal(path), range(n_trials))
    os.kill(os.getpid(), signal.SIGKILL)


def read_from_copy(n_trials: int) -> tally.Figures:
    """Count the trials that are read from a copy of a killed search's journal."""
    with tempfile.TemporaryDirectory() as folder:
        path, copy = os.path.join(folder, "killed"), os.path.join(folder, "copy")
        in_child(write_and_die, path, n_trials)
        shutil.copyfile(path, copy)
        n_read = int((load_history(copy)["state"] == "complete").sum())
    return {"tried": n_trials, "held": n_read}


def cases() -> Iterator[tuple]:
    with tempfile.TemporaryDirectory() as folder:
        with open_journal(f"{folder}/good") as journal:
            record(journal, range(3))
        good = Path(folder, "good").read_bytes()
        categories = [category for category, _ in attacks(folder)]
    for number, category in enumerate(categories):
        for reader in ("fit",) if "fit only" in category else READERS:
            yield category, is_refused_beside, number, reader, good
    with tempfile.TemporaryDirectory() as folder:
        for category, path in odd_names(folder):
            for reader in READERS:
                yield category, is_refused, reader, path, folder
    for n_trials in (1, 5, 10, 40):
        category = "trials in a copy of the one file after a kill"
        yield category, read_from_copy, n_trials


if __name__ == "__main__":
    tally.main(cases)
