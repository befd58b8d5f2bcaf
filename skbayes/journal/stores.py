"""Stores of the rows of a journal: a file, or a table of a database."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from skbayes.journal.database import JournalTable, is_url, read_table
from skbayes.journal.file import JournalFile, Row, read_file

__all__ = ["open_store", "read_rows"]


def open_store(place: str | os.PathLike[str], rows: Iterable[Row]) -> Any:
    """Open a journal for writing; a new one gets the given rows."""
    if not is_url(place):
        return JournalFile(place, rows)
    return JournalTable(str(place), rows)


def read_rows(
    place: str | os.PathLike[str], salvage: bool = False
) -> tuple[list[Row], list[str]]:
    """Return the rows of a journal and its faults, as :func:`read_file`."""
    if not is_url(place):
        return read_file(place, salvage)
    return read_table(str(place), salvage)
