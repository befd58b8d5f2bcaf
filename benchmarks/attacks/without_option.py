"""Tests of the package without one of its options.

    python benchmarks/attacks/without_option.py limits
    python benchmarks/attacks/without_option.py journal tests/search -n 2

The tracked files are copied, without the folder of the option, its tests, and its row
in the table of the options. Then pytest runs the other tests, or those of the given
arguments. A test that needs the option is skipped, which tests/conftest.py decides by
its error: a module of the option that is missing, or a parameter that must be off.
"""

from __future__ import annotations

import argparse
import ast
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


def rows_of(text: str, name: str) -> tuple[str, list[str]]:
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
    """Copy the package without an option, and run its tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    args, others = parser.parse_known_args()
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    left_out = tuple(f"{top}/options/{args.name}/" for top in ("skbayes", "tests"))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "skbayes"
        for file in listed.splitlines():
            if (ROOT / file).is_file() and not file.startswith(left_out):
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, copy / file)
        table, parameters = rows_of((ROOT / TABLE).read_text("utf-8"), args.name)
        (copy / TABLE).write_text(table, "utf-8")
        variables = {
            "PYTHONPATH": str(copy),
            "SKBAYES_WITHOUT": ",".join([args.name, *parameters]),
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *(others or ["tests"])],
            cwd=copy,
            env={**os.environ, **variables},
        )
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
