"""Inspection of a search: importance of the hyper-parameters, advice, plots, reports.

The displays follow scikit-learn's convention: ``XDisplay.from_search(search)`` draws a
fitted search; ``XDisplay.from_history`` draws a running search from its journal.
"""

from skbayes.inspection.advice import advice
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.importance import Importance, ImportanceDisplay, importance
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.tradeoff import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import RunningTrial, SearchRecord

__all__ = [
    "ConvergenceDisplay",
    "Importance",
    "ImportanceDisplay",
    "ParallelCoordinatesDisplay",
    "ParetoDisplay",
    "PartialDependenceDisplay",
    "RunningTrial",
    "SearchRecord",
    "TradeoffDisplay",
    "advice",
    "importance",
    "read_record",
]
__dir__ = __all__.copy
