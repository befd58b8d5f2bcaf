"""Default search spaces of known estimator classes, and choices among models."""

from typing import NoReturn

from skbayes.defaults.default import EditableSpace, default_space
from skbayes.defaults.model_choice import ModelChoice, models
from skbayes.defaults.table import ColumnConverter

__all__ = ["ColumnConverter", "EditableSpace", "ModelChoice", "default_space", "models"]
__dir__ = __all__.copy


def __getattr__(name: str) -> NoReturn:
    from skbayes.utils.did_you_mean import missing_name

    raise missing_name(__name__, name)
