"""Tables of trained systems, in which looking a row up replaces training it.

Symbols: a table has n rows, D hyper-parameters and m objectives.

- ``X``: (n, D) encoded configurations, in the order of the file.
- ``scores``: (n, m) objectives, all to be maximized: those to be minimized are negated.
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

from skbayes.acquisition.hypervolume import is_nondominated
from skbayes.space import Categorical, Dimension, Ordinal, Space
from skbayes.space.dimensions import FloatArray, is_number, native

__all__ = [
    "NMT_PAIRS",
    "LookupTable",
    "RowSpace",
    "load_nmt",
]

Params = dict[str, Any]

NMT_PAIRS = ("zh-en", "ru-en", "ja-en", "en-ja", "sw-en", "so-en")

_SCALES = ("auto", "linear", "log", "rank", "categorical")


class RowSpace(Space):
    """The rows of a table as a finite space: nothing else may be proposed."""

    def __init__(
        self, dimensions: Mapping[str, Dimension], params: Sequence[Params]
    ) -> None:
        super().__init__([dimensions])
        X = self.encode(params)
        # Not in the order of the file: it would decide among equally good candidates,
        # and among rows that tie for best the first in the file is the one to find.
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
    """Configurations and what they gave, known beforehand.

    Parameters
    ----------
    params : sequence of dict
        The configurations, all with the same hyper-parameters; none occurs twice.
    objectives : dict of str to array-like of shape (n,)
        What was measured, finite numbers.
    directions : dict of str to {"max", "min"}
        Which of `objectives` are tuned, in this order, and which way they improve.
        A search for one objective takes the first.
    scales : dict of str to str, default=None
        How the values of a hyper-parameter lie: "linear", "log" or "rank" for
        numbers, "categorical" for values without an order. "auto", which is the
        default: as :class:`skbayes.space.Ordinal` chooses for numbers, "categorical"
        otherwise.
    name : str, default="table"
        What the table is called.
    tolerance : float, default=0.0
        How far below the best a score of the first objective is close enough (ftc).
    front_budget : int, default=50
        After how many rows the Pareto rows found are counted (fbp).

    Attributes
    ----------
    params : list of dict
        The configurations, plain Python values.
    columns : list of str
        Names of the hyper-parameters.
    dimensions : dict of str to Dimension
        The values of each hyper-parameter and how they lie.
    space : RowSpace
        The rows as a finite space.
    X : ndarray of shape (n, D)
        Encoded configurations.
    scores : ndarray of shape (n, m)
        Objectives, to be maximized.
    objectives : tuple of str
        Their names.
    best : int
        The first of the rows that are best in the first objective.
    front : ndarray of int
        The rows that no other row dominates, ascending.
    digest : str
        What tells this table from others of the same name.

    Raises
    ------
    ValueError
        If an argument is wrong; the message says which and why.

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
            raise ValueError("params: all rows need the same hyper-parameters.")
        self.dimensions = self._read_dimensions(scales or {})
        self.space = RowSpace(self.dimensions, self.params)
        # In the order of the names of the columns, which is not that of the space.
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
        """Make a table of a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame or dict of str to array-like
            Columns by name.
        hyperparameters : list of str or dict of str to str
            Which columns are hyper-parameters; a dict gives their scales too.
        directions : dict of str to {"max", "min"}
            Which columns are objectives, and which way they improve.
        **options : dict
            `name`, `tolerance` and `front_budget`.

        Returns
        -------
        table : LookupTable
            The table.

        Raises
        ------
        ValueError
            If a column is missing, or anything in it is wrong.
        """
        names = [*hyperparameters, *directions]
        missing = [name for name in names if name not in frame]
        if missing:
            raise ValueError(f"frame: there are no columns {missing}.")
        lists = {name: list(frame[name]) for name in hyperparameters}
        rows = zip(*lists.values(), strict=True)
        params = [dict(zip(lists, row, strict=True)) for row in rows]
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
        """Read a table from a CSV file whose first line names the columns.

        Parameters
        ----------
        path : path-like
            The file.
        hyperparameters : list of str or dict of str to str
            Which columns are hyper-parameters; a dict gives their scales too. Values
            that are whole numbers become int, other numbers float, the rest text.
        directions : dict of str to {"max", "min"}
            Which columns are objectives, and which way they improve.
        **options : dict
            `name` (if left out, that of the file), `tolerance` and `front_budget`.

        Returns
        -------
        table : LookupTable
            The table.

        Raises
        ------
        ValueError
            If a column is missing, or anything in it is wrong.
        """
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = list(rows[0]) if rows else []
        frame = {name: [_value(row[name]) for row in rows] for name in names}
        options = {"name": Path(path).stem} | options
        return cls.from_frame(frame, hyperparameters, directions, **options)

    def _read_dimensions(self, scales: Mapping[str, str]) -> dict[str, Dimension]:
        unknown = sorted(set(scales) - set(self.columns))
        if unknown:
            raise ValueError(f"scales: {unknown} are no hyper-parameters.")
        dimensions: dict[str, Dimension] = {}
        for name in self.columns:
            scale = scales.get(name, "auto")
            if scale not in _SCALES:
                raise ValueError(
                    f"scales: that of {name!r} must be one of {list(_SCALES)}, "
                    f"got {scale!r}."
                )
            values = list(dict.fromkeys(row[name] for row in self.params))
            if scale == "auto" and not all(map(is_number, values)):
                scale = "categorical"
            if scale == "categorical":
                dimensions[name] = Categorical(values)
                continue
            try:
                dimensions[name] = Ordinal(values, scale)  # type: ignore[arg-type]
            except ValueError as error:
                raise ValueError(f"scales: {name!r}: {error}") from error
        return dimensions

    def _read_scores(
        self, objectives: Mapping[str, Any], directions: Mapping[str, str]
    ) -> FloatArray:
        if not directions:
            raise ValueError("directions: at least one objective is needed.")
        scores = np.empty((len(self.params), len(directions)))
        for place, (name, direction) in enumerate(directions.items()):
            if direction not in ("max", "min"):
                raise ValueError(
                    f"directions: that of {name!r} must be 'max' or 'min', "
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
        """Leave out all but the first objectives.

        Parameters
        ----------
        n : int
            How many objectives.

        Returns
        -------
        table : LookupTable
            A table that shares its rows with this one.

        Raises
        ------
        ValueError
            If there are not so many.
        """
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
        """Place of any configuration in the unit cube.

        Parameters
        ----------
        params : dict
            A value for each hyper-parameter. Numbers need not occur in the table; what
            is beyond its ends is put there.

        Returns
        -------
        x : ndarray of shape (D,)
            Positions, on the scales of the columns.

        Raises
        ------
        ValueError
            If a hyper-parameter is missing, or its value neither a number nor in the
            table.
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
        """Read a place of the unit cube as a configuration.

        Parameters
        ----------
        x : ndarray of shape (D,)
            Positions.

        Returns
        -------
        params : dict
            A value for each hyper-parameter: numbers anywhere between the lowest and
            the highest of the table, other values the nearest one.
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
        """Row that is nearest to a configuration.

        Parameters
        ----------
        params : dict
            Any configuration, see :meth:`position`.
        free : ndarray of shape (n,), bool
            Rows that may be taken, at least one.

        Returns
        -------
        row : int
            By squared distance in the unit cube, where different values without an
            order are 1 apart. The first of those equally near.
        """
        difference = np.abs(self.X - self.position(params))
        kinds = [self.dimensions[name].is_categorical for name in self.columns]
        difference[:, kinds] = difference[:, kinds] > 0
        distance = np.sum(difference**2, axis=1)
        return int(np.argmin(np.where(free, distance, np.inf)))


def _levels(dimension: Ordinal) -> list[float]:
    """Numbers of a dimension on its scale."""
    scale = math.log if dimension.scale == "log" else float
    return [scale(value) for value in dimension.values]


def _value(text: str) -> Any:
    """Read a cell of a CSV file."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load_nmt(pair: str) -> LookupTable:
    """Load one of the six tables of trained translation systems of Zhang & Duh (2020).

    118 to 767 Transformers each, with six hyper-parameters, their BLEU (to be
    maximized) and their decoding time (to be minimized). The tables are those of
    https://github.com/Este1le/hpo_nmt (MIT license, see the package's
    ``benchmark/data/LICENSE``); scales and tolerances are those of the paper.

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
