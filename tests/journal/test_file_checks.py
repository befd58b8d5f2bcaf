"""Invalid names of journals, files next to a journal, and processes that fork."""

import contextlib
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import journal_neighbors
import pytest
from journal_samples import (
    SPACE,
    fork,
    in_child,
    open_journal,
    params_of,
    record,
    trial_of,
)
from sklearn.dummy import DummyClassifier

from skbayes import BayesSearchCV
from skbayes.journal import file as journal_file
from skbayes.journal.lock import ROLLBACK_MAGIC
from skbayes.journal.reader import load_history, read_trials

pytest.importorskip("fcntl", reason="FIFOs, devices and locks of POSIX")


# Warm starts and reports read a journal as `load_history` does.
READERS = {"fit": lambda path: open_journal(path).close(), "load_history": load_history}

every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def assert_refused(read, path, match):
    """Check that a journal is refused and that no file next to it changes."""
    folder = path.parent
    before = {p: p.lstat().st_size for p in folder.iterdir()}
    with pytest.raises(ValueError, match=match) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert {p: p.lstat().st_size for p in folder.iterdir()} == before


# What the error says, by category of the attacks.
BESIDE = {
    "super-journal beside a journal": "is not opened, .*-journal",
    "super-journal beside a lock (fit only)": "is not opened, .*-lock",
    "write-ahead log of others": "is not opened, .*-(wal|shm)",
    "text beside a journal": "is not opened, .*-journal",
    "FIFOs, folders, sockets beside a journal": "is not opened, .*-(journal|wal|shm)",
    "FIFOs, folders, sockets as a lock (fit only)": "is not opened, .*-lock",
    "links as a lock (fit only)": "is not opened, .*-lock",
}
NAMES = {
    "FIFOs, folders, sockets by name": "is a (FIFO|folder|socket), not a regular file",
    "devices": "is a .*, not a regular file",
    "NULs and lone surrogates": "is not a path: (embedded null|.*surrogate)",
    "too long": "too long",
    "links to themselves": "is not a path: .*symbolic links",
}


def test_what_lies_beside_a_journal_is_refused_and_deletes_no_file(written, tmp_path):
    found = set()
    victim = tmp_path / "thesis"
    victim.write_text("a life's work")
    for category, plant in journal_neighbors.attacks(str(tmp_path)):
        path = tmp_path / "beside" / "search.journal"
        path.parent.mkdir()
        shutil.copyfile(written, path)
        plant(str(path))
        assert_refused(READERS["fit"], path, f"journal: .* {BESIDE[category]}")
        if "fit only" in category:
            assert len(load_history(path)) == 3
        else:
            assert_refused(load_history, path, f"journal: .* {BESIDE[category]}")
        assert victim.read_text() == "a life's work"
        shutil.rmtree(path.parent)
        found.add(category)
    assert found == BESIDE.keys()


@every_reader
def test_names_of_other_things_are_refused(read, tmp_path):
    attacks = list(journal_neighbors.odd_names(str(tmp_path)))
    assert {category for category, _ in attacks} == NAMES.keys()
    before = sorted(os.listdir(tmp_path))
    for category, path in attacks:
        with pytest.raises(ValueError, match=f"journal: .* {NAMES[category]}"):
            read(path)
    assert sorted(os.listdir(tmp_path)) == before


