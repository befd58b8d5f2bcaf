"""Estimator whose fit sleeps, for measuring the overhead of a search."""

from __future__ import annotations

import itertools
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

__all__ = ["Sleeper", "sleeper_data"]

ROWS_PER_FOLD = 4


def sleeper_data(n_folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose values identify the omitted fold of an unshuffled KFold."""
    n = n_folds * ROWS_PER_FOLD
    return np.arange(n, dtype=np.float64)[:, None], np.zeros(n)


class Sleeper(RegressorMixin, BaseEstimator):
    """Estimator that sleeps for `seconds[trial][fold]`; its score depends on x and y.

    Trials are numbered in the order in which their first fits begin, regardless of
    their parameters. Every library with the same table therefore has the same work to
    do, although each one tries other points. The numbers are symbolic links in the
    folder `register`, because creating one is atomic and visible to all processes.
    """

    def __init__(
        self,
        seconds: Sequence[Sequence[float]] = ((0.0,),),
        register: str | None = None,
        x: float = 0.0,
        y: float = 0.0,
    ) -> None:
        self.seconds = seconds
        self.register = register
        self.x = x
        self.y = y

    def fit(self, X: Any, y: Any = None) -> Sleeper:
        """Sleep for the time in the table."""
        if self.register is not None:
            row = self.seconds[self._trial() % len(self.seconds)]
            present = set(X[:, 0] // ROWS_PER_FOLD)
            fold = next(i for i in itertools.count() if i not in present)
            time.sleep(row[fold % len(row)])
        return self

    def _trial(self) -> int:
        name = f"{zlib.crc32(repr((self.x, self.y)).encode()):x}"
        for number in itertools.count():
            place = Path(str(self.register)) / str(number)
            try:
                os.symlink(name, place)
            except FileExistsError:
                if os.readlink(place) != name:
                    continue
            return number
        raise AssertionError

    def score(self, X: Any, y: Any = None) -> float:
        """Return a score with its maximum at (0.3, 0.7)."""
        return -((self.x - 0.3) ** 2) - (self.y - 0.7) ** 2
