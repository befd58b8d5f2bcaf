"""Search spaces: their dimensions, their structure, and their notation."""

from skbayes.space.branches import Column
from skbayes.space.dimensions import Dimension, Integer, Real
from skbayes.space.distribution import Distribution
from skbayes.space.lists import Categorical, Ordinal
from skbayes.space.notation import Choice
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.space.space import Space

__all__ = [
    "Categorical",
    "Choice",
    "Column",
    "Dimension",
    "Distribution",
    "Integer",
    "OptimumPrior",
    "Ordinal",
    "Real",
    "Space",
]
__dir__ = __all__.copy
