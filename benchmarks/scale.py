"""Searches of thousands of trials: regret of a model of a part of the observations.

The study "limits" continues a history of 2,000 trials by 30 steps, with a surrogate
that is fitted to at most some of the observations ("exact": to all). Most
configurations of the history are near the best ones before them, as in a search, and
the others are random. Hartmann6, Ackley (10 dimensions) and Rosenbrock (8) are the
functions of the literature, and the other tasks are those of tasks.py. The columns are
regrets × 1000: 0 is the optimum, or the best score of all runs on the task, and 1000 is
the median of 300 random configurations. They are those of the best trial before and
after the steps, and the median of the proposals. `ms` is the mean processor time of a
step.

The study "costs" measures the processor time of the main process per trial, by part,
after 1,000, 10,000 and 100,000 trials, with the trials in flight of 100 and 1,000
workers and five folds. The study "clock" simulates searches of 100,000 trials with
these costs. Its columns are the percentages of the time in which workers are busy, with
the costs and without any, and the mean cost of a trial in milliseconds. "after@6" has
six fits in flight per worker, and "after" the default. "before" has the costs before
the searches were made faster.

The study "flight" runs searches on tasks of three judges, whose trials end at the
times of this clock, without costs. A method is the number of fits in flight per worker.
The columns are the regrets × 1000 after the time in which workers that are always busy
run 50 and 100 trials.

Example: python benchmarks/scale.py limits --tasks hartmann6 --methods gp:exact,gp:1000
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import contextlib
import heapq
import io
import json
import time
import warnings
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import joblib
import judges
import numpy as np
import tasks
from adder import Adder
from engine_overhead import (
    N_FOLDS,
    NOTATION,
    ThoughtlessSearch,
    a_journal,
    a_trial,
    loop,
)
from harness import HERE, Figures, Record, Runs, Study, main
from methods import as_notation
from overhead import SPACE
from overhead import score as rated
from sklearn.model_selection import KFold

from skbayes import Optimizer
from skbayes.evaluation.trial import History
from skbayes.loop.executor import FITS_PER_WORKER
from skbayes.loop.progress import Lines, PlannedStage
from skbayes.space import Space
from skbayes.space.candidates import Configuration, perturb

N_REFERENCE = 300
# Configurations of a generation of the history, most of which are near these parents.
GENERATION, N_PARENTS, N_NEAR, SCALES = 50, 5, 8, (0.1, 0.02)
Params = dict[str, Any]

# -- functions ----------------------------------------------------------------------

HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_MAX = 3.32237


def hartmann6(x: np.ndarray) -> float:
    """Return the value below the maximum."""
    inner = np.sum(HARTMANN_A * (x - HARTMANN_P) ** 2, axis=1)
    return float(HARTMANN_ALPHA @ np.exp(-inner)) - HARTMANN_MAX


def ackley(x: np.ndarray) -> float:
    """Return the negated function on [-32.768, 32.768], with the optimum off center."""
    z = 65.536 * (x - 0.5) - 7.0
    rough = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(z**2)))
    return float(-rough + np.exp(np.mean(np.cos(2.0 * np.pi * z))) - 20.0 - np.e)


def rosenbrock(x: np.ndarray) -> float:
    """Return the negated logarithm of 1 + the function on [-5, 10]."""
    z = 15.0 * x - 5.0
    value = np.sum(100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (1.0 - z[:-1]) ** 2)
    return -float(np.log1p(value))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], float], int]] = {
    "hartmann6": (hartmann6, 6),
    "ackley": (ackley, 10),
    "rosenbrock": (rosenbrock, 8),
}


# Also two surrogates of trained learners each, one with conditional hyper-parameters.
TASKS = (
    *FUNCTIONS,
    *("xgboost-tree:16/acc", "xgboost-tree:40923/logloss"),
    *("lcbench:3945/val_accuracy", "lcbench:7593/val_cross_entropy"),
)
# Every third task of lcbench, and every tenth instance of XGBoost.
FLIGHT_TASKS = (
    *(f"lcbench:{n}/val_accuracy" for n in (3945, 146212, 167181, 168329)),
    *(f"lcbench:{n}/val_accuracy" for n in (168910, 189905)),
    *(f"lcbench:{n}/val_cross_entropy" for n in (126025, 167152, 167190, 168335)),
    *(f"lcbench:{n}/val_cross_entropy" for n in (189865, 189909)),
    *(f"xgboost:{n}/acc" for n in (16, 41163, 458, 4134, 1468, 40496)),
    *(f"xgboost:{n}/logloss" for n in (1461, 6332, 40982, 1040, 1464, 41168)),
    *("tables:breast_cancer-linear", "tables:digits-linear"),
    *("tables:breast_cancer-boosting", "tables:diabetes-boosting"),
    *("tables:digits-mlp", "tables:wine-mlp"),
)


@cache
def make_task(name: str) -> tuple[Any, Callable[[Params], float]]:
    """Return the search space and the score of a task."""
    if name not in FUNCTIONS:
        task = tasks.make_task(name)
        return task.notation, task.score
    function, n_columns = FUNCTIONS[name]
    keys = [f"x{j}" for j in range(n_columns)]
    return dict.fromkeys(keys, (0.0, 1.0)), lambda params: function(
        np.array([params[key] for key in keys])
    )


# -- regret -------------------------------------------------------------------------


def history_of(
    space: Space, score: Callable[[Params], float], n: int, rng: np.random.Generator
) -> tuple[list[Params], list[float]]:
    """Return configurations near the best ones so far, and random ones, and scores."""
    params: list[Params] = []
    scores: list[float] = []
    rows = np.empty((0, space.n_columns))
    while len(params) < n:
        new = space.from_uniform(rng.random((GENERATION, space.n_columns)))
        if len(rows):
            best = rows[np.argsort(-np.array(scores), kind="stable")[:N_PARENTS]]
            near = perturb(space, np.repeat(best, N_NEAR, axis=0), SCALES, rng)
            new = np.vstack([near, new])[:GENERATION]
        new = new[: n - len(params)]
        rows = np.vstack([rows, new])
        params += space.decode(new)
        scores += [score(each) for each in params[len(scores) :]]
    return params, scores


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Continue a history with a surrogate that is fitted to at most some of it."""
    notation, score = make_task(task)
    seed = zlib.crc32(f"{task} {seed}".encode()) % 2**31
    space, rng = Space.from_notation(notation), np.random.default_rng(seed)
    uniform = rng.random((N_REFERENCE, space.n_columns))
    drawn = [score(each) for each in space.decode(space.from_uniform(uniform))]
    history = history_of(space, score, options["history"], rng)
    surrogate, _, limit = method.partition(":")
    optimizer = Optimizer(space, surrogate=surrogate, random_state=seed)
    model = optimizer._proposer.model
    model.max_observations = None if limit == "exact" else int(limit)
    for params, value in zip(*history, strict=True):
        optimizer.tell(params, value)
    params, proposed, seconds = optimizer.ask(), [], 0.0
    for _ in range(options["steps"]):
        proposed.append(score(params))
        began = time.process_time()
        optimizer.tell(params, proposed[-1])
        params = optimizer.ask()
        seconds += time.process_time() - began
    return {
        "median": float(np.median(drawn)),
        "told": max(history[1]),
        "proposed": proposed,
        "ms": 1e3 * seconds / len(proposed),
    }


