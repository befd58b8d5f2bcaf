"""Estimators that show where and when they run; importable by workers."""

import contextlib
import math
import os
import signal
import time
from pathlib import Path

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from simple_estimators import Sometimes
from sklearn.base import BaseEstimator, TransformerMixin
from threadpoolctl import threadpool_info


class Restless(Sometimes):
    """Estimator whose fits take different times."""

    def fit(self, X, y):
        time.sleep(np.random.default_rng().uniform(0.0, 0.03))
        return super().fit(X, y)

    def score(self, X, y):
        # Each split has a different best place.
        return 1.0 - (self.quality - 0.3) ** 2 + 1e-3 * self.quality * X[0, 0]


class Noted(Sometimes):
    """Estimator that notes each process that loads it."""

    def __setstate__(self, state):
        super().__setstate__(state)
        Path(state["folder"], str(os.getpid())).touch()


class Fatal(Restless):
    """Estimator that fails for one value of `quality`.

    `end` is "raise" or "kill", which ends the process. If a file called `mark` exists,
    the fit succeeds; otherwise the file is created.
    """

    def __init__(self, quality=0.5, bad=None, fatal=None, end="raise", mark=None):
        super().__init__(quality, bad)
        self.fatal = fatal
        self.end = end
        self.mark = mark

    def fit(self, X, y):
        if self.quality == self.fatal and not (self.mark and os.path.exists(self.mark)):
            if self.mark:
                Path(self.mark).touch()
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("ends badly")
        return super().fit(X, y)


class Seeing(Sometimes):
    """Estimator whose score is what it has seen in its fit."""

    def score(self, X, y):
        return self.seen_


class Crowd(Seeing):
    """Estimator whose score is the number of simultaneous fits in all processes."""

    def fit(self, X, y):
        mark = Path(self.folder) / f"{os.getpid()} {time.perf_counter_ns()} {id(self)}"
        mark.touch()
        time.sleep(0.03)
        self.seen_ = len(os.listdir(self.folder))
        mark.unlink()
        return super().fit(X, y)


class Inside(Seeing):
    """Estimator whose score describes the joblib backend inside of its fit."""

    def fit(self, X, y):
        self.seen_ = _seen_by_joblib()
        return super().fit(X, y)


def _seen_by_joblib():
    backend, n_jobs = get_active_backend()
    code = 100 * joblib.effective_n_jobs(2) + 10 * backend.nesting_level
    return code + (n_jobs or 0)


def seen_by_joblib(model, X, y):
    """Return the accuracy, and a number that describes the joblib backend."""
    return {"accuracy": model.score(X, y), "backend": _seen_by_joblib()}


def fits_and_threads(crowd, X, y):
    """Return the number of simultaneous fits, and of threads for linear algebra."""
    threads = max(lib["num_threads"] for lib in threadpool_info())
    return {"fits": crowd.seen_, "threads": threads}


class NeedsFrame(TransformerMixin, BaseEstimator):
    """Estimator that accepts data frames only."""

    def fit(self, X, y=None):
        assert hasattr(X, "columns")
        return self

    def transform(self, X):
        assert hasattr(X, "columns")
        return X


class Intricate(Exception):
    """Exception that can be pickled, but not unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class RaisesIntricate(Sometimes):
    """Estimator that raises an exception which cannot be unpickled."""

    def fit(self, X, y):
        raise Intricate(1, 2)


class Waits(Sometimes):
    """Estimator whose first fit with a high quality creates a file and does not end."""

    def __init__(self, quality=0.5, bad=None, begun=None):
        super().__init__(quality, bad)
        self.begun = begun

    def fit(self, X, y):
        if self.quality > 0.6:
            with contextlib.suppress(FileExistsError):
                Path(self.begun).touch(exist_ok=False)
                while True:
                    time.sleep(60)
        return super().fit(X, y)


def scores_nothing(model, X, y):
    raise KeyError("a scorer")


def scores_nan(model, X, y):
    return math.nan
