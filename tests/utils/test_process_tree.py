"""Processes and their descendants."""

import ctypes
import os
import subprocess
import sys

import psutil
import pytest

from skbayes.utils import process_tree
from skbayes.utils.process_tree import TreeMemory, end_tree

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
    end_tree(process)
    process.stdout.close()


def test_the_memory_of_children_counts_and_what_they_share_counts_once(family):
    process, _ = family
    # 50 MB that both share, and 60 MB of the child.
    assert TreeMemory(process.pid).exceeds(100e6) > 100e6
    assert TreeMemory(process.pid).exceeds(150e6) is None
    assert TreeMemory(process.pid).size() < 100e6


def test_children_are_ended_with_their_parent(family):
    process, child = family
    memory = TreeMemory(process.pid)
    end_tree(process)
    assert memory.exceeds(1) is None
    assert process.returncode == -9
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    end_tree(process)  # a second call has no effect


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
