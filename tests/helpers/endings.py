"""Searches that end by an exception after some trials, and interrupted workers."""

import os
import signal

import pytest


class Killed(BaseException):
    """Exception that no search catches."""


def raises_after(n, error=KeyboardInterrupt):
    """Return a stopper that raises an error after trials up to a number."""

    def stopper(trials):
        if trials[-1].number + 1 == n:
            raise error

    return stopper


def kill_after(n, search, *data):
    """Fit a search until it is killed after trials up to a number."""
    with pytest.raises(Killed):
        search.set_params(stopper=raises_after(n, Killed)).fit(*data)


class InterruptedWhenPickled:
    """Object whose pickling interrupts the process; it is unpickled as 0."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGINT)
        return (int, ())


def interrupted_in_queue(handle):
    """Load a task, and return a result whose transfer interrupts the worker."""
    handle.load()
    return InterruptedWhenPickled()


def interrupted_in_task(handle):
    """Load a task, and return 1 if an interrupt of the worker raises its exception."""
    handle.load()
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        return 1
