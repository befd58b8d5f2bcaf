"""Numbers of attacks tried and passed per category, printed and saved as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

__all__ = ["save"]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "attacks"


def save(name: str, when: str, counts: Mapping[str, Mapping[str, float]]) -> None:
    """Print counts per category and save them as `NAME-WHEN.json`.

    `counts` maps each category to ``{"tried": n, "held": n}``, where "held" is the
    number of passes, and further figures. `when` is "before" or "after".
    """
    width = max(map(len, counts), default=0)
    for category, figures in counts.items():
        shown = "  ".join(f"{key} {value:g}" for key, value in figures.items())
        print(f"{category:{width}}  {shown}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}-{when}.json"
    path.write_text(json.dumps(counts, indent=2) + "\n")
