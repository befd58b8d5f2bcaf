"""Write the inventories of other libraries that the reference links to.

    python docs/inventories/update.py [NAME=objects.inv ...]

Sphinx would fetch them each time the documentation is built. An inventory that is named
on the command line, such as ``scipy=objects.inv``, replaces the names of that library.
Public names of the installed releases of scikit-learn and NumPy are added: their pages
have regular addresses.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
from sklearn.utils.discovery import all_displays, all_estimators, all_functions
from sphinx.util.inventory import InventoryFile

FOLDER = Path(__file__).parent
RANDOM = {
    "Generator": "reference/random/generator.html",
    "RandomState": "reference/random/legacy.html",
    "SeedSequence": "reference/random/bit_generators/generated/"
    "numpy.random.SeedSequence.html",
    "default_rng": "reference/random/generator.html",
}

Entries = dict[tuple[str, str], str]  # address by role and name


def read(path: Path) -> Entries:
    """Return the objects and labels of an inventory; none if there is no file."""
    if not path.exists():
        return {}
    inventory = InventoryFile.loads(path.read_bytes(), uri="")
    return {
        (role, name): item.uri
        for role, items in inventory.data.items()
        if role.startswith("py:") or role == "std:label"
        for name, item in items.items()
    }


def write(path: Path, project: str, entries: Entries) -> None:
    """Write an inventory of the second version of Sphinx's format."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    lines = (
        f"{name} {role} 1 {uri} -\n" for (role, name), uri in sorted(entries.items())
    )
    path.write_bytes(head.encode() + zlib.compress("".join(lines).encode(), 9))


def of_scikit_learn() -> Entries:
    """Return the public classes and functions of the installed scikit-learn."""
    page = "metadata_routing.html#metadata-routing"
    entries: Entries = {("std:label", "metadata_routing"): page}
    classes = [cls for _, cls in [*all_estimators(), *all_displays()]]
    for role, things in (
        ("py:class", classes),
        ("py:function", [function for _, function in all_functions()]),
    ):
        for one in things:
            parts = [p for p in one.__module__.split(".") if not p.startswith("_")]
            name = ".".join([*parts[:2], one.__name__])
            entries[role, name] = f"modules/generated/{name}.html#{name}"
    return entries


def of_numpy() -> Entries:
    """Return the public classes and functions of the installed NumPy."""
    entries: Entries = {}
    for public in np.__all__:
        one = getattr(np, public)
        if not callable(one):
            continue
        role = "py:class" if isinstance(one, type) else "py:function"
        name = f"numpy.{public}"
        entries[role, name] = f"reference/generated/{name}.html#{name}"
    for public, page in RANDOM.items():
        role = "py:function" if public == "default_rng" else "py:class"
        entries[role, f"numpy.random.{public}"] = f"{page}#numpy.random.{public}"
    return entries


def main() -> None:
    """Update all inventories."""
    sources = dict(argument.split("=", 1) for argument in sys.argv[1:])
    installed = {"scikit-learn": of_scikit_learn(), "numpy": of_numpy()}
    for project in ("numpy", "pandas", "python", "scikit-learn", "scipy"):
        path = FOLDER / f"{project}.inv"
        entries = read(Path(sources.get(project, path)))
        entries = installed.get(project, {}) | entries
        write(path, project, entries)
        print(f"{project}: {len(entries)} names")


if __name__ == "__main__":
    main()
