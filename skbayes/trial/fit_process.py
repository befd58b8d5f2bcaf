"""Process that runs fits for another process, which can kill it at any time.

It receives requests over a connection. It answers with `BEGUN` once it has loaded the
data and the parameters, and with the result after the fit.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import joblib
from sklearn import config_context, get_config

from skbayes.compat import workers
from skbayes.trial.backend import DataHandle
from skbayes.trial.fold import raised_result, run_folds
from skbayes.trial.records import FoldResult
from skbayes.utils.blas import blas_threads, set_blas_threads
from skbayes.utils.process_tree import WATCH_INTERVAL, data_size, is_running

# Program of a process for fits. The guard is forked before the imports of libraries
# that start threads.
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from skbayes.utils.process_tree import continue_guarded
number, parent, search = map(int, sys.argv[2:])
continue_guarded(parent, search, number)
from multiprocessing import connection
from skbayes.trial.fit_process import serve
kind = getattr(connection, "PipeConnection", connection.Connection)
serve(kind(number), search)
"""

# Sent at the start of a fit.
BEGUN = b"begun"

# Idle seconds after which the process exits, if the end of a search is not visible.
IDLE_SECONDS = 10.0

# Bytes that a process may reserve, but not use, beyond the memory limit.
RESERVE = 1 << 30


@dataclass
class Settings:
    """Settings of the thread that requests a fit; bytes are pickled."""

    sklearn: Mapping[str, Any]
    joblib: bytes
    filters: bytes
    blas_threads: int | None
    authkey: bytes

    @classmethod
    def of_this_thread(cls) -> Settings:
        """Return the settings of the calling thread."""
        return cls(
            get_config(),
            _joblib_settings(),
            cloudpickle.dumps(list(warnings.filters)),
            blas_threads(),
            bytes(multiprocessing.current_process().authkey),
        )

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the settings in the context."""
        set_blas_threads(self.blas_threads)
        try:
            settings = pickle.loads(self.joblib)
        except Exception:  # the backend does not work here
            settings = {}
        with (
            config_context(**self.sklearn),
            joblib.parallel_config(**settings),
            warnings.catch_warnings(),
        ):
            warnings.filters[:] = pickle.loads(self.filters)  # type: ignore[index]
            yield


def _joblib_settings() -> bytes:
    """Return joblib's settings of this thread, as far as they can be pickled."""
    settings = workers.joblib_settings()
    # The backend for Dask needs a client, which a process of a fit does not have.
    is_of_dask = hasattr(settings.get("backend"), "client")
    plain = {name: value for name, value in settings.items() if name != "backend"}
    for some in (plain if is_of_dask else settings, plain):
        with contextlib.suppress(Exception):
            return cloudpickle.dumps(some)
    return cloudpickle.dumps({})


@dataclass
class FitRequest:
    """Request for a fit of a pickled fold; None only loads the pickled `handle`.

    A limit of `memory` applies from this request on.
    """

    fold: bytes | None
    settings: Settings
    handle: bytes | None = None
    memory: int | None = None


@dataclass
class _Server:
    """State of the process between two fits."""

    connection: Connection
    handle: DataHandle | None = None
    idle_since: float | None = field(default_factory=time.monotonic)

    def answer(self, request: FitRequest) -> None:
        """Send `BEGUN`, run one fit, and send its result."""
        pid = os.getpid()
        with request.settings.applied():
            try:
                if request.handle is not None:
                    self.handle = pickle.loads(request.handle)
                assert self.handle is not None
                self.handle.load()
                # This may import modules, which is not part of the fit.
                fold = None if request.fold is None else pickle.loads(request.fold)
            except Exception as error:
                return self._reply(raised_result(error, traceback.format_exc()))
            if request.memory is not None:
                _limit_data(request.memory)
            self.connection.send_bytes(BEGUN)
            if fold is None:
                return None
            (result,) = run_folds(self.handle, [fold])
        if os.getpid() != pid:  # a child process that the fit forked returned here
            os._exit(0)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        return self._reply(result)

    def _reply(self, result: FoldResult) -> None:
        try:
            content = cloudpickle.dumps(result)
        except Exception as error:
            error.add_note("The result of a fit cannot be pickled.")
            result = raised_result(error, traceback.format_exc())
            content = cloudpickle.dumps(result)
        self.connection.send_bytes(content)

    def is_needed(self) -> bool:
        """Return whether another fit may be requested."""
        if self.idle_since is None:
            return True
        gone = None if self.handle is None else self.handle.is_gone()
        if gone is None:
            return time.monotonic() - self.idle_since < IDLE_SECONDS
        return not gone


def serve(connection: Connection, search: int) -> None:
    """Answer requests until the parent process or the search ends."""
    process = multiprocessing.current_process()
    process.name = "skbayes-fit"
    server = _Server(connection)
    threading.Thread(target=_watch, args=(server, search), daemon=True).start()
    try:
        while True:
            server.idle_since = time.monotonic()
            request = pickle.loads(connection.recv_bytes())
            server.idle_since = None
            process.authkey = request.settings.authkey
            server.answer(request)
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the connection is closed
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)  # its guard ends what the fits have started


def _watch(server: _Server, search: int) -> None:
    """End this process if it is not needed."""
    # Workers of joblib outlive a killed search by minutes.
    while server.is_needed() and is_running(search):
        time.sleep(WATCH_INTERVAL)
    os._exit(1)


def _limit_data(n_bytes: int) -> None:
    """Let allocations far beyond the limit fail."""
    try:
        import resource
    except ImportError:
        return
    if not hasattr(resource, "RLIMIT_DATA"):
        return
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = data_size() + n_bytes + RESERVE
        if hard == resource.RLIM_INFINITY or soft < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
