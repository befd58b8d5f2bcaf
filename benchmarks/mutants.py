"""Mutation score of the tests: the share of small faults in the package that they find.

The tests run once with pytest-cov, which records the lines that each test runs. Each
mutant has one changed operator, constant, condition or returned value on such a line
of a function, drawn with a seed. It is killed if one of the tests that run the line
fails or takes too long. Of many tests, those that run the fewest lines are tried, and
samples of the others and of tests in the same files. Survivors are printed.

Mutants change a clone of the checkout, which keeps the records for the next run. One
core takes about an hour for 100 of them.

Usage: python benchmarks/mutants.py CLONE [--number 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

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
# Path, line, its new text, and the tests that run it.
Mutant = tuple[Path, int, str, set[str]]


def pytest(root: Path, *options: str, timeout: float) -> bool:
    """Run pytest in a checkout; return whether all tests pass within the time limit."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "agg"}
    # Its own group, so that no worker outlives a mutant that never ends.
    process = subprocess.Popen(
        command, cwd=root, env=env, start_new_session=True, stdout=subprocess.DEVNULL
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
    """Passing tests of a checkout: the lines that each runs, and its time."""

    def __init__(self, root: Path) -> None:
        from coverage import CoverageData

        self.root = root
        self.seconds: dict[str, float] = {}
        for folder in sorted(root.glob("skbayes/[a-z]*/")):
            report = root / f"{folder.name}.xml"
            # By folder: a test that ends the process takes its records with it.
            if not report.exists():
                options = ["--cov=skbayes", "--cov-append", "--cov-context=test"]
                options += ["--cov-report=", f"--junitxml={report}"]
                pytest(root, *options, f"tests/{folder.name}", timeout=3600)
            if not report.exists():
                print("left out, because the tests have no end:", folder.name)
                continue
            for case in ElementTree.parse(report).iter("testcase"):
                # Names of classes begin with a capital letter, those of modules do not.
                module, *classes = re.split(r"\.(?=[A-Z])", case.attrib["classname"])
                path = module.replace(".", "/") + ".py"
                name = "::".join([path, *classes, case.attrib["name"]])
                if case.find("failure") is None and case.find("error") is None:
                    self.seconds[name] = float(case.attrib["time"])
                else:
                    print("left out, because it fails without a mutant:", name)
        data = CoverageData(str(root / ".coverage"))
        data.read()
        self.of_lines: dict[tuple[str, int], set[str]] = {}
        self.n_lines: Counter[str] = Counter()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                names = {c.rpartition("|")[0] for c in contexts} & self.seconds.keys()
                self.of_lines[file, line] = names
                self.n_lines.update(names)

    def batches(self, tests: set[str], rng: random.Random) -> Iterator[list[str]]:
        """Yield batches of the tests, the most specific ones first."""
        left = sorted(tests, key=lambda test: (self.n_lines[test], test))
        for size in BATCHES:
            first, left = left[: size // 2], left[size // 2 :]
            others = rng.sample(left, min(size - len(first), len(left)))
            left = [test for test in left if test not in others]
            yield first + others
        # Tests of one file may share a search, which only the first of them fits.
        files = {test.split("::")[0] for test in tests}
        near = [t for t in self.seconds if t.split("::")[0] in files and t not in tests]
        yield rng.sample(near, min(BATCHES[-1], len(near)))

    def kill(self, mutant: Mutant, rng: random.Random) -> bool:
        """Return whether a test fails on the mutant, or takes too long."""
        path, line, new, tests = mutant
        source = path.read_text()
        lines = source.splitlines(keepends=True)
        path.write_text("".join([*lines[: line - 1], new, *lines[line:]]))
        file = self.root / "tests.txt"
        try:
            # Without names, pytest would run all tests.
            for batch in filter(None, self.batches(tests, rng)):
                file.write_text("\n".join(batch))
                limit = START + SLOWER * sum(self.seconds[test] for test in batch)
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


def mutants(tests: Tests) -> Iterator[Mutant]:
    """Yield all mutants of expressions on one line that a test runs."""
    for path in sorted(tests.root.glob("skbayes/**/*.py")):
        lines = path.read_text().splitlines(keepends=True)
        tree = ast.parse("".join(lines))
        # An import runs the other lines, in the first test that needs the module.
        inside = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        }
        for node, new in mutations(tree):
            line = lines[node.lineno - 1].encode()
            names = tests.of_lines.get((str(path), node.lineno))
            # Positions within f-strings are not those of the file.
            simple = node.lineno == node.end_lineno and b'f"' not in line
            if simple and names and node.lineno in inside:
                code = f"({ast.unparse(new)})".encode()
                changed = line[: node.col_offset] + code + line[node.end_col_offset :]
                yield path, node.lineno, changed.decode(), names


def main() -> None:
    """Run mutants, and print the survivors and the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    root = arguments.clone.resolve()
    if root == Path().resolve():
        parser.error("CLONE must not be this checkout, whose changes would be lost")
    if not root.exists():
        subprocess.run(["git", "clone", "-q", ".", root], check=True)
    # An interrupted run leaves its mutant.
    subprocess.run(["git", "-C", root, "restore", "."], check=True)
    tests = Tests(root)
    rng = random.Random(arguments.seed)
    candidates = list(mutants(tests))
    print(f"{len(tests.seconds)} tests run the lines of {len(candidates)} mutants")
    n_killed = 0
    for mutant in rng.sample(candidates, arguments.number):
        path, line, new, _ = mutant
        killed = tests.kill(mutant, rng)
        n_killed += killed
        print("killed" if killed else "SURVIVES", path.relative_to(root), line)
        print(f"- {path.read_text().splitlines()[line - 1]}\n+ {new}", flush=True)
    print(f"{n_killed} of {arguments.number} mutants killed")


if __name__ == "__main__":
    main()
