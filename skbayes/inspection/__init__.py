"""Inspection of a search: importance of the hyper-parameters, advice, plots, reports.

The displays follow scikit-learn's convention: ``XDisplay.from_search(search)`` draws a
fitted search; ``XDisplay.from_history`` draws a running search from its journal.
"""

from skbayes.inspection.advice import advice
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.importance import Importance, ImportanceDisplay, importance
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto_display import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.report import Report, report_history, write_report
from skbayes.inspection.rounds_display import RoundsDisplay
from skbayes.inspection.slices import SliceDisplay
from skbayes.inspection.stages import StagesDisplay
from skbayes.inspection.timeline import TimelineDisplay
from skbayes.inspection.tradeoff_display import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import RunningTrial, SearchRecord, TrialCurves

__all__ = [
    "ConvergenceDisplay",
    "Importance",
    "ImportanceDisplay",
    "ParallelCoordinatesDisplay",
    "ParetoDisplay",
    "PartialDependenceDisplay",
    "Report",
    "RoundsDisplay",
    "RunningTrial",
    "SearchRecord",
    "SliceDisplay",
    "StagesDisplay",
    "TimelineDisplay",
    "TradeoffDisplay",
    "TrialCurves",
    "advice",
    "importance",
    "read_record",
    "report_history",
    "write_report",
]
__dir__ = __all__.copy
