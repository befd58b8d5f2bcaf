"""What may be chosen: dimensions, trees of them, and how users write them."""

from skbayes.space.dimensions import (
    Categorical,
    Choice,
    Dimension,
    Integer,
    Ordinal,
    Real,
)
from skbayes.space.distribution import Distribution
from skbayes.space.space import Column, Space

__all__ = [
    "Categorical",
    "Choice",
    "Column",
    "Dimension",
    "Distribution",
    "Integer",
    "Ordinal",
    "Real",
    "Space",
]


def __dir__() -> list[str]:
    return sorted(__all__)
