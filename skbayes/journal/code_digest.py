"""Digests of users' code: functions and classes, including the code they refer to.

A digest is computed from the syntax of the source, without comments, docstrings and
layout, and is the same in all releases of Python. If there is no source, or it differs
from the function in memory, the digest is computed from the bytecode and names the
release of Python. It covers default values and closures, and the methods and base
classes of a class. It also covers the functions, classes and constants that the code
refers to by global names, but not the code of installed packages.
"""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import linecache
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["DECLARED", "code_of", "same_but_for_code"]

# Attribute with which users declare the version of a function or class.
DECLARED = "__code_version__"

# Types of constants; mutable values are not compared.
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))

# Maximum number of nested wrappers of a function that are unwrapped.
MAX_WRAPPERS = 100

# Instructions that read globals, and instructions that assign globals and attributes.
LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
STORES = ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR")

# Digests in a description: all of them, and those of bytecode.
_CODE = re.compile(r" \[code [^]]*\]")
_BYTECODE = re.compile(r" \[code (of Python [0-9.]+) [0-9a-f]+\]")

Describe = Callable[[Any], str]


def code_of(thing: Any, describe: Describe) -> str | None:
    """Return a digest of a function or class; None if it is not a user's code.

    `describe` returns a text for any default value or value of a closure.
    """
    owned = _of_user(thing)
    if owned is None:
        return None
    if DECLARED in vars(thing):
        return str(vars(thing)[DECLARED])
    found: dict[int, _Part] = {}
    waiting = [owned]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = part = _Part(one, describe)
            waiting += part.others
    changing = set().union(*(part.assigned for part in found.values()))
    texts = sorted(part.text(changing) for part in found.values() if part.counts)
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()
    if any(part.is_bytecode for part in found.values()):
        return f"of Python {sys.version_info[0]}.{sys.version_info[1]} {digest}"
    return digest


def same_but_for_code(stored: str, given: str) -> bool:
    """Return whether descriptions differ only in digests that are not comparable.

    These are digests of bytecode from two releases of Python, and digests missing from
    the stored description because an earlier release of skbayes wrote it.
    """
    if not _CODE.search(stored):
        names = stored.replace(" (not verifiable)", "")
        return names == _CODE.sub("", given).replace(" (not verifiable)", "")
    old, new = (set(_BYTECODE.findall(text)) for text in (stored, given))
    stored, given = (_BYTECODE.sub("", text) for text in (stored, given))
    return bool(old and new) and old != new and stored == given


def _of_user(thing: Any) -> Any:
    """Return a class or function written by the user; None for anything else."""
    if isinstance(thing, type):
        return None if _is_installed(thing.__module__) else thing
    function = _function(thing)
    if function is None:
        return None
    # functools.wraps copies the name of the module.
    modules = (function.__module__, function.__globals__.get("__name__"))
    return None if all(map(_is_installed, modules)) else function


def _function(thing: Any) -> types.FunctionType | None:
    """Return the Python function that a callable is or wraps."""
    for _ in range(MAX_WRAPPERS):
        if isinstance(thing, types.FunctionType):
            return thing
        if thing is None or isinstance(thing, type):
            return None
        thing = getattr(thing, "__wrapped__", None)
    return None


@functools.cache
def _is_installed(module: str | None) -> bool:
    """Return whether a module belongs to the standard library or to a package."""
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top == "skbayes":
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"}.isdisjoint(
        Path(file).parts
    )


