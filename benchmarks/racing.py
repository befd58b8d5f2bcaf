"""Racing: saved fits, and losses due to trials that are pruned after bad folds.

`BayesSearchCV` is run with racing=True and racing=False on tasks of sklearn_tasks.py.
All fits run sequentially, until --trials times --folds fits are spent, so racing makes
more trials. The output is the number of fits that racing needs for the same number of
trials. It also contains the regret (best complete trial so far) at equal numbers of
trials and of fits.

The regret is normalized: 0 is the best score that any cached run on the task found with
that number of folds. The value 1000 is the median of the trials that the surrogates did
not choose, which are the first ten of each search. Means are over tasks, and standard
errors are over seeds. Differences are racing − without, paired by seed: negative values
are in favor of racing.

The share "pruned" is that of the pruned trials. The number "winners lost" counts the
pruned trials that, fitted on all folds, have a better mean than the best trial at the
time of pruning.

With --simulate N, no estimator is fitted. The scores of N searches are drawn: normal
means of the trials, plus effects of the folds, plus noise of a fold and trial. The
standard deviation of the noise is the same everywhere ("equal"), log-normal by fold
("folds differ") or by trial ("trials differ"), or five times as large in one fold ("one
noisy fold"). Its logarithm has a standard deviation of 0.75. "Best lost" is the share
of searches that prune the trial that has the best mean over all folds. "Close" trials
have a standard deviation of means that is half the root mean square of the noise,
"medium" the same, and "spread" twice.

Commands:
    python benchmarks/racing.py --seeds 5 --folds 10 --jobs 2
    python benchmarks/racing.py --simulate 400 --folds 3,5,10 --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import HERE, Cache, names, run_all, save_results
from methods import Categories, Float
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn_tasks import DIGITS_ROWS, LEARNERS

from skbayes import BayesSearchCV
from skbayes.evaluation.racing import Race
from skbayes.evaluation.trial import History

TASKS = (
    "digits-svm",
    "breast_cancer-svm",
    "wine-svm",
    "diabetes-svm",
    "digits-linear",
    "breast_cancer-linear",
    "breast_cancer-boosting",
    "diabetes-boosting",
)
N_DESIGN = 10
MODES = ("without", "racing")

RESULTS = HERE / "results" / "racing.json"

# Simulated searches.
RISK = 0.01  # the default of `racing=True`
N_SIMULATED_TRIALS = 40
NOISES = ("equal", "folds differ", "one noisy fold", "trials differ")
SPREADS = {"close": 0.5, "medium": 1.0, "spread": 2.0}


def load(data: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    if data == "digits":
        rows = np.random.default_rng(0).permutation(len(y))[:DIGITS_ROWS]
        X, y = X[rows], y[rows]
    if data == "diabetes":
        y = (y - y.mean()) / y.std()
    return X, y


def fits_spent(n_fits: int) -> Callable[[History], bool]:
    """Return a stopper that ends a search after a number of fits."""

    def stopper(history: History) -> bool:
        return sum(not fold.skipped for fold in history.folds) >= n_fits

    return stopper


def run(mode: str, task: str, seed: int, n_folds: int, n_fits: int) -> dict[str, Any]:
    """Run one search."""
    warnings.simplefilter("ignore")
    data, learner = task.split("-")
    X, y = load(data)
    build, space = LEARNERS[learner][data == "diabetes"]
    model = build()
    pipeline = make_pipeline(StandardScaler(), model)
    prefix = pipeline.steps[-1][0]
    notation: dict[str, Any] = {}
    for name, dim in space.items():
        if isinstance(dim, Categories):
            notation[f"{prefix}__{name}"] = list(dim.options)
            continue
        log = "log-uniform" if dim.log else "uniform"
        kind = float if isinstance(dim, Float) else int
        notation[f"{prefix}__{name}"] = (kind(dim.low), kind(dim.high), log)
    splitter = KFold if data == "diabetes" else StratifiedKFold
    cv = splitter(n_folds, shuffle=True, random_state=0)
    search = BayesSearchCV(
        pipeline,
        notation,
        n_iter=n_fits,
        stopper=fits_spent(n_fits),
        racing=mode == "racing",
        cv=cv,
        refit=False,
        random_state=seed,
    ).fit(X, y)
    trials, best, lost = [], -np.inf, 0
    for trial in search.trials_:
        if trial.state == "pruned":
            whole = pipeline.set_params(**trial.params)
            lost += bool(np.mean(cross_val_score(whole, X, y, cv=cv)) > best)
        elif trial.state == "complete":
            best = max(best, trial.score)
        trials.append(
            {
                "state": trial.state,
                "score": trial.score if trial.state == "complete" else None,
                "fits": sum(not fold.skipped for fold in trial.folds),
            }
        )
    return {"task": task, "seed": seed, "trials": trials, "lost": lost}


def best_so_far(record: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the best score after each trial, and the number of fits."""
    score = [-np.inf if t["score"] is None else t["score"] for t in record["trials"]]
    fits = np.cumsum([trial["fits"] for trial in record["trials"]])
    return np.maximum.accumulate(score), fits


