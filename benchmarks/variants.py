"""Variants of the optimizer: changes of the defaults that were tested.

`judges.py` runs them as ``skbayes+NAME``. They replace parts of skbayes while a search
runs, and are not part of the package. The variants "mode", "samples" and "main" only
have an effect on spaces that are not grids. Except for "plain", which removes the
warping, "snapped" and "pooled", they are changes that did not improve the default.

- plain: no warping of the inputs.
- mode: the mode of the hyper-parameters instead of up to 8 samples.
- samples: up to 24 draws of the hyper-parameters, four times as many as the default.
- observed: improvement on the best observed score, not on the best of the surrogate.
- predictive: the same, with noise as a part of the score that may improve.
- edges: a penalty on positions near the ends of ranges, which decreases with the square
  root of n.
- exploit: the last two trials maximize the mean.
- main: a quarter of the kernel is a sum over the columns; no warping.
- snapped: perturbed copies of incumbents may snap back to the incumbent, as before.
- pooled: branches of conditional spaces have no weights in the level to which bad
  scores are raised, as before.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from skbayes.acquisition.base import ModelProposer, fit_surrogate, known_means, predict
from skbayes.acquisition.improvement import UpperConfidenceBound
from skbayes.acquisition.terms import LogTerm
from skbayes.optimizer import Optimizer
from skbayes.space import candidates
from skbayes.surrogates import GaussianProcess, WarpedGaussianProcess
from skbayes.surrogates.gp import gp
from skbayes.surrogates.gp.hyperparameters import (
    LogPosterior,
    find_mode,
    sample_posterior,
)
from skbayes.surrogates.gp.kernels import KERNELS, squared_distances
from skbayes.surrogates.registry import Entry, registry

__all__ = ["VARIANTS", "applied"]

EDGE_WEIGHT, EDGE_POWER = 1.0, 8
N_EXPLOITED = 2
MAIN_SHARE = 0.25

Patches = list[Any]


def _plain(n_trials: int) -> Patches:
    usual = registry["gp"]
    plain = Entry(GaussianProcess, {"kernel": "matern52"}, usual.if_enumerated)
    return [patch.dict(registry, gp=plain)]


def _with_samples(n_of: Callable[[int], int]) -> Patches:
    def sampled(self: Any, X: Any, target: Any, extra: Any) -> Any:
        rng = np.random.default_rng(self.random_state)
        posterior = self._log_posterior(X, target, extra)
        mode = find_mode(posterior)
        n = n_of(len(X))
        return mode[None, :] if n <= 1 else sample_posterior(posterior, mode, n, rng)

    return [patch.object(WarpedGaussianProcess, "_learn", sampled)]


def _mode(n_trials: int) -> Patches:
    return _with_samples(lambda n: 0)


def _samples(n_trials: int) -> Patches:
    return _with_samples(lambda n: int(np.clip(4 * gp.SAMPLE_POINTS // n, 1, 24)))


def _observed(n_trials: int) -> Patches:
    def fit(self: Any, observations: Any) -> Any:
        fitted = copy.copy(self)
        fitted.surrogate = fit_surrogate(self.model, observations)
        believed = known_means(fitted.surrogate, observations.known).copy()
        believed[:, : len(observations.y)] = observations.y
        fitted.best_f = np.max(believed, axis=1, keepdims=True)
        return fitted

    return [patch.object(ModelProposer, "fit", fit)]


def _predictive(n_trials: int) -> Patches:
    def evaluate(self: Any, X: Any, gradient: bool) -> Any:
        mean, sd, *slopes = predict(self.surrogate, X, gradient)
        noise = (self.surrogate._noise * self.surrogate._unit**2)[:, None]
        total = np.sqrt(sd**2 + noise)
        utility = self.acquisition(mean, total, self.best_f)
        value, shares = self.acquisition.average(utility)
        if not gradient:
            return value, None
        by_position = utility.by_mean[..., None] * slopes[0]
        by_position += (utility.by_sd * sd / total)[..., None] * slopes[1]
        return value, np.einsum("sm,smd->md", shares, by_position)

    return [*_observed(n_trials), patch.object(ModelProposer, "_evaluate", evaluate)]


class _Edges(LogTerm):
    """Penalty on positions of ordered columns near 0 and 1."""

    def __init__(self, weight: float, unordered: np.ndarray) -> None:
        self.weight, self.unordered = weight, unordered

    def _off_center(self, X: np.ndarray) -> np.ndarray:
        off = 2.0 * X - 1.0
        return np.where(self.unordered | np.isnan(off), 0.0, off)

    def value(self, X: np.ndarray) -> np.ndarray:
        return -self.weight * np.sum(self._off_center(X) ** EDGE_POWER, axis=1)

    def gradient(self, X: np.ndarray) -> np.ndarray:
        slope = self._off_center(X) ** (EDGE_POWER - 1)
        return -2.0 * EDGE_POWER * self.weight * slope


def _edges(n_trials: int) -> Patches:
    usual = Optimizer._terms

    def terms(self: Any, observations: Any) -> list[LogTerm]:
        weight = EDGE_WEIGHT / math.sqrt(len(observations.y))
        return [*usual(self, observations), _Edges(weight, self.space.categorical)]

    return [patch.object(Optimizer, "_terms", terms)]


def _exploit(n_trials: int) -> Patches:
    usual = Optimizer._best_row

    def best_row(self: Any) -> Any:
        proposer = self._proposer
        if self.n_told + len(self._pending) < n_trials - N_EXPLOITED:
            return usual(self)
        with patch.object(proposer, "acquisition", UpperConfidenceBound(0.0)):
            return usual(self)

    return [patch.object(Optimizer, "_best_row", best_row)]


class _MainPosterior(LogPosterior):
    """Posterior of a process with a share of main effects.

    The length scales of the main effects are those of the product, times 2 / sqrt(D).
    """

    def _correlations(self, inverse_squares: np.ndarray) -> Any:
        D, n, _ = self.differences.shape
        k, slopes = self.correlation((inverse_squares @ self._flat).reshape(n, n))
        factor = 0.25 * D * inverse_squares[:, None, None]
        mains, by_main = self.correlation(factor * self.differences)
        k = (1 - MAIN_SHARE) * k + MAIN_SHARE * np.mean(mains, axis=0)
        return k, (slopes, by_main)

    def _by_inverse_square(self, weights: np.ndarray, slopes: Any) -> np.ndarray:
        whole, by_main = slopes
        result = (1 - MAIN_SHARE) * (self._flat @ (weights * whole).ravel())
        mains = np.einsum("dij,dij,ij->d", by_main, self.differences, weights)
        return result + 0.25 * MAIN_SHARE * mains


class _MainEffects(GaussianProcess):
    """Process without warping, in which a share of the kernel is a sum over columns."""

    def _log_posterior(self, X: Any, target: Any, extra: Any) -> LogPosterior:
        squares = self._embedding.squared_differences(X)
        return _MainPosterior(squares, target, KERNELS[self.kernel], extra)

    def _correlations(self, scaled: Any, others: Any, slopes: bool = False) -> Any:
        correlation = KERNELS[self.kernel]
        k, whole = correlation(squared_distances(scaled, others), slopes)
        k *= 1 - MAIN_SHARE
        columns, by_main = self._embedding.coordinates, []
        for own in columns:
            r2 = squared_distances(scaled[..., own], others[..., own])
            main, slope = correlation(0.25 * len(columns) * r2, slopes)
            k += MAIN_SHARE / len(columns) * main
            by_main.append(slope)
        return k, (whole, by_main)

    def _by_position(self, by_k: Any, slopes: Any, scaled: Any) -> Any:
        whole, by_main = slopes
        result = super()._by_position((1 - MAIN_SHARE) * by_k, whole, scaled)
        for place, d in enumerate(self._embedding.ordered):
            weights = 0.25 * MAIN_SHARE * by_k * by_main[d]
            total = np.sum(weights, axis=-1) * scaled[..., place]
            total -= np.matmul(weights, self._scaled[..., place, None])[..., 0]
            result[..., d] += 2.0 * total / self._length_scales[:, d, None]
        return result


def _main(n_trials: int) -> Patches:
    usual = registry["gp"]
    return [patch.dict(registry, gp=Entry(_MainEffects, {}, usual.if_enumerated))]


def _snapped(n_trials: int) -> Patches:
    def adjacent(space: Any, X: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return np.full(X.shape, np.nan)

    return [patch.object(candidates, "_adjacent", adjacent)]


def _pooled(n_trials: int) -> Patches:
    return [patch.object(gp, "branch_weights", lambda X: None)]


#: Patches of a search of so many trials, by the name of the variant.
VARIANTS: dict[str, Callable[[int], Patches]] = {
    "plain": _plain,
    "mode": _mode,
    "samples": _samples,
    "observed": _observed,
    "predictive": _predictive,
    "edges": _edges,
    "exploit": _exploit,
    "main": _main,
    "snapped": _snapped,
    "pooled": _pooled,
}


@contextmanager
def applied(variant: str, n_trials: int) -> Iterator[None]:
    """Change the optimizer for a search of `n_trials`; "" changes nothing."""
    with ExitStack() as stack:
        for one in VARIANTS[variant](n_trials) if variant else []:
            stack.enter_context(one)
        yield
