"""Writer of what the searches share with BayesSearchCV.

    python docs/door.py

Each search lists its parameters in its constructor, and describes parameters and
attributes in its docstring. Those of BayesSearchCV are copied into the other searches:
the line of the signature, the line of ``super().__init__``, and the entry of the
docstring. The base class gets the lines of the signature and the assignments. New lines
follow the same neighbor as in BayesSearchCV.

A search keeps its other lines and entries, and those that the comment "Own entries" in
its class names, because a marker in a docstring would be shown to users. It lacks the
parameters that it deletes from ``_parameter_constraints``, attributes without a
declared type, and attributes whose entry names a parameter that it lacks.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.search.parameters import SearchParameters

CLASSES = (
    SearchParameters,
    MultiStageSearchCV,
    HyperTuneSearchCV,
    TradeoffSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
)

ENTRY = r"^ {4}(\w+) : .*(?:\n+ {8}.*)*"
# What surrounds the items of each place, and an item with its name.
PLACES = {
    "parameters": (r"    Parameters\n    -+\n", ENTRY, r"\n\n    Attributes\n"),
    "attributes": (r"    Attributes\n    -+\n", ENTRY, r"\n\n    See Also\n"),
    "signature": (
        r"    def __init__\(\n        self,\n",
        r"^ {8}(\w+|\*).*",
        r"\n    \)",
    ),
    "call": (r" {8}super\(\).__init__\(\n", r"^ {12}(\w+).*", r"\n        \)"),
    "assignments": (r"\) -> None:\n(?= {8}self)", r"^ {8}self\.(\w+) = .*", r"\n\n"),
}


def source(kind: type) -> str:
    """Return the source of the module of a class."""
    return Path(inspect.getfile(kind)).read_text(encoding="utf-8")


def span(text: str, kind: type, place: str) -> tuple[int, int] | None:
    """Return where the items of a place begin and end; None if a class lacks it."""
    before, _, after = PLACES[place]
    start = text.index(f"\nclass {kind.__name__}(")
    match = re.compile(f"{before}(.*?){after}", re.DOTALL).search(text, start)
    return None if match is None else match.span(1)


def items(text: str, kind: type, place: str) -> dict[str, str]:
    """Return the lines or entries of a place by name."""
    start, end = span(text, kind, place) or (0, 0)
    matches = re.finditer(PLACES[place][1], text[start:end], re.MULTILINE)
    by_name = {match[1]: match[0] for match in matches}
    assert "\n".join(by_name.values()) == text[start:end], (kind, place)
    return by_name


def shared_items(theirs: str, place: str) -> dict[str, str]:
    """Return the items of BayesSearchCV by name."""
    if place != "assignments":
        return items(theirs, BayesSearchCV, place)
    names = items(theirs, BayesSearchCV, "call")
    return {name: f"        self.{name} = {name}" for name in names}


def own_entries(text: str, kind: type) -> set[str]:
    """Return the names in the comment of a class."""
    start = text.index(f"\nclass {kind.__name__}(")
    comment = re.compile(r"# Own entries.*:((?:\n    # .*)*)").search(text, start)
    return set() if comment is None else set(re.findall(r"\w+", comment[1]))


def available(kind: type, place: str, texts: dict[str, str]) -> set[str]:
    """Return the names of the items that a class has."""
    parameters = set(kind._parameter_constraints) | {"*"}
    if place != "attributes":
        return parameters & texts.keys()
    lacks = set(BayesSearchCV._parameter_constraints) - parameters
    types = {n for base in kind.__mro__ for n in inspect.get_annotations(base)}
    return {
        name
        for name, text in texts.items()
        if name in types or hasattr(kind, name)
        if not lacks & set(re.findall(r"(?<!`)`(\w+)`(?!`)", text))
    }


def written(kind: type, text: str, theirs: str) -> str:
    """Return the source of a class with what it shares with BayesSearchCV."""
    separate = own_entries(text, kind)
    for place in PLACES:
        where = span(text, kind, place)
        if where is None:
            continue
        here, shared = items(text, kind, place), shared_items(theirs, place)
        kept = {n: item for n, item in here.items() if n in separate or n not in shared}
        texts = shared | kept
        has = available(kind, place, texts)
        names, position = [name for name in here if name in has], 0
        for name in shared:
            if name in has - separate and name not in names:
                names.insert(position, name)
            if name in names:
                position = names.index(name) + 1
        lines = "\n".join(texts[name] for name in names)
        text = text[: where[0]] + lines + text[where[1] :]
    return text


def main() -> None:
    """Write the files that change, and print their names."""
    for kind in CLASSES:
        text = written(kind, source(kind), source(BayesSearchCV))
        if text != source(kind):
            Path(inspect.getfile(kind)).write_text(text, encoding="utf-8")
            print(inspect.getfile(kind))


if __name__ == "__main__":
    main()
