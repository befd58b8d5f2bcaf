"""A search space: a tree of dimensions, seen as rows of the unit cube.

Symbols:

- ``X``: array of shape (n, n_columns). Each column is one dimension somewhere in the
  tree; a row holds the positions of one configuration, NaN where a column is
  inactive in it.
- ``U``: array of shape (n, n_columns) of a uniform stream in [0, 1).

The tree is made of branches. A branch lists the columns it declares; a column that
is a choice has a branch for each of its options. Which dict of a list of dicts is
meant is a choice too, whose column has no name.
"""

from __future__ import annotations

import copy
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.space.dimensions import (
    Categorical,
    Choice,
    Dimension,
    FloatArray,
    native,
)
from skbayes.space.equality import same
from skbayes.space.notation import parse_dict, parse_spaces

__all__ = ["Space", "Column"]

Params = dict[str, Any]

# Two alternatives are compared value by value where they have no more values than this.
MAX_COMPARED = 1000

# A warning lists no more repeated values than this.
MAX_SHOWN = 5


@dataclass(frozen=True)
class Column:
    """A column of the encoded space: the parameter it stands for and its values.

    Parameters
    ----------
    name : str or None
        The parameter; None for the choice among the dicts of a list.
    dimension : Dimension
        Its values.
    """

    name: str | None
    dimension: Dimension


@dataclass
class _Entry:
    column: int
    options: list[_Branch] = field(default_factory=list)


@dataclass
class _Branch:
    entries: list[_Entry] = field(default_factory=list)


