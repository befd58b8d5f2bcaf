"""One thread for linear algebra on small matrices.

They gain nothing from more threads, which on a busy machine wait for one another a
hundred times longer than they work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@cache
def _controller() -> ThreadpoolController:
    """Return the handle on the linear algebra libraries; finding them takes long."""
    return ThreadpoolController()


class _Users:
    """Threads that are inside at this moment; the first limits, the last restores.

    Limits set one by one would restore what another had limited, and leave the whole
    process with one thread for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._count == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._limiter.restore_original_limits()


_USERS = _Users()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the linear algebra libraries use one thread inside of the context.

    Any number of threads may be inside at once; when the last one leaves, the number
    of threads is what it was before the first one entered.
    """
    _USERS.enter()
    try:
        yield
    finally:
        _USERS.leave()
