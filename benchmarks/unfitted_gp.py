"""Unfitted Gaussian processes of Zhang & Duh (2020), as methods of `skbayes.benchmark`.

Example: python -m skbayes.benchmark --methods benchmarks/unfitted_gp.py:bo_paper_m
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr

from skbayes.benchmark import LookupTable
from skbayes.surrogates.gp.kernels import KERNELS, squared_distances

__all__ = ["UnfittedGP", "bo_paper_m", "bo_paper_r"]


class UnfittedGP:
    """Gaussian process with fixed hyper-parameters, for one objective.

    Amplitude and all length scales are 1 in the unit cube, the mean is 0, scores are
    not transformed, and the noise is 1e-3. The acquisition function is expected
    improvement over all free rows. Nothing depends on `seed`.
    """

    NOISE = 1e-3

    def __init__(self, table: LookupTable, seed: int, kernel: str = "matern52") -> None:
        if table.n_objectives > 1:
            raise ValueError("the unfitted GP takes one objective only.")
        self._params = table.params
        squared = squared_distances(table.X[None], table.X[None])[0]
        self._K, _ = KERNELS[kernel](squared)
        self._taken: list[int] = []
        self._scores: list[float] = []

    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of each row of the table."""
        to_taken = self._K[:, self._taken]
        noisy = self._K[np.ix_(self._taken, self._taken)]
        factor = cho_factor(noisy + self.NOISE * np.eye(len(noisy)), lower=True)
        mean = to_taken @ cho_solve(factor, np.array(self._scores))
        explained = np.sum(to_taken * cho_solve(factor, to_taken.T).T, axis=1)
        return mean, np.sqrt(np.maximum(1.0 - explained, 1e-12))

    def ask(self) -> dict[str, Any]:
        """Propose the free row with the greatest expected improvement."""
        mean, sd = self._posterior()
        z = (mean - max(self._scores)) / sd
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        improvement = sd * (z * ndtr(z) + density)
        improvement[self._taken] = -np.inf
        return self._params[int(np.argmax(improvement))]

    def tell(self, params: dict[str, Any], score: float) -> None:
        """Add the score of a row."""
        self._taken.append(self._params.index(params))
        self._scores.append(score)

    def predict(self, params: Sequence[dict[str, Any]]) -> np.ndarray:
        """Predict the scores of rows of the table."""
        mean, _ = self._posterior()
        return mean[[self._params.index(row) for row in params]]


bo_paper_m = UnfittedGP
bo_paper_r = partial(UnfittedGP, kernel="rbf")
