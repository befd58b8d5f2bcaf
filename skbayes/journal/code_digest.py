"""Digests of users' code: functions and classes, including the code they refer to.

A digest is computed from the instructions that Python compiled, without comments,
docstrings and layout. It covers default values and closures, and the methods and base
classes of a class. It also covers the functions, classes and constants that the code
refers to by global names, but not the code of installed packages. It begins with the
release of Python, because each release compiles to other instructions.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Attribute with which users declare the version of a function or class.
DECLARED = "__code_version__"

# Types of constants; mutable values are not compared.
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))

# Maximum number of nested wrappers of a function that are unwrapped.
MAX_WRAPPERS = 100

# Digests in a description.
_CODE = re.compile(r" \[code ([0-9]+\.[0-9]+)-[0-9a-f]+\]")


def code_of(thing: Any, describe: Callable[[Any], str]) -> str | None:
    """Return a digest of a function or class; None if it is not a user's code."""
    owned = _of_user(thing)
    if owned is None:
        return None
    if DECLARED in vars(thing):
        return str(vars(thing)[DECLARED])
    code = _Code(describe)
    code.add(owned)
    constants = [text for name, text in code.constants if name not in code.assigned]
    text = "\n".join(sorted(code.texts) + sorted(constants))
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{sys.version_info[0]}.{sys.version_info[1]}-{digest}"


def same_but_for_code(stored: str, given: str) -> bool:
    """Return whether descriptions differ only in digests of two releases of Python."""
    old, new = set(_CODE.findall(stored)), set(_CODE.findall(given))
    comparable = not (old and new) or old == new
    return not comparable and _CODE.sub("", stored) == _CODE.sub("", given)


def _of_user(thing: Any) -> Any:
    """Return a class or function written by the user; None for anything else."""
    if isinstance(thing, type):
        return None if _is_installed(thing.__module__) else thing
    for _ in range(MAX_WRAPPERS):
        if isinstance(thing, types.FunctionType):
            # functools.wraps copies the name of the module.
            modules = (thing.__module__, thing.__globals__.get("__name__"))
            return None if all(map(_is_installed, modules)) else thing
        if thing is None or isinstance(thing, type):
            break
        thing = getattr(thing, "__wrapped__", None)
    return None


@functools.cache
def _is_installed(module: str | None) -> bool:
    top = (module or "").partition(".")[0]
    if top in sys.stdlib_module_names or top == "skbayes":
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    folders = set(Path(file).parts) if file is not None else set()
    return bool(folders & {"site-packages", "dist-packages"})


class _Code:
    """Texts of code; `assigned` are names of caches, whose `constants` do not count."""

    def __init__(self, describe: Callable[[Any], str]) -> None:
        self._describe = describe
        self._seen: dict[int, Any] = {}
        self.texts: list[str] = []
        self.constants: list[tuple[str, str]] = []
        self.assigned: set[str] = set()

    def add(self, thing: Any) -> bool:
        """Add a function or class of the user; return whether it is one."""
        try:
            owned = _of_user(thing)
        except Exception:  # raised by the attributes of an object
            return False
        if owned is None or id(owned) in self._seen:
            return owned is not None
        self._seen[id(owned)] = owned
        if DECLARED in vars(owned):
            self.texts.append(f"{owned.__qualname__} {vars(owned)[DECLARED]}")
        elif isinstance(owned, type):
            self._add_class(owned)
        else:
            self._add_function(owned)
        return True

    def _add_function(self, function: types.FunctionType) -> None:
        cells = [_content(cell) for cell in function.__closure__ or ()]
        if _is_installed(function.__globals__.get("__name__")):
            # Decorators of libraries do not count.
            for value in cells:
                self.add(value)
            return
        code, keywords = function.__code__, function.__kwdefaults__ or {}
        defaults = list(map(self._describe, function.__defaults__ or ()))
        defaults += [f"{name}={self._describe(keywords[name])}" for name in keywords]
        for name, value in zip(code.co_freevars, cells, strict=True):
            if not self.add(value):
                defaults.append(f"{name}: {self._describe(value)}")
        names: set[str] = set()
        instructions = self._instructions(code, names)
        self.texts.append(repr((function.__qualname__, instructions, defaults)))
        self._add_names(names, function.__globals__, names)

    def _instructions(self, code: types.CodeType, names: set[str]) -> list[Any]:
        """Describe the instructions; add the names that they refer to."""
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        listed: list[Any] = [counts, code.co_varnames, code.co_flags & 15]
        listed.append(code.co_exceptiontable)
        for step in dis.get_instructions(code):
            value = step.argval
            if step.opname.startswith(("STORE_GLOBAL", "STORE_ATTR", "DELETE_")):
                self.assigned.add(str(value))
            elif step.opname.startswith(("LOAD_", "IMPORT_")):
                names.add(str(value))
            if isinstance(value, types.CodeType):
                value = self._instructions(value, names)
            elif isinstance(value, frozenset):
                value = sorted(map(repr, value))
            listed.append((step.opname, repr(value)))
        return listed

    def _add_names(
        self, names: set[str], scope: dict[str, Any], attributes: set[str]
    ) -> None:
        """Add the values of globals, and the attributes of modules."""
        for name in sorted(name for name in names & scope.keys() if name[:2] != "__"):
            value = scope[name]
            if isinstance(value, types.ModuleType):
                if not _is_installed(value.__name__) and vars(value) is not scope:
                    self._add_names(attributes, vars(value), attributes - {name})
            elif _is_constant(value) or isinstance(value, functools.partial):
                self.constants.append((name, f"{name}: {self._describe(value)}"))
            elif not self.add(value):
                # A library function, or an object, such as a scorer, with functions.
                own = getattr(value, "__name__", name)
                if callable(value) and isinstance(own, str) and own != name:
                    self.texts.append(f"{name} is {own}")
                for function in (type(value), *_functions_in(value)):
                    self.add(function)

    def _add_class(self, cls: type) -> None:
        for base in (*cls.__bases__, type(cls)):
            self.texts.append(f"{cls.__qualname__} is a {base.__qualname__}")
            self.add(base)
        for name, value in sorted(vars(cls).items()):
            if _is_constant(value) and not name.startswith("__"):
                self.constants.append((name, f"{name}: {self._describe(value)}"))
            elif not name.startswith("__annotate"):
                for function in [value, *_functions_in(value)]:
                    if self.add(function):
                        kind = type(value).__name__
                        self.texts.append(f"{kind} {name}: {function.__qualname__}")


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    return type(value) in _CONSTANTS


def _functions_in(value: Any) -> Iterator[Any]:
    """Yield the functions of a property, another descriptor, or another object."""
    if isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield from (value.fget, value.fset, value.fdel)
    elif not isinstance(value, types.FunctionType | type):
        held = getattr(value, "__dict__", None)
        values = held.values() if type(held) is dict else ()
        yield from (item for item in values if isinstance(item, types.FunctionType))
