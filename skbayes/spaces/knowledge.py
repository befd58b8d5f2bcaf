"""Knowledge learned from tables of results: where good hyper-parameters lie.

The file ``knowledge.json`` has, by the name of a class:

- ``tables``: number of tables that it was learned from;
- ``portfolio``: configurations, the first of which, ``{}``, is the estimator's own;
- ``regrets``: a list for each of them, with the normalized regret in percent on each of
  some tables: 0 is the best known there, 100 a median one, or a worse one;
- ``densities``: by name of a parameter, natural logarithms of the density of good
  values relative to random ones: ``log_density`` at the numbers ``at``, linear in
  between on a linear or a logarithmic ``scale`` and constant beyond, and a logarithm
  for each of ``options``. On a logarithmic scale, the first number stands for 0;
- ``y_scaled``: parameters that are proportional to the standard deviation of the
  target.

``benchmarks/priors/learn.py`` writes it.
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

# What the file says, or a part of it.
Library = Mapping[str, Mapping[str, Any]]


@cache
def library() -> Library:
    """Return what is known, by the name of a class."""
    text = files("skbayes.spaces").joinpath("knowledge.json").read_text("utf-8")
    return json.loads(text)


def knowledge_of(part: Part, known: Library | None = None) -> Mapping[str, Any] | None:
    """Return what is known of a part by its class or its nearest base, or None."""
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
    """Logarithms of a density at values; 0 for NaN and options that are not known."""
    options = [(option, log) for option, log in density.get("options", ())]
    logs = np.zeros(len(values))
    for i, value in enumerate(values):
        if is_number(value) and "at" in density and not math.isnan(value):
            logs[i] = _interpolated(density, float(value) / unit)
        else:
            own = list(value) if isinstance(value, tuple) else value
            same = (log for o, log in options if type(o) is type(own) and o == own)
            logs[i] = next(same, 0.0)
    return logs


def _interpolated(density: Mapping[str, Any], value: float) -> float:
    at = np.asarray(density["at"], dtype=np.float64)
    if density["scale"] == "log":
        value, at = np.log(max(value, at[0])), np.log(at)
    return float(np.interp(value, at, density["log_density"]))
