"""Threads with the context of the thread that called `fit`, and their executor."""

import contextlib
import contextvars
import threading
import time

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    TerminatedWorkerError,
)
from joblib.parallel import (
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)
from sklearn.utils.parallel import delayed
from threadpoolctl import threadpool_info, threadpool_limits

from skbayes.compat.workers import active_backend
from skbayes.loop.executor import (
    _SHARED_WORKERS,
    ExecutionContext,
    TrialExecutor,
    is_crash,
    is_unreadable,
    was_retried,
)
from skbayes.trial.backend import Backend, ProcessBackend, ThreadBackend

pytestmark = pytest.mark.usefixtures("forked_dask")

PLACE = contextvars.ContextVar("PLACE", default="elsewhere")


def environment(n_jobs=2, **settings):
    with joblib.parallel_config(**settings):
        return ExecutionContext(n_jobs, "2*n_jobs")


def in_a_thread(function):
    """Call a function in a new thread."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join(600)
    return result[0]


# --- the environment -----------------------------------------------------------------


def seen():
    """Return all settings that are specific to a thread."""
    backend, n_jobs = get_active_backend()
    return {
        "sklearn": sklearn.get_config(),
        "backend": (type(backend), backend.nesting_level),
        "n_jobs": n_jobs,
        "errstate": np.geterr(),
        "context": PLACE.get(),
    }


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_a_thread_sees_what_the_caller_saw(backend):
    token = PLACE.set("here")
    with (
        sklearn.config_context(enable_metadata_routing=True, transform_output="pandas"),
        joblib.parallel_config(backend, n_jobs=3, temp_folder="there"),
        np.errstate(divide="raise", under="warn"),
    ):
        expected = seen()
        around = ExecutionContext(None, "all")
    PLACE.reset(token)
    assert in_a_thread(lambda: around.run(seen)) == expected
    assert in_a_thread(lambda: around.run(lambda: around.parallel(1).n_jobs)) == 3
    # Outside of the context, the settings are the same.
    assert in_a_thread(seen)["context"] == "elsewhere"
    assert seen()["sklearn"]["transform_output"] == "default"
    assert in_a_thread(lambda: environment().run(seen)) == seen()


class Particular(SequentialBackend):
    """Backend with custom settings."""

    supports_sharedmem = False

    def __init__(self, nesting_level=None, color="red", **kwargs):
        super().__init__(nesting_level=nesting_level, **kwargs)
        self.color = color

    def effective_n_jobs(self, n_jobs):
        return 2


class Unrepeatable(Particular):
    """Backend that cannot be created again."""

    def __init__(self, secret):
        super().__init__(color=secret)


@pytest.mark.parametrize(
    "backend, n_jobs, n_workers, kind, can_overlap",
    [
        ("loky", 1, 1, ThreadBackend, False),
        ("loky", 2, 2, ProcessBackend, True),
        (None, 2, 2, ProcessBackend, True),
        ("threading", 2, 2, ThreadBackend, True),
        (ThreadingBackend(), 2, 2, ThreadBackend, True),
        ("sequential", 2, 1, ThreadBackend, False),
        # Each trial in flight would start a pool of its own.
        ("multiprocessing", 2, 2, ProcessBackend, False),
        (MultiprocessingBackend(), 2, 2, ProcessBackend, False),
        # It may run anywhere.
        (Particular(color="blue"), 2, 2, Backend, True),
        # A backend that cannot be created again serves one thread.
        (Unrepeatable("green"), 2, 2, Backend, False),
    ],
)
def test_backends_decide_how_fits_run_and_no_two_threads_share_one(
    backend, n_jobs, n_workers, kind, can_overlap
):
    around = environment(n_jobs, **({"backend": backend} if backend else {}))
    assert (around.n_workers, around.kind) == (n_workers, kind)
    assert around.can_overlap == can_overlap
    backends = [around.backend]
    backends += [in_a_thread(lambda: around.run(active_backend)) for _ in range(2)]
    assert len({type(one) for one in backends}) == 1
    assert len({getattr(one, "color", None) for one in backends}) == 1
    is_repeatable = not isinstance(backend, Unrepeatable)
    assert len({*map(id, backends)}) == (3 if is_repeatable else 1)


@pytest.mark.parametrize("n_jobs, expected", [(2, ["left", 5, "back"]), (1, [5])])
def test_the_thread_of_a_search_leaves_its_worker(n_jobs, expected):
    # Otherwise, fits of Dask that are searches wait for one another's threads.
    events, caller = [], threading.current_thread()

    class Leaving(ThreadingBackend):
        @contextlib.contextmanager
        def retrieval_context(self):
            if threading.current_thread() is not caller or n_jobs == 1:
                yield
                return
            events.append("left")
            yield
            events.append("back")

    with TrialExecutor(environment(n_jobs, backend=Leaving()), 2, 1) as running:
        running.start(0, lambda parallel: parallel([delayed(abs)(-5)]))
        (future,) = running.finished().values()
        events += future.result()
    assert events == expected


def test_options_of_joblib_are_read():
    assert environment().temp_folder is None
    assert environment(temp_folder="there").temp_folder == "there"
    around = environment(backend="loky", inner_max_num_threads=3)
    assert around.run(active_backend).inner_max_num_threads == 3
    sizes = {"3K": 3 * 1024, "1.5M": 1.5 * 1024**2, "2G": 2 * 1024**3, 77: 77}
    for text, n_bytes in [*sizes.items(), (None, np.inf)]:
        assert environment(max_nbytes=text).backend_options["max_nbytes"] == n_bytes
    # As in joblib.
    assert environment().backend_options["max_nbytes"] == 1024**2
    with pytest.raises(ValueError, match="1 megabyte"):
        environment(max_nbytes="1 megabyte").backend_options  # noqa: B018


def test_fits_of_many_trials_are_taken_one_by_one():
    assert environment(n_jobs=2).parallel(5).batch_size == 1
    assert environment(n_jobs=2).parallel(99).batch_size == "auto"
    assert environment(n_jobs=2).parallel(5).pre_dispatch == "2*n_jobs"
    with joblib.parallel_config("threading", n_jobs=3):
        assert ExecutionContext(None, "all").parallel(5).n_jobs == 3


# --- threads of linear algebra -------------------------------------------------------


def blas_threads():
    return {
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    }


@pytest.mark.parametrize(
    "backend, before, inside",
    [
        ("threading", 8, 4),
        ("threading", 3, 1),
        # Never raised.
        ("threading", 1, 1),
        # joblib tells its processes.
        ("loky", 8, 8),
        ("sequential", 8, 8),
    ],
)
def test_fits_that_are_threads_share_those_of_blas(backend, before, inside):
    with threadpool_limits(before, user_api="blas"):
        if blas_threads() != {before}:
            pytest.skip("this BLAS has fewer threads")
        with environment(backend=backend).bounded_blas():
            assert blas_threads() == {inside}
        assert blas_threads() == {before}


# --- the executor --------------------------------------------------------------------


class Task:
    """Trial of two fits that waits for a signal, and records how many run."""

    running, most = 0, 0
    lock = threading.Lock()

    def __init__(self, value, go=None):
        self.value = value
        self.go = go

    def __call__(self, parallel):
        with Task.lock:
            Task.running += 1
            Task.most = max(Task.most, Task.running)
        if self.go is not None:
            assert self.go.wait(600)
        results = parallel(delayed(abs)(x) for x in (self.value, -self.value))
        with Task.lock:
            Task.running -= 1
        return results, threading.get_ident()


@pytest.fixture(autouse=True)
def nothing_runs():
    Task.running = Task.most = 0


def all_results(executor):
    ended = {}
    while executor.unfinished:
        ended |= executor.finished()
    return ended


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_every_task_is_run_with_workers(backend):
    before = set(threading.enumerate())
    with joblib.parallel_config(backend):
        executor = TrialExecutor(ExecutionContext(2, "2*n_jobs"), size=3, n_tasks=2)
    with executor:
        assert not executor.in_this_thread
        for number in range(5):
            executor.start(number, Task(number))
        assert executor.unfinished == list(range(5))
        ended = all_results(executor)
    results, threads = zip(*(ended[n].result() for n in range(5)), strict=True)
    assert [*results] == [[n, n] for n in range(5)]
    assert threading.get_ident() not in threads
    limit = 1 if backend == "multiprocessing" else 3
    assert Task.most <= limit
    if backend == "threading":
        # The workers of joblib's pool are requested to end, which may take a moment.
        for thread in set(threading.enumerate()) - before:
            thread.join(600)
        assert set(threading.enumerate()) <= before


def test_tasks_are_returned_in_the_order_in_which_they_end():
    gates = [threading.Event() for _ in range(3)]
    with TrialExecutor(environment(backend="threading"), size=3, n_tasks=2) as executor:
        for number, gate in enumerate(gates):
            executor.start(number, Task(number, gate))
        for number in (2, 0, 1):
            gates[number].set()
            assert list(executor.finished()) == [number]
        assert executor.unfinished == []
    assert Task.most == 3


def test_one_worker_can_run_in_the_calling_thread():
    calls = []

    def fails(parallel):
        raise ZeroDivisionError

    with TrialExecutor(environment(n_jobs=1), size=3, n_tasks=2) as executor:
        assert executor.in_this_thread
        for number in (0, 1):
            executor.start(number, lambda parallel, n=number: calls.append(n))
        assert calls == []
        assert list(executor.finished()) == [0]
        assert calls == [0]
        executor.drop()
        assert executor.unfinished == []
        executor.start(2, fails)
        with pytest.raises(ZeroDivisionError):
            executor.finished()
    assert calls == [0]
    with TrialExecutor(environment(n_jobs=2), size=2, n_tasks=1) as executor:
        executor.start(0, fails)
        executor.start(1, lambda parallel: "fine")
        ended = all_results(executor)
    assert isinstance(ended[0].exception(), ZeroDivisionError)
    assert ended[1].result() == "fine"


def test_a_task_alone_has_the_workers_of_all_searches_for_itself():
    order, gates = [], [threading.Event() for _ in range(3)]

    def task(number):
        def run(parallel):
            order.append(f"{number} begins")
            assert gates[number].wait(600)
            order.append(f"{number} ends")

        return run

    def has_begun(number):
        while f"{number} begins" not in order:
            time.sleep(0.001)

    with contextlib.ExitStack() as stack:
        one, two, three = [
            stack.enter_context(TrialExecutor(environment(backend="loky"), 1, 1))
            for _ in range(3)
        ]
        one.start(0, task(0))
        has_begun(0)
        two.start(1, task(1), alone=True)
        while not _SHARED_WORKERS._n_alone:
            time.sleep(0.001)
        three.start(2, task(2))
        gates[2].set()
        gates[0].set()
        has_begun(1)
        gates[1].set()
        for executor in (one, two, three):
            executor.finished()
    assert order == [f"{n} {event}" for n in range(3) for event in ("begins", "ends")]
    assert _SHARED_WORKERS._n_calls == _SHARED_WORKERS._n_alone == 0


def test_an_interrupt_does_not_wait_for_threads():
    gate, ended = threading.Event(), threading.Event()

    def task(parallel):
        gate.wait(600)
        ended.set()

    around = environment(backend="threading")
    with pytest.raises(KeyboardInterrupt), TrialExecutor(around, 1, 2) as executor:
        executor.start(0, task)
        raise KeyboardInterrupt
    assert not ended.is_set()
    gate.set()
    assert ended.wait(600)


# --- workers of several tasks --------------------------------------------------------


def test_workers_of_a_thread_are_prepared_once_unless_another_call_lost_them():
    calls = []
    with TrialExecutor(environment(backend="loky"), 1, 2) as executor:
        for number in range(3):
            executor.start(number, lambda parallel: calls.append(parallel))
            executor.finished()
        assert len(set(map(id, calls))) == 1
        for number in range(2):
            executor.start(number, Task(number))
            (future,) = executor.finished().values()
            assert future.result()[0] == [number, number]
            if number == 0:
                # As after the death of a worker in the trial of another thread.
                get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def named(module, name):
    return type(name, (Exception,), {"__module__": module})()


UNREADABLE = "A task has failed to un-serialize."


@pytest.mark.parametrize(
    "error, is_dead, retried, unreadable",
    [
        (named("distributed.scheduler", "KilledWorker"), True, True, False),
        (named("distributed.client", "FutureCancelledError"), True, False, False),
        (named("distributed.client", "FutureError"), False, False, False),
        (named("elsewhere", "KilledWorker"), False, False, False),
        (TerminatedWorkerError(), True, False, False),
        (BrokenProcessPool(UNREADABLE), True, False, True),
        (RuntimeError(UNREADABLE), False, False, False),
    ],
    ids=repr,
)
def test_errors_tell_a_crashed_worker(error, is_dead, retried, unreadable):
    later = RuntimeError("The executor underlying Parallel was shut down.")
    later.__context__ = error
    assert is_crash(error) == is_crash(later) == is_dead
    assert (was_retried(error), is_unreadable(error)) == (retried, unreadable)
