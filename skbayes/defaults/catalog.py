"""Catalog of the estimator classes with a default search space, and facts about data.

Classes are identified by their name and package, or by a base class, so that the
packages need not be imported. Bounds of the spaces depend on the properties of the
data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.space.lists import Ordinal

# Class weights are tuned if the ratio of the largest class to the smallest one is at
# least this.
IMBALANCE = 1.5

# A target with more distinct values has no classes.
MAX_CLASSES = 1000

# The variance of the columns is computed from at most about this many rows.
MAX_ROWS = 10_000

# Kinds of the dtypes of numbers: bool, integers, floats.
NUMBERS = "biuf"

# Data with more columns are wide.
WIDE = 5000

Params = Mapping[str, Any]
Notation = dict[str, Any]
Build = Callable[[Params, "DataFacts"], Notation]


@dataclasses.dataclass(frozen=True)
class DataFacts:
    """Facts about the rows that an estimator is fitted to; None if unknown."""

    # Numbers of training rows of a fold, and of columns.
    n_rows: int | None = None
    n_features: int | None = None
    # Smallest number of columns that earlier steps may leave.
    fewest_features: int | None = None
    # Whether there are many columns, such as counts of words.
    wide: bool = False
    # Whether the columns are TF-IDF weights of words.
    texts: bool = False
    # Mean variance of the columns, rounded to a power of ten; 1 if smaller or unknown.
    x_variance: float = 1.0
    # Whether at least half of the columns are constant.
    half_constant: bool = False
    # Number of classes of a classification target, and of rows of the smallest class.
    n_classes: int | None = None
    smallest_class: int | None = None
    # Whether the class sizes differ enough to tune class weights.
    imbalanced: bool = False
    # Largest `nu` that is feasible in support vector machines for all pairs of classes.
    max_nu: float = 0.5
    # Standard deviation of a numeric target, rounded to a power of ten.
    y_scale: float = 1.0
    has_missing: bool = True
    # Whether a monotonic transformation of a column can change predictions.
    scale_matters: bool = True
    # Whether configurations are compared by the estimator's own `score`.
    own_score: bool = False

    @classmethod
    def of(
        cls,
        X: Any = None,
        y: Any = None,
        train_share: float = 1.0,
        own_score: bool = False,
    ) -> DataFacts:
        """Return the facts about `X` and `y`, given the fraction of training rows."""
        X, y = compat.to_host(X), compat.to_host(y)
        facts: dict[str, Any] = {"own_score": own_score}
        n_samples = n_samples_of(X, y)
        if n_samples is not None:
            facts["n_rows"] = max(1, math.floor(n_samples * train_share))
        n_features = facts["n_features"] = facts["fewest_features"] = _n_features(X)
        facts["wide"] = n_features is not None and n_features > WIDE
        numbers = None if X is None else _numbers(X)
        if numbers is not None:
            entries = numbers.data if sparse.issparse(numbers) else numbers
            facts["has_missing"] = bool(np.isnan(entries).any())
            facts["x_variance"] = _variance(numbers)
            facts["half_constant"] = _is_half_constant(numbers)
        return cls(**facts, **_target(y, train_share))

    def with_features(
        self, n_features: int | None, fewest: int | None = None
    ) -> DataFacts:
        """Return facts about the same rows with another number of columns."""
        return dataclasses.replace(
            self,
            n_features=n_features,
            fewest_features=fewest if n_features is None else n_features,
            wide=False,
            half_constant=False,
        )


def n_samples_of(X: Any, y: Any = None) -> int | None:
    """Return the number of rows of `X`, or of `y` without it; None if unknown."""
    data = y if X is None else X
    shape = getattr(data, "shape", None)
    if shape:
        return int(shape[0])
    return len(data) if hasattr(data, "__len__") else None


def _n_features(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else None
    first = X[0] if isinstance(X, list | tuple) and X else None
    return len(first) if isinstance(first, list | tuple) else None


def _numbers(X: Any) -> Any:
    """Return an array or CSR matrix of the numbers of `X`; None if it has others."""
    if sparse.issparse(X):
        # Entries of other formats may be objects, or lie outside the matrix.
        return X.tocsr() if X.dtype.kind in NUMBERS else None
    try:
        values = np.asarray(X)
        if values.dtype.kind in "cmM":
            return None
        return values if values.dtype.kind in NUMBERS else values.astype(np.float64)
    except (RuntimeError, TypeError, ValueError):
        return None


def _variance(X: Any) -> float:
    """Return the mean variance of the columns as a power of ten; at least 1.

    Columns of a sparse matrix are not centered.
    """
    if len(X.shape) != 2 or 0 in X.shape:
        return 1.0
    with np.errstate(all="ignore"):
        if sparse.issparse(X):
            # Squares of small integers overflow in their own type.
            squares = np.square(X.data, dtype=np.float64)
            mean_square = float(np.nansum(squares)) / math.prod(X.shape)
        else:
            values = X[:: max(1, len(X) // MAX_ROWS)].astype(np.float64)
            values = values[:, ~np.isnan(values).all(axis=0)]
            if values.size == 0:
                return 1.0
            mean_square = float(np.nanvar(values, axis=0).mean())
    if not (math.isfinite(mean_square) and mean_square > 1.0):
        return 1.0
    return 10.0 ** round(math.log10(mean_square))


def _is_half_constant(X: Any) -> bool:
    if len(X.shape) != 2 or 0 in X.shape or sparse.issparse(X):
        return False
    rows = X[:: max(1, len(X) // MAX_ROWS)]
    return bool(np.mean((rows == rows[0]).all(axis=0)) >= 0.5)


def _target(y: Any, train_share: float) -> dict[str, Any]:
    """Return the facts about the target, given the fraction of training rows."""
    if y is None:
        return {}
    try:
        with np.errstate(invalid="ignore"):  # of missing values
            kind = type_of_target(y)
    except (RuntimeError, TypeError, ValueError):
        return {}
    facts: dict[str, Any] = {"y_scale": _scale(y)}
    if kind in ("binary", "multiclass"):
        _, counts = np.unique(np.asarray(y), return_counts=True)
        if len(counts) <= MAX_CLASSES:
            # The rows of the classes in a fold with the most different sizes.
            smallest = max(1, math.floor(counts.min() * train_share))
            largest = math.ceil(counts.max() * train_share)
            facts |= {
                "n_classes": len(counts),
                "smallest_class": smallest,
                "imbalanced": bool(counts.max() > IMBALANCE * counts.min()),
                "max_nu": 2.0 * smallest / (smallest + largest),
            }
    return facts


def _scale(y: Any) -> float:
    try:
        spread = float(np.nanstd(np.asarray(y, dtype=np.float64)))
    except (TypeError, ValueError):
        return 1.0
    if not (math.isfinite(spread) and spread > 0.0):
        return 1.0
    return 10.0 ** round(math.log10(spread))


def is_array(value: Any) -> bool:
    """Return whether a value is an array or a list."""
    return np.ndim(value) > 0


class Conflict(NamedTuple):
    """Rule that removes parameters or an option from the default space of a class.

    It removes all of `parameters`, or only one `option` of them. The rule applies if
    the user has set a parameter named in `if_set`: to any value, to one of the listed
    values, or to a value for which a function returns True. With `unless`, it applies
    if the user has set a parameter that `unless` does not list.
    """

    parameters: str
    if_set: str | Mapping[str, tuple | Callable[[Any], bool]] = ""
    option: Any = "any"
    unless: str = ""

    def holds(self, params: Params, set_by_user: set[str]) -> bool:
        """Return whether the rule applies to the parameters that the user has set."""
        if self.unless:
            return not set_by_user <= set(self.unless.split())
        if isinstance(self.if_set, str):
            return not set_by_user.isdisjoint(self.if_set.split())
        return any(
            values(params[name]) if callable(values) else params[name] in values
            for name, values in self.if_set.items()
            if name in set_by_user
        )


class KnownClass(NamedTuple):
    """Entry of an estimator class with a default search space.

    ``make(params, facts)`` returns the space of an estimator with these parameters, for
    data with these facts; entries that are None are not in the space. `stands_for` are
    the effective values of parameters whose default is None. Trees and their ensembles
    ignore the scale of columns.
    """

    package: str
    name: str
    make: Build
    stands_for: Params = {}
    of_trees: bool = False
    conflicts: Sequence[Conflict] = ()

    def build(self, params: Params, facts: DataFacts) -> Notation:
        """Return the space of an estimator, without its own values."""
        space = self.make(params, facts)
        return {name: value for name, value in space.items() if value is not None}


CATALOG: dict[tuple[str, str], KnownClass] = {}


def builder_of(*names: str, package: str = "sklearn", **options: Any) -> Callable:
    """Register a function as the builder for the classes of these names."""

    def add(make: Build) -> Build:
        for name in names:
            CATALOG[package, name] = KnownClass(package, name, make, **options)
        return make

    return add


def register(
    *names: str,
    package: str = "sklearn",
    stands_for: Params = {},  # noqa: B006
    of_trees: bool = False,
    conflicts: Sequence[Conflict] = (),
    **space: Any,
) -> None:
    """Register classes with the notations of their parameters.

    A notation may be a function of the parameters and the facts.
    """

    def make(params: Params, facts: DataFacts) -> Notation:
        return {
            name: notation(params, facts) if callable(notation) else deepcopy(notation)
            for name, notation in space.items()
        }

    for name in names:
        CATALOG[package, name] = KnownClass(
            package, name, make, stands_for, of_trees, conflicts
        )


def find(estimator: Any) -> KnownClass | None:
    """Return the entry of an estimator's class or of its nearest base class."""
    for cls in type(estimator).__mro__:
        entry = CATALOG.get((cls.__module__.partition(".")[0], cls.__name__))
        if entry is not None:
            return entry
    return None


