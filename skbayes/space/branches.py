"""Trees of the columns of a search space: their construction, and their rows.

A branch is a list of entries of columns. An entry that is a choice has a branch for
each of its options. For other symbols, see `space`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from skbayes.space.dict_index import MAX_COMPARED, DictIndex
from skbayes.space.dimensions import Dimension, FloatArray
from skbayes.space.lists import Categorical, Constant, shared_lists
from skbayes.space.notation import Choice, parse_dict, parse_spaces
from skbayes.utils.optional import warn_user

# In a list of more dicts, the constants of a parameter share a column, so that the
# number of columns does not grow with the number of dicts.
MANY_DICTS = 500

# Maximum number of repeated values in a warning.
MAX_SHOWN = 5


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

    For the choice among the dicts of a list, `shadowed` is a list of bools: whether an
    earlier dict may contain configurations of the dict. `constant` is the value of the
    column in the branch, if there is only one.
    """

    place: int
    column: Column
    options: list[Branch] = field(default_factory=list)
    shadowed: list[bool] = field(default_factory=list)
    constant: Constant | None = None

    @property
    def dimension(self) -> Dimension:
        """Values of the column in the branch."""
        return self.column.dimension if self.constant is None else self.constant

    def dicts_with(self, params: Mapping[str, Any]) -> np.ndarray:
        """Return the indices of the dicts that may contain `params`, and the last dict.

        The last dict is included because an error message says why it does not contain
        `params`.
        """
        if "_index" not in self.__dict__:
            dicts = [
                {str(entry.column.name): entry.dimension for entry in branch}
                for branch in self.options
            ]
            self._index = DictIndex(dicts)
        return np.union1d(self._index.containing(params), len(self.options) - 1)

    def chosen(self, positions: FloatArray) -> np.ndarray:
        """Return the indices of the options at `positions`; NaN counts as 0."""
        filled = np.where(np.isnan(positions), 0.0, positions)
        return self.dimension.place(filled)  # type: ignore[attr-defined]


Branch = list[TreeEntry]


