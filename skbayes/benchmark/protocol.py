"""Protocol of runs of methods on tables, and folder of finished runs.

A run starts from 3 random distinct rows, the same for every method under the same seed.
Then the method is asked for one row after the other, never for one that is taken. The
run ends when there is nothing left to measure: with one objective when the best row and
20 rows are taken, with several when the whole front and the table's `front_budget` of
rows are; or at its cap, if it has one.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skbayes.benchmark.methods import Factory, Score, make_factory
from skbayes.benchmark.tables import LookupTable
from skbayes.utils.blas import one_blas_thread

__all__ = ["N_BUDGET", "N_START", "Run", "RunFolder", "benchmark", "run_method"]

# Rows that every run starts from, and after how many the best found is judged (fb).
N_START = 3
N_BUDGET = 20


@dataclass(frozen=True)
class Run:
    """What one run did.

    Parameters
    ----------
    table : str
        Name of the table.
    digest : str
        What tells the table from others of that name, the `digest` of a LookupTable.
    method : str
        Name of the method.
    n_objectives : int
        Number of objectives.
    seed : int
        Seed of the run.
    rows : list of int
        Rows taken, in order, the first ones included.
    finished : bool
        Whether it ended because nothing was left to measure, not at a cap.
    n_snapped : int
        How many proposals were no free rows.
    seconds : float
        Time on the processor.
    errors : list of float or None
        Mean squared error of the method's predictions over all rows, from the last of
        the first rows on, one for each row taken; None if not asked for, empty if the
        method has no predictions.
    """

    table: str
    digest: str
    method: str
    n_objectives: int
    seed: int
    rows: list[int]
    finished: bool
    n_snapped: int = 0
    seconds: float = 0.0
    errors: list[float] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Table, its digest, method, number of objectives and seed."""
        return (self.table, self.digest, self.method, self.n_objectives, self.seed)

    def answers(self, table: LookupTable, cap: int | None, n_errors: int) -> bool:
        """Whether this run contains one of at most `cap` rows with `n_errors` errors.

        Proposals do not depend on the cap: a longer run contains all shorter ones.
        """
        longest = min(cap or len(table), len(table))
        n_judged = min(n_errors, longest) - min(N_START, longest) + 1
        if n_errors and (self.errors is None or 0 < len(self.errors) < n_judged):
            return False
        return self.finished or len(self.rows) >= longest

    def capped(self, cap: int | None) -> Run:
        """Shorten the run to `cap` rows; a shortened run counts as not finished."""
        if cap is None or len(self.rows) <= cap:
            return self
        return replace(self, rows=self.rows[:cap], finished=False)


