"""Conversion of arrays of other libraries, which may be on another device."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["to_host"]


def to_host(data: Any) -> Any:
    """Return an array of another library as a NumPy array, if it can be copied.

    `numpy.asarray` refuses arrays on other devices. Other data are unchanged.
    """
    if isinstance(data, np.ndarray) or not hasattr(data, "__dlpack__"):
        return data
    try:
        return np.from_dlpack(data, device="cpu")
    except (BufferError, RuntimeError, TypeError, ValueError):
        return data  # NumPy before 2.1 has no argument `device`
