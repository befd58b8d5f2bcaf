"""Several drivers of one search that are killed at random instants.

    nice -n 5 python benchmarks/attacks/drivers.py after --cases 100

Three processes work on one search, whose journal is a table of a PostgreSQL server or
of an SQLite file. Each driver runs one trial at a time, or up to three in threads. At
random instants, one of them gets SIGKILL, and another one is started in its place. A
kill passes if the table (parameters and all scores) of each driver that ends equals
that of one process with as many trials in flight and no journal, if each trial has one
result, and if no more trials were begun again than killed drivers can have had in
flight.

"begun_again" is the number of these trials, and "in_flight" the number of trials that
killed drivers had begun at most. The row "ms a trial" has the time of the rows of a
trial in milliseconds, and the load average of the machine. `--cases` is the number of
kills. Without a server, there is SQLite only. A driver of SQLite without a sign of life
is dead after one second here, instead of 30. The server does not wait for the disk.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import tally
from every_search import SEARCHES, data, make
from journal_samples import open_journal, params_of, trial_of
from kills import MAX_SECONDS, kill_group, write_table
from postgres import missing, server
from sklearn.tree import DecisionTreeClassifier

from skbayes import TextRepresentationSearchCV
from skbayes.journal import database
from skbayes.journal.content import Content
from skbayes.journal.database import read_rows

N_DRIVERS, N_POINTS = 3, 4

# Maximum number of kills of one search.
MAX_KILLS = 8


class Slow(DecisionTreeClassifier):
    """Tree whose fits take between 10 and 60 ms, by the configuration."""

    def fit(self, X: Any, y: Any, **more: Any) -> Slow:
        """Fit, and sleep."""
        time.sleep(0.01 + 0.05 * (self.min_samples_leaf % 7) / 7)
        return super().fit(X, y, **more)


def fit(kind: type, journal: str | None, n_jobs: int | None) -> str:
    """Run a search, or take part in it; return its table as text."""
    more: dict[str, Any] = {"journal": journal, "pre_dispatch": N_POINTS}
    if kind is not TextRepresentationSearchCV:
        more["estimator"] = Slow(random_state=0)
    with joblib.parallel_config("threading"):
        search = make(kind, n_jobs=n_jobs, n_iter=12, **more).fit(*data(kind))
    table = {
        name: np.asarray(column).tolist()
        for name, column in search.cv_results_.items()
        if name == "params" or "_test_" in name
    }
    return repr((table, search.best_index_, [trial.score for trial in search.trials_]))


class Attack:
    """Kills of the drivers of searches of one class, in one database."""

    def __init__(self, kind: type, url: str, n_jobs: int | None, seed: int) -> None:
        self.kind, self.url, self.n_jobs = kind, url, n_jobs
        self.random = random.Random(f"{kind.__name__} {n_jobs} {seed}")
        self.n_slots = 1 if n_jobs is None else n_jobs + 1
        self.n_kills = 0
        self.whole: str | None = None

    def run(self, table: str, max_kills: int) -> tally.Figures:
        """Run one search to its end, with a number of kills."""
        if self.whole is None:
            began = time.monotonic()
            self.whole = fit(self.kind, None, 2)
            self.seconds = time.monotonic() - began
        url = f"{self.url}#{table}"
        fork = multiprocessing.get_context("fork")
        began, kills = time.monotonic(), 0
        with tempfile.TemporaryDirectory() as folder:
            drivers: list[Any] = []

            def start() -> None:
                result = os.path.join(folder, str(len(drivers)))
                arguments = fit, result, self.kind, url, self.n_jobs
                drivers.append(fork.Process(target=write_table, args=arguments))
                drivers[-1].start()

            for _ in range(N_DRIVERS):
                start()
            while any(driver.is_alive() for driver in drivers):
                if time.monotonic() > began + MAX_SECONDS:
                    for driver in drivers:
                        kill_group(driver.pid)
                    raise RuntimeError(f"{url}: not ended after {MAX_SECONDS} s")
                if kills == max_kills:
                    time.sleep(0.01)
                    continue
                time.sleep(self.random.random() * self.seconds / 3)
                alive = [driver for driver in drivers if driver.is_alive()]
                if alive:
                    victim = self.random.choice(alive)
                    victim.kill()
                    victim.join()
                    kill_group(victim.pid)
                    if victim.exitcode:  # it had not ended in the meantime
                        kills += 1
                        start()
            found = [path.read_text() for path in Path(folder).iterdir()]
        self.n_kills += kills
        wrong = [text for text in found if text != self.whole]
        for text in wrong[:1]:
            print(f"{url} is another search: {text[-500:]}", file=sys.stderr)
        counted = self.count(url, kills)
        passed = not wrong and found and counted.pop("right")
        return {"tried": kills, "held": kills if passed else 0, **counted}

    def count(self, url: str, kills: int) -> tally.Figures:
        """Count the trials in a journal, and those that were begun again."""
        rows = list(read_rows(url))
        trials = Content(rows).trials
        claims = sum(kind == "claim" for kind, _ in rows)
        again, in_flight = claims - len(trials), kills * self.n_slots
        right = again <= in_flight and all(trial.details for trial in trials)
        right = right and sum(kind == "result" for kind, _ in rows) == len(trials)
        figures = {"trials": len(trials), "begun_again": again, "in_flight": in_flight}
        return {**figures, "right": right}


def cost(url: str, n_trials: int = 500) -> tally.Figures:
    """Measure the milliseconds of the rows of a trial: proposal, claim and result."""
    ms = []
    with open_journal(f"{url}#cost") as journal:
        for number in range(n_trials):
            params, trial = params_of(number), trial_of(number)
            began = time.perf_counter()
            journal.update()
            journal.record_proposal(number, params, None)
            journal.claim(number)
            journal.record_result(trial)
            ms.append(1e3 * (time.perf_counter() - began))
    return {"mean": np.mean(ms), "median": np.median(ms), "load": os.getloadavg()[0]}


def cases(n_kills: int, seed: int) -> Iterator[tuple]:
    database.BEAT, database.LOOK, database.LEASE = 0.2, 0.1, 1.0
    with tempfile.TemporaryDirectory() as folder:
        urls = {"SQLite": f"sqlite:///{folder}/journals.db"}
        if reason := missing():
            print(f"only SQLite: {reason}")
            yield from attacks(urls, n_kills, seed)
            return
        with server() as url:
            yield from attacks({"PostgreSQL": url, **urls}, n_kills, seed)


def attacks(urls: dict[str, str], n_kills: int, seed: int) -> Iterator[tuple]:
    several = [(kind, n_jobs) for kind in SEARCHES for n_jobs in (None, 2)]
    for name, url in urls.items():
        yield f"ms a trial, {name}", cost, url
        for place, (kind, n_jobs) in enumerate(several):
            rest = (n_kills // len(urls) + place) // len(several)
            attack = Attack(kind, url, n_jobs, seed)
            for number in range(10 * rest):
                if attack.n_kills < rest:
                    table = f"{kind.__name__}_{n_jobs}_{number}"
                    left = min(MAX_KILLS, rest - attack.n_kills)
                    yield f"{kind.__name__}, {name}", attack.run, table, left


if __name__ == "__main__":
    tally.main(cases, n_cases=100)
