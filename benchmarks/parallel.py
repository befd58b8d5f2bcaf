"""Utilization of workers by a search when fits take unequal time.

Each search makes 24 trials of 5 folds on 8 workers, with an estimator that only sleeps.
The durations are:

- constant: 0.5 s for each fit (--constant changes it).
- uniform: 0.05 to 0.5 s for each fit.
- lognormal-trials: a lognormal duration (sigma = 1) with the same mean for each trial,
  equal in its five folds, as if it depended on the parameters.
- lognormal-fits: the same distribution, drawn separately for each fit.

Fold i of trial k sleeps equally long for every library and setting of one seed. The
result is

    wall time of fit / (sum of the sleeps / workers),

which is 1 if the workers never wait.

In skbayes, there are `n_points` trials in flight;
by default ("auto"), this number depends on the number of workers. scikit-optimize
evaluates its `n_points` as a batch and waits for the slowest one.

"schedule" is a simulation of the rule that trial k is proposed from trials 0 … k -
n_points only, without any overhead. The difference between skbayes and schedule is
therefore overhead. The batches of scikit-optimize are simulated in the same way. With
lognormal sleeps, the tables differ more than the overhead of the libraries, so the mean
of the schedule over many tables is also shown.

The library "grid" is GridSearchCV with
as many candidates; all of its fits are passed to joblib at once, which shows the
overhead of the backend.

--workers and --trials change the numbers of workers and trials; several numbers of
workers are measured one after the other.

Before anything is timed, each pool is warmed up: workers are started, libraries are
imported, and one short search of each kind is run. --warm selects the kinds: with
--warm grid, the workers of the first search of skbayes have not imported it. Sleeping
requires no processor, so a machine can run more workers than it has cores. However,
other load slows down proposals and data transfer. The fastest of --repeats runs of the
same table, made alternately, is therefore used.

Examples: python benchmarks/parallel.py --seeds 2 --backends loky,dask
          python benchmarks/parallel.py --workers 2,4,8,16,64 --trials 50 \
              --points auto --libraries skbayes,grid --backends loky \
              --distributions constant,uniform
          python benchmarks/parallel.py --workers 16 --trials 50 --points auto \
              --libraries grid,skbayes --warm grid --backends loky \
              --distributions constant --constant 0.3 --seeds 1
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
DISTRIBUTIONS = ("constant", "uniform", "lognormal-trials", "lognormal-fits")
N_TABLES = 1000
# Targets for n_points=4. No schedule reaches 1.2 with lognormal-fits.
TARGETS = {
    ("loky", "constant"): 1.15,
    ("loky", "uniform"): 1.15,
    ("loky", "lognormal-trials"): 1.2,
    ("dask", "uniform"): 1.4,
    ("dask", "lognormal-trials"): 1.4,
}
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def sleeps(
    distribution: str, seed: int, n_trials: int, constant: float = HIGH
) -> np.ndarray:
    """Return the seconds by trial and fold."""
    rng = np.random.default_rng(seed)
    shape = (n_trials, N_FOLDS)
    if distribution == "constant":
        return np.full(shape, constant)
    if distribution == "uniform":
        return rng.uniform(LOW, HIGH, shape)
    if distribution == "lognormal-trials":
        shape = (n_trials, 1)
    seconds = rng.lognormal(np.log((LOW + HIGH) / 2) - 0.5, 1.0, shape)
    return np.broadcast_to(seconds, (n_trials, N_FOLDS))


# -- lower bounds of the time ------------------------------------------------------


def schedule(
    seconds: np.ndarray, n_points: int, batches: bool, n_workers: int
) -> float:
    """Return the wall time without the overhead of proposals and data transfer.

    Parameters
    ----------
    seconds : ndarray of shape (n_trials, n_folds)
        Duration of each fit.
    n_points : int
        Number of trials in flight.
    batches : bool
        Whether trials are evaluated in batches of `n_points`. If false, trial k waits
        for trials 0 … k - n_points only.
    n_workers : int
        Number of workers.
    """
    free = [0.0] * n_workers
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
    """Return the mean ratio of skbayes' schedule over tables of other seeds."""
    ratios = []
    for seed in range(n_tables):
        seconds = sleeps(distribution, 10_000 + seed, N_TRIALS)
        wall = schedule(seconds, n_points, False, N_WORKERS)
        ratios.append(wall * N_WORKERS / seconds.sum())
    return float(np.mean(ratios))


