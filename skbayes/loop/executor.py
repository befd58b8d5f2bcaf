"""Executor of trials: in the calling thread, or several trials in parallel.

joblib decides where a fit runs, as for every estimator of scikit-learn. This module
only lets several joblib calls run at the same time: a few threads, each with a separate
joblib backend and the settings of the thread that called `fit`.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any

import joblib
import numpy as np
from joblib.disk import memstr_to_bytes
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel

from skbayes import compat
from skbayes.compat import workers
from skbayes.trial.backend import (
    Backend,
    DaskBackend,
    ProcessBackend,
    ThreadBackend,
    lost_cluster,
)
from skbayes.utils.blas import shared_blas_threads

Task = Callable[[Parallel], Any]

# Seconds between checks for Ctrl-C, if waiting cannot be interrupted.
PATIENCE = 0.2

# Number of fits in flight per worker (without the fits of one more trial) that keeps
# the workers busy: a trial waits until all trials before it are observed.
FITS_PER_WORKER = 1.5


class ExecutionContext:
    """Settings of the thread that called `fit`, for use in other threads.

    The configurations of scikit-learn and joblib and NumPy's error state belong to a
    thread, and new threads start with the defaults. `n_jobs` and `pre_dispatch` are as
    for the searches. `n_workers` is the number of fits that can run in parallel, and
    `backend` is joblib's backend that runs them. With `ends_fits`, threads wait for
    processes of the search, which have the variables of `environment`.
    """

    def __init__(self, n_jobs: int | None, pre_dispatch: int | str) -> None:
        # An int is a number of trials, whose fits joblib dispatches as by default.
        is_of_fits = isinstance(pre_dispatch, str)
        self._pre_dispatch = pre_dispatch if is_of_fits else "2*n_jobs"
        self._sklearn = get_config()
        self._joblib = workers.joblib_settings()
        self._errstate = np.geterr()
        self._context = contextvars.copy_context()
        self.backend = workers.active_backend()
        self.n_workers = int(joblib.effective_n_jobs(n_jobs))
        if self._is_dask:
            # There may be one worker, or none, while others start.
            self.n_workers = max(2, self.n_workers)
        self.ends_fits = False
        self.environment: dict[str, str] = {}

    def wait_in_threads(self) -> None:
        """Replace the workers by threads, which wait for processes with the fits."""
        self.ends_fits = True
        if self.n_workers > 1:
            n_workers = self.n_workers
            self.environment = workers.environment_of(self.backend, n_workers)
        if self.kind is ProcessBackend:
            self.backend = self._joblib["backend"] = workers.threads()

    @property
    def _is_dask(self) -> bool:
        return hasattr(getattr(self.backend, "client", None), "scatter")

    @property
    def kind(self) -> type[Backend]:
        """Class of the backend for the fits."""
        # With one worker, joblib runs everything in the calling thread.
        if self.n_workers == 1 or getattr(self.backend, "supports_sharedmem", False):
            return ThreadBackend
        if self._is_dask:
            return DaskBackend
        # Backends of other packages, such as Ray and Spark, may run on other machines.
        package = type(self.backend).__module__.partition(".")[0]
        return ProcessBackend if package == "joblib" else Backend

    @property
    def backend_options(self) -> dict[str, Any]:
        """Arguments of this class."""
        # Size in bytes from which joblib maps arrays into memory.
        limit = self._joblib.get("max_nbytes", "1M")
        limit = memstr_to_bytes(limit) if isinstance(limit, str) else limit
        return {
            "n_workers": self.n_workers,
            "temp_folder": self.temp_folder,
            "max_nbytes": math.inf if limit is None else float(limit),
            "client": getattr(self.backend, "client", None),
        }

    @property
    def temp_folder(self) -> str | None:
        """Folder that joblib uses for temporary files, if it is configured."""
        return self._joblib.get("temp_folder")

    def bounded_blas(self) -> contextlib.AbstractContextManager:
        """Divide the processors among fits that are threads of this process.

        joblib and Dask do the same for processes.
        """
        if self.n_workers == 1 or not self.kind.is_here:
            return contextlib.nullcontext()
        return shared_blas_threads(self.n_workers)

    @property
    def can_overlap(self) -> bool:
        """Whether several trials can run at the same time.

        False if each of them would start as many processes as are allowed in total.
        """
        if self.n_workers == 1:
            return False
        backend = workers.separate_backend(self.backend)
        return backend is not None and not workers.owns_processes(backend)

    def explained(self, error: BaseException) -> BaseException:
        """Return an error that names the cause, if the client of Dask was closed."""
        status = getattr(getattr(self.backend, "client", None), "status", None)
        return lost_cluster(error) if status in ("closing", "closed") else error

    def trials_in_flight(self, n_tasks: int) -> int:
        """Choose the number of trials in flight that keeps all workers busy."""
        if not self.can_overlap:
            return 1
        return math.ceil(FITS_PER_WORKER * self.n_workers / n_tasks) + 1

    def parallel(self, n_tasks: int) -> Parallel:
        """Create a parallel call for trials with `n_tasks` fits."""
        has_few_tasks = n_tasks <= 4 * self.n_workers
        # Pass the number: in joblib 1.3.0, None means 1 for any configuration.
        return workers.PromptParallel(
            n_jobs=self.n_workers,
            pre_dispatch=self._pre_dispatch,
            batch_size=1 if has_few_tasks else "auto",
        )

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function with the settings of the thread that called `fit`."""
        settings = dict(self._joblib)
        is_shared = self.n_workers > 1 and workers.shares_processes(self.backend)
        if settings.get("backend") is not None or is_shared:
            # If no separate backend is possible, no other thread uses this one.
            settings["backend"] = workers.separate_backend(self.backend) or self.backend

        def entered() -> Any:
            with (
                config_context(**self._sklearn),
                joblib.parallel_config(**settings),
                np.errstate(**self._errstate),
            ):
                return function()

        return self._context.copy().run(entered)


