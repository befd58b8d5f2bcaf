"""Limits on the threads of linear algebra, while other threads are at work too.

On small matrices one is best: more gain nothing, and on a busy machine wait for one
another a hundred times longer than they work. Fits that run side by side in threads
share what there is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = [
    "blas_threads",
    "one_blas_thread",
    "set_blas_threads",
    "shared_blas_threads",
]


@cache
def _libraries() -> list[Any]:
    """Return the linear algebra libraries; finding them takes long."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


# The threads that are inside at this moment, by what each divides: the first limits,
# the last restores. Limits set one by one would restore what another had limited, and
# leave the whole process with one thread for good.
_LOCK = threading.Lock()
_DIVISORS: list[float] = []
_BEFORE: list[int] = []


def _limit() -> None:
    """Apply the strictest limit of those inside."""
    divisor = max(_DIVISORS, default=1.0)
    for library, n_threads in zip(_libraries(), _BEFORE, strict=True):
        library.set_num_threads(max(1, int(n_threads // divisor)))


@contextmanager
def shared_blas_threads(n: float) -> Iterator[None]:
    """Divide the threads of the linear algebra libraries among `n` that call them.

    At least one is left. Any number of threads may be inside of this context and of
    :func:`one_blas_thread` at once: the strictest limit holds, and when the last one
    leaves, the number of threads is what it was before the first one entered.
    """
    with _LOCK:
        if not _DIVISORS:
            _BEFORE[:] = [library.num_threads for library in _libraries()]
        _DIVISORS.append(n)
        _limit()
    try:
        yield
    finally:
        with _LOCK:
            _DIVISORS.remove(n)
            _limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the linear algebra libraries use one thread inside of the context."""
    with shared_blas_threads(float("inf")):
        yield


def blas_threads() -> int | None:
    """Return how many threads linear algebra may use; None if it is not known."""
    return max((library.num_threads for library in _libraries()), default=None)


def set_blas_threads(n: int | None) -> None:
    """Let the linear algebra libraries use so many threads from now on."""
    for library in _libraries():
        if n is not None and library.num_threads != n:
            library.set_num_threads(n)
