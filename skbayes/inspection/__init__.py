"""Looking at a finished search: which hyper-parameters matter."""

from skbayes.inspection.fanova import Importance, importance

__all__ = ["Importance", "importance"]
