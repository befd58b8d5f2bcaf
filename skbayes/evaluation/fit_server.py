"""Server processes for fits: their start, their limits, and their replacement."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from typing import Any

import cloudpickle
import numpy as np
from sklearn import get_config

from skbayes import compat
from skbayes.evaluation.data_transfer import DataHandle
from skbayes.evaluation.fit_process import BEGUN, FitRequest, Messages, Settings
from skbayes.evaluation.fold import FoldOutcome
from skbayes.evaluation.limits import AbortReason, FitLimits
from skbayes.evaluation.trial import FoldStatus, TrialState
from skbayes.utils.blas import blas_threads
from skbayes.utils.process_tree import TreeMemory, end_tree

__all__ = ["FitServer", "end_servers", "run_limited_folds", "start_server"]

# Seconds between checks of the memory of a fit and of the state of the search.
PATIENCE = 0.05

# Fraction of the memory available to the first fit that may be lost to leaks and caches
# before the process is replaced.
MAX_LOST = 0.2

# Maximum number of starts of a process that ends before its fit begins.
N_STARTS = 3

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from multiprocessing import connection
from skbayes.evaluation.fit_process import serve
kind = getattr(connection, "PipeConnection", connection.Connection)
serve(kind(int(sys.argv[2])), int(sys.argv[3]), int(sys.argv[4]))
"""


