"""Scaling of scores before a surrogate is fitted to them."""

from __future__ import annotations

import math

import numpy as np

from skbayes.space.dimensions import FloatArray

__all__ = [
    "branch_weights",
    "compress_low_tail",
    "relative_noise",
    "standardize",
    "winsorize_low",
]

# Scores further below the median than TAIL_FACTOR times their scale are raised to that
# level. The scale is at least SPREAD_SHARE times the spread of the scores.
TAIL_FACTOR, SPREAD_SHARE = 2.0, 0.2

# Maximum known variance, relative to the variance of the scores. Greater variances are
# clipped to it, so that computations do not overflow; such scores have no weight.
MAX_NOISE = 1e10


def branch_weights(X: FloatArray) -> FloatArray | None:
    """Return weights (n,) with equal sums for the branches of a conditional space.

    Rows (n, D) with the same inactive columns belong to the same branch. None if all
    weights are equal.
    """
    _, branches, counts = np.unique(
        np.isnan(X), axis=0, return_inverse=True, return_counts=True
    )
    return 1.0 / counts[branches.ravel()] if np.ptp(counts) else None


def _quantiles(y: FloatArray, q: list[float], weights: FloatArray | None) -> FloatArray:
    """Return weighted quantiles; with equal weights, those of numpy.quantile."""
    if weights is None:
        return np.quantile(y, q)
    order = np.argsort(y, kind="stable")
    ordered = weights[order]
    middles = np.cumsum(ordered) - 0.5 * ordered
    return np.interp(q, (middles - middles[0]) / np.ptp(middles), y[order])


def winsorize_low(y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Raise very bad scores, whose long tail would dominate the length scales.

    Scores (n,) below ``median - 2 * scale`` are raised to that level. The scale is the
    distance from the median to the upper quartile. Because many scores may be (nearly)
    equal there, it is at least a fifth of the mean distance from the median among the
    90% of the scores that are nearest to the median. `weights` (n,) are those of the
    scores in the median and the quartile.
    """
    median, upper = _quantiles(y, [0.5, 0.75], weights)
    distances = np.sort(np.abs(y - median))[: len(y) - math.ceil(0.1 * len(y))]
    spread = float(np.mean(distances)) if len(distances) else 0.0
    scale = max(float(upper - median), SPREAD_SHARE * spread)
    if scale == 0.0:
        return y
    return np.maximum(y, median - TAIL_FACTOR * scale)


def compress_low_tail(y: FloatArray) -> FloatArray:
    """Compress the tail of very bad scores (n,) without making any two equal.

    Scores that :func:`winsorize_low` would raise by d end up ``unit * log(1 + d /
    unit)`` below its level, where `unit` is the standard deviation of its result.
    """
    raised = winsorize_low(y)
    unit = float(np.std(raised))
    if unit == 0.0:
        return raised
    return raised - unit * np.log1p((raised - y) / unit)


def standardize(
    y: FloatArray, winsorize: bool = False, weights: FloatArray | None = None
) -> tuple[FloatArray, float, float]:
    """Scale scores (n,) to mean 0 and variance 1; also return offset and unit.

    `weights` are those of :func:`winsorize_low`.
    """
    peak = float(np.max(np.abs(y)))
    if peak == 0.0:
        return np.zeros_like(y), 0.0, 1.0
    # In units of the largest score, squares and differences do not overflow.
    relative = winsorize_low(y / peak, weights) if winsorize else y / peak
    offset, unit = float(np.mean(relative)), float(np.std(relative))
    # Rounding leaves a tiny deviation on constant scores.
    if unit <= 1e-12:
        return np.zeros_like(y), offset * peak, peak
    return (relative - offset) / unit, offset * peak, unit * peak


def relative_noise(noise: FloatArray | None, unit: float) -> FloatArray | None:
    """Return variances (n,) of scores that were divided by `unit`."""
    if noise is None:
        return None
    # Roots first: the square of a tiny unit is 0, and that of a huge one is infinite.
    with np.errstate(over="ignore"):
        return np.minimum(np.square(np.sqrt(noise) / unit), MAX_NOISE)
