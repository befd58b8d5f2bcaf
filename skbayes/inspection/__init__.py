"""Looking at a search: which hyper-parameters matter, and what its trials gave."""

from skbayes.inspection.fanova import Importance, importance
from skbayes.inspection.importance_display import ImportanceDisplay
from skbayes.inspection.pareto_display import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.record import RunningTrial, SearchRecord, read_record
from skbayes.inspection.report import report_history, write_report
from skbayes.inspection.tradeoff_display import TradeoffDisplay

__all__ = [
    "Importance",
    "ImportanceDisplay",
    "ParetoDisplay",
    "PartialDependenceDisplay",
    "RunningTrial",
    "SearchRecord",
    "TradeoffDisplay",
    "importance",
    "read_record",
    "report_history",
    "write_report",
]
