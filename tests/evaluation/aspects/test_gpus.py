"""GPUs of fits: `trial_limits`, with names of devices that do not exist."""

import os
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor

import joblib
import pytest
from grid_comparison import Sometimes, assert_same_tables
from limited_estimators import OnDevice, devices
from local_dask import local_cluster
from recording_callbacks import Recorder
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV
from skbayes.evaluation.killable import KillableBackend
from skbayes.evaluation.slots import held_slot

pytestmark = pytest.mark.usefixtures("forked_workers")

X, y = load_iris(return_X_y=True)
SPACE = {"quality": (0.1, 0.9)}

posix = pytest.mark.skipif(os.name != "posix", reason="the fits send signals")


@pytest.fixture(autouse=True)
def two_devices(monkeypatch, tmp_path_factory):
    """Name two devices; workers of joblib may have other folders for the locks."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")


def search_of(model, space=SPACE, **more):
    options = {"n_iter": 3, "cv": 2, "random_state": 0, "error_score": "raise"}
    options |= {"trial_limits": {"gpu": 1}, **more}
    return BayesSearchCV(model, space, **options)


@pytest.mark.parametrize("backend, n_jobs", [("loky", 2), ("threading", 3)])
def test_each_fit_has_a_separate_device(backend, n_jobs, tmp_path):
    search = search_of(OnDevice(folder=tmp_path, n_at_once=2))
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        search.fit(X, y)
    assert len(devices(tmp_path)) == 6 and {*devices(tmp_path)} == {"0", "1"}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    # Two slots have the trials of two workers.
    plain = search_of(Sometimes(), trial_limits=None, n_jobs=2)
    assert search.n_points_ == plain.fit(X, y).n_points_ > 1
    assert search.cv_results_["params"] == plain.cv_results_["params"]


@posix
def test_a_killed_worker_releases_its_device(tmp_path):
    model, space = OnDevice(folder=tmp_path), {"way": ["good", "kill"]}
    search = search_of(model, space, n_jobs=2, pre_dispatch=2).fit(X, y)
    assert (tmp_path / "killed").exists()
    assert [trial.state for trial in search.trials_] == ["complete"] * 2
    with held_slot(2, None, (), lambda: False) as both:
        assert both["CUDA_VISIBLE_DEVICES"] == "0,1"


@pytest.mark.parametrize("n_devices", [1, 2])
def test_searches_at_once_share_the_devices(n_devices, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ["0", "0,1"][n_devices - 1])
    model = OnDevice(folder=tmp_path, n_at_once=n_devices)
    searches = [search_of(model, n_iter=2) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        for search in pool.map(lambda search: search.fit(X, y), searches):
            assert len(search.trials_) == 2
    assert len({*devices(tmp_path)}) == n_devices


def test_a_search_that_waits_for_a_device_has_its_timeout(tmp_path):
    search = search_of(Sometimes(), timeout=1, refit=False)
    late = pytest.warns(UserWarning, match="No trial was finished within timeout")
    with held_slot(2, None, (), lambda: False), late:
        search.fit(X, y)


def test_fits_may_share_a_device(monkeypatch, no_trials):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setattr(KillableBackend, "warm_up", lambda *args: None)
    search = search_of(Sometimes(), trial_limits={"gpu": 0.5}, n_jobs=8)
    plain = search_of(Sometimes(), trial_limits=None, n_jobs=2)
    for one in (search, plain):
        with joblib.parallel_config("threading"), pytest.raises(NameError):
            one.fit(X, y)
    assert search.n_points_ == plain.n_points_ > 1


def test_a_search_within_a_search(tmp_path):
    inner = search_of(OnDevice(folder=tmp_path, n_at_once=2), n_iter=1)
    model = make_pipeline(StandardScaler(), inner)
    space = {"bayessearchcv__estimator__way": ["good"]}
    outer = search_of(model, space, n_iter=1, refit=False)
    with joblib.parallel_config("threading", n_jobs=2):
        outer.fit(X, y)
    assert outer.trials_[0].state == "complete"
    # Each inner search has two fits and a refit, on the device of the outer fit.
    found = devices(tmp_path)
    assert found.count("0") == found.count("1") == 3


def test_gpus_are_not_part_of_the_identity_of_a_journal(tmp_path):
    plain = search_of(Sometimes(), trial_limits=None, n_iter=4).fit(X, y)
    for n_iter, limits in [(2, None), (4, {"gpu": 2})]:
        more = {"n_iter": n_iter, "journal": tmp_path / "journal"}
        search = search_of(Sometimes(), trial_limits=limits, **more).fit(X, y)
        assert len(search.trials_) == n_iter
    assert_same_tables(search.cv_results_, plain.cv_results_)
    for copied in (clone(search), pickle.loads(pickle.dumps(search))):
        assert copied.get_params()["trial_limits"] == {"gpu": 2}


BOOSTING = GradientBoostingClassifier(n_estimators=6, random_state=0)


@pytest.mark.parametrize(
    "more",
    [
        {"racing": True, "cv": 4, "constraints": {"model_size": "<= 9e9"}}
        | {"callbacks": [Recorder()], "refit": {"rule": "ensemble"}},
        {"estimator": BOOSTING, "rounds": 4, "space": {"max_depth": [1, 2, 3]}},
        {"return_folds": ["estimators", "predict"], "return_train_score": True}
        | {"timeout": 600, "pre_dispatch": 3, "n_jobs": 2},
    ],
    ids=lambda more: " ".join(more),
)
def test_other_options_have_their_results(more):
    options = {"estimator": Sometimes(), "space": SPACE, "callbacks": [], **more}
    model, space, callbacks = map(options.pop, ("estimator", "space", "callbacks"))
    found, timeout = [], options.pop("timeout", None)
    for limits in ({"gpu": 1}, None):
        # Without limits, fits run elsewhere.
        options["timeout"] = timeout if limits else None
        search = search_of(model, space, trial_limits=limits, **options)
        if callbacks and hasattr(search, "set_callbacks"):
            search.set_callbacks(*callbacks)
        found.append(search.fit(X, y).cv_results_)
    assert_same_tables(*found)


def test_fits_that_cannot_be_sent_use_all_devices(tmp_path):
    class Here(Sometimes):
        def __reduce__(self):
            raise TypeError("not to be pickled")

    search = search_of(Here(), n_iter=1)
    with pytest.warns(UserWarning, match="TypeError: not to.* can use all GPUs"):
        search.fit(X, y)


def test_dask_runs_as_many_fits_as_it_has_gpus(tmp_path, monkeypatch):
    search = search_of(OnDevice(folder=tmp_path), pre_dispatch=2)
    more = {"n_workers": 1, "threads_per_worker": 3, "processes": False}
    with (
        local_cluster(**more, resources={"GPU": 1}) as (_, client),
        joblib.parallel_config("dask", client=client),
    ):
        search.fit(X, y)
        # The second one would be used by a second fit at the same time.
        assert devices(tmp_path) == 6 * ["0"]
        with pytest.raises(ValueError, match="no worker of Dask"):
            search.set_params(trial_limits={"gpu": 2}).fit(X, y)
