import os
import pickle
import shutil
import sqlite3
import tempfile
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed
from text_workers import get_many

from skbayes.text.cache import DiskCache, MemoryCache


@pytest.fixture
def cache(tmp_path):
    cache = DiskCache(1_000_000, str(tmp_path))
    yield cache
    cache.close()


def _never():
    raise AssertionError("made again")


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_made_once(kind, cache):
    cache = MemoryCache() if kind == "memory" else cache
    made = {"a": np.arange(5), "b": np.ones((2, 3), dtype=np.int32)}
    cache.get("one", lambda: made)
    found = cache.get("one", _never)
    assert found.keys() == made.keys()
    for name, array in made.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert cache.get("two", lambda: {"a": np.zeros(1)})["a"] == 0


def test_empty_arrays_can_be_kept(cache):
    made = {"a": np.empty((0, 2), dtype=np.int32)}
    assert cache.get("one", lambda: made)["a"].shape == (0, 2)


def test_files_are_mapped_and_not_to_be_written_to(cache):
    found = cache.get("one", lambda: {"a": np.arange(5)})["a"]
    assert not found.flags.writeable
    assert isinstance(found.base, np.memmap)


def test_another_process_has_the_same(cache):
    cache.get("one", lambda: {"a": np.arange(5)})
    again = pickle.loads(pickle.dumps(cache))
    assert again.get("one", _never)["a"].tolist() == [0, 1, 2, 3, 4]


def test_threads_wait_for_who_came_first(cache):
    made = []

    def make():
        made.append(1)
        event.wait(0.2)
        return {"a": np.arange(3)}

    event = threading.Event()
    threads = [threading.Thread(target=cache.get, args=("x", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_processes_wait_for_who_came_first(cache, tmp_path):
    tally = tmp_path / "tally"
    calls = [delayed(get_many)(cache, 20, str(tally)) for _ in range(2)]
    Parallel(n_jobs=2)(calls)
    assert sorted(tally.read_text().split()) == sorted(map(str, range(20)))


def test_what_makes_may_ask_for_more(cache):
    def outer():
        return {"b": cache.get("inner", lambda: {"a": np.arange(3)})["a"] + 1}

    assert cache.get("outer", outer)["b"].tolist() == [1, 2, 3]


def test_a_failure_leaves_nothing(cache):
    with pytest.raises(AssertionError, match="made again"):
        cache.get("one", _never)
    assert cache.get("one", lambda: {"a": np.zeros(1)})["a"] == 0


def test_a_forked_process_leaves_the_folder_to_its_parent(cache, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        cache.close()
    assert os.path.isdir(cache.folder)


def test_past_the_limit_nothing_is_kept(tmp_path):
    cache = DiskCache(10_000, str(tmp_path))
    small, large = {"a": np.zeros(100)}, {"a": np.zeros(5_000)}
    cache.get("small", lambda: small)
    assert cache.get("large", lambda: large) is large
    assert cache.get("large", lambda: large) is large
    cache.get("small", _never)
    assert cache.used() < 10_000
    with pytest.warns(UserWarning, match="counted again.*counts_limit is reached"):
        cache.close()


def test_memory_has_a_limit_too():
    cache = MemoryCache(100)
    small, large = {"a": np.zeros(10)}, {"a": np.zeros(20)}
    assert cache.get("large", lambda: large) is large
    cache.get("small", lambda: small)
    assert cache.get("small", _never) is small
    with pytest.raises(AssertionError):
        cache.get("large", _never)


def test_nothing_stays_behind(tmp_path, recwarn):
    cache = DiskCache(1000, str(tmp_path / "new"))
    cache.get("one", lambda: {"a": np.arange(5)})
    cache.close()
    assert os.listdir(tmp_path / "new") == []
    # Where there is no folder, as on another machine.
    assert cache.get("one", lambda: {"a": np.arange(2)})["a"].tolist() == [0, 1]
    assert cache.get("one", _never)["a"].tolist() == [0, 1]
    assert not recwarn.list


def test_without_room_for_a_lock_arrays_are_made_again(cache, monkeypatch):
    def full(*args, **kwargs):
        raise sqlite3.OperationalError("unable to open database file")

    cache.get("kept", lambda: {"a": np.zeros(1)})
    monkeypatch.setattr(sqlite3, "connect", full)
    made = {"a": np.arange(2)}
    assert cache.get("one", lambda: made) is made
    assert cache.get("one", lambda: made) is made
    cache.get("kept", _never)
    with pytest.warns(UserWarning, match="counted again.*unable to open"):
        cache.close()


def test_without_room_for_a_folder_arrays_are_made_again(cache, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    made = {"a": np.arange(2)}
    assert cache.get("one", lambda: made) is made
    with pytest.warns(UserWarning, match="counted again.*No space left"):
        cache.close()


@pytest.mark.parametrize("broken", ["folder", "locks"])
def test_without_folder_or_locks_arrays_are_kept_in_memory(
    broken, tmp_path, monkeypatch, recwarn
):
    def locked(*args, **kwargs):
        raise sqlite3.OperationalError("database is locked")

    if broken == "locks":
        monkeypatch.setattr(sqlite3, "connect", locked)
    else:
        (tmp_path / "file").touch()
        tmp_path = tmp_path / "file"
    cache = DiskCache(1000, str(tmp_path))
    assert cache.folder == ""
    cache.get("one", lambda: {"a": np.arange(2)})
    assert cache.get("one", _never)["a"].tolist() == [0, 1]
    cache.close()
    assert not recwarn.list
    assert broken == "folder" or os.listdir(tmp_path) == []


def test_arrays_that_another_program_removed_are_made_again(cache, monkeypatch):
    cache.get("one", lambda: {"a": np.arange(2)})
    load = np.load

    def removed(path, **kwargs):
        shutil.rmtree(os.path.dirname(path))
        return load(path, **kwargs)

    monkeypatch.setattr(np, "load", removed)
    assert cache.get("one", lambda: {"a": np.arange(3)})["a"].tolist() == [0, 1, 2]


def test_the_folder_is_where_joblib_keeps_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    cache = DiskCache(1000)
    assert os.path.dirname(cache.folder) == str(tmp_path)
    cache.close()
