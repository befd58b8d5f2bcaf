"""Trees of columns: the structure of a space with alternatives and conditions.

A branch lists the columns that it declares. A column that is a choice has a branch for
each of its options. The choice among the dicts of a list is a column without a name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.space.dimensions import Dimension, FloatArray

__all__ = [
    "Branch",
    "Column",
    "TreeEntry",
    "Path",
    "activate",
    "compatible",
    "cover",
    "fill",
    "find_doubtful",
    "match",
    "n_slopes",
    "names",
    "outline",
    "paths",
    "size",
]


@dataclass(frozen=True)
class Column:
    """Column of the encoded space: a parameter and its values.

    Parameters
    ----------
    name : str or None
        Name of the parameter; None for the choice among the dicts of a list.
    dimension : Dimension
        Values of the parameter.
    """

    name: str | None
    dimension: Dimension


@dataclass
class TreeEntry:
    """Column in a branch: its index in a row, and the branch of each of its options.

    For the choice among the dicts of a list, `earlier` lists the indices of the
    preceding dicts that may contain the same configurations, for each dict.
    """

    place: int
    column: Column
    options: list[Branch] = field(default_factory=list)
    earlier: list[list[int]] = field(default_factory=list)

    @property
    def dimension(self) -> Dimension:
        """Values of the column."""
        return self.column.dimension

    def chosen(self, positions: FloatArray) -> np.ndarray:
        """Return the indices of the options at `positions`; NaN counts as 0."""
        filled = np.where(np.isnan(positions), 0.0, positions)
        return self.dimension.place(filled)  # type: ignore[attr-defined]


Branch = list[TreeEntry]

# Required options of columns, by index; None requires that the column is inactive.
Path = dict[int, int | None]


def size(branch: Branch) -> float:
    """Count the configurations of a branch; exact unless infinite."""
    total: float = 1
    for entry in branch:
        factor: float = entry.dimension.n_values
        if entry.options:
            factor = sum(map(size, entry.options))
        # A large int times a float would overflow.
        total = math.inf if math.inf in (factor, total) else total * int(factor)
    return total


def n_slopes(branch: Branch) -> int:
    """Count the slopes of a linear model on the largest branch of the tree."""
    total = 0
    for entry in branch:
        n_values = entry.dimension.n_values
        total += (
            int(n_values if entry.dimension.is_categorical else min(n_values, 2)) - 1
        )
        total += max(map(n_slopes, entry.options), default=0)
    return total


def names(branches: Iterable[Branch]) -> set[str]:
    """Return the names of the parameters that can occur in branches."""
    entries = [entry for branch in branches for entry in branch]
    found = {entry.column.name for entry in entries if entry.column.name}
    return found.union(*(names(entry.options) for entry in entries))


def outline(branch: Branch) -> list[tuple[int, list]]:
    """Return the indices of the columns, each with the outlines of its options."""
    return [(entry.place, list(map(outline, entry.options))) for entry in branch]


def paths(tree: list[tuple[int, list]]) -> dict[int, list[Path]]:
    """Return the paths to each column of an outline: the options that activate it."""
    found: dict[int, list[Path]] = {}

    def walk(outlined: list[tuple[int, list]], path: Path) -> None:
        for place, options in outlined:
            found.setdefault(place, []).append(path)
            for option, opened in enumerate(options):
                walk(opened, {**path, place: option})

    walk(tree, {})
    return found


def compatible(
    places: Mapping[int, list[Path]], place: int, conditions: Mapping[int, int | None]
) -> list[Path]:
    """Return the paths to a column that satisfy conditions, with the conditions."""
    found = places[place]
    for other, option in conditions.items():
        joined: list[Path] = []
        for path in found:
            if option is None:
                active = any(
                    other_path.items() <= path.items() for other_path in places[other]
                )
                joined += [] if active else [{**path, other: None}]
            elif path.get(other, option) == option:
                joined += [
                    {**other_path, **path, other: option}
                    for other_path in places[other]
                    if all(path.get(k, v) == v for k, v in other_path.items())
                ]
        found = joined
    return found


def activate(branch: Branch, X: FloatArray, rows: np.ndarray, mask: np.ndarray) -> None:
    """Set `mask` for the columns that are active in the selected `rows` of `X`."""
    for entry in branch:
        mask[rows, entry.place] = True
        if entry.options:
            chosen = entry.chosen(X[:, entry.place])
            for option, opened in enumerate(entry.options):
                activate(opened, X, rows & (chosen == option), mask)


def find_doubtful(
    branch: Branch, X: FloatArray, rows: np.ndarray, mask: np.ndarray
) -> None:
    """Set `mask` for the `rows` of `X` that an earlier dict may also contain."""
    for entry in branch:
        if not entry.options:
            continue
        chosen = entry.chosen(X[:, entry.place])
        for option, opened in enumerate(entry.options):
            selected = rows & (chosen == option)
            if np.any(selected):
                if entry.earlier and entry.earlier[option]:
                    mask |= selected
                find_doubtful(opened, X, selected, mask)


def match(
    branch: Branch,
    params: Mapping[str, Any],
    row: FloatArray,
    used: frozenset[str],
    problems: list[str],
    known_row: FloatArray | None = None,
) -> Iterator[tuple[FloatArray, frozenset[str]]]:
    """Yield every row in which `params` fill a branch, and the names that are used.

    Reasons why they do not fill it are appended to `problems`. `known_row` is one such
    row, if known. Dicts that have no configuration in common with the dict of this row
    are then skipped.
    """
    if not branch:
        yield row, used
        return
    entry, *others = branch
    name = entry.column.name
    if name is None:
        positions = entry.dimension.grid
        if known_row is not None and not np.isnan(known_row[entry.place]):
            chosen = int(entry.chosen(known_row[[entry.place]])[0])
            positions = positions[[*entry.earlier[chosen], chosen]]
    else:
        try:
            positions = entry.dimension.encode([params[name]])
        except KeyError:
            problems.append(f"Parameter {name!r} is missing.")
            return
        except ValueError as error:
            problems.append(f"Parameter {name!r}: {error}.")
            return
        used = used | {name}
    for position in positions:
        filled = row.copy()
        filled[entry.place] = position
        opened: Branch = []
        if entry.options:
            opened = entry.options[entry.chosen(np.array([position]))[0]]
        for inner, inner_used in match(
            opened, params, filled, used, problems, known_row
        ):
            yield from match(others, params, inner, inner_used, problems, known_row)


def fill(branch: Branch, numbers: np.ndarray, rows: np.ndarray, X: FloatArray) -> None:
    """Fill `rows` of `X` with the configurations of the given indices.

    An index is a mixed-radix number with one digit for each entry of the branch. The
    first entry varies slowest.
    """
    for entry in reversed(branch):
        dimension = entry.dimension
        if not entry.options:
            numbers, digits = np.divmod(numbers, int(dimension.n_values))
            X[rows, entry.place] = dimension.positions(digits)
            continue
        sizes = [int(size(option)) for option in entry.options]
        ends = np.cumsum(sizes)
        numbers, digits = np.divmod(numbers, ends[-1])
        places = np.searchsorted(ends, digits, side="right")
        X[rows, entry.place] = dimension.positions(places)
        for place, option in enumerate(entry.options):
            selected = places == place
            fill(
                option,
                digits[selected] - (ends[place] - sizes[place]),
                rows[selected],
                X,
            )


def cover(branch: Branch, row: FloatArray) -> FloatArray:
    """Return rows that together use every option of a branch, starting from `row`."""
    rows = row[None, :].copy()
    for entry in branch:
        shown = entry.dimension.from_uniform(np.array([0.5]))
        if entry.dimension.is_categorical:
            shown = entry.dimension.grid
        # The first option is combined with all rows so far, the others with one row.
        parts = []
        for place, position in enumerate(shown):
            part = rows.copy() if place == 0 else rows[:1].copy()
            part[:, entry.place] = position
            if entry.options:
                opened = entry.options[place]
                further = [cover(opened, next_row)[:1] for next_row in part[1:]]
                part = np.vstack([cover(opened, part[0]), *further])
            parts.append(part)
        rows = np.vstack(parts)
    return rows
