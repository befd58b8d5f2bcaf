"""Integration with other libraries: Optuna and skrub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skbayes.integration.data_ops import skrub_search
from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.integration.optuna_sampler import OptunaSampler

__all__ = ["OptunaSampler", "skrub_search"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    # Imported on first use, because its base class is of Optuna.
    __getattr__ = attributes_of(
        __name__, {"OptunaSampler": "skbayes.integration.optuna_sampler"}
    )
