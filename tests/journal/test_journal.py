"""Journal: content, robustness, and refused files."""

import base64
import contextlib
import io
import json
import math
import os
import pickle
import random
import shutil
import signal
import sqlite3
import stat
import tempfile
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attacks.hostile import seal
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_samples import (
    CLASSIFIERS,
    exact,
    fold,
    fork,
    in_child,
    open_journal,
    params_of,
    record,
    running,
    trial_of,
)
from journal_samples import execute as read_rows
from sklearn.model_selection import KFold, ShuffleSplit

from skbayes.evaluation.trial import FoldResult, FoldStatus, Trial
from skbayes.journal.content import pack_split, unpack_split
from skbayes.journal.file import APPLICATION_ID, FORMAT
from skbayes.journal.lock import acquire_lock, release_lock
from skbayes.journal.reader import load_history

NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70))
TEXTS = st.one_of(st.none(), st.just("\ud800\0"), st.text())


@st.composite
def lists_of_trials(draw):
    """Return trials with the same metrics."""
    names = draw(st.lists(st.text(), max_size=3, unique=True))
    scores = st.fixed_dictionaries(dict.fromkeys(names, NUMBERS))
    folds = st.builds(
        FoldResult,
        test_scores=scores,
        fit_time=st.floats(),
        score_time=st.floats(),
        n_test_samples=st.integers(0, 2**40),
        train_scores=scores if draw(st.booleans()) else st.none(),
        fit_error=TEXTS,
        status=st.sampled_from(FoldStatus),
        extras=st.sampled_from(
            [
                {},
                {"own": 0.5, "shared_time": math.inf},
                {"costs": {"a": math.nan}, "warm_up": True, "outcomes": {"b": 2}},
                {"curves": {"a": [0.5, math.nan]}, "max_rounds": 2},
            ]
        ),
    )
    pairs = st.lists(folds, min_size=2, max_size=2)
    return draw(st.lists(trials_with(pairs), min_size=1, max_size=4))


def trials_with(folds):
    return st.builds(
        Trial,
        number=st.just(0),
        params=st.just(params_of(0)),
        folds=folds,
        score=st.floats(),
        duration=st.floats(),
        state=st.sampled_from(["complete", "failed", "timed_out", "pruned"]),
        error=TEXTS,
        stop_requested=st.booleans(),
        expected_improvement=st.none() | st.floats(),
        noise=st.none() | st.floats(),
        started=st.none() | st.floats(0.0, 9e9),
        extras=st.sampled_from([{}, {"violation": math.inf}, {"rounds": 3, "own": 1}]),
    )


@settings(max_examples=10)
@given(lists_of_trials())
def test_trials_come_back_exactly(trials):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with open_journal(path) as journal:
            for number, trial in enumerate(trials):
                journal.record_proposal(number, trial.params, None)
                journal.record_result(replace(trial, number=number))
        with open_journal(path) as journal:
            for number, trial in enumerate(trials):
                again = journal.results[number]
                assert exact(again) == exact(replace(trial, number=number))


def test_proposals_come_back_in_order_and_results_by_number(path):
    expected = [None, 0.25, 1e-300]
    with open_journal(path) as journal:
        assert journal.proposals == []
        assert journal.results == {}
        for number, improvement in enumerate(expected):
            journal.record_proposal(number, params_of(number), improvement)
        journal.record_result(trial_of(2))
        journal.record_result(trial_of(0))
    with open_journal(path) as journal:
        assert journal.proposals == [params_of(number) for number in range(3)]
        assert journal.proposals[0]["clf"] is CLASSIFIERS[0]
        assert journal.expected_improvements == expected
        assert journal.results.keys() == {0, 2}
        # A search that goes on fills the gap, and more.
        journal.record_result(trial_of(1))
        record(journal, [3])
    with open_journal(path) as journal:
        assert len(journal.proposals) == 4
        for number in range(4):
            assert exact(journal.results[number]) == exact(trial_of(number))


