"""Results as text in the layout of the paper, together with its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from nmt_results import Result, published

from skbayes.benchmark.metrics import (
    Expected,
    Summary,
    expected_of_random,
    measure,
)

__all__ = ["as_text"]

MEASURES = {False: ("ftb", "ftc", "fb"), True: ("fto", "fta", "fbp")}
TITLES = {
    False: "One objective (Table 3 of the paper), mean ± sd",
    True: "Several objectives (Table 4 of the paper), mean ± sd",
}

# Names in Tables 3 and 4 of the paper of the methods that should have the same results.
PUBLISHED_NAMES = {
    "random": ("RS", "RS"),
    "bo_paper_m": ("BO_EI_M", "BO_M"),
    "bo_paper_r": ("BO_EI_R", "BO_R"),
    "graph": ("GB_EI_R", "GB_R"),
    "graph+eif": ("GB_EIF_R", None),
}
PUBLISHED_RUNS = 100

# The other methods are compared with this one, paired by seed.
REFERENCE = "skbayes"

# Number of adjacent tables, and number of characters per column.
N_ABREAST, WIDTH = 3, 14

# Function that returns the text of a cell, by table and measure.
Cell = Callable[[str, str], str]


def as_text(results: Sequence[Result]) -> str:
    """Format results as in the paper, three adjacent tables at a time.

    The output has one part for one objective and one for several objectives. It
    contains the mean ± standard deviation of each method, the exact expectations of
    random search, and the published results. It also contains the differences between
    our results and those that they should reproduce, in standard errors.
    """
    parts = []
    for several in (False, True):
        chosen = [result for result in results if result.several == several]
        names = list(dict.fromkeys(result.table.name for result in chosen))
        if chosen:
            parts.append(TITLES[several])
        for first in range(0, len(names), N_ABREAST):
            abreast = names[first : first + N_ABREAST]
            block = _Block([r for r in chosen if r.table.name in abreast], several)
            parts.append(block.text())
        notes = [
            *_geometric_means(chosen, names, several),
            *_censored(chosen),
            *_snapped(chosen),
            *_tied(chosen),
        ]
        if notes:
            parts.append("\n".join(notes))
    return "\n\n".join(parts)


class _Block:
    """Adjacent tables of the output."""

    def __init__(self, results: Sequence[Result], several: bool) -> None:
        self.several = several
        self.measures = MEASURES[several]
        self.methods = list(dict.fromkeys(result.method for result in results))
        self.found = {(r.table.name, r.method): r.summary for r in results}
        self.results = {(r.table.name, r.method): r for r in results}
        self.exact = {r.table.name: expected_of_random(r.table, r.cap) for r in results}
        self.figures = {
            key: value
            for key, value in published().items()
            if key[0] in self.exact and key[2] in self.measures
        }
        self.names = list(dict.fromkeys(name for _, name, _ in self.figures))

    def text(self) -> str:
        lines: list[tuple[str, Cell | None]] = [
            *((method, self._own(method)) for method in self.methods),
            ("random, exact", lambda pair, name: _cell(self.exact[pair][name], name)),
        ]
        if self.names:
            lines.append(("published", None))
            lines += [("  " + name, self._published(name)) for name in self.names]
            lines.append(("  best", self._best))
        checks = self._checks()
        if checks:
            lines += [("standard errors apart", None), *checks]
        if REFERENCE in self.methods and len(self.methods) > 1:
            lines.append((f"less {REFERENCE}, in paired standard errors", None))
            rivals = [method for method in self.methods if method != REFERENCE]
            lines += [("  " + method, self._paired(method)) for method in rivals]
        left = max(len(label) for label, cell in lines if cell) + 1
        span = WIDTH * len(self.measures)
        head = " " * left + "".join(f"{pair:^{span}}" for pair in self.exact)
        all_lines = [("", lambda pair, name: name), *lines]
        return "\n".join(
            [head.rstrip(), *(self._line(left, *line) for line in all_lines)]
        )

    def _line(self, left: int, label: str, cell: Cell | None) -> str:
        if cell is None:
            return label
        cells = [cell(pair, name) for pair in self.exact for name in self.measures]
        return f"{label:{left}}" + "".join(f"{text:>{WIDTH}}" for text in cells)

    def _own(self, method: str) -> Cell:
        return lambda pair, name: _cell(
            self.found.get((pair, method), {}).get(name), name
        )

    def _published(self, method: str) -> Cell:
        return lambda pair, name: _cell(self.figures.get((pair, method, name)), name)

    def _best(self, pair: str, measure: str) -> str:
        means = [
            value.mean
            for (table, _, name), value in self.figures.items()
            if (table, name) == (pair, measure)
        ]
        if not means:
            return "-"
        return f"{max(means) if measure == 'fbp' else min(means):g}"

    def _checks(self) -> list[tuple[str, Cell]]:
        """Compare our results with those that they should reproduce."""
        checks: list[tuple[str, Cell]] = []
        for method in self.methods:
            if method == "random":
                checks.append(("  random, exact", self._from_exact))
            there = PUBLISHED_NAMES.get(method, (None, None))[self.several]
            if there is not None and self.names:
                checks.append((f"  {method}, {there}", self._apart(method, there)))
        return checks

    def _from_exact(self, pair: str, measure: str) -> str:
        ours = self.found.get((pair, "random"), {}).get(measure)
        theirs = self.exact[pair][measure]
        if ours is None or theirs.sd == 0:
            return "-"
        error = theirs.sd / math.sqrt(ours.n)
        return f"{(ours.mean - theirs.mean) / error:+.1f}"

    def _apart(self, method: str, there: str) -> Cell:
        def cell(pair: str, measure: str) -> str:
            ours = self.found.get((pair, method), {}).get(measure)
            theirs = self.figures.get((pair, there, measure))
            # The published runs had no cap.
            if ours is None or theirs is None or ours.n_censored:
                return "-"
            error = math.hypot(ours.se, theirs.sd / math.sqrt(PUBLISHED_RUNS))
            return f"{(ours.mean - theirs.mean) / error:+.1f}" if error > 0 else "-"

        return cell

    def _paired(self, method: str) -> Cell:
        def cell(pair: str, measure: str) -> str:
            both = [self.results.get((pair, name)) for name in (method, REFERENCE)]
            if both[0] is None or both[1] is None:
                return "-"
            value = _paired_difference(both[0], both[1], measure)
            return f"{value:+.1f}" if math.isfinite(value) else "-"

        return cell


def _paired_difference(one: Result, other: Result, measure_name: str) -> float:
    """Return the mean difference over common seeds in standard errors, or NaN."""
    values = [
        {run.seed: measure(run, r.table)[measure_name].value for run in r.runs}
        for r in (one, other)
    ]
    seeds = sorted(set(values[0]) & set(values[1]))
    differences = np.array([values[0][seed] - values[1][seed] for seed in seeds])
    if len(seeds) < 2 or np.ptp(differences) == 0:
        return math.nan
    error = differences.std(ddof=1) / math.sqrt(len(seeds))
    return float(differences.mean() / error)


def _cell(value: Summary | Expected | None, measure: str) -> str:
    if value is None:
        return "-"
    digits = 2 if measure == "fb" else 1
    is_bound = isinstance(value, Summary) and value.n_censored > 0
    sign = ("≤" if measure == "fb" else "≥") if is_bound else ""
    return f"{sign}{value.mean:.{digits}f} ± {value.sd:.{digits}f}"


# -- notes below the tables -----------------------------------------------------------


def _geometric_means(
    results: Sequence[Result], names: Sequence[str], several: bool
) -> list[str]:
    """Return the average of each method over tables, for methods on all tables."""
    measure_name = "fta" if several else "ftb"
    means: dict[str, list[float]] = {}
    for result in results:
        mean = result.summary[measure_name].mean
        means.setdefault(result.method, []).append(mean)
    averages = [
        f"{method} {np.exp(np.mean(np.log(values))):.1f}"
        for method, values in means.items()
        if len(values) == len(names)
    ]
    if len(names) < 2:
        return []
    return [f"Geometric mean of {measure_name} over tables: {', '.join(averages)}"]


def _censored(results: Sequence[Result]) -> list[str]:
    notes = []
    for result in results:
        cut = [
            f"{name} in {summary.n_censored}"
            for name, summary in result.summary.items()
            if summary.n_censored and name in MEASURES[result.several]
        ]
        if cut:
            notes.append(
                f"  {result.method} on {result.table.name}: {', '.join(cut)} of "
                f"{len(result.runs)} runs"
            )
    if notes:
        notes.insert(
            0,
            "Censored (≥, ≤): runs ended at their cap before this was known, and count "
            "as if found there:",
        )
    return notes


def _snapped(results: Sequence[Result]) -> list[str]:
    notes = []
    for result in results:
        n_snapped = sum(run.n_snapped for run in result.runs)
        if n_snapped:
            n_rows = sum(len(run.rows) for run in result.runs)
            notes.append(
                f"{result.method} on {result.table.name}: {n_snapped} of {n_rows} rows "
                "are the nearest free ones to proposals that were no free rows."
            )
    return notes


def _tied(results: Sequence[Result]) -> list[str]:
    notes = []
    for result in results:
        score = result.table.scores[:, 0]
        n_best = int(np.sum(score == score.max()))
        if n_best > 1 and not result.several:
            notes.append(
                f"{result.method} on {result.table.name}: until any of the {n_best} "
                "rows that tie for best "
                f"{_cell(result.summary['ftb_any'], 'ftb_any')}."
            )
    return notes
