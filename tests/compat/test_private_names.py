"""Private names that may be missing in a release of scikit-learn or joblib."""

import json
import subprocess
import sys
from pathlib import Path

from skbayes.compat import private_names

PROGRAM = Path(__file__).parents[1] / "helpers" / "hidden_names.py"


def test_fit_names_what_is_missing_and_the_import_works():
    process = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    usual, *rows = map(json.loads, process.stdout.splitlines())
    assert usual["missing"] == [] and usual["error"] is None
    hidden = [row["hidden"] for row in rows]
    assert len(hidden[-1]) == len(private_names.LOOKED_UP)
    assert len(rows) >= len(hidden[-1])  # some are of later releases
    for row in rows:
        assert row["warnings"] == []
        for name in row["missing"]:
            assert name in row["error"]
        if not row["missing"]:
            assert row["scores"] == usual["scores"], row["hidden"]
    n_needed = sum(bool(row["missing"]) for row in rows)
    assert n_needed > 20


def test_no_private_name_is_missing_on_a_supported_release():
    assert private_names.MISSING == []