def regrets(runs: Runs, options: dict[str, Any]) -> Figures:
    """Return the regrets × 1000, and the milliseconds of a step."""
    best = dict.fromkeys(FUNCTIONS, 0.0)
    for own in runs.values():
        for (task, _), record in own.items():
            if task not in FUNCTIONS:
                top = max(record["told"], *record["proposed"])
                best[task] = max(best.get(task, top), top)
    found: Figures = {}
    for method, own in runs.items():
        found[method] = {}
        for key, record in own.items():
            top, proposed = best[key[0]], np.array(record["proposed"])
            ends = [record["told"], max(record["told"], *proposed), np.median(proposed)]
            figures = 1e3 * (top - np.array(ends)) / (top - record["median"])
            found[method][key] = np.append(figures, record["ms"])
    return found


# -- costs --------------------------------------------------------------------------


def encoded(n: int, seed: int = 0) -> tuple[Space, list[Configuration]]:
    """Return random configurations of the space of overhead.py."""
    space, rng = Space.from_notation(as_notation(SPACE)), np.random.default_rng(seed)
    X = space.snap(rng.random((n, space.n_columns)))
    pairs = zip(space.decode(X), X, strict=True)
    return space, [Configuration(params, row) for params, row in pairs]


def proposals(n: int, n_points: int, n_steps: int, costs: bool = False) -> float:
    """Return the seconds of a step after n trials; with costs, of their model alone."""
    space, known = encoded(n + n_points)
    rng = np.random.default_rng(0)
    optimizer = Optimizer(space, random_state=0)

    def tell(configuration: Configuration) -> None:
        cost = 1.0 + configuration.params["e"] + 0.1 * rng.random()
        value = rated(configuration.params, rng)
        optimizer.tell(configuration, value, cost=cost if costs else None)

    for configuration in known[:n]:
        tell(configuration)
    pending = known[n:]
    for configuration in pending:
        optimizer.pend(configuration)
    step = partial(optimizer.expected_cost, known[0]) if costs else optimizer.propose
    pending.append(step() if not costs else known[0])
    began = time.process_time()
    for _ in range(n_steps):
        tell(pending.pop(0))
        new = step()
        pending.append(known[0] if costs else new)
    return (time.process_time() - began) / n_steps


