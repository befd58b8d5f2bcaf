"""Comparison of HyperTuneSearchCV with other methods at equal time.

The data sets are letter, adult and MNIST in ../shared/data; learners and search spaces
are those of Joy et al. (2019). The data are subsampled so that all runs take about two
hours on one core; --sizes prints the numbers of rows. Each run draws its own training,
validation and test rows.

HyperTune makes 15 trials on each of 5 samples of a tenth of the training rows, and 20
trials on all rows. The other methods get the same processor time for fits and scores
(see hypertune_methods.py). The held-out error is the error of the incumbent, fitted on
all training rows.

All results: ``python benchmarks/hypertune.py --seeds 5 --save --picture``

Example: python benchmarks/hypertune.py --tasks letter-svm --seeds 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import HERE, Cache, names, run_all, save_results
from hypertune_methods import METHODS, run_method
from shared import load
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


class FourierSVM(ClassifierMixin, BaseEstimator):
    """Linear SVM on random Fourier features, trained by stochastic gradient descent."""

    def __init__(
        self, C: float = 1.0, gamma: float = 1.0, n_components: int = 100
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> FourierSVM:
        """Draw the features and train for 10 epochs."""
        self.classes_ = np.unique(y)
        features = RBFSampler(
            gamma=self.gamma, n_components=self.n_components, random_state=0
        )
        self.features_ = features.fit(X)
        self.svm_ = SGDClassifier(
            alpha=1.0 / (self.C * len(y)), max_iter=10, tol=None, random_state=0
        ).fit(features.transform(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict."""
        return self.svm_.predict(self.features_.transform(X))


def elastic_net() -> Any:
    return SGDClassifier(
        loss="log_loss", penalty="elasticnet", max_iter=27, tol=None, random_state=0
    )


def network() -> Any:
    return MLPClassifier(solver="sgd", max_iter=27, n_iter_no_change=99, random_state=0)


RANGE = (1e-3, 1e3, "log-uniform")
# Learner: model, space, signs, resource of Hyperband other than the rows.
LEARNERS: dict[str, tuple[Any, dict[str, Any], dict[str, int], str | None]] = {
    "enet": (
        elastic_net,
        {"alpha": (1e-7, 1e-1, "log-uniform"), "l1_ratio": (0.0, 1.0)},
        {"alpha": -1},
        "max_iter",
    ),
    "svm": (SVC, {"C": RANGE, "gamma": RANGE}, {"C": 1, "gamma": 1}, None),
    "rff": (
        FourierSVM,
        {"C": RANGE, "gamma": RANGE, "n_components": (8, 512, "log-uniform")},
        {"C": 1, "gamma": 1, "n_components": 1},
        None,
    ),
    # The network of scikit-learn has no dropout; weight decay replaces it.
    "mlp": (
        network,
        {
            "hidden_layer_sizes": (4, 128, "log-uniform"),
            "alpha": (1e-6, 1e-1, "log-uniform"),
            "batch_size": (16, 256, "log-uniform"),
            "learning_rate_init": (1e-4, 1.0, "log-uniform"),
            "momentum": (0.0, 0.99),
        },
        {"hidden_layer_sizes": 1},
        "max_iter",
    ),
}
# Training rows; a third as many rows are used for validation.
SIZES = {
    "letter-svm": 2500,
    "adult-svm": 2500,
    "mnist-svm": 1000,
    "letter-rff": 1500,
    "adult-rff": 4000,
    "mnist-rff": 1200,
    "letter-enet": 1500,
    "adult-enet": 6000,
    "mnist-enet": 450,
    "letter-mlp": 1000,
    "mnist-mlp": 450,
}
N_TEST = 3000
PUBLISHED = {
    "letter-enet": (0.32, None, 0.30),
    "letter-svm": (0.54, None, 0.04),
    "letter-rff": (0.09, 0.04, 0.03),
    "mnist-enet": (0.12, None, 0.11),
    "mnist-svm": (0.016, None, 0.014),
    "mnist-rff": (0.076, 0.019, 0.018),
    "mnist-mlp": (0.09, 0.04, 0.05),
    "adult-enet": (0.45, None, 0.24),
    "adult-svm": (0.24, None, 0.24),
    "adult-rff": (0.242, 0.246, 0.242),
}
# HyperTune with all signs inverted, and the number of trials it has to recover.
WRONG, N_WRONG = "wrong", 15
# HyperTune without signs: EI-BO whose first trial is the center found by HyperTune.
CENTER = "center"
N_GRID = 30
# The other methods run slightly longer than HyperTune, so that all have a value at its
# end.
SLACK = 1.1


