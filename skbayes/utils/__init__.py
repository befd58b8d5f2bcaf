"""Threads of linear algebra, optional packages, suggestions for misspelled names."""
