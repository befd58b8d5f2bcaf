"""Comparison of searches in stages with searches on all rows and on a subset.

- "full", "subset": BayesSearchCV on all training rows and on 30 % of them.
- "stages": MultiStageSearchCV with its defaults.
- "stages-own": the same with multi_fidelity=False.
- "stages-40": the same with 40 % of the trials on the subset, as the times in the paper
  imply for boosted trees.
- "halving": scikit-learn's HalvingRandomSearchCV. Its number of candidates is chosen so
  that it trains on no more rows in total than "stages".
- "optuna": Optuna's TPE with its SuccessiveHalvingPruner on 1/9, 1/3 and all of the
  rows, for as many seconds as "stages" took.

Except for "halving" and "optuna", all methods make --trials trials, with the same
splits and the same first configurations.

Times are processor seconds of the search including proposals but without the refit;
other load on the machine does not count. Test scores are those of the chosen
configuration, trained on all training rows. The scores "as found" are those of the
configuration trained on the rows on which it was tried. Differences are paired by seed.
The curve is the test score of the best configuration so far; in stages, of the latest
stage with a finished trial.

Example: python benchmarks/multi_stage.py --tasks yelp --seeds 20
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from common import HERE, Cache, names, run_all, save_results
from sample_tasks import DATA, TASKS, Task, load_task
from sklearn.base import clone
from sklearn.metrics import check_scoring

from skbayes import MultiStageSearchCV
from skbayes.evaluation.subsets import Fidelity, Subsets
from skbayes.search.multi_stage import _shares

FRACTION = 0.3
STAGES = {
    "subset": (FRACTION,),
    "full": (1.0,),
    "stages": (FRACTION, 1.0),
    "stages-40": (FRACTION, 1.0),
    "stages-own": (FRACTION, 1.0),
}
LATE_SHARE = 0.4
METHODS = (*STAGES, "halving", "optuna")
N_TIMES = 40


class Judge:
    """Test scores of configurations, each computed once."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task = task
        self._scorer = check_scoring(task.estimator, task.scoring)
        self._known: dict[str, float] = {}
        classifier = hasattr(task.estimator, "predict_proba") or task.groups is None
        labels = task.y if classifier else None
        self._subsets = Subsets.draw(
            [(task.whole, [])],
            [Fidelity(train_size=FRACTION)],
            labels=labels,
            groups=task.groups,
            seed=seed,
        )

    def __call__(self, params: dict[str, Any], fraction: float = 1.0) -> float:
        """Return the test score of a model trained on a fraction of the rows."""
        key = json.dumps([sorted(params.items()), fraction])
        if key not in self._known:
            fidelity = Fidelity(train_size=fraction)
            rows = self._subsets.rows(0, self._task.whole, fidelity)
            model = clone(self._task.estimator).set_params(**params)
            model.fit(self._task.X[rows], self._task.y[rows])
            score = self._scorer(model, self._task.X_test, self._task.y_test)
            self._known[key] = float(score)
        return self._known[key]


def in_stages(task: Task, method: str, seed: int, n_trials: int) -> dict[str, Any]:
    """Run one of the searches of skbayes."""
    clock = [time.process_time()]

    def note(history: Any) -> bool:
        clock.append(time.process_time())
        return False

    late = round(LATE_SHARE * n_trials)
    search = MultiStageSearchCV(
        task.estimator,
        task.space,
        stages=STAGES[method],
        multi_fidelity=False if method == "stages-own" else "auto",
        n_iter=n_trials,
        trials_per_stage=[late, n_trials - late] if method == "stages-40" else None,
        scoring=task.scoring,
        cv=task.splits,
        refit=False,
        stopper=note,
        random_state=seed,
    )
    keywords = {} if task.groups is None else {"groups": task.groups}
    search.fit(task.X, task.y, **keywords)
    judge = Judge(task, seed)
    curve, incumbent = [], None
    for trial, now in zip(search.trials_, clock[1:], strict=True):
        better = incumbent is None or trial.stage > incumbent.stage
        if better or trial.score > incumbent.score:
            incumbent = trial
        found = judge(incumbent.params, incumbent.train_fraction)
        refitted = judge(incumbent.params)
        curve.append([now - clock[0], incumbent.score, found, refitted])
    table = search.stage_correlation_
    return {
        "seconds": clock[-1] - clock[0],
        "curve": curve,
        "found": curve[-1][2],
        "test": curve[-1][3],
        "best_params": incumbent.params,
        "correlation": {name: list(map(float, table[name])) for name in table},
    }


