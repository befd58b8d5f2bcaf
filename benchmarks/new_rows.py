"""Losses on new rows of searches by several libraries, at equal fits and equal time.

All libraries search the same ranges of a learner, on a part of a table, with five folds
(the tasks of `truth.py`, without its choice of models). The columns are: the mean
logarithm of the ratio (× 1000) of the loss on new rows to that of the estimator's own
values after 10, 25 and 50 trials, and after the time that 25 random trials take; the
percentage of runs whose loss is greater than that of the own values after 50 trials;
and the seconds that 50 trials take. Halving draws three
times as many candidates as the others have trials.

Example: python benchmarks/new_rows.py run --every 4 --seeds 1 --jobs 2 --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import truth
from harness import Record, Runs, Study, main
from methods import Categories, Float, Int, Space, as_notation
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from skbayes import BayesSearchCV

SIZES = (10, 25, 50)
SPACES: dict[str, Space] = {
    "LogisticRegression": {"C": Float(1e-4, 1e4, log=True)},
    "Ridge": {"alpha": Float(1e-4, 1e4, log=True)},
    "neighbors": {
        "n_neighbors": Int(1, 50, log=True),
        "weights": Categories(("uniform", "distance")),
        "p": Float(1.0, 3.0),
    },
    "boosting": {
        "n_estimators": Int(10, 100, log=True),
        "learning_rate": Float(0.01, 0.5, log=True),
        "num_leaves": Int(4, 64, log=True),
        "min_child_samples": Int(1, 50, log=True),
        "colsample_bytree": Float(0.3, 1.0),
        "reg_lambda": Float(1e-3, 100.0, log=True),
    },
    "SVC": {"C": Float(0.01, 1e3, log=True), "gamma": Float(1e-5, 10.0, log=True)},
    "SVR": {
        "C": Float(0.01, 1e3, log=True),
        "gamma": Float(1e-5, 10.0, log=True),
        "epsilon": Float(1e-3, 1.0, log=True),
    },
    "network": {
        "hidden_layer_sizes": Categories(((20,), (50,), (100,), (50, 50))),
        "activation": Categories(("relu", "tanh")),
        "alpha": Float(1e-6, 10.0, log=True),
        "learning_rate_init": Float(1e-4, 0.1, log=True),
    },
    "forest": {
        "max_features": Float(0.1, 1.0),
        "min_samples_leaf": Int(1, 20, log=True),
        "max_depth": Int(2, 30, log=True),
        "bootstrap": Categories((True, False)),
    },
}
METHODS = ("skbayes", "skbayes-ensemble", "random", "halving", "optuna", "flaml")
# Parameters and mean score of each trial, and seconds until it was finished.
Trials = list[tuple[dict[str, Any], float, float]]


def task_names() -> list[str]:
    """Return the tasks with one learner."""
    return [name for name in truth.task_names() if not name.endswith(":choice")]


def space_of(name: str, estimator: Any) -> Space:
    """Return the ranges of the learner of a task."""
    steps = getattr(estimator, "steps", [("", estimator)])
    prefix, model = steps[-1]
    ranges = SPACES.get(type(model).__name__) or SPACES[name.split(":")[1]]
    return {f"{prefix}__{k}" if prefix else k: dim for k, dim in ranges.items()}


class TimedScorer:
    """Scorer that keeps the time of each call."""

    def __init__(self, scoring: str) -> None:
        self.scorer, self.times = get_scorer(scoring), [time.perf_counter()]

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score."""
        score = self.scorer(estimator, X, y)
        self.times.append(time.perf_counter())
        return score

    def of_trials(self, scores: Any, params: Any) -> Trials:
        """Return the trials, given their scores and parameters."""
        ends = np.array(self.times[truth.N_FOLDS :: truth.N_FOLDS]) - self.times[0]
        return list(zip(params, map(float, scores), map(float, ends), strict=True))


def _frozen(dim: Float | Int | Categories) -> Any:
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


def _search(method: str, task: Any, space: Space, n: int, seed: int) -> Trials:
    """Make a search of n trials, one after the other."""
    scorer, common = TimedScorer(task.scoring), {"cv": task.folds(), "refit": False}
    if method == "flaml":
        return _flaml(task, space, n, seed)
    if method == "optuna":
        import optuna
        from optuna_integration import OptunaSearchCV

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        kinds = optuna.distributions
        ranges = {
            k: kinds.CategoricalDistribution(d.options)
            if isinstance(d, Categories)
            else (
                kinds.FloatDistribution
                if isinstance(d, Float)
                else kinds.IntDistribution
            )(d.low, d.high, log=d.log)
            for k, d in space.items()
        }
        search = OptunaSearchCV(
            task.estimator,
            ranges,
            n_trials=n,
            scoring=scorer,
            random_state=seed,
            **common,
        ).fit(task.X, task.y)
        trials = search.trials_
        return scorer.of_trials([t.value for t in trials], [t.params for t in trials])
    common |= {"n_iter": n, "scoring": scorer, "random_state": seed}
    if method == "random":
        ranges = {k: _frozen(d) for k, d in space.items()}
        search = RandomizedSearchCV(task.estimator, ranges, **common)
    else:
        search = BayesSearchCV(task.estimator, as_notation(space), **common)
    results = search.fit(task.X, task.y).cv_results_
    return scorer.of_trials(results["mean_test_score"], results["params"])


