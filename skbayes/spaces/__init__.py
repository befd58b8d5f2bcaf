"""Default search spaces of known estimator classes."""

from skbayes.spaces.default import EditableSpace, default_space

__all__ = ["EditableSpace", "default_space"]


def __dir__() -> list[str]:
    return sorted(__all__)