# -- searches ----------------------------------------------------------------------


def skbayes_search(
    estimator: Sleeper, n_points: Any, n_iter: int, seed: int, n_workers: int
) -> Any:
    from skbayes import BayesSearchCV

    return BayesSearchCV(
        estimator,
        SPACE,
        n_iter=n_iter,
        n_points=n_points,
        n_jobs=n_workers,
        cv=KFold(N_FOLDS),
        refit=False,
        random_state=seed,
    )


def skopt_search(
    estimator: Sleeper, n_points: Any, n_iter: int, seed: int, n_workers: int
) -> Any:
    from skopt import BayesSearchCV

    return BayesSearchCV(
        estimator,
        SPACE,
        n_iter=n_iter,
        n_points=n_points,
        n_jobs=n_workers,
        cv=KFold(N_FOLDS),
        refit=False,
        random_state=seed,
    )


def grid_search(
    estimator: Sleeper, n_points: Any, n_iter: int, seed: int, n_workers: int
) -> Any:
    """Return a GridSearchCV, which passes all fits to joblib in one call."""
    return GridSearchCV(
        estimator,
        {"x": np.linspace(0.0, 1.0, n_iter)},
        n_jobs=n_workers,
        cv=KFold(N_FOLDS),
        refit=False,
    )


LIBRARIES: dict[str, Callable[..., Any]] = {
    "skbayes": skbayes_search,
    "skopt": skopt_search,
    "grid": grid_search,
}


def run(
    library: str, n_points: Any, seconds: np.ndarray, seed: int, n_workers: int
) -> tuple[float, int]:
    """Return the ratio of wall time to ideal time, and the trials in flight."""
    X, y = sleeper_data(N_FOLDS)
    with tempfile.TemporaryDirectory() as register, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = Sleeper(seconds.tolist(), register)
        search = LIBRARIES[library](estimator, n_points, len(seconds), seed, n_workers)
        began = time.perf_counter()
        search.fit(X, y)
        wall = time.perf_counter() - began
        n_started = len(os.listdir(register))
    if n_started != len(seconds):
        raise RuntimeError(f"{library} made {n_started} trials, not {len(seconds)}")
    in_flight = len(seconds) if library == "grid" else n_points
    return wall / (seconds.sum() / n_workers), getattr(search, "n_points_", in_flight)


