"""Programs and clusters that tests start, and what they send to other processes."""

import contextlib
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest


def environment(**more):
    """Return an environment with the modules of this process and of this folder."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


@contextlib.contextmanager
def local_cluster(**options):
    """Start a cluster of Dask; yield it and a client, which is not the default one."""
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**quiet, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


def make_many(store, n, tally):
    """Get n arrays from a store; write to a file which of them were computed here."""

    def make(i):
        with open(tally, "a") as file:
            file.write(f"{i}\n")
        return {"a": np.full(3, i)}

    for i in range(n):
        assert store.arrays(str(i), lambda i=i: make(i))["a"][0] == i


def mean_length(estimator, X, y=None):
    """Return a score of the raw texts, which must be passed to the scorer."""
    estimator.predict(X)
    return float(np.mean([len(text) for text in X]))


def spread(estimator, X, y=None):
    """Return a score of a clustering without labels: the evenness of the clusters."""
    labels = estimator.predict(X)
    return -float(np.max(np.bincount(labels)) / len(labels))


def noted(place, what):
    """Return the processes that have sent or received rows, by their notes."""
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
        _note(self.place, "sent")
        return _received, (np.asarray(self), self.place)


def _received(rows, place):
    _note(place, "received")
    return SentRows.of(rows, place)


def _note(place, what):
    (Path(place) / f"{what}.{os.getpid()}.{time.time_ns()}").touch()