# -- notations that several classes share ---------------------------------------------

LOG = "log-uniform"

# Penalties of boosted trees; they include the default, 0, which has no logarithm.
PENALTY = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def class_weights(params: Params, facts: DataFacts) -> list[str | None] | None:
    """Return class weights if the class sizes differ and the user has set none."""
    option = params.get("class_weight")
    tuned = facts.imbalanced and "class_weight" in params and _simple(option)
    return [None, "balanced"] if tuned else None


def at_most(high: int, n: int | None, share: float = 1.0, unknown: int = 20) -> int:
    """Return an upper bound >= 2 for `n` rows or columns; `n` None means `unknown`."""
    bound = unknown if n is None else int(n * share)
    return max(2, min(high, bound))


@dataclass(frozen=True)
class UpTo:
    """Range of counts up to `high` and a `share` of the rows, and at least `least`."""

    low: int
    high: int
    share: float
    scale: tuple[str, ...] = (LOG,)
    least: int = 2

    def __call__(self, params: Params, facts: DataFacts) -> tuple:  # noqa: D102
        most = at_most(self.high, facts.n_rows, self.share)
        return (self.low, max(self.least, most), *self.scale)


NEIGHBORS = UpTo(1, 50, 0.5)


def feature_shares(params: Params, facts: DataFacts) -> Ordinal:
    """Return fractions of the features, with the estimator's option among them."""
    option, d = params.get("max_features"), facts.n_features
    shares: list[Any] = [s for s in SHARES if d is None or s * d >= 1.0] or [1.0]
    n = d or 16
    stands_for = {"sqrt": n**-0.5, "log2": max(1, n.bit_length() - 1) / n, None: 1.0}
    if not _simple(option) or option not in stands_for:
        return Ordinal(shares)
    share_of_option = stands_for[option]
    near = min(shares, key=lambda share: abs(share - share_of_option))
    if option is None or abs(near - share_of_option) < 0.02:
        shares[shares.index(near)] = option
    else:
        shares.insert(sum(share < share_of_option for share in shares), option)
    return Ordinal(shares)


