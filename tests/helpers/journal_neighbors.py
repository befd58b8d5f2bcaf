"""Hostile files next to a journal, and names that are not regular files."""

import contextlib
import os
import socket
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from skbayes.journal.lock import ROLLBACK_MAGIC


def super_journal(
    victim: str, n_pages: int, sector: int = 512, records: int = 0
) -> bytes:
    """Return a rollback journal that makes SQLite delete the victim file."""
    name = os.fsencode(victim)
    numbers = (records, 1, n_pages, sector, 4096)
    header = struct.pack(">8s5I", ROLLBACK_MAGIC, *numbers).ljust(sector, b"\0")
    end = struct.pack(">2I", len(name), sum(name)) + ROLLBACK_MAGIC
    return header + struct.pack(">I", 2**30 // 4096 + 1) + name + end


def bound_socket(path: str) -> None:
    """Create a Unix socket, whose path has to be short."""
    folder = os.getcwd()
    os.chdir(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.basename(path))
    os.chdir(folder)


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
