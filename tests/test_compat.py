"""Functions of `compat` on the installed release."""

import ast
import inspect
import operator
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
from joblib.executor import MemmappingExecutor
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend
from local_dask import local_cluster
from recording_callbacks import Recorder, Stopper
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.parallel import delayed

import skbayes
from skbayes import BayesSearchCV, compat

pytestmark = pytest.mark.usefixtures("forked_workers")

X, y = load_iris(return_X_y=True)


def release():
    return tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def test_callbacks_are_told_by_signature_and_agree_with_the_release():
    assert compat.HAS_CALLBACKS == (release() >= (1, 9))


def test_private_functions_take_what_we_give_them():
    from sklearn.model_selection import _validation

    taken = inspect.signature(_validation._fit_and_score).parameters
    assert set(taken) >= {
        *("estimator", "X", "y", "scorer", "train", "test", "verbose", "parameters"),
        *("fit_params", "score_params", "return_train_score", "return_times"),
        *("return_n_test_samples", "split_progress", "candidate_progress"),
        "error_score",
    }
    report = _validation._warn_or_raise_about_fit_failures
    assert set(inspect.signature(report).parameters) >= {"results", "error_score"}


@pytest.mark.parametrize(
    "method, arguments",
    [
        ("_get_scorers", []),
        ("_get_routed_params_for_fit", ["params"]),
        ("_check_refit_for_multimetric", ["scores"]),
        ("_select_best_index", ["refit", "refit_metric", "results"]),
        ("_format_results", ["candidate_params", "n_splits", "out", "more_results"]),
    ],
)
def test_private_methods_take_what_we_give_them(method, arguments):
    search = GridSearchCV(SVC(), {})
    assert list(inspect.signature(getattr(search, method)).parameters) == arguments


def test_fit_and_score_gets_what_the_release_supports():
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    arguments = compat.fit_and_score_arguments(
        **{"estimator": SVC(), "X": X, "y": y, "scorer": get_scorer("accuracy")},
        **{"train": train, "test": test, "verbose": 0, "parameters": {"C": 2}},
        **{"fit_params": {}, "score_params": {}, "error_score": np.nan},
        **{"caller": None, "callback_ctx": None, "no_release_knows_this": 1},
    )
    result = compat.fit_and_score(**arguments)
    expected = SVC(C=2).fit(X[train], y[train]).score(X[test], y[test])
    assert result["test_scores"] == expected
    assert result["fit_error"] is None


def test_format_results_is_that_of_the_release():
    search = GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(X, y)
    table = search.cv_results_
    out = [
        {
            "test_scores": table[f"split{split}_test_score"][row],
            "fit_time": 1.0,
            "score_time": 2.0,
            "n_test_samples": 75,
            "fit_error": None,
        }
        for row in range(2)
        for split in range(2)
    ]
    again = compat.format_results(search, table["params"], 2, out, {"more": [3, 4]})
    assert set(again) == {*table, "more"}
    for key in set(table) - {"params"}:
        if not key.endswith("_time"):
            np.testing.assert_array_equal(again[key], table[key])
    assert isinstance(again["more"], np.ndarray)
    best = compat.select_best_index(True, "score", again)
    assert best == search.best_index_


def test_scorers_are_seen_for_what_they_are():
    several, metric = compat.resolve_scorers(
        GridSearchCV(SVC(), {}, scoring=["accuracy", "f1_macro"], refit="f1_macro")
    )
    assert compat.is_multimetric_scorer(several)
    assert metric == "f1_macro"
    assert set(compat.public_scorers(several)) == {"accuracy", "f1_macro"}
    one, metric = compat.resolve_scorers(GridSearchCV(SVC(), {}))
    assert not compat.is_multimetric_scorer(one)
    assert metric == "score"
    assert compat.public_scorers(one) is one


def test_routed_parameters_have_the_three_consumers():
    weights = np.ones(150)
    groups = np.arange(150)
    routed = compat.route_fit_params(
        GridSearchCV(LogisticRegression(), {}),
        {"sample_weight": weights, "groups": groups},
    )
    assert routed.splitter.split == {"groups": groups}
    assert routed.estimator.fit == {"sample_weight": weights}
    assert set(routed.scorer.score) == (
        {"sample_weight"} if release() >= (1, 7) else set()
    )


def test_a_search_works_without_a_callback_api(monkeypatch):
    search = BayesSearchCV(SVC(), {"C": [1, 2]}, n_iter=2, cv=2, random_state=0)
    expected = clone(search).fit(X, y).best_params_
    monkeypatch.setattr(compat, "HAS_CALLBACKS", False)
    assert search.fit(X, y).best_params_ == expected


@pytest.fixture
def task():
    if not compat.HAS_CALLBACKS:
        pytest.skip("scikit-learn has callbacks since 1.9")
    search = BayesSearchCV(SVC(), {}).set_callbacks(Stopper(1), Recorder())
    root = search._init_callback_context(max_subtasks=2)
    middle = root.subcontext("search", max_subtasks=9, sequential_subtasks=False)
    contexts = [
        middle.subcontext("candidate-split-evaluation", task_id=i) for i in range(9)
    ]
    return compat.EvaluationTask(search, contexts[1])


