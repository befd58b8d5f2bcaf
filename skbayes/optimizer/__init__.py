"""Optimizer with an ask-and-tell interface, for any Python function."""

from skbayes.optimizer.optimizer import Optimizer
from skbayes.space.candidates import SpaceExhausted

__all__ = ["Optimizer", "SpaceExhausted"]
__dir__ = __all__.copy