def journal(n: int, n_points: int, n_steps: int) -> float:
    """Return the seconds of the two writes of a trial."""
    rng = np.random.default_rng(0)
    with a_journal(True) as log:
        began = time.process_time()
        for k in range(n):
            params = dict(zip(NOTATION, rng.random(2).tolist(), strict=True))
            log.record_proposal(k, params, 0.1)
            log.record_result(a_trial(k, params))
        return (time.process_time() - began) / n


def scheduler(n: int, n_points: int, n_steps: int) -> float:
    """Return the seconds of a trial without its proposal and its fits."""
    began = time.process_time()
    loop(n_points, False, n)
    return (time.process_time() - began) / n


def progress(n: int, n_points: int, n_steps: int) -> float:
    """Return the seconds of the line that verbose=1 prints for a trial."""
    lines = Lines([PlannedStage(n)], None)
    trials = [a_trial(k, {"x": 0.1}) for k in range(n)]
    history = History()
    with contextlib.redirect_stdout(io.StringIO()):
        for k, trial in enumerate(trials):
            history.append(trial)
            if k == n - n_steps:
                began = time.process_time()
            if k >= n - n_steps or k % 1000 == 0:
                lines(trial, history)
    return (time.process_time() - began) / n_steps


def dispatch(n: int, n_points: int, n_steps: int) -> float:
    """Return the seconds of sending a trial to Dask and of receiving its result."""
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    X, y = np.random.default_rng(0).random((100, 4)), np.zeros(100)
    n = min(n, 1000)
    search = ThoughtlessSearch(
        Adder(),
        {"x": (0.0, 1.0)},
        n_iter=n,
        cv=KFold(N_FOLDS),
        refit=False,
        pre_dispatch=n_points,
        random_state=0,
    )
    with (
        SubprocessCluster(n_workers=2, worker_kwargs={"nthreads": 1}) as at,
        Client(at) as client,
        joblib.parallel_config(backend="dask"),
    ):
        client.wait_for_workers(2)
        client.upload_file(str(HERE / "adder.py"))
        began = time.process_time()
        search.fit(X, y)
        return (time.process_time() - began) / n


COSTS: dict[str, Callable[[int, int, int], float]] = {
    "proposal": proposals,
    "model of times": partial(proposals, costs=True),
    "journal": journal,
    "scheduler": scheduler,
    "progress": progress,
    "Dask": dispatch,
}
# Parts of a search without a timeout, with verbose=1, and with a journal.
PARTS = ("proposal", "journal", "scheduler", "progress", "Dask")
IN_FLIGHT = {"100": 31, "1000": 301}
SIZES = (1000, 10000, 100000)


