"""Default search spaces of known estimator classes."""

from skbayes.spaces.default import EditableSpace, default_space

__all__ = ["EditableSpace", "default_space"]
__dir__ = __all__.copy
