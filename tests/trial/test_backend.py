"""Backends: how data and folds are sent, and what returns from them."""

import copy
import os
import pickle
import shutil
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel

from skbayes.trial import backend as backends
from skbayes.trial.backend import (
    Backend,
    DaskHandle,
    DataHandle,
    ProcessBackend,
    ThreadBackend,
)
from skbayes.trial.fold import Fold, Job, run_folds
from skbayes.trial.limits import FitLimits
from skbayes.trial.records import FoldResult

X, y = load_iris(return_X_y=True)
ROWS = np.arange(len(y))
BACKENDS = [ThreadBackend, ProcessBackend, Backend]
FOLDS = [Fold(index, {"C": 1.0}) for index in range(4)]


def job(estimator=None):
    splits = [(ROWS[ROWS % 4 != i], ROWS[ROWS % 4 == i]) for i in range(4)]
    options = {
        "scorer": get_scorer("accuracy"),
        "error_score": np.nan,
        "return_train_score": False,
        "verbose": 0,
        "fit_params": {},
        "score_params": {},
    }
    return Job(estimator or SVC(), X, y, splits, options)


class Workers:
    """Parallel call that records the calls; each fold takes a given time."""

    n_jobs = 2

    def __init__(self, seconds):
        self.seconds = seconds
        self.sizes = []

    def __call__(self, calls):
        calls = list(calls)
        self.sizes.append([len(arguments[1]) for _, arguments, _ in calls])
        return [
            [FoldResult(transient={"seconds": self.seconds}) for _ in arguments[1]]
            for _, arguments, _ in calls
        ]


@pytest.mark.parametrize(
    "seconds, sizes", [(1e-4, [4]), (1e-3, [4]), (0.002, [2, 2]), (0.1, [1, 1, 1, 1])]
)
def test_quick_folds_are_sent_together(seconds, sizes):
    backend, workers = Backend(job()), Workers(seconds)
    for _ in range(2):
        assert len(backend.run(workers, FOLDS)) == 4
    # The time of the first folds is not known.
    assert workers.sizes == [[1, 1, 1, 1], sizes]


@pytest.mark.parametrize("kind", BACKENDS)
def test_every_backend_returns_the_results_in_order(kind):
    large = SVC(class_weight=dict.fromkeys(range(3000), 1.0))
    with kind(job(large)) as backend:
        if kind is ProcessBackend:
            # The job is not sent with each fold.
            assert len(pickle.dumps(backend._call(FOLDS[:1], 0.0)[1])) < 1000
        expected = run_folds(DataHandle(job(large)), FOLDS)
        for _ in range(2):
            results = backend.run(Parallel(n_jobs=1), FOLDS)
            assert [result.test_scores for result in results] == [
                result.test_scores for result in expected
            ]


def test_folds_that_cannot_be_sent_give_one_warning():
    from skbayes.options.limits.killable_backend import KillableBackend

    class Staying:
        def __reduce__(self):
            raise TypeError("stays here")

    workers, folds = Workers(0.0), [Fold(i, {"C": Staying()}) for i in range(2)]
    limits = FitLimits(trial_timeout=9.0)
    with KillableBackend(ThreadBackend(job()), limits, {}) as backend:
        with pytest.warns(UserWarning) as warned:
            backend.run(workers, folds)
    assert workers.sizes == [[1, 1]]
    assert ["stays here" in str(one.message) for one in warned] == [True]


def test_an_error_of_loading_the_job_is_returned():
    class Unreadable:
        def __reduce__(self):
            return int, ("no number",)

    with ProcessBackend(job(Unreadable())) as backend:
        (result,) = run_folds(backend.handle, FOLDS[:1])
    assert result.status == "raised"
    assert isinstance(result.transient["exception"], ValueError)


def test_a_fit_that_searches_for_errors_raises_them():
    with ThreadBackend(job(), n_workers=2) as backend:
        with pytest.raises(ValueError, match="C"):
            backend.fit_here(Fold(0, {"C": -1.0}, raises=True))
        assert backend.fit_here(Fold(0, {"C": 1.0}, raises=True)).is_fitted


# -- transfer of the data --------------------------------------------------------------

