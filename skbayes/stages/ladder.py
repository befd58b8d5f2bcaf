"""Stages that a search chooses by measured times: their sizes, costs and order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.space.lists import same
from skbayes.space.optimum_prior import ModelStarts, OptimumPrior
from skbayes.trial.plan import Allowance, Ladder, Plan, Progress, Stage, StageStart
from skbayes.trial.records import History, Trial, TrialState, succeeded
from skbayes.utils.ranking import best_first

# The smallest number of rows of a stage, and the factor by which the stages grow,
# without and with a timeout.
UNTIMED, TIMED = (2500, 5), (500, 3)

# With a timeout, the numbers of configurations with more rows, and with all folds, for
# which half of the time has to suffice.
N_SEARCHED, N_WITH_ALL_FOLDS = 20, 80

# Number of configurations for which time is reserved to compare them, and the smallest
# number that can be compared: the first one and the best one.
N_RESERVED, N_COMPARED = 6, 2

# Maximum share of the time that is reserved.
MAX_RESERVED_SHARE = 0.6

# Maximum share of the time of a stage with one fold for one trial.
MAX_TRIAL_SHARE = 0.2

# Exponent of the number of rows in the time of a fit on the next size before it is
# measured, and its limit.
EXPONENT, MAX_EXPONENT = 0.6, 2.5

# Minimum number of rows of a sample, per class and per row of the largest group.
ROWS_PER_CLASS, N_GROUPS = 10, 20

# Shortest time of a fit in seconds.
LEAST_SECONDS = 1e-3


def chosen_sizes(
    n_rows: int, y: Any, groups: Any, n_iter: Any, is_timed: bool
) -> tuple[float, ...]:
    """Return the sizes of the stages for a number of training rows."""
    first, growth = TIMED if is_timed else UNTIMED
    n_first = max(first, _least_rows(y, groups))
    n_sizes = 1 + math.floor(math.log(max(n_rows / n_first, 1.0), growth))
    if isinstance(n_iter, Integral):
        # A configuration is timed before it is compared with another one.
        n_sizes = min(n_sizes, int(n_iter) - N_COMPARED * is_timed)
    return tuple(float(growth) ** -k for k in range(max(n_sizes, 1) - 1, -1, -1))


def _least_rows(y: Any, groups: Any) -> int:
    """Return the minimum number of rows of a sample, for its classes and groups."""
    least, y = 1, compat.to_host(y)
    if y is not None and type_of_target(y, "y") in ("binary", "multiclass"):
        least = ROWS_PER_CLASS * len(np.unique(y))
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        least = max(least, N_GROUPS * int(sizes.max()))
    return least


def n_models(prior: OptimumPrior | None) -> int:
    """Return the number of models of a choice among models, or 1."""
    starts = prior and prior.portfolio
    return len(starts.rows) if isinstance(starts, ModelStarts) else 1


def best_of(trials: Iterable[Trial], n: int) -> list[Trial]:
    """Return the best `n` of the complete trials with a finite score."""
    complete = (trial for trial in trials if trial.state == TrialState.COMPLETE)
    usable = [trial for trial in complete if math.isfinite(trial.score)]
    violations = [trial.violation or 0.0 for trial in usable]
    order = best_first([trial.score for trial in usable], violations)
    return [usable[place] for place in order[:n]]


def with_fewer_folds(history: Sequence[Trial]) -> list[Trial]:
    """Return the trials of the last stage with fewer folds."""
    stages = [t.fidelity.stage for t in history if t.fidelity.n_folds is not None]
    return [t for t in history if stages and t.fidelity.stage == stages[-1]]


@dataclass(frozen=True)
class Costs:
    """Expected seconds of a fit.

    `first` are measured seconds of the first configuration that succeeded, by share of
    the training rows, and `ratio` is that of the best configurations to this one.
    Before two shares are measured, the costs of the next one grow by the `exponent`.
    """

    first: Mapping[float, float]
    ratio: float
    n_workers: int
    exponent: float = EXPONENT

    @classmethod
    def measured(cls, history: Sequence[Trial], n_workers: int) -> Costs:
        """Return the costs by the times of finished trials."""
        stages = groupby(history, lambda trial: trial.fidelity.stage)
        # Each stage begins with promoted configurations, the first one among them.
        candidates = [t for _, trials in stages for t in islice(trials, N_SEARCHED)]
        complete = [trial for trial in candidates if succeeded(trial)]
        of_first = [t for t in complete if same(t.params, complete[0].params)]
        # Times of several folds are more precise.
        of_first.sort(key=lambda trial: int(trial.fitted.sum()))
        seconds = {t.fidelity.train_fraction: _of_fit(t, n_workers) for t in of_first}
        costs = cls(seconds, 1.0, n_workers)
        best = best_of(with_fewer_folds(history) or history, N_RESERVED // 2)
        ratios = [
            _of_fit(trial, n_workers) / costs.of_fit(trial.fidelity.train_fraction)
            for trial in best
            if seconds
        ]
        return cls(seconds, float(np.median(ratios or [1.0])), n_workers)

    def of_fit(self, share: float) -> float:
        """Return the seconds of a fit at a share of the rows; 0 if none is measured.

        The greater value of a line and of a power of the share counts. The former
        describes fits with a constant cost, and the latter fits whose cost grows
        faster.
        """
        if not self.first:
            return 0.0
        if share in self.first:
            return self.ratio * self.first[share]
        (largest, cost), *smaller = sorted(self.first.items(), reverse=True)
        if not smaller:
            exponent = self.exponent if share < 1.01 * TIMED[1] * largest else 1.0
            return self.ratio * cost * float((share / largest) ** exponent)
        ((small, cheap), *_) = smaller
        slope = max(cost - cheap, 0.0) / (largest - small)
        exponent = math.log(cost / cheap) / math.log(largest / small)
        power = cost * (share / largest) ** min(max(exponent, 0.0), MAX_EXPONENT)
        return self.ratio * float(max(cost + slope * (share - largest), power))

    def of_trials(self, n_trials: int, amount: tuple[float, int]) -> float:
        """Return the seconds of trials with a share of the rows and some folds."""
        share, n_folds = amount
        n_rounds = math.ceil(n_trials * n_folds / self.n_workers)
        return n_rounds * self.of_fit(share)


def _of_fit(trial: Trial, n_workers: int) -> float:
    """Return the seconds of a fit of a trial."""
    n_rounds = math.ceil(int(trial.fitted.sum()) / n_workers)
    return max(trial.duration, LEAST_SECONDS) / n_rounds


@dataclass(frozen=True)
class TimedLadder(Ladder):
    """Stages that are chosen by measured times.

    The first configuration is timed on growing samples, until half of the time does not
    suffice for `N_SEARCHED` configurations of the next size with one fold. If it fails
    on the smallest one, another configuration is timed. Without samples, the first
    trials with one fold are timed. After these, the best configurations get the largest
    sample, with all folds if possible, for which there is time. If half of the time
    suffices for `N_WITH_ALL_FOLDS` configurations with all rows and folds, these are
    the only stage after the timing. At the start, `n_timed` configurations are timed.
    """

    n_timed: int = 1

    def share_of_time(self, trial: Trial, history: History) -> float:
        """Return the time of a fit of a trial relative to one on all training rows."""
        share, costs = trial.fidelity.train_fraction, Costs.measured(history, 1)
        if len(costs.first) < 2:
            return float(share**EXPONENT)
        return costs.of_fit(share) / costs.of_fit(1.0)

    def following(self, last: Stage | None, progress: Progress) -> Stage | None:
        """Return the stage after `last`, which is `last` itself to continue it."""
        if last is None:
            return self.stages[0]
        plan, history, seconds, n_workers, is_open, is_full = progress
        costs = Costs.measured(history, n_workers)
        left = math.inf if seconds is None else seconds
        larger = self._larger(last, plan, costs, left)
        n_tried = sum(t.fidelity.stage == history[-1].fidelity.stage for t in history)
        # Without samples, the first trials are timed; after a crash, there may be more.
        is_timed = n_tried <= self.n_timed or math.isinf(self.n_trials)
        is_timed &= is_full and last is self.stages[0]
        if last.role != "time" and not is_timed:
            is_whole = last.amount(plan) == self.stages[-1].amount(plan)
            rest = last if is_open and not is_whole else None
            return larger[-1] if larger else rest
        if larger and self.n_trials - len(history) <= N_COMPARED:
            return larger[-1]
        if not costs.first and n_tried == 1 and is_open:
            return last
        enough = min(left / 2, left - self._reserved(plan, costs, left))
        share = last.amount(plan)[0]
        chosen, *others = (
            s for s in self.stages if s.role != "time" and s.amount(plan)[0] >= share
        )
        for stage in others:
            n_trials = N_WITH_ALL_FOLDS if stage is self.stages[-1] else N_SEARCHED
            if costs.of_trials(n_trials, stage.amount(plan)) > enough:
                break
            # The costs on a larger sample are measured before it is searched.
            on_sample = (s for s in self.stages if s.samples == stage.samples)
            if (timing := next(on_sample)).role == "time" and timing is not last:
                return timing
            chosen = stage
        return chosen

    def allowance(
        self, stage: Stage, starts: Sequence[StageStart], progress: Progress
    ) -> Allowance:
        """Return what a stage gets; time is reserved to compare the best trials."""
        plan, history, seconds, n_workers, *_ = progress
        n_begun = sum(trial.fidelity.stage == len(starts) for trial in history)
        n_left = self.n_trials - len(history)
        costs = Costs.measured(history, n_workers)
        if stage.role == "time" or (stage.role == "search" and not costs.first):
            return Allowance(n_begun + 1 if history else self.n_timed, seconds)
        if stage.role != "search" or seconds is None:
            return Allowance(math.inf, seconds)
        if larger := self._larger(stage, plan, costs, seconds):
            least = costs.of_trials(N_COMPARED, larger[0].amount(plan))
            # With more trials in progress than workers, the last ones begin late.
            least += costs.of_trials(stage.n_points - 1, stage.amount(plan))
            seconds -= min(max(least, self._reserved(plan, costs, seconds)), seconds)
            if math.isfinite(n_left):
                n_left = max(1, min(n_left // 2, n_left - N_COMPARED))
        return Allowance(n_begun + n_left, seconds, MAX_TRIAL_SHARE * seconds)

    def _larger(
        self, stage: Stage, plan: Plan, costs: Costs, seconds: float
    ) -> list[Stage]:
        """Return the stages with more data in which there is time to compare trials."""
        cautious = replace(costs, exponent=1.0)
        return [
            other
            for other in self.stages
            if other.role != "time" and other.amount(plan) > stage.amount(plan)
            if cautious.of_trials(N_COMPARED, other.amount(plan)) <= seconds
        ]

    def _reserved(self, plan: Plan, costs: Costs, seconds: float) -> float:
        """Return the seconds in which the best trials are compared, if possible."""
        share, n_folds = self.stages[-1].amount(plan)
        most = MAX_RESERVED_SHARE * seconds
        wanted = costs.of_trials(N_RESERVED, (share, n_folds))
        if wanted > most:
            wanted = costs.of_trials(N_RESERVED, (share, 1))
        return min(wanted, most)
