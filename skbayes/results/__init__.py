"""Results of searches: data frames, refit rules, corrected scores and warm starts."""

from typing import TYPE_CHECKING

from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.options.warm_start.known_trials import known_results
    from skbayes.results.frame import results_frame
    from skbayes.results.scores import (
        FastestWithin,
        OneStandardError,
        corrected_best_score,
    )

__all__ = [
    "FastestWithin",
    "OneStandardError",
    "corrected_best_score",
    "known_results",
    "results_frame",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    __getattr__ = attributes_of(
        __name__,
        dict.fromkeys(__all__, "skbayes.results.scores")
        | {
            "known_results": "skbayes.options.warm_start.known_trials",
            "results_frame": "skbayes.results.frame",
        },
    )
