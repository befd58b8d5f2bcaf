"""Data that note, in files, where they are sent."""

import os
import time
from pathlib import Path

import numpy as np


def note(place, what):
    """Note something that this process does."""
    (Path(place) / f"{what}.{os.getpid()}.{time.time_ns()}").touch()


def noted(place, what):
    """Return the processes of the notes of something."""
    return [int(path.name.split(".")[-2]) for path in Path(place).glob(f"{what}.*")]


class SentRows(np.ndarray):
    """Rows that note in a folder each time that a process sends or receives them."""

    @classmethod
    def of(cls, rows, place):
        """Return rows with a folder."""
        found = rows.view(cls)
        found.place = str(place)
        return found

    def __reduce_ex__(self, protocol):
        note(self.place, "sent")
        return _received, (np.asarray(self), self.place)


def _received(rows, place):
    note(place, "received")
    return SentRows.of(rows, place)
