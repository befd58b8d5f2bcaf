"""Priors and portfolios that were learned from tables of results.

The file ``knowledge.json`` has one entry per class name:

- ``tables``: number of tables that it was learned from;
- ``portfolio``: configurations; the first one, ``{}``, is the estimator's own;
- ``regrets``: one list per configuration, with the normalized regret in percent on some
  tables, where 0 is the best known score, and 100 is the median score or a worse one;
- ``densities``: by parameter name, natural logarithms of the density of good values
  relative to random values. ``log_density`` are those at the numbers ``at``, linearly
  interpolated on a linear or logarithmic ``scale`` and constant beyond. ``options`` has
  one logarithm per option. On a logarithmic scale, the first number stands for 0;
- ``y_scaled``: parameters that are proportional to the standard deviation of the
  target.

``benchmarks/learn_priors.py`` writes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray, is_number
from skbayes.spaces.parts import Part

__all__ = ["Library", "knowledge_of", "library", "log_density"]

# Content of the file, or a part of it.
Library = Mapping[str, Mapping[str, Any]]


@cache
def library() -> Library:
    """Return the content of the file, by class name."""
    text = files("skbayes.spaces").joinpath("knowledge.json").read_text("utf-8")
    return json.loads(text)


def knowledge_of(part: Part, known: Library | None = None) -> Mapping[str, Any] | None:
    """Return the entry of the class of a part or its nearest base class, or None."""
    known = library() if known is None else known
    if part.known is None:
        return None
    for cls in type(part.estimator).__mro__:
        if cls.__name__ in known:
            return known[cls.__name__]
    return None


def log_density(
    density: Mapping[str, Any], values: list[Any], unit: float = 1.0
) -> FloatArray:
    """Return log densities at values; 0 for NaN and unknown options."""
    options = [(option, log) for option, log in density.get("options", ())]
    logs = np.zeros(len(values))
    for i, value in enumerate(values):
        if is_number(value) and "at" in density and not math.isnan(value):
            logs[i] = _interpolated(density, float(value) / unit)
        else:
            option = list(value) if isinstance(value, tuple) else value
            same = (
                log for o, log in options if type(o) is type(option) and o == option
            )
            logs[i] = next(same, 0.0)
    return logs


def _interpolated(density: Mapping[str, Any], value: float) -> float:
    at = np.asarray(density["at"], dtype=np.float64)
    if density["scale"] == "log":
        value, at = np.log(max(value, at[0])), np.log(at)
    return float(np.interp(value, at, density["log_density"]))
