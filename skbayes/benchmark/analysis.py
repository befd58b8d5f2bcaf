"""What tables say about tuning: what matters in each, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skbayes.benchmark.metrics import rank_correlations
from skbayes.benchmark.tables import NMT_SAME, LookupTable
from skbayes.inspection import importance

__all__ = ["analysis"]


def analysis(tables: Sequence[LookupTable]) -> str:
    """Describe tables.

    Parameters
    ----------
    tables : sequence of LookupTable
        The tables.

    Returns
    -------
    text : str
        For each table the importance of single hyper-parameters and of the strongest
        pairs, over all rows and among the top percent; rank correlations between
        tables with the same hyper-parameters.
    """
    parts = []
    for table in tables:
        for title, top in (("all rows", None), ("the top percent", 0.01)):
            found = importance(table, top=top)
            parts.append(f"{table.name}, importance over {title}\n{found}")
    if len(tables) > 1 and len({frozenset(t.columns) for t in tables}) == 1:
        parts.append(_correlations(tables))
    return "\n\n".join(parts)


def _correlations(tables: Sequence[LookupTable]) -> str:
    aliases = NMT_SAME if "bpe" in tables[0].columns else {}
    correlations, n_common = rank_correlations(tables, aliases)
    names = [table.name for table in tables]
    width = max(8, *(len(name) + 2 for name in names))
    lines = [f"rank correlations over {n_common} common configurations"]
    lines.append(" " * width + "".join(f"{name:>{width}}" for name in names))
    for name, row in zip(names, np.asarray(correlations), strict=True):
        lines.append(f"{name:{width}}" + "".join(f"{r:{width}.3f}" for r in row))
    return "\n".join(lines)
