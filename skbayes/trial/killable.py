"""Fits in server processes, which are killed at a limit."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import json
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from typing import Any

import cloudpickle
from sklearn import config_context
from sklearn.utils.parallel import delayed

from skbayes.trial.backend import Backend, DataHandle, ProcessBackend
from skbayes.trial.fit_process import BEGUN, PROGRAM, FitRequest, Settings
from skbayes.trial.fold import Fold
from skbayes.trial.limits import AbortReason, FitLimits
from skbayes.trial.options import memory_text
from skbayes.trial.records import FoldResult, FoldStatus, TrialState
from skbayes.utils.optional import warn_user
from skbayes.utils.process_tree import TreeMemory, end_tree, is_running, worker_of

# Seconds between checks of the memory of a fit and of the state of the search.
PATIENCE = 0.05

# Fraction of the memory available to the first fit that may be lost to leaks and caches
# before the process is replaced.
MAX_LOST = 0.2

# Seconds to wait for the end of a process that has closed its connection.
LONGEST_END = 2.0

# Maximum number of starts of a process that ends before its fit begins.
N_STARTS = 3


@dataclasses.dataclass(frozen=True)
class LimitedFit:
    """Fit of a pickled fold in a server process, which loads the `portable` handle.

    Without a fold, the process only loads the job. `environment` is what a new process
    has in addition to the variables of this one.
    """

    handle: DataHandle
    portable: DataHandle
    limits: FitLimits
    fold: bytes | None = None
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_stopped(self) -> bool:
        """Whether nobody waits for the result."""
        return self.handle.stopped() or _is_orphan()


class KillableBackend(Backend):
    """Processes that are killed at a limit, each of them for a worker of a backend.

    Inputs in this process are also written for the other processes. If they cannot be
    sent, the fits run in the backend itself.
    """

    batch_seconds = 0.0

    def __init__(
        self, backend: Backend, limits: FitLimits, environment: Mapping[str, str]
    ) -> None:
        super().__init__(backend.job, n_workers=backend.n_workers)
        self.is_local, self.is_here = backend.is_local, backend.is_here
        self._backend, self._limits = backend, limits
        self._environment = environment
        self._runs_in_backend = self._has_warned = False
        # The last one has the inputs for the processes.
        self._parts = [backend]
        if not backend.is_here:
            return
        folder, least = backend.temp_folder, backend.max_nbytes
        try:
            self._parts.append(
                ProcessBackend(backend.job, temp_folder=folder, max_nbytes=least)
            )
        except (pickle.PicklingError, TypeError, AttributeError, OSError) as error:
            is_parallel = backend.n_workers > 1
            if isinstance(error, OSError) and (limits.of_trials or is_parallel):
                raise
            self._run_in_backend(error)

    def _run_in_backend(self, error: BaseException) -> None:
        self._runs_in_backend = True
        if self.is_here:
            self._warn(error)

    def _limited_fit(self, fold: Fold | None = None, spent: float = 0.0) -> LimitedFit:
        limits = dataclasses.replace(self._limits, deadline=self.end)
        limits = limits.after(spent, self.is_local)
        content = None if fold is None else cloudpickle.dumps(fold)
        handle, portable = self._backend.handle, self._parts[-1].handle
        return LimitedFit(handle, portable, limits, content, self._environment)

    def __exit__(self, *exception: object) -> None:
        """End the processes, and remove the transferred inputs."""
        if self.is_local:
            _SERVERS.end(self._parts[-1].handle.key)
        for part in self._parts:
            part.__exit__(*exception)

    def warm_up(self, executor: Any) -> None:
        """Start processes; ValueError if the inputs exceed the memory limit."""
        if self._runs_in_backend or not self.is_local:
            return
        begin, limits = time.perf_counter(), self._limits
        if limits.timeout is not None:
            # The timeout begins after the start, at most one second of which is free.
            self.end_after(limits.timeout + 1.0)
        fit = self._limited_fit()
        fits = [fit] * self.n_workers
        started: list[tuple[FoldResult | None, int]] = []

        def start_all(parallel: Any) -> list[tuple[FoldResult | None, int]]:
            with ThreadPoolExecutor(self.n_workers) as pool:
                return list(pool.map(start_server, fits))

        try:
            if self.is_here and self.n_workers > 1:
                started = executor.warm_up(start_all)
            elif self.is_here or limits.trial_memory is not None:
                started = [start_server(fit)]
        except OSError as error:  # such as in a browser, which has no processes
            if limits.of_trials:
                raise RuntimeError(
                    "trial_limits needs a process for the fits, and none could be "
                    f"started: {error}."
                ) from error
            return self._run_in_backend(error)
        for result, size in started:
            if result is not None and "reason" in result.kept:
                break  # the timeout is over
            if result is not None:
                return self._run_in_backend(result.kept["exception"])
            if limits.trial_memory is not None and size >= limits.trial_memory:
                raise ValueError(
                    f"trial_limits['memory']={memory_text(limits.trial_memory)} is "
                    "too small: before its first fit, a process uses "
                    f"{memory_text(size)} of memory."
                )
        if not self.is_here:
            _SERVERS.end(fit.portable.key)
            if limits.timeout is not None:
                calls = map(delayed(start_server), fits)
                with contextlib.suppress(Exception):
                    executor.warm_up(lambda parallel: parallel(calls), limits.timeout)
        self.start_time = time.perf_counter() - begin

    def _call(self, folds: Sequence[Fold], spent: float) -> Any:
        if not self._runs_in_backend:
            (fold,) = folds
            try:
                call = _in_thread if self.is_here else delayed(run_limited_folds)
                return call(self._limited_fit(fold, spent))
            except Exception as error:
                if not self.is_here:
                    raise
                if not self._has_warned:
                    self._warn(error)
        return self._backend._call(folds, spent)

    def fit_here(self, fold: Fold) -> FoldResult:
        """Run one fold in another process, if this is possible."""
        if self._runs_in_backend or not self.is_local:
            return self._backend.fit_here(fold)
        return run_limited_folds(self._limited_fit(fold))[0]

    def _warn(self, error: BaseException) -> None:
        self._has_warned = True
        given = ["timeout"] if self._limits.timeout is not None else []
        given += ["trial_limits"] if self._limits.of_trials else []
        warn_user(
            f"{' and '.join(given)} cannot abort a running fit, since it cannot be "
            f"sent to another process ({type(error).__name__}: {error}). Time limits "
            "are checked between the folds of a trial only, and the memory limit is "
            "not checked.",
        )

    def stop(self) -> None:
        """Request that fits that have not started are skipped, if supported."""
        self._backend.stop()

    def renew(self) -> None:
        """Transfer the inputs again if a worker was lost."""
        for part in self._parts:
            part.renew()

    def restore(self) -> None:
        """Restore files that another program has removed."""
        for part in self._parts:
            part.restore()


class FitServer:
    """Process that runs fits for this process."""

    _fit: LimitedFit

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.data_key: str | None = None
        self._memory: TreeMemory | None = None
        self.first_size = 0
        self._process, self._connection = _started(environment)
        # Messages of the process; None is the end of them.
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(Exception):
            while True:
                self._messages.put(self._connection.recv_bytes())
        self._messages.put(None)

    def _send(self, content: bytes) -> None:
        # If this fails, the process has ended, and so have its messages.
        with contextlib.suppress(Exception):
            self._connection.send_bytes(content)

    def run(self, fit: LimitedFit) -> FoldResult | None:
        """Run a fit; return its result, None if it has no fold and the job is loaded.

        An aborted fit has ended the process.
        """
        self._fit = fit
        begin, result = time.perf_counter(), None
        if self.data_key != fit.portable.key:
            result = self._load()
        if result is None:
            if fit.fold is None:
                return None
            result = self._begin(fit.fold)
        waited = time.perf_counter() - begin
        return (result or self._fitted()).keeping(waited=waited)

    def _load(self) -> FoldResult | None:
        """Load the job; return the result if this fails."""
        handle, memory = self._fit.portable, self._fit.limits.trial_memory
        result = self._begin(None, cloudpickle.dumps(handle.portable()), memory)
        if result is None:
            self.data_key = handle.key
            if memory is not None:
                worker = worker_of(self._process.pid)
                self._memory = TreeMemory(worker, handle.n_shared)
                self.first_size = self._memory.size()
        return result

    def _begin(self, fold: bytes | None, *load: Any) -> FoldResult | None:
        """Send a request, and wait until it begins; return a result without a fit."""
        settings = Settings.of_this_thread()
        if self._fit.environment:
            # It determines the number, which can change here during a proposal.
            settings = dataclasses.replace(settings, blas_threads=None)
        content = pickle.dumps(FitRequest(fold, settings, *load))
        # A process that does not read blocks the thread that sends, but no other one.
        threading.Thread(target=self._send, args=(content,), daemon=True).start()
        message = self._message()
        if isinstance(message, AbortReason):
            return self._aborted(message, 0.0)
        return None if message == BEGUN else _received(message)

    def _fitted(self) -> FoldResult:
        """Wait for the result of the running fit."""
        begin = time.perf_counter()
        try:
            message = self._message(begin)
        except EOFError:
            message = AbortReason(TrialState.FAILED, self._death_text())
        if isinstance(message, AbortReason):
            return self._aborted(message, time.perf_counter() - begin)
        result = _received(message)
        # A failed allocation counts as memory limit.
        error = result.fit_error or result.kept.get("traceback")
        reason = self._fit.limits.unallocated(error)
        if reason is None:
            return result
        return aborted_result(reason, result.kept.get("seconds", 0.0))

    def _message(self, begin: float | None = None) -> bytes | AbortReason:
        """Wait for a message; return the reason to kill the process instead, if any.

        A fit is running since `begin`. EOFError is raised if the process has ended.
        """
        while True:
            is_alive = self.is_alive
            left = PATIENCE
            if begin is not None:
                left = self._fit.limits.seconds_left(time.perf_counter() - begin)
            try:
                message = self._messages.get(timeout=min(PATIENCE, max(0.0, left)))
            except queue.Empty:
                # A child process that the fit forked may keep the connection open.
                message = b"" if is_alive else None
            if message is None:
                raise EOFError
            if message:
                return message
            if self._fit.is_stopped:
                raise _Stopped
            reason = self._excess(begin)
            if reason is not None:
                return reason

    def _excess(self, begin: float | None) -> AbortReason | None:
        limits = self._fit.limits
        if begin is None:
            return limits.overrun_search()
        reason = limits.overrun(time.perf_counter() - begin)
        if reason is None and self._memory is not None:
            assert limits.trial_memory is not None
            reason = limits.oversize(self._memory.exceeds(limits.trial_memory))
        return reason

    def _aborted(self, reason: AbortReason, seconds: float) -> FoldResult:
        self.end()
        return aborted_result(reason, seconds)

    def _death_text(self) -> str:
        """Return how the process ended, if it was not killed by this process."""
        try:
            code = self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            return "The fit closed the connection of its process."
        how = f"exit code {code}"
        with contextlib.suppress(ValueError):
            how += f" ({signal.Signals(-code).name})"
        return f"The process of the fit ended with {how}."

    @property
    def is_alive(self) -> bool:
        """Whether the process can run another fit."""
        return self._process.poll() is None

    @property
    def is_fresh(self) -> bool:
        """Whether enough memory remains after earlier fits."""
        limit = self._fit.limits.trial_memory
        if self._memory is None or limit is None:
            return True
        lost = self._memory.size() - self.first_size
        return lost <= MAX_LOST * (limit - self.first_size)

    def forget(self) -> None:
        """Leave the process to the process that forked this one."""
        self._process.returncode = 0

    def end(self) -> None:
        """Kill the process and all processes that its fits started."""
        end_tree(self._process)
        self._connection.close()


def _is_orphan() -> bool:
    """Return whether this process is a worker of a search that has died."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None or parent.pid == os.getppid():
        return False
    # With the start method forkserver, a server is the parent for the system.
    return not is_running(parent.pid)


