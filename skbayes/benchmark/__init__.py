"""Benchmark of searches on tables of trained systems.

:func:`benchmark` runs methods on tables, and :func:`summarize` computes measures of the
runs. ``python -m skbayes.benchmark`` prints the tables of Zhang & Duh (2020).
"""

from skbayes.benchmark.methods import Method, make_factory
from skbayes.benchmark.metrics import curves, expected_of_random, measure, summarize
from skbayes.benchmark.protocol import Run, benchmark, run_method
from skbayes.benchmark.tables import LookupTable, load_nmt

__all__ = [
    "LookupTable",
    "Method",
    "Run",
    "benchmark",
    "curves",
    "expected_of_random",
    "load_nmt",
    "make_factory",
    "measure",
    "run_method",
    "summarize",
]
__dir__ = __all__.copy
