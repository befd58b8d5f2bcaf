"""Threads, profile of hypothesis, open figures and missing packages, for all tests."""

import importlib.util
import os
import re
import sys

import pytest
from hypothesis import settings

# Before NumPy is imported. The matrices of the tests are small, and threads that wait
# for one another on a busy machine take several times as long as one alone.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on each run, however slow the machine is.
options = {"deadline": None, "derandomize": True, "max_examples": 50}
settings.register_profile("repeatable", **options)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def close_figures():
    """Close figures, because examples leave more open than matplotlib allows."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# Modules of other extras, which the extra test does not install.
OPTIONAL = (
    "array_api_strict",
    "distributed",
    "hyperactive",
    "ipykernel",
    "liblinear",
    "nbclient",
)
OPTIONAL += ("nbformat", "numpydoc", "optuna", "proselint", "psycopg", "rich")
OPTIONAL += ("skrub", "sktime", "snowballstemmer", "sphinx", "sqlalchemy")
OPTIONAL += ("stop_words", "tqdm", "xgboost")


def skip_if_missing(text):
    """Skip a test or a module whose error names an optional package that is missing."""
    for name in OPTIONAL:
        package = name.replace("_", ".")
        pattern = rf"No module named '{name}\b|\b{package}\b.* not installed"
        if re.search(pattern, text) and not importlib.util.find_spec(name):
            reason = f'needs {name}, which ".[test-all]" or an extra for users installs'
            pytest.skip(reason, allow_module_level=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    try:
        return (yield)
    except ImportError as error:
        skip_if_missing(str(error))
        raise


pytest_fixture_setup = pytest_pyfunc_call


class Module(pytest.Module):
    """Module that is skipped if it imports a missing package."""

    def collect(self):
        try:
            return super().collect()
        except self.CollectError as error:
            skip_if_missing(str(error))
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return Module.from_parent(parent, path=module_path)
