"""Warm starts from the results of earlier searches."""