def n_rows_of_halving(n_candidates: int, n: int) -> float:
    """Return the number of rows that a halving search by 3 trains on.

    The last iteration uses all rows.
    """
    n_rounds = 1 + int(np.log(n_candidates) / np.log(3) + 1e-9)
    sizes = n / 3.0 ** np.arange(n_rounds - 1, -1, -1)
    left = [-(-n_candidates // 3**k) for k in range(n_rounds)]
    return float(np.dot(sizes, left))


def halving(task: Task, seed: int, n_trials: int) -> dict[str, Any]:
    """Run scikit-learn's halving search on as many rows as the search in stages."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401, I001
    from sklearn.model_selection import HalvingRandomSearchCV

    n = len(task.whole)
    cheap, full = _shares(n_trials, 2)
    budget = (FRACTION * cheap + full) * n
    n_candidates = 3
    while n_rows_of_halving(n_candidates + 1, n) <= budget:
        n_candidates += 1
    keywords = {} if task.groups is None else {"groups": task.groups}
    begin = time.process_time()
    search = HalvingRandomSearchCV(
        task.estimator,
        {name: _distribution(values) for name, values in task.space.items()},
        n_candidates=n_candidates,
        min_resources="exhaust",
        scoring=task.scoring,
        cv=_Given(task.splits),
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y, **keywords)
    seconds = time.process_time() - begin
    params = {name: _plain(value) for name, value in search.best_params_.items()}
    return {
        "seconds": seconds,
        "test": Judge(task, seed)(params),
        "best_params": params,
        "n_candidates": n_candidates,
    }


class _Given:
    """Splitter with given splits; the halving search requires a reproducible one."""

    random_state, shuffle = 0, False

    def __init__(self, splits: Any) -> None:
        self.splits = splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return iter(self.splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return len(self.splits)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _distribution(values: Any) -> Any:
    from scipy.stats import loguniform, randint, uniform

    if isinstance(values, list):
        return values
    low, high = values[:2]
    log = values[2:] == ("log-uniform",)
    if isinstance(low, int):
        return _LogInteger(low, high) if log else randint(low, high + 1)
    return loguniform(low, high) if log else uniform(low, high - low)


class _LogInteger:
    """Distribution of whole numbers that is uniform on a log scale."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def rvs(self, random_state: Any = None) -> int:
        low, high = np.log(self.low - 0.5), np.log(self.high + 0.5)
        drawn = round(float(np.exp(random_state.uniform(low, high))))
        return int(np.clip(drawn, self.low, self.high))


def with_optuna(task: Task, seed: int, seconds: float) -> dict[str, Any]:
    """Run Optuna until the time limit."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    scorer = check_scoring(task.estimator, task.scoring)
    sizes = (1 / 9, 1 / 3, 1.0)
    classes = task.y if task.groups is None else None
    subsets = Subsets.draw(
        task.splits,
        [Fidelity(train_size=size) for size in sizes],
        labels=classes,
        groups=task.groups,
        seed=seed,
    )

    def suggest(trial: Any, name: str, values: Any) -> Any:
        if isinstance(values, list):
            return trial.suggest_categorical(name, values)
        log = values[2:] == ("log-uniform",)
        kind = "int" if isinstance(values[0], int) else "float"
        return getattr(trial, f"suggest_{kind}")(name, *values[:2], log=log)

    def objective(trial: Any) -> float:
        params = {n: suggest(trial, n, values) for n, values in task.space.items()}
        for step, size in enumerate(sizes):
            scores = []
            for split, (train, dev) in enumerate(task.splits):
                rows = subsets.rows(split, train, Fidelity(train_size=size))
                model = clone(task.estimator).set_params(**params)
                model.fit(task.X[rows], task.y[rows])
                scores.append(scorer(model, task.X[dev], task.y[dev]))
            value = float(np.mean(scores))
            trial.report(value, 3**step)
            if step < 2 and trial.should_prune():
                raise optuna.TrialPruned
        return value

    begin = time.process_time()

    def stop_in_time(study: Any, trial: Any) -> None:
        if time.process_time() - begin > seconds:
            study.stop()

    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=3
        ),
    )
    study.optimize(objective, n_trials=10_000, callbacks=[stop_in_time])
    spent = time.process_time() - begin
    return {
        "seconds": spent,
        "test": Judge(task, seed)(study.best_params),
        "best_params": study.best_params,
        "n_candidates": len(study.trials),
    }


def run(
    method: str, name: str, seed: int, n_trials: int, data: str, seconds: float
) -> dict[str, Any]:
    """Run one search, and compute the test scores of its configurations."""
    warnings.simplefilter("ignore")
    task = load_task(name, seed, data)
    if method == "halving":
        record = halving(task, seed, n_trials)
    elif method == "optuna":
        record = with_optuna(task, seed, seconds)
    else:
        record = in_stages(task, method, seed, n_trials)
    return {"task": name, "method": method, "seed": seed, "n": n_trials, **record}


# -- summary --------------------------------------------------------------------------


def mean_se(values: Any) -> tuple[float, float]:
    values = np.asarray(values, dtype=float)
    se = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return float(values.mean()), float(se)


def at_times(record: dict[str, Any], times: np.ndarray, column: int) -> np.ndarray:
    """Return the curve at some times, NaN before the end of the first trial."""
    curve = np.array(record["curve"])
    places = np.searchsorted(curve[:, 0], times, side="right") - 1
    return np.where(places >= 0, curve[np.maximum(places, 0), column], np.nan)


def share_not_below(
    found: dict[str, dict[int, dict]],
    other: str,
    seeds: list[int],
    column: int,
    until: str,
) -> float:
    """Return the share of times at which "stages" is not worse than another method.

    The mean difference may be at most one standard error below zero. The times are an
    even grid, from the first time at which all methods have a trial until the average
    end of the search `until`.
    """
    last = np.mean([found[until][s]["seconds"] for s in seeds])
    first = max(found[m][s]["curve"][0][0] for m in ("stages", other) for s in seeds)
    times = np.linspace(first, last, N_TIMES)
    differences = np.array(
        [
            at_times(found["stages"][s], times, column)
            - at_times(found[other][s], times, column)
            for s in seeds
        ]
    )
    se = differences.std(axis=0, ddof=1) / len(seeds) ** 0.5
    return float(np.mean(differences.mean(axis=0) + se >= 0.0))


def summarize(name: str, found: dict[str, dict[int, dict]], n: int) -> dict[str, Any]:
    """Print and return the table of a task."""
    methods = [m for m in METHODS if found.get(m)]
    common = set.intersection(*(set(found[m]) for m in ("subset", "full", "stages")))
    seeds = sorted(common)
    if not seeds:
        return {}
    rows: dict[str, Any] = {}
    print(f"\n{name}: {len(seeds)} seeds, {n} trials")
    for m in methods:
        its_seeds = sorted(common & set(found[m]))
        records = [found[m][s] for s in its_seeds]
        if not records:
            continue
        row: dict[str, Any] = {"seeds": len(records)}
        row["test"] = mean_se([r["test"] for r in records])
        row["seconds"] = mean_se([r["seconds"] for r in records])
        if m in STAGES:
            row["found"] = mean_se([r["found"] for r in records])
            row["validation"] = mean_se([r["curve"][-1][1] for r in records])
        for other in ("full", "stages"):
            if other in methods and m != other:
                pairs = [(found[m][s], found[other][s]) for s in its_seeds]
                row[f"test_minus_{other}"] = mean_se(
                    [a["test"] - b["test"] for a, b in pairs]
                )
                row[f"time_of_{other}"] = mean_se(
                    [a["seconds"] / b["seconds"] for a, b in pairs]
                )
                if m in STAGES:
                    row[f"validation_minus_{other}"] = mean_se(
                        [a["curve"][-1][1] - b["curve"][-1][1] for a, b in pairs]
                    )
        rows[m] = row
        shown = ", ".join(
            f"{k} {v}" if k == "seeds" else f"{k} {v[0]:.4f} ± {v[1]:.4f}"
            for k, v in row.items()
        )
        print(f"  {m:10s} {shown}")
    summary: dict[str, Any] = {"seeds": len(seeds), "trials": n, "methods": rows}
    if "stages" in methods and len(seeds) > 1:
        summary["times_not_below"] = {
            f"{other}, {label}, until {until} ends": share_not_below(
                found, other, seeds, column, until
            )
            for other in ("full", "subset")
            for column, label in ((2, "as found"), (3, "refitted"))
            for until in ("stages", "full")
        }
        for key in ("rank_correlation", "model_correlation"):
            values = [found["stages"][s]["correlation"][key][0] for s in seeds]
            summary[key] = mean_se([v for v in values if np.isfinite(v)])
        print("  ", {k: v for k, v in summary.items() if k not in ("methods",)})
    return summary


def draw(records: dict[str, dict[str, dict[int, dict]]], path: str) -> None:
    """Plot the curves of all tasks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    labels = {"subset": "30 % of the rows", "full": "all rows", "stages": "in stages"}
    figure, axes = plt.subplots(
        2, len(records), figsize=(3.2 * len(records), 5.2), squeeze=False
    )
    for place, (name, found) in enumerate(records.items()):
        seeds = sorted(set.intersection(*(set(found[m]) for m in labels)))
        last = np.mean([found["full"][s]["seconds"] for s in seeds])
        for line, (column, title) in enumerate(
            [(2, "trained as found"), (3, "refitted on all rows")]
        ):
            ax = axes[line][place]
            for m, label in labels.items():
                first = max(found[m][s]["curve"][0][0] for s in seeds)
                times = np.geomspace(first, last, 200)
                curves = np.array([at_times(found[m][s], times, column) for s in seeds])
                mean = curves.mean(axis=0)
                se = curves.std(axis=0, ddof=1) / len(seeds) ** 0.5
                (drawn,) = ax.plot(times, mean, label=label)
                ax.fill_between(
                    times, mean - se, mean + se, alpha=0.2, color=drawn.get_color()
                )
                end = np.mean([found[m][s]["seconds"] for s in seeds])
                at_end = np.mean([found[m][s]["curve"][-1][column] for s in seeds])
                ax.plot([min(end, last)], [at_end], "o", color=drawn.get_color(), ms=4)
            bottom = min(
                np.mean([found[m][s]["curve"][-1][column] for s in seeds])
                for m in labels
            )
            top = ax.get_ylim()[1]
            ax.set_ylim(bottom - 1.5 * (top - bottom) - 1e-3, top)
            ax.set_xscale("log")
            ax.set_title(f"{name}, {title}", fontsize=9)
            if line == 1:
                ax.set_xlabel("processor seconds")
            if place == 0:
                ax.set_ylabel("test score")
    axes[0][0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS))
    parser.add_argument(
        "--seeds", type=int, default=5, help="end of the range of seeds"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--data", default=str(DATA), help="path of the data")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--draw", action="store_true", help="plot to docs/images")
    arguments = parser.parse_args()
    cache = Cache("multi_stage")
    found: dict[str, dict[str, dict[int, dict]]] = {}

    def look_up() -> None:
        for name in arguments.tasks:
            for m in METHODS:
                found.setdefault(name, {})[m] = {
                    r["seed"]: r
                    for r in cache.load(f"{name}-{m}")
                    if r["n"] == arguments.trials
                }

    for seed in range(arguments.first_seed, arguments.seeds):
        # The time of Optuna is that of the search in stages.
        for last in (False, True):
            look_up()
            jobs = [
                (
                    f"{name}-{m}",
                    (
                        m,
                        name,
                        seed,
                        arguments.trials,
                        arguments.data,
                        found[name]["stages"][seed]["seconds"] if last else 0.0,
                    ),
                )
                for name in arguments.tasks
                for m in arguments.methods
                if (m == "optuna") == last and seed not in found[name][m]
                if not last or seed in found[name]["stages"]
            ]
            run_all(run, jobs, cache, arguments.jobs)
    look_up()
    summaries = {
        name: summarize(name, found[name], arguments.trials) for name in arguments.tasks
    }
    if arguments.save:
        save_results("multi_stage", {"tasks": summaries})
    if arguments.draw:
        image = HERE.parent / "docs" / "images" / "multi_stage.png"
        draw(found, str(image))


if __name__ == "__main__":
    main()
