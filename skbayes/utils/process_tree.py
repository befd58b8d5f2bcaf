"""Process trees: the memory of a process and its children, and their termination."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from typing import Any, NoReturn

from skbayes.utils.optional import import_optional

# Options of prctl on Linux.
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Constants of Windows.
SYNCHRONIZE, WAIT_TIMEOUT, ERROR_ACCESS_DENIED = 0x100000, 258, 5

# Maximum number of searches for children that were started during the termination, and
# the seconds between two of them.
N_ROUNDS, PAUSE = 20, 0.01

# Seconds between two checks of a guard whether the search still runs.
WATCH_INTERVAL = 0.2

# Seconds after which a process that does not end is left to the system.
LONGEST_END = 5.0

# Seconds between two scans of all processes of the machine, which take long.
TREE_INTERVAL = 0.5


def require_psutil() -> Any:
    """Import psutil, or raise an ImportError that names the extra to install."""
    return import_optional(
        "psutil", extra="limits", purpose="trial_limits={'memory': ...}"
    )


class TreeMemory:
    """Resident memory of a process and all processes that it started.

    Mapped files that are shared with other processes, `shared` bytes, do not count.
    """

    def __init__(self, pid: int, shared: int = 0) -> None:
        self._psutil = require_psutil()
        self._process = self._psutil.Process(pid)
        self._shared = shared
        self._next_measurement = 0.0

    def exceeds(self, limit: float) -> int | None:
        """Return the memory in bytes if it exceeds a limit, otherwise None.

        The process itself is measured in each call, and its children less often.
        """
        memory = self._own(self._process)
        if memory > limit:
            return memory
        if time.monotonic() < self._next_measurement:
            return None
        children = self._children()
        self._next_measurement = time.monotonic() + TREE_INTERVAL
        if not children or memory + sum(map(self._own, children)) <= limit:
            return None
        # Pages shared by forked children and their parent count once.
        size = sum(map(self._proportional, [self._process, *children]))
        return size if size > limit else None

    def size(self) -> int:
        """Return the memory of the process itself in bytes."""
        return self._own(self._process)

    def _children(self) -> list[Any]:
        try:
            return list(self._process.children(recursive=True))
        except self._psutil.Error:
            return []

    def _own(self, process: Any) -> int:
        try:
            info = process.memory_info()
        except self._psutil.Error:
            return 0
        return int(info.rss - min(getattr(info, "shared", 0), self._shared))

    def _proportional(self, process: Any) -> int:
        try:
            info = process.memory_full_info()
        except self._psutil.Error:  # macOS does not permit it for other processes
            return self._own(process)
        return int(getattr(info, "pss", info.uss))


def data_size() -> int:
    """Return the size of the data of this process in bytes; 0 if it is unknown."""
    info = require_psutil().Process().memory_info()
    return int(getattr(info, "data", 0))


def end_tree(process: subprocess.Popen) -> None:
    """Kill a guard, its process, and all processes that this one started.

    Windows has no guards. Without psutil, only the process itself is killed there.
    """
    if sys.platform == "win32":
        with contextlib.suppress(ImportError):
            psutil = require_psutil()
            with contextlib.suppress(psutil.Error):
                _end_children(psutil, psutil.Process(process.pid))
        process.kill()
    else:
        process.terminate()
    try:
        process.wait(LONGEST_END)
    except subprocess.TimeoutExpired:  # such as a read from a disk that is gone
        process.kill()


def _end_children(psutil: Any, process: Any) -> None:
    """Kill the children of a process until there are none."""
    # A suspended process starts no children, and remains the parent of existing ones.
    process.suspend()
    for _ in range(N_ROUNDS):
        children = [
            child
            for child in process.children(recursive=True)
            if child.status() != psutil.STATUS_ZOMBIE
        ]
        if not children:
            return
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.kill()


def machine_name() -> str:
    """Return a short name of the machine or container of this process."""
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):x}"


def is_running(pid: int) -> bool:
    """Return whether a process exists, and has not ended as a zombie."""
    if sys.platform == "win32":  # where signal 0 ends a process
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return _stat(pid)[:1] != ["Z"]


def _is_running_on_windows(pid: int) -> bool:
    library = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    library.OpenProcess.restype = ctypes.c_void_p
    handle = library.OpenProcess(SYNCHRONIZE, False, pid)
    if not handle:  # a process of another user exists
        return ctypes.get_last_error() == ERROR_ACCESS_DENIED  # type: ignore[attr-defined]
    try:
        waited: int = library.WaitForSingleObject(ctypes.c_void_p(handle), 0)
        return waited == WAIT_TIMEOUT
    finally:
        library.CloseHandle(ctypes.c_void_p(handle))


def continue_guarded(parent: int, search: int, connection: int) -> None:
    """Continue in a child of this process, which becomes its guard.

    The guard kills this process and all processes that it has started, as soon as this
    process, the `parent` or the process of the `search` ends, or at a signal. It runs
    no other code, so that it reacts during any computation. On Linux, processes that
    have left their session are found too, because orphans become children of the guard.
    The file `connection` remains open in this process only. Windows has no guards.
    """
    if sys.platform == "win32":
        return
    guard = os.getpid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        return
    os.close(connection)
    _guard(worker, parent, search)


def _guard(worker: int, parent: int, search: int) -> NoReturn:
    """Wait for the end of one of the processes, and end all that the worker started."""

    def end(*_: Any) -> None:
        _end_guarded(worker)

    def check(*_: Any) -> None:
        if os.getppid() != parent or not is_running(search):
            _end_guarded(worker)

    # The process that starts this one may block signals.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, WATCH_INTERVAL, WATCH_INTERVAL)
    # Without it, the end of the parent is noticed by the next check.
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    while True:
        pid, status = os.waitpid(-1, 0)  # orphans are children too
        if pid == worker:
            _end_guarded(worker, os.waitstatus_to_exitcode(status))


def _end_guarded(worker: int, code: int | None = None) -> NoReturn:
    """Kill a worker and its descendants, and end this process with its exit code."""
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if code is None:
        # A stopped process starts no children, and remains the parent of them.
        os.kill(worker, signal.SIGSTOP)
    for _ in range(N_ROUNDS):
        if not (pids := _descendants(os.getpid()) - {worker}):
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)
    with contextlib.suppress(OSError):
        os.killpg(worker, signal.SIGKILL)
    if code is None:
        os.waitpid(worker, 0)
    elif code < 0:
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code is not None and code >= 0 else 1)


def worker_of(guard: int) -> int:
    """Return the process that a guard guards; on Windows, the process itself."""
    if sys.platform == "win32":
        return guard
    return next((pid for pid, parent in _parents().items() if parent == guard), guard)


def _descendants(pid: int) -> set[int]:
    """Return the processes that a process and its children have started."""
    parents, found, last = _parents(), set[int](), {pid}
    while last:
        last = {child for child, parent in parents.items() if parent in last}
        found |= last
    return found


def _parents() -> dict[int, int]:
    """Return the parent of each process of the machine, without zombies."""
    if os.path.exists("/proc/self/stat"):
        rows = [[pid, *_stat(pid)] for pid in filter(str.isdigit, os.listdir("/proc"))]
    else:
        command = ["ps", "-A", "-o", "pid=", "-o", "stat=", "-o", "ppid="]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ps:
            rows = [line.split() for line in ps.communicate()[0].splitlines()]
        rows = [row for row in rows if row[0] != str(ps.pid)]
    return {int(row[0]): int(row[2]) for row in rows if row[1:] and row[1][0] != "Z"}


def _stat(pid: str | int) -> list[str]:
    """Return the state and the parent of a process on Linux; nothing if it is gone."""
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
