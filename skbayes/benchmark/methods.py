"""Methods that propose rows of a table by ``ask()`` and ``tell(params, score)``.

``factory(table, seed)`` makes a new method for each run; it is usually the class of the
method. The method receives the scores of the initial rows. Then ``ask`` and ``tell``
are called in turn. If a proposal is not a row of the table, the nearest free row is
used, and ``tell`` receives this row. All scores are maximized; with several objectives,
a score is a list.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from skbayes.benchmark.tables import LookupTable
from skbayes.optimizer.optimizer import Optimizer
from skbayes.utils.late import load

Params = dict[str, Any]
Score = float | list[float]


class Method(Protocol):
    """Protocol of methods, which propose configurations and observe their scores."""

    def ask(self) -> Mapping[str, Any]:
        """Propose a configuration with a value for each column of the table."""
        ...

    def tell(self, params: Params, score: Score) -> None:
        """Record the score of a row, which can differ from the proposal.

        With several objectives, there is a score for each. Greater is better.
        """
        ...


Factory = Callable[[LookupTable, int], Method]


class RandomSearch:
    """Random search: the rows in random order."""

    def __init__(self, table: LookupTable, seed: int) -> None:
        # This stream differs from the stream that draws the initial rows.
        order = np.random.default_rng([seed, 1]).permutation(len(table))
        self._left = [table.params[row] for row in order]

    def ask(self) -> Params:
        """Propose the next row."""
        return self._left[0]

    def tell(self, params: Params, score: Score) -> None:
        """Remove a row from the order."""
        self._left.remove(params)


class SkbayesMethod:
    """:class:`skbayes.Optimizer` on the rows of the table, `options` its arguments."""

    def __init__(self, table: LookupTable, seed: int, **options: Any) -> None:
        options = {"n_initial_points": 0, "random_state": seed} | options
        self._optimizer: Any = Optimizer(table.space, **options)

    def ask(self) -> Params:
        """Propose a row."""
        return self._optimizer.ask()

    def tell(self, params: Params, score: Score) -> None:
        """Observe the score of a row."""
        self._optimizer.tell(params, score)


NAMED: dict[str, Factory] = {"random": RandomSearch, "skbayes": SkbayesMethod}


def find_object(name: str) -> Any:
    """Load an object by ``path/to/file.py:name`` or ``package.module:name``."""
    module, _, attribute = name.rpartition(":")
    try:
        if module.endswith(".py"):
            return runpy.run_path(module)[attribute]
        return load(name)
    except (AttributeError, ImportError, KeyError, OSError) as error:
        raise ValueError(f"{name!r} cannot be loaded: {error!r}") from error


def make_factory(method: str | Factory) -> Factory:
    """Return the factory of a method, see `skbayes.benchmark.run_method`."""
    if not isinstance(method, str):
        return method
    if method in NAMED:
        return NAMED[method]
    if ":" in method:
        return find_object(method)
    names = zip(("surrogate", "acquisition"), method.split("+", 1), strict=False)
    options: dict[str, Any] = dict(names)
    return partial(SkbayesMethod, **options)