def _simple(option: Any) -> bool:
    return option is None or isinstance(option, str)


def series(low: float, high: float) -> list[float]:
    """Return the numbers 1, 2 and 5 times powers of ten between two bounds."""
    numbers = [float(f"{m}e{k}") for k in range(-12, 13) for m in (1, 2, 5)]
    return [number for number in numbers if low <= number <= high]


def counts(low: int, high: int) -> list[int]:
    """Return the same numbers as integers."""
    return [int(count) for count in series(low, high)]


def gamma(facts: DataFacts, option: Any, unit: float | None = None) -> Ordinal | tuple:
    """Return kernel widths relative to the variance of the columns, or another unit.

    The current option of the estimator is placed at the value that it stands for.
    """
    unit = facts.x_variance if unit is None else unit
    low, high = 1e-5 / unit, 10.0 / unit
    if option is not None and not isinstance(option, str):
        return (low, high, LOG)
    values: list[Any] = series(low, high)
    place = 1.0 / (facts.n_features or 16) / (unit if option == "scale" else 1.0)
    values.insert(sum(value < place for value in values), option)
    return Ordinal(values)


def counts_or(option: Any, low: int, high: int) -> Any:
    """Return a range of counts, or a list of them if an option is not a number.

    The option, such as None or "all", is the last entry of the list.
    """
    low = min(low, high)
    if isinstance(option, int | float):
        return (low, high, LOG)
    return Ordinal([*(counts(low, high) or [low]), option])


@dataclass(frozen=True)
class Fallback:
    """Notation of a parameter whose value in the estimator would fail on the data."""

    notation: Any


def components(params: Params, facts: DataFacts, high: int, low: int = 2) -> Any:
    """Return the numbers of components that the rows and features allow."""
    columns = low if facts.fewest_features is None else facts.fewest_features
    most = min(high, columns, columns if facts.n_rows is None else facts.n_rows)
    sizes = counts_or(params.get("n_components"), low, most)
    return fitting(params.get("n_components"), sizes, facts)


def fitting(option: Any, bounds: Any, facts: DataFacts) -> Any:
    """Return a range of numbers of columns, a fallback if `option` is too large."""
    n = facts.n_features
    fails = n is not None and isinstance(option, int) and option > n
    return Fallback(bounds) if fails else bounds
