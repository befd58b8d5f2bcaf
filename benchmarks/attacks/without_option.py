"""Tests of the package without some of its options.

    python benchmarks/attacks/without_option.py limits
    python benchmarks/attacks/without_option.py journal,folds tests/search -n 2
    python benchmarks/attacks/without_option.py all
    python benchmarks/attacks/without_option.py --keep journal

The tracked files are copied, without the folders of the options, their tests, and their
rows in the table of the options. With ``--keep``, these are all options but the named
ones. Then pytest runs the other tests, or those of the given arguments. A test that
needs an option is skipped, which tests/conftest.py decides by its error: a module of
the option that is missing, or a parameter that must be off.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = "skbayes/trial/option_table.py"
NAMES = sorted(path.parent.name for path in ROOT.glob("skbayes/options/*/__init__.py"))

# The objectives that need the costs of fits would lack them without an error.
KEPT_ROWS = ("costs",)


def without_rows(text: str, name: str) -> tuple[str, list[str]]:
    """Return the table without the rows of an option, and their parameters."""
    lines, parameters = text.splitlines(keepends=True), []
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Option"):
            continue
        aspect = node.args[0]
        assert isinstance(aspect, ast.Constant)
        if aspect.value.startswith(f"skbayes.options.{name}."):
            for table in node.args[1:]:
                assert isinstance(table, ast.Dict)
                parameters += [key.value for key in table.keys]  # type: ignore
            if name not in KEPT_ROWS:
                lines[node.lineno - 1 : node.end_lineno] = [""] * (
                    (node.end_lineno or node.lineno) - node.lineno + 1
                )
    return "".join(lines), parameters


def main() -> None:
    """Copy the package without the options, and run its tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", help='options, separated by commas, or "all"')
    parser.add_argument("--keep", action="store_true", help="remove all other options")
    args, others = parser.parse_known_args()
    named = NAMES if args.names == "all" else args.names.split(",")
    if unknown := {*named} - {*NAMES}:
        parser.error(f"{sorted(unknown)} are none of {NAMES}")
    removed = [name for name in NAMES if (name in named) != args.keep]
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    left_out = tuple(
        f"{top}/options/{name}/" for top in ("skbayes", "tests") for name in removed
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "skbayes"
        for file in listed.splitlines():
            if (ROOT / file).is_file() and not file.startswith(left_out):
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, copy / file)
        table, signs = (ROOT / TABLE).read_text("utf-8"), dict[str, str]()
        for name in removed:
            table, parameters = without_rows(table, name)
            signs[f"No module named 'skbayes.options.{name}"] = name
            for parameter in parameters:
                signs[f"'{parameter}' parameter of \\w+ must be None or False"] = name
        (copy / TABLE).write_text(table, "utf-8")
        variables = {"PYTHONPATH": str(copy), "SKBAYES_WITHOUT": json.dumps(signs)}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *(others or ["tests"])],
            cwd=copy,
            env={**os.environ, **variables},
        )
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
