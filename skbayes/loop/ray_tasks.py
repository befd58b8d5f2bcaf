"""Backend of joblib that runs each call as one task of Ray.

Ray's own backend sends each call to an actor that it draws at random. Some actors then
have several calls, while others have none. In addition, calls of several threads would
start separate actors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Event
from typing import Any

from joblib.parallel import ParallelBackendBase

from skbayes.trial.backend import called

# Options of actors, which tasks also have.
OPTIONS = {
    *("num_cpus", "num_gpus", "resources", "memory", "accelerator_type"),
    *("runtime_env", "scheduling_strategy", "label_selector"),
}


class RayTasks(ParallelBackendBase):
    """Tasks of Ray, each of which a thread of `threads` starts and waits for.

    `options` are Ray's options for the actors of the backend. No call starts once the
    search is `interrupted`: Python waits for the threads at its end.
    """

    supports_retrieve_callback = True

    def __init__(
        self, threads: ThreadPoolExecutor, options: Mapping, interrupted: Event
    ) -> None:
        super().__init__(nesting_level=0)
        self._threads, self._interrupted = threads, interrupted
        known = {k: v for k, v in options.items() if k in OPTIONS}
        self._options = {**known, "max_retries": 0}
        self._remote: Any = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return the number of calls at the same time."""
        return int(n_jobs or 1)

    def submit(self, func: Callable, callback: Callable | None = None) -> Future:
        """Start a call as soon as a thread is free."""
        if self._remote is None:
            import ray

            # A search in a task keeps the processors of the task. If other searches do
            # so, too, none may be left for its fits.
            mode = ray.get_runtime_context().worker.mode
            options = {"num_cpus": int(mode != ray.WORKER_MODE), **self._options}
            # Ray stores each remote function until the end of its job.
            self._remote = ray.remote(called).options(**options)
        future = self._threads.submit(self._run, func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    # joblib before 1.5
    apply_async = submit

    def retrieve_result_callback(self, out: Future) -> Any:
        """Return the result of a call."""
        return out.result()

    def _run(self, func: Callable) -> Any:
        import ray

        if self._interrupted.is_set():
            raise CancelledError
        return ray.get(self._remote.remote(func))
