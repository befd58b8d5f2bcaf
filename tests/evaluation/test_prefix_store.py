import logging
import os
import pickle
import sqlite3
import subprocess
import sys
import tempfile
import threading

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from store_workers import make_many

from skbayes.evaluation import prefix_store
from skbayes.evaluation.prefix_store import PrefixStore, temporary_store


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    return PrefixStore(str(folder), 1_000_000)


def _never():
    raise AssertionError("made again")


def test_arrays_are_made_once(store):
    made = {"a": np.arange(5), "b": np.ones((2, 3), dtype=np.int32)}
    store.arrays("one", lambda: made)
    found = store.arrays("one", _never)
    assert found.keys() == made.keys()
    for name, array in made.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert store.arrays("two", lambda: {"a": np.zeros(1)})["a"] == 0


def test_empty_arrays_can_be_stored(store):
    made = {"a": np.empty((0, 2), dtype=np.int32), "b": np.arange(3)}
    store.arrays("one", lambda: made)
    found = store.arrays("one", _never)
    assert found["a"].shape == (0, 2)
    assert found["b"].tolist() == [0, 1, 2]


def test_files_are_mapped_and_not_to_be_written_to(store):
    found = store.arrays("one", lambda: {"a": np.arange(5)})["a"]
    assert type(found) is np.ndarray and isinstance(found.base, np.memmap)
    assert not found.flags.writeable


def test_mapped_arrays_outlive_their_file(store):
    found = store.arrays("one", lambda: {"a": np.arange(5)})["a"]
    os.unlink(os.path.join(store.folder, "one"))
    assert found.tolist() == [0, 1, 2, 3, 4]


def test_another_process_has_the_same(store):
    store.arrays("one", lambda: {"a": np.arange(5)})
    again = pickle.loads(pickle.dumps(store))
    assert again.arrays("one", _never)["a"].tolist() == [0, 1, 2, 3, 4]


