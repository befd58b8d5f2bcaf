"""Mutation score of the tests: the share of small faults in the package that they find.

The tests run once with pytest-cov, which records the lines that each test runs. Each
mutant has one changed operator, constant, condition or returned value on such a line,
drawn with a seed from the modules of some subpackages. It is killed if one of the tests
that run the line fails or takes too long; of many tests, a sample runs. Survivors are
printed.

Mutants change a clone of the checkout.

Usage: python benchmarks/mutants.py [CHECKOUT] [--number 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOMS = ("evaluation", "loop", "optimizer", "space")
TESTS = (*ROOMS, "acquisition", "search", "surrogates")
OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
# Tests run in batches, until one fails.
BATCH, MAX_TESTS = 30, 300
TIMEOUT = 600  # seconds for a batch


def run_tests(root: Path, tests: list[str], *options: str) -> bool:
    """Return whether all of these tests pass within the time limit."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(tests))
        file.flush()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        try:
            return not subprocess.run(
                [*command, *options, f"@{file.name}"],
                cwd=root,
                env=os.environ | {"PYTHONPATH": str(root), "MPLBACKEND": "agg"},
                capture_output=True,
                timeout=TIMEOUT if "-x" in options else None,
            ).returncode
        except subprocess.TimeoutExpired:
            return False


def tests_of_lines(root: Path) -> dict[str, dict[int, list[str]]]:
    """Run the tests of a checkout, and return those that run each line of a module."""
    from coverage import CoverageData

    # In one process: a worker of xdist that crashes takes its records with it.
    options = ["--cov=skbayes", "--cov-context=test", "--cov-report="]
    if not run_tests(root, [f"tests/{room}" for room in TESTS], *options):
        raise RuntimeError("The tests fail without a mutant.")
    data = CoverageData(str(root / ".coverage"))
    data.read()
    return {
        str(Path(name).relative_to(root)): {
            line: sorted({context.split("|")[0] for context in contexts if context})
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for name in data.measured_files()
    }


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


def mutants(
    root: Path, tests: dict[str, dict[int, list[str]]]
) -> Iterator[dict[str, Any]]:
    """Yield all mutants of expressions on one line that a test runs."""
    for room in ROOMS:
        for path in sorted((root / "skbayes" / room).rglob("*.py")):
            name = str(path.relative_to(root))
            text = path.read_text()
            lines = text.splitlines(keepends=True)
            for node, new in mutations(ast.parse(text)):
                line = lines[node.lineno - 1].encode()
                covering = tests.get(name, {}).get(node.lineno)
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


def is_killed(root: Path, mutant: dict[str, Any], rng: random.Random) -> bool:
    """Return whether a test fails on the mutant."""
    path = root / mutant["path"]
    source = path.read_text()
    lines = source.splitlines(keepends=True)
    lines[mutant["line"] - 1] = mutant["new"]
    path.write_text("".join(lines))
    tests = rng.sample(mutant["tests"], min(MAX_TESTS, len(mutant["tests"])))
    try:
        return not all(
            run_tests(root, tests[first : first + BATCH], "-x")
            for first in range(0, len(tests), BATCH)
        )
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
        subprocess.run(["git", "clone", "-q", arguments.checkout, root], check=True)
        found = list(mutants(root, tests_of_lines(root)))
        for mutant in rng.sample(found, arguments.number):
            killed = is_killed(root, mutant, rng)
            n_killed += killed
            print("killed" if killed else "SURVIVES", mutant["path"], mutant["line"])
            print(f"- {mutant['old']}+ {mutant['new']}", flush=True)
    print(f"{n_killed} of {arguments.number} mutants killed")


if __name__ == "__main__":
    main()
