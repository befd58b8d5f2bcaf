"""Boosting iterations, trees of forests and epochs, whose scores one fit provides."""

__all__: list[str] = []
