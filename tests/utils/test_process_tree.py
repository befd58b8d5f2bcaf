"""Processes and their descendants."""

import contextlib
import ctypes
import os
import subprocess
import sys

import psutil
import pytest
from programs import environment

from skbayes.utils import process_tree
from skbayes.utils.process_tree import TreeMemory, end_tree, worker_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes fork")

# A child in a session of its own; both tell that they have begun, and never end.
FAMILY = """
import os, time
taken = bytearray(50_000_000)
child = os.fork()
if child == 0:
    os.setsid()
    more = bytearray(60_000_000)
    os.write(1, f"{os.getpid()}\\n".encode())
time.sleep(600)
"""


@pytest.fixture
def family():
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", FAMILY],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    child = psutil.Process(int(process.stdout.readline()))
    yield process, child
    with process, contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
        child.kill()


def test_the_memory_of_children_counts_and_what_they_share_counts_once(family):
    process, _ = family
    # 50 MB that both share, and 60 MB of the child.
    assert TreeMemory(process.pid).exceeds(100e6) > 100e6
    assert TreeMemory(process.pid).exceeds(150e6) is None
    assert TreeMemory(process.pid).size() < 100e6


def has_ended(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_children_are_ended_with_their_parent_without_guards(family, monkeypatch):
    process, child = family
    memory = TreeMemory(process.pid)
    monkeypatch.setattr(sys, "platform", "win32")
    end_tree(process)
    assert memory.exceeds(1) is None
    assert process.returncode == -9
    assert has_ended(child)
    end_tree(process)  # a second call has no effect


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


@pytest.mark.parametrize("has_proc", [True, False])
@pytest.mark.parametrize(
    ("end", "code"), [(None, 1), ("exit", 7), ("SIGSEGV", -11), ("SIGKILL", -9)]
)
def test_a_guard_ends_all_that_its_process_started(end, code, has_proc):
    program = GUARDED
    if not has_proc:
        # As on macOS, which has the program ps only.
        program = "import os.path; os.path.exists = lambda path: False\n" + program
    process = subprocess.Popen(
        [sys.executable, "-c", program],
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
    assert worker_of(process.pid) in pids
    if end is None:
        end_tree(process)
    else:
        process.stdin.write(f"{end}\n")
        process.stdin.flush()
    with process:
        assert process.wait(600) == code
    assert all(map(has_ended, started))


def test_where_details_are_denied_shared_pages_count_twice(family, monkeypatch):
    """On macOS, only the superuser reads the details of other processes."""

    def denied(self):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    assert TreeMemory(family[0].pid).exceeds(150e6) > 150e6


@pytest.mark.parametrize(
    ("handle", "error", "waited", "expected"),
    [(7, 0, 258, True), (7, 0, 0, False), (None, 5, 0, True), (None, 87, 0, False)],
)
def test_processes_of_windows(monkeypatch, handle, error, waited, expected):
    closed = []

    class Kernel:
        def __init__(self, name, use_last_error):
            assert name == "kernel32" and use_last_error

        OpenProcess = staticmethod(lambda access, inherited, pid: handle)
        WaitForSingleObject = staticmethod(lambda process, milliseconds: waited)
        CloseHandle = staticmethod(lambda process: closed.append(process.value))

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", Kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)
    assert process_tree.is_running(12) is expected
    assert closed == ([] if handle is None else [handle])
