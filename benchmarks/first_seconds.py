"""Searches with a limit of time on a simulated clock: gains of the first seconds.

The classes of skbayes run as they are, but YAHPO Gym's surrogates replace the fits, and
a simulation replaces two workers. A fit takes the predicted time, in proportion to the
own values, which take 0.3, 1 or 3 s on all rows. A proposal takes `THINKING` seconds,
and the first fit begins after `STARTING` seconds.

A task is named "group:data set/training rows/seconds". Half of the data sets are to
"choose" between variants, and half to "judge". The learner is XGBoost, whose surrogate
knows the sizes of training sets, or perceptrons ("lcbench"), whose tables have too few
rows for stages. The score of a fold is the log loss of one replication, times noise.
The standard deviation of its logarithm is 0.007 with 12,000 rows, as measured with
LightGBM, and inversely proportional to the root of the rows. The loss of a result is
the mean without noise of other replications.

Real searches of these learners begin with configurations that were good on other data
sets. The simulated ones, too: each half has densities and a portfolio that were learned
from the other half.

The first columns are percentages of the attainable gain after some seconds: the
logarithm of the ratio of the own loss to the loss, divided by that of the best known
loss, and at least -100. Before the limit, the configuration counts that the search
would return if it were interrupted. Data sets are left out if the best of 1000 random
configurations gains less than 2%, or if their recorded fits take more than 300 s, which
truncated the records.

The next columns are for a quarter and half of the limit and the end: the logarithms of
the ratio of the loss to the own one (× 1000), and the percentage of runs in which a
method is first, among it and the rivals; a rival also competes with BayesSearchCV.
Equal losses share a run. Then follow the percentage of runs whose loss at the end
exceeds the own one by more than 1%, and the number of trials. Means and standard errors
are over tasks, after the mean over seeds. The last lines are ratios of mean logarithms
to the least one of the rivals, or None if these do not gain.

Rivals begin with the own values. They run the folds of a trial on both workers, and
propose the next one, in no time, when a worker is free. "validated" is not a search: it
returns the best of the 1000 random configurations by their scores without noise.

``first_seconds.py draw`` draws docs/images/first_seconds.png from the saved results of
"judge".

Example: python benchmarks/first_seconds.py run --methods bayes,bayes@N_SEARCHED=10
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import contextlib
import heapq
import itertools
import json
import math
import re
import sys
import threading
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, partial
from typing import Any
from unittest import mock

import harness
import numpy as np
import tasks
from harness import HERE, Record, Runs, Study, main
from learn_priors import Table as Learned
from learn_priors import densities, portfolio
from methods import (
    Float,
    Int,
    Method,
    Params,
    as_notation,
    as_own,
    flaml_space,
    make_method,
    taken,
)
from searches import incumbents_at
from sklearn.base import BaseEstimator

from skbayes import BayesSearchCV, MultiStageSearchCV
from skbayes.defaults.learned_prior import N_FIRST, log_density
from skbayes.loop import scheduler
from skbayes.options.limits import aspect
from skbayes.search import base, running
from skbayes.space import OptimumPrior, Space
from skbayes.space.optimum_prior import Portfolio
from skbayes.stages import ladder
from skbayes.trial import evaluator
from skbayes.trial.backend import Backend
from skbayes.trial.records import FoldResult, FoldStatus

N_FOLDS, N_WORKERS = 5, 2
# Times as shares of the limit, and the places of a quarter, half, and the end.
TIMES = np.array([3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0]) / 60.0
MARKS = [4, 6, 8]
STARTING, THINKING = 1.1, 0.05
LEAST_GAIN, N_RANDOM, NOISE = 0.02, 1000, 0.007
N_LEARNED, N_PORTFOLIO = 300, 16
OWN_SECONDS, MOST_SECONDS = (0.3, 1.0, 3.0), 300.0

# Ranges and own values of the parameters that are searched, and values of the others.
XGBOOST = {
    "eta": (Float(0.01, 0.5, log=True), 0.3),
    "nrounds": (Int(20, 400, log=True), 100),
    "max_depth": (Int(2, 12), 6),
    "min_child_weight": (Float(2.72, 60.0, log=True), 2.72),
    "subsample": (Float(0.5, 1.0), 1.0),
    "colsample_bytree": (Float(0.3, 1.0), 1.0),
    "lambda": (Float(1e-3, 100.0, log=True), 1.0),
    "alpha": (Float(1e-3, 100.0, log=True), 1e-3),
}
TREES = {"booster": "gbtree", "gamma": 1e-4, "colsample_bylevel": 1.0}
TREES |= {"num.impute.selected.cpo": "impute.median", "rate_drop": 0, "skip_drop": 0}
PERCEPTRON = {
    "learning_rate": (Float(1e-4, 0.1, log=True), 1e-3),
    "batch_size": (Int(16, 512, log=True), 200),
    "momentum": (Float(0.1, 0.99), 0.9),
    "weight_decay": (Float(1e-5, 0.1), 1e-4),
    "num_layers": (Int(1, 5), 1),
    "max_units": (Int(64, 1024, log=True), 100),
    "max_dropout": (Float(0.0, 1.0), 0.0),
}
Best = list[tuple[float, Params]]


class Table:
    """Losses and times of configurations on one data set."""

    def __init__(self, task: str, limit: float = 60.0) -> None:
        self.task, self.limit = task, limit
        self.group, name, rows, seconds = re.split("[:/]", task)
        self.n_rows, self.instance = int(rows), name.removeprefix("lcbench-")
        self.is_lcbench = name != self.instance
        self.model = tasks.yahpo("lcbench" if self.is_lcbench else "rbv2_xgboost")
        space = PERCEPTRON if self.is_lcbench else XGBOOST
        self.space = {name: dim for name, (dim, _) in space.items()}
        self.own = {name: value for name, (_, value) in space.items()}
        self.unit = 1.0
        recorded = self.fit(self.own, 1.0, 0)[1]
        self.unit = float(seconds) / recorded
        self.is_truncated = recorded > MOST_SECONDS

    def _predict(
        self, params: Sequence[Params], names: Sequence[str], **fidelity: Any
    ) -> np.ndarray:
        """Return outputs of the surrogate, of shape (n_configurations, n_names)."""
        fixed = fidelity if self.is_lcbench else TREES | fidelity
        outputs = self.model.predict([{**fixed, **p} for p in params], self.instance)
        return np.maximum(outputs[:, list(map(self.model.outputs.index, names))], 1e-3)

    def fit(self, params: Params, share: float, fold: int) -> tuple[float, float]:
        """Return the log loss with noise and the seconds of a fit."""
        text = f"{sorted(params.items())} {share:.4f} {fold}"
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal()
        noise *= NOISE * math.sqrt(12000 / self.n_rows)
        names, fidelity = ["logloss", "timetrain"], {}
        if self.is_lcbench:
            names = ["val_cross_entropy", "time"]
        else:
            fidelity = {"trainsize": max(share, 0.03), "repl": fold + 1}
        loss, seconds = self._predict([params], names, **fidelity)[0].tolist()
        return loss * math.exp(noise), self.unit * seconds

    def losses(self, params: Sequence[Params], in_folds: bool = False) -> np.ndarray:
        """Return the losses on all rows without noise, of new rows or of the folds."""
        if self.is_lcbench:
            name = "val_cross_entropy" if in_folds else "test_cross_entropy"
            return self._predict(params, [name])[:, 0]
        numbers = range(1, N_FOLDS + 1) if in_folds else (6, 8, 10)
        outputs = [self._predict(params, ["logloss"], repl=k) for k in numbers]
        return np.mean(outputs, axis=0)[:, 0]

    def drawn(self) -> list[Params]:
        """Return the own values and random configurations."""
        draw = make_method("random", self.space, zlib.crc32(self.task.encode()))
        return [self.own, *(draw.ask() for _ in range(N_RANDOM))]


# -- learned starts ----------------------------------------------------------------


@cache
def _learned(group: str, is_lcbench: bool) -> tuple[list[Params], Any, dict[str, Any]]:
    """Return first configurations, their regrets and densities for a group of tasks."""
    names = [task for task in task_names() if not task.startswith(group)]
    tables = [Table(task) for task in names if ("lcbench" in task) == is_lcbench]
    draw = make_method("random", tables[0].space, 1)
    points = [tables[0].own, *(draw.ask() for _ in range(N_LEARNED))]
    losses = np.array([table.losses(points) for table in tables])
    best, median = losses.min(axis=1), np.median(losses[:, 1:], axis=1)
    regrets = np.minimum((losses.T - best) / (median - best), 1.0).T
    parsed = [Learned(table.instance, points, losses.T) for table in tables]
    places = portfolio(regrets, N_PORTFOLIO)
    learned = densities(parsed, list(regrets))
    return [points[k] for k in places], regrets[:, places], learned


def _prior(group: str, table: Table) -> OptimumPrior:
    """Return what a search knows about the learner of a table."""
    points, regrets, learned = _learned(group, table.is_lcbench)
    space = Space.from_notation(as_notation(table.space))
    knots = np.linspace(0.0, 1.0, 17)
    curves = {
        column.name: (knots, log_density(learned[str(column.name)], values))
        for column in space.columns
        for values in [column.dimension.decode(knots)]
    }
    return OptimumPrior(space, curves, Portfolio(space, points, regrets, N_FIRST))


# -- simulation --------------------------------------------------------------------


class Clock:
    """Substitute for the module `time`, which the simulation advances."""

    now = 0.0

    def time(self) -> float:
        """Return the simulated time."""
        return self.now

    perf_counter = monotonic = time


CLOCK = Clock()


class Workers(Backend):
    """Simulated workers, which are also the executor of trials.

    Each trial runs in a thread of its own. Only one thread runs at a time: the search,
    or a trial until it waits for its fits.
    """

    aborts = True

    def __init__(self, plan: Any, table: Table) -> None:
        super().__init__(plan.job, n_workers=N_WORKERS)
        self.plan, self.table, self.start_time = plan, table, CLOCK.now
        self.free = [CLOCK.now] * N_WORKERS
        self.queue: deque = deque()  # fits that no worker has begun
        self.ends: list = []  # heap of the ends of fits
        self.order = itertools.count()
        self.trials: dict[int, Future] = {}
        self.baton = threading.Semaphore(0)
        self.stopped = False

    @property
    def unfinished(self) -> list[int]:
        """Numbers of the trials that were not returned."""
        return sorted(self.trials)

    def start(self, number: int, task: Callable, alone: bool = False) -> None:
        """Start a trial, after the time of its proposal."""
        CLOCK.now += THINKING
        self.trials[number] = future = Future()

        def serve() -> None:
            try:
                future.set_result(task(None))
            except BaseException as error:
                future.set_exception(error)
            self.baton.release()

        threading.Thread(target=serve, daemon=True).start()
        self.baton.acquire()
        self._begin_fits()

    def run(self, parallel: Any, folds: Any, spent: float = 0.0) -> list[FoldResult]:
        """Wait for fits, in the thread of a trial."""
        if self.stopped:
            return [FoldResult(status=FoldStatus.INTERRUPTED) for _ in folds]
        results: list[Any] = [None] * len(folds)
        resumed = threading.Semaphore(0)
        for place, fold in enumerate(folds):
            self.queue.append((fold, results, place, resumed, CLOCK.now))
        self.baton.release()
        resumed.acquire()
        return results

    def _begin_fits(self) -> None:
        while self.queue and len(self.ends) < N_WORKERS:
            fold, results, place, resumed, asked = self.queue.popleft()
            share = self.plan.train_fraction(fold.sample)
            loss, seconds = self.table.fit(fold.params, share, fold.index)
            end = max(asked, heapq.heappop(self.free)) + seconds
            result = FoldResult({"score": -loss}, seconds, 0.0)
            entry = (end, next(self.order), results, place, resumed, result)
            heapq.heappush(self.ends, entry)

    def finished(self, seconds: float = math.inf) -> dict[int, Future]:
        """Advance the clock until a trial ends, at most by some seconds."""
        until, limit = CLOCK.now, CLOCK.now + seconds
        while not any(future.done() for future in self.trials.values()):
            if not self.ends or (self.ends[0][0] > limit and not self.stopped):
                until = max(until, limit) + 1e-6
                break
            end, _, results, place, resumed, result = heapq.heappop(self.ends)
            heapq.heappush(self.free, end)
            if self.stopped:
                result = FoldResult(status=FoldStatus.INTERRUPTED)
            else:
                until = max(until, end)
            results[place], CLOCK.now = result, end
            if all(result is not None for result in results):
                resumed.release()
                self.baton.acquire()
            self._begin_fits()
        CLOCK.now = until
        done = [n for n in self.unfinished if self.trials[n].done()]
        return {number: self.trials.pop(number) for number in done}

    def stop(self) -> None:
        """Interrupt all fits."""
        self.stopped = True

    def drop(self) -> None:
        """Drop nothing: trials do not run in the calling thread."""


class Simulated(running.RunningSearch):
    """Search with simulated workers."""

    @contextlib.contextmanager
    def _workers(self, trial_data: Any) -> Iterator[Any]:
        workers = Workers(self.plan, self.search.estimator.table)
        budget = self._begin_budget(workers, math.inf)
        candidate_evaluator = evaluator.CandidateEvaluator(self.plan, workers, math.inf)
        yield candidate_evaluator, workers, budget, None


class Tabulated(BaseEstimator):
    """Estimator whose fits are in a table, with the parameters of its space."""

    def __init__(self, table: Any, values: Any) -> None:
        self.table, self.values = table, values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""
        return {"table": self.table, **self.values}

    def set_params(self, **params: Any) -> Tabulated:
        """Set parameters."""
        self.values = self.values | params
        return self

    def fit(self, X: Any, y: Any = None) -> Tabulated:
        """Raise an error: no fit is real."""
        raise NotImplementedError

    score: Any = fit

    def __sklearn_clone__(self) -> Tabulated:
        return Tabulated(self.table, self.values)


def _search(kind: type, table: Table, seed: int, **options: Any) -> tuple[Best, int]:
    """Return the best configurations of a search with their times."""
    for module in (scheduler, evaluator, running, aspect):
        module.time = CLOCK  # type: ignore[attr-defined]
    CLOCK.now = 0.0
    params = {"n_iter": None, "timeout": table.limit, "cv": N_FOLDS}
    params |= {"n_jobs": N_WORKERS, "random_state": seed, **options}
    base.outside.prior_of = lambda *_: _prior(table.group, table)
    model = Tabulated(table, table.own)
    search = kind(model, as_notation(table.space), **params)
    X = np.zeros((table.n_rows * N_FOLDS // (N_FOLDS - 1), 1))
    plan = search._plan(X, None, {})
    with Simulated.opened(search, plan, {}, CLOCK.now) as simulated:
        CLOCK.now = STARTING
        outcome = simulated.run()
        fitted = search._set(search._results(simulated.plan, outcome))
        chosen = search._select(simulated.plan, fitted)["best_params_"]
    reached = incumbents_at(search, (table.limit * TIMES[:-1]).tolist())
    return [*reached, (table.limit, chosen)], len(search.trials_)


def _best(ended: list[tuple[float, float, Params]]) -> Best:
    """Return the trials that are better than all earlier ones, with their times."""
    best, incumbents = -math.inf, []
    for end, score, params in sorted(ended, key=lambda trial: trial[0]):
        if score > best:
            best = score
            incumbents.append((end, params))
    return incumbents


# -- rivals ------------------------------------------------------------------------


def _trial(
    table: Table, params: Params, free: list[float], share: float = 1.0
) -> tuple[float, float]:
    """Run the folds of a trial; return its end and its score."""
    scores, ends = [], []
    for fold in range(N_FOLDS):
        loss, seconds = table.fit(params, share, fold)
        ends.append(heapq.heappop(free) + seconds)
        heapq.heappush(free, ends[-1])
        scores.append(-loss)
    return max(ends), float(np.mean(scores))


def _asked(
    make: Callable[[Table, int], Method], table: Table, seed: int
) -> tuple[Best, int]:
    """Run trials of a method that proposes one as soon as a worker is free."""
    CLOCK.now, free = STARTING, [STARTING] * N_WORKERS
    method = make(table, seed)
    running: list[tuple[float, int, float, Params]] = []
    ended: list[tuple[float, float, Params]] = []
    while (begin := min(free)) < table.limit:
        while running and running[0][0] <= begin:
            CLOCK.now, _, score, params = heapq.heappop(running)
            method.tell(params, score)
        CLOCK.now = begin
        params = method.ask()
        end, score = _trial(table, params, free)
        heapq.heappush(running, (end, len(ended), score, params))
        ended.append((end, score, params))
    return _best(ended), len(ended)


def _made(name: str, table: Table, seed: int) -> Method:
    """Return a method that begins with the own values."""
    method: Any = make_method(name, table.space, seed)
    method.enqueue(table.own)
    return method


class _Flaml:
    """BlendSearch of FLAML with the limit, on the simulated clock."""

    def __init__(self, table: Table, seed: int) -> None:
        from flaml.tune.searcher import blendsearch

        blendsearch.time = CLOCK
        self._space = table.space
        options = {"seed": seed, "time_budget_s": table.limit - CLOCK.now}
        options["points_to_evaluate"] = [dict(table.own)]
        ranges = flaml_space(table.space)
        self._search = blendsearch.BlendSearch("score", "max", ranges, **options)
        self._running: list[tuple[Params, Any]] = []
        self._names = map(str, itertools.count())

    def ask(self) -> Params:
        name = next(self._names)
        while (config := self._search.suggest(name)) is None:
            name = next(self._names)
        params = as_own(self._space, config)
        self._running.append((params, (name, config, CLOCK.now)))
        return params

    def tell(self, params: Params, score: float) -> None:
        name, config, begin = taken(self._running, params)
        result = {"score": score, "time_total_s": CLOCK.now - begin, "config": config}
        self._search.on_trial_complete(name, result)


def _halving(table: Table, seed: int) -> tuple[Best, int]:
    """Repeat successive halving with three times as many candidates, as minutes.py."""
    draw, free = make_method("random", table.space, seed), [STARTING] * N_WORKERS
    incumbents: Best = []
    for k in itertools.count(1):
        candidates = [table.own, *(draw.ask() for _ in range(3**k - 1))]
        for rung in range(k, -1, -1):
            scores = [_trial(table, p, free, 3.0**-rung)[1] for p in candidates]
            order = np.argsort(scores)[::-1][: math.ceil(len(scores) / 3)]
            candidates = [candidates[i] for i in order]
            free = [max(free)] * N_WORKERS
            if free[0] > table.limit:
                return incumbents, sum(3**i for i in range(1, k))
        incumbents.append((free[0], candidates[0]))
    raise AssertionError


def _validated(table: Table, seed: int) -> tuple[Best, int]:
    """Return the best of the random configurations by its score without noise."""
    points = table.drawn()
    best = int(table.losses(points, in_folds=True).argmin())
    return [(0.0, points[best])], N_RANDOM


BAYES, STAGES = partial(_search, BayesSearchCV), partial(_search, MultiStageSearchCV)
METHODS: dict[str, Callable[[Table, int], tuple[Best, int]]] = {
    "stages": STAGES,
    "bayes": BAYES,
    # With a stopper, all trials have all folds.
    "bayes-all-folds": partial(BAYES, stopper=lambda trials: False),
    "random": partial(_asked, partial(_made, "random")),
    "halving": _halving,
    "optuna": partial(_asked, partial(_made, "optuna-tpe")),
    "flaml": partial(_asked, _Flaml),
    "validated": _validated,
}
RIVALS = ("random", "halving", "optuna", "flaml")


def task_names() -> list[str]:
    """Return the tasks of both groups; data sets are assigned by chance."""
    names = []
    for scenario, prefix in (("rbv2_xgboost", ""), ("lcbench", "lcbench-")):
        instances = tasks.yahpo(scenario).instances
        order = np.random.default_rng(0).permutation(len(instances)).tolist()
        for place, index in enumerate(order):
            group = ("choose", "judge")[place % 2]
            n_rows = 1200 if prefix else (3000, 12000, 40000)[place // 2 % 3]
            seconds = OWN_SECONDS[place // 6 % 3]
            names.append(f"{group}:{prefix}{instances[index]}/{n_rows}/{seconds}")
    return names


@cache
def best_known(task: str) -> tuple[float, float]:
    """Return the losses of the own values and of the best random configuration."""
    table = Table(task)
    loss, *others = table.losses(table.drawn())
    return float(loss), float(min(others))


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the losses at the marks, of the own values, and the best known one."""
    warnings.simplefilter("ignore")
    table, (own_loss, best) = Table(task, options["seconds"]), best_known(task)
    record: Record = {"own": own_loss, "best": best, "losses": [], "trials": 0}
    if math.log(own_loss / best) < LEAST_GAIN or table.is_truncated:
        return record
    number = zlib.crc32(f"{task} {seed}".encode()) % 2**31
    name, *changes = method.split("@")
    constants = {key: int(value) for key, value in (c.split("=") for c in changes)}
    with mock.patch.dict(vars(ladder), constants):
        incumbents, record["trials"] = METHODS[name](table, number)
    for time in table.limit * TIMES:
        reached = [params for end, params in incumbents if end <= time]
        record["losses"] += table.losses([[table.own, *reached][-1]]).tolist()
    return record


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns of each run."""
    best: dict[str, float] = {}
    for records in runs.values():
        for (task, _), record in records.items():
            least = min(*record["losses"], record["best"], math.inf)
            best[task] = min(best.get(task, math.inf), least)
    columns: dict[str, dict] = {}
    for method, records in runs.items():
        columns[method] = {}
        for key, record in records.items():
            if record["losses"]:
                gains = np.log(record["own"] / np.array(record["losses"]))
                shares = 100.0 * gains / math.log(record["own"] / best[key[0]])
                field = {"bayes" if method in RIVALS else method, *RIVALS}
                others = [r[key] for m, r in runs.items() if m in field and key in r]
                losses = np.array([other["losses"] for other in others])
                least = losses.min(axis=0)
                first = 100.0 * (record["losses"] == least) / (losses == least).sum(0)
                row = [*np.maximum(shares, -100.0)]
                row += [*(-1000.0 * gains[MARKS]), *first[MARKS]]
                row += [100.0 * (gains[-1] < -0.01), record["trials"]]
                columns[method][key] = np.array(row)
    return columns


def summarize(study: Study, figures: dict, columns: Sequence[Any]) -> Record:
    """Return the table with ratios of mean log ratios to those of the best rival."""
    by_task: harness.Figures = {}
    for method, rows in figures.items():
        by_task[method] = {
            (task, 0): np.mean([rows[key] for key in keys], axis=0)
            for task, keys in itertools.groupby(sorted(rows), lambda key: key[0])
        }
    summary = harness.summarize(study, by_task, columns)
    for group, entries in summary["groups"].items():
        places = [place for place, name in enumerate(columns) if "log" in name]
        logs = {m: np.array(entry["mean"])[places] for m, entry in entries.items()}
        best = np.min([[0.0] * 3, *(logs[m] for m in RIVALS if m in logs)], axis=0)
        for method in filter(lambda name: name not in RIVALS, entries):
            pairs = zip(logs[method].tolist(), best.tolist(), strict=True)
            ratios = [round(own / rival, 2) if rival else None for own, rival in pairs]
            entries[method]["to_best_rival"] = ratios
            print(f"{group:22}{method:26} gain / that of the best rival: {ratios}")
    return summary


def columns(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns."""
    times = [f"{time:g} s" for time in options["seconds"] * TIMES]
    marked = [f"{name} {times[k]}" for name in ("log ratio", "first %") for k in MARKS]
    return [*times, *marked, "worse %", "trials"]


