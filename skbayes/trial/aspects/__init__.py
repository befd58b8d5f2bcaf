"""Aspects of trials, one module each; `registry` contains the list."""

__all__: list[str] = []
__dir__ = __all__.copy
