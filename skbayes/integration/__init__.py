"""Integration with other libraries: Optuna and skrub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skbayes.integration.data_ops import skrub_search

if TYPE_CHECKING:
    from skbayes.integration.optuna_sampler import OptunaSampler

__all__ = ["OptunaSampler", "skrub_search"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Imported on first use, because its base class is of Optuna.
        if name == "OptunaSampler":
            from skbayes.integration.optuna_sampler import OptunaSampler

            return OptunaSampler
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
