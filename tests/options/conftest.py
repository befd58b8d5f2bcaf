"""Fixtures of tests that fit searches."""

from search_fixtures import fake_clock, fits_here, no_trials  # noqa: F401
