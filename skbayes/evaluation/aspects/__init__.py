"""Aspects of trials, one module each; `registry` contains the list."""