@dataclass
class Task:
    """Learner and its data; training rows have fold -1, validation rows have fold 0."""

    model: Any
    space: dict[str, Any]
    signs: dict[str, int]
    iterations: str | None
    X: np.ndarray
    y: np.ndarray
    fold: np.ndarray
    n_train: int
    X_test: np.ndarray
    y_test: np.ndarray


@functools.cache
def load_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    parts = getattr(load(), f"load_{name}")()
    X, y = parts["train"]
    if name == "adult":
        X = X.toarray()
    return X, y


def make_task(name: str, seed: int) -> Task:
    data, learner = name.split("-")
    build, space, signs, iterations = LEARNERS[learner]
    X, y = load_data(data)
    n = SIZES[name]
    rows = np.random.default_rng(seed).permutation(len(y))
    known, test = rows[: n + n // 3], rows[n + n // 3 :][:N_TEST]
    X_known, X_test = X[known].astype(float), X[test].astype(float)
    if data == "mnist":
        X_known, X_test = X_known / 255.0, X_test / 255.0
    else:
        scaler = StandardScaler().fit(X_known[:n])
        X_known, X_test = scaler.transform(X_known), scaler.transform(X_test)
    fold = np.where(np.arange(len(known)) < n, -1, 0)
    return Task(
        build(), space, signs, iterations, X_known, y[known], fold, n, X_test, y[test]
    )


def run(
    name: str,
    task_name: str,
    seed: int,
    limit: float | None,
    start: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Run one search and compute the held-out errors of its incumbents."""
    task = make_task(task_name, seed)
    if name == WRONG:
        wrong = {key: -sign for key, sign in task.signs.items()}
        record = run_method("hypertune", task, seed, signs=wrong)
    elif name == CENTER:
        record = run_method("ei-bo", task, seed, start=start)
    else:
        limit = float("inf") if limit is None else limit
        record = run_method(name, task, seed, limit)
    events = record.pop("events")
    spent = [event["spent"] for event in events]
    grid = np.linspace(0.02, 1.0, N_GRID) * spent[-1]
    places = np.maximum(np.searchsorted(spent, grid, "right") - 1, 0)
    errors: dict[int, float] = {}
    for place in places:
        chosen = events[place]["incumbent"]
        if chosen not in errors:
            errors[chosen] = held_out_error(task, events[chosen]["params"])
    record |= {
        "task": task_name,
        "seed": seed,
        "grid": [round(float(moment), 4) for moment in grid],
        "error": [round(errors[events[place]["incumbent"]], 5) for place in places],
        "spent": [round(moment, 4) for moment in spent],
        "whole": [event["amount"] > 0.999 for event in events],
        "score": [round(event["score"], 5) for event in events],
    }
    return record


def held_out_error(task: Task, params: dict[str, Any]) -> float:
    """Return the test error of a configuration fitted on all training rows."""
    model = clone(task.model).set_params(**params)
    if task.iterations is not None:
        model.set_params(**{task.iterations: getattr(task.model, task.iterations)})
    train = task.fold < 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(task.X[train], task.y[train])
    return float(1.0 - model.score(task.X_test, task.y_test))


# -- summary --------------------------------------------------------------------------


def at(record: dict[str, Any], spent: float) -> float:
    """Return the held-out error of the incumbent at a given time.

    Before the first trial has ended, it is the error of this trial.
    """
    place = int(np.searchsorted(record["grid"], spent + 1e-9, "right")) - 1
    return record["error"][max(place, 0)]


def mean_se(values: Any) -> tuple[float, float | None]:
    """Return mean and standard error; a single run has no standard error."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return round(float(values.mean()), 4), None
    se = values.std(ddof=1) / len(values) ** 0.5
    return round(float(values.mean()), 4), round(float(se), 4)


def time_to_best(record: dict[str, Any]) -> float:
    """Return when HyperTune reached its best validation score on all rows."""
    score = np.where(record["whole"], record["score"], -np.inf)
    return record["spent"][int(np.argmax(score))]


def summarize(
    store: Cache, tasks: list[str], seeds: list[int]
) -> dict[str, dict[str, Any]]:
    records = {
        method: {(r["task"], r["seed"]): r for r in store.load(method)}
        for method in METHODS
    }
    summary: dict[str, dict[str, Any]] = {}
    print(f"{'':14}" + "".join(f"{method:>20}" for method in METHODS) + "   (held-out)")
    for task in tasks:
        have = [s for s in seeds if all((task, s) in records[m] for m in METHODS)]
        if not have:
            continue
        entry: dict[str, Any] = {"seeds": len(have), "published": PUBLISHED.get(task)}
        for moment in ("end", "best"):
            errors = {m: [] for m in METHODS}
            for seed in have:
                ours = records["hypertune"][task, seed]
                when = ours["spent"][-1] if moment == "end" else time_to_best(ours)
                for method in METHODS:
                    errors[method].append(at(records[method][task, seed], when))
            entry[moment] = {m: mean_se(errors[m]) for m in METHODS}
            entry[f"{moment}: hypertune - rival"] = {
                m: mean_se(np.subtract(errors["hypertune"], errors[m]))
                for m in METHODS[1:]
            }
        own = [records["hypertune"][task, seed] for seed in have]
        small = [r["spent"][r["whole"].index(True) - 1] / r["spent"][-1] for r in own]
        entry["seconds"] = mean_se([r["spent"][-1] for r in own])
        entry["share of small samples"] = mean_se(small)
        entry["thinking"] = {
            m: mean_se([records[m][task, s]["thinking"] for s in have]) for m in METHODS
        }
        entry["weakened"] = sum(bool(r["weakened"]) for r in own)
        summary[task] = entry
        shown = "".join(
            f"{mean:13.4f} " + ("  alone" if se is None else f"±{se:.4f}")
            for mean, se in (entry["end"][m] for m in METHODS)
        )
        print(f"{task:14}{shown}   n={len(have)}")
    return summary


def summarize_wrong(
    store: Cache, tasks: list[str], seeds: list[int]
) -> dict[str, dict[str, Any]]:
    """Compare validation errors after 15 trials on all rows."""
    methods = ("hypertune", "ei-bo", WRONG)
    records = {m: {(r["task"], r["seed"]): r for r in store.load(m)} for m in methods}
    summary = {}
    for task in tasks:
        have = [s for s in seeds if all((task, s) in records[m] for m in methods)]
        if not have:
            continue
        errors = {m: [] for m in methods}
        for seed in have:
            for method in methods:
                errors[method] += _errors(store, method, task, [seed], N_WRONG)
        summary[task] = {m: mean_se(errors[m]) for m in methods}
        difference = np.subtract(errors[WRONG], errors["ei-bo"])
        summary[task]["wrong - ei-bo"] = mean_se(difference)
        summary[task]["in force"] = [
            sum(bool(records[m][task, s]["in_force"]) for s in have)
            for m in ("hypertune", WRONG)
        ]
        print(task, len(have), summary[task])
    return summary


def summarize_over_tasks(
    store: Cache, tasks: list[str], seeds: list[int]
) -> dict[str, Any]:
    """Compare means over tasks, by time and by the number of trials on all rows."""
    found = {task: curves(store, task, seeds) for task in tasks}
    tasks = [task for task in tasks if len(found[task]["hypertune"])]
    summary: dict[str, Any] = {}
    for method in METHODS[1:]:
        # Over the whole time of HyperTune, and at its end: one value per task.
        gaps = [found[t]["hypertune"] - found[t][method] for t in tasks]
        summary[f"hypertune - {method}"] = {
            "all the time": mean_se([gap.mean() for gap in gaps]),
            "at the end": mean_se([gap[:, -1].mean() for gap in gaps]),
        }
    for method in ("hypertune", WRONG, CENTER):
        summary[f"{method} - ei-bo, validation error by trials"] = {
            n: mean_se(
                [
                    np.mean(_errors(store, method, task, seeds, n))
                    - np.mean(_errors(store, "ei-bo", task, seeds, n))
                    for task in tasks
                    if _errors(store, method, task, seeds, n)
                ]
                or [np.nan]
            )
            for n in (1, 5, 10, 15, 20)
        }
    return summary


def _errors(
    store: Cache, method: str, task: str, seeds: list[int], n: int
) -> list[float]:
    """Return the best validation errors of n trials on all rows, by seed."""
    records = {(r["task"], r["seed"]): r for r in store.load(method)}
    errors = []
    for seed in seeds:
        if (task, seed) in records:
            record = records[task, seed]
            scores = np.array(record["score"])[np.array(record["whole"])]
            errors.append(1.0 - scores[:n].max())
    return errors


def curves(store: Cache, task: str, seeds: list[int]) -> dict[str, np.ndarray]:
    """Return errors at shares of HyperTune's time by method, seeds × grid."""
    records = {
        method: {(r["task"], r["seed"]): r for r in store.load(method)}
        for method in METHODS
    }
    have = [s for s in seeds if all((task, s) in records[m] for m in METHODS)]
    grid = np.linspace(0.02, 1.0, N_GRID)
    return {
        method: np.array(
            [
                [
                    at(
                        records[method][task, seed],
                        share * records["hypertune"][task, seed]["spent"][-1],
                    )
                    for share in grid
                ]
                for seed in have
            ]
        )
        for method in METHODS
    }


def draw(store: Cache, tasks: list[str], seeds: list[int]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = {task: curves(store, task, seeds) for task in tasks}
    tasks = [task for task in tasks if len(found[task]["hypertune"])]
    n_rows = -(-(len(tasks) + 1) // 4)
    figure, axes = plt.subplots(
        n_rows, 4, figsize=(12, 2.7 * n_rows), layout="constrained", squeeze=False
    )
    grid = np.linspace(0.02, 1.0, N_GRID)
    for axis in axes.ravel()[len(tasks) :]:
        axis.axis("off")
    for axis, task in zip(axes.ravel(), tasks, strict=False):
        for method, values in found[task].items():
            mean = values.mean(axis=0)
            axis.plot(grid, mean, label=method)
            if len(values) > 1:
                error = values.std(axis=0, ddof=1) / len(values) ** 0.5
                axis.fill_between(grid, mean - error, mean + error, alpha=0.15)
        axis.set_title(f"{task}, runs: {len(values)}")
        axis.set_yscale("log")
    figure.supxlabel("share of HyperTune's time, small samples included")
    figure.supylabel("held-out error of the incumbent")
    handles, labels = axes.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right")
    path = HERE.parent / "docs" / "images" / "hypertune.png"
    figure.savefig(path, dpi=90)
    print(f"written: {path.relative_to(HERE.parent)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=5)
    add("--first-seed", type=int, default=0)
    add("--tasks", type=names(SIZES), default=list(SIZES))
    add("--sizes", action="store_true", help="print the numbers of rows and exit")
    add("--wrong", action="store_true", help="also run HyperTune with inverted signs")
    add("--center", action="store_true", help="also run HyperTune without signs")
    add("--show", action="store_true", help="print finished runs only")
    add("--save", action="store_true", help="write the results to results/")
    add("--picture", action="store_true", help="draw docs/images/hypertune.png")
    args = parser.parse_args()
    if args.sizes:
        for name, n in SIZES.items():
            print(f"{name}: {n} to train, {n // 3} to validate, {N_TEST} to test")
        return
    store = Cache("hypertune")
    seeds = list(range(args.first_seed, args.first_seed + args.seeds))
    for seed in seeds if not args.show else []:
        for task in args.tasks:
            limit = None
            for method in METHODS:
                done = {(r["task"], r["seed"]): r for r in store.load(method)}
                if (task, seed) not in done:
                    run_all(run, [(method, (method, task, seed, limit))], store, 1)
                    done = {(r["task"], r["seed"]): r for r in store.load(method)}
                if method == "hypertune":
                    # The same time for the other methods, including that of the small
                    # samples.
                    limit = SLACK * done[task, seed]["spent"][-1]
                    start = done[task, seed]["small_optimum"]
            for method in [WRONG] * args.wrong + [CENTER] * args.center:
                if (task, seed) not in {
                    (r["task"], r["seed"]) for r in store.load(method)
                }:
                    job = (method, task, seed, None, start)
                    run_all(run, [(method, job)], store, 1)
    summary: dict[str, Any] = summarize(store, args.tasks, seeds)
    print(f"validation error after {N_WRONG} trials on all rows")
    summary["wrong signs"] = summarize_wrong(store, args.tasks, seeds)
    summary["over tasks"] = summarize_over_tasks(store, args.tasks, seeds)
    for name, entry in summary["over tasks"].items():
        print(name, entry)
    if args.save:
        save_results("hypertune", summary)
    if args.picture:
        draw(store, args.tasks, seeds)


if __name__ == "__main__":
    main()
