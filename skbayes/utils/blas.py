"""Limits of the number of linear algebra threads, for concurrent use.

On small matrices, one thread is best. Further threads do not speed up the computation,
and on a busy machine they can wait for each other a hundred times longer than they
work. Fits that run in parallel threads therefore share the linear algebra threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> list[Any]:
    """Return the linear algebra libraries, cached because the search takes long."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


# Divisors of the contexts that are active in all threads. The first context applies the
# limit and the last one restores the original number. If each context restored its own
# previous number, the process could keep a limit of one thread.
_LOCK = threading.Lock()
_DIVISORS: list[float] = []
_BEFORE: list[int] = []


def _limit() -> None:
    """Apply the strictest limit of the active contexts."""
    divisor = max(_DIVISORS, default=1.0)
    for library, n_threads in zip(_libraries(), _BEFORE, strict=True):
        library.set_num_threads(max(1, int(n_threads // divisor)))


@contextmanager
def shared_blas_threads(n: float) -> Iterator[None]:
    """Divide the threads of the linear algebra libraries among `n` callers.

    At least one thread remains. Any number of threads can enter this context and
    :func:`one_blas_thread` concurrently. The strictest limit applies. When the last
    thread exits, the number of threads before the first entry is restored.
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
    """Limit the linear algebra libraries to one thread inside of the context."""
    with shared_blas_threads(float("inf")):
        yield


def blas_threads() -> int | None:
    """Return the number of linear algebra threads; None if it is unknown."""
    return max((library.num_threads for library in _libraries()), default=None)


def set_blas_threads(n: int | None) -> None:
    """Set the number of linear algebra threads permanently."""
    for library in _libraries():
        if n is not None and library.num_threads != n:
            library.set_num_threads(n)
