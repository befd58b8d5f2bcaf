"""How well a search keeps its workers busy when fits take unequal time.

24 trials × 5 folds of an estimator that only sleeps, on 8 workers. How long:

- uniform: each fit 0.05 to 0.5 s;
- lognormal-trials: a lognormal (sigma = 1) of the same mean for each trial, the same in
  its five folds, as if the parameters decided it;
- lognormal-fits: the same, drawn anew for each fit.

Trial k, fold i sleeps equally long for every library and setting of one seed. The
figure is

    wall time of fit / (sum of the sleeps / 8),

1 being workers that never wait. skbayes has `n_points` trials in flight;
scikit-optimize evaluates its `n_points` as a batch and waits for the slowest.
"schedule" is simulated: what the rule that trial k is proposed from trials
0 … k - n_points, and from no others, costs if all else is free; so skbayes minus
schedule is overhead. The batches of scikit-optimize are simulated likewise. With
lognormal sleeps the tables differ much more than the libraries' overhead, so the
schedule's mean over many tables is shown too.
"grid" is GridSearchCV with as many candidates, all of whose fits are handed to joblib
at once: what the backend itself costs.

Each pool is warmed before anything is timed: workers started, libraries imported, and
one short search of each kind done. Sleeping needs no processor, so 8 workers fit on a
smaller machine; but proposals are computed and results shipped meanwhile, which other
load slows down. It never speeds anything up: of --repeats runs of the same table, made
in turn, the fastest counts.

Example: python benchmarks/parallel.py --seeds 2 --backends loky,dask
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import contextlib
import heapq
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
from common import names, save_results
from sklearn.model_selection import GridSearchCV, KFold
from sleeper import Sleeper, sleeper_data

N_TRIALS, N_FOLDS, N_WORKERS = 24, 5, 8
LOW, HIGH = 0.05, 0.5
DISTRIBUTIONS = ("uniform", "lognormal-trials", "lognormal-fits")
N_TABLES = 1000
# With n_points=4. No schedule reaches 1.2 with lognormal-fits.
TARGETS = {
    ("loky", "uniform"): 1.15,
    ("loky", "lognormal-trials"): 1.2,
    ("dask", "uniform"): 1.4,
    ("dask", "lognormal-trials"): 1.4,
}
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def sleeps(distribution: str, seed: int) -> np.ndarray:
    """Seconds by trial and fold."""
    rng = np.random.default_rng(seed)
    shape = (N_TRIALS, N_FOLDS)
    if distribution == "uniform":
        return rng.uniform(LOW, HIGH, shape)
    if distribution == "lognormal-trials":
        shape = (N_TRIALS, 1)
    seconds = rng.lognormal(np.log((LOW + HIGH) / 2) - 0.5, 1.0, shape)
    return np.broadcast_to(seconds, (N_TRIALS, N_FOLDS))


# -- what no search can beat -------------------------------------------------------


def schedule(seconds: np.ndarray, n_points: int, batches: bool) -> float:
    """Wall time if thinking and shipping were free.

    Parameters
    ----------
    seconds : ndarray of shape (n_trials, n_folds)
    n_points : int
    batches : bool
        Whether each `n_points` trials wait for the ones before, all of them, or trial k
        for trials 0 … k - n_points.
    """
    free = [0.0] * N_WORKERS
    ended: list[float] = []
    for k, folds in enumerate(seconds):
        known = k - k % n_points if batches else k - n_points + 1
        asked = max(ended[: max(known, 0)], default=0.0)
        ends = []
        for duration in folds:
            end = max(heapq.heappop(free), asked) + duration
            heapq.heappush(free, end)
            ends.append(end)
        ended.append(max(ends))
    return max(ended)


def schedule_over(n_tables: int, distribution: str, n_points: int) -> float:
    """Mean ratio of skbayes' schedule over tables that no seed gives."""
    ratios = []
    for seed in range(n_tables):
        seconds = sleeps(distribution, 10_000 + seed)
        ratios.append(schedule(seconds, n_points, False) * N_WORKERS / seconds.sum())
    return float(np.mean(ratios))


# -- the searches ------------------------------------------------------------------


def skbayes_search(estimator: Sleeper, n_points: int, n_iter: int, seed: int) -> Any:
    from skbayes import BayesSearchCV

    return BayesSearchCV(
        estimator,
        SPACE,
        n_iter=n_iter,
        n_points=n_points,
        n_jobs=N_WORKERS,
        cv=KFold(N_FOLDS),
        refit=False,
        random_state=seed,
    )


def skopt_search(estimator: Sleeper, n_points: int, n_iter: int, seed: int) -> Any:
    from skopt import BayesSearchCV

    return BayesSearchCV(
        estimator,
        SPACE,
        n_iter=n_iter,
        n_points=n_points,
        n_jobs=N_WORKERS,
        cv=KFold(N_FOLDS),
        refit=False,
        random_state=seed,
    )


def grid_search(estimator: Sleeper, n_points: int, n_iter: int, seed: int) -> Any:
    """GridSearchCV: nothing to learn, so all fits go to joblib in one call."""
    return GridSearchCV(
        estimator,
        {"x": np.linspace(0.0, 1.0, n_iter)},
        n_jobs=N_WORKERS,
        cv=KFold(N_FOLDS),
        refit=False,
    )


