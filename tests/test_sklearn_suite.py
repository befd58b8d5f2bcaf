"""Scikit-learn's own tests of its two searches, applied to those of skbayes.

The tests are part of the wheel of scikit-learn. They run in a separate process, in
which `drop_in_plugin` replaces GridSearchCV and RandomizedSearchCV before the test
modules are imported.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import drop_in_plugin
import pytest
import sklearn

# Tests that cannot pass for a search that learns, each with its reason.
# `drop_in_plugin.REWORDED` has the tests that pass except for a number or a name.
EXCEPTIONS = {
    "test_unsupported_sample_weight_scorer": (
        "passes a function of labels as scoring, whose fits have no score; refused here"
    ),
    "test_search_with_2d_array": (
        "expects the configurations that RandomizedSearchCV draws by its seed, in order"
    ),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    report = tmp_path_factory.mktemp("drop_in") / "report.json"
    folder = Path(__file__).parent
    modules = [
        str(path)
        for path in sorted(Path(sklearn.__file__).parent.rglob("tests/test_*.py"))
        if re.search("|".join(drop_in_plugin.NAMES), path.read_text("utf-8"))
    ]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "helpers"), str(folder.parent)]),
        "DROP_IN_SEARCH": "1",
        "DROP_IN_REPORT": str(report),
        "DROP_IN_REWORD": "1",
        # One thread of linear algebra: the conftest.py of scikit-learn divides the
        # processors by this number of workers. Threads that wait are slow.
        "OMP_NUM_THREADS": "1",
        "PYTEST_XDIST_WORKER_COUNT": str(os.cpu_count()),
        # Without it, the tests of arrays of other libraries are skipped.
        "SCIPY_ARRAY_API": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "drop_in_plugin", "-q"]
    # Settings of ours above the environment's folder would forbid scikit-learn's marks.
    command += ["-c", os.devnull, "--rootdir", str(report.parent)]
    command += ["-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "--no-header"]
    # Rewriting the assertions of thousands of tests takes longer than these run.
    command += ["--assert=plain"]
    run = {"env": env, "cwd": report.parent, "capture_output": True, "text": True}
    process = subprocess.run([*command, *modules], **run, check=False)
    assert process.returncode in (0, 1), process.stdout[-5000:] + process.stderr[-5000:]
    return json.loads(report.read_text(encoding="utf-8")), process.stdout


def _names(outcomes, outcome):
    """Return the names of the tests with one outcome, without module and parameters."""
    return {
        test.rpartition("::")[2].partition("[")[0]
        for test, result in outcomes.items()
        if result == outcome
    }


def test_enough_tests_construct_a_search(outcomes):
    ran = [result for result in outcomes[0].values() if result != "skipped"]
    assert len(ran) >= 140


def test_the_tests_of_scikit_learn_pass(outcomes):
    failed = _names(outcomes[0], "failed")
    assert not failed - set(EXCEPTIONS), outcomes[1][-10_000:]


def test_the_list_of_exceptions_is_not_stale(outcomes):
    # Releases before 1.9 have no callbacks, and no tests of them.
    passed, failed = (_names(outcomes[0], result) for result in ("passed", "failed"))
    assert "test_search_with_2d_array" in failed
    assert not set(EXCEPTIONS) & (passed - failed)


def test_the_reworded_tests_pass(outcomes):
    assert set(drop_in_plugin.REWORDED) <= _names(outcomes[0], "passed")
