"""Protocol of runs of methods on tables, and folder of finished runs.

A run starts from 3 distinct random rows, which are the same for every method with the
same seed. The method then proposes one free row at a time. With one objective, the run
ends when the best row and at least 20 rows are taken. With several objectives, it ends
when the whole front and at least `front_budget` rows are taken. A run with a cap ends
at the cap at the latest.
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

from skbayes.benchmark.methods import Factory, make_factory
from skbayes.benchmark.tables import LookupTable
from skbayes.utils.blas import one_blas_thread

# Number of initial rows of a run, and number of rows after which fb is computed.
N_START = 3
N_BUDGET = 20


@dataclass(frozen=True)
class Run:
    """Result of one run.

    Parameters
    ----------
    table : str
        Name of the table.
    digest : str
        Hash of the table, the `digest` of a LookupTable.
    method : str
        Name of the method.
    n_objectives : int
        Number of objectives.
    seed : int
        Seed of the run.
    rows : list of int
        Rows in the order in which they were taken, including the initial rows.
    finished : bool
        Whether the run found all targets, instead of ending at a cap.
    n_snapped : int
        Number of proposals that were not free rows.
    seconds : float
        Processor time in seconds.
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

    @property
    def key(self) -> tuple[Any, ...]:
        """Table, its digest, method, number of objectives and seed."""
        return (self.table, self.digest, self.method, self.n_objectives, self.seed)

    def answers(self, table: LookupTable, cap: int | None) -> bool:
        """Return whether this run contains a run of `cap` rows.

        Proposals do not depend on the cap, so a longer run contains all shorter ones.
        """
        longest = min(cap or len(table), len(table))
        return self.finished or len(self.rows) >= longest

    def capped(self, cap: int | None) -> Run:
        """Return this run with at most `cap` rows; a shortened run is not finished."""
        if cap is None or len(self.rows) <= cap:
            return self
        return replace(self, rows=self.rows[:cap], finished=False)


class RunFolder:
    """Folder of finished runs with one JSON line each, created with the first run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def _file(self, method: str) -> Path:
        return self.path / f"{re.sub(r'[^A-Za-z0-9+_.-]+', '_', method)}.jsonl"

    def load(self, method: str) -> dict[tuple[Any, ...], Run]:
        """Read the runs of a method by :attr:`Run.key`; the last duplicate counts."""
        runs = {}
        path = self._file(method)
        for line in path.read_text("utf-8").splitlines() if path.exists() else []:
            try:
                run = Run(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                continue  # incomplete line after a crash
            # Methods with similar names can share a file.
            if run.method == method:
                runs[run.key] = run
        return runs

    def keep(self, run: Run) -> None:
        """Add a finished run in a single write, so that parallel writes do not mix."""
        self.path.mkdir(parents=True, exist_ok=True)
        # The leading newline separates the line from an incomplete one before it.
        line = ("\n" + json.dumps(asdict(run)) + "\n").encode()
        with open(self._file(run.method), "ab", buffering=0) as file:
            file.write(line)


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
    label: str | None = None,
) -> Run:
    """Run a method on a table.

    Parameters
    ----------
    method : str or callable
        Name of the method, or a callable ``factory(table, seed)``. The names are:

        - "random": random search;
        - "skbayes": :class:`skbayes.Optimizer` with its defaults;
        - ``surrogate`` or ``surrogate+acquisition``: the optimizer with these
          arguments;
        - ``file.py:name`` or ``module:name``: a custom factory.
    table : LookupTable
        Table. The method receives one score for each of its objectives.
    seed : int
        Seed of the initial rows, which is also passed to the method.
    cap : int or None, default=None
        Maximum number of rows, at least 3.
    label : str or None, default=None
        Name of the method in the result.

    Returns
    -------
    run : Run
        Result of the run.

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
    single_objective = table.n_objectives == 1
    targets = [table.best] if single_objective else table.front
    at_least = N_BUDGET if single_objective else table.front_budget
    rng = np.random.default_rng(seed)
    start = rng.choice(n, min(N_START, n), replace=False).tolist()
    began = time.process_time()
    player: Any = make_factory(method)(table, seed)
    rows: list[int] = []
    free = np.ones(n, dtype=bool)
    n_snapped = 0
    finished = False
    while not finished and len(rows) < longest:
        if len(rows) < len(start):
            row = start[len(rows)]
        else:
            params = player.ask()
            row = table.nearest(params, free)
            n_snapped += dict(params) != table.params[row]
        rows.append(row)
        free[row] = False
        finished = not free[targets].any() and len(rows) >= min(at_least, n)
        scores = table.scores[row].tolist()
        player.tell(table.params[row], scores[0] if single_objective else scores)
    return Run(
        table=table.name,
        digest=table.digest,
        method=label or str(method),
        n_objectives=table.n_objectives,
        seed=seed,
        rows=rows,
        finished=finished,
        n_snapped=n_snapped,
        seconds=round(time.process_time() - began, 4),
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
    n_jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> list[Run]:
    """Run methods on tables, once for each seed.

    Parameters
    ----------
    methods : list of str or dict of str to str or callable
        Methods, see :func:`skbayes.benchmark.run_method`. The keys of a dict are the
        names of the methods.
    tables : iterable of LookupTable
        Tables with different names.
    seeds : int or sequence of int, default=100
        Seeds, or their number for seeds from 0.
    cap : int or None, default=None
        Maximum number of rows of a run, at least 3.
    n_jobs : int or None, default=None
        Number of runs at the same time, as in joblib.
    folder : path-like or None, default=None
        Folder for finished runs. Runs that it contains are not repeated, so an
        interrupted benchmark can be continued. Empty the folder after a method has
        changed.

    Returns
    -------
    runs : list of Run
        Runs sorted by method, table and seed in the order given.

    Raises
    ------
    ValueError
        If `cap` is too small, or a method cannot be made or does not support a table.
        The message names the method and the table.

    Examples
    --------
    >>> from skbayes.benchmark import benchmark, load_nmt, summarize
    >>> table = load_nmt("zh-en").first(1)
    >>> runs = benchmark(["random"], [table], seeds=20)
    >>> summary = summarize(runs, table)
    >>> print(f"{summary['ftb'].mean:.1f}")
    66.2
    """
    _check_cap(cap)
    named = methods if isinstance(methods, Mapping) else {m: m for m in methods}
    tables = list(tables)
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    keeper = None if folder is None else RunFolder(folder)
    by_key: dict[tuple[Any, ...], Run] = {}
    if keeper is not None:
        for label in named:
            by_key |= keeper.load(label)
    jobs: dict[tuple[Any, ...], Any] = {}
    keys = []
    for label, table, seed in product(named, tables, numbers):
        key = (table.name, table.digest, label, table.n_objectives, seed)
        keys.append(key)
        if key in by_key and by_key[key].answers(table, cap):
            continue
        options = {"cap": cap, "label": label}
        jobs[key] = delayed(_run_and_keep)(keeper, named[label], table, seed, **options)
    _check(named, tables, {(key[0], key[2]) for key in jobs})
    runs = Parallel(n_jobs=n_jobs)(jobs.values())
    by_key |= zip(jobs, runs, strict=True)
    return [by_key[key].capped(cap) for key in keys]


def _check(
    methods: Mapping[str, str | Factory],
    tables: Sequence[LookupTable],
    needed: set[tuple[str, str]],
) -> None:
    """Run each method for one row on each table, to detect errors early."""
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
