"""Tables of results: scores of configurations of an estimator on many tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import HERE

__all__ = ["RESULTS", "Table", "load", "save"]

RESULTS = HERE / "results" / "priors"


@dataclass(frozen=True)
class Table:
    """Scores of one estimator on one table; the first configuration is its own.

    Attributes
    ----------
    name : str
        Name of the table.
    params : list of dict
        Configurations.
    metrics : list of str
        Names of the scores, the estimator's own score first.
    scores : ndarray of shape (n_configurations, n_metrics)
        Scores, greater is better; NaN for failed fits.
    """

    name: str
    params: list[dict[str, Any]]
    metrics: list[str]
    scores: np.ndarray


def save(name: str, tables: list[Table]) -> None:
    """Write the tables of an estimator."""
    texts = [json.dumps(table.params) for table in tables]
    distinct = list(dict.fromkeys(texts))
    RESULTS.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        RESULTS / f"{name}.npz",
        tables=np.array([table.name for table in tables]),
        metrics=np.array(tables[0].metrics),
        params=np.array(distinct),
        params_of_table=np.array([distinct.index(text) for text in texts]),
        scores=np.round([table.scores for table in tables], 4).astype(np.float32),
    )


def load(name: str) -> list[Table]:
    """Read the tables of an estimator."""
    with np.load(RESULTS / f"{name}.npz") as file:
        params = [_restored(json.loads(text)) for text in file["params"].tolist()]
        return [
            Table(table, params[which], file["metrics"].tolist(), scores)
            for table, which, scores in zip(
                file["tables"].tolist(),
                file["params_of_table"],
                file["scores"].astype(np.float64),
                strict=True,
            )
        ]


def names() -> list[str]:
    """Return the names of the estimators whose tables are complete."""
    return sorted(path.stem for path in RESULTS.glob("*.npz"))


def _restored(params: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert the lists of JSON back to tuples."""
    return [
        {name: tuple(v) if isinstance(v, list) else v for name, v in one.items()}
        for one in params
    ]
