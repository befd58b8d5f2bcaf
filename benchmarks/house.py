"""Code metrics of the package: lengths, imports, hooks, and the call path of a fit.

Usage: ``python benchmarks/house.py [CHECKOUT] [--json FILE | --check]``

Most metrics are computed from the source code. The others are measured in a search of
five trials, which is run twice, so that imports do not count. ``--check`` fails if
imports form a circle, a module is loose (at the top level, or imported by no other
module), a module has more than ``MAX_LINES`` lines besides docstrings, the package, the
tests or the benchmarks have more lines than in ``BUDGETS``, the records of a trial have
more than ``MAX_FIELDS`` fields, or an aspect more hooks than ``MAX_HOOKS``.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import ast
import inspect
import io
import json
import sys
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

PACKAGE = "skbayes"
LONG_FUNCTION = 60
MAX_LINES = 500

# Maximum numbers of code lines of the package, and of lines of other folders.
BUDGETS = {"skbayes": 29400, "tests": 42500, "benchmarks": 8800}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLANK = "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()
Graph = dict[str, set[str]]

# Records that describe a trial, from its proposal to its row, and the maximum number of
# their fields.
RECORDS = ("Job", "Plan", "Evaluation", "Fold", "FoldResult", "Trial")
MAX_FIELDS = 55
# Classes whose public methods are hooks, and the maximum number of these.
MAX_HOOKS = {"Aspect": 10, "FoldAspect": 3}


class Module:
    """Parsed source file of a package."""

    def __init__(self, path: Path, root: Path) -> None:
        parts = path.relative_to(root).with_suffix("").parts
        self.name = ".".join(parts).removesuffix(".__init__")
        self.is_entry = path.stem.startswith("__")  # of a package or a program
        text = path.read_text()
        lines = text.splitlines()
        self.n_lines = len(lines)
        self.tree = ast.parse(text)
        self.docstring = set(_docstring_lines(self.tree))
        self.code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if tokenize.tok_name[token.type] not in BLANK:
                self.code.update(range(token.start[0], token.end[0] + 1))
        self.code -= self.docstring
        self.code = {number for number in self.code if lines[number - 1].strip()}

    def functions(self) -> Iterator[tuple[str, int]]:
        """Yield each function, including nested ones, with its number of code lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTIONS):
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                yield f"{self.name}:{node.name}", len(self.code.intersection(lines))

    def imports(self, names: set[str]) -> Iterator[tuple[str, bool]]:
        """Yield each imported module, and whether it is imported within a function.

        Imports under ``TYPE_CHECKING`` are ignored.
        """
        for node, inside in _walk(self.tree, False):
            for target in _targets(node):
                while target not in names and "." in target:
                    target = target.rpartition(".")[0]
                if target in names and target != self.name:
                    yield target, inside


def class_bodies(modules: list[Module]) -> dict[str, list[ast.stmt]]:
    """Return the bodies of the classes of all modules, by name; empty if unknown."""
    found: dict[str, list[ast.stmt]] = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name] = node.body
    return found


def fields_of_records(modules: list[Module]) -> dict[str, int]:
    """Return the number of fields of each record of a trial."""
    bodies = class_bodies(modules)
    return {
        name: sum(isinstance(node, ast.AnnAssign) for node in bodies[name])
        for name in RECORDS
    }


def public_methods(modules: list[Module]) -> dict[str, int]:
    """Return the number of hooks of each class of ``MAX_HOOKS``."""
    bodies = class_bodies(modules)
    return {
        name: sum(isinstance(n, FUNCTIONS) and n.name[0] != "_" for n in bodies[name])
        for name in MAX_HOOKS
    }


def _targets(node: ast.AST) -> list[str]:
    """Return the imported names; the package has no relative imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and node.args:
        called, first = ast.unparse(node.func), node.args[0]
        if called.endswith("import_module") and isinstance(first, ast.Constant):
            return [str(first.value)]
    return []


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            if ast.get_docstring(node, clean=False) is not None:
                text = node.body[0]
                yield from range(text.lineno, (text.end_lineno or text.lineno) + 1)


def _walk(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Walk through a syntax tree without the code under ``TYPE_CHECKING``."""
    yield node, inside
    children: Any = ast.iter_child_nodes(node)
    if isinstance(node, ast.If):
        if ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING":
            children = node.orelse
    for child in children:
        yield from _walk(child, inside or isinstance(node, FUNCTIONS))


