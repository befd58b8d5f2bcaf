"""Data and steps that note, in files, where they are sent and fitted."""

import os
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np
from sklearn.preprocessing import StandardScaler

from skbayes.trial import prefix_steps


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


class SlowScaler(StandardScaler):
    """Scaler that notes its training rows in a folder, or the one of its machine."""

    def __init__(self, seconds=0.0, place=None):
        super().__init__()
        self.seconds, self.place = seconds, place

    def fit(self, X, y=None, sample_weight=None):
        """Fit, and take some time."""
        place = self.place or tempfile.gettempdir()
        note(place, f"fit-{joblib.hash(np.asarray(X))}")
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


# Trials share the steps of scikit-learn, and this one. It is registered in each process
# that loads it.
_is_of_sklearn = prefix_steps._is_of_sklearn


def _is_shared(thing):
    return thing is SlowScaler or _is_of_sklearn(thing)


prefix_steps._is_of_sklearn = _is_shared


def fits_by_rows(place):
    """Return how often scalers were fitted in a folder, by their training rows."""
    names = [path.name.partition(".")[0] for path in Path(place).glob("fit-*")]
    return {name: names.count(name) for name in names}
