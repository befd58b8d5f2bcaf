"""Weight and imports of the package.

    python benchmarks/house.py [CHECKOUT]
    python benchmarks/house.py --check

The first command prints the figures, and the second one fails if one of these rules is
violated:

- The package, the tests and the benchmarks have at most the lines of ``BUDGETS``; those
  of the package are lines of code. No module has more than ``MAX_LINES`` lines besides
  docstrings.
- ``import skbayes.search.bayes`` imports at most ``CLOSURE`` lines of code and modules.
- No imports form a circle, even in functions or only for types.
- A folder of the core imports only from those before it in ``CORE``. An option, and a
  search with a folder of its own, imports neither another one nor a reader, also in
  functions.
- Only ``TABLES`` of the core, and packages that hand out names, import other modules
  late: in functions, or by a name such as "skbayes.space:Real".
- A module is neither at the top level nor imported by no other module and no table.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

PACKAGE = "skbayes"
MAX_LINES = 500

# Maximum numbers of code lines of the package, and of lines of other folders.
BUDGETS = {"skbayes": 27600, "tests": 38160, "benchmarks": 9240}

# Module of the core that users import first, and the maximum numbers of code lines and
# of modules that this imports.
FIRST = "skbayes.search.bayes"
CLOSURE = {"lines": 11000, "modules": 76}

# Folders of the core: each imports only from those before it. The first two may import
# from each other.
CORE = (
    *("compat", "utils", "space", "surrogates", "acquisition", "optimizer"),
    *("trial", "loop", "results", "search"),
)
# Folders that work without one another and without the readers, and those from which a
# search may import.
SEPARATE = (
    *("stages", "multi_stage", "hypertune", "text", "tradeoff", "pareto"),
    "options",
)
READERS = ("inspection", "tracking", "integration", "benchmark")
DERIVED = {
    "text": ("multi_stage", "stages"),
    "multi_stage": ("stages",),
}

# Tables of the modules that the core imports late, and the types of attributes. They,
# and packages that hand out names of other folders, may import these for types. Other
# modules of the core import nothing late.
TABLES = (
    *("skbayes.search.outside", "skbayes.trial.option_table"),
    *("skbayes.optimizer.optional_parts", "skbayes.surrogates.registry"),
    "skbayes.search.parameters",
)

BLANK = "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Graph = dict[str, set[str]]


class Import(NamedTuple):
    """Imported module, whether it is within a function, and whether only for types."""

    target: str
    is_late: bool
    is_type: bool


class Module:
    """Parsed source file of a package."""

    def __init__(self, path: Path, root: Path) -> None:
        parts = path.relative_to(root).with_suffix("").parts
        self.name = ".".join(parts).removesuffix(".__init__")
        self.is_entry = path.stem.startswith("__")  # of a package or a program
        self.text = path.read_text(encoding="utf-8")
        lines = self.text.splitlines()
        self.n_lines = len(lines)
        self.tree = ast.parse(self.text)
        self.docstring = set(_docstring_lines(self.tree))
        self.code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if tokenize.tok_name[token.type] not in BLANK:
                self.code.update(range(token.start[0], token.end[0] + 1))
        self.code -= self.docstring
        self.code = {number for number in self.code if lines[number - 1].strip()}

    @property
    def folder(self) -> str:
        """Subpackage, or the option, to which the module belongs."""
        parts = self.name.split(".")
        return ".".join(parts[1:3] if parts[1:2] == ["options"] else parts[1:2])

    def imports(self, names: set[str]) -> Iterator[Import]:
        """Yield the imports of other modules of the package."""
        for node, is_late, is_type in _walk(self.tree, False, False):
            for target in _targets(node):
                while target not in names and "." in target:
                    target = target.rpartition(".")[0]
                if target in names and target not in (self.name, PACKAGE):
                    yield Import(target, is_late, is_type)

    def named(self, names: set[str]) -> set[str]:
        """Return the modules that tables name, such as "skbayes.space:Real"."""
        texts = [n.value for n in ast.walk(self.tree) if isinstance(n, ast.Constant)]
        named = {text.split(":")[0] for text in texts if isinstance(text, str)}
        return names & named - {PACKAGE}


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            if ast.get_docstring(node, clean=False) is not None:
                text = node.body[0]
                yield from range(text.lineno, (text.end_lineno or text.lineno) + 1)


def _walk(
    node: ast.AST, is_late: bool, is_type: bool
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Walk through a syntax tree; code under ``TYPE_CHECKING`` is for types."""
    yield node, is_late, is_type
    is_late = is_late or isinstance(node, FUNCTIONS)
    for name, field in ast.iter_fields(node):
        children = field if isinstance(field, list) else [field]
        for_types = isinstance(node, ast.If) and name == "body"
        for_types = for_types and ast.unparse(node.test).endswith("TYPE_CHECKING")
        is_negated = for_types and ast.unparse(node.test).startswith("not ")
        for child in children:
            if isinstance(child, ast.AST):
                yield from _walk(
                    child, is_late, is_type or (for_types and not is_negated)
                )