@every_reader
def test_rollback_journals_and_headers_of_others_are_refused(read, written, tmp_path):
    victim = tmp_path / "thesis"
    victim.write_text("a life's work")
    beside = tmp_path / "search.journal-journal"
    # As long as it begins so, SQLite only writes into it.
    content = journal_neighbors.super_journal(victim, os.path.getsize(written) // 4096)
    beside.write_bytes(bytes(512) + content[512:])
    assert_refused(read, written, "journal: .* is not opened, .*search.journal-journal")
    assert victim.read_text() == "a life's work"
    beside.unlink()
    # SQLite would read and create further files next to it.
    with contextlib.closing(sqlite3.connect(written)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    assert_refused(read, written, "journal: .* does not write such a header")


def test_a_file_with_two_names_is_not_written(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    open_journal(first).close()
    second.hardlink_to(first)
    for path in (first, second):
        with pytest.raises(ValueError, match=r"has 2 names \(hard links\)"):
            open_journal(path)
    first.unlink()
    open_journal(second).close()


def test_names_that_only_look_odd(tmp_path):
    for name in ("a b?mode=ro#c%41", "é中", os.fsdecode(b"\xff"), "a" * 240):
        with open_journal(tmp_path / name) as journal:
            record(journal, range(2))
        assert len(load_history(os.fsencode(tmp_path / name))) == 2


class NeverFitted(DummyClassifier):
    def fit(self, X, y):
        raise AssertionError


@pytest.mark.parametrize("name", ["journal", "warm_start_from"])
def test_a_search_refuses_before_any_fit(name, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    search = BayesSearchCV(NeverFitted(), {"constant": [0, 1]}, n_iter=2, cv=2)
    search.set_params(error_score="raise", **{name: fifo})
    with pytest.raises(ValueError, match="journal: .* is a FIFO"):
        search.fit([[0], [1]] * 4, [0, 1] * 4)


@every_reader
@pytest.mark.parametrize("content", [b"", bytes(512), ROLLBACK_MAGIC[:5] + bytes(99)])
def test_a_rollback_journal_that_was_just_begun_does_no_harm(read, content, written):
    written.with_name(f"{written.name}-journal").write_bytes(content)
    read(written)
    with open_journal(written) as journal:
        assert len(journal.results) == 3
        record(journal, [3])
    assert os.listdir(written.parent) == [written.name]


def tear(path):
    """Kill this process in a commit, when a part of its pages is written."""
    journal = open_journal(path)
    record(journal, range(3))
    before = path.read_bytes()
    execute = journal._store._execute
    execute("PRAGMA cache_size=1")
    execute("PRAGMA cache_spill=ON")
    execute("BEGIN")
    for number in range(3, 300):
        execute(
            "INSERT INTO journal SELECT ?, kind, content, digest FROM journal "
            "WHERE place = 1",
            (number + 99,),
        )
    assert path.read_bytes() != before
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def torn(path):
    """Return a journal whose writer was killed in a commit."""
    assert in_child(tear, path) == -signal.SIGKILL
    assert os.path.getsize(f"{path}-journal")
    return path


@fork
def test_a_commit_that_was_killed_is_undone(torn):
    before = {p: p.read_bytes() for p in torn.parent.iterdir()}
    for _ in range(2):
        assert load_history(torn)["state"].tolist() == ["complete"] * 3
        assert len(read_trials(torn, SPACE)[0]) == 3
    # Readers change nothing.
    assert {p: p.read_bytes() for p in torn.parent.iterdir()} == before
    with open_journal(torn) as journal:
        assert len(journal.results) == len(journal.proposals) == 3
        record(journal, [3])
    assert os.listdir(torn.parent) == [torn.name]
    assert len(load_history(torn)) == 4


def test_a_program_that_keeps_the_file_open_is_named(path, monkeypatch):
    monkeypatch.setattr(journal_file, "PATIENCE", 0.1)
    with (
        open_journal(path) as journal,
        contextlib.closing(sqlite3.connect(path)) as other,
    ):
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM journal").fetchall()
        with pytest.raises(OSError, match="another program has kept it open") as caught:
            record(journal, [0])
        other.execute("ROLLBACK")
        record(journal, [0])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("gone", [os.unlink, lambda path: path.rename(f"{path}2")])
def test_a_journal_that_was_moved_is_not_written_silently(path, gone):
    with open_journal(path) as journal:
        record(journal, range(2))
        gone(path)
        with pytest.raises(OSError, match="journal: .* was moved or removed"):
            record(journal, [2])
    assert not path.exists()
    for one in path.parent.iterdir():
        assert len(load_history(one)) == 2


def test_a_journal_without_locks_can_be_read(written, monkeypatch):
    """On a file system without locks, every lock fails."""
    plain = journal_file.connect

    def connect(path, mode, *args):
        if mode == "ro":
            raise sqlite3.OperationalError("disk I/O error")
        return plain(path, mode, *args)

    monkeypatch.setattr(journal_file, "connect", connect)
    assert len(load_history(written)) == 3


@fork
def test_reading_in_the_process_of_the_search_keeps_its_locks(path):
    with open_journal(path) as journal:
        record(journal, range(2))
        journal._store._execute("BEGIN IMMEDIATE")
        assert len(load_history(path)) == 2
        # A child of the writer has its locks in memory, unlike another process.
        program = (
            f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0); "
            "c.execute('BEGIN IMMEDIATE')"
        )
        command = [sys.executable, "-IS", "-c", program]
        outcome = subprocess.run(command, capture_output=True, text=True)
        assert "database is locked" in outcome.stderr
        journal._store._execute("ROLLBACK")


def go_on(journal, way):
    """Use the journal of the parent process."""
    record(journal, range(3, 6))
    if way == "raise":
        raise ZeroDivisionError
    if way == "close":
        journal.close()
    del journal
    gc.collect()


@fork
def test_a_forked_child_leaves_the_journal_to_its_parent(path):
    with open_journal(path) as journal:
        record(journal, range(3))
        for way in ("raise", "end", "close"):
            assert in_child(go_on, journal, way) == (way == "raise")
            assert os.path.exists(f"{path}-lock")
            assert len(load_history(path)) == 3
        record(journal, [3])
    assert os.listdir(path.parent) == [path.name]
    with open_journal(path) as journal:
        assert journal.proposals == [params_of(number) for number in range(4)]
        assert journal.results[3] == trial_of(3)
