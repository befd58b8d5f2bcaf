"""Default search spaces of known estimator classes."""

from skbayes.spaces.changes import EditableSpace
from skbayes.spaces.default import default_space

__all__ = ["EditableSpace", "default_space"]


def __dir__() -> list[str]:
    return sorted(__all__)
