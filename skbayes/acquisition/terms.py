"""Factors of the acquisition function that do not depend on the surrogate of the score.

The acquisition function is multiplied by a prior of the optimum, by the probability
that limits are not exceeded, and by a power of the cost of a trial. The logarithms of
these factors are added to its logarithm.

Symbols: m candidates, D columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from skbayes.space.dimensions import FloatArray

__all__ = ["LogTerm", "draw_candidates", "sum_gradients", "sum_values"]


class LogTerm(ABC):
    """Logarithm of a factor of the acquisition function.

    Attributes
    ----------
    has_gradients : bool
        Whether :meth:`gradient` can be called. If a term has no gradient, the
        acquisition function is maximized without gradients.
    """

    has_gradients: bool = True

    @abstractmethod
    def value(self, X: FloatArray) -> FloatArray:
        """Return the values (m,) at encoded configurations (m, D)."""

    def gradient(self, X: FloatArray) -> FloatArray:
        """Return the gradients (m, D); 0 in unordered columns."""
        raise NotImplementedError

    def draw(self, random_state: np.random.Generator) -> FloatArray | None:
        """Return additional encoded candidates (k, D), or None."""
        return None


def sum_values(terms: Sequence[LogTerm], X: FloatArray) -> FloatArray:
    """Return the sum (m,) of the values of all terms."""
    return sum((term.value(X) for term in terms), start=np.zeros(len(X)))


def sum_gradients(terms: Sequence[LogTerm], X: FloatArray) -> FloatArray:
    """Return the sum (m, D) of the derivatives of all terms."""
    return sum((term.gradient(X) for term in terms), start=np.zeros(X.shape))


def draw_candidates(
    terms: Sequence[LogTerm], n_columns: int, random_state: np.random.Generator
) -> FloatArray:
    """Return the candidates (k, D) that the terms draw."""
    drawn = [term.draw(random_state) for term in terms]
    rows = [candidates for candidates in drawn if candidates is not None]
    return np.vstack([np.empty((0, n_columns)), *rows])
