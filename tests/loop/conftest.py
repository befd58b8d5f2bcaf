"""Fixtures of tests that fit searches."""

from search_fixtures import fits_here  # noqa: F401