def _flaml(task: Any, space: Space, n: int, seed: int) -> Trials:
    from flaml import BlendSearch, tune

    def domain(dim: Float | Int | Categories) -> Any:
        if isinstance(dim, Categories):
            return tune.choice(list(range(len(dim.options))))
        if isinstance(dim, Int):
            return (tune.lograndint if dim.log else tune.randint)(dim.low, dim.high + 1)
        return (tune.loguniform if dim.log else tune.uniform)(dim.low, dim.high)

    done: Trials = []
    begin = time.perf_counter()

    def evaluate(config: Mapping[str, Any]) -> dict[str, float]:
        params = {
            k: d.options[config[k]] if isinstance(d, Categories) else config[k]
            for k, d in space.items()
        }
        model = clone(task.estimator).set_params(**params)
        scores = cross_val_score(
            model, task.X, task.y, cv=task.folds(), scoring=task.scoring
        )
        done.append((params, float(scores.mean()), time.perf_counter() - begin))
        return {"score": float(scores.mean())}

    config = {k: domain(d) for k, d in space.items()}
    search = BlendSearch("score", "max", config, seed=seed)
    tune.run(evaluate, search_alg=search, num_samples=n, verbose=0)
    return done


def _whole(method: str, task: Any, space: Space, n: int, seed: int) -> tuple[Any, Any]:
    """Make a search that is not a prefix of longer ones; return it, and its seconds."""
    begin = time.perf_counter()
    if method == "skbayes-ensemble":
        search = BayesSearchCV(
            task.estimator,
            as_notation(space),
            n_iter=n,
            cv=task.folds(),
            scoring=task.scoring,
            refit="ensemble",
            random_state=seed,
        )
    else:
        from sklearn.experimental import enable_halving_search_cv  # noqa: F401
        from sklearn.model_selection import HalvingRandomSearchCV

        search = HalvingRandomSearchCV(
            task.estimator,
            {k: _frozen(d) for k, d in space.items()},
            n_candidates=3 * n,
            cv=truth.N_FOLDS,
            scoring=task.scoring,
            random_state=seed,
        )
    model = search.fit(task.X, task.y).best_estimator_
    return model, time.perf_counter() - begin


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the losses on new rows of the best trial so far, and the seconds."""
    warnings.simplefilter("ignore")
    task = truth.make_task(name, seed)
    space, n = space_of(name, task.estimator), options["trials"]

    def loss(model: Any) -> float:
        return task.loss(getattr(model, task.method)(task.X_test))

    own = loss(clone(task.estimator).fit(task.X, task.y))
    if method in ("halving", "skbayes-ensemble"):
        sizes = [size for size in SIZES if size <= n] or [n]
        found = [_whole(method, task, space, size, seed) for size in sizes]
        losses, seconds = [loss(model) for model, _ in found], [s for _, s in found]
    else:
        trials = _search(method, task, space, n, seed)
        sizes, seconds = list(range(1, len(trials) + 1)), [t[2] for t in trials]
        losses = list(_losses_of_best(task, trials, loss))
    return {"own": own, "sizes": sizes, "losses": losses, "seconds": seconds}


def _losses_of_best(task: Any, trials: Trials, loss: Any) -> Iterator[float]:
    best, value = -np.inf, np.nan
    for params, score, _ in trials:
        if score > best:
            best = score
            value = loss(clone(task.estimator).set_params(**params).fit(task.X, task.y))
        yield value


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns of all runs that random search has made, too."""
    times = {
        key: r["seconds"][min(24, len(r["seconds"]) - 1)]
        for key, r in runs.get("random", {}).items()
    }
    found: dict[str, dict] = {}
    for method, own in runs.items():
        found[method] = {}
        for key, r in own.items():
            sizes, seconds = np.array(r["sizes"]), np.array(r["seconds"])
            gains = 1000.0 * np.log(np.array(r["losses"]) / r["own"])
            # Before the first trial, the model is the one with the own values.
            gains = np.concatenate([[0.0], gains])
            at = [int(np.sum(sizes <= size)) for size in SIZES]
            at.append(int(np.sum(seconds <= times.get(key, np.inf))))
            worse = 100.0 * (gains[-1] > 1e-6)
            found[method][key] = np.array([*gains[at], worse, seconds[-1]])
    return found


STUDY = Study(
    name="new_rows",
    tasks=task_names,
    methods=METHODS,
    run=run,
    columns=lambda options: [*map(str, SIZES), "equal time", "worse %", "seconds"],
    figures=figures,
    group=lambda task: task.split(":")[1],
    options={"trials": SIZES[-1]},
    seeds=1,
    smallest=(
        *("--tasks", "iris:linear", "--methods", "skbayes,random,skbayes-ensemble"),
        *("--trials", "4", "--seeds", "1"),
    ),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
