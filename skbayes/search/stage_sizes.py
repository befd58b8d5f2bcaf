"""Sizes of the stages of MultiStageSearchCV with stages="auto", and expected times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.space.dimensions import FloatArray
from skbayes.space.lists import same
from skbayes.space.optimum_prior import ModelStarts
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial

# With stages="auto", the smallest number of rows of a stage, and the factor by which
# the stages grow, without and with a timeout.
FIRST_ROWS, GROWTH = 2500, 5
FIRST_TIMED_ROWS, TIMED_GROWTH = 500, 3

# With a timeout, the number of configurations for which the first stage should have
# time, and the numbers for which the stage with all folds should have time when it
# begins, and when the first stage begins.
N_FIRST, N_FINAL = 20, (1.5, 6)

# Maximum share of the time that is reserved for all folds.
MOST_FINAL = 0.6

# Maximum share of the time of a stage with one fold for one trial.
MOST_OF_TRIAL = 0.2

# Stages of each size with a timeout: a trial with all folds that is timed, and trials
# with one fold. The last stage of the search has all folds.
TIMING, ONE_FOLD = range(2)

# Exponent of the number of rows in the time of a trial of the next size before it is
# measured, and its limit.
EXPONENT, MAX_EXPONENT = 0.6, 2.5

# Minimum number of rows of a sample by class, and by rows of the largest group.
ROWS_PER_CLASS, N_GROUPS = 10, 20


def sizes_by_rows(n_rows: int, least: int, n_iter: Any) -> tuple[float, ...]:
    """Return the sizes of stages without a timeout.

    `n_rows` is the number of training rows, of which the smallest sample must have
    `least`.
    """
    n_sizes = _number_of_sizes(n_rows, max(FIRST_ROWS, least), GROWTH)
    if isinstance(n_iter, Integral):
        n_sizes = min(n_sizes, int(n_iter))
    return tuple(float(GROWTH) ** -k for k in range(n_sizes - 1, -1, -1))


def timed_sizes(n_rows: int, least: int) -> tuple[float, ...]:
    """Return the sizes of stages with a timeout: two of each size, and a last one."""
    n_sizes = _number_of_sizes(n_rows, max(FIRST_TIMED_ROWS, least), TIMED_GROWTH)
    sizes = [float(TIMED_GROWTH) ** -k for k in range(n_sizes - 1, -1, -1)]
    if n_sizes == 1:
        return (1.0,)
    return (*(size for size in sizes for _ in (TIMING, ONE_FOLD)), 1.0)


def _number_of_sizes(n_rows: int, first: int, growth: int) -> int:
    return 1 + math.floor(math.log(max(n_rows / first, 1.0), growth))


def with_one_fold(history: History) -> list[Trial]:
    """Return the trials of the last stage with one fold, with chosen stages."""
    stages = [t.fidelity.stage for t in history if t.fidelity.n_folds is not None]
    return [t for t in history if stages and t.fidelity.stage == stages[-1]]


def rows_for_all(y: Any, groups: Any) -> int:
    """Return a number of rows with enough classes and groups for a small sample."""
    least, y = 1, compat.to_host(y)
    if y is not None and type_of_target(y) in ("binary", "multiclass"):
        least = ROWS_PER_CLASS * len(np.unique(y))
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        least = max(least, N_GROUPS * int(sizes.max()))
    return least


def n_models(plan: Plan) -> int:
    """Return the number of models of a choice among models, or 1."""
    starts = plan.prior and plan.prior.portfolio
    return len(starts.rows) if isinstance(starts, ModelStarts) else 1


def expected_costs(
    history: History,
    measured: Sequence[Trial],
    sizes: Sequence[float],
    n_workers: int,
) -> FloatArray:
    """Return the expected seconds of one worker for all folds, by share of the rows.

    The costs of the first configuration are extrapolated to the `sizes`, and multiplied
    by the median ratio of the costs of the `measured` trials to its cost.
    """
    first = {
        trial.fidelity.train_fraction: _cost(trial, n_workers)
        for trial in history
        if same(trial.params, history[0].params) and trial.fitted.all()
    }
    if not first:
        return np.zeros(len(sizes))
    ratios = [
        _cost(trial, n_workers) / _extrapolated(first, trial.fidelity.train_fraction)
        for trial in measured
    ]
    known = np.array([_extrapolated(first, size) for size in sizes])
    return np.asarray(known * np.median(ratios or [1.0]))


def _cost(trial: Trial, n_workers: int) -> float:
    """Return the seconds of one worker for all folds, as if all had been fitted."""
    n_fitted = int(np.sum(trial.fitted))
    in_parallel = min(n_workers, n_fitted)
    return max(trial.duration, 1e-3) * in_parallel * len(trial.folds) / n_fitted


def _extrapolated(costs: Mapping[float, float], size: float) -> float:
    """Return the cost at a size, from costs by size.

    The greater value of a line and of a power of the size counts. The former describes
    fits with a constant cost, and the latter fits whose cost grows faster.
    """
    if size in costs:
        return costs[size]
    (share, cost), *before = sorted(costs.items(), reverse=True)
    if not before:
        exponent = EXPONENT if size < 1.01 * TIMED_GROWTH * share else 1.0
        return float(cost * (size / share) ** exponent)
    ((smaller, cheaper), *_) = before
    slope = max(cost - cheaper, 0.0) / (share - smaller)
    exponent = math.log(cost / cheaper) / math.log(share / smaller)
    power = cost * (size / share) ** min(max(exponent, 0.0), MAX_EXPONENT)
    return float(max(cost + slope * (size - share), power))
