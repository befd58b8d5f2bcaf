"""Integration with other libraries: a sampler for Optuna studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skbayes.integration.optuna_sampler import OptunaSampler

__all__ = ["OptunaSampler"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        # Imported on first use, because its base class is a class of Optuna.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from skbayes.integration.optuna_sampler import OptunaSampler

        return OptunaSampler
