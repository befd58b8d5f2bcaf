"""Tests of the package without some of its options.

    python benchmarks/attacks/without_option.py limits
    python benchmarks/attacks/without_option.py journal,folds tests/search -n 2
    python benchmarks/attacks/without_option.py all --sample --save
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
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
TABLE = "skbayes/trial/option_table.py"
RESULTS = ROOT / "benchmarks" / "results" / "attacks" / "without_option.json"
NAMES = sorted(path.parent.name for path in ROOT.glob("skbayes/options/*/__init__.py"))


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
            n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
            lines[node.lineno - 1 : node.end_lineno] = [""] * n_lines
    return "".join(lines), parameters


def copy_without(removed: list[str], copy: Path) -> dict[str, str]:
    """Copy the files without options; return the errors of tests that need these."""
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    left_out = tuple(
        f"{top}/options/{name}/" for top in ("skbayes", "tests") for name in removed
    )
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
    return signs


def counts_of(report: Path) -> dict[str, int]:
    """Return the numbers of tests that passed, need an option, and failed."""
    counts = {"passed": 0, "need it": 0, "skipped": 0, "failed": 0}
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        state = "passed" if skipped is None else "skipped"
        if skipped is not None and "needs the option" in skipped.get("message", ""):
            state = "need it"
        if case.find("failure") is not None or case.find("error") is not None:
            state = "failed"
        counts[state] += 1
    return counts


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Keep two cases of each test, if this module is a plugin of pytest."""
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    items[:] = [
        item
        for name, group in groups.items()
        for item in random.Random(name).sample(group, min(len(group), 2))
    ]


def main() -> None:
    """Copy the package without the options, and run its tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", help='options, separated by commas, or "all"')
    parser.add_argument("--keep", action="store_true", help="remove all other options")
    parser.add_argument("--sample", action="store_true", help="two cases of each test")
    parser.add_argument("--save", action="store_true", help="add the counts")
    args, others = parser.parse_known_args()
    named = NAMES if args.names == "all" else args.names.split(",")
    if unknown := {*named} - {*NAMES}:
        parser.error(f"{sorted(unknown)} are none of {NAMES}")
    removed = [name for name in NAMES if (name in named) != args.keep]
    with tempfile.TemporaryDirectory() as folder:
        copy, report = Path(folder) / "skbayes", Path(folder) / "report.xml"
        variables = {
            "PYTHONPATH": os.pathsep.join(map(str, (copy, Path(__file__).parent))),
            "SKBAYES_WITHOUT": json.dumps(copy_without(removed, copy)),
        }
        options = ["-p", "without_option"] * args.sample + [f"--junitxml={report}"]
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *options, *(others or ["tests"])],
            cwd=copy,
            env={**os.environ, **variables},
        )
        if args.save:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            minutes = round((used.ru_utime + used.ru_stime) / 60, 1)
            records = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            command = " ".join(one for one in sys.argv[1:] if one != "--save")
            records[command] = {**counts_of(report), "processor minutes": minutes}
            RESULTS.write_text(json.dumps(records, indent=2) + "\n", "utf-8")
    raise SystemExit(process.returncode)


if __name__ == "__main__":
    main()
