"""Packages that only some parts of skbayes need, and the extras that install them."""

from __future__ import annotations

import functools
import importlib
import logging
import multiprocessing
from typing import Any

__all__ = ["import_optional", "tell_once"]

logger = logging.getLogger("skbayes")

# Names of packages that differ from those of their modules.
_PACKAGES = {"liblinear": "liblinear-official", "stop_words": "stop-words"}


def import_optional(module: str, *, extra: str, purpose: str, instead: str = "") -> Any:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        Full name of the module.
    extra : str
        The extra of skbayes that installs the package.
    purpose : str
        What needs it, as the subject of a sentence in the singular.
    instead : str, default=""
        What can be done without it.

    Returns
    -------
    module : module
        The module.

    Raises
    ------
    ImportError
        If the package is not installed.

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
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {_PACKAGES.get(package, package)}, which is not "
            f'installed: pip install "skbayes[{extra}]"{instead}.'
        ) from error


@functools.cache
def tell_once(message: str) -> None:
    """Log a message for the user, once, and not in the processes of workers.

    It has the level ``WARNING``, which Python shows where logging is not configured. It
    is no warning of the module `warnings`, because nothing is wrong: ``python -W
    error`` goes on.

    Parameters
    ----------
    message : str
        The message.
    """
    if multiprocessing.current_process().name == "MainProcess":
        logger.warning(message)
