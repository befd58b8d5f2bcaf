"""Gaussian processes: plain, additive, and monotonic."""
