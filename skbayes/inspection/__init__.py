"""Looking at a search: which hyper-parameters matter, and pictures of its trials.

The pictures follow scikit-learn's convention: ``XDisplay.from_search(search)`` draws a
fitted search, ``XDisplay.from_history`` one that still runs, by its journal.
"""

from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.fanova import Importance, importance
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.record import RunningTrial, SearchRecord, read_record
from skbayes.inspection.slices import SliceDisplay
from skbayes.inspection.stages import StagesDisplay
from skbayes.inspection.timeline import TimelineDisplay

__all__ = [
    "ConvergenceDisplay",
    "Importance",
    "ParallelCoordinatesDisplay",
    "RunningTrial",
    "SearchRecord",
    "SliceDisplay",
    "StagesDisplay",
    "TimelineDisplay",
    "importance",
    "read_record",
]


def __dir__() -> list[str]:
    return sorted(__all__)