LIBRARIES: dict[str, Callable[..., Any]] = {
    "skbayes": skbayes_search,
    "skopt": skopt_search,
    "grid": grid_search,
}


def run(library: str, n_points: int, seconds: np.ndarray, seed: int) -> float:
    """Wall time of one search over its ideal."""
    X, y = sleeper_data(N_FOLDS)
    with tempfile.TemporaryDirectory() as register, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = Sleeper(seconds.tolist(), register)
        search = LIBRARIES[library](estimator, n_points, len(seconds), seed)
        began = time.perf_counter()
        search.fit(X, y)
        wall = time.perf_counter() - began
        n_started = len(os.listdir(register))
    if n_started != len(seconds):
        raise RuntimeError(f"{library} made {n_started} trials, not {len(seconds)}")
    return wall / (seconds.sum() / N_WORKERS)


@contextlib.contextmanager
def backend(name: str) -> Iterator[None]:
    """Run what joblib is given on 8 workers of this kind."""
    if name == "loky":
        with joblib.parallel_config("loky", n_jobs=N_WORKERS):
            yield
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=4, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


def measure(
    where: str,
    settings: list[tuple[str, int]],
    seeds: int,
    repeats: int,
    table: dict[str, Any],
) -> None:
    """Add to `table` the ratios of each setting, seed by seed."""
    short = np.full((8, N_FOLDS), 0.05)
    for library in {library for library, _ in settings}:
        for _ in range(2):
            run(library, 2, short, 0)
    for seed in range(seeds):
        for distribution in DISTRIBUTIONS:
            seconds = sleeps(distribution, seed)
            runs = [
                [
                    run(library, n_points, seconds, seed)
                    for library, n_points in settings
                ]
                for _ in range(repeats)
            ]
            for i, (library, n_points) in enumerate(settings):
                key = f"{where} {distribution} {library} n_points={n_points}"
                entry = table.setdefault(key, {"ratios": [], "schedules": []})
                ratio = min(row[i] for row in runs)
                ideal = seconds.sum() / N_WORKERS
                least = schedule(seconds, n_points, library == "skopt") / ideal
                entry["ratios"].append(round(ratio, 3))
                entry["schedules"].append(round(least, 3))
                print(
                    f"seed {seed} {key}: {', '.join(f'{row[i]:.3f}' for row in runs)} "
                    f"(schedule {least:.3f}, load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )


def summarise(table: dict[str, Any]) -> dict[str, list[float]]:
    """Print and add means and standard deviations over the seeds.

    Returns the mean of the schedule over many tables for n_points = 1 … 6.
    """
    everywhere = {}
    for distribution in DISTRIBUTIONS:
        means = [schedule_over(N_TABLES, distribution, q) for q in range(1, 7)]
        everywhere[distribution] = [round(mean, 3) for mean in means]
        shown = "  ".join(f"{mean:.3f}" for mean in means)
        print(f"{distribution} schedule, {N_TABLES} tables, n_points=1 … 6: {shown}")
    print(f"\n{'wall time / ideal':46}{'mean ± sd':>14}{'schedule':>10}{'target':>8}")
    for key, entry in table.items():
        ratios = np.array(entry["ratios"])
        entry["mean"] = round(float(ratios.mean()), 3)
        entry["sd"] = round(float(ratios.std(ddof=min(1, len(ratios) - 1))), 3)
        entry["schedule"] = round(float(np.mean(entry["schedules"])), 3)
        where, distribution, library, points = key.split()
        target = ""
        if (library, points) == ("skbayes", "n_points=4"):
            entry["target"] = TARGETS.get((where, distribution))
            target = f"{entry['target'] or '':>8}"
        figures = f"{entry['mean']:7.3f} ± {entry['sd']:.3f}{entry['schedule']:10.3f}"
        print(f"{key:46}{figures}{target}")
    return everywhere


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=2, help="tables of sleeps")
    add("--repeats", type=int, default=1, help="runs of each, the fastest counts")
    add("--backends", type=names(("loky", "dask")), default="loky,dask")
    add("--points", default="1,2,4,6", help="skbayes' n_points on loky")
    add("--libraries", type=names(LIBRARIES), default="skbayes,skopt")
    add("--save", action="store_true", help="write the figures into results/")
    args = parser.parse_args()
    table: dict[str, Any] = {}
    for where in args.backends:
        settings = []
        if "skbayes" in args.libraries:
            points = map(int, args.points.split(",")) if where == "loky" else [4]
            settings = [("skbayes", n_points) for n_points in points]
        if "skopt" in args.libraries:
            settings.append(("skopt", 2))
        if "grid" in args.libraries:
            settings.append(("grid", N_TRIALS))
        with backend(where):
            measure(where, settings, args.seeds, args.repeats, table)
    everywhere = summarise(table)
    if args.save:
        for entry in table.values():
            entry["repeats"] = args.repeats
        summary = {"seeds": args.seeds, "schedule": everywhere, "runs": table}
        save_results("parallel", summary)


if __name__ == "__main__":
    main()
