import logging
import os
import pickle
import shutil
import sqlite3
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from processes import make_many

from skbayes.trial import shared_store as prefix_store
from skbayes.trial import temporary_files
from skbayes.trial.shared_store import PrefixStore, temporary_store


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    return PrefixStore(str(folder), 1_000_000)


def raising(error):
    def raised(*args, **kwargs):
        raise error

    return raised


never = raising(AssertionError("made again"))
full = raising(OSError(28, "No space left on device"))


def test_arrays_are_made_once(store):
    arrays = {
        "a": np.arange(5),
        "b": np.ones((2, 3), dtype=np.int32),
        "empty": np.empty((0, 2), dtype=np.int32),
    }
    with pytest.raises(AssertionError, match="made again"):
        store.arrays("one", never)
    # A function that makes arrays may request others.
    store.arrays("one", lambda: store.arrays("inner", lambda: arrays))
    for again in (store, pickle.loads(pickle.dumps(store))):
        loaded = again.arrays("one", never)
        assert loaded.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(loaded[name], array)
            assert loaded[name].dtype == array.dtype
            assert type(loaded[name]) is np.ndarray
    assert not loaded["a"].flags.writeable
    os.unlink(os.path.join(store.folder, "one"))
    assert loaded["a"].tolist() == [0, 1, 2, 3, 4]


def test_values_are_copies(store):
    assert store.load("one") is None
    assert store.save("one", {"a": np.arange(3)})
    for _ in range(2):
        array = store.load("one")["a"]
        assert array.tolist() == [0, 1, 2]
        array += 1
    assert not store.save("two", (i for i in range(3)))
    assert store.load("two") is None


def test_threads_wait_for_who_came_first(store):
    calls, event = [], threading.Event()

    def make():
        calls.append(1)
        event.wait(0.2)
        return {"a": np.arange(3)}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.arrays("x", make), range(4)))
    assert len(calls) == 1


def test_processes_wait_for_who_came_first(store, tmp_path):
    tally = tmp_path / "tally"
    calls = [delayed(make_many)(store, 20, str(tally)) for _ in range(2)]
    Parallel(n_jobs=2)(calls)
    assert sorted(tally.read_text().split()) == sorted(map(str, range(20)))


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


def test_any_change_of_a_byte_is_noticed(store, tmp_path):
    path = tmp_path / "store" / "key"
    store.save("key", {"a": np.arange(3.0), "b": "text"})
    content = path.read_bytes()
    for i in range(len(content)):
        path.write_bytes(content[:i] + bytes([content[i] ^ 4]) + content[i + 1 :])
        assert store.load("key") is None
    for n_bytes in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n_bytes])
        assert store.load("key") is None
    path.write_bytes(content)
    assert store.load("key")["b"] == "text"


def test_arrays_larger_than_the_limit_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary_files, "write", never)
    store = PrefixStore(str(tmp_path), 7_000)
    arrays = {"a": np.zeros(1000)}
    assert store.arrays("large", lambda: arrays) is arrays


@pytest.mark.parametrize("what", ["write", "rename", "locks"])
def test_on_a_full_disk_arrays_are_made_again(store, monkeypatch, what):
    store.arrays("stored", lambda: {"a": np.zeros(1)})
    arrays = {"a": np.arange(2)}
    with monkeypatch.context() as patch:
        if what == "write":
            patch.setattr(temporary_files, "write", full)
        else:
            patch.setattr(prefix_store.os, "replace", full)
        if what == "locks":
            error = sqlite3.OperationalError("unable to open database file")
            patch.setattr(sqlite3, "connect", raising(error))
        assert store.arrays("one", lambda: arrays) is arrays
        assert store.arrays("one", lambda: arrays) is arrays
        store.arrays("stored", never)
    files = [path for path in os.scandir(store.folder) if path.stat().st_size]
    assert [path.name for path in files] == ["stored"]


def test_a_value_in_use_is_not_replaced(store, monkeypatch):
    """Windows refuses to replace a mapped file."""
    store.save("one", {"a": np.arange(2)})
    for name in ("replace", "utime"):
        monkeypatch.setattr(prefix_store.os, name, raising(PermissionError))
    assert store.save("one", {"a": np.arange(2)})
    assert store.load("one")["a"].tolist() == [0, 1]
    assert os.listdir(store.folder) == ["one"]


def test_without_locks_arrays_are_stored_at_once(store, monkeypatch):
    def locked(path, timeout, **kwargs):
        assert timeout == 0.0
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", locked)
        store.arrays("one", lambda: {"a": np.arange(2)})
        assert store.arrays("one", never)["a"].tolist() == [0, 1]


@pytest.mark.parametrize("share", [None, 0.0, 0.5])
def test_arrays_that_cannot_be_read_are_made_again(store, share):
    store.arrays("one", lambda: {"a": np.arange(1000)})
    path = os.path.join(store.folder, "one")
    if share is None:
        os.unlink(path)
    else:
        os.truncate(path, int(share * os.path.getsize(path)))
    again = store.arrays("one", lambda: {"a": np.arange(1000)})
    np.testing.assert_array_equal(again["a"], np.arange(1000))
    np.testing.assert_array_equal(store.arrays("one", never)["a"], np.arange(1000))
    shutil.rmtree(store.folder)
    assert store.arrays("one", lambda: again) is again


def test_the_folder_is_removed_and_is_no_condition(tmp_path, monkeypatch):
    with temporary_store(str(tmp_path / "new"), 1e6) as store:
        store.arrays("one", lambda: {"a": np.arange(5)})
        store.save("two", 2)
        assert os.listdir(tmp_path / "new") == [os.path.basename(store.folder)]
    assert os.listdir(tmp_path / "new") == []
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with temporary_store(str(tmp_path), 1e6) as store:
        assert store is None


@pytest.mark.parametrize(("size", "n_warnings"), [(10, 0), (1000, 1)])
def test_a_warning_tells_of_what_was_made_again(
    tmp_path, recwarn, caplog, size, n_warnings
):
    def put_twice():
        with temporary_store(str(tmp_path), 4000) as store:
            for _ in range(2):
                store.arrays("one", lambda: {"a": np.zeros(size)})
                store.save("two", np.zeros(size))

    put_twice()
    # Removed values that are not needed again cause no warning.
    with temporary_store(str(tmp_path), 20_000) as store:
        for i in range(10):
            store.save(str(i), np.zeros(1000))
    assert len(recwarn) == n_warnings
    for one in recwarn:
        for text in ("computed again", "limit of temporary files", str(tmp_path)):
            assert text in str(one.message)
    # Warnings that are errors do not end a search.
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, logger="skbayes"):
        warnings.simplefilter("error")
        put_twice()
    assert ("computed again" in caplog.text) == bool(n_warnings)
