"""Integration with other libraries: Hyperactive, ONNX, Optuna, skrub and sktime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skbayes.integration.data_ops import skrub_search
from skbayes.integration.onnx_converter import register_onnx_converter

if TYPE_CHECKING:
    from skbayes.integration.forecasting import ForecastingSkbayesSearchCV
    from skbayes.integration.hyperactive_optimizer import HyperactiveOptimizer
    from skbayes.integration.optuna_sampler import OptunaSampler

__all__ = [
    "ForecastingSkbayesSearchCV",
    "HyperactiveOptimizer",
    "OptunaSampler",
    "register_onnx_converter",
    "skrub_search",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Imported on first use, because their base classes are of other libraries.
        if name == "OptunaSampler":
            from skbayes.integration.optuna_sampler import OptunaSampler

            return OptunaSampler
        if name == "ForecastingSkbayesSearchCV":
            from skbayes.integration.forecasting import ForecastingSkbayesSearchCV

            return ForecastingSkbayesSearchCV
        if name == "HyperactiveOptimizer":
            from skbayes.integration.hyperactive_optimizer import HyperactiveOptimizer

            return HyperactiveOptimizer
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
