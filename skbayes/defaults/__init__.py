"""Default search spaces of known estimator classes, and choices among models."""

from skbayes.defaults.default import EditableSpace, default_space
from skbayes.defaults.model_choice import ModelChoice, models
from skbayes.defaults.table import ColumnConverter

__all__ = ["ColumnConverter", "EditableSpace", "ModelChoice", "default_space", "models"]
__dir__ = __all__.copy
