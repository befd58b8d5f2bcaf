"""Optional packages, and the extras that install them."""

from __future__ import annotations

import functools
import importlib
import logging
import multiprocessing
import warnings
from typing import Any

__all__ = ["import_optional", "tell_once", "warn_or_log"]

logger = logging.getLogger("skbayes")

# Names of packages that differ from those of their modules.
_PACKAGES = {"liblinear": "liblinear-official", "stop_words": "stop-words"}


def import_optional(module: str, *, extra: str, purpose: str, instead: str = "") -> Any:
    """Import a module of an optional package.

    `purpose` is what needs it, as the subject of a sentence in the singular; `instead`
    what can be done without it. A package that is installed but cannot be imported
    raises its own error.

    Examples
    --------
    >>> from skbayes.utils.optional import import_optional
    >>> import_optional("no_such.module", extra="text", purpose="This example")
    Traceback (most recent call last):
    ImportError: This example needs no_such, which is not installed: \
pip install "skbayes[text]".
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
def tell_once(message: str) -> None:
    """Log a warning once, and not in the processes of workers.

    Python shows it where logging is not configured. It is no warning of the module
    `warnings`, because nothing is wrong: ``python -W error`` goes on.
    """
    if multiprocessing.current_process().name == "MainProcess":
        logger.warning(message)


def warn_or_log(message: str, stacklevel: int) -> None:
    """Warn, or log if warnings are errors, so that no results are lost."""
    try:
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
    except UserWarning:
        logger.warning(message)
