"""Searches of several libraries over one space, with the time of each trial."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from logged_scorer import LoggedScorer, Trials
from methods import (
    Categories,
    Float,
    Int,
    Space,
    as_notation,
    as_own,
    flaml_space,
    optuna_space,
)
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from skbayes import BayesSearchCV
from skbayes.results.scores import compared


def incumbents_at(
    search: Any, ends: Iterable[float], begin: float = 0.0
) -> list[tuple[float, dict[str, Any]]]:
    """Return what a search of skbayes would choose if it were interrupted at times.

    They are seconds since `begin`. Times before the first choice are left out.
    """
    chosen = []
    for end in ends:
        trials = (trial for trial in search.trials_ if trial.started is not None)
        ended = [t for t in trials if t.started + t.duration - begin <= end]
        chosen += [(end, dict(trial.params)) for trial in compared(ended)[:1]]
    return chosen


def distribution(dim: Float | Int | Categories) -> Any:
    """Return a dimension for scikit-learn's random searches."""
    if isinstance(dim, Categories):
        return list(dim.options)
    if isinstance(dim, Float):
        kind = stats.loguniform if dim.log else stats.uniform
        return kind(dim.low, dim.high if dim.log else dim.high - dim.low)
    if not dim.log:
        return stats.randint(dim.low, dim.high + 1)
    # A list of 1000 values with the frequencies of a logarithmic scale.
    ends = np.log([dim.low, dim.high + 1 - 1e-9])
    return [int(value) for value in np.exp(np.linspace(*ends, 1000))]


def run_search(
    method: str,
    task: Any,
    space: Space,
    n: int,
    seed: int,
    n_jobs: int = 1,
    **options: Any,
) -> tuple[Trials, Any, float]:
    """Make a search of n trials; return the trials, the search and its seconds.

    `task` has an estimator, rows, folds and a scoring. Halving makes `n` candidates.
    """
    with tempfile.TemporaryDirectory() as folder:
        scorer = LoggedScorer(task.scoring, space, Path(folder) / "folds.jsonl")
        scorer.path.touch()
        folds = task.folds()
        common = {"cv": folds, "scoring": scorer, "n_jobs": n_jobs, "refit": False}
        begin = time.time()
        if method == "flaml":
            search = _flaml(task, space, n, seed, n_jobs, scorer)
        else:
            search = _search(method, task, space, n, seed, common | options)
            search.fit(task.X, task.y)
        seconds = time.time() - begin
        return scorer.trials(begin, len(folds)), search, seconds


def _search(
    method: str, task: Any, space: Space, n: int, seed: int, common: dict[str, Any]
) -> Any:
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingRandomSearchCV

    model = task.estimator
    distributions = {k: distribution(d) for k, d in space.items()}
    match method:
        case "random":
            return RandomizedSearchCV(
                model, distributions, n_iter=n, random_state=seed, **common
            )
        case "halving":
            # Folds are drawn from the part of the rows that a round uses.
            common |= {"cv": len(common["cv"]), "refit": True, "random_state": seed}
            return HalvingRandomSearchCV(model, distributions, n_candidates=n, **common)
        case "optuna":
            import optuna
            from optuna_integration import OptunaSearchCV

            optuna.logging.set_verbosity(optuna.logging.ERROR)
            ranges = optuna_space(space)
            return OptunaSearchCV(
                model, ranges, n_trials=n, random_state=seed, **common
            )
    return BayesSearchCV(
        model, as_notation(space), n_iter=n, random_state=seed, **common
    )


def _flaml(
    task: Any, space: Space, n: int, seed: int, n_jobs: int, scorer: LoggedScorer
) -> Any:
    from flaml import BlendSearch, tune

    def evaluate(config: dict[str, Any]) -> dict[str, float]:
        model = clone(task.estimator).set_params(**as_own(space, config))
        scores = cross_val_score(
            model, task.X, task.y, cv=task.folds(), scoring=scorer, n_jobs=n_jobs
        )
        return {"score": float(scores.mean())}

    search = BlendSearch("score", "max", flaml_space(space), seed=seed)
    return tune.run(evaluate, search_alg=search, num_samples=n, verbose=0)
