"""`rounds="auto"` compared with the number of rounds as a dimension, and with pruning.

The learners are LightGBM, XGBoost and scikit-learn's histogram boosting, on five
tables. The search uses 70 % of the rows with five folds, and the test uses the others.
The following methods are compared:

- "auto": `BayesSearchCV(rounds="auto")`, at most 1000 rounds.
- "raced": the same with `racing=True`, which prunes trials.
- "dimension": the number of rounds is a dimension of the space, from 10 to 1000.
- "100", "1000": the number of rounds is fixed.
- "optuna": Optuna's TPE and median pruner. For LightGBM and XGBoost, a trial is one
  cross-validation with early stopping on the mean curve, which may be pruned after each
  round. Histogram boosting uses the early stopping of the estimator, and may be pruned
  after each fold.
- "tuner": Optuna's `LightGBMTunerCV` with its own parameters and numbers of trials.
- "short": "auto" with half of the patience.
- "impatient": "auto" without early stopping, so that all fits have 1000 rounds.

The processor time is recorded after each trial. The test loss of each incumbent, fitted
on all training rows, is measured afterwards. All results are relative to "dimension"
with the same table, learner and seed:

- the test loss at the end;
- the processor time;
- the test loss after half of the time of "dimension";
- the time until the last test loss of "dimension" is reached, as a share of its time.

Example: ``python benchmarks/rounds.py --seeds 3 --save --picture``
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from common import HERE, Cache, names, run_all, save_results
from rounds_rivals import optuna_pruned, tuner_cv
from rounds_tasks import CAP, DATA, LEARNERS, ROUNDS_NAME, Task, load_task
from sklearn.base import clone

from skbayes import BayesSearchCV
from skbayes.evaluation.trial import History, Trial, TrialState

ABLATIONS = ("short", "impatient")
WAYS = ("auto", "raced", "dimension", "100", "1000", "optuna", "tuner", *ABLATIONS)
RIVALS = {"optuna": optuna_pruned, "tuner": tuner_cv}
SCORINGS = ("neg_log_loss", "accuracy")
SHORT = {"neg_log_loss": "log loss", "accuracy": "error"}
# Shares of the time of "dimension" at which losses are compared.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
# Factors of the rounds with which the last incumbent is fitted again.
FACTORS = (1.1, 1.25)
PICTURE = HERE.parent / "docs" / "images" / "rounds.png"
Record = dict[str, Any]


# -- searches --------------------------------------------------------------------------


def search(task: Task, way: str, seed: int, n_trials: int) -> list[Record]:
    """Run a search of skbayes; return its trials with the elapsed time of each."""
    name = ROUNDS_NAME[task.learner]
    space, model = dict(task.space), clone(task.estimator)
    options: dict[str, Any] = {}
    if way == "dimension":
        space[name] = (10, CAP, "log-uniform")
    elif way.isdecimal():
        model.set_params(**{name: int(way)})
    else:
        options = {"rounds": "auto", "racing": way == "raced"}
    seconds: list[float] = []
    trials: list[Trial] = []

    def clock(history: History) -> bool:
        seconds.append(time.process_time() - begin)
        trials.append(history[-1])
        return False

    begin = time.process_time()
    BayesSearchCV(
        model,
        space,
        n_iter=n_trials,
        cv=task.splits,
        scoring=task.scoring,
        stopper=clock,
        refit=False,
        random_state=seed,
        **options,
    ).fit(task.X, task.y)
    shift = 1.0 if task.scoring == "accuracy" else 0.0
    finished = []
    for spent, trial in zip(seconds, trials, strict=True):
        own = dict(trial.params)
        if trial.rounds is not None:
            own[name] = trial.rounds
        elif way.isdecimal():
            own[name] = int(way)
        complete = trial.state == TrialState.COMPLETE
        loss = shift - trial.score if complete else None
        finished.append({"seconds": spent, "loss": loss, "params": own})
    return finished


@contextmanager
def variant(way: str) -> Iterator[None]:
    """Change the patience of `rounds="auto"`."""
    from skbayes.evaluation import learning_curves
    from skbayes.evaluation.rounds import watched_fit

    if way == "short":
        halves = {
            name: getattr(learning_curves, name) / 2
            for name in ("MIN_PATIENCE", "PATIENCE_OF_CAP", "PATIENCE_OF_BEST")
        }
        with mock.patch.multiple(learning_curves, **halves):
            yield
    elif way == "impatient":
        with mock.patch.object(watched_fit, "has_stalled", lambda *args: False):
            yield
    else:
        yield


def run(
    way: str, learner: str, data: str, seed: int, scoring: str, n_trials: int
) -> Record:
    """Run one search, and measure the test losses of its incumbents."""
    warnings.simplefilter("ignore")
    task = load_task(learner, data, seed, scoring)
    with variant(way):
        make: Callable = RIVALS.get(way, lambda *args: search(task, way, *args[1:]))
        finished = make(task, seed, n_trials)
    best: Record = {"loss": math.inf}
    for trial in finished:
        if trial["loss"] is not None and trial["loss"] < best["loss"]:
            best = {**trial, "test": task.test_loss(trial["params"])}
        trial["test"] = best["test"]
    name = ROUNDS_NAME[learner]
    rounds = best["params"][name]
    scaled = [
        task.test_loss({**best["params"], name: round(factor * rounds)})
        for factor in (FACTORS if way == "auto" else ())
    ]
    return {
        "learner": learner,
        "data": data,
        "seed": seed,
        "scoring": scoring,
        "seconds": [round(trial["seconds"], 3) for trial in finished],
        "test": [round(trial["test"], 6) for trial in finished],
        "cv": round(best["loss"], 6),
        "pruned": sum(trial["loss"] is None for trial in finished),
        "rounds": rounds,
        "scaled": [round(loss, 6) for loss in scaled],
    }


# -- summary ---------------------------------------------------------------------------


def at_time(record: Record, seconds: float) -> float:
    """Return the test loss of the incumbent at a time, NaN before the first trial."""
    n_done = int(np.searchsorted(record["seconds"], seconds, side="right"))
    return record["test"][n_done - 1] if n_done else math.nan


def time_until(record: Record, loss: float) -> float:
    """Return the time at which a test loss is reached; infinite if it never is."""
    pairs = zip(record["seconds"], record["test"], strict=True)
    return next((seconds for seconds, test in pairs if test <= loss), math.inf)


def compare(record: Record, reference: Record) -> dict[str, float]:
    """Return the results of one run relative to "dimension" on the same task."""
    total, last = reference["seconds"][-1], reference["test"][-1]
    figures = {
        "loss": 100.0 * (record["test"][-1] / last - 1.0),
        "time": record["seconds"][-1] / total,
        "until": time_until(record, last) / total,
        "optimism": _optimism(record) - _optimism(reference),
        "pruned": record["pruned"] / len(record["seconds"]),
        "rounds": record["rounds"],
    }
    for share in SHARES:
        loss = at_time(record, share * total)
        figures[f"at {share}"] = 100.0 * (loss / last - 1.0)
    for factor, loss in zip(FACTORS, record["scaled"], strict=False):
        figures[f"x{factor}"] = 100.0 * (loss / record["test"][-1] - 1.0)
    return figures


def _optimism(record: Record) -> float:
    """Return by how many percent the test loss exceeds that of cross-validation."""
    return 100.0 * (record["test"][-1] / record["cv"] - 1.0)


def summarize(runs: Iterable[dict[str, float]]) -> dict[str, Any]:
    """Return means and standard errors; for times, geometric means and medians."""
    table = defaultdict(list)
    for figures in runs:
        for name, value in figures.items():
            table[name].append(value)
    summary: dict[str, Any] = {"runs": len(table["loss"])}
    for name, values in table.items():
        known = np.array(values, dtype=float)
        if name == "until":
            summary["reached"] = round(float(np.isfinite(known).mean()), 3)
            middle = float(np.median(known))
            summary["median until"] = round(middle, 3) if middle < math.inf else None
            summary["within half"] = round(float((known <= 0.5).mean()), 3)
        elif name == "time":
            summary[name] = round(float(np.exp(np.log(known).mean())), 3)
        else:
            known = known[np.isfinite(known)]
            summary[name] = _mean_and_error(known)
    return summary


def _mean_and_error(values: np.ndarray) -> list[float | None]:
    if not len(values):
        return [None, None]
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return [
        round(float(values.mean()), 2),
        round(float(error), 2) if error == error else None,
    ]


def figures_of(cache: Cache, scoring: str, part: str = "") -> Record:
    """Summarize the finished runs of each method, paired with those of "dimension".

    `part` is a learner or a table; if it is empty, all runs are used.
    """
    reference = {_key(r): r for r in cache.load("dimension") if r["scoring"] == scoring}
    found = {}
    for way in WAYS:
        runs = [
            compare(record, reference[_key(record)])
            for record in cache.load(way)
            if _key(record) in reference
            and part in ("", record["learner"], record["data"])
        ]
        if runs:
            found[way] = summarize(runs)
    return found


def _key(record: Record) -> tuple:
    return tuple(record[name] for name in ("learner", "data", "seed", "scoring"))


def summary_of(cache: Cache, n_trials: int) -> Record:
    """Summarize all finished runs: over all tasks, by learner, and by table."""
    result: Record = {"trials": n_trials, "seeds": _seeds(cache)}
    for scoring in SCORINGS:
        parts = {"all": "", **{name: name for name in (*LEARNERS, *DATA)}}
        own = {at: figures_of(cache, scoring, part) for at, part in parts.items()}
        result[SHORT[scoring]] = {name: found for name, found in own.items() if found}
    result["curves"] = {learner: curves_of(cache, learner) for learner in LEARNERS}
    return result


def _seeds(cache: Cache) -> int:
    return len({r["seed"] for r in cache.load("auto")})


# -- figure ----------------------------------------------------------------------------

COLORS = {
    "auto": "#d62728",
    "raced": "#ff7f0e",
    "dimension": "#1f77b4",
    "optuna": "#2ca02c",
    "tuner": "#8c564b",
    "100": "0.6",
    "1000": "0.3",
}
NAMES = {
    "auto": 'rounds="auto"',
    "raced": 'rounds="auto", racing',
    "dimension": "rounds as a dimension",
    "100": "100 rounds",
    "1000": "1000 rounds",
    "optuna": "Optuna, pruned",
    "tuner": "LightGBMTunerCV",
}
TITLES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "histgb": "HistGradientBoosting",
}
TIMES = np.geomspace(0.02, 4.0, 60)


def curves_of(cache: Cache, learner: str) -> Record:
    """Return mean test losses over time of each method, in percent of "dimension".

    The mean is over the runs that the first four methods have finished. Other methods
    are included if they have finished these runs, too. The time is in units of the time
    of "dimension". A value is None if some run has no trial yet.
    """
    by_way = {
        way: {
            _key(r): r
            for r in cache.load(way)
            if (r["learner"], r["scoring"]) == (learner, SCORINGS[0])
        }
        for way in COLORS
    }
    first = [by_way[way] for way in list(COLORS)[:4]]
    shared = sorted(set.intersection(*(set(runs) for runs in first)))
    if not shared:
        return {}
    curves: Record = {"runs": len(shared), "times": TIMES.round(4).tolist()}
    for way, runs in by_way.items():
        if set(runs) >= set(shared):
            pairs = [(runs[key], by_way["dimension"][key]) for key in shared]
            curves[way] = _mean_curve(pairs)
    return curves


def _mean_curve(pairs: list[tuple[Record, Record]]) -> list[float | None]:
    losses = np.array(
        [
            [at_time(record, time * reference["seconds"][-1]) for time in TIMES]
            for record, reference in pairs
        ]
    )
    last = np.array([reference["test"][-1] for _, reference in pairs])
    mean = np.mean(100.0 * (losses / last[:, None] - 1.0), axis=0)
    return [round(float(one), 3) if math.isfinite(one) else None for one in mean]


def draw(summary: Record) -> None:
    """Plot test losses over time from a saved summary."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(LEARNERS), figsize=(10, 3.9), sharey=True)
    for ax, learner in zip(axes, LEARNERS, strict=True):
        curves = summary["curves"][learner]
        if not curves:
            continue
        for way, color in COLORS.items():
            if way in curves:
                style = {"color": color, "linewidth": 2 if way == "auto" else 1.3}
                losses = np.array(curves[way], dtype=float)
                times = curves["times"]
                ax.step(times, losses, where="post", label=NAMES[way], **style)
        ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        ax.set(xscale="log", title=TITLES[learner], ylim=(-5, 20))
        ax.set_xticks([0.03, 0.1, 0.3, 1.0, 3.0], ["0.03", "0.1", "0.3", "1", "3"])
        ax.minorticks_off()
        ax.set_xlabel("processor time, share")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("test log loss, difference in %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.tight_layout(rect=(0.0, 0.1, 1.0, 1.0))
    figure.legend(
        handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=8
    )
    figure.savefig(PICTURE, dpi=90)
    print(f"written: {PICTURE.relative_to(HERE.parent)}")


# -- command ---------------------------------------------------------------------------


def show(found: Record) -> None:
    columns = ("loss", "at 0.5", "optimism", "pruned", "rounds", "x1.1", "x1.25")
    for title, ways in found.items():
        print(f"\n{title:18s}{'runs':>6s}{'time':>8s}{'reached':>9s}{'until':>8s}"
              + "".join(f"{name:>18s}" for name in columns))  # fmt: skip
        for way, own in ways.items():
            until = own["median until"]
            line = f"{way:18s}{own['runs']:6d}{own['time']:8.2f}{own['reached']:9.2f}"
            line += f"{'never' if until is None else f'{until:.2f}':>8s}"
            for name in columns:
                mean, error = own.get(name, (None, None))
                text = "" if mean is None else f"{mean:.2f}"
                line += f"{text if error is None else f'{text} ± {error:.2f}':>18s}"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", type=names(WAYS), default=list(WAYS))
    parser.add_argument("--learners", type=names(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--data", type=names(DATA), default=list(DATA))
    parser.add_argument("--scorings", type=names(SCORINGS), default=[SCORINGS[0]])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--fresh", action="store_true", help="delete the finished runs")
    parser.add_argument("--show", action="store_true", help="print finished runs only")
    parser.add_argument("--save", action="store_true", help="write the summary")
    parser.add_argument("--picture", action="store_true", help="plot the saved summary")
    args = parser.parse_args()
    cache = Cache("rounds")
    done = cache.done(args.ways, ("learner", "data", "seed", "scoring"), args.fresh)
    jobs = [
        (way, (way, learner, data, seed, scoring, args.trials))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
        for scoring in args.scorings
        for data in args.data
        for learner in args.learners
        for way in args.ways
        if (way != "tuner" or learner == "lightgbm")
        and (way, learner, data, seed, scoring) not in done
    ]
    if not args.show:
        run_all(run, jobs, cache, args.jobs)
    summary = summary_of(cache, args.trials)
    for scoring in SHORT.values():
        show(summary[scoring])
    if args.save:
        save_results("rounds", summary)
    if args.picture:
        path = HERE / "results" / "rounds.json"
        draw(json.loads(path.read_text()))


if __name__ == "__main__":
    main()
