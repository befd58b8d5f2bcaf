"""Aspects of trials, one module each; `registry` contains the list."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted(__all__)
