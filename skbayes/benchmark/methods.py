"""Methods that propose rows of a table, by ``ask()`` and ``tell(params, score)``.

A method is made anew for each run by ``factory(table, seed)``: its own class, usually.
It is told the rows that the run starts from, then asked and told in turn. What it asks
for need not be a row: the nearest free one is taken, and told. All scores are
maximized; with several objectives a score is a list. A method with
``predict(params) -> scores`` may have its predictions judged.
"""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from skbayes.benchmark.tables import LookupTable
from skbayes.optimizer.optimizer import Optimizer
from skbayes.space.dimensions import FloatArray

__all__ = [
    "NAMED",
    "Method",
    "RandomSearch",
    "SkbayesMethod",
    "find_object",
    "make_factory",
]

Params = dict[str, Any]
Score = float | list[float]


class Method(Protocol):
    """Proposes configurations and learns from their scores."""

    def ask(self) -> Mapping[str, Any]:
        """Propose a configuration: a value for each of the table's columns."""
        ...

    def tell(self, params: Params, score: Score) -> None:
        """Learn the score of a row, which need not be what was asked for."""
        ...


Factory = Callable[[LookupTable, int], Method]


class RandomSearch:
    """The rows in random order."""

    def __init__(self, table: LookupTable, seed: int) -> None:
        # Another stream than the one that draws the rows to start from.
        order = np.random.default_rng([seed, 1]).permutation(len(table))
        self._left = [table.params[row] for row in order]

    def ask(self) -> Params:
        """Propose the next row."""
        return self._left[0]

    def tell(self, params: Params, score: Score) -> None:
        """Remove a row from the order."""
        self._left.remove(params)


class SkbayesMethod:
    """:class:`skbayes.Optimizer` on the rows of the table.

    The model is used from the first proposal on, since the run starts from rows of its
    own. `options` are arguments of the optimizer, such as `surrogate`.
    """

    def __init__(self, table: LookupTable, seed: int, **options: Any) -> None:
        options = {"n_initial_points": 0, "random_state": seed} | options
        self._optimizer: Any = Optimizer(table.space, **options)

    def ask(self) -> Params:
        """Propose a row."""
        return self._optimizer.ask()

    def tell(self, params: Params, score: Score) -> None:
        """Learn the score of a row."""
        self._optimizer.tell(params, score)

    def predict(self, params: Sequence[Params]) -> FloatArray:
        """Mean of the model for each configuration, or NaN if it has no scores."""
        try:
            return self._optimizer.predict(params)[0]
        except ValueError:
            return np.full(len(params), np.nan)


NAMED: dict[str, Factory] = {
    "random": RandomSearch,
    "skbayes": SkbayesMethod,
}


def find_object(name: str) -> Any:
    """Load an object by ``path/to/file.py:name`` or ``package.module:name``."""
    home, _, attribute = name.rpartition(":")
    try:
        if home.endswith(".py"):
            return runpy.run_path(home)[attribute]
        return getattr(importlib.import_module(home), attribute)
    except (AttributeError, ImportError, KeyError, OSError) as error:
        raise ValueError(f"{name!r} cannot be loaded: {error!r}") from error


def make_factory(method: str | Factory) -> Factory:
    """Turn what names a method into what makes it.

    Parameters
    ----------
    method : str or callable
        "random"; "skbayes", the optimizer with its defaults; ``surrogate`` or
        ``surrogate+acquisition`` with any names that :class:`skbayes.Optimizer` takes;
        ``file.py:name`` or ``module:name`` of one's own; or a callable
        ``factory(table, seed)``.

    Returns
    -------
    factory : callable
        ``factory(table, seed)``.

    Raises
    ------
    ValueError
        If an object of one's own cannot be loaded. What the optimizer takes is seen
        only when the method is made.
    """
    if not isinstance(method, str):
        return method
    if method in NAMED:
        return NAMED[method]
    if ":" in method:
        return find_object(method)
    names = zip(("surrogate", "acquisition"), method.split("+", 1), strict=False)
    options: dict[str, Any] = dict(names)
    return partial(SkbayesMethod, **options)