def run_costs(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Measure one part of the work of the main process for a trial."""
    warnings.simplefilter("ignore")
    n_workers, n = task.split("/")
    seconds = COSTS[method](int(n), IN_FLIGHT[n_workers], options["steps"])
    return {"figures": [1e3 * seconds]}


# -- simulated clock ----------------------------------------------------------------


def clock(
    n_workers: int, n_points: int, fit: float, overhead: np.ndarray, seed: int
) -> tuple[float, np.ndarray]:
    """Return the share of the time in which workers are busy, and the ends of trials.

    The main process proposes trial k after it has observed trial k - n_points, and
    needs `overhead[k]` seconds for both. Free workers take the fits in order. The times
    of fits are log-normal with mean `fit` and a standard deviation of half of it.
    """
    sd = float(np.sqrt(np.log(1.25)))
    rng = np.random.default_rng(seed)
    shape = len(overhead), N_FOLDS
    seconds = fit * rng.lognormal(-0.5 * sd**2, sd, size=shape)
    free, now = [0.0] * n_workers, 0.0
    # Time at which all trials up to k have ended.
    ended = np.zeros(len(overhead) + 1)
    ends = np.zeros(len(overhead))
    for k, of_folds in enumerate(seconds):
        now = max(now, ended[max(k + 1 - n_points, 0)]) + overhead[k]
        for duration in of_folds.tolist():
            end = max(heapq.heappop(free), now) + duration
            heapq.heappush(free, end)
            ends[k] = max(ends[k], end)
        ended[k + 1] = max(ended[k], ends[k])
    return float(seconds.sum() / (n_workers * ended[-1])), ends


def run_clock(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Simulate a search with the costs of a file of results of the study "costs"."""
    n_workers, fit = task.split("/")
    method, _, per_worker = method.partition("@")
    n_points = -int(-float(per_worker or FITS_PER_WORKER) * int(n_workers) // N_FOLDS)
    at = np.log(1.0 + np.arange(options["trials"]))
    overhead = np.zeros(len(at))
    for name in PARTS:
        # Only proposals were measured for several numbers of workers.
        measured = measured_at(method, name, n_workers) or measured_at(method, name)
        overhead += np.interp(at, np.log(list(measured)), list(measured.values()))
    shares = [
        clock(int(n_workers), n_points + 1, float(fit), seconds, seed)[0]
        for seconds in (overhead, 0.0 * overhead)
    ]
    return {"figures": [*(100.0 * share for share in shares), 1e3 * overhead.mean()]}


def run_flight(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run a search with some fits in flight per worker; return scores and times."""
    n_workers, _, name = task.partition("/")
    n_points = 1 - int(-float(method) * int(n_workers) // N_FOLDS)
    n = options["trials"]
    _, ends = clock(int(n_workers), n_points, 1.0, np.zeros(n), seed)
    found = judges.run(f"skbayes@{n_points}", name, seed, {"trials": n, "noisy": False})
    shares = ends * int(n_workers) / N_FOLDS
    return {"scores": found["scores"], "ends": shares.round(2).tolist()}


def flight_regrets(runs: Runs, options: dict[str, Any]) -> Figures:
    """Return regrets at equal times; the best score is that of all runs of a task."""
    best: dict[str, float] = {}
    for own in runs.values():
        for (task, _), record in own.items():
            name, greatest = task.partition("/")[2], max(record["scores"])
            best[name] = max(best.get(name, greatest), greatest)
    median = {name: float(np.median(judges.reference(name))) for name in best}
    found: Figures = {method: {} for method in runs}
    for method, own in runs.items():
        for key, record in own.items():
            name = key[0].partition("/")[2]
            scores, ends = np.array(record["scores"]), np.array(record["ends"])
            until = [
                max(scores[ends <= end], default=median[name])
                for end in flight_times(options)
            ]
            spread = best[name] - median[name]
            found[method][key] = 1e3 * (best[name] - np.array(until)) / spread
    return found


def flight_times(options: Mapping[str, Any]) -> list[int]:
    return [options["trials"] // 2, options["trials"]]


def measured_at(method: str, part: str, n_workers: str = "1000") -> dict[int, float]:
    """Return the seconds of a part of the work, by the number of trials."""
    groups = load_costs(method)
    return {
        int(group.split("/")[1]): entry[part]["mean"][0] / 1e3
        for group, entry in groups.items()
        if group.startswith(f"{n_workers}/") and part in entry
    }


@cache
def load_costs(name: str) -> dict[str, Any]:
    """Read the measured costs, by workers and trials, and by part."""
    path = HERE / "results" / "scale" / "costs" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["groups"]


STUDIES = {
    "limits": Study(
        name="scale/limits",
        tasks=lambda: TASKS,
        methods=("gp:exact", "gp:500", "gp:1000"),
        known=str,
        run=run,
        figures=regrets,
        columns=lambda options: ["before", "after", "proposals", "ms"],
        options={"history": 2000, "steps": 30},
        seeds=6,
        digits=2,
        smallest=("--tasks", "hartmann6", "--seeds", "1", "--methods", "gp:20")
        + ("--history", "60", "--steps", "2"),
    ),
    "costs": Study(
        name="scale/costs",
        tasks=lambda: [f"{w}/{n}" for w in IN_FLIGHT for n in SIZES],
        methods=tuple(COSTS),
        run=run_costs,
        columns=lambda options: ["ms"],
        overall=False,
        options={"steps": 16},
        seeds=1,
        digits=3,
        smallest=("--tasks", "100/1000", "--methods", "scheduler,progress"),
    ),
    "clock": Study(
        name="scale/clock",
        tasks=lambda: [f"{w}/{fit}" for w in IN_FLIGHT for fit in (1, 10, 60, 600)],
        methods=("after", "after@6"),
        known=str,
        run=run_clock,
        columns=lambda options: ["busy", "without overhead", "ms"],
        overall=False,
        options={"trials": 100000},
        seeds=1,
        smallest=("--tasks", "100/10", "--methods", "after", "--trials", "500"),
    ),
    "flight": Study(
        name="scale/flight",
        tasks=lambda: [f"{w}/{name}" for w in (16, 64) for name in FLIGHT_TASKS],
        methods=("1.5", "2", "3"),
        known=float,
        run=run_flight,
        figures=flight_regrets,
        columns=flight_times,
        group=lambda task: task.partition(":")[0],
        overall=False,
        options={"trials": 100},
        seeds=2,
        smallest=("--tasks", "16/tables:digits-mlp", "--trials", "8"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