def aborted_result(reason: AbortReason, seconds: float = 0.0) -> FoldResult:
    """Return the result of a fit that was aborted after some seconds."""
    kept = {"reason": reason, "seconds": seconds}
    return FoldResult(status=FoldStatus.ABORTED, fit_error=reason.text, kept=kept)


class _Stopped(Exception):
    """The search stopped during a fit."""


class _Servers:
    """Idle server processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[FitServer] = []
        # A process ends with the thread that started it.
        self._starter = ThreadPoolExecutor(1)

    def take(self, data_key: str, environment: Mapping[str, str]) -> FitServer:
        """Return an idle server that has loaded the data, or a new one."""
        # Servers of earlier searches have exited, and are zombies.
        self._end(lambda server: not server.is_alive)
        with self._lock:
            for server in self._idle:
                if server.data_key in (data_key, None):
                    self._idle.remove(server)
                    return server
        return FitServer(environment)

    def put_back(self, server: FitServer) -> None:
        """Keep a server for the next fit."""
        with self._lock:
            self._idle.append(server)

    def end(self, data_key: str | None = None) -> None:
        """End the servers that have loaded the data, or all servers."""
        keys = (data_key, None)
        self._end(lambda s: data_key is None or s.data_key in keys or not s.is_alive)

    def _end(self, condition: Callable[[FitServer], bool]) -> None:
        with self._lock:
            ending = list(filter(condition, self._idle))
            self._idle = [server for server in self._idle if server not in ending]
        for server in ending:
            server.end()

    def start(self, function: Callable[[], Any]) -> Any:
        """Call a function that starts a process, in a thread that does not end."""
        if threading.current_thread() is threading.main_thread():
            return function()
        return self._starter.submit(function).result()

    def forget(self) -> None:
        """Ignore the servers, which belong to the process that forked this one."""
        for server in self._idle:
            server.forget()
        self.__init__()  # type: ignore[misc]


_SERVERS = _Servers()
atexit.register(_SERVERS.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SERVERS.forget)


def start_server(fit: LimitedFit) -> tuple[FoldResult | None, int]:
    """Start a process; return its memory, and a result if it cannot fit."""
    server, result = _served(fit)
    if server is None:
        raise RuntimeError(
            f"trial_limits: a process for the fits was started {N_STARTS} times, "
            "and ended each time before the first fit."
        )
    if result is None or "reason" not in result.kept:
        _SERVERS.put_back(server)
    return result, server.first_size


def _served(fit: LimitedFit) -> tuple[FitServer | None, FoldResult | None]:
    """Run a fit by a server, and again if its process ends before a fit."""
    for _ in range(N_STARTS):
        server = _SERVERS.take(fit.portable.key, fit.environment)
        try:
            return server, server.run(fit)
        except BaseException as error:
            server.end()
            if not isinstance(error, EOFError):
                raise
    return None, None


def run_limited_folds(fit: LimitedFit) -> list[FoldResult]:
    """Run the fold of a fit in another process."""
    fit = dataclasses.replace(fit, limits=fit.limits.received())
    try:
        with fit.handle.room():
            return [_limited(fit)]
    except (_Stopped, KeyboardInterrupt):
        return [FoldResult(status=FoldStatus.INTERRUPTED)]


class _InThread:
    """Fit in a thread of this process, as `delayed` of scikit-learn.

    It does not change the filters of warnings, which all threads share.
    """

    def with_config(self, config: Mapping[str, Any], filters: Any = None) -> Any:
        """Return a function that runs a fit with a configuration of scikit-learn."""

        def run(fit: LimitedFit) -> list[FoldResult]:
            with config_context(**config):
                return run_limited_folds(fit)

        return run

    with_config_and_warning_filters = with_config


def _in_thread(fit: LimitedFit) -> tuple[_InThread, tuple[LimitedFit], dict]:
    """Return a call for joblib."""
    return _InThread(), (fit,), {}


def _limited(fit: LimitedFit) -> FoldResult:
    if fit.is_stopped:
        raise _Stopped
    reason = fit.limits.overrun_search()
    if reason is not None:
        return aborted_result(reason)
    server, result = _served(fit)
    if server is None or result is None:
        text = f"The process of the fit ended {N_STARTS} times before its fit."
        return aborted_result(AbortReason(TrialState.FAILED, text))
    if "reason" not in result.kept and server.is_fresh:
        _SERVERS.put_back(server)
    else:
        server.end()
    return result


def _started(
    environment: Mapping[str, str],
) -> tuple[subprocess.Popen, Connection]:
    parent_end, child_end = multiprocessing.Pipe()
    path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    number = str(child_end.fileno())
    worker_of = multiprocessing.parent_process()
    search = os.getpid() if worker_of is None else worker_of.pid
    pids = [str(os.getpid()), str(search)]
    command = [get_executable(), "-c", PROGRAM, path, number, *pids]
    more: dict[str, Any] = {"pass_fds": [child_end.fileno()], "start_new_session": True}
    if sys.platform == "win32":
        os.set_handle_inheritable(child_end.fileno(), True)
        more = {"close_fds": False}
    more |= {"stdin": subprocess.DEVNULL, "env": os.environ | environment}
    start = functools.partial(subprocess.Popen, command, **more)
    process = _SERVERS.start(start)
    child_end.close()
    return process, parent_end


def _received(message: bytes) -> FoldResult:
    try:
        result: FoldResult = pickle.loads(message)
    except Exception as error:  # such as an estimator that cannot be unpickled
        raise EOFError from error
    return result
