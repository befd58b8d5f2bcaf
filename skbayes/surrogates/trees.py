"""Ensemble of randomized regression trees, grown by LightGBM.

Symbols (n observations, m candidates, D columns, T trees):

- ``leaf``: (T, m), the leaf of each tree that a configuration falls into.
- ``mu``, ``v``: per tree and leaf, mean and variance of the scores observed in it.

The predictive distribution is the distribution of the configuration's leaf in a random
tree. Its mean is E_t[mu], and its variance is Var_t[mu] + E_t[v] (Hutter, Xu, Hoos &
Leyton-Brown 2014, "Algorithm runtime prediction", section 4.3.2). Each tree is grown on
a random share of the observations and columns, with random thresholds (Geurts, Ernst &
Wehenkel 2006, "Extremely randomized trees").
"""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import Surrogate, standardize
from skbayes.utils.optional import import_optional

# Parameters of all ensembles. A leaf may hold a single score, because there are few.
GROWTH: dict[str, Any] = {
    "boosting": "rf",
    "objective": "regression",
    "extra_trees": True,
    "bagging_freq": 1,
    "bagging_fraction": 0.8,
    "feature_fraction_bynode": 0.8,
    "min_data_in_leaf": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "min_data_in_bin": 1,
    "min_data_per_group": 1,
    "max_cat_to_onehot": 1_000_000,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}

# Observations are repeated if there are fewer.
MIN_ROWS = 5

# Minimum standard deviation, relative to the standard deviation of all scores.
MIN_SD = 1e-3


def import_lightgbm() -> Any:
    """Import LightGBM on first use."""
    return import_optional("lightgbm", extra="lightgbm", purpose="surrogate='trees'")


@dataclass(eq=False, repr=False)
class TreeEnsemble(Surrogate):
    """Ensemble of randomized regression trees.

    It suits many trials, many columns, and scores that change abruptly. Each tree is
    grown on a random 80% of the scores with random thresholds. The mean of the trees
    is the prediction. The uncertainty is the variation between the trees and between
    the scores within a leaf. LightGBM is required (``pip install skbayes[lightgbm]``).

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    n_options : list of int, default=None
        Number of options of each column, 0 for an ordered column. None means that all
        columns are ordered.
    random_state : int, default=0
        Seed of the trees.

    Raises
    ------
    ImportError
        If LightGBM is not installed.
    ValueError
        If `n_trees` is less than 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import TreeEnsemble
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = TreeEnsemble().fit(X, (X[:, 0] > 0.5).astype(float))
    >>> mean, sd = model.predict(np.array([[0.1], [0.9]]))
    >>> mean.round()
    array([[0., 1.]])
    """

    n_trees: int = 100
    _: KW_ONLY
    n_options: list[int] | None = None
    random_state: int = 0

    takes_noise = True
    takes_fidelity = True
    max_observations = 2000

    def __post_init__(self) -> None:
        import_lightgbm()
        if self.n_trees < 2:
            raise ValueError(f"n_trees must be >= 2, got {self.n_trees!r}.")

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> TreeEnsemble:
        """Fit the ensemble to observations.

        A score whose variance equals the variance of all scores has half the weight.
        """
        self._X, self._y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        self._noise = np.zeros(len(y)) if noise is None else np.asarray(noise)
        _, self._offset, self._unit = standardize(self._y)
        target = (self._y - self._offset) / self._unit
        with np.errstate(over="ignore"):
            weight = 1.0 / (1.0 + np.square(np.sqrt(self._noise) / self._unit))
        # LightGBM fails with very different weights; noisy scores are shrunk toward the
        # mean instead.
        self._booster = self._grow(weight * target)
        self._summarize(target, weight)
        return self

    def _grow(self, target: FloatArray) -> Any:
        lightgbm = import_lightgbm()
        parameters = GROWTH | {
            "num_leaves": max(len(target), 2),
            "seed": self.random_state % 2**31,
        }
        unordered = np.flatnonzero(self.n_options or [])
        # With one row, the bagging fraction of 0.8 would select none.
        repeats = -(-MIN_ROWS // len(target))
        data = lightgbm.Dataset(
            np.repeat(self._features(self._X), repeats, axis=0),
            np.repeat(target, repeats),
            categorical_feature=unordered.tolist(),
            params=parameters,
        )
        return lightgbm.train(parameters, data, num_boost_round=self.n_trees)

    def _features(self, X: FloatArray) -> FloatArray:
        """Return columns for LightGBM: options as integers, at least one column."""
        X = np.array(X if X.shape[1] else np.zeros((len(X), 1)), dtype=np.float64)
        for j in np.flatnonzero(self.n_options or []):
            X[:, j] = np.rint(X[:, j] * max(self.n_options[j] - 1, 1))  # type: ignore[index]
        return X

    def _leaves(self, X: FloatArray) -> Any:
        """Return the leaf of each configuration in each tree, shape (T, m)."""
        if not len(X):
            return np.empty((self.n_trees, 0), dtype=int)
        leaves = self._booster.predict(self._features(X), pred_leaf=True)
        return np.reshape(leaves, (len(X), -1)).T.astype(int)

    def _summarize(self, target: FloatArray, weight: FloatArray) -> None:
        """Compute mean and variance of the scores in each leaf, shape (T, leaves)."""
        leaf = self._leaves(self._X)
        width = int(leaf.max()) + 1
        cell = (np.arange(len(leaf))[:, None] * width + leaf).ravel()

        def total(values: FloatArray) -> Any:
            repeated = np.tile(values, len(leaf))
            sums = np.bincount(cell, repeated, minlength=len(leaf) * width)
            return sums.reshape(len(leaf), width)

        weights = total(weight)
        share = np.where(weights > 0.0, weights, 1.0)
        self._leaf_mean = total(weight * target) / share
        square = total(weight * target**2) / share
        self._leaf_variance = np.maximum(square - self._leaf_mean**2, 0.0)

    def condition(self, X: FloatArray) -> TreeEnsemble:  # noqa: D102
        believed = self.predict(X)[0][0]
        return copy.copy(self).fit(
            np.vstack([self._X, X]),
            np.append(self._y, believed),
            np.append(self._noise, np.zeros(len(X))),
        )

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        leaf = self._leaves(np.asarray(X, dtype=np.float64))
        tree = np.arange(len(leaf))[:, None]
        means, within = self._leaf_mean[tree, leaf], self._leaf_variance[tree, leaf]
        mean = np.mean(means, axis=0)
        variance = np.var(means, axis=0) + np.mean(within, axis=0)
        sd = np.sqrt(np.maximum(variance, MIN_SD**2))
        return self._to_scores(mean[None], sd[None])

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores.

        The uncertainty is the variation of the weighted mean between the trees. The
        variation within leaves is assumed to average out.
        """
        leaf = self._leaves(np.asarray(X, dtype=np.float64))
        of_trees = self._leaf_mean[np.arange(len(leaf))[:, None], leaf] @ weights
        mean, sd = np.mean(of_trees), max(float(np.std(of_trees)), MIN_SD)
        return self._to_scores(np.array([mean]), np.array([sd]))