class _Part:
    """Function or class that a digest covers.

    Attributes
    ----------
    others : list
        Functions and classes that the code refers to.
    assigned : set of str
        Names of globals and attributes that the code assigns; they are not constants.
    is_bytecode : bool
        Whether the source is unknown.
    counts : bool
        Whether the code is the user's; decorators of libraries do not count.
    """

    def __init__(self, thing: Any, describe: Describe) -> None:
        self._describe = describe
        self._texts = [thing.__qualname__]
        self._constants: list[tuple[str, str]] = []
        self.others: list[Any] = []
        self.assigned: set[str] = set()
        self.is_bytecode = False
        self.counts = True
        if DECLARED in vars(thing):
            self._texts.append(str(vars(thing)[DECLARED]))
        elif isinstance(thing, type):
            self._add_class(thing)
        else:
            self._add_function(thing)

    def text(self, changing: set[str]) -> str:
        """Return the text to hash, without constants whose names are assigned."""
        constants = [text for name, text in self._constants if name not in changing]
        return repr([*self._texts, *sorted(constants)])

    def _add_function(self, function: types.FunctionType) -> None:
        cells = [_content(cell) for cell in function.__closure__ or ()]
        if _is_installed(function.__globals__.get("__name__")):
            self.counts = False
            for value in cells:
                self._add_if_code(value)
            return
        code = function.__code__
        syntax = _syntax(code)
        self.is_bytecode = syntax is None
        self._texts.append(_bytecode(code) if syntax is None else syntax)
        self._texts += map(self._describe, function.__defaults__ or ())
        keywords = function.__kwdefaults__ or {}
        self._texts += [f"{name}={self._describe(keywords[name])}" for name in keywords]
        for name, value in zip(code.co_freevars, cells, strict=True):
            if not self._add_if_code(value):
                self._texts.append(f"{name}: {self._describe(value)}")
        names = {name for one in _nested(code) for name in one.co_names}
        self.assigned = _named_by(code, STORES)
        self._add_names(_named_by(code, LOADS), function.__globals__, names)

    def _add_names(
        self, names: set[str], scope: dict[str, Any], attributes: set[str]
    ) -> None:
        """Add the values of globals, and the attributes of modules."""
        for name in sorted(names):
            if name not in scope or name.startswith("__"):
                continue
            value = scope[name]
            if isinstance(value, types.ModuleType):
                if not _is_installed(value.__name__) and vars(value) is not scope:
                    self._add_names(attributes, vars(value), attributes - {name})
            elif _is_constant(value) or isinstance(value, functools.partial):
                self._constants.append((name, f"{name}: {self._describe(value)}"))
            elif not self._add_if_code(value):
                self._add_if_code(type(value))
                self._add_library(name, value)

    def _add_library(self, name: str, value: Any) -> None:
        """Add the library function that a name refers to, or the contents of an object.

        Such objects are scorers, and the output of decorators of libraries.
        """
        own = getattr(value, "__name__", name)
        if callable(value) and isinstance(own, str) and own != name:
            self._texts.append(f"{name} is {own}")
        held = getattr(value, "__dict__", None)
        if type(held) is dict and not isinstance(value, types.FunctionType):
            for one in held.values():
                if isinstance(one, types.FunctionType):
                    self._add_if_code(one)

    def _add_class(self, cls: type) -> None:
        for one in (*cls.__bases__, type(cls)):
            self._texts.append(one.__qualname__)
            self._add_if_code(one)
        for name, value in sorted(vars(cls).items()):
            functions = list(_functions_in(value))
            if _is_constant(value) and not name.startswith("__"):
                self._constants.append((name, f"{name}: {self._describe(value)}"))
            elif functions and not name.startswith("__annotate"):
                kind = type(value).__name__
                written = [f for f in functions if not _is_generated(cls, f)]
                self._texts += [f"{kind} {name}: {f.__qualname__}" for f in written]
                self.others += written
            else:
                self._add_if_code(value)

    def _add_if_code(self, value: Any) -> bool:
        """Add a function or class of the user; return whether it is one."""
        try:
            owned = _of_user(value)
        except Exception:  # raised by the attributes of an object
            return False
        if owned is not None:
            self.others.append(owned)
        return owned is not None


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    return type(value) in _CONSTANTS


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """Yield the functions of a method, property or other descriptor."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, property):
        accessors = (value.fget, value.fset, value.fdel)
        yield from filter(None, map(_function, accessors))
    elif hasattr(value, "__get__") and not isinstance(value, type):
        held = getattr(value, "__dict__", {}).values()
        yield from (one for one in held if isinstance(one, types.FunctionType))


def _is_generated(cls: type, function: types.FunctionType) -> bool:
    """Return whether a method was generated for a data class or a named tuple."""
    if not (hasattr(cls, "__dataclass_fields__") or hasattr(cls, "_fields")):
        return False
    made = function.__code__.co_filename == "<string>"
    made = made or _is_installed(function.__globals__.get("__name__"))
    return made and function.__name__.startswith("_")


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _named_by(code: types.CodeType, operations: Iterable[str]) -> set[str]:
    """Return the names in some of the instructions of a code object."""
    return {
        instruction.argval
        for one in _nested(code)
        for instruction in dis.get_instructions(one)
        if instruction.opname in operations
    }


def _bytecode(code: types.CodeType) -> str:
    constants = [
        _bytecode(one) if isinstance(one, types.CodeType) else _constant_text(one)
        for one in code.co_consts
    ]
    facts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars)
    return repr((facts, code.co_argcount, code.co_kwonlyargcount, constants))


def _constant_text(value: Any) -> str:
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return repr(value)


# -- syntax of the source ---------------------------------------------------------


def _syntax(code: types.CodeType) -> str | None:
    """Return the syntax of a function; None if its source is not available."""
    linecache.checkcache(code.co_filename)
    source = "".join(linecache.getlines(code.co_filename))
    try:
        tree, compiled = _compiled(source)
        # The file may have been edited since it was imported.
        if code not in compiled:
            return None
        nodes = [node for node in ast.walk(tree) if _may_be(node, code)]
        if len(nodes) > 1:
            # Lambdas in one line; for nested ones, the inner ones come last.
            nodes = [node for node in nodes if _holds(node, code)][-1:]
        return _dump(nodes[0]) if nodes else None
    except (SyntaxError, ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=32)
def _compiled(source: str) -> tuple[ast.Module, frozenset[types.CodeType]]:
    tree = ast.parse(source)
    code = compile(tree, "<source>", "exec", dont_inherit=True)
    return tree, frozenset(_nested(code))


def _may_be(node: ast.AST, code: types.CodeType) -> bool:
    """Return whether a node may be the function of a code object."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return (node.name, first) == (code.co_name, code.co_firstlineno)
    name, line = "<lambda>", code.co_firstlineno
    return isinstance(node, ast.Lambda) and (code.co_name, node.lineno) == (name, line)


def _holds(node: Any, code: types.CodeType) -> bool:
    """Return whether the instructions of a lambda are known to be in its body."""
    body = node.body
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and column is not None and end_column
    ]
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return bool(places) and all(start <= one and other <= end for one, other in places)


def _dump(value: Any) -> str:
    """Return a syntax tree as text that is the same in all releases of Python."""
    if isinstance(value, list):
        return f"[{', '.join(_dump(one) for one in value if not _is_remark(one))}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = [
        f"{name}={_dump(field)}"
        for name in value._fields
        if (field := getattr(value, name, None)) not in (None, []) and name != "kind"
    ]
    return f"{type(value).__name__}({', '.join(fields)})"


def _is_remark(node: Any) -> bool:
    """Return whether a statement is a docstring or another constant without effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
