"""Mutation score of the tests: the share of small faults in the package that they find.

The tests run once with a profiler, which records the functions that each test calls.
Each mutant has one changed operator, constant, condition or returned value in a called
function, drawn with a seed from the modules of some subpackages. It is killed if one of
the tests of this function fails or takes too long. Survivors are printed.

Mutants change a clone of the checkout.

Usage: python benchmarks/mutants.py [CHECKOUT] [--number 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOMS = ("evaluation", "loop", "optimizer", "space")
TESTS = (*ROOMS, "acquisition", "search", "surrogates")
OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Of the tests of a function, the number that run first; then all.
N_FIRST = 30
TIMEOUT = 300  # seconds
CALLS = "SKBAYES_RECORDED_CALLS"  # folder for the calls of each process of the tests

Function = tuple[str, int]  # path from the root, and first line
_called: set[Function] = set()
_failed: set[str] = set()


def _record(frame: FrameType, event: str, argument: object) -> None:
    if event == "call" and "/skbayes/skbayes/" in frame.f_code.co_filename:
        _called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Record the functions that a test calls (this module is a plugin of pytest)."""
    _called.clear()
    threading.setprofile(_record)
    sys.setprofile(_record)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        # A test that fails without a mutant shows nothing about mutants.
        if item.nodeid not in _failed:
            with (Path(os.environ[CALLS]) / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps([item.nodeid, sorted(_called)]) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the tests that fail."""
    if report.failed:
        _failed.add(report.nodeid)


def tests_of_functions(root: Path, folder: Path) -> dict[Function, list[str]]:
    """Run the tests of a checkout, and return those that call each function."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "mutants"]
    path = os.pathsep.join([str(root), str(Path(__file__).parent)])
    environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg"}
    subprocess.run(
        [*command, *(f"tests/{room}" for room in TESTS)],
        cwd=root,
        env=environment | {CALLS: str(folder)},
    )
    tests = defaultdict(list)
    for file in sorted(folder.iterdir()):
        for line in file.read_text().splitlines():
            test, functions = json.loads(line)
            for name, first in functions:
                tests[str(Path(name).relative_to(root)), first].append(test)
    return tests


def mutations(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield expressions, each with a replacement that changes its value."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, [operator], operands) if type(operator) in OPERATORS:
                yield node, ast.Compare(left, [OPERATORS[type(operator)]()], operands)
            case ast.BoolOp(operator, values):
                yield node, ast.BoolOp(OPERATORS[type(operator)](), values)
            case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
                yield node, ast.BinOp(left, OPERATORS[type(operator)](), right)
            case ast.UnaryOp(ast.Not(), operand):
                yield node, operand
            case ast.Constant(bool(value)):
                yield node, ast.Constant(not value)
            case ast.Constant(int(value) | float(value)):
                yield node, ast.Constant(value + 1)
            case ast.If(test=test) | ast.IfExp(test=test):
                yield test, ast.UnaryOp(ast.Not(), test)
            case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
                yield value, ast.Constant(None)


def mutants(root: Path, tests: dict[Function, list[str]]) -> Iterator[dict[str, Any]]:
    """Yield all mutants of called functions whose expression is on one line."""
    for room in ROOMS:
        for path in sorted((root / "skbayes" / room).rglob("*.py")):
            name = str(path.relative_to(root))
            lines = path.read_text().splitlines(keepends=True)
            for function in ast.walk(ast.parse("".join(lines))):
                if not isinstance(function, FUNCTIONS):
                    continue
                # The first line of the code of a decorated function is its decorator.
                first = min(
                    node.lineno for node in [function, *function.decorator_list]
                )
                covering = sorted(tests.get((name, first), ()))
                for node, new in mutations(ast.Module(function.body, [])):
                    line = lines[node.lineno - 1].encode()
                    # Positions within f-strings are not those of the file.
                    if node.lineno != node.end_lineno or b'f"' in line or not covering:
                        continue
                    code = f"({ast.unparse(new)})".encode()
                    text = line[: node.col_offset] + code + line[node.end_col_offset :]
                    yield {
                        "path": name,
                        "line": node.lineno,
                        "old": line.decode(),
                        "new": text.decode(),
                        "tests": covering,
                    }


def run_tests(root: Path, tests: list[str]) -> bool:
    """Return whether all of these tests pass within the time limit."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(tests))
        file.flush()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            return not subprocess.run(
                [*command, f"@{file.name}"],
                cwd=root,
                env=os.environ | {"PYTHONPATH": str(root), "MPLBACKEND": "agg"},
                capture_output=True,
                timeout=TIMEOUT,
            ).returncode
        except subprocess.TimeoutExpired:
            return False


def is_killed(root: Path, mutant: dict[str, Any], rng: random.Random) -> bool:
    """Return whether a test fails on the mutant."""
    path = root / mutant["path"]
    source = path.read_text()
    lines = source.splitlines(keepends=True)
    lines[mutant["line"] - 1] = mutant["new"]
    path.write_text("".join(lines))
    try:
        tests = rng.sample(mutant["tests"], len(mutant["tests"]))
        first, rest = tests[:N_FIRST], tests[N_FIRST:]
        return not run_tests(root, first) or (bool(rest) and not run_tests(root, rest))
    finally:
        path.write_text(source)


def main() -> None:
    """Run mutants, and print the survivors and the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", nargs="?", type=Path, default=Path())
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    n_killed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "skbayes"
        calls = root.parent / "calls"
        calls.mkdir()
        subprocess.run(["git", "clone", "-q", arguments.checkout, root], check=True)
        found = list(mutants(root, tests_of_functions(root, calls)))
        for mutant in rng.sample(found, arguments.number):
            killed = is_killed(root, mutant, rng)
            n_killed += killed
            print("killed" if killed else "SURVIVES", mutant["path"], mutant["line"])
            print(f"- {mutant['old']}+ {mutant['new']}", flush=True)
    print(f"{n_killed} of {arguments.number} mutants killed")


if __name__ == "__main__":
    main()
