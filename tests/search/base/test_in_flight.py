"""Several trials in flight, on every backend, pickles and nesting."""

import os
import pickle
import subprocess
import threading
import warnings

import joblib
import numpy as np
import pytest
import sklearn
from grid_comparison import assert_same_tables
from joblib.executor import MemmappingExecutor
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import context
from processes import SentRows, local_cluster, noted
from scripted_estimators import (
    Crowd,
    Fatal,
    Inside,
    NeedsFrame,
    RaisesIntricate,
    Restless,
    fits_and_threads,
)
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skbayes
from skbayes import BayesSearchCV
from skbayes.loop.executor import ExecutionContext
from skbayes.trial.backend import DaskBackend

pytestmark = pytest.mark.usefixtures("forked_dask")

X, y = load_iris(return_X_y=True)
SMOOTH = {"C": (1e-2, 1e2, "log-uniform"), "gamma": (1e-3, 1.0, "log-uniform")}
LOCAL = ["loky", "threading", "multiprocessing", "sequential"]


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(n_workers=2, threads_per_worker=2) as (_, client):
        yield client


def workers(backend, request):
    """Return a context with two workers of a backend, four with Dask."""
    if backend == "dask":
        client = request.getfixturevalue("cluster")
        return joblib.parallel_config("dask", client=client)
    return joblib.parallel_config(backend, n_jobs=2)


@pytest.fixture(params=[*LOCAL, "dask"])
def backend(request):
    with workers(request.param, request):
        yield request.param


def smooth(**kwargs):
    arguments = {"pre_dispatch": 4, "initial_points": 3, "n_iter": 6, "cv": 2}
    arguments |= {"random_state": 0, **kwargs}
    return BayesSearchCV(SVC(), SMOOTH, **arguments)


def restless(model=None, **kwargs):
    return smooth(**kwargs).set_params(
        estimator=model or Restless(), search_spaces={"quality": (0.0, 1.0)}
    )


@pytest.fixture(scope="module")
def reference():
    return smooth().fit(X, y)


@pytest.fixture(scope="module")
def restless_reference():
    with joblib.parallel_config("sequential"):
        return restless().fit(X, y)


def assert_same_search(a, b):
    assert_same_tables(a.cv_results_, b.cv_results_)
    assert a.best_params_ == b.best_params_
    assert [t.number for t in a.trials_] == list(range(len(a.trials_)))
    for one, other in zip(a.trials_, b.trials_, strict=True):
        assert one.expected_improvement == other.expected_improvement


def test_trials_in_flight_are_proposed_without_each_other(reference):
    alone = smooth(pre_dispatch=1).fit(X, y).cv_results_["params"]
    params = reference.cv_results_["params"]
    # The design does not depend on results, but later trials do.
    assert params[:3] == alone[:3]
    assert params[3:] != alone[3:]
    assert reference.n_points_ == 4


class Here(Restless):
    """Estimator whose fits stay in this process."""

    def __reduce__(self):
        raise TypeError("stays here")


@pytest.mark.parametrize(
    "n_workers, n_points", [(1, 1), (2, 2), (4, 3), (8, 4), (16, 6), (64, 21)]
)
def test_as_many_trials_in_flight_as_keep_the_workers_busy(n_workers, n_points):
    X, y = np.zeros((10, 1)), np.zeros(10)
    search = restless(n_iter=1, pre_dispatch="2*n_jobs", cv=5)
    with joblib.parallel_config("threading", n_jobs=n_workers):
        assert search.fit(X, y).n_points_ == n_points
        # With pruning, the folds of a trial are fitted one after the other.
        search.set_params(pruning=True).fit(X, y)
        pruning = 1 if n_workers == 1 else 1.5 * n_workers + 1
        assert search.n_points_ == min(pruning, 16)
        # The time that fits wait for a worker is not that of their trial.
        if n_workers == 2:
            search.set_params(pruning=False, trial_limits={"time": 60.0})
            with pytest.warns(UserWarning, match="fit cannot be aborted"):
                search.set_params(estimator=Here()).fit(X, y)
            assert search.n_points_ == n_points


