"""Processes of fits: their memory, and a guard that ends all that they have started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
import zlib
from typing import Any, NoReturn

from skbayes.utils.optional import import_optional

# Options of prctl on Linux.
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Interval in seconds at which a guard checks that the search still runs.
WATCH_INTERVAL = 0.2

# Interval in seconds of the scans for the children of a fit, which take long.
SCAN_INTERVAL = 0.5


def require_psutil() -> Any:
    """Import psutil, or raise an ImportError that names the extra to install."""
    return import_optional(
        "psutil", extra="limits", purpose="trial_limits={'memory': ...}"
    )


class FitMemory:
    """Resident memory of the process that a `guard` guards, and of its children.

    Mapped files that are shared with other processes, `shared` bytes, do not count.
    """

    def __init__(self, guard: int, shared: int = 0) -> None:
        self._psutil = require_psutil()
        self._guard, self._shared = self._psutil.Process(guard), shared
        self._process = next(iter(self._guard.children()), self._guard)
        self._next_scan = 0.0

    def exceeds(self, limit: float) -> int | None:
        """Return the memory in bytes if it exceeds a limit, otherwise None.

        The process itself is measured in each call, and its children less often.
        """
        size = self.size()
        if size <= limit and time.monotonic() >= self._next_scan:
            with contextlib.suppress(self._psutil.Error):
                children = self._guard.children(recursive=True)
                size += sum(map(self._unshared, set(children) - {self._process}))
            self._next_scan = time.monotonic() + SCAN_INTERVAL
        return size if size > limit else None

    def size(self) -> int:
        """Return the memory of the process itself in bytes."""
        try:
            info = self._process.memory_info()
        except self._psutil.Error:
            return 0
        return int(info.rss - min(getattr(info, "shared", 0), self._shared))

    def _unshared(self, child: Any) -> int:
        """Return the memory of a child without the pages of the process it forked."""
        try:
            return int(child.memory_full_info().uss)
        except self._psutil.AccessDenied:  # macOS permits it to the superuser only
            return int(child.memory_info().rss)
        except self._psutil.Error:
            return 0


def machine_name() -> str:
    """Return a short name of the machine or container of this process."""
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):x}"


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    if sys.platform == "win32":  # signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return _stat(pid)[:1] != ["Z"]


def continue_guarded(parent: int, search: int, connection: int) -> None:
    """Continue in a child of this process, which becomes its guard.

    The guard kills this process and all processes that it has started, as soon as this
    process, the `parent` or the process of the `search` ends, or at a signal. It runs
    no other code, so that it reacts during any computation. On Linux, processes that
    have left their session are found too, because orphans become children of the guard.
    The file `connection` remains open in this process only.
    """
    guard = os.getpid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        return
    os.close(connection)
    _guard(process, parent, search)


def _guard(process: int, parent: int, search: int) -> NoReturn:
    """Wait until one of the processes ends, and kill all that the first one started.

    The exit code is that of the process, as in a shell.
    """
    # The process that starts this one may block signals.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    code = 1
    with contextlib.suppress(SystemExit):
        for number in numbers:
            signal.signal(number, lambda *_: sys.exit())
        while os.getppid() == parent and is_running(search):
            pid, status = os.waitpid(-1, os.WNOHANG)  # orphans are children too
            if pid == process:
                code = os.waitstatus_to_exitcode(status)
                break
            time.sleep(WATCH_INTERVAL)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
    _kill_children()
    os._exit(code if code >= 0 else 128 - code)


def _kill_children() -> None:
    """Kill the children of this process, and then the orphans that it inherits."""
    if not sys.platform.startswith("linux"):
        return
    this = str(os.getpid())
    while pids := [p for p in os.listdir("/proc") if _stat(p)[1:] == [this]]:
        for pid in map(int, pids):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _stat(pid: str | int) -> list[str]:
    """Return state and parent of a process on Linux; an empty list if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name before them may contain spaces and parentheses.
            return file.read().rpartition(b")")[2].decode().split()[:2]
    except OSError:
        return []


def _prctl(option: int, value: int) -> None:
    """Call the function `prctl` of Linux."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value)
