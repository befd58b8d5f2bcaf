"""Process that runs fits for another process, which can kill it at any time.

It receives requests over a connection. It answers with `BEGUN` once it has loaded the
data and the parameters, and with the outcome after the fit.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import struct
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
import numpy as np
from sklearn import config_context

from skbayes.evaluation.data_transfer import DataHandle
from skbayes.evaluation.fold import FoldOutcome, raised_outcome, run_folds
from skbayes.utils.blas import set_blas_threads
from skbayes.utils.process_tree import data_size, die_with_parent, end_group, is_running

__all__ = ["BEGUN", "FitRequest", "Messages", "Settings", "serve"]

# Sent at the start of a fit.
BEGUN = b"begun"

# Start of each message from this process, followed by its length.
MARK = b"skbayes:"
HEADER = struct.Struct(f"!{len(MARK)}sQ")

# Maximum number of bytes to read at a time.
CHUNK = 1 << 20

# Seconds between checks whether this process is still needed.
WATCH_INTERVAL = 0.2

# Idle seconds after which the process exits, if the end of a search is not visible.
IDLE_SECONDS = 10.0

# Bytes that a process may reserve, but not use, beyond the memory limit.
RESERVE = 1 << 30


@dataclass
class Settings:
    """Settings of the thread that requests a fit; bytes are pickled."""

    sklearn: Mapping[str, Any]
    joblib: bytes
    errstate: Mapping[str, Any]
    filters: bytes
    blas_threads: int | None
    authkey: bytes


@dataclass
class FitRequest:
    """Request for a fit of a pickled fold; None only loads the pickled `handle`."""

    fold: bytes | None
    settings: Settings
    handle: bytes | None = None
    memory: int | None = None


class Messages:
    """Messages at one end of a pipe, to which a fit can write other bytes.

    They have a mark, and the receiver does not wait for as many bytes as a wrong length
    announces.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._received = bytearray()

    def send(self, content: bytes) -> None:
        """Send a message."""
        message = memoryview(HEADER.pack(MARK, len(content)) + content)
        if sys.platform == "win32":
            return self.connection.send_bytes(message)
        while message:
            message = message[os.write(self.connection.fileno(), message) :]

    def arrived(self, seconds: float | None) -> bool:
        """Wait for a complete message; EOFError for other bytes or the end of them."""
        if self._end() is None and self.connection.poll(seconds):
            self._received += self._read()
        return self._end() is not None

    @property
    def is_arriving(self) -> bool:
        """Whether a part of a message has arrived."""
        return len(self._received) >= len(MARK) or self.connection.poll()

    def receive(self) -> bytes:
        """Return the next message."""
        while not self.arrived(None):
            pass
        end = self._end()
        content = bytes(memoryview(self._received)[HEADER.size : end])
        del self._received[:end]
        return content

    def _read(self) -> bytes:
        if sys.platform == "win32":
            return self.connection.recv_bytes()
        content = os.read(self.connection.fileno(), CHUNK)
        if not content:
            raise EOFError
        return content

    def _end(self) -> int | None:
        """Return the position after the first message; None if it is incomplete."""
        if not MARK.startswith(self._received[: len(MARK)]):
            raise EOFError
        if len(self._received) < HEADER.size:
            return None
        end = HEADER.size + int(HEADER.unpack_from(self._received)[1])
        return end if len(self._received) >= end else None


@dataclass
class _Server:
    """State of the process between two fits."""

    messages: Messages
    handle: DataHandle | None = None
    idle_since: float | None = field(default_factory=time.monotonic)

    def answer(self, request: FitRequest) -> None:
        """Run one fit, and send its outcome."""
        pid = os.getpid()
        with _with_settings(request.settings) as caught:
            try:
                if request.handle is not None:
                    self.handle = pickle.loads(request.handle)
                assert self.handle is not None
                self.handle.load()
                # This may import modules, which is not part of the fit.
                fold = None if request.fold is None else pickle.loads(request.fold)
            except Exception as error:
                return self._reply(_failed(error), [])
            if request.memory is not None and request.handle is not None:
                _limit_data(request.memory)
            self.messages.send(BEGUN)
            outcome = FoldOutcome()
            if fold is not None:
                (outcome,) = run_folds(self.handle, [fold])
        if os.getpid() != pid:  # a child process that the fit forked returned here
            os._exit(0)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        self._reply(outcome, caught)

    def _reply(self, outcome: FoldOutcome, caught: list[Any]) -> None:
        try:
            reply = cloudpickle.dumps((outcome, _portable(caught)))
        except Exception as error:
            error.add_note("The result of a fit cannot be pickled.")
            reply = cloudpickle.dumps((_failed(error), []))
        self.messages.send(reply)

    def is_needed(self) -> bool:
        """Whether another fit may be requested."""
        if self.idle_since is None:
            return True
        gone = None if self.handle is None else self.handle.is_gone()
        if gone is None:
            return time.monotonic() - self.idle_since < IDLE_SECONDS
        return not gone


def _failed(error: Exception) -> FoldOutcome:
    """Return the outcome of a fit that could not start, or could not be sent."""
    text = traceback.format_exc()
    return raised_outcome(error, text)


def serve(connection: Connection, parent: int, search: int) -> None:
    """Answer requests until the parent process or the search ends."""
    die_with_parent(parent)
    process = multiprocessing.current_process()
    process.name = "skbayes-fit"
    server = _Server(Messages(connection))
    threading.Thread(target=_watch, args=(server, parent, search), daemon=True).start()
    try:
        while True:
            server.idle_since = time.monotonic()
            # The first request is sent immediately.
            request = pickle.loads(connection.recv_bytes())
            server.idle_since = None
            process.authkey = request.settings.authkey
            server.answer(request)
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the connection is closed
    except BaseException:
        traceback.print_exc()
    finally:
        end_group()


def _watch(server: _Server, parent: int, search: int) -> None:
    """End this process and all processes that its fits started, if not needed."""
    while server.is_needed():
        time.sleep(WATCH_INTERVAL)
        if hasattr(signal, "SIGKILL") and os.getppid() != parent:
            break
        # Workers of joblib outlive a killed search by minutes.
        if not is_running(search):
            break
    end_group()


@contextlib.contextmanager
def _with_settings(settings: Settings) -> Iterator[list[Any]]:
    """Apply settings in the context; yield the list of its warnings."""
    set_blas_threads(settings.blas_threads)
    with (
        config_context(**settings.sklearn),
        joblib.parallel_config(**_joblib_settings(settings.joblib)),
        np.errstate(**settings.errstate),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.filters[:] = pickle.loads(settings.filters)  # type: ignore[index]
        yield caught


def _joblib_settings(content: bytes) -> dict[str, Any]:
    """Return the settings of joblib; empty if its backend does not work here."""
    try:
        settings: dict[str, Any] = pickle.loads(content)
    except Exception:
        return {}
    return settings


def _portable(caught: list[Any]) -> list[tuple]:
    portable = []
    for warning in caught:
        message = warning.message
        try:
            pickle.loads(cloudpickle.dumps(message))
        except Exception:
            message = UserWarning(str(message))
        portable.append((message, type(message), warning.filename, warning.lineno))
    return portable


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