class Space:
    """Configurations that may be chosen, and their encoding.

    Make one with :meth:`from_notation`.

    Parameters
    ----------
    spaces : sequence of dict
        The alternatives, at least one.
    constraint : callable, default=None
        ``constraint(params) -> bool``; configurations for which it is False are never
        proposed.

    Attributes
    ----------
    columns : list of Column
        What each column of an encoded configuration stands for.
    parameter_names : list of str
        Names of all parameters that can occur, sorted.
    n_configurations : int or float
        Number of configurations before `constraint`, ``math.inf`` if any dimension
        is continuous.
    categorical : ndarray of shape (n_columns,), bool
        Columns whose positions have no order.
    overlaps : bool
        Whether two dicts of a list may hold the same configuration; the first one then
        stands for it.
    constraint : callable or None
        ``constraint(params) -> bool``, False for combinations to leave out.

    Examples
    --------
    >>> from skbayes.space import Space
    >>> space = Space.from_notation({"C": (1e-3, 1e3, "log-uniform"), "p": [1, 2]})
    >>> X = space.encode([{"C": 1.0, "p": 2}])
    >>> X
    array([[0.5, 1. ]])
    >>> space.decode(X)
    [{'C': 1.0, 'p': 2}]
    """

    def __init__(
        self,
        spaces: Sequence[Mapping[str, Any]],
        constraint: Callable[[Params], bool] | None = None,
    ) -> None:
        _check_constraint(constraint)
        self.constraint = constraint
        self.columns: list[Column] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self.overlaps = False
        self._root = self._alternatives(spaces, frozenset())
        del self._places
        self.categorical = np.array(
            [column.dimension.is_categorical for column in self.columns], dtype=bool
        )
        self.parameter_names = sorted({c.name for c in self.columns if c.name})
        self.n_configurations: float = _size(self._root, self.columns)

    @classmethod
    def from_notation(
        cls,
        search_spaces: Any,
        constraint: Callable[[Params], bool] | None = None,
    ) -> Space:
        """Read what users write.

        Parameters
        ----------
        search_spaces : dict, list of dicts, or Space
            For each parameter a list of values, a scipy distribution, a tuple
            ``(low, high)`` or ``(low, high, prior)``, a dimension object, or a
            :class:`Choice`. Of a list of dicts each configuration follows one.
        constraint : callable, default=None
            ``constraint(params) -> bool``; configurations for which it is False
            are never proposed. A Space that has none is copied with this one.

        Returns
        -------
        space : Space
            The space.

        Raises
        ------
        TypeError
            If something is no notation at all; the message names the parameter.
        ValueError
            If bounds, values or options are wrong; the message names the parameter.
        """
        if isinstance(search_spaces, Space):
            if constraint is None:
                return search_spaces
            if search_spaces.constraint is not None:
                raise ValueError(
                    "constraint: the Space that was passed has a constraint already."
                )
            _check_constraint(constraint)
            space = copy.copy(search_spaces)
            space.constraint = constraint
            return space
        return cls(parse_spaces(search_spaces), constraint)

    def extended(self, name: str, dimension: Dimension) -> Space:
        """Make a space of which each configuration has one parameter more.

        Parameters
        ----------
        name : str
            The parameter.
        dimension : Dimension
            What it may be.

        Returns
        -------
        space : Space
            A new one, whose last column it is. The constraint is called with it.

        Raises
        ------
        ValueError
            If there is a parameter of that name.
        """
        if name in self.parameter_names:
            raise ValueError(f"Parameter {name!r} is declared twice.")
        space = copy.copy(self)
        space.columns = [*self.columns, Column(name, dimension)]
        space._root = _Branch([*self._root.entries, _Entry(len(self.columns))])
        space.categorical = np.append(self.categorical, dimension.is_categorical)
        space.parameter_names = sorted([*self.parameter_names, name])
        space.n_configurations = _size(space._root, space.columns)
        return space

    # -- building -----------------------------------------------------------------

    def _alternatives(
        self, spaces: Sequence[Mapping[str, Any]], taken: frozenset[str]
    ) -> _Branch:
        if len(spaces) == 1:
            return self._branch(spaces[0], taken)
        self.overlaps |= any(
            _may_overlap(parse_dict(one), parse_dict(other))
            for one, other in itertools.combinations(spaces, 2)
        )
        choice = Categorical(range(len(spaces)))
        entry = _Entry(self._add(Column(None, choice), fresh=True))
        entry.options = [self._branch(space, taken) for space in spaces]
        return _Branch([entry])

    def _branch(self, space: Mapping[str, Any], taken: frozenset[str]) -> _Branch:
        """Make the branch of one dict, in which `taken` names may not occur."""
        branch = _Branch()
        dimensions = parse_dict(space)
        names = taken | dimensions.keys()
        for name, dimension in dimensions.items():
            if name in taken:
                raise ValueError(
                    f"Parameter {name!r} is declared twice for the same configuration."
                )
            if not isinstance(dimension, Choice):
                _warn_of_repeats(name, dimension)
                branch.entries.append(_Entry(self._add(Column(name, dimension))))
                continue
            entry = _Entry(self._add(Column(name, dimension.dimension), fresh=True))
            opened: set[str] = set()
            options = dimension.dimension.values
            for option, sub_space in zip(options, dimension.sub_spaces, strict=True):
                try:
                    sub = self._alternatives(parse_spaces(sub_space), frozenset(names))
                except (TypeError, ValueError) as error:
                    place = f"Parameter {name!r}, option {option!r}"
                    raise type(error)(f"{place}: {error}") from error
                entry.options.append(sub)
                opened |= _names(sub, self.columns)
            names = names | opened
            branch.entries.append(entry)
        return branch

    def _add(self, column: Column, fresh: bool = False) -> int:
        """Place of a column; alternatives share one for the same parameter.

        What is learnt of C under one kernel then helps under another.
        """
        key = (column.name, column.dimension.key, len(self.columns) if fresh else -1)
        if key not in self._places:
            self._places[key] = len(self.columns)
            self.columns.append(column)
        return self._places[key]

    # -- rows ---------------------------------------------------------------------

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of a linear model on the largest branch of the tree.

        One for the intercept, one for each ordered dimension, and one fewer than its
        options for each unordered one.
        """
        return 1 + _n_slopes(self._root, self.columns)

    @property
    def n_columns(self) -> int:
        """Number of columns of an encoded configuration."""
        return len(self.columns)

    @property
    def n_options(self) -> list[int]:
        """For each column its number of options, or 0 if its positions are ordered."""
        return [
            int(column.dimension.n_values) if column.dimension.is_categorical else 0
            for column in self.columns
        ]

    def active(self, X: FloatArray) -> np.ndarray:
        """Which columns are active in each row.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
            Positions; those of inactive columns do not matter.

        Returns
        -------
        active : ndarray of shape (n, n_columns), bool
            False where the column's parameter does not exist in the row.
        """
        mask = np.zeros(X.shape, dtype=bool)
        self._activate(self._root, X, np.ones(len(X), dtype=bool), mask)
        return mask

    def _activate(
        self, branch: _Branch, X: FloatArray, rows: np.ndarray, mask: np.ndarray
    ) -> None:
        for entry in branch.entries:
            mask[rows, entry.column] = True
            if entry.options:
                places = self._places_of(entry.column, X[:, entry.column])
                for option, sub in enumerate(entry.options):
                    self._activate(sub, X, rows & (places == option), mask)

    def _places_of(self, column: int, positions: FloatArray) -> np.ndarray:
        filled = np.where(np.isnan(positions), 0.0, positions)
        return self.columns[column].dimension.place(filled)  # type: ignore[attr-defined]

    def snap(self, X: FloatArray) -> FloatArray:
        """Rows of valid configurations nearest to the rows of `X`.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
            Positions in [0, 1]; a NaN in a column that is active becomes 0.5.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Positions of values, NaN where inactive.
        """
        return self._rows(X, "snap")

    def from_uniform(self, U: FloatArray) -> FloatArray:
        """Rows of configurations drawn from the prior by a uniform stream.

        Parameters
        ----------
        U : ndarray of shape (n, n_columns)
            Numbers in [0, 1), random or quasi-random.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Encoded configurations.
        """
        return self._rows(U, "from_uniform")

    def _rows(self, X: FloatArray, method: str) -> FloatArray:
        rows = np.where(np.isnan(X), 0.5, X)
        for j, column in enumerate(self.columns):
            rows[:, j] = getattr(column.dimension, method)(rows[:, j])
        rows[~self.active(rows)] = np.nan
        return self._canonical(rows)

    def decode(self, X: FloatArray) -> list[Params]:
        """Turn rows into dicts of plain Python values.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
            Encoded configurations.

        Returns
        -------
        params : list of dict
            For each row its active parameters, in the order of their names.
        """
        X = np.asarray(X, dtype=np.float64)
        active = self.active(X)
        params: list[Params] = [{} for _ in X]
        order = sorted(range(self.n_columns), key=lambda j: self.columns[j].name or "")
        for j in order:
            name = self.columns[j].name
            rows = np.flatnonzero(active[:, j])
            if name is not None and len(rows):
                values = self.columns[j].dimension.decode(X[rows, j])
                for row, value in zip(rows, values, strict=True):
                    params[row][name] = value
        return params

    def encode(self, params: Sequence[Mapping[str, Any]]) -> FloatArray:
        """Turn dicts of parameters into rows.

        Parameters
        ----------
        params : sequence of dict
            Configurations.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Their positions, NaN where inactive.

        Raises
        ------
        ValueError
            If one is not a configuration of the space; the message names the
            parameter.
        """
        X = np.full((len(params), self.n_columns), np.nan)
        for row, one in enumerate(params):
            if not isinstance(one, Mapping):
                raise ValueError(f"A configuration must be a dict, got {one!r}.")
            X[row] = self._encode_one(one)
        return X

    def _encode_one(self, params: Mapping[str, Any]) -> FloatArray:
        problems: list[str] = []
        blank = np.full(self.n_columns, np.nan)
        rows = []
        for row, used in self._match(self._root, params, blank, frozenset(), problems):
            unused = sorted(set(params) - used)
            if not unused:
                rows.append(row)
                continue
            problems.append(
                f"Parameter {unused[0]!r} does not exist in this configuration."
            )
        if not rows:
            raise ValueError(f"{problems[-1]} The configuration: {dict(params)!r}")
        if len(rows) > 1:
            # Dicts of a list may overlap; a float range would round another's int.
            for row, own in zip(rows, self.decode(np.array(rows)), strict=True):
                if all(same(own[name], native(params[name])) for name in own):
                    return row
        return rows[0]

    def _match(
        self,
        branch: _Branch,
        params: Mapping[str, Any],
        row: FloatArray,
        used: frozenset[str],
        problems: list[str],
        start: int = 0,
    ) -> Iterator[tuple[FloatArray, frozenset[str]]]:
        """Every way in which `params` fills `branch` from entry `start` on."""
        if start == len(branch.entries):
            yield row, used
            return
        entry = branch.entries[start]
        column = self.columns[entry.column]
        name, dimension = column.name, column.dimension
        if name is None:
            places = np.arange(len(entry.options))
            positions = dimension.grid
        else:
            try:
                positions = dimension.encode([params[name]])
            except KeyError:
                problems.append(f"Parameter {name!r} is missing.")
                return
            except ValueError as error:
                problems.append(f"Parameter {name!r}: {error}.")
                return
            places = np.zeros(1, dtype=int)
            if entry.options:
                places = self._places_of(entry.column, positions)
            used = used | {name}
        for place, position in zip(places, positions, strict=True):
            filled = row.copy()
            filled[entry.column] = position
            sub = entry.options[place] if entry.options else _Branch()
            for inner, names in self._match(sub, params, filled, used, problems):
                yield from self._match(
                    branch, params, inner, names, problems, start + 1
                )

    def __contains__(self, params: object) -> bool:
        try:
            self.encode([params])  # type: ignore[list-item]
        except ValueError:
            return False
        return True

    def allows(self, params: Mapping[str, Any]) -> bool:
        """Whether the constraint, if there is one, lets a configuration be proposed.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Returns
        -------
        allowed : bool
            True without a constraint.

        Raises
        ------
        ValueError
            If the constraint raises an exception, which is the cause of this one.
        """
        if self.constraint is None:
            return True
        try:
            return bool(self.constraint(dict(params)))
        except Exception as error:
            raise ValueError(
                f"constraint: raised {error!r} for {dict(params)!r}"
            ) from error

    def canonicalize(self, params: Mapping[str, Any]) -> Params:
        """Turn a configuration written by a user into the form that is proposed.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Returns
        -------
        params : dict
            The same with its names in order and the values that the dimensions would
            propose: 3 for 3.0 where ints are expected. Floats of a continuous
            dimension keep their exact value.

        Raises
        ------
        ValueError
            If it is not a configuration of the space; the message names the parameter.
        """
        row = self.encode([params])
        (own,) = self.decode(row)
        for column, position in zip(self.columns, row[0], strict=True):
            if column.name in own and not np.isnan(position):
                if math.isinf(column.dimension.n_values):
                    own[column.name] = float(params[column.name])
        return own

    # -- finite spaces ------------------------------------------------------------

    def cells(self, indices: np.ndarray) -> FloatArray:
        """Rows of the configurations with the given numbers.

        Parameters
        ----------
        indices : ndarray of shape (n,), int
            Numbers from 0 to ``n_configurations - 1``.

        Returns
        -------
        X : ndarray of shape (n, n_columns)
            Encoded configurations. Where alternatives overlap two numbers may stand
            for the same one.
        """
        X = np.full((len(indices), self.n_columns), np.nan)
        self._fill(self._root, np.asarray(indices), np.arange(len(indices)), X)
        return self._canonical(X)

    def _canonical(self, X: FloatArray) -> FloatArray:
        """Let one row stand for one setting: the row of the first alternative."""
        return self.encode(self.decode(X)) if self.overlaps else X

    def _fill(
        self, branch: _Branch, numbers: np.ndarray, rows: np.ndarray, X: FloatArray
    ) -> None:
        """Read the numbers as digits, one an entry, the first varying slowest."""
        for entry in reversed(branch.entries):
            grid = self.columns[entry.column].dimension.grid
            if not entry.options:
                numbers, digits = np.divmod(numbers, len(grid))
                X[rows, entry.column] = grid[digits]
                continue
            sizes = [int(_size(sub, self.columns)) for sub in entry.options]
            ends = np.cumsum(sizes)
            numbers, digits = np.divmod(numbers, ends[-1])
            places = np.searchsorted(ends, digits, side="right")
            X[rows, entry.column] = grid[places]
            for place, sub in enumerate(entry.options):
                own = places == place
                offset = ends[place] - sizes[place]
                self._fill(sub, digits[own] - offset, rows[own], X)

    def covering_sample(self) -> list[Params]:
        """List a few configurations that together use every option there is.

        Returns
        -------
        params : list of dict
            Configurations; `constraint` is not looked at, since they serve for
            checking names and are never fitted.
        """
        return self.decode(self._cover(self._root, np.full(self.n_columns, np.nan)))

    def _cover(self, branch: _Branch, row: FloatArray) -> FloatArray:
        rows = row[None, :].copy()
        for entry in branch.entries:
            dimension = self.columns[entry.column].dimension
            shown = dimension.from_uniform(np.array([0.5]))
            if dimension.is_categorical:
                shown = dimension.grid
            # The first option goes with all rows so far, each further one with one.
            parts = []
            for place, position in enumerate(shown):
                part = rows.copy() if place == 0 else rows[:1].copy()
                part[:, entry.column] = position
                if entry.options:
                    sub = entry.options[place]
                    covered = self._cover(sub, part[0])
                    part = np.vstack(
                        [covered, *[self._cover(sub, one)[:1] for one in part[1:]]]
                    )
                parts.append(part)
            rows = np.vstack(parts)
        return rows

    @property
    def tree(self) -> list[tuple[int, list]]:
        """The columns, each with the trees of columns that its options open."""
        return _outline(self._root)

    def __repr__(self) -> str:
        named = [f"{c.name}: {c.dimension!r}" for c in self.columns if c.name]
        return f"Space({{{', '.join(named)}}})"


def _check_constraint(constraint: Any) -> None:
    if constraint is not None and not callable(constraint):
        raise TypeError(
            f"constraint must be a callable on a dict of parameters or None, "
            f"got {constraint!r}."
        )


def _warn_of_repeats(name: str, dimension: Dimension) -> None:
    repeated = getattr(dimension, "repeated", ())
    if repeated:
        shown = ", ".join(map(repr, repeated[:MAX_SHOWN]))
        more = ", …" if len(repeated) > MAX_SHOWN else ""
        warnings.warn(
            f"Parameter {name!r}: repeated values are dropped: {shown}{more}.",
            UserWarning,
            stacklevel=2,
        )


def _outline(branch: _Branch) -> list[tuple[int, list]]:
    return [(e.column, [_outline(sub) for sub in e.options]) for e in branch.entries]


def _n_slopes(branch: _Branch, columns: list[Column]) -> int:
    total = 0
    for entry in branch.entries:
        dimension = columns[entry.column].dimension
        n_values = dimension.n_values if dimension.is_categorical else 2
        total += int(min(n_values, dimension.n_values)) - 1
        total += max((_n_slopes(sub, columns) for sub in entry.options), default=0)
    return total


def _names(branch: _Branch, columns: list[Column]) -> set[str]:
    """Names of the parameters that can occur in a branch."""
    found: set[str] = set()
    for entry in branch.entries:
        name = columns[entry.column].name
        found |= {name} if name else set()
        for sub in entry.options:
            found |= _names(sub, columns)
    return found


def _may_overlap(
    one: Mapping[str, Dimension | Choice], other: Mapping[str, Dimension | Choice]
) -> bool:
    """Whether a configuration may belong to both of two dicts."""
    choices = [d for d in (*one.values(), *other.values()) if isinstance(d, Choice)]
    if not choices and one.keys() != other.keys():
        return False
    return not any(
        _disjoint(_dimension(one[name]), _dimension(other[name]))
        for name in one.keys() & other.keys()
    )


def _dimension(value: Dimension | Choice) -> Dimension:
    return value.dimension if isinstance(value, Choice) else value


def _disjoint(one: Dimension, other: Dimension) -> bool:
    """Whether two finite dimensions are known to have no value in common."""
    if max(one.n_values, other.n_values) > MAX_COMPARED:
        return False
    values = other.decode(other.grid)
    return not any(one.contains(value) for value in values)


def _size(branch: _Branch, columns: list[Column]) -> float:
    """Count the configurations of a branch; exact unless infinite."""
    total: float = 1
    for entry in branch.entries:
        factor: float = columns[entry.column].dimension.n_values
        if entry.options:
            factor = sum(_size(sub, columns) for sub in entry.options)
        # A large int times a float would overflow.
        total = math.inf if math.inf in (factor, total) else total * int(factor)
    return total