class TreeBuilder:
    """Columns of a tree that is being built, and whether alternatives overlap."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.overlaps = False
        self._places: dict[tuple[Any, ...], int] = {}

    def alternatives(
        self, spaces: Sequence[Mapping[str, Any]], taken: frozenset[str] = frozenset()
    ) -> Branch:
        """Return the branch of alternatives, which must not contain `taken` names."""
        parsed = list(map(parse_dict, spaces))
        if len(spaces) == 1:
            return self._branch(parsed[0], taken)
        entry = self._add(Column(None, Categorical(range(len(spaces)))), fresh=True)
        # A configuration is encoded with the first dict that contains it.
        entry.shadowed = _shadowed(parsed)
        self.overlaps |= any(entry.shadowed)
        shared = shared_lists(parsed) if len(parsed) > MANY_DICTS else {}
        entry.options = [
            self._branch(dimensions, taken, shared) for dimensions in parsed
        ]
        return [entry]

    def _branch(
        self,
        dimensions: Mapping[str, Dimension | Choice],
        taken: frozenset[str],
        shared: Mapping[tuple[str, Any], Constant] = MappingProxyType({}),
    ) -> Branch:
        """Return the branch of one dict, which must not contain the `taken` names."""
        branch: Branch = []
        names = taken | dimensions.keys()
        for name, dimension in dimensions.items():
            if name in taken:
                raise ValueError(
                    f"Parameter {name!r} is declared twice for the same configuration."
                )
            if not isinstance(dimension, Choice):
                _warn_of_repeats(name, dimension)
                constant = shared.get((name, dimension.key)) if shared else None
                listed = dimension if constant is None else constant.listed
                branch.append(self._add(Column(name, listed), constant=constant))
                continue
            entry = self._add(Column(name, dimension.dimension), fresh=True)
            options = dimension.dimension.values
            for option, sub_space in zip(options, dimension.sub_spaces, strict=True):
                try:
                    opened = self.alternatives(parse_spaces(sub_space), names)
                except (TypeError, ValueError) as error:
                    place = f"Parameter {name!r}, option {option!r}"
                    raise type(error)(f"{place}: {error}") from error
                entry.options.append(opened)
            names |= _names(entry.options)
            branch.append(entry)
        return branch

    def _add(
        self, column: Column, fresh: bool = False, constant: Constant | None = None
    ) -> TreeEntry:
        """Add a column; alternatives share the columns of identical parameters."""
        identity = column.dimension.key if constant is None else id(column.dimension)
        key = (column.name, identity, len(self.columns) if fresh else -1)
        if key not in self._places:
            self._places[key] = len(self.columns)
            self.columns.append(column)
        return TreeEntry(self._places[key], column, constant=constant)


def _names(branches: Iterable[Branch]) -> set[str]:
    """Return the names of the parameters that can occur in branches."""
    entries = [entry for branch in branches for entry in branch]
    names = {entry.column.name for entry in entries if entry.column.name}
    return names.union(*(_names(entry.options) for entry in entries))


def _warn_of_repeats(name: str, dimension: Dimension) -> None:
    repeated = getattr(dimension, "repeated", ())
    if repeated:
        shown = ", ".join(map(repr, repeated[:MAX_SHOWN]))
        shown += ", …" if len(repeated) > MAX_SHOWN else ""
        warn_user(f"Parameter {name!r}: repeated values are dropped: {shown}.")


def _shadowed(dicts: Sequence[Mapping[str, Dimension | Choice]]) -> list[bool]:
    """Return for each dict whether an earlier one may have common configurations."""
    index = DictIndex(
        [{name: _without_spaces(d) for name, d in parsed.items()} for parsed in dicts],
        [any(isinstance(d, Choice) for d in parsed.values()) for parsed in dicts],
    )
    return [
        any(_may_overlap(dicts[j], dicts[k]) for j in index.overlapping(k))
        for k in range(len(dicts))
    ]


def _without_spaces(dimension: Dimension | Choice) -> Dimension:
    """Return the dimension of a choice, or the dimension itself."""
    return dimension.dimension if isinstance(dimension, Choice) else dimension


def _may_overlap(
    first: Mapping[str, Dimension | Choice], second: Mapping[str, Dimension | Choice]
) -> bool:
    """Return whether a configuration may belong to both dicts."""
    choices = [d for d in (*first.values(), *second.values()) if isinstance(d, Choice)]
    if not choices and first.keys() != second.keys():
        return False
    common = first.keys() & second.keys()
    return not any(_disjoint(first[name], second[name]) for name in common)


def _disjoint(first: Dimension | Choice, second: Dimension | Choice) -> bool:
    """Return whether two finite dimensions are known to have no value in common."""
    first, second = _without_spaces(first), _without_spaces(second)
    if max(first.n_values, second.n_values) > MAX_COMPARED:
        return False
    values = second.decode(second.grid)
    return not any(first.contains(value) for value in values)


def n_configurations(branch: Branch) -> float:
    """Count the configurations of a branch; exact unless infinite."""
    total: float = 1
    for entry in branch:
        factor: float = entry.dimension.n_values
        if entry.options:
            factor = sum(map(n_configurations, entry.options))
        # A large int times a float would overflow.
        total = math.inf if math.inf in (factor, total) else total * int(factor)
    return total


def n_slopes(branch: Branch) -> int:
    """Count the slopes of a linear model on the largest branch of the tree."""
    total = 0
    for entry in branch:
        # An ordered dimension has one slope, and an option after the first one, too.
        n_levels = math.inf if entry.dimension.is_categorical else 2
        total += int(min(entry.dimension.n_values, n_levels)) - 1
        total += max(map(n_slopes, entry.options), default=0)
    return total


def outline(branch: Branch) -> list[tuple[int, list]]:
    """Return the indices of the columns, each with the outlines of its options."""
    return [(entry.place, list(map(outline, entry.options))) for entry in branch]


def as_lists(branch: Branch) -> list[list]:
    """Return a tree as lists, from which `from_lists` restores it."""
    return [
        [
            *(entry.place, list(map(as_lists, entry.options)), entry.shadowed),
            None if entry.constant is None else entry.constant.position,
        ]
        for entry in branch
    ]


def from_lists(lists: Sequence[Sequence], columns: Sequence[Column]) -> Branch:
    """Restore a tree with these columns."""
    return [
        TreeEntry(
            *(place, columns[place]),
            [from_lists(option, columns) for option in options],
            shadowed,
            None if constant is None else Constant(columns[place].dimension, constant),
        )
        for place, options, shadowed, constant in lists
    ]


def entries(
    branch: Branch, X: FloatArray, rows: np.ndarray
) -> Iterator[tuple[TreeEntry, np.ndarray]]:
    """Yield the entries of a tree, and the masks of the `rows` with active entries."""
    for entry in branch:
        yield entry, rows
        if entry.options:
            chosen = entry.chosen(X[:, entry.place])
            for option in np.unique(chosen[rows]).tolist():
                yield from entries(entry.options[option], X, rows & (chosen == option))


def match(
    branch: Branch,
    params: Mapping[str, Any],
    row: FloatArray,
    names: frozenset[str],
    problems: list[str],
    known_row: FloatArray | None = None,
) -> Iterator[tuple[FloatArray, frozenset[str]]]:
    """Yield every row in which `params` fill a branch, and the names that are used.

    Reasons why `params` do not fill the branch are appended to `problems`. Dicts after
    the dict of `known_row`, if it is passed, are skipped.
    """
    if not branch:
        yield row, names
        return
    entry, *following = branch
    name = entry.column.name
    if name is None:
        dicts = entry.dicts_with(params)
        if known_row is not None and not np.isnan(known_row[entry.place]):
            chosen = int(entry.chosen(known_row[[entry.place]])[0])
            dicts = np.union1d(dicts[dicts < chosen], chosen)
        positions = entry.dimension.grid[dicts]
    else:
        try:
            positions = entry.dimension.encode([params[name]])
        except KeyError:
            problems.append(f"Parameter {name!r} is missing.")
            return
        except ValueError as error:
            problems.append(f"Parameter {name!r}: {error}.")
            return
        names = names | {name}
    for position in positions:
        filled = row.copy()
        filled[entry.place] = position
        opened: Branch = []
        if entry.options:
            opened = entry.options[entry.chosen(np.array([position]))[0]]
        for inner, inner_names in match(
            opened, params, filled, names, problems, known_row
        ):
            yield from match(following, params, inner, inner_names, problems, known_row)


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
        sizes = [int(n_configurations(option)) for option in entry.options]
        ends = np.cumsum(sizes)
        numbers, digits = np.divmod(numbers, ends[-1])
        places = np.searchsorted(ends, digits, side="right")
        X[rows, entry.place] = dimension.positions(places)
        for place, option in enumerate(entry.options):
            selected, first = places == place, ends[place] - sizes[place]
            fill(option, digits[selected] - first, rows[selected], X)


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