def test_numpy_numbers_are_kept_as_numbers(path):
    folds = [replace(fold(np.float32(0.1)), n_test_samples=np.int64(3)), fold(np.True_)]
    with open_journal(path) as journal:
        journal.record_proposal(0, params_of(0), np.float32(0.5))
        journal.record_result(trial_of(0, folds=folds, score=np.float64(0.1)))
    with open_journal(path) as journal:
        kept = journal.results[0]
    assert kept.folds[0].test_scores == {"score": np.float32(0.1)}
    assert kept.folds == folds
    assert kept.score == 0.1
    assert journal.expected_improvements == [0.5]


def test_what_cannot_be_recorded_is_refused(path):
    with open_journal(path) as journal:
        with pytest.raises(ValueError, match="'n'"):
            journal.record_proposal(0, params_of(0) | {"n": 1000}, None)
        journal.record_proposal(0, params_of(0), None)
        with pytest.raises(TypeError, match="journal.*object"):
            journal.record_result(trial_of(0, folds=[fold(object()), fold(1)]))


def test_a_number_is_recorded_once(written):
    with open_journal(written) as journal:
        for number in (0, 4):
            with pytest.raises(ValueError, match="journal.*out of order"):
                journal.record_proposal(number, params_of(number), None)
        for trial in (trial_of(0, score=9.0), trial_of(3)):
            with pytest.raises(ValueError, match="journal.*not proposed, or has a"):
                journal.record_result(trial)
    with open_journal(written) as journal:
        assert exact(journal.results[0]) == exact(trial_of(0))


def test_threads_may_record(path):
    with open_journal(path) as journal:
        for number in range(40):
            journal.record_proposal(number, params_of(number), None)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: journal.record_result(trial_of(n)), range(40)))
    with open_journal(path) as journal:
        assert sorted(journal.results) == list(range(40))


def test_a_seed_is_kept(path, tmp_path):
    with open_journal(path, seed=2**80) as journal:
        assert journal.seed == 2**80
    with open_journal(path, seed=None, drawn_seed=3) as journal:
        assert journal.seed == 2**80
        assert journal.n_points == 2
    # A new one, also of an empty file, takes the drawn seed where none is given.
    (tmp_path / "new").touch()
    for drawn_seed in (5, 6):
        with open_journal(
            tmp_path / "new", seed=None, drawn_seed=drawn_seed
        ) as journal:
            assert journal.seed == 5