def test_a_journal_keeps_the_number_of_trials_in_flight(tmp_path):
    path = tmp_path / "journal.db"

    def run(n_jobs, n_iter, **kwargs):
        arguments = {"pre_dispatch": "2*n_jobs", "n_iter": n_iter, "cv": 3}
        return restless(n_jobs=n_jobs, **arguments | kwargs).fit(X, y)

    whole = run(1, 6, pre_dispatch=2)
    run(2, 4, journal=path)
    continued = run(1, 6, journal=path)
    assert continued.n_points_ == 2
    assert_same_search(continued, whole)
    with pytest.raises(ValueError, match="pre_dispatch: 2 in the journal, 1 now"):
        run(1, 6, journal=path, pre_dispatch=1)


def test_same_trials_on_every_backend_whatever_the_timing(
    backend, reference, restless_reference
):
    assert_same_search(smooth().fit(X, y), reference)
    searches, (around, _) = [], joblib.parallel.get_active_backend()

    def run():
        with joblib.parallel_config(around, n_jobs=2):
            searches.append(restless().fit(X, y))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(600)
    assert_same_search(searches[0], restless_reference)


def test_trials_have_limits_on_dask(cluster):
    params = {"pre_dispatch": 1, "n_iter": 2}
    expected = restless(**params).fit(X, y)
    with joblib.parallel_config("dask", client=cluster):
        search = restless(**params, trial_limits={"time": 600}).fit(X, y)
    assert [trial.state for trial in search.trials_] == ["complete"] * 2
    del search.cv_results_["state"]
    assert_same_search(search, expected)


def test_a_cluster_may_grow_during_a_search():
    def grow(history):
        if len(history) == 1:
            cluster.scale(2)
            client.wait_for_workers(2)
        return False

    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        local_cluster(**one) as (cluster, client),
        joblib.parallel_config("dask", client=client),
    ):
        # With fits in threads, those sent to the new worker would never end.
        assert ExecutionContext(None, "all").kind is DaskBackend
        search = restless(n_iter=4, stopper=grow).fit(X, y)
    assert_same_search(search, restless(n_iter=4).fit(X, y))


@pytest.mark.parametrize("closed", ["client", "cluster"])
def test_a_closed_cluster_is_named_and_finished_trials_remain(closed, tmp_path):
    def close(trials):
        if len(trials) == 3:
            parts[closed].close()

    search = restless(n_iter=8, journal=tmp_path / "journal", stopper=close)
    with (
        local_cluster(n_workers=2, processes=False) as (cluster, client),
        joblib.parallel_config("dask", client=client),
    ):
        parts = {"client": client, "cluster": cluster}
        with pytest.raises(RuntimeError, match="Dask or its client was closed before"):
            search.fit(X, y)
    states = list(skbayes.load_history(search.journal)["state"])
    assert states[:3] == ["complete"] * 3 and states[-1] == "unfinished"
    search.set_params(stopper=None).fit(X, y)
    assert_same_search(search, restless(n_iter=8).fit(X, y))


def test_rows_reach_each_worker_of_a_cluster_once(tmp_path):
    rows = SentRows.of(X.copy(), tmp_path)
    search = smooth(cv=3, refit=False, pre_dispatch=3)
    with (
        local_cluster(n_workers=3, threads_per_worker=1) as (_, client),
        joblib.parallel_config("dask", client=client),
    ):
        search.fit(rows, y)
    alone = clone(search).fit(X, y)
    assert_same_search(search, alone)
    workers = noted(tmp_path, "received")
    assert len(workers) == len(set(workers)) > 0
    # A worker of Dask passes them on to the others.
    assert len(noted(tmp_path, "sent")) <= len(workers)
    assert noted(tmp_path, "sent").count(os.getpid()) == 1


