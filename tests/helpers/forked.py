"""Processes that fork from one process, and import nothing anew."""

import contextlib
import importlib.util
import multiprocessing
import os
import subprocess
import sys
from multiprocessing import process, reduction
from operator import methodcaller
from types import SimpleNamespace
from unittest import mock

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()


@contextlib.contextmanager
def forked_workers(*modules):
    """Fork the processes of joblib from one that has imported modules."""
    if not CAN_FORK:
        yield
        return
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.backend import context

    multiprocessing.set_forkserver_preload([*modules])
    before = context.get_start_method()
    context.set_start_method("forkserver", force=True)
    yield
    context.set_start_method(before, force=True)
    get_reusable_executor(max_workers=2).shutdown(wait=True)


@contextlib.contextmanager
def forked_fits():
    """Fork the processes of fits from the same process."""
    if not CAN_FORK or not importlib.util.find_spec("skbayes.options.limits"):
        yield
        return
    from skbayes.options.limits import killable_backend

    names = {"DEVNULL": None, "TimeoutExpired": subprocess.TimeoutExpired}
    forked = SimpleNamespace(Popen=ForkedFits, **names)
    with mock.patch.object(killable_backend, "subprocess", forked):
        yield


class ForkedFits:
    """What `subprocess.Popen` is to a process of fits, without a new interpreter."""

    def __init__(self, command, stdin, env, pass_fds, start_new_session):
        _, _, program, path, _, _, search = command
        arguments = program, path, _File(*pass_fds), search, env
        context = multiprocessing.get_context("forkserver")
        self._process = context.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.pid = self._process.pid
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout):
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("fits", timeout)
        return self.poll()


class _File:
    """Number of an open file, which a process that starts gets a copy of."""

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return methodcaller("detach"), (reduction.DupFd(self.number),)


def _run(program, path, number, search, env):
    """Run a program as the main module of a new interpreter."""
    os.setsid()
    os.environ.update(env)
    multiprocessing.current_process().daemon = False
    process._parent_process = None
    sys.argv[:] = ["-c", path, str(number), str(os.getppid()), search]
    exec(program, {"__name__": "__main__"})