@contextlib.contextmanager
def backend(name: str, n_workers: int) -> Iterator[None]:
    """Run joblib on workers of this kind; Dask has 8 workers."""
    if name == "loky":
        with joblib.parallel_config("loky", n_jobs=n_workers):
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
    settings: list[tuple[str, Any]],
    n_workers: int,
    args: argparse.Namespace,
    table: dict[str, Any],
) -> None:
    """Add the ratios of each setting to `table`, seed by seed."""
    seeds, repeats = args.seeds, args.repeats
    short = np.full((max(8, n_workers // N_FOLDS + 1), N_FOLDS), 0.05)
    for library in args.warm or {library for library, _ in settings}:
        for _ in range(2):
            run(library, 2, short, 0, n_workers)
    for seed in range(seeds):
        for distribution in args.distributions:
            seconds = sleeps(distribution, seed, args.trials, args.constant)
            runs = [
                [
                    run(library, n_points, seconds, seed, n_workers)
                    for library, n_points in settings
                ]
                for _ in range(repeats)
            ]
            for i, (library, n_points) in enumerate(settings):
                key = f"{where} {distribution} {library} n_points={n_points}"
                if n_workers != N_WORKERS or n_points == "auto":
                    key += f" workers={n_workers}"
                entry = table.setdefault(key, {"ratios": [], "schedules": []})
                ratio, in_flight = min(row[i] for row in runs)
                entry["in_flight"] = in_flight
                ideal = seconds.sum() / n_workers
                batches = library == "skopt"
                least = schedule(seconds, in_flight, batches, n_workers) / ideal
                entry["ratios"].append(round(ratio, 3))
                entry["schedules"].append(round(least, 3))
                print(
                    f"seed {seed} {key}: "
                    f"{', '.join(f'{row[i][0]:.3f}' for row in runs)} "
                    f"(schedule {least:.3f}, load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )


def summarize(
    table: dict[str, Any], distributions: list[str]
) -> dict[str, list[float]]:
    """Print means and standard deviations over the seeds, and add them to the table.

    Returns the mean of the schedule over many tables for n_points = 1 … 6.
    """
    everywhere = {}
    for distribution in distributions:
        means = [schedule_over(N_TABLES, distribution, q) for q in range(1, 7)]
        everywhere[distribution] = [round(mean, 3) for mean in means]
        shown = "  ".join(f"{mean:.3f}" for mean in means)
        print(f"{distribution} schedule, {N_TABLES} tables, n_points=1 … 6: {shown}")
    print(f"\n{'wall time / ideal':58}{'mean ± sd':>14}{'schedule':>10}{'target':>8}")
    for key, entry in table.items():
        ratios = np.array(entry["ratios"])
        entry["mean"] = round(float(ratios.mean()), 3)
        entry["sd"] = round(float(ratios.std(ddof=min(1, len(ratios) - 1))), 3)
        entry["schedule"] = round(float(np.mean(entry["schedules"])), 3)
        where, distribution, library, points, *_ = key.split()
        target = ""
        if library == "skbayes" and points in ("n_points=4", "n_points=auto"):
            entry["target"] = TARGETS.get((where, distribution))
            target = f"{entry['target'] or '':>8}"
        figures = f"{entry['mean']:7.3f} ± {entry['sd']:.3f}{entry['schedule']:10.3f}"
        print(f"{key:58}{figures}{target}")
    return everywhere


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=2, help="number of tables of sleeps")
    add("--repeats", type=int, default=1, help="runs of each; the fastest is used")
    add("--backends", type=names(("loky", "dask")), default="loky,dask")
    add("--points", default="1,2,4,6", help="skbayes' n_points on loky")
    add("--libraries", type=names(LIBRARIES), default="skbayes,skopt")
    add("--workers", default=str(N_WORKERS), help="numbers of loky workers")
    add("--trials", type=int, default=N_TRIALS)
    add("--distributions", type=names(DISTRIBUTIONS), default="all")
    add("--constant", type=float, default=HIGH, help="seconds of constant fits")
    add("--warm", type=names(LIBRARIES), help="searches before; default: those timed")
    add("--save", metavar="NAME", help="write the results to results/NAME.json")
    args = parser.parse_args()
    table: dict[str, Any] = {}
    for where in args.backends:
        settings: list[tuple[str, Any]] = []
        if "skbayes" in args.libraries:
            points = args.points.split(",") if where == "loky" else ["4"]
            settings = [("skbayes", p if p == "auto" else int(p)) for p in points]
        if "skopt" in args.libraries:
            settings.append(("skopt", 2))
        if "grid" in args.libraries:
            settings.append(("grid", args.trials))
        numbers = args.workers.split(",") if where == "loky" else [N_WORKERS]
        for n_workers in map(int, numbers):
            with backend(where, n_workers):
                measure(where, settings, n_workers, args, table)
    everywhere = summarize(table, args.distributions)
    if args.save:
        for entry in table.values():
            entry["repeats"] = args.repeats
        summary = {"seeds": args.seeds, "schedule": everywhere, "runs": table}
        save_results(args.save, summary)


if __name__ == "__main__":
    main()
