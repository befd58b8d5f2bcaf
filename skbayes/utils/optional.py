"""Imports of optional packages, with errors that name the extra to install."""

from __future__ import annotations

import functools
import importlib
import logging
import multiprocessing
import sys
import types
import warnings
from typing import Any

logger = logging.getLogger("skbayes")

# Packages between a search and the program that calls its `fit`.
_OURS = {"contextlib", "joblib", "skbayes", "sklearn"}

# Package names that differ from their module names.
_PACKAGES = {"liblinear": "liblinear-official", "stop_words": "stop-words"}


def import_optional(module: str, *, extra: str, purpose: str, instead: str = "") -> Any:
    """Import a module of an optional package, or raise an error with advice.

    `purpose` is the feature that needs the package, as the singular subject of a
    sentence. `instead` is an alternative without the package. If the package is
    installed but cannot be imported, its own error is raised.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {_PACKAGES.get(package, package)}, which is not "
            f'installed: pip install "skbayes[{extra}]"{instead}.'
        ) from error


@functools.cache
def log_once(message: str) -> None:
    """Log a warning once, except in workers; ``python -W error`` does not raise it."""
    if multiprocessing.current_process().name == "MainProcess":
        logger.warning(message)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the line of the user's program, such as a `fit`."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package_of(frame) in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_or_log(message: str) -> None:
    """Call `warn_user`, or log if warnings are errors, so that results are kept."""
    try:
        warn_user(message)
    except UserWarning:
        logger.warning(message)


def _package_of(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def is_enabled(value: Any) -> bool:
    """Return whether the value of a parameter is neither None nor False."""
    return value is not None and value is not False
