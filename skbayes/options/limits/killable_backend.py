"""Fits in processes that are killed at a limit, one for each thread of a search."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.spawn import get_executable

import cloudpickle
from sklearn.utils.parallel import Parallel

from skbayes.options.limits.fit_process import PROGRAM, FitRequest, Settings
from skbayes.trial.backend import Backend, ProcessBackend
from skbayes.trial.fold import Fold, raised_result
from skbayes.trial.limits import AbortReason, FitLimits, memory_text
from skbayes.trial.records import FoldResult, FoldStatus, TrialState
from skbayes.utils.optional import warn_user
from skbayes.utils.process_tree import FitMemory, is_running

# Seconds between checks of the limits of a fit and of the state of the search.
CHECK_INTERVAL = 0.05

# Fraction of the memory available to the first fit that may be lost to leaks and caches
# before the process is replaced.
MAX_LOST = 0.2

# Seconds to wait for the end of a process.
MAX_END_SECONDS = 5.0


class KillableBackend(Backend):
    """Threads of this process, each of which waits for a process that runs its fits.

    If the inputs cannot be sent to other processes, the fits run in the `threads`.
    """

    def __init__(
        self, threads: Backend, limits: FitLimits, environment: Mapping[str, str]
    ) -> None:
        super().__init__(threads.job, n_workers=threads.n_workers)
        self._threads, self._limits = threads, limits
        threads.batch_seconds = 0.0  # limits are checked between all of its fits
        self._environment = environment
        self._pool = ThreadPoolExecutor(self.n_workers)
        self._stopped = threading.Event()
        # Processes by the thread that waits for them.
        self._processes: dict[int, FitProcess] = {}
        self._has_warned = False
        self._files: ProcessBackend | None = None
        folder, least = threads.temp_folder, threads.max_nbytes
        try:
            self._files = ProcessBackend(self.job, temp_folder=folder, max_nbytes=least)
        except Exception as error:
            self._warn(error)

    def __exit__(self, *exception: object) -> None:
        """End the processes, and remove the transferred inputs."""
        self._stopped.set()
        self._pool.shutdown()
        for process in self._processes.values():
            process.end()
        if self._files is not None:
            self._files.__exit__(*exception)

    @property
    def aborts(self) -> bool:
        """Whether the inputs can be sent to processes."""
        return self._files is not None

    def warm_up(self) -> None:
        """Start the processes; ValueError if they exceed the memory limit."""
        if self._files is None:
            return
        begin, limit = time.perf_counter(), self._limits.trial_memory
        if self._limits.timeout is not None:
            # The timeout begins after the start, at most one second of which is free.
            self.end_after(self._limits.timeout + 1.0)
        results = self._run_requests(self._files, [None] * self.n_workers)
        self.start_time = time.perf_counter() - begin
        for result in results:
            if result.status == FoldStatus.INTERRUPTED:
                raise KeyboardInterrupt
            error, reason = map(result.transient.get, ("exception", "reason"))
            if reason is not None and not reason.of_search:
                error = RuntimeError(reason.text)
            if error is not None:
                self._warn(error)
                self._files.__exit__()
                self._files = None
                return
        sizes = [process.first_size for process in self._processes.values()]
        size = max(sizes, default=0)
        if limit is not None and size >= limit:
            raise ValueError(
                f"trial_limits['memory']={memory_text(limit)} is too small: before its "
                f"first fit, a process uses {memory_text(size)} of memory. Increase it."
            )

    def run(
        self, parallel: Parallel, folds: Sequence[Fold], spent: float = 0.0
    ) -> list[FoldResult]:
        """Run folds in processes; earlier folds of the trial took `spent` seconds."""
        results = self._try_processes(folds, spent)
        return self._threads.run(parallel, folds) if results is None else results

    def fit_here(self, fold: Fold) -> FoldResult:
        """Run one fold in another process, if this is possible."""
        results = self._try_processes([fold])
        return self._threads.fit_here(fold) if results is None else results[0]

    def _try_processes(
        self, folds: Sequence[Fold], spent: float = 0.0
    ) -> list[FoldResult] | None:
        """Return the results of folds in processes; None if they cannot be sent."""
        if self._files is None:
            return None
        try:
            contents = [cloudpickle.dumps(fold) for fold in folds]
        except Exception as error:
            self._warn(error)
            return None
        return self._run_requests(self._files, contents, spent)

    def _run_requests(
        self,
        files: ProcessBackend,
        contents: Sequence[bytes | None],
        spent: float = 0.0,
    ) -> list[FoldResult]:
        settings = Settings.of_this_thread(self.n_workers)
        fit = partial(self._run_request, spent=spent)
        requests = [FitRequest(files.handle, fold, settings) for fold in contents]
        if self.n_workers == 1:
            return list(map(fit, requests))
        return list(self._pool.map(fit, requests))

    def _run_request(self, request: FitRequest, spent: float) -> FoldResult:
        """Run a fit in the process of this thread."""
        limits = dataclasses.replace(self._limits, deadline=self.end, spent=spent)
        try:
            self._check_running()
            if (reason := limits.overrun_search()) is not None:
                return aborted_result(reason)
            process = self._processes.get(threading.get_ident())
            if process is None or not process.is_alive:
                process = FitProcess(self._environment, self._check_running)
                self._processes[threading.get_ident()] = process
            return process.run(request, limits)
        except (_Stopped, KeyboardInterrupt):
            return FoldResult(status=FoldStatus.INTERRUPTED)
        except OSError as error:  # such as in a browser, which has no processes
            text = f"The process of the fit could not be started: {error}."
            return aborted_result(AbortReason(TrialState.FAILED, text))

    def _check_running(self) -> None:
        """Raise an exception if nobody waits for the results."""
        if self._stopped.is_set() or _is_orphan():
            raise _Stopped

    def _warn(self, error: BaseException) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn_user(
                f"{self._limits}: a running fit cannot be aborted, since it cannot run "
                f"in another process ({type(error).__name__}: {error}). Time limits "
                "are only checked between the folds of a trial, and the memory limit "
                "is not checked.",
            )

    def stop(self) -> None:
        """Request that all fits end."""
        self._stopped.set()
        self._threads.stop()

    def restore(self) -> None:
        """Restore files that another program has removed."""
        if self._files is not None:
            self._files.restore()


class FitProcess:
    """Process that runs one fit after the other, and is killed at a limit.

    While it is awaited, `check_running` raises an exception to end it.
    """

    def __init__(
        self, environment: Mapping[str, str], check_running: Callable[[], None]
    ) -> None:
        self._check_running = check_running
        self._memory: FitMemory | None = None
        self.first_size = 0
        self._pipe, child_end = multiprocessing.Pipe()
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        # A worker of joblib outlives the process of a search that is killed.
        parent = multiprocessing.parent_process()
        search = os.getpid() if parent is None else parent.pid
        numbers = map(str, (child_end.fileno(), os.getpid(), search))
        with child_end:
            self._process = subprocess.Popen(
                [get_executable(), "-c", PROGRAM, path, *numbers],
                stdin=subprocess.DEVNULL,
                env=os.environ | environment,
                pass_fds=[child_end.fileno()],
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        """Whether the process can run another fit."""
        return self._process.poll() is None

    def run(self, request: FitRequest, limits: FitLimits) -> FoldResult:
        """Return the result of a fit; without a fold, the process only loads the job.

        The process has ended if the fit was aborted, or if it has left much memory.
        """
        begin = time.perf_counter()
        try:
            with contextlib.suppress(OSError):  # `_answer` notices a dead process
                self._pipe.send_bytes(pickle.dumps(request))
            result = self._answer(limits)
            self._measure(request, limits)
            waited = time.perf_counter() - begin
            if result is None and request.fold is not None:
                result = self._answer(limits, time.perf_counter())
            self._end_grown(limits)
        except BaseException:
            self.end()
            raise
        result = result or FoldResult()
        # A failed allocation counts as memory limit.
        error = result.fit_error or result.transient.get("traceback")
        if (reason := limits.unallocated(error)) is not None:
            result = aborted_result(reason, result.seconds)
        return result.with_transient(waited=waited)

    def _answer(
        self, limits: FitLimits, begin: float | None = None
    ) -> FoldResult | None:
        """Wait for the result of a fit that runs since `begin`.

        Before the fit, wait for None, which says that it begins, or for its result.
        """
        reason = None
        try:
            while reason is None and not self._pipe.poll(CHECK_INTERVAL):
                if not self.is_alive:  # a child of the fit may keep the pipe open
                    raise EOFError
                self._check_running()
                reason = self._exceeded(limits, begin)
            content = b"" if reason is not None else self._pipe.recv_bytes()
        except (EOFError, OSError):
            self._check_running()  # its guard may have noticed first that nobody waits
            reason = AbortReason(TrialState.FAILED, self._end_text())
        if reason is not None:
            self.end()
            seconds = 0.0 if begin is None else time.perf_counter() - begin
            return aborted_result(reason, seconds)
        try:
            result: FoldResult | None = pickle.loads(content)
        except Exception as error:  # such as of an estimator that is kept
            error.add_note("The result of a fit cannot be unpickled.")
            result = raised_result(error, traceback.format_exc())
        return result

    def _exceeded(self, limits: FitLimits, begin: float | None) -> AbortReason | None:
        if begin is None:
            return limits.overrun_search()
        reason = limits.overrun(time.perf_counter() - begin)
        if reason is None and self._memory is not None:
            assert limits.trial_memory is not None
            reason = limits.oversize(self._memory.exceeds(limits.trial_memory))
        return reason

    def _measure(self, request: FitRequest, limits: FitLimits) -> None:
        """Measure the memory, if it is limited."""
        if self._memory is None and limits.trial_memory is not None and self.is_alive:
            self._memory = FitMemory(self._process.pid, request.handle.n_shared)
            self.first_size = self._memory.size()

    def _end_grown(self, limits: FitLimits) -> None:
        """End the process if the memory that remains after its fits is too small."""
        if self._memory is not None and limits.trial_memory is not None:
            lost = self._memory.size() - self.first_size
            if lost > MAX_LOST * (limits.trial_memory - self.first_size):
                self.end()

    def _end_text(self) -> str:
        """Return how the process ended, if it was not killed by this process."""
        try:
            code = self._process.wait(MAX_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "The fit closed the connection of its process."
        how = f"exit code {code}"
        with contextlib.suppress(ValueError):
            how += f" ({signal.Signals(code - 128).name})"
        return f"The process of the fit ended with {how}."

    def end(self) -> None:
        """Kill the process and all processes that its fits started."""
        self._process.terminate()
        try:
            self._process.wait(MAX_END_SECONDS)
        except subprocess.TimeoutExpired:  # such as a read from a disk that is gone
            self._process.kill()
        self._pipe.close()


class _Stopped(Exception):
    """The search stopped during a fit."""


def _is_orphan() -> bool:
    """Return whether this process is a worker of a search that has died."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None or parent.pid == os.getppid():
        return False
    # With the start method forkserver, a server is the parent for the system.
    return not is_running(parent.pid)


def aborted_result(reason: AbortReason, seconds: float = 0.0) -> FoldResult:
    """Return the result of a fit that was aborted after some seconds."""
    result = FoldResult(status=FoldStatus.ABORTED, fit_error=reason.text)
    return result.with_transient(reason=reason, seconds=seconds)
