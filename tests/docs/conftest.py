"""Fixtures of tests that fit searches."""

from search_fixtures import svc_fits  # noqa: F401
