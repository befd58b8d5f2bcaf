"""Limits of the time and memory of fits: `timeout` and `trial_limits`."""