TABLE = np.arange(600.0).reshape(100, 6)
SPLITS = [(np.arange(50), np.arange(50, 100)), (np.arange(50, 100), np.arange(50))]


def job_on(X, y=None, **kwargs):
    return Job(None, X, y, SPLITS, kwargs)


def arrived(handle):
    """Return the data that a worker gets from the pickled handle."""
    backends._loaded.clear()
    return pickle.loads(pickle.dumps(handle)).load()


@pytest.mark.parametrize("max_nbytes", [0, 1e6], ids=["mapped", "copied"])
def test_data_arrive_from_disk_as_they_were(max_nbytes, tmp_path):
    np.save(tmp_path / "X.npy", TABLE)
    memory_map = np.load(tmp_path / "X.npy", mmap_mode="r")
    values = {
        "C order": TABLE,
        "every other column": TABLE[:, ::2],
        "no columns": np.empty((100, 0)),
        "objects": np.array([[1, "one"], [None, 2.0]], dtype=object),
        "strings": np.array(["a", "bcd"]),
        "memory map": memory_map,
        "strided memory map": memory_map[::3, ::2],
        "CSR": sp.random(50, 9, 0.3, "csr", random_state=0),
        "CSC": sp.random(50, 9, 0.3, "csc", random_state=0),
        "pandas": pd.DataFrame({"b": ["x", "y"], "c": pd.Categorical(["u", "v"])}),
        "rows of pandas": pd.DataFrame(TABLE).iloc[::7],
        "polars": pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]}),
        "documents": ["one text", "and another"],
    }
    rule = {"rule": lambda x: x + 1}  # can be pickled by value only
    job = job_on(TABLE, None, fit_params=values, score_params=rule)
    with ProcessBackend(job, max_nbytes=max_nbytes) as transfer:
        loaded = arrived(transfer.handle)
        assert loaded.y is None and loaded.score_params["rule"](1) == 2
        for name, value in values.items():
            pair = [copy.deepcopy(one) for one in (loaded.fit_params[name], value)]
            one, other = (joblib.hash(each, coerce_mmap=True) for each in pair)
            assert one == other, name
        np.testing.assert_equal(loaded.splits, SPLITS)


@pytest.mark.parametrize("kind", BACKENDS)
def test_every_backend_hands_the_data_over_until_it_is_stopped(kind):
    job = job_on(TABLE, TABLE[:, 0], fit_params={"a": 1})
    with kind(job) as transfer:
        handle = transfer.handle
        if kind is ProcessBackend:
            handle = pickle.loads(pickle.dumps(handle))
            assert len(pickle.dumps(handle)) < 1000
        loaded = handle.load()
        assert (loaded is job) == (kind is not ProcessBackend)
        np.testing.assert_array_equal(loaded.X, TABLE)
        np.testing.assert_array_equal(loaded.y, TABLE[:, 0])
        assert loaded.fit_params == {"a": 1}
        with handle.fit_context():
            assert not handle.stopped()
        transfer.stop()
        # Fits whose data are sent by value cannot be stopped.
        assert handle.stopped() == (kind is not Backend)


def test_arrays_that_are_shared_are_written_once():
    with ProcessBackend(job_on(TABLE, TABLE, fit_params={"w": TABLE})) as transfer:
        size = (Path(transfer.handle.folder) / "job").stat().st_size
    assert TABLE.nbytes < size < 2 * TABLE.nbytes
    splits = [(np.empty(0, int), np.empty(0, int))]
    empty = Job(None, np.empty((0, 3)), None, splits)
    with ProcessBackend(empty) as transfer:
        assert arrived(transfer.handle).X.shape == (0, 3)


@pytest.mark.parametrize(
    "X", [TABLE, np.asfortranarray(TABLE), TABLE[:, ::2], pd.DataFrame(TABLE)[::2]]
)
def test_small_arrays_can_be_written_to_and_large_ones_cannot(X):
    with ProcessBackend(job_on(X, np.arange(3)), max_nbytes=1000) as transfer:
        loaded = arrived(transfer.handle)
        values = loaded.X.to_numpy() if isinstance(X, pd.DataFrame) else loaded.X
        assert not values.flags.writeable
        assert loaded.y.flags.writeable
        # The pickle, which each worker copies, contains no large objects.
        size = (Path(transfer.handle.folder) / "job").stat().st_size
        assert size - transfer.handle.n_shared < 5000


