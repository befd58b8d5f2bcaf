"""Mutation score of the tests: the share of small faults in the package that they find.

The tests run once with pytest-cov, which records the lines that each test runs. Each
mutant has one changed operator, constant, condition or returned value on such a line,
drawn with a seed from the modules of some subpackages. It is killed if one of the tests
that run the line fails or takes too long. Of many tests, those that run the fewest
lines are tried, and a sample of the others. Survivors are printed.

Mutants change a clone of the checkout. One core takes about an hour for 100 of them.

Usage: python benchmarks/mutants.py [CHECKOUT] [--number 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOMS = ("trial", "loop", "optimizer", "space")
TESTS = (*ROOMS, "acquisition", "search", "surrogates")
OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
# Sizes of the batches of tests: half of each are those that run the fewest lines.
BATCHES = (20, 40, 80)
# Seconds for a batch, and how many times longer it may take than without a mutant.
START, SLOWER = 60, 10


def pytest(root: Path, *options: str, timeout: float | None = None) -> bool:
    """Run pytest in a checkout; return whether all tests pass within the time limit."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "agg"}
    quiet: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    # Its own group, so that no worker outlives a mutant that never ends.
    process = subprocess.Popen(
        command, cwd=root, env=env, start_new_session=True, **quiet
    )
    try:
        return process.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Tests:
    """Passing tests of a checkout: the lines of the rooms that each runs, and its time.

    Tests that fail without a mutant are printed and left out.
    """

    def __init__(self, root: Path) -> None:
        from coverage import CoverageData

        self.root = root
        report = root / "report.xml"
        # In one process: a worker of xdist that crashes takes its records with it.
        options = [f"--cov=skbayes.{room}" for room in ROOMS]
        options += ["--cov-context=test", "--cov-report=", f"--junitxml={report}"]
        pytest(root, *options, *(f"tests/{room}" for room in TESTS))
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            path = case.attrib["classname"].replace(".", "/")
            name = f"{path}.py::{case.attrib['name']}"
            if case.find("failure") is None and case.find("error") is None:
                self.seconds[name] = float(case.attrib["time"])
            else:
                print("left out, because it fails without a mutant:", name, flush=True)
        data = CoverageData(str(root / ".coverage"))
        data.read()
        self.of_lines: dict[str, dict[int, set[str]]] = {
            str(Path(name).relative_to(root)): {
                line: {c.split("|")[0] for c in contexts} & self.seconds.keys()
                for line, contexts in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        self.n_lines = Counter(
            test
            for lines in self.of_lines.values()
            for tests in lines.values()
            for test in tests
        )

    def batches(self, tests: set[str], rng: random.Random) -> Iterator[list[str]]:
        """Yield batches of the tests, the most specific ones first."""
        left = sorted(tests, key=lambda test: (self.n_lines[test], test))
        for size in BATCHES:
            first, left = left[: size // 2], left[size // 2 :]
            others = rng.sample(left, min(size - len(first), len(left)))
            left = [test for test in left if test not in others]
            if first:
                yield first + others

    def kill(self, mutant: dict[str, Any], rng: random.Random) -> bool:
        """Return whether a test fails on the mutant, or takes too long."""
        path = self.root / mutant["path"]
        source = path.read_text()
        lines = source.splitlines(keepends=True)
        lines[mutant["line"] - 1] = mutant["new"]
        path.write_text("".join(lines))
        file = self.root / "tests.txt"
        try:
            for tests in self.batches(mutant["tests"], rng):
                file.write_text("\n".join(tests))
                limit = START + SLOWER * sum(self.seconds[test] for test in tests)
                if not pytest(self.root, "-x", f"@{file}", timeout=limit):
                    return True
            return False
        finally:
            path.write_text(source)


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


def mutants(tests: Tests) -> Iterator[dict[str, Any]]:
    """Yield all mutants of expressions on one line that a test runs."""
    for name, of_lines in sorted(tests.of_lines.items()):
        text = (tests.root / name).read_text()
        lines = text.splitlines(keepends=True)
        for node, new in mutations(ast.parse(text)):
            line = lines[node.lineno - 1].encode()
            covering = of_lines.get(node.lineno)
            # Positions within f-strings are not those of the file.
            if node.lineno != node.end_lineno or b'f"' in line or not covering:
                continue
            code = f"({ast.unparse(new)})".encode()
            changed = line[: node.col_offset] + code + line[node.end_col_offset :]
            yield {
                "path": name,
                "line": node.lineno,
                "old": line.decode(),
                "new": changed.decode(),
                "tests": covering,
            }


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
        subprocess.run(["git", "clone", "-q", arguments.checkout, root], check=True)
        tests = Tests(root)
        candidates = list(mutants(tests))
        print(f"{len(tests.seconds)} tests run the lines of {len(candidates)} mutants")
        for mutant in rng.sample(candidates, arguments.number):
            killed = tests.kill(mutant, rng)
            n_killed += killed
            print("killed" if killed else "SURVIVES", mutant["path"], mutant["line"])
            print(f"- {mutant['old']}+ {mutant['new']}", flush=True)
    print(f"{n_killed} of {arguments.number} mutants killed")


if __name__ == "__main__":
    main()