class FitServer:
    """Process that runs fits for this process."""

    def __init__(self) -> None:
        self.data_key: str | None = None
        self._is_loading = False
        self._n_shared = 0
        self._memory: TreeMemory | None = None
        self.first_size = 0
        self._process, self._connection = _started()
        self._messages = Messages(self._connection)

    def load(self, handle: DataHandle, limits: FitLimits) -> None:
        """Request the process to load the inputs, without waiting."""
        self.data_key = handle.key
        self._n_shared, self._is_loading = handle.n_shared, True
        content = cloudpickle.dumps(handle)
        self._send(FitRequest(None, _settings(), content, limits.trial_memory))

    def run(
        self,
        handle: DataHandle,
        fold: bytes,
        limits: FitLimits,
        stopped: Callable[[], bool],
    ) -> FoldOutcome:
        """Run one fit; an aborted fit has ended the process."""
        begin = time.perf_counter()
        if self.data_key != handle.key:
            self.load(handle, limits)
        outcome = self.loaded(limits, stopped) if self._is_loading else None
        if outcome is None:
            self._send(FitRequest(fold, _settings()))
            outcome = self._begun(limits, stopped)
        waited = time.perf_counter() - begin
        outcome = outcome or self._fitted(limits, stopped)
        outcome.waited = waited
        return outcome

    def loaded(
        self, limits: FitLimits, stopped: Callable[[], bool]
    ) -> FoldOutcome | None:
        """Wait until the inputs are loaded; return the outcome if this fails."""
        outcome = self._begun(limits, stopped)
        if outcome is not None:
            self.data_key = None
            return outcome
        self._receive()
        self._is_loading = False
        if limits.trial_memory is not None:
            self._memory = TreeMemory(self._process.pid, self._n_shared)
            self.first_size = self._memory.size()
        return None

    def _send(self, request: FitRequest) -> None:
        try:
            self._connection.send_bytes(pickle.dumps(request))
        except OSError as error:
            raise EOFError from error

    def _begun(
        self, limits: FitLimits, stopped: Callable[[], bool]
    ) -> FoldOutcome | None:
        """Wait until the fit begins; return the outcome if it is available already."""
        try:
            reason = self._wait(stopped, limits.overrun_search)
        except OSError as error:
            raise EOFError from error
        if reason is not None:
            return self._abort(reason, 0.0)
        message = self._receive()
        return None if message == BEGUN else _received(message)

    def _receive(self) -> bytes:
        try:
            return self._messages.receive()
        except OSError as error:
            raise EOFError from error

    def _fitted(self, limits: FitLimits, stopped: Callable[[], bool]) -> FoldOutcome:
        """Wait for the outcome of the running fit."""
        begin = time.perf_counter()

        def excess() -> AbortReason | None:
            reason = limits.overrun(time.perf_counter() - begin)
            if reason is None and self._memory is not None:
                assert limits.trial_memory is not None
                reason = limits.oversize(self._memory.exceeds(limits.trial_memory))
            return reason

        def left() -> float:
            return limits.seconds_left(time.perf_counter() - begin)

        try:
            reason = self._wait(stopped, excess, left)
            if reason is None:
                return _with_memory_limit(_received(self._receive()), limits)
        except (OSError, EOFError):
            reason = AbortReason(TrialState.FAILED, self._death_text())
        return self._abort(reason, time.perf_counter() - begin)

    def _wait(
        self,
        stopped: Callable[[], bool],
        excess: Callable[[], AbortReason | None],
        left: Callable[[], float] = lambda: PATIENCE,
    ) -> AbortReason | None:
        """Wait for a message; return the reason to kill the process instead, if any."""
        while not self._messages.arrived(min(PATIENCE, max(0.0, left()))):
            if stopped() or _is_orphan():
                raise _Stopped
            # A child process that the fit forked may keep the connection open.
            if self._process.poll() is not None and not self._connection.poll():
                raise EOFError
            reason = excess()
            if reason is not None and not self._messages.is_arriving:
                return reason
        return None

    def _abort(self, reason: AbortReason, seconds: float) -> FoldOutcome:
        self.end()
        return aborted_outcome(reason, seconds)

    def _death_text(self) -> str:
        """Return how the process ended, if it was not killed by this process."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "The fit wrote to the connection of its process, or closed it."
        how = f"exit code {code}"
        with contextlib.suppress(ValueError):
            how += f" ({signal.Signals(-code).name})"
        return f"The process of the fit ended with {how}."

    @property
    def is_alive(self) -> bool:
        """Whether the process can run another fit."""
        return self._process.poll() is None

    def is_fresh(self, limits: FitLimits) -> bool:
        """Return whether enough memory remains after earlier fits."""
        if self._memory is None or limits.trial_memory is None:
            return True
        lost = self._memory.size() - self.first_size
        return lost <= MAX_LOST * (limits.trial_memory - self.first_size)

    def end(self) -> None:
        """Kill the process and all processes that its fits started."""
        end_tree(self._process)
        self._connection.close()


def _is_orphan() -> bool:
    """Return whether this process is a worker of a search that has died."""
    parent = multiprocessing.parent_process()
    return parent is not None and parent.pid != os.getppid()


def aborted_outcome(reason: AbortReason, seconds: float = 0.0) -> FoldOutcome:
    """Return the outcome of a fit that was aborted after some seconds."""
    return FoldOutcome(FoldStatus.ABORTED, reason=reason, seconds=seconds)


class _Stopped(Exception):
    """The search stopped during a fit."""


class _Servers:
    """Idle server processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[FitServer] = []
        self._starter: ThreadPoolExecutor | None = None

    def take(self, data_key: str) -> FitServer:
        """Return an idle server that has loaded the data, or a new one."""
        with self._lock:
            # Servers of earlier searches have exited, and are zombies.
            for server in [s for s in self._waiting if not s.is_alive]:
                self._waiting.remove(server)
                server.end()
            for server in self._waiting:
                if server.data_key in (data_key, None):
                    self._waiting.remove(server)
                    return server
        return FitServer()

    def put_back(self, server: FitServer) -> None:
        """Keep a server for the next fit."""
        with self._lock:
            self._waiting.append(server)

    def end(self, data_key: str | None = None) -> None:
        """End the servers that have loaded the data, or all servers."""
        with self._lock:
            ending = [
                s
                for s in self._waiting
                if data_key is None or s.data_key in (data_key, None) or not s.is_alive
            ]
            self._waiting = [s for s in self._waiting if s not in ending]
        for server in ending:
            server.end()

    def start(self, function: Callable[[], Any]) -> Any:
        """Call a function that starts a process, in a thread that does not end."""
        if threading.current_thread() is threading.main_thread():
            return function()
        with self._lock:
            if self._starter is None:
                self._starter = ThreadPoolExecutor(1)
        return self._starter.submit(function).result()

    def forget(self) -> None:
        """Ignore the servers, which belong to the process that forked this one."""
        for server in self._waiting:
            server._process.returncode = 0
        self.__init__()  # type: ignore[misc]


_SERVERS = _Servers()
atexit.register(_SERVERS.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SERVERS.forget)


def end_servers(data_key: str) -> None:
    """End the idle servers that have loaded some data."""
    _SERVERS.end(data_key)


def start_server(
    handle: DataHandle, limits: FitLimits
) -> tuple[FoldOutcome | None, int]:
    """Start a process; return its memory, and an outcome if it cannot fit."""
    portable = handle.portable()

    def load(server: FitServer) -> FoldOutcome | None:
        server.load(portable, limits)
        return server.loaded(limits, handle.stopped)

    server, outcome = _served(portable, load)
    if server is None:
        raise RuntimeError(
            f"trial_limits: a process for the fits was started "
            f"{N_STARTS} times, and ended each time before the first fit."
        )
    _SERVERS.put_back(server)
    return outcome, server.first_size


