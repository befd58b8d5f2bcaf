"""Looking at a search: which hyper-parameters matter, and what its trials gave."""

from skbayes.inspection.fanova import Importance, importance
from skbayes.inspection.record import RunningTrial, SearchRecord, read_record

__all__ = [
    "Importance",
    "RunningTrial",
    "SearchRecord",
    "importance",
    "read_record",
]