def test_configuration_and_routing_reach_every_fit(backend):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    routing = {"enable_metadata_routing": True, "transform_output": "pandas"}
    with sklearn.config_context(**routing):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            NeedsFrame(),
            LogisticRegression(max_iter=500).set_fit_request(sample_weight=True),
        )
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        space = {"logisticregression__C": [1e-3, 1e-1, 1.0, 10.0]}
        params = {"n_iter": 4, "scoring": scorer, "error_score": "raise"}
        search = smooth(**params).set_params(estimator=model, search_spaces=space)
        actual = clone(search).fit(X, y, sample_weight=weights)
        with joblib.parallel_config("sequential"):
            alone = search.set_params(pre_dispatch=1).fit(X, y, sample_weight=weights)
    # All configurations of a finite space are tried, in the same order.
    assert_same_tables(actual.cv_results_, alone.cv_results_)
    assert len(np.unique(actual.cv_results_["mean_test_score"])) > 2


def test_lambdas_of_the_constructor_do_not_live_on_what_fit_made():
    search = smooth(scoring=lambda e, X, y: e.score(X, y)).fit(X, y)
    for name in ("trials_", "cv_results_", "best_estimator_", "optimizer_"):
        value = getattr(search, name)
        assert type(pickle.loads(pickle.dumps(value))) is type(value)


def test_a_search_in_a_pipeline_has_the_same_trials(reference):
    pipe = make_pipeline(StandardScaler(with_mean=False, with_std=False), smooth())
    assert_same_search(pipe.fit(X, y)[-1], reference)
    params = {"bayessearchcv__n_iter": 2, "bayessearchcv__pre_dispatch": 1}
    assert clone(pipe).set_params(**params).fit(X, y)


@pytest.fixture
def crowd(tmp_path):
    (tmp_path / "crowd").mkdir()
    return Crowd(folder=str(tmp_path / "crowd"))


def test_never_more_fits_at_once_than_workers(backend, crowd, temp_folder):
    search = restless(crowd, refit=False).fit(X, y)
    n_workers = {"sequential": 1, "dask": 4}.get(backend, 2)
    most = max(trial.scores["score"].max() for trial in search.trials_)
    assert most <= n_workers
    # The trials run in parallel.
    assert most > 1 or backend == "sequential"
    assert left_over(temp_folder) == []


@pytest.mark.parametrize("backend_name", ["loky", "threading"])
def test_inside_of_a_fit_joblib_does_as_in_grid_search(backend_name):
    with joblib.parallel_config(backend_name):
        grid = GridSearchCV(Inside(), {"quality": [0, 1]}, cv=2, n_jobs=2).fit(X, y)
        ours = restless(Inside(), n_iter=4, n_jobs=2).fit(X, y)
    expected = set(grid.cv_results_["mean_test_score"])
    assert set(ours.cv_results_["mean_test_score"]) == expected


def test_workers_receive_only_what_fits_need(reference):
    lock = threading.Lock()

    def never(history):
        return lock.locked()

    rule = lambda params: not lock.locked()  # noqa: E731
    search = smooth(n_jobs=2, stopper=never, constraints=rule)
    assert_same_search(search.fit(X, y), reference)