def test_a_worker_maps_the_data_once():
    with (
        ProcessBackend(job_on(TABLE), max_nbytes=0) as transfer,
        ProcessBackend(job_on(TABLE + 1), max_nbytes=0) as other,
    ):
        first = arrived(transfer.handle)
        again = pickle.loads(pickle.dumps(transfer.handle)).load()
        assert again is first
        # The job of an earlier search is dropped.
        assert other.handle.load().X[0, 0] == 1
        assert len(backends._loaded) == 1


def test_a_process_fetches_the_job_of_dask_once(monkeypatch):
    fetched = []

    def gathered(key):
        fetched.append(key)
        if key == "lost":
            raise ConnectionError("the worker has ended")
        return job_on(TABLE + int(key))

    monkeypatch.setattr(backends, "_gathered", gathered)
    backends._loaded.clear()
    handles = [DaskHandle(str(i)) for i in range(3)]
    # Two searches at the same time.
    for _ in range(2):
        for i in (0, 1):
            handle = pickle.loads(pickle.dumps(handles[i]))
            assert handle.load().X[0, 0] == i
    assert fetched == ["0", "1"]
    # A fit that fails does not end the workers.
    assert run_folds(handles[2], FOLDS[:1])[0].status == "raised"
    assert len(backends._loaded) == 2
    # A lost job is no error of a fit.
    with pytest.raises(ConnectionError, match="has ended"):
        run_folds(DaskHandle("lost"), FOLDS[:1])


def resident_bytes(path):
    """Return the number of bytes of a file that are in the memory of this process."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.endswith(str(path)))
    size = next(line for line in lines[begin:] if line.startswith("Rss:"))
    return 1024 * int(size.split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_pages_that_a_fit_read_are_released():
    X = np.random.default_rng(0).random((1000, 1000))
    with ProcessBackend(job_on(X)) as transfer:
        loaded = arrived(transfer.handle)
        file = Path(transfer.handle.folder) / "job"
        for _ in range(2):
            with transfer.handle.fit_context():
                np.testing.assert_array_equal(loaded.X, X)
                assert resident_bytes(file) >= X.nbytes
            assert resident_bytes(file) < 0.1 * X.nbytes


def test_no_more_fits_than_slots_run_at_once():
    handle = ThreadBackend(job_on(TABLE), n_workers=2).handle
    with handle.fit_context(), handle.fit_context():
        assert not handle.fit_context().acquire(blocking=False)
    assert handle.fit_context().acquire(blocking=False)


def test_errors_name_the_folder_and_leave_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    with pytest.raises(ZeroDivisionError):
        with ProcessBackend(job_on(TABLE), temp_folder=str(folder)) as transfer:
            assert os.listdir(folder)
            transfer.stop()
            raise ZeroDivisionError
    with pytest.raises(TypeError, match="generator"):
        ProcessBackend(job_on(i for i in range(3)), temp_folder=str(folder))
    (tmp_path / "file").write_text("in the way")
    place = str(tmp_path / "file" / "folder")
    with pytest.raises(OSError, match="temp_folder") as raised:
        ProcessBackend(job_on(TABLE), temp_folder=place)
    assert raised.value.filename == place

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ProcessBackend, "_write", full)
    with pytest.raises(OSError, match="No space left on device.*temp_folder"):
        ProcessBackend(job_on(TABLE), temp_folder=str(folder))
    assert os.listdir(folder) == []


def test_files_that_another_program_removed_are_restored(tmp_path):
    with ProcessBackend(job_on(TABLE), temp_folder=str(tmp_path)) as transfer:
        (folder,) = tmp_path.iterdir()
        shutil.rmtree(folder)
        transfer.restore()
        np.testing.assert_array_equal(transfer.handle.load().X, TABLE)
        shutil.rmtree(folder)
        assert not transfer.handle.stopped()
        transfer.stop()
        assert transfer.handle.stopped()
    assert os.listdir(tmp_path) == []
