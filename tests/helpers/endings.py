"""Searches that end by an exception after some trials."""

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
