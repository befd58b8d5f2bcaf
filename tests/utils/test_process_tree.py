"""Processes and their descendants."""

import os
import subprocess
import sys

import psutil
import pytest
from processes import environment

from skbayes.utils.process_tree import FitMemory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes fork")

# A guard, its process, and a child in a session of its own, which tells that it has
# begun.
FAMILY = """
import os, time
if os.fork():
    time.sleep(600)
taken = bytearray(50_000_000)
if os.fork() == 0:
    os.setsid()
    more = bytearray(60_000_000)
    os.write(1, b"begun\\n")
time.sleep(600)
"""


@pytest.mark.parametrize("is_denied", [False, True])
def test_memory_that_children_share_counts_once_unless_details_are_denied(
    is_denied, monkeypatch
):
    def denied(self):
        raise psutil.AccessDenied  # as on macOS

    if is_denied:
        monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    command = [sys.executable, "-S", "-c", FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as guard:
        assert guard.stdout.readline() == b"begun\n"
        # 50 MB that both share, and 60 MB of the child.
        memory = FitMemory(guard.pid)
        assert memory.size() < 100e6 < memory.exceeds(100e6)
        assert (FitMemory(guard.pid).exceeds(150e6) is not None) == is_denied
        family = psutil.Process(guard.pid).children(recursive=True)
        for process in [guard, *family]:
            process.kill()
        psutil.wait_procs(family, timeout=10)
    assert memory.exceeds(1) is None


def has_ended(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


# A guarded process with a child, and a daemon in its own session; it ends itself as
# told, or never.
GUARDED = """
import os, signal, sys, time
from skbayes.utils.process_tree import continue_guarded
continue_guarded(os.getppid(), os.getppid(), os.open(os.devnull, os.O_RDONLY))
if os.fork():
    os.write(1, f"{os.getpid()}\\n".encode())
    end = sys.stdin.readline().strip()
    if end == "exit":
        os._exit(7)
    os.kill(os.getpid(), getattr(signal, end))
if os.fork():
    time.sleep(600)
os.setsid()
if os.fork():
    os._exit(0)
os.write(1, f"{os.getpid()}\\n".encode())
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found on Linux only")
@pytest.mark.parametrize(
    ("end", "code"), [(None, 1), ("exit", 7), ("SIGSEGV", 139), ("SIGKILL", 137)]
)
def test_a_guard_ends_all_that_its_process_started(end, code):
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(),
    )
    pids = [int(process.stdout.readline()) for _ in range(2)]
    started = [psutil.Process(pid) for pid in pids]
    started += psutil.Process(process.pid).children(recursive=True)
    assert len(set(started)) == 4
    if end is None:
        process.terminate()
    else:
        process.stdin.write(f"{end}\n")
        process.stdin.flush()
    with process:
        assert process.wait(600) == code
    assert all(map(has_ended, started))
