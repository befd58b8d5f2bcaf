"""Calls of joblib on the installed release."""

import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import joblib
import pytest
from joblib.executor import MemmappingExecutor
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend
from processes import local_cluster
from sklearn.utils.parallel import delayed

from skbayes.compat import workers

pytestmark = pytest.mark.usefixtures("forked_dask")


def test_threads_that_begin_together_share_one_new_pool_of_processes(monkeypatch):
    def slow(executor, name, value):
        # joblib completes a pool after loky has created it.
        if name == "_temp_folder_manager":
            time.sleep(0.3)
        object.__setattr__(executor, name, value)

    monkeypatch.setattr(MemmappingExecutor, "__setattr__", slow, raising=False)
    get_reusable_executor(max_workers=2).shutdown(wait=True)

    def call():
        with joblib.parallel_config(workers.separate_backend(LokyBackend()), n_jobs=2):
            return joblib.Parallel()(joblib.delayed(abs)(i) for i in (-1, 2))

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(call), pool.submit(call)]
    assert [result.result() for result in results] == [[1, 2]] * 2


def test_a_task_is_not_sent_to_a_pool_that_has_ended():
    # A thread that replaces the pool holds the lock until calls have ended.
    with (
        joblib.parallel_config(workers.separate_backend(LokyBackend()), n_jobs=2),
        joblib.Parallel() as parallel,
    ):
        backend, pool = parallel._backend, parallel._backend._workers
        assert parallel(joblib.delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        held, ended = threading.Event(), threading.Event()

        def hold():
            with workers._POOL_LOCK:
                held.set()
                ended.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        pool.shutdown(wait=False)
        with pytest.raises(workers.ShutdownExecutorError, match="before it received"):
            send = getattr(backend, "submit", None) or backend.apply_async
            send(partial(abs, -1))
        ended.set()
        thread.join()


def test_a_result_that_loky_no_longer_fetches_is_an_error(monkeypatch):
    with (
        joblib.parallel_config(workers.separate_backend(LokyBackend()), n_jobs=2),
        workers.PromptParallel() as parallel,
    ):
        assert parallel(delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        ended = threading.Thread(target=int)
        ended.start()
        ended.join()
        pool = parallel._backend._workers
        with monkeypatch.context() as patch:
            patch.setattr(pool, "_executor_manager_thread", ended)
            with pytest.raises(workers.ShutdownExecutorError, match="fetches results"):
                parallel(delayed(time.sleep)(60) for _ in range(2))
    # The next call has other workers.
    with joblib.parallel_config(workers.separate_backend(LokyBackend()), n_jobs=2):
        assert workers.PromptParallel()(delayed(abs)(i) for i in (-1, 2)) == [1, 2]


def test_a_result_of_a_closed_client_of_dask_is_an_error(monkeypatch):
    threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with (
        local_cluster(**threads) as (_, client),
        joblib.parallel_config("dask", client=client),
        monkeypatch.context() as patch,
    ):
        parallel = workers.PromptParallel()
        assert parallel(delayed(abs)(i) for i in (-1, 2)) == [1, 2]
        patch.setattr(client, "status", "closed")
        with pytest.raises(workers.ShutdownExecutorError, match="fetches results"):
            parallel(delayed(abs)(i) for i in (-1, 2))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_prompt_parallel_returns_what_parallel_returns(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        parallel = workers.PromptParallel(n_jobs=2, batch_size=1)
        squares = parallel(delayed(operator.pow)(x, 2) for x in range(20))
        assert squares == [x * x for x in range(20)]
        if backend != "multiprocessing":  # its pool can hang after an error
            with pytest.raises(TypeError):
                parallel(delayed(operator.pow)(x, "2") for x in range(3))
        # joblib 1.3 may raise a late error of a failed call in the next call.
        parallel = workers.PromptParallel(n_jobs=2, batch_size=1)
        assert parallel(delayed(operator.pow)(x, 2) for x in range(3)) == [0, 1, 4]