class RunFolder:
    """Folder of finished runs, one JSON line each; made with the first of them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def _file(self, method: str) -> Path:
        return self.path / f"{re.sub(r'[^A-Za-z0-9+_.-]+', '_', method)}.jsonl"

    def _all(self, method: str) -> list[Run]:
        """Read the file of a method, which another of a similar name may share."""
        runs = []
        path = self._file(method)
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                runs.append(Run(**json.loads(line)))
            except (json.JSONDecodeError, TypeError):
                continue  # torn by a crash
        return runs

    def load(self, method: str) -> dict[tuple[Any, ...], Run]:
        """Read the runs of a method by :attr:`Run.key`; of several the last."""
        return {run.key: run for run in self._all(method) if run.method == method}

    def keep(self, run: Run) -> None:
        """Add a finished run, in one write: writers do not mix their lines."""
        self.path.mkdir(parents=True, exist_ok=True)
        # The newline comes first as well: a line torn before it stays alone.
        line = ("\n" + json.dumps(asdict(run)) + "\n").encode()
        with open(self._file(run.method), "ab", buffering=0) as file:
            file.write(line)

    def clear(self, method: str) -> None:
        """Remove the runs of a method."""
        kept = [run for run in self._all(method) if run.method != method]
        self._file(method).unlink(missing_ok=True)
        for run in kept:
            self.keep(run)


def _score(table: LookupTable, row: int) -> Score:
    scores = table.scores[row].tolist()
    return scores[0] if table.n_objectives == 1 else scores


def _error(method: Any, table: LookupTable) -> float:
    """Mean squared error of the first objective over all rows."""
    predicted = np.asarray(method.predict(table.params), dtype=float)
    if predicted.ndim > 1:
        predicted = predicted[:, 0]
    return float(np.mean((predicted - table.scores[:, 0]) ** 2))


def _goal(table: LookupTable) -> tuple[set[int], int]:
    """Rows without which a run is not finished, and how many it takes at least."""
    if table.n_objectives == 1:
        return {table.best}, N_BUDGET
    return set(table.front.tolist()), table.front_budget


def _check_cap(cap: int | None) -> None:
    if cap is not None and cap < N_START:
        raise ValueError(
            f"cap must be at least {N_START}, the rows that a run starts from, or "
            f"None, got {cap!r}."
        )


def run_method(
    method: str | Factory,
    table: LookupTable,
    seed: int,
    *,
    cap: int | None = None,
    n_errors: int = 0,
    label: str | None = None,
) -> Run:
    """Let a method take rows of a table.

    Parameters
    ----------
    method : str or callable
        The method, see :func:`skbayes.benchmark.make_factory`.
    table : LookupTable
        The table; a method is told as many scores as it has objectives.
    seed : int
        Draws the rows to start from, and is handed to the method.
    cap : int or None, default=None
        Rows after which the run ends, finished or not; at least 3.
    n_errors : int, default=0
        Judge the method's predictions over all rows until so many are taken, and do
        not end before.
    label : str or None, default=None
        What the method is called in the run.

    Returns
    -------
    run : Run
        What it did.

    Raises
    ------
    ValueError
        If `cap` is too small.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt, run_method
    >>> run = run_method("random", load_nmt("zh-en").first(1), seed=0, cap=30)
    >>> len(run.rows), len(set(run.rows))
    (30, 30)
    """
    _check_cap(cap)
    n = len(table)
    longest = min(cap or n, n)
    wanted, at_least = _goal(table)
    rng = np.random.default_rng(seed)
    start = rng.choice(n, min(N_START, n), replace=False).tolist()
    began = time.process_time()
    player = make_factory(method)(table, seed)
    predicts = hasattr(player, "predict")
    if predicts:
        at_least = max(at_least, n_errors)
    taken: list[int] = []
    errors: list[float] = []
    free = np.ones(n, dtype=bool)
    n_snapped = 0
    finished = False
    while not finished and len(taken) < longest:
        if len(taken) < len(start):
            row = start[len(taken)]
        else:
            params = player.ask()
            row = table.nearest(params, free)
            n_snapped += dict(params) != table.params[row]
        taken.append(row)
        free[row] = False
        finished = not free[list(wanted)].any() and len(taken) >= min(at_least, n)
        player.tell(table.params[row], _score(table, row))
        if predicts and len(start) <= len(taken) <= n_errors:
            errors.append(_error(player, table))
    return Run(
        table=table.name,
        digest=table.digest,
        method=label or str(method),
        n_objectives=table.n_objectives,
        seed=seed,
        rows=taken,
        finished=finished,
        n_snapped=n_snapped,
        seconds=round(time.process_time() - began, 4),
        errors=errors if n_errors else None,
    )


def _run_and_keep(folder: RunFolder | None, *args: Any, **options: Any) -> Run:
    with one_blas_thread():
        run = run_method(*args, **options)
    if folder is not None:
        folder.keep(run)
    return run


def benchmark(
    methods: Sequence[str] | Mapping[str, str | Factory],
    tables: Iterable[LookupTable],
    seeds: int | Sequence[int] = 100,
    *,
    cap: int | None = None,
    n_errors: int = 0,
    n_jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> list[Run]:
    """Run methods on tables, once for each seed.

    Parameters
    ----------
    methods : list of str or dict of str to str or callable
        Methods, see :func:`skbayes.benchmark.make_factory`; a dict names them.
    tables : iterable of LookupTable
        Tables, of different names.
    seeds : int or sequence of int, default=100
        The seeds, or how many, from 0.
    cap : int or None, default=None
        Rows after which a run ends, finished or not; at least 3.
    n_errors : int, default=0
        Until how many rows are taken the predictions are judged.
    n_jobs : int or None, default=None
        Runs at a time, as everywhere in joblib.
    folder : path-like or None, default=None
        Where runs are kept as they finish. What is there already is not run again: a
        benchmark that was stopped goes on where it was. Empty it after a method has
        changed.

    Returns
    -------
    runs : list of Run
        By method, table and seed, in the order given.

    Raises
    ------
    ValueError
        If a method cannot be made or refuses a table (the message says which), or
        `cap` is too small.

    Examples
    --------
    >>> from skbayes.benchmark import benchmark, load_nmt, summarize
    >>> table = load_nmt("zh-en").first(1)
    >>> runs = benchmark(["random"], [table], seeds=20)
    >>> summary = summarize(runs, table)
    >>> 40 < summary["ftb"].mean < 80
    True
    """
    _check_cap(cap)
    named = methods if isinstance(methods, Mapping) else {m: m for m in methods}
    tables = list(tables)
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    keeper = None if folder is None else RunFolder(folder)
    known: dict[tuple[Any, ...], Run] = {}
    if keeper is not None:
        for label in named:
            known |= keeper.load(label)
    jobs: dict[tuple[Any, ...], Any] = {}
    wanted = []
    for label, table, seed in product(named, tables, numbers):
        key = (table.name, table.digest, label, table.n_objectives, seed)
        wanted.append(key)
        if key in known and known[key].answers(table, cap, n_errors):
            continue
        options = {"cap": cap, "n_errors": n_errors, "label": label}
        jobs[key] = delayed(_run_and_keep)(keeper, named[label], table, seed, **options)
    _check(named, tables, {(key[0], key[2]) for key in jobs})
    done = Parallel(n_jobs=n_jobs)(jobs.values())
    known |= zip(jobs, done, strict=True)
    return [known[key].capped(cap) for key in wanted]


def _check(
    methods: Mapping[str, str | Factory],
    tables: Sequence[LookupTable],
    needed: set[tuple[str, str]],
) -> None:
    """Let each method take one row of each table, before any long run."""
    for (label, method), table in product(methods.items(), tables):
        if (table.name, label) not in needed:
            continue
        try:
            run_method(method, table, 0, cap=N_START + 1)
        except Exception as error:
            raise ValueError(
                f"methods: {label!r} on {table.name!r} with {table.n_objectives} "
                f"objective(s): {error}"
            ) from error