def test_threads_wait_for_who_came_first(store):
    made = []

    def make():
        made.append(1)
        event.wait(0.2)
        return {"a": np.arange(3)}

    event = threading.Event()
    threads = [
        threading.Thread(target=store.arrays, args=("x", make)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_processes_wait_for_who_came_first(store, tmp_path):
    tally = tmp_path / "tally"
    calls = [delayed(make_many)(store, 20, str(tally)) for _ in range(2)]
    Parallel(n_jobs=2)(calls)
    assert sorted(tally.read_text().split()) == sorted(map(str, range(20)))


def test_what_makes_may_ask_for_more(store):
    def outer():
        return {"b": store.arrays("inner", lambda: {"a": np.arange(3)})["a"] + 1}

    assert store.arrays("outer", outer)["b"].tolist() == [1, 2, 3]


def test_a_failure_leaves_nothing(store):
    with pytest.raises(AssertionError, match="made again"):
        store.arrays("one", _never)
    assert store.arrays("one", lambda: {"a": np.zeros(1)})["a"] == 0


@pytest.mark.parametrize("kind", ["arrays", "pickles"])
def test_the_least_recently_used_is_removed_first(kind, tmp_path):
    store = PrefixStore(str(tmp_path), 3 * 9000)

    def put(key):
        if kind == "arrays":
            store.arrays(key, lambda: {"a": np.zeros(1000)})
        else:
            store.save(key, np.zeros(1000))

    for i, key in enumerate("abc"):
        put(key)
        os.utime(tmp_path / key, ns=(i, i))
    put("a") if kind == "arrays" else store.load("a")
    put("d")
    stored = [path.name for path in tmp_path.iterdir() if path.stat().st_size]
    assert sorted(stored) == ["a", "c", "d"]


def test_arrays_and_pickles_have_one_limit(tmp_path):
    store = PrefixStore(str(tmp_path), 15_000)
    store.arrays("arrays", lambda: {"a": np.zeros(1000)})
    store.save("pickle", np.zeros(1000))
    assert store.load("pickle") is not None
    assert not (tmp_path / "arrays").exists()


def test_arrays_larger_than_the_limit_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(joblib, "dump", lambda *args: _never())
    store = PrefixStore(str(tmp_path), 7_000)
    made = {"a": np.zeros(1000)}
    assert store.arrays("large", lambda: made) is made


def _full(*args, **kwargs):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("what", ["dump", "rename", "locks"])
def test_on_a_full_disk_arrays_are_made_again(store, monkeypatch, what):
    def no_locks(*args, **kwargs):
        raise sqlite3.OperationalError("unable to open database file")

    store.arrays("stored", lambda: {"a": np.zeros(1)})
    if what == "dump":
        monkeypatch.setattr(joblib, "dump", _full)
    else:
        monkeypatch.setattr(prefix_store.os, "replace", _full)
    if what == "locks":
        monkeypatch.setattr(sqlite3, "connect", no_locks)
    made = {"a": np.arange(2)}
    assert store.arrays("one", lambda: made) is made
    assert store.arrays("one", lambda: made) is made
    store.arrays("stored", _never)
    files = [path for path in os.scandir(store.folder) if path.stat().st_size]
    assert [path.name for path in files] == ["stored"]


def test_without_locks_arrays_are_stored_at_once(store, monkeypatch):
    """Arrays are stored without waiting if locks are not supported."""

    def locked(path, timeout, **kwargs):
        assert timeout == 0.0
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(sqlite3, "connect", locked)
    store.arrays("one", lambda: {"a": np.arange(2)})
    assert store.arrays("one", _never)["a"].tolist() == [0, 1]


def _remove(path):
    os.unlink(path)


def _truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def _empty(path):
    os.truncate(path, 0)


@pytest.mark.parametrize("spoil", [_remove, _truncate, _empty])
def test_arrays_that_cannot_be_read_are_made_again(store, spoil):
    store.arrays("one", lambda: {"a": np.arange(1000)})
    spoil(os.path.join(store.folder, "one"))
    again = store.arrays("one", lambda: {"a": np.arange(1000)})
    np.testing.assert_array_equal(again["a"], np.arange(1000))
    np.testing.assert_array_equal(store.arrays("one", _never)["a"], np.arange(1000))


def test_without_its_folder_arrays_are_made_again(store):
    os.rmdir(store.folder)
    assert not store.is_here
    made = {"a": np.arange(2)}
    assert store.arrays("one", lambda: made) is made


# -- the folder ------------------------------------------------------------------------


def test_the_folder_is_where_joblib_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    with temporary_store(None, 1000) as store:
        assert os.path.dirname(store.folder) == str(tmp_path)


def test_nothing_stays_behind(tmp_path):
    with temporary_store(str(tmp_path / "new"), 1e6) as store:
        store.arrays("one", lambda: {"a": np.arange(5)})
        store.save("two", 2)
    assert os.listdir(tmp_path / "new") == []


def test_no_folder_can_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", _full)
    with temporary_store(str(tmp_path), 1e6) as store:
        assert store is None


def test_a_forked_process_leaves_the_folder_to_its_parent(tmp_path, monkeypatch):
    with temporary_store(str(tmp_path), 1e6) as store:
        child = temporary_store(str(tmp_path), 1e6)
        copy = child.__enter__()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            child.__exit__(None, None, None)
        assert os.path.isdir(copy.folder) and os.path.isdir(store.folder)
        os.rmdir(copy.folder)


def _put_twice(store, size):
    for _ in range(2):
        store.arrays("one", lambda: {"a": np.zeros(size)})
        store.save("two", np.zeros(size))


@pytest.mark.parametrize(("size", "n_warnings"), [(10, 0), (1000, 1)])
def test_a_warning_tells_of_what_was_made_again(tmp_path, recwarn, size, n_warnings):
    with temporary_store(str(tmp_path), 4000) as store:
        _put_twice(store, size)
    assert len(recwarn) == n_warnings
    for one in recwarn:
        assert "computed again" in str(one.message)
        assert "limit of cache" in str(one.message) and str(tmp_path) in str(
            one.message
        )


def test_what_was_removed_and_is_not_needed_again_is_no_reason_to_warn(
    tmp_path, recwarn
):
    with temporary_store(str(tmp_path), 20_000) as store:
        for i in range(10):
            store.save(str(i), np.zeros(1000))
    assert not recwarn


def test_warnings_as_errors_do_not_end_a_search(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="skbayes"):
        with temporary_store(str(tmp_path), 4000) as store:
            _put_twice(store, 1000)
    assert "computed again" in caplog.text


_KILLED = """
import os, sys
import numpy as np
from skbayes.evaluation.prefix_store import temporary_store
with temporary_store(sys.argv[1], 1e6) as store:
    store.save("key", 1)
    store.arrays("other", lambda: {"a": np.arange(5)})
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_process_leaves_nothing(tmp_path):
    # Its resource tracker has the pipe until it has removed the folder.
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path)], capture_output=True, check=False
    )
    assert done.returncode != 0
    assert not list(tmp_path.iterdir())


def test_folders_of_dead_processes_are_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    abandoned = tmp_path / f"skbayes-prefixes-{dead.pid}-x"
    abandoned.mkdir()
    (abandoned / "key").touch()
    with temporary_store(str(tmp_path), 1e6) as store:
        assert not abandoned.exists()
        assert [str(path) for path in tmp_path.iterdir()] == [store.folder]
    assert not list(tmp_path.iterdir())