@pytest.mark.parametrize("timeout", [None, 600])
def test_fits_and_linear_algebra_are_bounded_in_processes(monkeypatch, timeout, crowd):
    # Otherwise, the workers would inherit the tests' limit, also through their server.
    monkeypatch.setattr(context, "_DEFAULT_START_METHOD", None)
    if timeout is not None:
        monkeypatch.setattr(
            "skbayes.options.limits.killable_backend.subprocess", subprocess
        )
    get_reusable_executor(max_workers=2).shutdown(wait=True)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    search = restless(crowd, n_iter=4, n_jobs=2, refit=False, timeout=timeout)
    results = search.set_params(scoring=fits_and_threads).fit(X, y).cv_results_
    assert max(results["mean_test_threads"]) <= max(1, joblib.cpu_count() // 2)
    assert max(results["mean_test_fits"]) <= 2


@pytest.fixture
def temp_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    return tmp_path


def left_over(folder):
    return [name for name in os.listdir(folder) if name.startswith("skbayes")]


def with_failures(search):
    with pytest.warns(FitFailedWarning):
        warnings.filterwarnings("ignore", category=UserWarning)
        return search.fit(X, y)


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize("where", ["loky", "dask"])
def test_a_dying_worker_costs_its_trial_alone(
    where, request, temp_folder, monkeypatch, restless_reference
):
    terminate, calls = MemmappingExecutor.terminate, []

    def stumble(executor, kill_workers=False):
        terminate(executor, kill_workers)
        calls.append(kill_workers)
        raise AttributeError("the pool is gone")

    if where == "loky":
        # An error of the cleanup after a crash counts as the crash.
        monkeypatch.setattr(MemmappingExecutor, "terminate", stumble)
    # The third of the first four trials in flight.
    fatal = restless_reference.trials_[2].params["quality"]
    expected = with_failures(restless(Fatal(fatal=fatal)))
    with workers(where, request):
        if not joblib.parallel.get_active_backend()[0].supports_retrieve_callback:
            pytest.skip("joblib before 1.4 takes a fit that Dask cancels for a result")
        search = with_failures(restless(Fatal(fatal=fatal, end="kill")))
    states = [trial.state for trial in search.trials_]
    assert states == ["complete"] * 2 + ["failed"] + ["complete"] * 3
    assert_same_search(search, expected)
    assert "worker that ran this trial died" in search.trials_[2].error
    assert left_over(temp_folder) == []
    assert True in calls or where == "dask"


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_worker_that_was_killed_from_outside_costs_nothing(tmp_path):
    expected = restless(pre_dispatch=1, n_iter=3).fit(X, y)
    fatal = expected.trials_[2].params["quality"]
    model = Fatal(fatal=fatal, end="kill", mark=str(tmp_path / "killed"))
    with joblib.parallel_config("loky", n_jobs=2):
        search = restless(model, pre_dispatch=1, n_iter=3).fit(X, y)
    assert (tmp_path / "killed").exists()
    assert_same_search(search, expected)


class Sealed:
    """Object that can be copied, but not unpickled."""

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return int, ("sealed",)


@pytest.mark.parametrize(
    "bad, space, error",
    [
        # The task of the search is loaded once per worker.
        (Sealed(), {}, (ValueError, "sealed")),
        (None, {"bad": [Sealed()]}, (RuntimeError, "un-serialize")),
    ],
    ids=["estimator", "parameter"],
)
def test_objects_that_a_worker_cannot_unpickle_raise_an_error(bad, space, error):
    search = restless(Restless(bad=bad), n_jobs=2)
    search.set_params(search_spaces={"quality": (0.0, 1.0), **space})
    with pytest.raises(error[0], match=error[1]):
        search.fit(X, y)


def test_an_error_is_raised_when_those_in_flight_have_ended(
    temp_folder, restless_reference
):
    trials = restless_reference.trials_
    model = Fatal(fatal=trials[4].params["quality"])
    with joblib.parallel_config("loky", n_jobs=2):
        search = restless(model, error_score="raise")
        with pytest.raises(RuntimeError, match="ends badly") as raised:
            search.fit(X, y)
        assert "Raised in a worker" in "".join(raised.value.__notes__)
        assert not hasattr(search, "cv_results_")
        with pytest.raises(RuntimeError, match="Intricate: 1 and 2"):
            restless(RaisesIntricate(), error_score="raise").fit(X, y)
        # The workers are usable afterwards.
        assert len(restless(n_iter=2, pre_dispatch=2).fit(X, y).trials_) == 2
    assert left_over(temp_folder) == []