def test_a_task_notes_the_request_to_stop(task):
    assert task.call_on_fit_task_begin(estimator=task.search) is task
    assert not task.stop_requested
    assert task.call_on_fit_task_end(estimator=task.search)
    assert task.stop_requested


def test_a_pickled_task_leads_to_its_ancestors_alone(task):
    node = pickle.loads(pickle.dumps(task))._context
    assert (node.task_name, node.task_id) == ("candidate-split-evaluation", 1)
    search = node.parent
    assert (search.task_name, search.max_subtasks) == ("search", 9)
    assert list(search._children_map.values()) == [node]
    assert search.parent.task_name == "fit"
    assert search.parent._children_map == {search.task_id: search}
    assert search.parent.parent is None
    # What is at home is untouched.
    assert len(list(task._context.parent)) == 10


def test_private_names_are_touched_nowhere_else():
    folder = Path(skbayes.__file__).parent
    for path in folder.rglob("*.py"):
        if path.name == "compat.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [*(node.module or "").split("."), *[n.name for n in node.names]]
            elif isinstance(node, ast.Import):
                names = [part for n in node.names for part in n.name.split(".")]
            if names and names[0] in ("sklearn", "joblib", "scipy"):
                private = [name for name in names if name.startswith("_")]
                assert not private, f"{path.name}: {private}"


def test_threads_that_begin_together_share_one_new_pool_of_processes(monkeypatch):
    def slow(executor, name, value):
        # joblib completes a pool after loky has made it.
        if name == "_temp_folder_manager":
            time.sleep(0.3)
        object.__setattr__(executor, name, value)

    monkeypatch.setattr(MemmappingExecutor, "__setattr__", slow, raising=False)
    get_reusable_executor(max_workers=2).shutdown(wait=True)

    def call():
        with joblib.parallel_config(compat.own_backend(LokyBackend()), n_jobs=2):
            return joblib.Parallel()(joblib.delayed(abs)(i) for i in (-1, 2))

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(call), pool.submit(call)]
    assert [result.result() for result in results] == [[1, 2]] * 2


def test_a_task_is_not_sent_to_a_pool_that_has_ended():
    # Another thread that replaces the pool holds this lock until calls have ended.
    with (
        joblib.parallel_config(compat.own_backend(LokyBackend()), n_jobs=2),
        joblib.Parallel() as parallel,
    ):
        backend, pool = parallel._backend, parallel._backend._workers
        assert parallel(joblib.delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        held, ended = threading.Event(), threading.Event()

        def hold():
            with pool._submit_resize_lock:
                held.set()
                ended.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        pool.shutdown(wait=False)
        with pytest.raises(compat.ShutdownExecutorError, match="before this task"):
            send = getattr(backend, "submit", None) or backend.apply_async
            send(partial(abs, -1))
        ended.set()
        thread.join()


def test_a_result_that_loky_no_longer_fetches_is_an_error(monkeypatch):
    with (
        joblib.parallel_config(compat.own_backend(LokyBackend()), n_jobs=2),
        compat.PromptParallel() as parallel,
    ):
        assert parallel(delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        ended = threading.Thread(target=int)
        ended.start()
        ended.join()
        pool = parallel._backend._workers
        with monkeypatch.context() as patch:
            patch.setattr(pool, "_executor_manager_thread", ended)
            with pytest.raises(compat.ShutdownExecutorError, match="fetches results"):
                parallel(delayed(time.sleep)(60) for _ in range(2))
    # The next call has other workers.
    with joblib.parallel_config(compat.own_backend(LokyBackend()), n_jobs=2):
        assert compat.PromptParallel()(delayed(abs)(i) for i in (-1, 2)) == [1, 2]


def test_a_result_of_a_closed_client_of_dask_is_an_error(monkeypatch):
    threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        local_cluster(**threads) as (_, client),
        joblib.parallel_config("dask", client=client),
        monkeypatch.context() as patch,
    ):
        parallel = compat.PromptParallel()
        assert parallel(delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        patch.setattr(client, "status", "closed")
        with pytest.raises(compat.ShutdownExecutorError, match="fetches results"):
            parallel(delayed(abs)(i) for i in (-1, 2))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_prompt_parallel_returns_what_parallel_returns(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        parallel = compat.PromptParallel(n_jobs=2, batch_size=1)
        squares = parallel(delayed(operator.pow)(x, 2) for x in range(20))
        assert squares == [x * x for x in range(20)]
        with pytest.raises(TypeError):
            parallel(delayed(operator.pow)(x, "2") for x in range(3))
        # joblib 1.3 may raise a late error of a failed call in the next call.
        parallel = compat.PromptParallel(n_jobs=2, batch_size=1)
        assert parallel(delayed(operator.pow)(x, 2) for x in range(3)) == [0, 1, 4]
