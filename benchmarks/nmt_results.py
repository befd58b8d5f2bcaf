"""Results of methods on tables and published results, and both as JSON."""

from __future__ import annotations

import csv
import importlib.metadata
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skbayes.benchmark.metrics import (
    Expected,
    Summary,
    curves,
    error_curves,
    expected_of_random,
    quartiles,
    summarize,
)
from skbayes.benchmark.protocol import Run
from skbayes.benchmark.tables import LookupTable
from skbayes.space.dimensions import FloatArray

__all__ = ["Result", "as_json", "published"]


@dataclass(frozen=True)
class Result:
    """Runs of one method on one table.

    Parameters
    ----------
    table : LookupTable
        The table, with the objectives of the runs.
    method : str
        Name of the method.
    runs : list of Run
        Runs of the method, at least one.
    cap : int or None
        Maximum number of rows of a run.
    """

    table: LookupTable
    method: str
    runs: list[Run]
    cap: int | None = None

    @property
    def several(self) -> bool:
        """Indicator of more than one objective."""
        return self.table.n_objectives > 1

    @property
    def summary(self) -> dict[str, Summary]:
        """Measures of the runs."""
        return summarize(self.runs, self.table)

    @property
    def errors(self) -> FloatArray | None:
        """Quartiles of the errors of predictions; None if there are no predictions."""
        if not all(run.errors for run in self.runs):
            return None
        errors = quartiles(error_curves(self.runs))
        return None if np.isnan(errors).any() else errors

    @property
    def ms_per_row(self) -> float:
        """Milliseconds of processor time per evaluated row."""
        seconds = sum(run.seconds for run in self.runs)
        return 1000 * seconds / sum(len(run.rows) for run in self.runs)


def published() -> dict[tuple[str, str, str], Expected]:
    """Load the results of Tables 3 and 4 of Zhang & Duh (2020).

    Returns
    -------
    figures : dict of tuple to Expected
        Mean and standard deviation over 100 runs, by language pair, method and
        measure.
    """
    source = Path(__file__).with_name("published.csv")
    return {
        (row["pair"], row["method"], row["metric"]): Expected(
            float(row["mean"]), float(row["sd"])
        )
        for row in csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    }


# -- JSON -----------------------------------------------------------------------------


def as_json(results: Sequence[Result], length: int = 100) -> dict[str, Any]:
    """Convert results to a dict that can be written as JSON.

    Parameters
    ----------
    results : sequence of Result
        The results.
    length : int, default=100
        Number of rows for which the progress is given.

    Returns
    -------
    record : dict
        Measures with their standard errors, quartiles of the progress and of the
        errors, expected measures of random search, published results, and versions.
    """
    pairs = {result.table.name for result in results}
    record: dict[str, Any] = {
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("skbayes", "numpy", "scipy", "scikit-learn")
        },
        "results": [_record(result, length) for result in results],
        "random, exact": [
            {
                "table": table.name,
                "n_objectives": table.n_objectives,
                "cap": cap,
                **{
                    name: value._asdict()
                    for name, value in expected_of_random(table, cap).items()
                },
            }
            for table, cap in _tables(results)
        ],
        "published": [
            {"table": key[0], "method": key[1], "measure": key[2], **value._asdict()}
            for key, value in published().items()
            if key[0] in pairs
        ],
    }
    return record


def _tables(results: Sequence[Result]) -> list[tuple[LookupTable, int | None]]:
    """Return the tables with their caps, separately by number of objectives."""
    return list(
        {
            (result.table.name, result.several): (result.table, result.cap)
            for result in results
        }.values()
    )


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _record(result: Result, length: int) -> dict[str, Any]:
    shown = min(length, result.cap or length, len(result.table))
    progress = quartiles(curves(result.runs, result.table, shown))
    record: dict[str, Any] = {
        "table": result.table.name,
        "method": result.method,
        "objectives": list(result.table.objectives),
        "n_runs": len(result.runs),
        "cap": result.cap,
        "n_snapped": sum(run.n_snapped for run in result.runs),
        "ms_per_row": round(result.ms_per_row, 3),
        "measures": {
            name: {
                "mean": _rounded(value.mean),
                "sd": _rounded(value.sd),
                "se": _rounded(value.se),
                "n_censored": value.n_censored,
            }
            for name, value in result.summary.items()
        },
        "progress_quartiles": np.round(progress, 4).tolist(),
    }
    if result.errors is not None:
        record["error_quartiles"] = np.round(result.errors, 4).tolist()
    return record
