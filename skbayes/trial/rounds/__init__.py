"""Boosting iterations, whose scores one fit provides."""

__all__: list[str] = []
