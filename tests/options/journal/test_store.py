"""File of rows: durability, locks, damage, and refused files."""

import contextlib
import gc
import os
import shutil
import signal
import sqlite3
import stat
import tempfile
import time
from pathlib import Path

import pytest
from attacks import flips
from journal_samples import (
    exact,
    execute,
    fork,
    in_child,
    open_journal,
    params_of,
    record,
    seal,
    trial_of,
)

from skbayes.options.journal import store as journal_store
from skbayes.options.journal.journal import Content
from skbayes.options.journal.reader import load_history
from skbayes.options.journal.store import is_held
from skbayes.results.read import read_trials


def files_beside(path):
    names = sorted(os.listdir(path.parent))
    return [name.removeprefix(path.name) for name in names if name != path.name]


def assert_refused(path, match):
    """Check that neither the journal nor loading it changes the file."""
    before = path.read_bytes()
    for read in (open_journal, load_history):
        with pytest.raises(ValueError, match=match) as caught:
            read(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert set(files_beside(path)) <= {"-lock"}


# -- durability -------------------------------------------------------------------


def test_one_file_holds_every_trial_at_once(path, tmp_path):
    copy = tmp_path / "copy"
    with pytest.raises(KeyboardInterrupt), open_journal(path) as journal:
        for number in range(5):
            record(journal, [number])
            shutil.copyfile(path, copy)
            assert (load_history(copy)["state"] == "complete").sum() == number + 1
            copy.unlink()
        raise KeyboardInterrupt
    assert files_beside(path) == ["-lock"]
    assert not os.path.getsize(f"{path}-lock")
    journal.close()  # a second call has no effect
    with open_journal(path) as journal:
        assert len(journal.results) == 5


def tear(path, first):
    """Kill this process in a commit, when a part of its pages is written."""
    journal = open_journal(path)
    record(journal, range(first))
    before = path.read_bytes()
    execute = journal._store._connection.execute
    execute("PRAGMA cache_size=1")
    execute("BEGIN")
    for place in range(300):
        text = "x" * 1000
        execute("INSERT INTO journal VALUES (?, 'proposal', ?, 0)", (place + 99, text))
    assert path.read_bytes() != before
    os.kill(os.getpid(), signal.SIGKILL)


@fork
@pytest.mark.parametrize("is_read", [False, True])
def test_a_commit_that_was_killed_is_undone(path, is_read):
    assert in_child(tear, path, 3) == -signal.SIGKILL
    assert os.path.getsize(f"{path}-journal")
    if is_read:
        assert len(load_history(path)) == 3
    with open_journal(path) as journal:
        assert len(journal.results) == len(journal.proposals) == 3
        record(journal, [3])
    assert files_beside(path) == ["-lock"]
    assert len(load_history(path)) == 4


def write_up_to(path, limit, report):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    n_done = 0
    try:
        with open_journal(path) as journal:
            while True:
                record(journal, [n_done])
                n_done += 1
    except OSError as error:
        os.write(report, f"{n_done}\n{error}".encode())


@fork
@pytest.mark.parametrize("limit", [0, 50_000])
def test_a_file_that_may_not_grow_loses_nothing(path, limit):
    reading, writing = os.pipe()
    assert in_child(write_up_to, path, limit, writing) == 0
    os.close(writing)
    with os.fdopen(reading) as file:
        n_done, message = file.read().split("\n", 1)
    assert f"journal: {str(path)!r} cannot be used" in message
    with open_journal(path) as journal:
        assert len(journal.results) == int(n_done)
        assert (limit == 50_000) == (int(n_done) > 3)
        for number in range(int(n_done)):
            assert exact(journal.results[number]) == exact(trial_of(number))


@pytest.mark.parametrize("gone", [os.unlink, lambda path: path.rename(f"{path}2")])
@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files")
def test_a_journal_that_was_moved_is_not_written_silently(path, gone):
    with open_journal(path) as journal:
        record(journal, range(2))
        gone(path)
        with pytest.raises(OSError, match="journal: .* was moved or removed"):
            record(journal, [2])
    assert not path.exists()
    for one in path.parent.glob("*2"):
        assert len(load_history(one)) == 2


def test_a_program_that_keeps_the_file_open_is_named(path, monkeypatch):
    monkeypatch.setattr(journal_store, "PATIENCE", 0.1)
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


# -- locks ------------------------------------------------------------------------


def test_a_file_is_locked_under_all_its_names(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "link"
    with open_journal(path):
        os.symlink(path, link)
        for name in (link, path.name, f"./{path.name}", os.fsencode(path)):
            # SQLite reports a file on a file system without locks as busy, too.
            with pytest.raises(RuntimeError, match="in use.*does not support locks"):
                open_journal(name)


def hold(sending, path):
    """Open a journal, record three trials, and fork a child that lives on."""
    try:
        journal = open_journal(path)
        record(journal, range(3))
        child = os.fork()
        if child:
            os.write(sending, b"%d" % child)
        time.sleep(60)
    finally:
        os._exit(1)


@fork
def test_a_second_process_waits_for_its_holder_and_not_for_a_child(path):
    # The child would keep the pipe open.
    receiving, sending = os.pipe()
    holder = os.fork()
    if not holder:
        hold(sending, path)
    os.close(sending)  # so that the end of a holder is noticed
    child = int(os.read(receiving, 20))
    try:
        with pytest.raises(RuntimeError, match="journal: .* is in use"):
            open_journal(path)
        assert len(load_history(path)) == 3
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
        with open_journal(path) as journal:
            assert len(journal.results) == 3
            record(journal, [3])
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(receiving)
    with open_journal(path) as journal:
        assert len(journal.results) == 4


def test_is_held_tells_whether_a_search_writes(path):
    assert not is_held(path)
    with open_journal(path):
        # Checking the lock does not release it.
        assert is_held(path) and is_held(path)
    assert not is_held(path)
    lock = path.with_name(f"{path.name}-lock")
    lock.write_text("no lock" * 100)
    assert not is_held(path)
    with pytest.raises(OSError, match="journal: .* cannot be locked: .*-lock"):
        open_journal(path)


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
            assert is_held(path)
            assert len(load_history(path)) == 3
        record(journal, [3])
    assert files_beside(path) == ["-lock"]
    with open_journal(path) as journal:
        assert journal.proposals == [params_of(number) for number in range(4)]
        assert journal.results[3] == trial_of(3)


# -- files that are refused -------------------------------------------------------


@contextlib.contextmanager
def open_folder():
    """Yield a folder, and remove superuser rights."""
    if os.name != "posix":
        pytest.skip("rights of POSIX")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user = os.geteuid()
        if not user:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if not user:
                os.seteuid(user)
            folder.chmod(0o777)


def test_journals_in_read_only_folders_are_refused():
    # Within the test, because coverage writes before and after it.
    with open_folder() as folder:
        path = folder / "journal"
        folder.chmod(0o555)
        with pytest.raises(OSError, match="journal: .*cannot be locked"):
            open_journal(path)
        assert os.listdir(folder) == []
        folder.chmod(0o777)
        with open_journal(path) as journal:
            record(journal, range(3))
        path.chmod(stat.S_IREAD)
        before = path.read_bytes()
        with pytest.raises(OSError, match="journal: .*readonly"):
            open_journal(path)
        folder.chmod(0o555)
        assert path.read_bytes() == before
        assert len(load_history(path)) == 3
        path.chmod(0)
        with pytest.raises(OSError, match="journal: .*cannot be used"):
            load_history(path)


def test_files_that_are_not_regular_are_refused(tmp_path):
    names = [str(tmp_path), "/dev/null"] if os.name == "posix" else [str(tmp_path)]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo")
        names.append(str(tmp_path / "fifo"))
    for read in (open_journal, load_history):
        for name in names:
            with pytest.raises(ValueError, match="journal: .* is not a regular file"):
                read(name)
        with pytest.raises(ValueError, match="journal: .* is not a path"):
            read(str(tmp_path / "a\0b"))
    with pytest.raises(FileNotFoundError, match="journal: there is no folder"):
        open_journal(tmp_path / "missing" / "journal")
    with pytest.raises(OSError, match="journal: "):
        open_journal(tmp_path / ("a" * 5000))


def test_names_with_special_characters_are_accepted(tmp_path):
    for name in ("a b?mode=ro#c%41é中", ":memory:", "file:x"):
        with open_journal(tmp_path / name) as journal:
            record(journal, range(2))
        assert len(load_history(os.fsencode(tmp_path / name))) == 2


def test_files_that_are_no_journals_are_refused(path):
    almost = b"SQLite format 3\0"
    for content in (b"my thesis\n" * 99, b"\0" * 4096, almost):
        path.write_bytes(content)
        assert_refused(path, "journal: .* is not a journal")
    path.unlink()
    execute(path, "CREATE TABLE results (number, state)", "PRAGMA user_version=1")
    assert_refused(path, "journal: .* is not a journal")


def swap(one, other):
    """Return the statement that exchanges the content of two rows."""
    return (
        "UPDATE journal SET (kind, content, checksum) = (SELECT kind, content, checksum"
        f" FROM journal AS j WHERE j.place = {one + other} - journal.place) "
        f"WHERE place IN ({one}, {other})"
    )


UPDATE = "UPDATE journal SET "
DAMAGE = [
    (r"row 4 \(result\) .* checksum", "content = replace(content, '0.2', '1')", 4),
    (r"row 4 \(result\)", "checksum = 'x'", 4),
    (r"row 4 \(x\)", "kind = 'x'", 4),
    ("row 5 .* does not", "content = x'00'", 5),
    ("row 0 .* does not", "content = NULL", 0),
    ("can't decode", "content = CAST(x'ff' AS TEXT)", 3),
    ("row 0 is missing", "place = 99", 0),
]


@pytest.mark.parametrize(
    "fault, statement",
    [
        *((fault, f"{UPDATE}{new} WHERE place = {n}") for fault, new, n in DAMAGE),
        ("row 3 is missing", "DELETE FROM journal WHERE place = 3"),
        ("row 4 .* does not match its checksum", swap(4, 6)),
        ("another release .*is 0", "PRAGMA user_version=0"),
        ("header", "PRAGMA journal_mode=WAL"),
    ],
)
def test_damage_of_the_file_is_named(written, fault, statement):
    execute(written, statement)
    assert_refused(written, f"journal: .*{fault}")
    for read in (Content.read, read_trials):
        with pytest.raises(ValueError, match=fault):
            read(written)


def test_flipped_bits_are_reported_or_have_no_effect():
    refused = {}
    for category, check, *arguments in flips.cases(24, 0):
        report = check(*arguments)
        assert report["held"], category
        refused[category] = refused.get(category, 0) + report["refused"]
    assert all(refused.values()) and len(refused) == 4


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE journal"],
        ["CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM journal; END"],
        ["CREATE INDEX i ON journal (abs(place))"],
        ["DROP TABLE journal", "CREATE VIEW journal AS SELECT load_extension('x')"],
        [
            "DROP TABLE journal",
            "CREATE TABLE journal (place INTEGER PRIMARY KEY, kind TEXT, "
            "content TEXT DEFAULT (randomblob(9)), checksum INTEGER)",
        ],
    ],
)
def test_statements_in_the_file_are_not_run(written, statements):
    execute(written, *statements)
    seal(written)
    assert_refused(written, "journal: .* is damaged: .*other tables")
