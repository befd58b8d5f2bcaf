"""Catalog of the estimator classes with a default search space.

Classes are identified by their name and package, or by those of their base classes, so
that the packages need not be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skbayes.space import Ordinal
from skbayes.spaces.facts import DataFacts

__all__ = ["CATALOG", "Fallback", "KnownClass", "find", "known"]

Params = Mapping[str, Any]
Notation = dict[str, Any]
Build = Callable[[Params, DataFacts], Notation]


@dataclass(frozen=True)
class KnownClass:
    """Entry of an estimator class with a default search space.

    Attributes
    ----------
    package : str
        Top-level package that defines the class, such as "sklearn".
    name : str
        Name of the class.
    build : callable
        ``build(params, facts)`` returns the space of an estimator with these
        parameters, for data with these facts, in dict notation.
    stands_for : dict
        Effective values of parameters whose default is None.
    """

    package: str
    name: str
    build: Build
    stands_for: Params = field(default_factory=dict)


CATALOG: dict[tuple[str, str], KnownClass] = {}


def known(
    *names: str, package: str = "sklearn", stands_for: Params | None = None
) -> Callable[[Build], Build]:
    """Register a function as the builder for the classes of these names."""

    def register(build: Build) -> Build:
        for name in names:
            CATALOG[package, name] = KnownClass(package, name, build, stands_for or {})
        return build

    return register


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


def class_weight(params: Params, facts: DataFacts) -> Notation:
    """Return a dimension of class weights if the class sizes differ."""
    if not facts.imbalanced or "class_weight" not in params:
        return {}
    if params["class_weight"] is not None and not isinstance(
        params["class_weight"], str
    ):
        return {}
    return {"class_weight": [None, "balanced"]}


def at_most(high: int, n: int | None, share: float = 1.0, unknown: int = 20) -> int:
    """Return an upper bound for `n` rows or columns, or a small one if unknown; ≥ 2."""
    bound = unknown if n is None else int(n * share)
    return max(2, min(high, bound))


def feature_shares(
    facts: DataFacts, params: Params, name: str = "max_features"
) -> Ordinal:
    """Return fractions of the features, with the own option at its position."""
    option = params.get(name)
    d = facts.n_features
    shares: list[Any] = [
        share for share in SHARES if d is None or share * d >= 1.0
    ] or [1.0]
    place = {"sqrt": (d or 16) ** -0.5, None: 1.0}.get(option) if _simple(option) else 0
    if option == "log2":
        place = max(1.0, float((d or 16).bit_length() - 1)) / (d or 16)
    if place and (option is None or isinstance(option, str)):
        near = min(shares, key=lambda share: abs(share - place))
        if abs(near - place) < 0.02 or option is None:
            shares[shares.index(near)] = option
        else:
            shares = sorted([*shares, place])
            shares[shares.index(place)] = option
    return Ordinal(shares)


def _simple(option: Any) -> bool:
    return option is None or isinstance(option, str)


def series(low: float, high: float) -> list[float]:
    """Return the numbers 1, 2 and 5 times powers of ten between two bounds."""
    numbers = [float(f"{m}e{k}") for k in range(-12, 13) for m in (1, 2, 5)]
    return [number for number in numbers if low <= number <= high]


def counts_or(option: Any, low: int, high: int) -> Any:
    """Return a range of counts, or a list of them if an option is not a number.

    The option, such as None or "all", is the last entry of the list.
    """
    low = min(low, high)
    if isinstance(option, int | float):
        return (low, high, LOG)
    counts = [int(count) for count in series(low, high)]
    return Ordinal([*(counts or [low]), option])


@dataclass(frozen=True)
class Fallback:
    """Notation of a parameter whose own value would fail on the data."""

    notation: Any


def components(params: Params, facts: DataFacts, high: int, low: int = 2) -> Any:
    """Return the numbers of components that the rows and features allow."""
    columns = low if facts.fewest_features is None else facts.fewest_features
    most = min(high, columns, columns if facts.n_rows is None else facts.n_rows)
    found = counts_or(params.get("n_components"), low, most)
    return fitting(params.get("n_components"), found, facts)


def fitting(option: Any, bounds: Any, facts: DataFacts) -> Any:
    """Return a range of numbers of columns, without an own number that is too large."""
    n = facts.n_features
    known_to_fail = n is not None and isinstance(option, int) and option > n
    return Fallback(bounds) if known_to_fail else bounds
