"""Files of values whose arrays are mapped into memory."""

import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import wait_until
from scipy import sparse

from skbayes.trial import temporary_files
from skbayes.trial.temporary_files import TemporaryFolder, place_of_folders
from skbayes.utils.process_tree import machine_name


def read(path):
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return temporary_files.read(memoryview(mapped), 1e6)


def written_and_read(value, path):
    with open(path, "wb") as file:
        sizes = temporary_files.write(file, value, exact=True)
    assert sum(sizes) <= path.stat().st_size
    return read(path)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_arrays_are_not_copied_for_an_equal_type(dtype, tmp_path):
    array = np.ones(5, dtype)
    loaded = written_and_read({"a": array}, tmp_path / "file")["a"]
    assert np.asarray(loaded, dtype=np.dtype(array.dtype.str)) is loaded


def layouts(shape):
    """Return arrays of one shape, each with another layout in memory."""
    rng = np.random.default_rng(0)
    n_rows, n_columns = shape
    read_only = rng.random(shape)
    read_only.flags.writeable = False
    return {
        "C": rng.random(shape),
        "F": np.asfortranarray(rng.random(shape)),
        "columns": rng.random((n_rows, n_columns + 3))[:, :n_columns],
        "rows": np.asfortranarray(rng.random((n_rows + 3, n_columns)))[:n_rows],
        "reversed": rng.random(shape)[::-1, ::-1],
        "every second": rng.random((2 * n_rows, n_columns))[::2],
        "broadcast": np.broadcast_to(rng.random(n_columns), shape),
        "read-only": read_only,
        "dates": rng.integers(0, 9, shape).astype("datetime64[s]")[:, ::-1],
    }


# Arrays that are copied from the file, and arrays that are mapped.
@pytest.mark.parametrize("shape", [(7, 5), (1000, 400)])
@pytest.mark.parametrize("name", layouts((1, 1)))
def test_arrays_keep_values_and_layout(tmp_path, shape, name):
    array = layouts(shape)[name]
    (copy,) = written_and_read((array,), tmp_path / "file")
    np.testing.assert_array_equal(copy, array)
    assert type(copy) is np.ndarray
    assert (copy.dtype, copy.strides) == (array.dtype, array.strides)
    assert copy.flags.writeable == array.flags.writeable


@pytest.mark.parametrize("shape", [(7, 5), (1000, 400)])
def test_copies_are_independent_of_one_another_and_of_the_file(tmp_path, shape):
    array, path = np.arange(np.prod(shape), dtype=float).reshape(shape), tmp_path / "a"
    first, second = written_and_read(array, path), read(path)
    first += 1.0
    for copy in (second, read(path)):
        np.testing.assert_array_equal(copy, array)
    path.unlink()
    np.testing.assert_array_equal(second, array)


def test_objects_of_any_container_are_restored(tmp_path):
    path = tmp_path / "file"
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", None], "c": pd.NaT})
    matrix = sparse.random(300, 400, 0.1, "csr", random_state=0)
    objects = np.array([["a", 1], [None, 2.5]], dtype=object)[:, ::-1]
    value = {"frame": frame, "matrix": matrix, "objects": objects, "none": None}
    copy = written_and_read(value, path)
    pd.testing.assert_frame_equal(copy["frame"], frame)
    assert copy["matrix"].format == "csr"
    assert (copy["matrix"] != matrix).nnz == 0
    assert copy["objects"].tolist() == objects.tolist()
    assert copy["none"] is None
    assert written_and_read(lambda: 3, path)() == 3


@pytest.mark.parametrize(
    "array", [np.zeros((100, 100))[::10, ::10], np.ma.masked_array(np.eye(3))[:, ::2]]
)
def test_arrays_with_large_gaps_and_of_other_classes_are_refused(tmp_path, array):
    with pytest.raises(TypeError):
        written_and_read(array, tmp_path / "file")


# -- the folder ------------------------------------------------------------------------


def test_the_folder_is_that_of_joblib(tmp_path, monkeypatch):
    assert place_of_folders(str(tmp_path)) == str(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place_of_folders("~/here") == str(tmp_path / "here")
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", "there")
    assert place_of_folders(None) == "there"
    monkeypatch.delenv("JOBLIB_TEMP_FOLDER")
    assert place_of_folders(None) == tempfile.gettempdir()


def test_folders_of_other_processes_remain_while_these_exist(tmp_path):
    place = tmp_path / "new"
    first = TemporaryFolder(str(place), "data")
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    here, elsewhere = (
        place / f"data-{name}-{dead.pid}-x" for name in (machine_name(), "another")
    )
    for folder in (here, elsewhere):
        folder.mkdir()
        (folder / "job").touch()
    second = TemporaryFolder(str(place), "data")
    names = {Path(folder.path).name for folder in (first, second)}
    assert {*os.listdir(place)} == {*names, elsewhere.name}
    assert first.remove() and second.remove()
    assert os.listdir(place) == [elsewhere.name]


def test_a_forked_process_leaves_the_folder_to_its_parent(tmp_path, monkeypatch):
    folder = TemporaryFolder(str(tmp_path), "data")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert not folder.remove()
    assert os.listdir(tmp_path)
    assert folder.remove() and os.listdir(tmp_path) == []


def test_a_folder_in_use_is_removed_with_the_process(tmp_path, monkeypatch):
    """On Windows, workers keep the files that they have mapped."""
    released = []
    monkeypatch.setattr(temporary_files.workers, "release_folder", released.append)
    folder = TemporaryFolder(str(tmp_path), "data")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
        assert folder.remove() and released == []
    assert folder.remove() and released == [folder.path]


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_files_of_a_killed_process_are_removed(tmp_path, start):
    code = """
import os, signal, sys
from skbayes.trial.temporary_files import TemporaryFolder
print(os.path.isdir(TemporaryFolder(sys.argv[1], "data").path), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    program = start(code, tmp_path)
    assert program.wait() == -signal.SIGKILL and program.text() == "True\n"
    wait_until(lambda: os.listdir(tmp_path) == [])