def _served(
    handle: DataHandle, function: Callable[[FitServer], FoldOutcome | None]
) -> tuple[FitServer | None, FoldOutcome | None]:
    """Call a function with a server, and again if its process ends before a fit."""
    for _ in range(N_STARTS):
        server = _SERVERS.take(handle.key)
        try:
            return server, function(server)
        except BaseException as error:
            server.end()
            if not isinstance(error, EOFError):
                raise
    return None, None


def run_limited_folds(
    handle: DataHandle, fold: bytes, limits: FitLimits
) -> list[FoldOutcome]:
    """Fit and score one fold in another process; the outcome holds all exceptions."""
    limits = limits.received()
    try:
        with handle.room():
            return [_limited(handle, fold, limits)]
    except (_Stopped, KeyboardInterrupt):
        return [FoldOutcome(FoldStatus.INTERRUPTED)]


def _limited(handle: DataHandle, fold: bytes, limits: FitLimits) -> FoldOutcome:
    portable = handle.portable()

    def run(server: FitServer) -> FoldOutcome:
        return server.run(portable, fold, limits, handle.stopped)

    if handle.stopped():
        raise _Stopped
    reason = limits.overrun_search()
    if reason is not None:
        return aborted_outcome(reason)
    server, outcome = _served(portable, run)
    if server is None or outcome is None:
        text = f"The process of the fit ended {N_STARTS} times before the fit began."
        return aborted_outcome(AbortReason(TrialState.FAILED, text))
    if outcome.reason is None and server.is_fresh(limits):
        _SERVERS.put_back(server)
        return outcome
    server.end()
    if limits.overrun_search() is None:
        # It is ready when the next fit starts.
        _SERVERS.put_back(successor := FitServer())
        with contextlib.suppress(EOFError):
            successor.load(portable, limits)
    return outcome


def _started() -> tuple[subprocess.Popen, Connection]:
    ours, theirs = multiprocessing.Pipe()
    path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    number = str(theirs.fileno())
    worker_of = multiprocessing.parent_process()
    search = os.getpid() if worker_of is None else worker_of.pid
    pids = [str(os.getpid()), str(search)]
    command = [get_executable(), "-c", _PROGRAM, path, number, *pids]
    more: dict[str, Any] = {"pass_fds": [theirs.fileno()], "start_new_session": True}
    if sys.platform == "win32":
        os.set_handle_inheritable(theirs.fileno(), True)
        more = {"close_fds": False}
    start = functools.partial(
        subprocess.Popen, command, stdin=subprocess.DEVNULL, **more
    )
    process = _SERVERS.start(start)
    theirs.close()
    return process, ours


def _settings() -> Settings:
    return Settings(
        get_config(),
        _joblib_settings(),
        np.geterr(),
        cloudpickle.dumps(list(warnings.filters)),
        blas_threads(),
        bytes(multiprocessing.current_process().authkey),
    )


def _joblib_settings() -> bytes:
    """Return joblib's settings of this thread, as far as they can be pickled."""
    settings = compat.joblib_settings()
    if hasattr(settings.get("backend"), "client"):
        # The backend for Dask needs a client, which a process of a fit does not have.
        del settings["backend"]
    for backend in (settings.get("backend"), None):
        with contextlib.suppress(Exception):
            if backend is None:
                settings.pop("backend", None)
            return cloudpickle.dumps(settings)
    return cloudpickle.dumps({})


def _received(message: bytes) -> FoldOutcome:
    try:
        outcome, caught = pickle.loads(message)
    except Exception as error:  # other bytes, which the fit has written
        raise EOFError from error
    for text, category, filename, line in caught:
        # If warnings are errors, the fit has raised them already.
        with contextlib.suppress(Warning):
            warnings.warn_explicit(
                text,
                category,
                filename,
                line,
                module=_module_of(filename),
                registry=_WARNED.setdefault(filename, {}),
            )
    return outcome


# Registries of previous warnings by file.
_WARNED: dict[str, dict] = {}


@functools.cache
def _module_of(filename: str) -> str | None:
    modules = list(sys.modules.items())
    return next((k for k, v in modules if getattr(v, "__file__", 0) == filename), None)


def _with_memory_limit(outcome: FoldOutcome, limits: FitLimits) -> FoldOutcome:
    """Return the outcome of a fit; a failed allocation counts as memory limit."""
    error = outcome.traceback_text
    if outcome.result is not None:
        error = outcome.result.fit_error or ""
    reason = limits.unallocated(error)
    if reason is None:
        return outcome
    return aborted_outcome(reason, outcome.seconds)