def test_it_can_be_read_with_sqlite_alone(written):
    rows = read_rows(written, "SELECT kind, content FROM journal")
    assert read_rows(written, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert [kind for kind, _ in rows] == ["search"] + ["proposal", "result"] * 3
    for number in range(3):
        shown = json.loads(rows[1 + 2 * number][1])["params"]
        expected = params_of(number) | {"clf": {"text": "SVC()"}}
        assert shown == expected
        assert json.loads(rows[2 + 2 * number][1])["score"] == number / 10


@given(
    st.lists(st.integers(-(2**40), 2**40)).map(lambda x: np.array(x, dtype=np.int64))
    | st.lists(st.integers(0, 2**16 - 1)).map(lambda x: np.array(x, dtype=np.uint16))
)
def test_indices_come_back_exactly(indices):
    again = unpack_split(pack_split(indices), len(indices))
    np.testing.assert_array_equal(again, indices)
    assert again.dtype == np.intp


def test_splits_take_little_room():
    for train, _ in KFold(5, shuffle=True, random_state=0).split(np.zeros(100_000)):
        assert len(pack_split(train)) < train.nbytes / 10


@pytest.mark.parametrize("bad", [[0.5], ["a"], [[1, 2]], slice(3), [None], 3])
def test_what_are_no_indices_is_refused(path, bad):
    with pytest.raises(TypeError, match="journal: each split"):
        open_journal(path, splits=[(bad, [1])])
    assert not path.exists()


def test_the_splits_of_the_journal_are_used(path):
    X = np.zeros((30, 1))
    first, second = (list(ShuffleSplit(3).split(X)) for _ in range(2))
    for splits in (first, second):
        with open_journal(path, splits=splits) as journal:
            np.testing.assert_equal(journal.splits, first)


def test_all_parts_that_differ_are_named(written):
    before = written.read_bytes()
    with pytest.raises(ValueError) as caught:
        open_journal(written, identity={"X": "list", "y": "f"}, seed=8, n_points=3)
    first, *lines = str(caught.value).splitlines()
    assert str(written) in first
    assert lines == [
        "- pre_dispatch: 2 in the journal, 3 now",
        "- random_state: 7 in the journal, 8 now",
        "- X: array in the journal, list now",
        "- estimator: SVC() in the journal, nothing now",
        "- settings: surrogate: 'gp' in the journal, nothing now",
        "- y: nothing in the journal, f now",
    ]
    assert written.read_bytes() == before
    assert os.listdir(written.parent) == [written.name]


def test_of_long_descriptions_the_difference_is_shown(path):
    begin, end = "begin " * 1000, " end" * 1000
    with open_journal(path, identity={"X": f"{begin}C=1{end}"}):
        pass
    with pytest.raises(
        ValueError, match=r"….*C=1 .*… in the.*, ….*C=2 .*… now"
    ) as caught:
        open_journal(path, identity={"X": f"{begin}C=2{end}"})
    assert len(str(caught.value)) < 1000


def test_one_file_holds_every_trial_at_once(path, tmp_path):
    copy = tmp_path / "copy"
    with open_journal(path) as journal:
        for number in range(5):
            record(journal, [number])
            assert sorted(os.listdir(path.parent)) == [path.name, f"{path.name}-lock"]
            shutil.copyfile(path, copy)
            assert (load_history(copy)["state"] == "complete").sum() == number + 1
            copy.unlink()
    assert os.listdir(path.parent) == [path.name]
    journal.close()  # once more does no harm


def test_one_file_remains_after_an_error(path):
    with pytest.raises(KeyboardInterrupt), open_journal(path) as journal:
        record(journal, range(2))
        raise KeyboardInterrupt
    assert os.listdir(path.parent) == [path.name]
    with open_journal(path) as journal:
        assert len(journal.results) == 2


def write_from(send, path, done):
    with open_journal(path) as journal:
        n_proposed = len(journal.proposals)
        for number in range(done, 10**6):
            if number >= n_proposed:
                journal.record_proposal(number, params_of(number), None)
            if number not in journal.results:
                journal.record_result(trial_of(number))
            send(number)


@fork
def test_no_finished_trial_is_lost_to_a_kill(path):
    done = 0
    for instant in range(3):
        # The instants are measured from the first trial, so that most of them hit the
        # writer at work.
        with running(write_from, path, done) as (_, numbers):
            # While the other process writes.
            frame = load_history(path)
            time.sleep(random.Random(instant).random() * 0.02)
        assert frame["number"].tolist() == list(range(len(frame)))
        assert (frame["state"] == "unfinished").sum() <= 1
        last = numbers[-1]
        # At once, with whatever the child left behind.
        frame = load_history(path)
        assert (frame["state"][: last + 1] == "complete").all()
        with open_journal(path) as journal:
            assert len(journal.results) in (last + 1, last + 2)
            assert len(journal.proposals) - len(journal.results) in (0, 1)
            for number in range(done, len(journal.results)):
                assert exact(journal.results[number]) == exact(trial_of(number))
            done = len(journal.results)
    assert done >= 3


def test_another_name_of_the_file_is_no_way_in(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "link"
    with open_journal(path):
        os.symlink(path, link)
        for name in (link, path.name, f"./{path.name}", str(path)):
            # SQLite reports a file on a file system without locks as busy, too.
            with pytest.raises(RuntimeError, match="in use.*does not support locks"):
                open_journal(name)


def hold(sending, path):
    """Open a journal, record three trials, and fork a child that lives on."""
    journal = open_journal(path)
    record(journal, range(3))
    child = os.fork()
    if child:
        os.write(sending, b"%d" % child)
    time.sleep(60)


@fork
def test_a_second_process_waits_for_its_holder_and_not_for_a_child(path):
    # The child would keep the pipe open.
    receiving, sending = os.pipe()
    holder = os.fork()
    if not holder:
        hold(sending, path)
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
        os.close(sending)
    with open_journal(path) as journal:
        assert len(journal.results) == 4


def test_the_lock_passes_on_through_many_hands(path):
    """Threads that open and close as fast as possible never hold the lock together."""
    held, most, turns = [0], [0], [0]
    mutex = threading.Lock()

    def compete():
        for _ in range(30):
            try:
                held_lock = acquire_lock(str(path))
            except RuntimeError:
                continue
            with mutex:
                held[0] += 1
                turns[0] += 1
                most[0] = max(most[0], held[0])
            with mutex:
                held[0] -= 1
            release_lock(str(path), held_lock)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(compete) for _ in range(4)]:
            future.result()
    assert turns[0] >= 1
    assert most[0] == 1
    assert not os.path.exists(f"{path}-lock")


def write_up_to(path, limit, report):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    done = 0
    try:
        with open_journal(path) as journal:
            while True:
                record(journal, [done])
                done += 1
    except OSError as error:
        os.write(report, f"{done}\n{error}".encode())


@fork
@pytest.mark.parametrize("limit", [0, 50_000])
def test_a_file_that_may_not_grow_loses_nothing(path, limit):
    reading, writing = os.pipe()
    assert in_child(write_up_to, path, limit, writing) == 0
    os.close(writing)
    with os.fdopen(reading) as file:
        done, message = file.read().split("\n", 1)
    assert "journal" in message
    assert str(path) in message
    with open_journal(path) as journal:
        assert len(journal.results) == int(done)
        assert (limit == 50_000) == (int(done) > 3)
        for number in range(int(done)):
            assert exact(journal.results[number]) == exact(trial_of(number))


@pytest.fixture
def open_folder():
    """Return a folder, and run the test without superuser rights."""
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


def test_a_folder_that_may_not_be_written(open_folder):
    path = open_folder / "journal"
    open_folder.chmod(0o555)
    with pytest.raises(OSError, match="journal: .*journal"):
        open_journal(path)
    assert os.listdir(open_folder) == []


def test_a_journal_that_may_not_be_written(open_folder):
    path = open_folder / "journal"
    with open_journal(path) as journal:
        record(journal, range(3))
    path.chmod(stat.S_IREAD)
    before = path.read_bytes()
    with pytest.raises(OSError, match="journal: .*readonly"):
        open_journal(path)
    open_folder.chmod(0o555)
    with pytest.raises(OSError, match="journal: "):
        open_journal(path)
    assert path.read_bytes() == before
    assert len(load_history(path)) == 3
    path.chmod(0)
    for read in (open_journal, load_history):
        with pytest.raises(OSError, match="journal: "):
            read(path)


def test_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="journal: there is no folder"):
        open_journal(tmp_path / "missing" / "journal")
    assert os.listdir(tmp_path) == []


