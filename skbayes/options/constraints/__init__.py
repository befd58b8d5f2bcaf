"""Constraints on outcomes of the trials, such as bounds on metrics."""
