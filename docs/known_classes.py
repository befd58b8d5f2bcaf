"""Tables of the classes that have a default search space or a learned prior."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from sklearn.utils import all_estimators

from skbayes.defaults import default  # noqa: F401  fills the catalog
from skbayes.defaults.catalog import CATALOG, DataFacts, KnownClass
from skbayes.defaults.conflicts import with_values
from skbayes.defaults.learned_prior import library
from skbayes.defaults.parts import own_params
from skbayes.space import Choice
from skbayes.space.notation import pairs_of

HEADER = ["Classes", "Hyper-parameters"]

# Suffix of the priors of classifiers of TF-IDF weights.
TEXTS = " of texts"

PRIORS_HEADER = ["Class", "Data sets", "Hyper-parameters with a density"]

# Properties of the data for which the table shows the search spaces.
FACTS = DataFacts(n_rows=1000, n_features=20, n_classes=2, imbalanced=True)

# Modules of classes that their package does not export at the top.
HOMES = {"skbayes": "skbayes.text"}


def known_classes() -> dict[str, list[list[str]]]:
    """Return the rows of the table of each package: classes and hyper-parameters."""
    tables: dict[str, dict[str, list[str]]] = {}
    for (package, name), entry in sorted(CATALOG.items(), key=lambda one: one[0]):
        defaults = _own(entry)
        space = entry.build(defaults, FACTS)
        if defaults.keys():
            space = with_values(space, defaults, entry.stands_for)
        parameters = ", ".join(_names(space)) or "none"
        tables.setdefault(package, {}).setdefault(parameters, []).append(name)
    return {
        package: [[", ".join(names), parameters] for parameters, names in rows.items()]
        for package, rows in tables.items()
    }


def learned_priors() -> list[list[str]]:
    """Return the rows of the table of learned priors."""
    return [
        [
            ", ".join(f"``{one}``" for one in _classes(name)) + TEXTS * of_texts,
            str(entry["tables"]),
            ", ".join(f"``{one}``" for one in entry["densities"]) or "none",
        ]
        for key, entry in library().items()
        for name, of_texts in [(key.removesuffix(TEXTS), key.endswith(TEXTS))]
    ]


def _classes(name: str) -> list[str]:
    """Return a class of the catalog, or those that are derived from a base class."""
    names = [name for _, name in CATALOG]
    bases = {
        name: [base.__name__ for base in kind.__mro__]
        for name, kind in all_estimators()
        if name in names
    }
    if name in names:
        return [name]
    return sorted(derived for derived in bases if name in bases[derived])


class _Unset(dict):
    """Parameters of a class that is not installed. All of them are None."""

    def __missing__(self, name: str) -> None:
        return None


def _own(entry: KnownClass) -> dict[str, Any]:
    """Return the default parameters of a class."""
    if entry.package == "sklearn":
        kind = dict(all_estimators()).get(entry.name)
    else:
        try:
            module = importlib.import_module(HOMES.get(entry.package, entry.package))
            kind = getattr(module, entry.name, None)
        except ImportError:
            kind = None
    if kind is None:
        return _Unset()
    try:
        return _Unset(own_params(kind(), entry))
    except TypeError:  # some arguments have no default
        arguments = inspect.signature(kind).parameters.values()
        defaults = {
            one.name: None if one.default is one.empty else one.default
            for one in arguments
        }
        return _Unset({**defaults, "estimators": []})


def _names(space: dict[str, Any], nested: bool = False) -> list[str]:
    """Return the names of hyper-parameters, with conditional ones in parentheses."""
    names = []
    for name, notation in space.items():
        shown = f"``{name}``"
        names.append(f"({shown})" if nested else shown)
        if isinstance(notation, Choice):
            for _, opened in pairs_of(notation):
                names += _names(opened, nested=True)
    return list(dict.fromkeys(names))