def components(graph: Graph) -> dict[str, frozenset[str]]:
    """Return for each module the set of modules in the same import cycle."""
    names = list(graph)
    matrix = [[other in graph[name] for other in names] for name in names]
    labels = connected_components(np.array(matrix), connection="strong")[1]
    groups: dict[int, set[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(label, set()).add(name)
    return {n: frozenset(groups[k]) for n, k in zip(names, labels, strict=True)}


def floors(graph: Graph) -> int:
    """Return the length of the longest chain of imports; a cycle counts as one."""
    component = components(graph)

    @cache
    def height(one: frozenset[str]) -> int:
        below = {component[n] for name in one for n in graph[name]} - {one}
        return 1 + max(map(height, below), default=0)

    return max(map(height, component.values()))


def room(name: str) -> str:
    """Return the subpackage or top-level module of a module."""
    return ".".join(name.split(".")[:2])


def rooms(graph: Graph) -> Graph:
    """Return the imports between rooms."""
    joined: Graph = {}
    for name, targets in graph.items():
        if name != PACKAGE:
            found = {room(one) for one in targets} - {room(name), PACKAGE}
            joined.setdefault(room(name), set()).update(found)
    return joined


def circles(graph: Graph) -> list[list[str]]:
    return sorted(sorted(c) for c in set(components(graph).values()) if len(c) > 1)


def read(root: Path) -> dict[str, Any]:
    """Return the metrics of the source code."""
    modules = load(root)
    eager, every = graphs(modules)
    functions = [item for module in modules for item in module.functions()]
    lengths = {module.name: module.n_lines for module in modules}
    loose = [path.stem for path in sorted((root / PACKAGE).glob("[!_]*.py"))]
    long = {name: n for name, n in functions if n > LONG_FUNCTION}
    fields = fields_of_records(modules)
    return {
        "records of a trial": len(fields),
        "fields of records": sum(fields.values()),
        "fields of records by name": fields,
        **{f"hooks of {name}": n for name, n in public_methods(modules).items()},
        "code lines": sum(len(module.code) for module in modules),
        "docstring lines": sum(len(module.docstring) for module in modules),
        "modules": len(modules),
        "median module": median(lengths.values()),
        "longest module": max(lengths.values()),
        "modules over 500": sum(n > 500 for n in lengths.values()),
        "modules over 600": sum(n > MAX_LINES for n in lengths.values()),
        "modules over 500 by name": {n: k for n, k in lengths.items() if k > 500},
        "floors": floors(eager),
        "floors with imports in functions": floors(every),
        "floors of rooms": floors(rooms(every)),
        "circles of rooms": circles(rooms(every)),
        "circles": len(circles(eager)),
        "circles with imports in functions": len(circles(every)),
        "circles by name": circles(every),
        "imports": sum(map(len, eager.values())),
        "imports in functions": sum(len(every[n] - eager[n]) for n in every),
        "loose root modules": len(loose),
        "functions": len(functions),
        "median function": median(n for _, n in functions),
        f"functions over {LONG_FUNCTION}": len(long),
        f"functions over {LONG_FUNCTION} by name": long,
    }


def graphs(modules: list[Module]) -> tuple[Graph, Graph]:
    """Return the imports of each module, and those including imports in functions."""
    names = {module.name for module in modules}
    eager: Graph = {name: set() for name in names}
    every: Graph = {name: set() for name in names}
    for module in modules:
        for target, inside in module.imports(names):
            every[module.name].add(target)
            if not inside:
                eager[module.name].add(target)
    return eager, every


def weights(root: Path) -> dict[str, int]:
    """Return the code lines of the package, and the lines of other folders."""
    lines = {
        name: sum(
            len(path.read_text().splitlines()) for path in (root / name).rglob("*.py")
        )
        for name in ("tests", "benchmarks")
    }
    return {PACKAGE: sum(len(module.code) for module in load(root)), **lines}


def load(root: Path) -> list[Module]:
    return [Module(path, root) for path in sorted((root / PACKAGE).rglob("*.py"))]


def problems(root: Path) -> list[str]:
    """Return the violations of the rules of ``--check``, one line each."""
    modules = load(root)
    _, every = graphs(modules)
    found = [
        f"circle of imports: {' - '.join(names)}"
        for names in [*circles(every), *circles(rooms(every))]
    ]
    imported = set().union(*every.values())
    for module in modules:
        at_top = module.name.count(".") == 1 and not module.is_entry
        is_loose = at_top or not (module.is_entry or module.name in imported)
        if is_loose:
            found.append(f"loose module: {module.name}")
        # The searches document each of their parameters.
        n_lines = module.n_lines - len(module.docstring)
        if n_lines > MAX_LINES:
            found.append(f"more than {MAX_LINES} lines: {module.name} {n_lines}")
    found += [
        f"more than {BUDGETS[name]} lines: {name} {n}"
        for name, n in weights(root).items()
        if n > BUDGETS[name]
    ]
    n_fields = sum(fields_of_records(modules).values())
    if n_fields > MAX_FIELDS:
        found.append(f"more than {MAX_FIELDS} fields of records of a trial: {n_fields}")
    for name, n in public_methods(modules).items():
        if n > MAX_HOOKS[name]:
            found.append(f"more than {MAX_HOOKS[name]} hooks: {name} {n}")
    return found


def hooks() -> dict[str, Any]:
    """Count the methods of the base class of searches, and those that are overridden.

    A hook is a protected method of the base class, or of one of its mixins, that a
    derived class overrides.
    """
    from skbayes.search import BaseBayesSearchCV as base

    def methods(kind: type) -> set[str]:
        return {name for name, value in vars(kind).items() if inspect.isroutine(value)}

    def children(kind: type) -> Iterator[type]:
        for child in kind.__subclasses__():
            if child.__module__.startswith(f"{PACKAGE}."):
                yield child
                yield from children(child)

    own = [kind for kind in base.__mro__ if kind.__module__.startswith(f"{PACKAGE}.")]
    everything = set().union(*map(methods, own))
    again = set().union(*map(vars, children(base)))
    protected = {n for n in everything if n[0] == "_" and not n.startswith("__")}
    return {
        "hooks": len(protected & again),
        "hook names": sorted(protected & again),
        "base class methods": len(methods(base)),
        "base class methods with mixins": len(everything),
    }


def watch(root: Path) -> dict[str, Any]:
    """Return the metrics of a search of five trials, and of the classes of searches."""
    sys.path.insert(0, str(root))
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    import skbayes

    package = Path(skbayes.__file__).resolve().parent
    if package != root / PACKAGE:
        raise RuntimeError(f"{PACKAGE} was imported from {package}, not from {root}.")
    folder = f"{package}/"
    stacks: list[list[str]] = []

    class Probe(DecisionTreeClassifier):
        """Decision tree that records the call stack of its fits."""

        def fit(self, X: Any, y: Any, **params: Any) -> Probe:
            """Record the call stack and fit the tree."""
            stacks.append(_frames(sys._getframe(), folder, skbayes.BayesSearchCV))
            return super().fit(X, y, **params)

    def search() -> None:
        space = {"max_depth": [1, 2, 4, 8], "ccp_alpha": (1e-4, 0.1, "log-uniform")}
        kind, settings = skbayes.BayesSearchCV, {"initial_points": 2, "cv": 2}
        tree = Probe(random_state=0)
        kind(tree, space, n_iter=5, random_state=0, **settings).fit(*data)

    data = load_iris(return_X_y=True)
    encoder = inspect.unwrap(skbayes.space.Space.encode).__code__
    entered: set[str] = set()
    batches: list[int] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            entered.add(frame.f_code.co_filename.removeprefix(folder))
            if frame.f_code is encoder:
                given = frame.f_locals[encoder.co_varnames[1]]
                batches.append(1 if isinstance(given, Mapping) else len(given))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search()
        sys.setprofile(profile)
        try:
            search()
        finally:
            sys.setprofile(None)
    frames = next(stack for stack in stacks if stack)
    return {
        "frames between fit and _fit_and_score": len(frames),
        "frames by name": frames,
        "modules entered": len(entered),
        "modules entered by name": sorted(entered),
        "calls of the encoder": len(batches),
        "configurations encoded": sum(batches),
        **hooks(),
    }


def _frames(frame: FrameType | None, folder: str, kind: type) -> list[str]:
    """Return the package's functions between `fit` of a search and scikit-learn."""
    found: list[str] = []
    below = False
    while frame is not None:
        code = frame.f_code
        if below and code.co_filename.startswith(folder):
            if code.co_name == "fit" and isinstance(frame.f_locals.get("self"), kind):
                return found[::-1]
            path = code.co_filename.removeprefix(folder)
            if code.co_name not in ("<listcomp>", "<dictcomp>", "<setcomp>"):
                found.append(f"{path}:{code.co_qualname}")
        below = below or code.co_name == "_fit_and_score"
        frame = frame.f_back
    return []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parents[1]
    add = parser.add_argument
    add("root", nargs="?", type=Path, default=here, help="path of a checkout")
    add("--json", type=Path, metavar="FILE", help="write the metrics to this file")
    add("--check", action="store_true", help="only check the rules named above")
    args = parser.parse_args()
    root = args.root.resolve()
    if args.check:
        raise SystemExit("\n".join(problems(root)) or None)
    figures = {**read(root), **watch(root)}
    for name, value in figures.items():
        if isinstance(value, int | float):
            print(f"{name:42}{value:>10g}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
