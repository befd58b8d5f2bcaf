"""Journals: the trials of a search in an SQLite file, and their reader."""

from skbayes.journal.reader import load_history

__all__ = ["load_history"]


def __dir__() -> list[str]:
    return sorted(__all__)
