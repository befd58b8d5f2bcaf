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
from typing import Any

from skbayes.utils.optional import import_optional

# Options of prctl on Linux.
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Constants of Windows.
SYNCHRONIZE, WAIT_TIMEOUT, ERROR_ACCESS_DENIED = 0x100000, 258, 5

# Maximum number of searches for children that were started during the termination.
N_ROUNDS = 20

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
    """Kill a process that leads its own group, and all processes that it started.

    Without psutil, children that have left the group are not killed.
    """
    with contextlib.suppress(ImportError):
        psutil = require_psutil()
        if process.poll() is None:
            with contextlib.suppress(psutil.Error):
                _end_children(psutil, psutil.Process(process.pid))
    if hasattr(os, "killpg"):
        # The group id remains valid after the process has ended.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


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
    """Return whether a process exists."""
    if sys.platform == "win32":  # where signal 0 ends a process
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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


def end_group() -> None:
    """Kill this process and its process group."""
    if hasattr(os, "killpg"):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


def die_with_parent(parent: int) -> None:
    """Let the system kill this process and its forked children after the parent.

    It has no effect if the system does not support it. Orphaned descendants become
    children of this process.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, 9)
    if hasattr(os, "register_at_fork"):
        # Forked processes do not inherit the setting.
        os.register_at_fork(after_in_child=lambda: _prctl(PR_SET_PDEATHSIG, 9))
    if hasattr(os, "killpg") and os.getppid() != parent:
        end_group()


def _prctl(option: int, value: int) -> None:
    """Call the function `prctl` of Linux."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value)
