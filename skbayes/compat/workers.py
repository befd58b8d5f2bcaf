"""Calls of joblib that return promptly, end with their workers, and share no state."""

from __future__ import annotations

import inspect
import os
import threading
import time
from concurrent.futures import Future, wait
from functools import partial
from multiprocessing.pool import ApplyResult
from typing import Any

from joblib import cpu_count, parallel_config
from sklearn.utils.parallel import Parallel

from skbayes.compat.private_names import (
    TASK_PENDING,
    ShutdownExecutorError,
    _joblib_state,
    default_parallel_config,
    get_active_backend,
    get_reusable_executor,
    resource_tracker,
)

# Seconds between checks whether a fit has finished, as in joblib.
LONGEST_WAIT = 0.01

_POOL_LOCK = threading.RLock()


class PromptParallel(Parallel):
    """Parallel call that returns the result of a fit without delay.

    joblib checks for results every 10 ms, which adds 5 to 10 ms to each trial.
    """

    def _wait_retrieval(self) -> bool:
        waiting = super()._wait_retrieval()
        jobs = getattr(self, "_jobs", None)
        if waiting and jobs and not getattr(self, "_aborting", True):
            _await_status(jobs[0])
            if _is_lost(jobs[0], self._backend):
                raise ShutdownExecutorError("The thread that fetches results ended.")
        return waiting


def _await_status(job: Any) -> None:
    """Wait for at most about 10 ms until a job of joblib is not pending."""
    future = getattr(job, "job", None)
    if isinstance(future, Future):
        wait([future], LONGEST_WAIT)
    elif isinstance(future, ApplyResult):
        future.wait(LONGEST_WAIT)
    else:
        return
    # A callback of the future sets the status a moment later.
    for _ in range(10):
        status = getattr(job, "status", None)
        done = future.done() if isinstance(future, Future) else future.ready()
        if TASK_PENDING is None or status != TASK_PENDING or not done:
            return
        time.sleep(1e-4)


def _is_lost(job: Any, backend: Any) -> bool:
    """Return whether the thread of loky or the client of Dask for results has ended."""
    manager = getattr(vars(backend).get("_workers"), "_executor_manager_thread", None)
    # Check the thread first: before its end, it sets the results that it knows.
    has_ended = manager is not None and not manager.is_alive()
    has_ended |= getattr(getattr(backend, "client", None), "status", None) == "closed"
    future = getattr(job, "job", None)
    return has_ended and isinstance(future, Future) and not future.done()


def joblib_settings() -> dict[str, Any]:
    """Return the settings of the active `joblib.parallel_config` contexts."""
    config = getattr(_joblib_state, "config", {})
    return {k: v for k, v in config.items() if v is not default_parallel_config.get(k)}


def active_backend() -> Any:
    """Return the joblib backend that is active in this thread."""
    return get_active_backend()[0]


def separate_backend(backend: Any) -> Any:
    """Return a new backend with the same settings, or None if this is impossible.

    Threads that share a backend lose results.
    """
    # Attributes named like arguments of the constructor are its arguments.
    arguments = {
        name: getattr(backend, name)
        for name, parameter in inspect.signature(type(backend)).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and hasattr(backend, name)
    }
    for field in ("backend_kwargs", "submit_kwargs"):
        arguments |= getattr(backend, field, {})
    try:
        new = type(backend)(**arguments)
    except TypeError:
        return None
    for name in ("nesting_level", "inner_max_num_threads", "wait_for_workers_timeout"):
        if hasattr(backend, name):
            setattr(new, name, getattr(backend, name))
    if hasattr(new, "client"):
        # While the workers of a cluster restart, there may be a single one. joblib then
        # runs fits in the process of the search, even one that has killed a worker.
        new.effective_n_jobs = partial(_at_least_two, new.effective_n_jobs)
    # loky may return a new pool to a second thread before joblib has prepared it. Two
    # threads that shut down a broken pool interfere with each other.
    new.configure = partial(_one_at_a_time, new.configure)
    new.abort_everything = partial(_one_at_a_time, new.abort_everything)
    if shares_processes(new):
        # The name was `apply_async` before joblib 1.5.
        name = "submit" if hasattr(new, "submit") else "apply_async"
        setattr(new, name, partial(_submit_or_fail, new, getattr(new, name)))
    return new


def environment_of(backend: Any, n_workers: int) -> dict[str, str]:
    """Return the variables by which joblib divides the processors among processes."""
    n_threads = getattr(backend, "inner_max_num_threads", None)
    share = max(1, cpu_count() // n_workers)
    names = getattr(backend, "MAX_NUM_THREADS_VARS", ())
    return {name: str(n_threads or os.environ.get(name, share)) for name in names}


def nested_settings() -> dict[str, Any]:
    """Return the settings of joblib within a fit that a worker of this thread runs."""
    backend, n_jobs = active_backend().get_nested_backend()
    return {"backend": backend, "n_jobs": n_jobs}


def threads() -> Any:
    """Return joblib's backend of threads."""
    with parallel_config("threading"):
        return active_backend()


def _one_at_a_time(method: Any, *args: Any, **kwargs: Any) -> Any:
    with _POOL_LOCK:
        return method(*args, **kwargs)


def _submit_or_fail(backend: Any, submit: Any, *args: Any, **kwargs: Any) -> Any:
    """Submit a task to loky, or raise an error if its pool ends while this waits.

    Another thread that replaces a pool waits until the callbacks of the old pool have
    run. They wait for the lock of the call of joblib that is in `submit`.
    """
    while not _POOL_LOCK.acquire(timeout=LONGEST_WAIT):
        if _has_ended(backend._workers):
            raise ShutdownExecutorError("The pool ended before it received the task.")
    try:
        return submit(*args, **kwargs)
    finally:
        _POOL_LOCK.release()


def _at_least_two(effective_n_jobs: Any, n_jobs: int | None) -> int:
    return max(2, effective_n_jobs(n_jobs))


def owns_processes(backend: Any) -> bool:
    """Return whether each instance of this joblib backend starts new processes."""
    return "MultiprocessingBackend" in (kind.__name__ for kind in type(backend).__mro__)


def shares_processes(backend: Any) -> bool:
    """Return whether all calls in this process share workers, which die together."""
    return type(backend).__name__ == "LokyBackend"


def can_last(backend: Any) -> bool:
    """Return whether one call of joblib can be prepared for several trials."""
    return not hasattr(backend, "client")


def can_serve(parallel: Parallel) -> bool:
    """Return whether the workers, which another call may end, still accept tasks."""
    return not _has_ended(
        getattr(getattr(parallel, "_backend", None), "_workers", None)
    )


def _has_ended(workers: Any) -> bool:
    flags = getattr(workers, "_flags", None)
    return bool(getattr(flags, "broken", None) or getattr(flags, "shutdown", False))


def kill_workers(backend: Any) -> None:
    """Kill the processes that all calls share, as joblib does on Ctrl-C."""
    if shares_processes(backend):
        get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def end_workers(backend: Any) -> None:
    """End the processes that all calls share, whose tasks then raise an error."""
    if shares_processes(backend):
        executor = get_reusable_executor(reuse=True)
        for process in list(getattr(executor, "_processes", {}).values()):
            process.terminate()


def guard_folder(path: str) -> None:
    """Request the removal of a folder in case this process is killed."""
    resource_tracker.register(path, "folder")


def release_folder(path: str) -> None:
    """Cancel the request for a folder that has been removed."""
    resource_tracker.unregister(path, "folder")