def _targets(node: ast.AST) -> list[str]:
    """Return the imported names; the package has no relative imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def load(root: Path) -> dict[str, Module]:
    """Return the modules of the package by name."""
    modules = (Module(path, root) for path in sorted((root / PACKAGE).rglob("*.py")))
    return {module.name: module for module in modules}


def closure(modules: dict[str, Module], first: str) -> set[str]:
    """Return the modules that are executed when one is imported."""
    reached, waiting = set[str](), [first]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in modules:
            continue
        reached.add(name)
        eager = [i for i in modules[name].imports({*modules}) if not i.is_late]
        waiting += [i.target for i in eager if not i.is_type]
        waiting.append(name.rpartition(".")[0])
    return reached


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import one another."""
    names = list(graph)
    matrix = [[other in graph[name] for other in names] for name in names]
    labels = connected_components(np.array(matrix), connection="strong")[1]
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(label, []).append(name)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def graph_of(modules: dict[str, Module]) -> Graph:
    """Return all imports of each module; a package only names those of its modules."""
    graph: Graph = {name: set() for name in modules}
    for name, module in modules.items():
        for target, *_ in module.imports({*modules}):
            is_package = module.is_entry and target.startswith(f"{name}.")
            if not is_package:
                graph[name].add(target)
    return graph


def forbidden(modules: dict[str, Module]) -> list[str]:
    """Return the imports that the order of the folders forbids."""
    lines = []
    for name, module in modules.items():
        folder, names_others = module.folder, module.is_entry or name in TABLES
        others = {
            target: modules[target].folder
            for target, _, is_type in module.imports({*modules})
            if not (is_type and names_others)
        }
        if folder in CORE:
            place = max(1, CORE.index(folder))
            wrong = [t for t, other in others.items() if other not in CORE[: place + 1]]
        elif folder.split(".")[0] in SEPARATE:
            wrong = [
                target
                for target, other in others.items()
                if other not in (folder, *DERIVED.get(folder, ()))
                and other.split(".")[0] in SEPARATE + READERS
            ]
        else:
            continue
        lines += [f"forbidden import: {name} of {target}" for target in sorted(wrong)]
    return lines


def late(modules: dict[str, Module]) -> list[str]:
    """Return the late imports of the core that are not in a table."""
    return [
        f"late import: {name} of {target}"
        for name, module in modules.items()
        if module.folder in CORE and not (module.is_entry or name in TABLES)
        for target in sorted(
            {i.target for i in module.imports({*modules}) if i.is_late}
            | module.named({*modules})
        )
    ]


def weights(root: Path, modules: dict[str, Module]) -> dict[str, int]:
    """Return the code lines of the package, and the lines of other folders."""
    lines = {
        name: sum(
            len(path.read_text(encoding="utf-8").splitlines())
            for path in (root / name).rglob("*.py")
        )
        for name in ("tests", "benchmarks")
    }
    return {PACKAGE: sum(len(m.code) for m in modules.values()), **lines}


def problems(root: Path) -> list[str]:
    """Return the violations of the rules of ``--check``, one line each."""
    modules = load(root)
    graph = graph_of(modules)
    lines = [f"circle of imports: {' - '.join(names)}" for names in circles(graph)]
    lines += forbidden(modules) + late(modules)
    used = set[str]()
    for module in modules.values():
        used |= {target for target, *_ in module.imports({*modules})}
        used |= module.named({*modules})
    for name, module in modules.items():
        at_top = name.count(".") == 1 and not module.is_entry
        if at_top or not (module.is_entry or name in used):
            lines.append(f"loose module: {name}")
        # The searches document each of their parameters.
        n_lines = module.n_lines - len(module.docstring)
        if n_lines > MAX_LINES:
            lines.append(f"more than {MAX_LINES} lines: {name} {n_lines}")
    lines += [
        f"more than {BUDGETS[name]} lines: {name} {n}"
        for name, n in weights(root, modules).items()
        if n > BUDGETS[name]
    ]
    imported = closure(modules, FIRST)
    n_lines = sum(len(modules[name].code) for name in imported)
    for name, n in (("lines", n_lines), ("modules", len(imported))):
        if n > CLOSURE[name]:
            lines.append(f"{FIRST} imports more than {CLOSURE[name]} {name}: {n}")
    return lines


def figures(root: Path) -> dict[str, float]:
    """Return the figures of the package."""
    modules = load(root)
    imported = closure(modules, FIRST)
    lengths = [module.n_lines for module in modules.values()]
    folders: dict[str, int] = {}
    for module in modules.values():
        n_lines = len(module.code)
        folders[module.folder] = folders.get(module.folder, 0) + n_lines
    n_lines = sum(len(modules[name].code) for name in imported)
    return {
        **{f"lines of {name}": n for name, n in weights(root, modules).items()},
        "docstring lines": sum(len(module.docstring) for module in modules.values()),
        "modules": len(modules),
        "median module": median(lengths),
        f"code lines that {FIRST} imports": n_lines,
        f"modules that {FIRST} imports": len(imported),
        "circles": len(circles(graph_of(modules))),
        "forbidden imports": len(forbidden(modules)),
        "late imports besides tables": len(late(modules)),
        **{f"code lines of {name or PACKAGE}": n for name, n in folders.items()},
    }


def main() -> None:
    """Print the figures, or check the rules."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("root", nargs="?", type=Path, default=here)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    root = args.root.resolve()
    if args.check:
        raise SystemExit("\n".join(problems(root)) or None)
    for name, value in figures(root).items():
        print(f"{name:55}{value:>10g}")


if __name__ == "__main__":
    main()