STUDY = Study(
    name="first_seconds",
    tasks=task_names,
    methods=tuple(METHODS),
    check_method=lambda method: METHODS[method.split("@")[0]],
    run=run,
    columns=columns,
    figures=figures,
    group=lambda task: task.split(":")[0] + " lcbench" * ("lcbench" in task),
    overall=False,
    options={"seconds": 60.0},
    seeds=3,
    summarize=summarize,
)

# -- figure ------------------------------------------------------------------------

SAVED = HERE / "results/first_seconds/judge.json"
PICTURE = HERE.parent / "docs/images/first_seconds.png"
LABELS = {
    "bayes": "BayesSearchCV",
    "optuna": "Optuna (TPE)",
    "flaml": "FLAML (BlendSearch)",
    "random": "RandomizedSearchCV",
    "halving": "HalvingRandomSearchCV",
}
COLORS = ("C3", "C0", "C2", "C7", "C4")


def draw() -> None:
    """Draw the saved shares of the attainable gain, with standard errors."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    groups, x = json.loads(SAVED.read_text())["groups"], 60.0 * TIMES
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
    panels = {"XGBoost": groups["judge"], "perceptrons": groups["judge lcbench"]}
    for ax, (learner, entries) in zip(axes, panels.items(), strict=True):
        for color, (method, label) in zip(COLORS, LABELS.items(), strict=True):
            mean, se = (np.array(entries[method][k])[: len(x)] for k in ("mean", "se"))
            ax.plot(x, mean, color=color, label=label)
            ax.fill_between(x, mean - se, mean + se, color=color, alpha=0.15, lw=0)
        n_tasks = entries["bayes"]["runs"]
        ax.set(title=f"{learner}, {n_tasks} tasks", xlabel="seconds")
        ax.grid(alpha=0.3)
    axes[0].set(ylabel="% of the attainable gain", ylim=(0, 100))
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw()
    else:
        main(STUDY, __doc__)
