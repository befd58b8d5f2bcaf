"""Results of searches: data frames, refit rules, corrected scores and warm starts."""

from skbayes.results.frame import results_frame
from skbayes.results.scores import FastestWithin, OneStandardError, corrected_best_score
from skbayes.results.warm_start import known_results

__all__ = [
    "FastestWithin",
    "OneStandardError",
    "corrected_best_score",
    "known_results",
    "results_frame",
]
__dir__ = __all__.copy
