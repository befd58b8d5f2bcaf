"""Gaussian processes: basic, warped, additive, and monotonic."""
