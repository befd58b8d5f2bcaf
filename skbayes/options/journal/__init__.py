"""Journals: the trials of a search in an SQLite file, and their reader."""

from skbayes.options.journal.reader import load_history

__all__ = ["load_history"]
__dir__ = __all__.copy
