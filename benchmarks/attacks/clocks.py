"""Time limits per trial with slow worker starts and wrong clocks.

    python benchmarks/attacks/clocks.py before|after

Good trials need half of their time limit when no other trial uses the workers; they
pass if they are complete. Slow trials need twice the limit; they pass if they are timed
out. The workers are two processes of loky or Dask.
"""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import tally

X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)

# Seconds of a fold. Five folds on two workers take as long as three folds in a row.
GOOD, LIMIT = 0.1, 0.6


class Sleeper(tally.Scored):
    """Estimator that sleeps when it is fitted to a subset of the rows.

    Fits with a `value` of at least `slow_from` sleep four times as long.
    """

    def __init__(self, value: float = 0.5, slow_from: float = 1.0) -> None:
        super().__init__(value)
        self.slow_from = slow_from

    def fit(self, X: Any, y: Any) -> Sleeper:
        """Sleep."""
        if len(X) < 20:
            time.sleep(GOOD if self.value < self.slow_from else 4 * GOOD)
        return self


def check(n_points: int, slow_from: float, n_jobs: int | None) -> tally.Figures:
    """Check the states of twelve trials on newly started workers."""
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    search = tally.make_search(
        Sleeper(slow_from=slow_from),
        {"value": (0.0, 1.0)},
        n_iter=12,
        cv=5,
        pre_dispatch=n_points,
        trial_limits={"time": LIMIT},
        n_jobs=n_jobs,
    )
    with contextlib.suppress(ValueError):  # no trial is complete
        search.fit(X, y)
    return tally.count(
        trial.state
        == ("complete" if trial.params["value"] < slow_from else "timed_out")
        for trial in search.trials_
    )


def shift(seconds: float) -> None:
    """Shift the clock used for folds in this process, but not that of Dask."""
    from skbayes.trial import fold

    clock = types.SimpleNamespace(**vars(time))
    clock.time = lambda: time.time() + seconds
    fold.time = clock


def check_on_dask(seconds: float) -> tally.Figures:
    """Run good trials on workers whose clocks are shifted by the given seconds."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        client.run(shift, seconds)
        with joblib.parallel_config("dask", client=client):
            return check(1, 1.0, None)


def cases() -> Iterator[tuple]:
    for n_points in (1, 2, 4, 6):
        yield f"good, {n_points} in flight", check, n_points, 1.0, 2
        yield f"half of them slow, {n_points} in flight", check, n_points, 0.5, 2
    yield "Dask, clock ahead", check_on_dask, 3600.0
    yield "Dask, clock behind", check_on_dask, -3600.0


if __name__ == "__main__":
    tally.main(cases)
