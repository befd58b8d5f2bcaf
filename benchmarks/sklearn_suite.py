"""Scikit-learn's own tests of its searches, applied to other searches.

The wheel of scikit-learn contains the tests of GridSearchCV and RandomizedSearchCV.
Each installed library replaces these two classes in turn. The tests that construct one
of them are run, and their outcomes are counted. Usage::

    python benchmarks/sklearn_suite.py [skbayes] [skopt] [optuna] [sklearn]

Every failure counts, including failures due to the order in which configurations are
tried. Lists of values are converted to the categorical dimensions of each library.

Without arguments, all libraries that can be imported are run. With "sklearn", the two
classes are not replaced; the failures of this run have other causes than a replacement.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sklearn

TESTS = Path(__file__).resolve().parent.parent / "tests" / "helpers"
sys.path.insert(0, str(TESTS))
import drop_in_plugin  # noqa: E402

NEEDS = {
    "sklearn": ["sklearn"],
    "skbayes": ["skbayes"],
    "skopt": ["skopt"],
    "optuna": ["optuna", "optuna_integration"],
}


def run(kind: str, timeout: float) -> tuple[dict[str, str], float]:
    """Run the tests with a replacement; return outcomes by test, and seconds."""
    modules = drop_in_plugin.MODULES
    package = Path(sklearn.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        env = {
            **os.environ,
            "DROP_IN_SEARCH": kind,
            "DROP_IN_REPORT": str(report),
            "PYTHONPATH": os.pathsep.join(
                [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
            ),
            "OMP_NUM_THREADS": "1",
            "SCIPY_ARRAY_API": "1",  # runs the tests of arrays of other libraries
        }
        command = [sys.executable, "-m", "pytest", "-p", "drop_in_plugin", "-q"]
        command += ["-p", "no:cacheprovider", "-W", "ignore", "--tb=no"]
        command += [str(package / m) for m in modules if (package / m).exists()]
        begin = time.perf_counter()
        done = subprocess.run(
            command, env=env, cwd=folder, capture_output=True, timeout=timeout
        )
        if not report.exists():
            raise SystemExit(done.stdout.decode() + done.stderr.decode())
        return json.loads(report.read_text()), time.perf_counter() - begin


def main() -> None:
    """Print one line per library, then the failed tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[[], *NEEDS])
    parser.add_argument("--timeout", type=float, default=3600.0)
    arguments = parser.parse_args()
    installed = [
        kind
        for kind, modules in NEEDS.items()
        if all(importlib.util.find_spec(module) for module in modules)
    ]
    print(f"scikit-learn {sklearn.__version__}")
    print(f"{'search':10} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    failures = {}
    for kind in arguments.kinds or installed:
        outcomes, seconds = run(kind, arguments.timeout)
        count = collections.Counter(outcomes.values())
        print(
            f"{kind:10} {count['passed']:7} {count['failed']:7} {count['skipped']:8} "
            f"{seconds:8.0f}",
            flush=True,
        )
        failures[kind] = sorted(t for t, what in outcomes.items() if what == "failed")
    for kind, tests in failures.items():
        print(f"\n{kind}: {len(tests)} failed")
        for test in tests:
            print("   ", "/".join(test.split("/")[-3:]))


if __name__ == "__main__":
    main()
