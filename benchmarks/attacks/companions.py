"""Hostile files next to a journal, invalid journal names, and copies of journals.

    python benchmarks/attacks/companions.py --when after

Four readers are tested: `fit` (which opens the journal for writing), `load_history`, a
warm start, and a report. An attack passes if the reader raises a ValueError that names
the journal within two seconds, and if no file is changed, created or removed. The copy
of the journal file of a killed search passes if all of its trials are read. Each attack
runs in a separate process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import struct
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "helpers")]

from journal_samples import SPACE, open_journal, record  # noqa: E402
from tally import save  # noqa: E402

from skbayes import load_history  # noqa: E402
from skbayes.inspection import read_record  # noqa: E402
from skbayes.journal.reader import read_trials  # noqa: E402

MAGIC = bytes.fromhex("d9d505f920a163d7")
SECONDS = 2.0
N_TRIALS = 40


def fit(path: Any) -> None:
    """Open a journal as a search does."""
    open_journal(path).close()


READERS: dict[str, Callable] = {
    "fit": fit,
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


def in_time(function: Callable[[], bool]) -> bool:
    """Run a function in a child process that is killed after a time limit."""
    child = os.fork()
    if not child:
        code = 1
        with contextlib.suppress(BaseException), open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 2)
            code = 0 if function() else 1
        os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def is_refused(read: Callable, path: Any) -> bool:
    """Return whether a reader raises a ValueError that names the journal."""
    try:
        read(path)
    except ValueError as error:
        return "journal: " in str(error) and repr(os.fspath(path))[:40] in str(error)
    return False


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


def lone_copy(folder: str, n_trials: int) -> int:
    """Return the number of trials read from a copy of a killed search's journal."""
    path = os.path.join(folder, "killed")
    child = os.fork()
    if not child:
        journal = open_journal(path)
        record(journal, range(n_trials))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    copy = os.path.join(folder, "copy")
    shutil.copyfile(path, copy)
    return int((load_history(copy)["state"] == "complete").sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--when", choices=["before", "after"], required=True)
    when = parser.parse_args().when
    counts: dict[str, dict[str, float]] = defaultdict(lambda: {"tried": 0, "held": 0})

    def count(category: str, held: bool) -> None:
        counts[category]["tried"] += 1
        counts[category]["held"] += held

    victims = 0
    with tempfile.TemporaryDirectory() as top:
        good = os.path.join(top, "good")
        with open_journal(good) as journal:
            record(journal, range(3))
        spare = os.path.join(top, "spare")
        os.mkdir(spare)
        n_attacks = sum(1 for _ in attacks(spare))
        for number in range(n_attacks):
            for name, read in READERS.items():
                folder = os.path.join(top, f"{number} {name}")
                os.mkdir(folder)
                path = os.path.join(folder, "journal")
                shutil.copyfile(good, path)
                Path(folder, "thesis").write_text("a life's work")
                category, make = list(attacks(folder))[number]
                if "fit only" in category and name != "fit":
                    continue
                make(path)
                before = state(folder)
                refused = in_time(partial(is_refused, read, path))
                count(category, refused and state(folder) == before)
                victims += not os.path.exists(os.path.join(folder, "thesis"))
        folder = os.path.join(top, "names")
        os.mkdir(folder)
        for category, path in odd_names(folder):
            for read in READERS.values():
                before = state(folder)
                refused = in_time(partial(is_refused, read, path))
                count(category, refused and state(folder) == before)
        for n_trials in (1, 5, 10, N_TRIALS):
            folder = os.path.join(top, f"copy {n_trials}")
            os.mkdir(folder)
            n_read = lone_copy(folder, n_trials)
            counts["trials in a copy of the one file after a kill"]["tried"] += n_trials
            counts["trials in a copy of the one file after a kill"]["held"] += n_read
    counts["super-journal beside a journal"]["victims deleted"] = victims
    save("companions", when, counts)


if __name__ == "__main__":
    main()
