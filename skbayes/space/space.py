"""Search spaces: trees of columns, encoded as rows of the unit cube.

Symbols:

- ``X``: array of shape (n, n_columns). Each column is one dimension of the tree. Each
  row holds the positions of one configuration, NaN where a column is inactive.
- ``U``: array of shape (n, n_columns) of a uniform stream in [0, 1).
- branch: see `branches`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import branches
from skbayes.space.branches import Column, TreeBuilder, TreeEntry
from skbayes.space.dimensions import Dimension, FloatArray, key_of, keys_of, native
from skbayes.space.lists import same
from skbayes.space.notation import parse_spaces
from skbayes.utils.did_you_mean import did_you_mean

Params = dict[str, Any]

# Number of cached results of the constraint; sufficient for any enumerated space.
MAX_REMEMBERED = 20_000


class Space:
    """Search space: its configurations and their encoding.

    Use :meth:`from_notation` to create a space.

    Parameters
    ----------
    spaces : sequence of dict
        Alternative search spaces, at least one. Each configuration belongs to one of
        them.
    constraint : callable, default=None
        Function ``constraint(params) -> bool``. Configurations for which it returns
        False are never proposed.

    Attributes
    ----------
    columns : list of Column
        Columns of an encoded configuration.
    parameter_names : list of str
        Sorted names of all hyper-parameters that can occur.
    n_configurations : int or float
        Number of configurations without the constraint, ``math.inf`` if any dimension
        is continuous.
    categorical : ndarray of shape (n_columns,), bool
        Mask of the columns whose positions have no order.
    overlaps : bool
        Whether two dicts of a list may contain the same configuration. It is then
        encoded with the first of them.

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
        self.ones: set[tuple[str, str]] = set()
        self._allowed_by_key: dict[str, bool] = {}
        builder = TreeBuilder()
        self._root = builder.alternatives(spaces)
        self.columns, self.overlaps = builder.columns, builder.overlaps
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from the tree and its columns."""
        self.categorical = np.array(
            [column.dimension.is_categorical for column in self.columns], dtype=bool
        )
        self.parameter_names = sorted({c.name for c in self.columns if c.name})
        self.n_configurations: float = branches.n_configurations(self._root)

    def __getstate__(self) -> dict[str, Any]:
        """Return a state of built-in types and dimensions, for skops."""
        columns = [(column.name, column.dimension) for column in self.columns]
        return {
            **vars(self),
            "columns": columns,
            "_root": branches.as_lists(self._root),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.columns = [Column(*pair) for pair in state["columns"]]
        self._root = branches.from_lists(state["_root"], self.columns)

    @classmethod
    def from_notation(
        cls, search_spaces: Any, constraint: Callable[[Params], bool] | None = None
    ) -> Space:
        """Create a space from the notation of a search.

        Parameters
        ----------
        search_spaces : dict, list of dicts, or Space
            A dict maps the name of each parameter to its possible values: a list of
            values, a scipy distribution, a tuple ``(low, high)`` or
            ``(low, high, prior)``, a dimension object, or a :class:`Choice`. With a
            list of dicts, each configuration belongs to one of them. A `Space` is
            returned unchanged, or copied with the constraint.
        constraint : callable, default=None
            Function ``constraint(params) -> bool``. Configurations for which it returns
            False are never proposed.

        Returns
        -------
        space : Space
            Search space. If values, bounds or options are invalid, a TypeError or
            ValueError names the parameter.
        """
        if isinstance(search_spaces, Space):
            if constraint is None:
                return search_spaces
            if search_spaces.constraint is not None:
                raise ValueError(
                    "constraint: the Space already has a constraint. Pass only one."
                )
            return search_spaces.with_constraint(constraint)
        return cls(parse_spaces(search_spaces), constraint)

    def with_constraint(self, constraint: Callable[[Params], bool] | None) -> Space:
        """Return a copy with another constraint, or without one for None."""
        _check_constraint(constraint)
        space = copy.copy(self)
        space.constraint, space._allowed_by_key = constraint, {}
        return space

    def with_distinct_ones(self, ones: Iterable[tuple[str, str]]) -> Space:
        """Return a copy in which 1 and 1.0 differ for some parameters.

        A pair of a parameter and a type, "int" or "float", means that 1 of this type
        differs from 1 of the other type. For example, 1 is a number of features, and
        1.0 the fraction that consists of all features.
        """
        space = self.with_constraint(self.constraint)
        space.ones = set(ones)
        return space

    def misreads(self, place: int, position: float, value: Any) -> bool:
        """Return whether a column mistakes 1 for 1.0, or 1.0 for 1.

        `position` is the position of the value in the column.
        """
        value, column = native(value), self.columns[place]
        if (column.name, type(value).__name__) not in self.ones or value != 1:
            return False
        return type(column.dimension.decode(np.array([position]))[0]) is not type(value)

    def extended(self, name: str, dimension: Dimension) -> Space:
        """Return a copy with an additional parameter, whose column is the last one.

        The parameter is also passed to the constraint.
        """
        if name in self.parameter_names:
            raise ValueError(f"Parameter {name!r} is declared twice.")
        space = self.with_constraint(self.constraint)
        column = Column(name, dimension)
        space._root = [*self._root, TreeEntry(self.n_columns, column)]
        space.columns = [*self.columns, column]
        space._describe()
        return space

    # -- rows ---------------------------------------------------------------------

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of a linear model on the largest branch of the tree.

        The model has one coefficient for the intercept, one for each ordered dimension,
        and the number of options minus one for each unordered dimension.
        """
        return 1 + branches.n_slopes(self._root)

    @property
    def n_columns(self) -> int:
        """Number of columns of an encoded configuration."""
        return len(self.columns)

    @property
    def n_options(self) -> list[int]:
        """Number of options of each column, or 0 if its positions are ordered."""
        return [
            int(column.dimension.n_values) if column.dimension.is_categorical else 0
            for column in self.columns
        ]

    @property
    def n_values(self) -> dict[str, float]:
        """Number of values of each parameter, ``math.inf`` for a continuous range."""
        counts: dict[str, float] = dict.fromkeys(self.parameter_names, 0.0)
        for column in self.columns:
            if column.name is not None:
                counts[column.name] += column.dimension.n_values
        return counts

    def active(self, X: FloatArray) -> np.ndarray:
        """Return the mask (n, n_columns) of the active columns of rows."""
        mask = np.zeros(X.shape, dtype=bool)
        for entry, rows in branches.entries(self._root, X, np.ones(len(X), dtype=bool)):
            mask[rows, entry.place] = True
        return mask

    def snap(self, X: FloatArray) -> FloatArray:
        """Return the encoded configurations that are nearest to positions.

        Shapes are (n, n_columns). NaN in an active column is replaced by 0.5.
        """
        return self._rows(X, "snap")

    def from_uniform(self, U: FloatArray) -> FloatArray:
        """Draw configurations from the prior.

        `U` (n, n_columns) are random or quasi-random numbers in [0, 1). Each of its
        rows gives one encoded configuration.
        """
        return self._rows(U, "from_uniform")

    def _rows(self, X: FloatArray, method: str) -> FloatArray:
        rows = np.where(np.isnan(X), 0.5, X)
        for j, column in enumerate(self.columns):
            rows[:, j] = _named(column, method, rows[:, j])
        active = np.zeros(X.shape, dtype=bool)
        for entry, mask in branches.entries(
            self._root, rows, np.ones(len(X), dtype=bool)
        ):
            active[mask, entry.place] = True
            if entry.constant is not None:
                rows[mask, entry.place] = entry.constant.position
        rows[~active] = np.nan
        return self._in_first_alternative(rows)

    def decode(self, X: FloatArray) -> list[Params]:
        """Decode rows to dicts of plain Python values, sorted by name."""
        X = np.asarray(X, dtype=np.float64)
        active = self.active(X)
        params: list[Params] = [{} for _ in X]
        order = sorted(range(self.n_columns), key=lambda j: self.columns[j].name or "")
        for j in order:
            name = self.columns[j].name
            rows = np.flatnonzero(active[:, j])
            if name is not None and len(rows):
                values = _named(self.columns[j], "decode", X[rows, j])
                for row, value in zip(rows, values, strict=True):
                    params[row][name] = value
        return params

    def encode(self, params: Sequence[Mapping[str, Any]]) -> FloatArray:
        """Encode dicts of parameters as rows (n, n_columns), NaN where inactive.

        A ValueError names the parameter if a dict is not a configuration of the space.
        """
        X = np.full((len(params), self.n_columns), np.nan)
        for row, configuration in enumerate(params):
            if not isinstance(configuration, Mapping):
                raise ValueError(
                    f"A configuration must be a dict, got {configuration!r}."
                )
            X[row] = self._encode_one(configuration)
        return X

    def _encode_one(
        self, params: Mapping[str, Any], known_row: FloatArray | None = None
    ) -> FloatArray:
        """Return the row of parameters; `known_row` is a row of them, if available."""
        problems: list[str] = []
        blank = np.full(self.n_columns, np.nan)
        first = None
        matches = branches.match(
            self._root, params, blank, frozenset(), problems, known_row
        )
        for row, names in matches:
            unused = sorted(set(params) - names)
            if unused:
                problems.append(
                    f"Parameter {unused[0]!r} does not exist in this configuration."
                )
                continue
            if (column := self._misread(row, params)) is not None:
                problems.append(
                    f"Parameter {column.name!r}: 1 and 1.0 have different meanings, "
                    f"and {column.dimension!r} contains the other one."
                )
                continue
            # If dicts overlap, the float range of a dict may round the int of another.
            if not self.overlaps or self._is_exact(row, params):
                return row
            first = row if first is None else first
        if first is None:
            problem = problems[-1]
            unknown = sorted(set(params).difference(self.parameter_names), key=str)
            if unknown and repr(unknown[0]) not in problem:
                hint = did_you_mean(str(unknown[0]), self.parameter_names)
                problem += f" Parameter {unknown[0]!r} is not in the space.{hint}"
            raise ValueError(f"{problem} The configuration: {dict(params)!r}")
        return first

    def _misread(self, row: FloatArray, params: Mapping[str, Any]) -> Column | None:
        """Return the first column that mistakes a value for another one, if any."""
        for place, column in enumerate(self.columns if self.ones else []):
            if column.name is not None and not math.isnan(row[place]):
                if self.misreads(place, row[place], params[column.name]):
                    return column
        return None

    def selection(self, values: Mapping[str, Any]) -> Params | None:
        """Return the configuration of the parameters that are active with some values.

        `values` has the values by parameter name. The result is in its canonical form,
        or None if the active values are not a configuration of the space.
        """
        blank = np.full(self.n_columns, np.nan)
        for row, names in branches.match(self._root, values, blank, frozenset(), []):
            if self._misread(row, values) is None:
                return self.canonicalize({name: values[name] for name in names})
        return None

    def _is_exact(self, row: FloatArray, params: Mapping[str, Any]) -> bool:
        """Return whether decoding a row returns the same parameters."""
        for place in np.flatnonzero(~np.isnan(row)).tolist():
            name, dimension = self.columns[place].name, self.columns[place].dimension
            if name is not None:
                (value,) = dimension.decode(row[[place]])
                if not same(value, native(params[name]), copies=False):
                    return False
        return True

    def __contains__(self, params: object) -> bool:
        try:
            self.encode([params])  # type: ignore[list-item]
        except ValueError:
            return False
        return True

    def allows(self, params: Mapping[str, Any]) -> bool:
        """Return whether the constraint allows a configuration.

        The constraint is called once per configuration, and its results are cached. A
        ValueError is raised if it raises an exception, or if `params` is not a
        configuration of the space.
        """
        if self.constraint is None:
            return True
        return self._is_allowed(key_of(self.encode([params])[0]), params)

    def allowed(self, X: FloatArray) -> np.ndarray:
        """Return the mask (n,) of the rows that the constraint allows."""
        mask = np.ones(len(X), dtype=bool)
        if self.constraint is not None:
            keys = keys_of(X)
            for i, params in enumerate(self.decode(X)):
                mask[i] = self._is_allowed(keys[i], params)
        return mask

    def _is_allowed(self, key: str, params: Mapping[str, Any]) -> bool:
        """Return the result of the constraint, from the cache if possible."""
        if key not in self._allowed_by_key:
            if len(self._allowed_by_key) >= MAX_REMEMBERED:
                del self._allowed_by_key[next(iter(self._allowed_by_key))]
            assert self.constraint is not None
            try:
                self._allowed_by_key[key] = bool(self.constraint(dict(params)))
            except Exception as error:
                raise ValueError(
                    f"The constraint raised {error!r} for {dict(params)!r}"
                ) from error
        return self._allowed_by_key[key]

    def canonicalize(self, params: Mapping[str, Any]) -> Params:
        """Return a configuration in the form in which it is proposed.

        Names are sorted, and values have the types that the dimensions propose. For
        example, 3.0 becomes 3 if the dimension is a range of integers. Floats of a
        continuous dimension keep their exact values. A ValueError is raised if `params`
        is not a configuration of the space.
        """
        return self.canonicalize_row(params, self.encode([params])[0])

    def canonicalize_row(self, params: Mapping[str, Any], row: FloatArray) -> Params:
        """Return the canonical form of a configuration with a known encoding."""
        (canonical,) = self.decode(row[None])
        for column, position in zip(self.columns, row, strict=True):
            if column.name in canonical and not math.isnan(position):
                if math.isinf(column.dimension.n_values):
                    canonical[column.name] = float(params[column.name])
        return canonical

    # -- finite spaces ------------------------------------------------------------

    def enumerate(self, indices: np.ndarray) -> FloatArray:
        """Return the configurations of a finite space with the given indices, as rows.

        Indices are from 0 to ``n_configurations - 1``. If alternatives overlap, two
        indices may belong to the same configuration.
        """
        X = np.full((len(indices), self.n_columns), np.nan)
        branches.fill(self._root, np.asarray(indices), np.arange(len(indices)), X)
        return self._in_first_alternative(X)

    def _in_first_alternative(self, X: FloatArray) -> FloatArray:
        """Encode each row with the first alternative that contains its parameters."""
        if not self.overlaps:
            return X
        doubtful = np.zeros(len(X), dtype=bool)
        for entry, rows in branches.entries(self._root, X, np.ones(len(X), dtype=bool)):
            if any(entry.shadowed):
                shadowed = np.array(entry.shadowed)
                doubtful |= rows & shadowed[entry.chosen(X[:, entry.place])]
        places = np.flatnonzero(doubtful)
        for place, params in zip(places, self.decode(X[places]), strict=True):
            X[place] = self._encode_one(params, X[place])
        return X

    def covering_sample(self) -> list[Params]:
        """Return a few configurations that together use every option.

        The constraint is not applied, because they are used to check parameter names
        and not to fit estimators.
        """
        return self.decode(branches.cover(self._root, np.full(self.n_columns, np.nan)))

    @property
    def tree(self) -> list[tuple[int, list]]:
        """Tree of the columns: each with the conditional columns of its options."""
        return branches.outline(self._root)

    def __repr__(self) -> str:
        named = [f"{c.name}: {c.dimension!r}" for c in self.columns if c.name]
        return f"Space({{{', '.join(named)}}})"


def _named(column: Column, method: str, positions: FloatArray) -> Any:
    """Call a method of a dimension; exceptions name the parameter."""
    try:
        return getattr(column.dimension, method)(positions)
    except Exception as error:
        raise ValueError(
            f"Parameter {column.name!r}: {column.dimension!r} raised {error!r}"
        ) from error


def _check_constraint(constraint: Any) -> None:
    if constraint is not None and not callable(constraint):
        raise TypeError(
            f"constraint must be a callable that accepts a dict of parameters, or "
            f"None, got {constraint!r}."
        )