def mean_se(values: np.ndarray) -> tuple[float, float]:
    """Return the mean over tasks and seeds (first axis), and its standard error."""
    by_seed = values.mean(axis=1)
    se = by_seed.std(ddof=min(1, len(by_seed) - 1)) / len(by_seed) ** 0.5
    return round(float(by_seed.mean()), 2), round(float(se), 2)


def summarize(
    records: dict[str, dict[tuple[str, int], dict[str, Any]]],
    tasks: list[str],
    seeds: list[int],
    n_folds: int,
    n_trials: int,
) -> dict[str, Any]:
    """Print and return regrets and counts."""
    shape = (len(seeds), len(tasks))
    raced, lost, saved = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    points = [n_trials // 2, n_trials]
    regret = {
        (mode, what, n): np.zeros(shape)
        for mode in MODES
        for what in ("trials", "fits")
        for n in points
    }
    for j, task in enumerate(tasks):
        of_task = [records[mode][task, seed] for mode in MODES for seed in seeds]
        best = max(best_so_far(record)[0][-1] for record in of_task)
        design = [
            trial["score"]
            for record in of_task
            for trial in record["trials"][:N_DESIGN]
            if trial["score"] is not None
        ]
        gap = best - float(np.median(design))
        for i, seed in enumerate(seeds):
            for mode in MODES:
                record = records[mode][task, seed]
                score, fits = best_so_far(record)
                for n in points:
                    at = {
                        "trials": n - 1,
                        "fits": np.searchsorted(fits, n * n_folds, "right") - 1,
                    }
                    for what, place in at.items():
                        value = 1000 * (best - score[place]) / gap
                        regret[mode, what, n][i, j] = value
            record = records["racing"][task, seed]
            states = [trial["state"] for trial in record["trials"]]
            raced[i, j] = np.mean([state == "pruned" for state in states])
            fits = sum(trial["fits"] for trial in record["trials"][:n_trials])
            saved[i, j] = fits / (n_folds * n_trials)
            lost[i, j] = record["lost"]
        print(
            f"{task:24} raced {raced[:, j].mean():4.0%}  fits {saved[:, j].mean():4.0%}"
            f"  winners lost {lost[:, j].sum():.0f}"
        )
    summary: dict[str, Any] = {
        "seeds": len(seeds),
        "tasks": tasks,
        "pruned": mean_se(raced),
        "fits_for_as_many_trials": mean_se(saved),
        "winners_lost": int(lost.sum()),
        "regret": {},
    }
    for what in ("trials", "fits"):
        for n in points:
            pair = [regret[mode, what, n] for mode in MODES]
            count = n if what == "trials" else n * n_folds
            entry = {mode: mean_se(v) for mode, v in zip(MODES, pair, strict=True)}
            entry["difference"] = mean_se(pair[1] - pair[0])
            summary["regret"][f"{count} {what}"] = entry
            shown = "   ".join(
                f"{k} {m:7.1f} ± {s:5.1f}" for k, (m, s) in entry.items()
            )
            print(f"{count:4} {what:8}{shown}")
    print(f"raced {raced.mean():.1%}, fits for as many trials {saved.mean():.1%}")
    return summary


def draw_scores(
    noise: str, spread: float, n_folds: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the scores of the trials of a search, shape (trials, folds)."""
    sd = np.ones(n_folds)
    if noise == "folds differ":
        sd = np.exp(0.75 * rng.standard_normal(n_folds))
    elif noise == "trials differ":
        sd = np.exp(0.75 * rng.standard_normal((N_SIMULATED_TRIALS, 1)))
    elif noise == "one noisy fold":
        sd[rng.integers(n_folds)] = 5.0
    shape = (N_SIMULATED_TRIALS, n_folds)
    scores = sd * rng.standard_normal(shape) + 3.0 * rng.standard_normal(n_folds)
    means = rng.standard_normal((N_SIMULATED_TRIALS, 1))
    return scores + spread * np.sqrt(np.mean(sd**2)) * means


def race_through(scores: np.ndarray) -> tuple[bool, float, float]:
    """Return whether the best trial is pruned, and the shares pruned and fitted."""
    complete: list[np.ndarray] = []
    pruned, n_fits = [], 0
    race = None
    for trial, row in enumerate(scores):
        for m in range(1, len(row) + 1):
            n_fits += 1
            if m < len(row) and race is not None and race.chance(row[:m]) < RISK:
                pruned.append(trial)
                break
        else:
            complete.append(row)
            race = Race(complete)
    best = int(np.argmax(scores.mean(axis=1)))
    return best in pruned, len(pruned) / len(scores), n_fits / scores.size


def simulate(n_searches: int, n_folds: int) -> dict[str, Any]:
    """Print and return the percentages of simulated searches by noise and spread."""
    summary: dict[str, Any] = {}
    for noise in NOISES:
        for name, spread in SPREADS.items():
            rng = np.random.default_rng([n_folds, NOISES.index(noise)])
            found = [
                race_through(draw_scores(noise, spread, n_folds, rng))
                for _ in range(n_searches)
            ]
            shares = 100.0 * np.mean(found, axis=0)
            labels = ("best_lost", "pruned", "fits")
            entry = {k: round(float(v), 2) for k, v in zip(labels, shares, strict=True)}
            summary[f"{noise}, {name}"] = entry
            print(f"{n_folds} folds, {noise}, {name}: {entry}")
    return summary


def simulate_all(n_searches: int, folds: list[int], save: bool) -> None:
    """Simulate searches with several numbers of folds."""
    found = {f"{n_folds} folds": simulate(n_searches, n_folds) for n_folds in folds}
    if save:
        results = json.loads(RESULTS.read_text())
        results["simulated"] = {"searches": n_searches, "risk": RISK, **found}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=5)
    add("--tasks", type=names(TASKS), default="all")
    add("--folds", default="5", help="numbers of folds, comma-separated")
    add(
        "--trials",
        type=int,
        default=40,
        help="number of complete trials that determines the fits",
    )
    add("--jobs", type=int, default=1, help="number of processes")
    add("--save", action="store_true", help="write the results to results/")
    add("--simulate", type=int, metavar="N", help="draw the scores of N searches")
    args = parser.parse_args()
    folds = [int(one) for one in args.folds.split(",")]
    if args.simulate:
        return simulate_all(args.simulate, folds, args.save)
    summary = {}
    for n_folds in folds:
        store = Cache(f"racing-{n_folds}-{args.trials}")

        def load_all(store: Cache = store) -> dict[str, Any]:
            return {
                mode: {(r["task"], r["seed"]): r for r in store.load(mode)}
                for mode in MODES
            }

        done = load_all()
        jobs = [
            (mode, (mode, task, seed, n_folds, args.trials * n_folds))
            for seed in range(args.seeds)
            for task in args.tasks
            for mode in MODES
            if (task, seed) not in done[mode]
        ]
        run_all(run, jobs, store, args.jobs)
        print(f"\n{n_folds} folds, {args.seeds} seeds")
        seeds = list(range(args.seeds))
        summary[f"{n_folds} folds"] = summarize(
            load_all(), args.tasks, seeds, n_folds, args.trials
        )
    if args.save:
        summary["simulated"] = json.loads(RESULTS.read_text())["simulated"]
        save_results("racing", summary)


if __name__ == "__main__":
    main()
