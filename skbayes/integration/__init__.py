"""Integration with other libraries: Optuna, skrub and sktime."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from skbayes.integration.data_ops import skrub_search

if TYPE_CHECKING:
    from skbayes.integration.forecasting import ForecastingSkbayesSearchCV
    from skbayes.integration.optuna_sampler import OptunaSampler

__all__ = ["ForecastingSkbayesSearchCV", "OptunaSampler", "skrub_search"]
__dir__ = __all__.copy

# Imported on first use, because their base classes are those of other libraries.
_HOMES = {
    "ForecastingSkbayesSearchCV": "skbayes.integration.forecasting",
    "OptunaSampler": "skbayes.integration.optuna_sampler",
}

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_HOMES[name]), name)