class _SharedWorkers:
    """Calls to the workers of all searches of a process: concurrent or exclusive."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_calls = self._n_alone = 0

    @contextlib.contextmanager
    def call(self, alone: bool) -> Iterator[None]:
        """Wait until a call may begin; the body of the context is the call."""
        with self._changed:
            if alone:
                # No other call begins after this line.
                self._n_alone += 1
                self._changed.wait_for(lambda: self._n_calls == 0)
            else:
                self._changed.wait_for(lambda: self._n_alone == 0)
            self._n_calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_calls -= 1
                self._n_alone -= alone
                self._changed.notify_all()


_SHARED_WORKERS = _SharedWorkers()


class TrialExecutor:
    """Context manager that runs tasks, at most `size` in parallel.

    With one worker, a task runs in the calling thread when its result is requested, in
    the order of the tasks. The results are the same, and debuggers, warnings and Ctrl-C
    behave as in a loop. `n_tasks` is the number of fits in a task.
    """

    def __init__(self, context: ExecutionContext, size: int, n_tasks: int) -> None:
        self._context = context
        self._n_tasks = n_tasks
        self._size = size if context.can_overlap else 1
        self.in_this_thread = context.n_workers == 1
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._futures: dict[int, Future] = {}
        # Tasks that run in this thread.
        self._tasks: dict[int, Task] = {}
        self._threads: list[threading.Thread] = []
        self._parallel: Parallel | None = None
        self._retrieval = contextlib.ExitStack()

    def __enter__(self) -> TrialExecutor:
        if not self.in_this_thread:
            # A search in a fit on Dask releases its worker, which its fits may need.
            self._retrieval.enter_context(self._context.backend.retrieval_context())
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        for _ in self._threads:
            self._queue.put(None)
        if kind is not None and not issubclass(kind, Exception):
            if self._threads:
                workers.kill_workers(self._context.backend)
            return
        for thread in self._threads:
            thread.join()
        self._retrieval.close()

    def end_workers(self) -> None:
        """End the workers if they are processes that all calls of joblib share."""
        if self._threads:
            workers.end_workers(self._context.backend)

    @property
    def unfinished(self) -> list[int]:
        """Numbers of the tasks that have started and were not returned."""
        return sorted(self._futures)

    def start(self, number: int, task: Task, alone: bool = False) -> None:
        """Run a task as soon as a slot is free.

        With `alone`, it runs while no other search of this process uses its workers.
        """
        future = self._futures[number] = Future()
        if self.in_this_thread:
            self._tasks[number] = task
            return
        self._queue.put((task, future, alone))
        if len(self._threads) < min(self._size, len(self._futures)):
            # A daemon thread: a second Ctrl-C does not wait for it.
            self._threads.append(
                threading.Thread(
                    target=self._context.run, args=[self._serve], daemon=True
                )
            )
            self._threads[-1].start()

    def _serve(self) -> None:
        with contextlib.ExitStack() as stack:
            parallel: Parallel | None = None
            while (job := self._queue.get()) is not None:
                task, future, alone = job
                with self._call(alone):
                    try:
                        if parallel is None or not workers.can_serve(parallel):
                            stack.close()
                            parallel = self._context.parallel(self._n_tasks)
                            if workers.can_last(self._context.backend):
                                # Its workers are prepared once for many tasks.
                                stack.enter_context(parallel)
                        future.set_result(task(parallel))
                    except BaseException as error:
                        parallel = None
                        future.set_exception(self._context.explained(error))

    def _call(self, alone: bool) -> contextlib.AbstractContextManager:
        if workers.shares_processes(self._context.backend):
            return _SHARED_WORKERS.call(alone)
        return contextlib.nullcontext()

    def finished(self, seconds: float = math.inf) -> dict[int, Future]:
        """Wait for at least one task to end, and return the finished ones.

        The result is empty if no task ends within `seconds`. A task in this thread is
        always completed.
        """
        if self.in_this_thread:
            number = min(self._futures)
            if self._parallel is None:
                self._parallel = self._context.parallel(self._n_tasks)
            # An exception is raised here, which simplifies debugging.
            self._futures[number].set_result(self._tasks.pop(number)(self._parallel))
        else:
            completed: set[Future] = set()
            end = time.monotonic() + seconds
            while not completed and (remaining := end - time.monotonic()) > 0.0:
                patience = min(PATIENCE, remaining)
                completed, _ = wait(self._futures.values(), patience, FIRST_COMPLETED)
        ended = [n for n in self.unfinished if self._futures[n].done()]
        return {number: self._futures.pop(number) for number in ended}

    def drop(self) -> None:
        """Drop the tasks that have not run in the calling thread."""
        if self.in_this_thread:
            self._futures.clear()
            self._tasks.clear()


# Exceptions of Dask for a crashed worker.
_CRASHES = [("distributed", name) for name in ("KilledWorker", "FutureCancelledError")]


def is_crash(error: BaseException) -> bool:
    """Return whether an exception means that workers crashed, not that a fit failed.

    Dask cancels tasks if their data were lost with the workers. A failing call shuts
    down loky's pool, also for the calls of other threads. An error raised while joblib
    cleans up after a crash counts as that crash.
    """
    if isinstance(error, BrokenExecutor | compat.ShutdownExecutorError):
        return True
    if _origin(error) in _CRASHES:
        return True
    return error.__context__ is not None and is_crash(error.__context__)


def was_retried(error: BaseException) -> bool:
    """Return whether Dask ran a task on several workers, and all of them crashed."""
    return _origin(error) == ("distributed", "KilledWorker")


def _origin(error: BaseException) -> tuple[str, str]:
    """Return the package and the name of a class."""
    kind = type(error)
    return kind.__module__.partition(".")[0], kind.__qualname__


def is_unreadable(error: BaseException) -> bool:
    """Return whether loky's pool broke because an object could not be unpickled."""
    return isinstance(error, BrokenExecutor) and "un-serialize" in str(error)
