"""Tables of trained systems, which replace training by a lookup.

Symbols: a table has n rows, D hyper-parameters and m objectives.

- ``X``: (n, D) encoded configurations, in the order of the file.
- ``scores``: (n, m) objectives, all to be maximized; those to be minimized are negated.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from skbayes.space import Categorical, Dimension, Ordinal, Space
from skbayes.space.dimensions import FloatArray, is_number, native
from skbayes.utils.ranking import is_nondominated

Params = dict[str, Any]

NMT_PAIRS = ("zh-en", "ru-en", "ja-en", "en-ja", "sw-en", "so-en")

_SCALES = ("auto", "linear", "log", "rank", "categorical")


class RowSpace(Space):
    """Finite search space that consists of the rows of a table."""

    def __init__(
        self, dimensions: Mapping[str, Dimension], params: Sequence[Params]
    ) -> None:
        super().__init__([dimensions])
        X = self.encode(params)
        # The rows are not in the order of the file. The order decides among equally
        # good candidates, and the target is the first of the best rows in the file.
        self._cells_of_rows = X[np.lexsort(X.T[::-1])]
        self._keys_of_rows = {row.tobytes() for row in self._cells_of_rows}
        self.n_configurations = len(self._cells_of_rows)
        self.constraint = self._is_row

    def _is_row(self, params: Params) -> bool:
        return self.encode([params])[0].tobytes() in self._keys_of_rows

    def enumerate(self, indices: np.ndarray) -> FloatArray:
        """Return the encoded rows with the given numbers, in order of positions."""
        return self._cells_of_rows[indices]


class LookupTable:
    """Table of configurations with known values of the objectives.

    Parameters
    ----------
    params : sequence of dict
        Configurations with the same hyper-parameters, without duplicates.
    objectives : dict of str to array-like of shape (n,)
        Measured values, which must be finite numbers.
    directions : dict of str to {"max", "min"}
        Objectives to tune, in this order, and their directions. A search for one
        objective uses the first one.
    scales : dict of str to str, default=None
        Scales of the hyper-parameters: "linear", "log" or "rank" for numbers,
        "categorical" for values without an order. The default "auto" uses the scale of
        :class:`skbayes.space.Ordinal` for numbers, and "categorical" otherwise.
    name : str, default="table"
        Name of the table.
    tolerance : float, default=0.0
        Maximum difference from the best score in the first objective at which a score
        is close enough (ftc).
    front_budget : int, default=50
        Number of rows after which the rows found on the front are counted (fbp).

    Attributes
    ----------
    params : list of dict
        Configurations with plain Python values.
    columns : list of str
        Names of the hyper-parameters.
    dimensions : dict of str to Dimension
        Values and scale of each hyper-parameter.
    space : RowSpace
        Finite search space of the rows.
    X : ndarray of shape (n, D)
        Encoded configurations.
    scores : ndarray of shape (n, m)
        Objectives, to be maximized.
    objectives : tuple of str
        Names of the objectives.
    best : int
        First of the rows that are best in the first objective.
    front : ndarray of int
        Rows that are not dominated by another row, in ascending order.
    digest : str
        Hash of the table, which differs between tables of the same name.

    Raises
    ------
    ValueError
        If an argument is wrong.

    Examples
    --------
    >>> from skbayes.benchmark import LookupTable
    >>> table = LookupTable(
    ...     [{"depth": 2}, {"depth": 4}, {"depth": 8}],
    ...     {"error": [0.3, 0.1, 0.2]},
    ...     {"error": "min"},
    ... )
    >>> table.best, table.params[table.best]
    (1, {'depth': 4})
    """

    def __init__(
        self,
        params: Sequence[Mapping[str, Any]],
        objectives: Mapping[str, Any],
        directions: Mapping[str, str],
        *,
        scales: Mapping[str, str] | None = None,
        name: str = "table",
        tolerance: float = 0.0,
        front_budget: int = 50,
    ) -> None:
        self.name = name
        self.tolerance = tolerance
        self.front_budget = front_budget
        self.params: list[Params] = [
            {key: native(value) for key, value in row.items()} for row in params
        ]
        if not self.params or not self.params[0]:
            raise ValueError("params: there are no configurations.")
        self.columns = list(self.params[0])
        if any(set(row) != set(self.columns) for row in self.params):
            raise ValueError("params: all rows must have the same hyper-parameters.")
        scales = scales or {}
        unknown = sorted(set(scales) - set(self.columns))
        if unknown:
            raise ValueError(f"scales: {unknown} are not hyper-parameters.")
        self.dimensions = {
            name: self._dimension(name, scales.get(name, "auto"))
            for name in self.columns
        }
        self.space = RowSpace(self.dimensions, self.params)
        # The columns have another order than in the space.
        order = [column.name for column in self.space.columns]
        places = [order.index(column) for column in self.columns]
        self.X = self.space.encode(self.params)[:, places]
        if len(np.unique(self.X, axis=0)) < len(self.X):
            raise ValueError("params: a configuration occurs twice.")
        scores = self._read_scores(objectives, directions)
        self._take_scores(scores, tuple(directions))

    # -- reading ------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        hyperparameters: Sequence[str] | Mapping[str, str],
        directions: Mapping[str, str],
        **options: Any,
    ) -> LookupTable:
        """Make a table from a data frame, or from a dict of columns by name.

        `hyperparameters` are the columns of the hyper-parameters; a dict also specifies
        their scales. `directions` has the columns of the objectives, each "max" or
        "min". `options` are `name`, `tolerance` and `front_budget`.
        """
        names = [*hyperparameters, *directions]
        missing = [name for name in names if name not in frame]
        if missing:
            raise ValueError(f"frame: there are no columns {missing}.")
        rows = zip(*(frame[name] for name in hyperparameters), strict=True)
        params = [dict(zip(hyperparameters, row, strict=True)) for row in rows]
        objectives = {name: list(frame[name]) for name in directions}
        if isinstance(hyperparameters, Mapping):
            options = {"scales": hyperparameters} | options
        return cls(params, objectives, directions, **options)

    @classmethod
    def from_csv(
        cls,
        path: str | PathLike[str],
        hyperparameters: Sequence[str] | Mapping[str, str],
        directions: Mapping[str, str],
        **options: Any,
    ) -> LookupTable:
        """Read a table from a CSV file whose first line contains the column names.

        The other arguments are described in :meth:`from_frame`. Whole numbers are
        converted to int, other numbers to float, and all other values are strings. By
        default, the file gives the table its name.
        """
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = list(rows[0]) if rows else []
        frame = {name: [_value(row[name]) for row in rows] for name in names}
        options = {"name": Path(path).stem} | options
        return cls.from_frame(frame, hyperparameters, directions, **options)

    def _dimension(self, name: str, scale: str) -> Dimension:
        if scale not in _SCALES:
            raise ValueError(
                f"scales: the scale of {name!r} must be one of {list(_SCALES)}, "
                f"got {scale!r}."
            )
        values = list(dict.fromkeys(row[name] for row in self.params))
        is_numeric = all(map(is_number, values))
        if scale == "categorical" or (scale == "auto" and not is_numeric):
            return Categorical(values)
        try:
            return Ordinal(values, scale)  # type: ignore[arg-type]
        except ValueError as error:
            raise ValueError(f"scales: {name!r}: {error}") from error

    def _read_scores(
        self, objectives: Mapping[str, Any], directions: Mapping[str, str]
    ) -> FloatArray:
        if not directions:
            raise ValueError("directions: at least one objective is needed.")
        scores = np.empty((len(self.params), len(directions)))
        for place, (name, direction) in enumerate(directions.items()):
            if direction not in ("max", "min"):
                raise ValueError(
                    f"directions: the direction of {name!r} must be 'max' or 'min', "
                    f"got {direction!r}."
                )
            if name not in objectives:
                raise ValueError(f"objectives: there is no {name!r}.")
            try:
                values = np.asarray(objectives[name], dtype=float)
            except (TypeError, ValueError) as error:
                raise ValueError(f"objectives: {name!r}: {error}.") from error
            if values.shape != (len(scores),) or not np.all(np.isfinite(values)):
                raise ValueError(
                    f"objectives: {name!r} needs a finite number for each of the "
                    f"{len(scores)} rows."
                )
            scores[:, place] = values if direction == "max" else -values
        return scores

    def _take_scores(self, scores: FloatArray, names: tuple[str, ...]) -> None:
        self.objectives = names
        self.scores = scores
        self.best = int(np.argmax(scores[:, 0]))
        self.front = np.flatnonzero(is_nondominated(scores))
        parts = [repr(self.params).encode(), self.X.tobytes(), scores.tobytes()]
        self.digest = hashlib.sha256(b"|".join(parts)).hexdigest()[:16]

    # -- looking up ---------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.params)

    def __repr__(self) -> str:
        return (
            f"<LookupTable {self.name!r}: {len(self)} rows, {len(self.columns)} "
            f"hyper-parameters, objectives {list(self.objectives)}>"
        )

    @property
    def n_objectives(self) -> int:
        """Number of objectives."""
        return len(self.objectives)

    def first(self, n: int) -> LookupTable:
        """Return a table with only the first `n` objectives, which shares its rows."""
        if not 1 <= n <= self.n_objectives:
            raise ValueError(
                f"n must be from 1 to {self.n_objectives}, the objectives of "
                f"{self.name!r}, got {n!r}."
            )
        table = copy.copy(self)
        table._take_scores(self.scores[:, :n], self.objectives[:n])
        return table

    # -- between the levels ---------------------------------------------------------

    def position(self, params: Mapping[str, Any]) -> FloatArray:
        """Return the position of a configuration in the unit cube, shape (D,).

        Numbers need not be in the table; they are clipped to its range. A missing
        hyper-parameter, and a value that is neither a number nor in the table, are
        errors.
        """
        if missing := [name for name in self.columns if name not in params]:
            raise ValueError(f"params: {missing} are missing in {dict(params)!r}.")
        return np.array([self._position(name, params[name]) for name in self.columns])

    def _position(self, name: str, value: Any) -> float:
        dimension = self.dimensions[name]
        if not (isinstance(dimension, Ordinal) and is_number(value)):
            return float(dimension.encode([value])[0])
        value = min(max(value, dimension.values[0]), dimension.values[-1])
        level = math.log(value) if dimension.scale == "log" else float(value)
        return float(np.interp(level, _levels(dimension), dimension.grid))

    def at(self, x: FloatArray) -> Params:
        """Return the configuration at a position (D,) in the unit cube.

        Numbers are interpolated between the numbers of the table. Other values are the
        nearest ones in the table.
        """
        return {
            name: self._value_at(self.dimensions[name], float(position))
            for name, position in zip(self.columns, x, strict=True)
        }

    def _value_at(self, dimension: Dimension, position: float) -> Any:
        if not isinstance(dimension, Ordinal) or not is_number(dimension.values[0]):
            return dimension.decode(dimension.snap(np.array([position])))[0]
        level = float(np.interp(position, dimension.grid, _levels(dimension)))
        return math.exp(level) if dimension.scale == "log" else level

    def nearest(self, params: Mapping[str, Any], free: np.ndarray) -> int:
        """Return the row of the `free` ones (n,) that is nearest to a configuration.

        It has the smallest squared distance in the unit cube, and is the first one of
        ties. Different values without an order have the distance 1.
        """
        difference = np.abs(self.X - self.position(params))
        kinds = [self.dimensions[name].is_categorical for name in self.columns]
        difference[:, kinds] = difference[:, kinds] > 0
        distance = np.sum(difference**2, axis=1)
        return int(np.argmin(np.where(free, distance, np.inf)))


def _levels(dimension: Ordinal) -> list[float]:
    scale = math.log if dimension.scale == "log" else float
    return [scale(value) for value in dimension.values]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load_nmt(pair: str) -> LookupTable:
    """Load one of the six tables of translation systems of Zhang & Duh (2020).

    Each table contains 118 to 767 Transformers with six hyper-parameters, their BLEU
    (to be maximized) and their decoding time (to be minimized). The source is
    https://github.com/Este1le/hpo_nmt (MIT license, see the package's
    ``benchmark/data/LICENSE``). The paper defines scales and tolerances.

    Parameters
    ----------
    pair : {"zh-en", "ru-en", "ja-en", "en-ja", "sw-en", "so-en"}
        Language pair.

    Returns
    -------
    table : LookupTable
        The table.

    Raises
    ------
    ValueError
        If there is no such pair.

    References
    ----------
    Zhang & Duh (2020), "Reproducible and efficient benchmarks for hyperparameter
    optimization of neural machine translation systems", TACL 8.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt
    >>> table = load_nmt("zh-en")
    >>> len(table), len(table.front), float(table.scores[table.best, 0])
    (118, 3, 14.66)
    """
    if pair not in NMT_PAIRS:
        raise ValueError(f"pair must be one of {list(NMT_PAIRS)}, got {pair!r}.")
    large = pair in ("sw-en", "so-en")
    return LookupTable.from_csv(
        Path(str(files("skbayes.benchmark") / "data" / f"{pair}.csv")),
        {
            "bpe": "log" if large else "linear",
            "num_layers": "linear",
            "num_embed": "log",
            "num_hidden": "linear",
            "num_heads": "linear",
            "init_lr": "linear",
        },
        {"dev_bleu": "max", "dev_gpu_time": "min"},
        tolerance=1.0 if pair == "en-ja" else 0.5,
        front_budget=200 if large else 50,
    )