def other_database(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE results (number, state)")
        connection.execute("PRAGMA user_version=1")
        connection.commit()


def assert_refused(path, match):
    """Check that neither the journal nor loading it changes the file."""
    before = path.read_bytes()
    with pytest.raises(ValueError, match=match) as caught:
        open_journal(path)
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=match):
        load_history(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_other_files_are_refused(path):
    almost = b"SQLite format 3\0"
    for content in (b"x", b"my thesis\n" * 99, b"\0" * 4096, pickle.dumps(1), almost):
        path.write_bytes(content)
        assert_refused(path, "journal: .* is not a journal")
    path.unlink()
    other_database(path)
    assert_refused(path, "journal: .* is not a journal")


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(*([statement] if type(statement) is str else statement))
        # So that what is tested is not the checksums.
        with contextlib.suppress(sqlite3.Error):
            seal(connection)
        connection.commit()


def set_fields(path, kind, number=1, **changes):
    """Change fields in the row of a trial, or in the header."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT place, kind, content FROM journal").fetchall()
    for place, its_kind, content in rows:
        fields = json.loads(content)
        if its_kind == kind and fields.get("number", number) == number:
            text = json.dumps(fields | changes)
            execute(
                path, ("UPDATE journal SET content = ? WHERE place = ?", (text, place))
            )


def test_another_format_is_refused(written):
    execute(written, "PRAGMA user_version=8")
    assert_refused(written, f"journal: .* another release .*is 8.* {FORMAT} ")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM journal WHERE place = 3",
        "DELETE FROM journal WHERE place = 0",
        "INSERT INTO journal SELECT 99, kind, content, '' FROM journal WHERE place = 2",
        "INSERT INTO journal SELECT 99, kind, content, '' FROM journal WHERE place = 0",
        "UPDATE journal SET kind = 'x' WHERE place = 4",
        "UPDATE journal SET kind = NULL WHERE place = 4",
        "UPDATE journal SET content = NULL",
        "UPDATE journal SET content = x'00ff' WHERE place = 3",
        "UPDATE journal SET content = CAST(x'ff00' AS TEXT) WHERE place = 3",
        ("UPDATE journal SET content = ? WHERE kind = 'result'", ("[" * 100_000,)),
        "CREATE TABLE more (x)",
        "DROP TABLE journal",
    ],
)
def test_what_does_not_fit_is_damage(written, statement):
    execute(written, statement)
    before = written.read_bytes()
    with pytest.raises(ValueError, match="journal: .* is damaged"):
        open_journal(written)
    assert written.read_bytes() == before


class Bomb:
    """Object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickles_are_not_opened(written, tmp_path):
    bomb, array = tmp_path / "exploded", io.BytesIO()
    np.save(array, np.array([Bomb(bomb)], dtype=object), allow_pickle=True)
    for payload in (pickle.dumps(Bomb(bomb)), array.getvalue()):
        # With a multiple of 8 bytes, it could be a list of indices.
        packed = zlib.compress(payload + b"." * ((1 - len(payload)) % 8))
        text = base64.b85encode(packed).decode()
        set_fields(written, "search", splits=[[text, text]] * 2)
        with pytest.raises(ValueError, match="journal: .* is damaged"):
            open_journal(written)
    execute(written, ("UPDATE journal SET content = ?", (payload,)))
    with pytest.raises(ValueError, match="journal: .* is damaged"):
        load_history(written)
    assert not bomb.exists()


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM journal; END"],
        ["CREATE TRIGGER t AFTER UPDATE ON journal BEGIN DELETE FROM journal; END"],
        ["CREATE INDEX i ON journal (abs(place))"],
        ["DROP TABLE journal", "CREATE VIEW journal AS SELECT load_extension('x')"],
        [
            "DROP TABLE journal",
            "CREATE TABLE journal (place INTEGER PRIMARY KEY, kind TEXT, "
            "content TEXT DEFAULT (randomblob(9)), digest TEXT)",
        ],
    ],
)
def test_statements_in_the_file_are_not_run(written, statements):
    execute(written, *statements)
    assert_refused(written, "journal: .* is damaged: .*other tables")


@pytest.mark.parametrize("change", [{"params": {"C": "__import__('os')"}}, {"row": []}])
def test_only_configurations_of_the_space_come_out(written, change):
    set_fields(written, "proposal", number=0, **change)
    with pytest.raises(ValueError, match="journal: .* is damaged"):
        open_journal(written)
