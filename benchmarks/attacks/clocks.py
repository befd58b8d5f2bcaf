"""Time limits per trial with slow worker starts and wrong clocks.

    python benchmarks/attacks/clocks.py before|after

Good trials need half of their time limit when no other trial uses the workers; they
pass if they are complete. Slow trials need twice the limit; they pass if they are timed
out. The workers are two processes of loky or Dask.
"""

from __future__ import annotations

import sys
import time
import types
import warnings

import joblib
import numpy as np
import tally
from sklearn.base import BaseEstimator, ClassifierMixin

from skbayes import BayesSearchCV

X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)

# Seconds of a fold. Five folds on two workers take as long as three folds in a row.
GOOD, LIMIT = 0.1, 0.6


class Sleeper(ClassifierMixin, BaseEstimator):
    """Classifier that sleeps when it is fitted to a subset of the rows.

    Fits with `quality` of at least `slow_from` sleep four times as long.
    """

    def __init__(self, quality=0.5, slow_from=1.0):
        self.quality = quality
        self.slow_from = slow_from

    def fit(self, X, y):
        """Sleep."""
        self.classes_ = np.unique(y)
        if len(X) < 20:
            time.sleep(GOOD if self.quality < self.slow_from else 4 * GOOD)
        return self

    def predict(self, X):
        """Return the first class."""
        return np.zeros(len(X))

    def score(self, X, y):
        """Return the quality."""
        return self.quality


def states(n_points: int, slow_from: float = 1.0, **more: object) -> list[tuple]:
    """Return the quality and state of twelve trials on newly started workers."""
    search = BayesSearchCV(
        Sleeper(slow_from=slow_from),
        {"quality": (0.0, 1.0)},
        n_iter=12,
        cv=5,
        pre_dispatch=n_points,
        trial_limits={"time": LIMIT},
        surrogate="random",
        random_state=0,
        **more,
    )
    try:
        search.fit(X, y)
    except ValueError:  # no trial is complete
        pass
    return [(trial.params["quality"], trial.state) for trial in search.trials_]


def good(n_points: int, **more: object) -> dict[str, float]:
    """Run good trials only."""
    found = states(n_points, **more)
    held = sum(state == "complete" for _, state in found)
    return {"tried": len(found), "held": held}


def mixed(n_points: int) -> dict[str, float]:
    """Run trials of which half are slow."""
    found = states(n_points, slow_from=0.5, n_jobs=2)
    held = sum(
        state == ("complete" if quality < 0.5 else "timed_out")
        for quality, state in found
    )
    return {"tried": len(found), "held": held}


def shift(seconds: float) -> None:
    """Shift the clock used for folds in this process, but not that of Dask."""
    from skbayes.evaluation import fold

    clock = types.SimpleNamespace(**vars(time))
    clock.time = lambda: time.time() + seconds
    fold.time = clock


def on_dask(seconds: float) -> dict[str, float]:
    """Run good trials on workers whose clocks are shifted by the given seconds."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        client.run(shift, seconds)
        with joblib.parallel_config("dask", client=client):
            return good(1)


def main() -> None:
    warnings.simplefilter("ignore")
    counts = {}
    for n_points in (1, 2, 4, 6):
        for kind, attack in (("good", good), ("half of them slow", mixed)):
            joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
            more = {"n_jobs": 2} if attack is good else {}
            name = f"{kind}, {n_points} in flight"
            counts[name] = attack(n_points, **more)
            print(name, counts[name], flush=True)
    for seconds in (3600.0, -3600.0):
        name = f"Dask, clock {'ahead' if seconds > 0 else 'behind'}"
        counts[name] = on_dask(seconds)
        print(name, counts[name], flush=True)
    tally.save("clocks", sys.argv[1], counts)


if __name__ == "__main__":
    main()
