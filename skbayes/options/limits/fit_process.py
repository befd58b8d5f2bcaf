"""Process that runs fits for another process, which can kill it at any time.

It receives requests over a connection. It answers with None once it has loaded the data
and the parameters, and with the result after the fit.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import joblib
from sklearn import config_context, get_config

from skbayes.compat import workers
from skbayes.trial.backend import DiskHandle
from skbayes.trial.fold import raised_result, run_folds
from skbayes.trial.records import FoldResult
from skbayes.utils.blas import blas_threads, set_blas_threads

# Program of a process for fits. The guard is forked before the imports of libraries
# that start threads.
PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from skbayes.utils.process_tree import continue_guarded
number, parent, search = map(int, sys.argv[2:])
continue_guarded(parent, search, number)
from multiprocessing.connection import Connection
from skbayes.options.limits.fit_process import serve
serve(Connection(number))
"""


@dataclass
class Settings:
    """Settings of the thread that requests a fit; bytes are pickled."""

    sklearn: Mapping[str, Any]
    joblib: bytes
    filters: bytes
    blas_threads: int | None
    authkey: bytes

    @classmethod
    def of_this_thread(cls, n_workers: int) -> Settings:
        """Return the settings of a fit, nested in joblib if there are workers."""
        settings = workers.joblib_settings()
        if n_workers > 1:
            settings |= workers.nested_settings()
        return cls(
            get_config(),
            _pickled(settings),
            cloudpickle.dumps(list(warnings.filters)),
            # Variables of the environment divide the processors among several workers.
            blas_threads() if n_workers == 1 else None,
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


def _pickled(settings: Mapping[str, Any]) -> bytes:
    """Return joblib's settings, without a backend that cannot be pickled."""
    plain = {name: value for name, value in settings.items() if name != "backend"}
    for candidate in (settings, plain):
        with contextlib.suppress(Exception):
            return cloudpickle.dumps(candidate)
    return cloudpickle.dumps({})


@dataclass
class FitRequest:
    """Request for a fit of a pickled fold; None only loads the job of the `handle`."""

    handle: DiskHandle
    fold: bytes | None
    settings: Settings


def serve(connection: Connection) -> None:
    """Answer requests until the connection is closed."""
    process = multiprocessing.current_process()
    process.name = "skbayes-fit"
    try:
        while True:
            request = pickle.loads(connection.recv_bytes())
            process.authkey = request.settings.authkey
            answer(connection, request)
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the connection is closed
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)  # its guard ends what the fits have started


def answer(connection: Connection, request: FitRequest) -> None:
    """Send None, run one fit, and send its result."""
    pid = os.getpid()
    with request.settings.applied():
        try:
            request.handle.load()
            # This may import modules, which is not part of the fit.
            fold = None if request.fold is None else pickle.loads(request.fold)
        except Exception as error:
            return _reply(connection, raised_result(error, traceback.format_exc()))
        connection.send_bytes(pickle.dumps(None))
        if fold is None:
            return None
        (result,) = run_folds(request.handle, [fold])
    if os.getpid() != pid:  # a child process that the fit forked returned here
        os._exit(0)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    return _reply(connection, result)


def _reply(connection: Connection, result: FoldResult) -> None:
    try:
        content = cloudpickle.dumps(result)
    except Exception as error:
        error.add_note("The result of a fit cannot be pickled.")
        result = raised_result(error, traceback.format_exc())
        content = cloudpickle.dumps(result)
    connection.send_bytes(content)
