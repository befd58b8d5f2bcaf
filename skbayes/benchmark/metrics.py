"""Measures of runs and of random search.

Zhang & Duh (2020) define the measures. Numbers of rows include the 3 initial
rows, which are taken together, so no number is below 3.

One objective:

- ftb: number of rows until the best row is found. If several rows tie for best, only
  the first of them in the table counts.
- ftb_any: number of rows until any of the rows that tie for best is found.
- ftc: number of rows until a row within the table's `tolerance` of the best is found.
- fb: the best score minus the best score found after 20 rows.

Several objectives, where the front consists of all rows that are not dominated:

- fto: number of rows until the first row of the front is found.
- fta: number of rows until all rows of the front are found.
- fbp: number of rows of the front found after `front_budget` rows.

If a run ends at its cap before its target is found, it is censored: its number of rows
is the cap. The means of ftb, ftc, fto and fta are then lower bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from skbayes.benchmark.protocol import N_BUDGET, N_START, Run
from skbayes.benchmark.tables import LookupTable
from skbayes.space.dimensions import FloatArray

# Tolerance for rounding errors when decimal scores are compared.
_SLACK = 1e-9


class MeasuredValue(NamedTuple):
    """Measure of one run; censored if the run ended at its cap before its target."""

    value: float
    censored: bool


class Summary(NamedTuple):
    """Mean and standard deviation (NaN for one run) of a measure over `n` runs."""

    mean: float
    sd: float
    n: int
    n_censored: int

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return float(self.sd / np.sqrt(self.n))


class Expected(NamedTuple):
    """Exact mean and standard deviation of a measure over runs."""

    mean: float
    sd: float


# -- of runs --------------------------------------------------------------------------


def _targets(table: LookupTable) -> dict[str, tuple[np.ndarray, bool]]:
    """Return the target rows of each measure of time, and whether all are required."""
    if table.n_objectives > 1:
        return {"fto": (table.front, False), "fta": (table.front, True)}
    score = table.scores[:, 0]
    close = score >= score.max() - table.tolerance - _SLACK
    return {
        "ftb": (np.array([table.best]), False),
        "ftb_any": (np.flatnonzero(score == score.max()), False),
        "ftc": (np.flatnonzero(close), False),
    }


def _time_until(rows: Sequence[int], targets: np.ndarray, every: bool) -> MeasuredValue:
    places = np.flatnonzero(np.isin(rows, targets)) + 1
    if len(places) < (len(targets) if every else 1):
        return MeasuredValue(float(len(rows)), True)
    return MeasuredValue(float(max(places[-1 if every else 0], N_START)), False)


def measure(run: Run, table: LookupTable) -> dict[str, MeasuredValue]:
    """Compute the measures of a run.

    Parameters
    ----------
    run : Run
        The run.
    table : LookupTable
        Table of the run, with the same objectives.

    Returns
    -------
    measures : dict of str to MeasuredValue
        "ftb", "ftb_any", "ftc" and "fb" for one objective, "fto", "fta" and "fbp" for
        several.
    """
    targets = _targets(table).items()
    measures = {name: _time_until(run.rows, *target) for name, target in targets}
    if table.n_objectives > 1:
        budget = min(table.front_budget, len(table))
        n_hits = np.isin(run.rows[:budget], table.front).sum()
        measures["fbp"] = MeasuredValue(float(n_hits), len(run.rows) < budget)
    else:
        score = table.scores[:, 0]
        regret = score.max() - score[run.rows[:N_BUDGET]].max()
        short = len(run.rows) < min(N_BUDGET, len(table))
        measures["fb"] = MeasuredValue(float(regret), short)
    return measures


def summarize(runs: Sequence[Run], table: LookupTable) -> dict[str, Summary]:
    """Compute mean and spread of each measure over runs.

    Parameters
    ----------
    runs : sequence of Run
        Runs of one method on one table, at least one.
    table : LookupTable
        Table of the runs, with the same objectives.

    Returns
    -------
    summary : dict of str to Summary
        Summary of each measure, by the names of :func:`measure`.
    """
    measured = [measure(run, table) for run in runs]
    summary = {}
    for name in measured[0]:
        values = np.array([measures[name].value for measures in measured])
        sd = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        n_censored = sum(measures[name].censored for measures in measured)
        summary[name] = Summary(float(values.mean()), sd, len(values), n_censored)
    return summary


def curves(runs: Sequence[Run], table: LookupTable, length: int) -> FloatArray:
    """Compute the progress of each run after each of its rows.

    Parameters
    ----------
    runs : sequence of Run
        Runs on one table.
    table : LookupTable
        Table of the runs, with the same objectives.
    length : int
        Number of rows.

    Returns
    -------
    curves : ndarray of shape (n_runs, length)
        The best score minus the best score found so far or, with several objectives,
        the number of rows of the front found so far. After the end of a run, its last
        value is repeated.
    """
    score, lines = table.scores[:, 0], []
    for run in runs:
        rows = run.rows[:length]
        if table.n_objectives > 1:
            progress = np.cumsum(np.isin(rows, table.front), dtype=float)
        else:
            progress = score.max() - np.maximum.accumulate(score[rows])
        lines.append(np.pad(progress, (0, length - len(rows)), mode="edge"))
    return np.array(lines)


# -- of random search -----------------------------------------------------------------


def place_of_first(n: int, k: int) -> FloatArray:
    """Return the probabilities of places 1 to `n` of the first of `k` marked rows.

    The `n` rows are in random order. P(place > t) = C(n - k, t) / C(n, t), which is the
    product of (n - k - i) / (n - i) over i < t.
    """
    i = np.arange(n)
    later = np.cumprod(np.maximum(n - k - i, 0) / (n - i))
    return -np.diff(later, prepend=1.0)


def _moments(values: FloatArray, p: FloatArray) -> Expected:
    mean = float(values @ p)
    return Expected(mean, float(np.sqrt((values - mean) ** 2 @ p)))


def expected_of_random(
    table: LookupTable, cap: int | None = None
) -> dict[str, Expected]:
    """Compute the exact expected measures of random search.

    Parameters
    ----------
    table : LookupTable
        The table.
    cap : int or None, default=None
        Number of rows after which runs end. Censored runs count as in :func:`measure`.

    Returns
    -------
    expected : dict of str to Expected
        Mean and standard deviation, by the names of :func:`measure`.
    """
    n = len(table)
    longest = min(cap or n, n)
    places = np.clip(np.arange(1.0, n + 1), N_START, longest)
    expected = {}
    for name, (wanted, every) in _targets(table).items():
        p = place_of_first(n, len(wanted))
        # In reverse order, the last place is the first one.
        expected[name] = _moments(places, p[::-1] if every else p)
    if table.n_objectives > 1:
        law = hypergeom(n, len(table.front), min(table.front_budget, longest))
        expected["fbp"] = Expected(float(law.mean()), float(law.std()))
    else:
        # With rows sorted by score, the first row that was taken is the best one found.
        regret = np.sort(table.scores[:, 0].max() - table.scores[:, 0])
        p = place_of_first(n, min(N_BUDGET, longest))
        expected["fb"] = _moments(regret, p)
    return expected
