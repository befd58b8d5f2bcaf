"""Callbacks of scikit-learn, which observe the fits of a search."""
