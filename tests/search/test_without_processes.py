"""Searches on systems without processes and threads, such as a browser."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import threadpoolctl

pytestmark = pytest.mark.skipif(
    tuple(map(int, threadpoolctl.__version__.split(".")[:2])) < (3, 5),
    reason="earlier releases of threadpoolctl make callbacks with ctypes",
)

PROGRAM = Path(__file__).parents[1] / "helpers" / "without_processes.py"


@pytest.fixture(scope="module")
def rows():
    run = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return {row.pop("name"): row for row in map(json.loads, run.stdout.splitlines())}


def test_the_import_has_no_warning(rows):
    assert rows["import"] == {"warnings": []}


def test_searches_run_in_the_process(rows):
    for name in ("n_jobs", "ensemble", "journal", "resumed"):
        assert rows[name] == rows["plain"]
    assert rows["plain"]["score"] > 0.9 and rows["plain"]["warnings"] == []
    assert rows["text"]["score"] > 0.9 and rows["text"]["warnings"] == []


@pytest.mark.parametrize("name", ["timeout", "trial_limits"])
def test_time_is_checked_between_fits(rows, name):
    assert "error" not in rows[name], rows[name]["error"]
    assert rows[name]["score"] == rows["plain"]["score"]
    (warning,) = rows[name]["warnings"]
    assert "running fit cannot be aborted" in warning
