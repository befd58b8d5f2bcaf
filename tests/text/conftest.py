"""Simulation of an installation without some packages, for tests of texts."""

import sys

import pytest

from skbayes.text import _liblinear
from skbayes.utils.optional import log_once


@pytest.fixture
def hide(monkeypatch):
    """Return a function that hides packages, until the test ends."""
    of_package = {"liblinear": ["liblinear", "liblinear.liblinear"]}

    def forget():
        _liblinear.is_installed.cache_clear()
        log_once.cache_clear()

    def hide_packages(*packages):
        for package in packages:
            for module in of_package.get(package, [package]):
                monkeypatch.setitem(sys.modules, module, None)
        forget()

    yield hide_packages
    forget()
