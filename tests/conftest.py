"""Threads, profile of hypothesis, open figures and missing packages, for all tests."""

import contextlib
import importlib.util
import json
import os
import re
import sys

import pytest
from hypothesis import settings

# Before NumPy is imported. The matrices of the tests are small, and threads that wait
# for one another on a busy machine take several times as long as one alone.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on each run, however slow the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def close_figures():
    """Close figures, because examples leave more open than matplotlib allows."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session", autouse=True)
def forks():
    """Let one process fork those of joblib and of fits."""
    modules = "skbayes.trial.backend", "skbayes.options.limits.fit_process"
    with forked_workers(*modules, "scripted_estimators"), forked_fits():
        yield


@pytest.fixture(scope="module")
def forked_dask(forks):
    """Let the same process fork the workers of Dask."""
    options = contextlib.nullcontext()
    with contextlib.suppress(ImportError):
        import dask
        import distributed.utils

        if CAN_FORK:
            # Importing it would let other workers pickle tracebacks.
            distributed.utils._forkserver_preload_set = True
            method = {"distributed.worker.multiprocessing-method": "forkserver"}
            options = dask.config.set(method)
    with options:
        yield


def pytest_collection_modifyitems(items):
    """Begin with the longest test, so that no process waits for it at the end."""
    items.sort(key=lambda item: item.path.name != "test_sklearn_suite.py")


# Modules of other extras, which the extra test does not install.
OPTIONAL = ("array_api_strict", "distributed", "ipykernel", "liblinear", "nbclient")
OPTIONAL += ("nbformat", "numpydoc", "optuna", "proselint", "rich")
OPTIONAL += ("skrub", "snowballstemmer", "sphinx")
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


# After the environment is set, because they import NumPy.
from forked import CAN_FORK, forked_fits, forked_workers  # noqa: E402
from processes import server, start  # noqa: E402, F401
from search_fixtures import fake_clock, fits_here, no_trials, svc_fits  # noqa: E402, F401

# Regular expressions of the errors without options that
# benchmarks/attacks/without_option.py removes.
SIGNS = json.loads(os.environ.get("SKBAYES_WITHOUT", "{}"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    for sign, name in SIGNS.items():
        if report.failed and re.search(sign, report.longreprtext):
            report.outcome = "skipped"
            report.longrepr = str(item.path), 0, f"it needs the option {name}"
