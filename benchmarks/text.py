"""Text representations: eight tasks, the published configurations, a grid, and speed.

`default` compares the default search with the one in the paper's space and with a grid,
all by cross-validation on the training texts; `show-default` prints its table. `run`
makes what is missing of searches, published configurations and grid searches,
and keeps each in the cache; times are processor times. `speed` compares the time of 30
trials with that of the same 30 configurations through scikit-learn's pipeline, each
side in a process of its own; `show` prints the tables, and draws the curves. Needs the
data beside the checkout.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
from common import HERE, Cache, names, save_results
from shared import load
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline

from skbayes import TextRepresentationSearchCV
from skbayes.text import LiblinearClassifier, NGramVectorizer

data = load()
N_ITER = 30

# Test accuracy published by Yogatama, Kong & Smith (2015), the configuration that they
# chose, and whether the final fit uses the development set too: where it is taken out
# of the training set it does.
_BINARY = {"weighting": "binary", "penalty": "l2"}
TASKS = {
    "sst": {
        "published": 82.43,
        "chosen": {"n": (1, 2), "weighting": "tf-idf", "penalty": "l2", "C": 10},
    },
    "amazon": {"published": 91.56, "chosen": {"n": (1, 3), "C": 120, **_BINARY}},
    "congress": {"published": 78.59, "chosen": {"n": (2, 2), "C": 121, **_BINARY}},
    "science": {"published": 95.82, "chosen": {"n": (1, 2), "C": 142, **_BINARY}},
    "religion": {
        "published": 86.32,
        "chosen": {
            "n": (1, 2),
            "weighting": "binary",
            "stop": True,
            "penalty": "l1",
            "C": 41,
        },
    },
    "graphics": {
        "published": 92.09,
        "chosen": {"n": (1, 1), "stop": True, "C": 91, **_BINARY},
    },
    "20n": {"published": 87.84, "chosen": {"n": (1, 2), "C": 16, **_BINARY}},
    "imdb": {"published": 90.85, "chosen": {"n": (1, 2), "C": 147, **_BINARY}},
}
GROUPS = {
    "science": "science",
    "religion": "atheist.religion",
    "graphics": "x.graphics",
}
METHODS = ("paper", "extended", "published", "grid")


def task_data(task: str, seed: int) -> dict:
    """Load a task; without a development set, a fifth of the training set is one."""
    if task == "sst":
        return {**data.load_sst2(), "given": True}
    if task == "amazon":
        return {**data.load_amazon("electronics"), "given": True}
    if task == "congress":
        return {**data.load_convote(), "given": True}
    if task == "imdb":
        whole = data.load_imdb()
    elif task == "20n":
        whole = data.load_newsgroups20(subject=True)
    else:
        whole = data.load_newsgroups_task(GROUPS[task], subject=True)
    n_dev = round(0.2 * len(whole["train"][1]))
    return {**data.hold_out(whole, n_dev, seed), "given": False}


def run_search(
    task: str,
    space: str,
    seed: int,
    cv: int | None = None,
    stages: tuple[float, ...] = (1.0,),
) -> dict:
    sets = task_data(task, seed)
    texts, labels = sets["train"]
    dev = None if cv else sets["dev"]
    if cv:
        texts = texts + sets["dev"][0]
        labels = np.concatenate([labels, sets["dev"][1]])
    search = TextRepresentationSearchCV(
        space=space,
        dev=dev,
        refit_dev=dev is not None and not sets["given"],
        cv=cv,
        n_iter=N_ITER,
        stages=stages,
        random_state=seed,
    )
    clock = Clock()
    begin = time.process_time()
    with clock:
        search.fit(texts, labels)
    seconds = time.process_time() - begin
    scores = search.cv_results_["mean_test_score"].tolist()
    return {
        "dev": search.best_score_,
        "test": search.score(*sets["test"]),
        "params": {k: plain(v) for k, v in search.best_params_.items()},
        "scores": [None if np.isnan(s) else s for s in scores],
        "seconds": seconds,
        "refit": search.refit_time_,
        "representing": clock.seconds,
    }


def plain(value):
    return list(value) if isinstance(value, tuple) else value


class Clock:
    """Adds up the time that vectorizers take in this process while it is entered."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls: list[float] = []

    def __enter__(self):
        self._original = NGramVectorizer.fit_transform, NGramVectorizer.transform
        for method in self._original:
            setattr(NGramVectorizer, method.__name__, self._timed(method))
        return self

    def __exit__(self, *exception):
        for method in self._original:
            setattr(NGramVectorizer, method.__name__, method)

    def _timed(self, method):
        def timed(*args, **kwargs):
            begin = time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.calls.append(time.process_time() - begin)
                self.seconds += self.calls[-1]

        timed.__name__ = method.__name__
        return timed


def run_published(task: str, seed: int) -> dict:
    """Fit the published configuration on our copy of the data."""
    sets = task_data(task, seed)
    texts, labels = sets["train"]
    if not sets["given"]:
        texts = texts + sets["dev"][0]
        labels = np.concatenate([labels, sets["dev"][1]])
    chosen = TASKS[task]["chosen"]
    begin = time.process_time()
    model = Pipeline(
        [
            (
                "vectorizer",
                NGramVectorizer(
                    ngram_range=chosen["n"],
                    weighting=chosen["weighting"],
                    stop_words="english" if chosen.get("stop") else None,
                ),
            ),
            (
                "classifier",
                LiblinearClassifier(
                    chosen["penalty"],
                    "logistic",
                    C=chosen["C"],
                    tol=1e-3,
                    fit_intercept=False,
                    random_state=0,
                ),
            ),
        ]
    ).fit(texts, labels)
    seconds = time.process_time() - begin
    return {"test": model.score(*sets["test"]), "seconds": seconds}


def practitioners_grid(*, many: bool, **options) -> GridSearchCV:
    """Return the search over 36 cells that a practitioner would write."""
    regression = LogisticRegression(solver="liblinear")
    prefix = "classifier__estimator__" if many else "classifier__"
    return GridSearchCV(
        Pipeline(
            [
                ("vectorizer", CountVectorizer()),
                ("classifier", OneVsRestClassifier(regression) if many else regression),
            ]
        ),
        {
            "vectorizer": [CountVectorizer(binary=True), TfidfVectorizer()],
            "vectorizer__ngram_range": [(1, 1), (1, 2), (1, 3)],
            f"{prefix}C": [0.01, 0.1, 1, 10, 100, 1000],
        },
        **options,
    )


def run_grid(task: str, seed: int) -> dict:
    """Run a practitioner's grid, scored on the same dev set."""
    sets = task_data(task, seed)
    texts = sets["train"][0] + sets["dev"][0]
    labels = np.concatenate([sets["train"][1], sets["dev"][1]])
    n = len(sets["train"][1])
    fold = np.where(np.arange(len(labels)) < n, -1, 0)
    grid = practitioners_grid(
        many=len(np.unique(labels)) > 2, cv=PredefinedSplit(fold), refit=False
    )
    begin = time.process_time()
    grid.fit(texts, labels)
    best = grid.estimator.set_params(**grid.best_params_)
    # The same texts for the final fit as the search has.
    n_final = n if sets["given"] else len(texts)
    best.fit(texts[:n_final], labels[:n_final])
    seconds = time.process_time() - begin
    params = {k: plain(v) for k, v in grid.best_params_.items() if k != "vectorizer"}
    params["vectorizer"] = type(grid.best_params_["vectorizer"]).__name__
    return {
        "dev": grid.best_score_,
        "test": best.score(*sets["test"]),
        "params": params,
        "seconds": seconds,
    }


# "-cv": the dev set and the training set together, in 5 folds; "-stages": most trials
# on 30 % of the training texts.
RUNS = {
    "paper": partial(run_search, space="paper"),
    "extended": partial(run_search, space="extended"),
    "paper-cv": partial(run_search, space="paper", cv=5),
    "extended-cv": partial(run_search, space="extended", cv=5),
    "extended-stages": partial(run_search, space="extended", stages=(0.3, 1.0)),
    "published": run_published,
    "grid": run_grid,
}


def run(args: argparse.Namespace) -> None:
    cache = Cache("text")
    for seed in range(args.seeds):
        for task in args.tasks:
            for method in args.methods:
                done = {(r["task"], r["seed"]) for r in cache.load(method)}
                if (task, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = RUNS[method](task=task, seed=seed)
                cache.append(method, {"task": task, "seed": seed, **found})
                print(
                    f"{method:12} {task:9} seed {seed}: test {found['test']:.4f}, "
                    f"{found['seconds']:.1f} s",
                    flush=True,
                )


# -- the default ----------------------------------------------------------------------

SIMPLE_TASKS = {
    **{name: partial(data.load_amazon, name) for name in data.AMAZON_DOMAINS[::-1]},
    "sst": data.load_sst2,
    "religion": partial(data.load_newsgroups_task, GROUPS["religion"], subject=True),
    "graphics": partial(data.load_newsgroups_task, GROUPS["graphics"], subject=True),
    "imdb": data.load_imdb,
}
# All but IMDB, which takes hours.
QUICK_TASKS = [task for task in SIMPLE_TASKS if task != "imdb"]


def run_default(task: str, cv: int, method: str, seed: int) -> dict:
    """Search by cross-validation on the training texts; score on the test texts."""
    sets = SIMPLE_TASKS[task]()
    if method == "grid":
        search = practitioners_grid(many=len(np.unique(sets["train"][1])) > 2, cv=cv)
    else:
        search = TextRepresentationSearchCV(
            space=method, cv=cv, n_iter=N_ITER, random_state=seed
        )
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*sets["train"])
    return {
        "task": task,
        "cv": cv,
        "seed": seed,
        "score": float(search.best_score_),
        "test": float(search.score(*sets["test"])),
        "seconds": time.process_time() - begin,
        "unconverged": sum(one.category is ConvergenceWarning for one in caught),
        "params": {k: plain(v) for k, v in search.best_params_.items() if _is_plain(v)},
    }


def _is_plain(value) -> bool:
    return isinstance(value, str | int | float | tuple | None)


def default(args: argparse.Namespace) -> None:
    cache = Cache("text")
    for task in args.tasks:
        for cv in (3, 5):
            for method in ("paper", "extended", "grid"):
                done = {
                    (r["task"], r["cv"], r["seed"])
                    for r in cache.load(f"default-{method}")
                }
                # The grid draws nothing.
                for seed in range(1 if method == "grid" else args.seeds):
                    if (task, cv, seed) in done:
                        continue
                    found = run_default(task, cv, method, seed)
                    cache.append(f"default-{method}", found)
                    print(
                        f"{task:12} cv={cv} {method:9} seed {seed}: test "
                        f"{found['test']:.4f}, {found['seconds']:.1f} s",
                        flush=True,
                    )


def show_default(args: argparse.Namespace) -> None:
    cache = Cache("text")
    runs = {m: cache.load(f"default-{m}") for m in ("paper", "extended", "grid")}
    print("| task | cv | paper | extended | grid | seconds | unconverged |")
    print("|---|---|---|---|---|---|---|")
    for task in SIMPLE_TASKS:
        for cv in (3, 5):
            found = {
                method: [r for r in rows if (r["task"], r["cv"]) == (task, cv)]
                for method, rows in runs.items()
            }
            if not all(found.values()):
                continue
            tests = [_mean_and_least([r["test"] for r in f]) for f in found.values()]
            times = [
                f"{np.mean([r['seconds'] for r in f]):.0f}" for f in found.values()
            ]
            failed = [str(sum(r["unconverged"] for r in f)) for f in found.values()]
            cells = [task, str(cv), *tests, " / ".join(times), " / ".join(failed)]
            print("| " + " | ".join(cells) + " |")
    if args.save:
        save_results("text", {**saved(), "default": runs})


def saved() -> dict:
    """Read the results that are there."""
    results = json.loads((HERE / "results" / "text.json").read_text())
    del results["versions"]
    return results


def _mean_and_least(values: list[float]) -> str:
    mean = f"{100 * np.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.2f})"


# -- speed ----------------------------------------------------------------------------


def speed(args: argparse.Namespace) -> None:
    """Time 30 trials, then the same configurations in scikit-learn's pipeline."""
    for who in ("skbayes", "scikit-learn"):
        command = [sys.executable, __file__, "one", who, "--seed", str(args.seed)]
        subprocess.run(command, check=True)


def one(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    cache = Cache("text")
    ours = [r for r in cache.load("speed") if r["seed"] == args.seed]
    sets = task_data("imdb", args.seed)
    if args.who == "skbayes" and not ours:
        cache.append("speed", {"seed": args.seed, **_our_trials(sets, args.seed)})
    if args.who == "scikit-learn":
        done = [r for r in cache.load("speed-rival") if r["seed"] == args.seed]
        for number, params in enumerate(ours[0]["params"]):
            if number not in {r["number"] for r in done}:
                record = {
                    "seed": args.seed,
                    "number": number,
                    **_their_fit(sets, params),
                }
                cache.append("speed-rival", record)


def _peak() -> float:
    """Peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _our_trials(sets: dict, seed: int) -> dict:
    search = TextRepresentationSearchCV(
        space="paper", dev=sets["dev"], n_iter=N_ITER, random_state=seed, refit=False
    )
    clock = Clock()
    begin = time.process_time()
    with clock:
        search.fit(*sets["train"])
    seconds = time.process_time() - begin
    # Each trial fits once and transforms once.
    first, later = sum(clock.calls[:2]), sum(clock.calls[2:])
    return {
        "seconds": seconds,
        "representing": clock.seconds,
        "share_later": later / (seconds - first),
        "first": first,
        "calls": clock.calls,
        "params": search.cv_results_["params"],
        "scores": search.cv_results_["mean_test_score"].tolist(),
        "peak_gb": _peak(),
    }


def _their_fit(sets: dict, params: dict) -> dict:
    kind = params["vectorizer__weighting"]
    make = (
        partial(TfidfVectorizer, norm=None)
        if kind == "tf-idf"
        else partial(CountVectorizer, binary=kind == "binary")
    )
    begin = time.process_time()
    vectorizer = make(
        ngram_range=tuple(params["vectorizer__ngram_range"]),
        stop_words=params["vectorizer__stop_words"],
    )
    train = vectorizer.fit_transform(sets["train"][0])
    represented = time.process_time()
    classifier = LogisticRegression(
        penalty=params["classifier__penalty"],
        C=params["classifier__C"],
        tol=params["classifier__tol"],
        solver="liblinear",
        fit_intercept=False,
        random_state=0,
    ).fit(train, sets["train"][1])
    fitted = time.process_time()
    dev = vectorizer.transform(sets["dev"][0])
    representing = represented - begin + time.process_time() - fitted
    score = classifier.score(dev, sets["dev"][1])
    return {
        "seconds": time.process_time() - begin,
        "representing": representing,
        "score": score,
        "peak_gb": _peak(),
    }


# -- what it gave ---------------------------------------------------------------------


def mean_and_error(values: list[float]) -> str:
    percent = 100 * np.array(values)
    if len(percent) == 1:
        return f"{percent[0]:.2f}"
    error = percent.std(ddof=1) / np.sqrt(len(percent))
    return f"{percent.mean():.2f} ± {error:.2f}"


def show(args: argparse.Namespace) -> None:
    cache = Cache("text")
    found = {
        method: {
            task: sorted(
                (r for r in cache.load(method) if r["task"] == task),
                key=lambda r: r["seed"],
            )
            for task in TASKS
        }
        for method in RUNS
    }
    methods = [m for m in RUNS if any(found[m].values())]
    print("| task | published |" + "".join(f" {m} |" for m in methods))
    print("|" + "---|" * (len(methods) + 2))
    for task, about in TASKS.items():
        cells = [
            mean_and_error([r["test"] for r in found[m][task]] or [np.nan])
            for m in methods
        ]
        print(f"| {task} | {about['published']:.2f} | " + " | ".join(cells) + " |")
    print("\nseconds, mean")
    for task in TASKS:
        cells = [
            f"{np.mean([r['seconds'] for r in found[m][task]] or [np.nan]):.1f}"
            for m in methods
        ]
        print(f"| {task} | " + " | ".join(cells) + " |")
    print("\nchosen")
    for task in TASKS:
        for method in methods:
            for record in found[method][task]:
                if "params" in record:
                    print(task, method, record["seed"], _short(record["params"]))
    rival = cache.load("speed-rival")
    for ours in cache.load("speed"):
        theirs = [r for r in rival if r["seed"] == ours["seed"]]
        print({k: v for k, v in ours.items() if not isinstance(v, list)})
        totals = {k: sum(r[k] for r in theirs) for k in ("seconds", "representing")}
        peak = max([r["peak_gb"] for r in theirs], default=np.nan)
        print(f"scikit-learn, {len(theirs)} configurations: {totals}, peak {peak} GB")
    if args.save:
        summary = {m: [r for t in TASKS for r in found[m][t]] for m in methods}
        summary |= {label: cache.load(label) for label in ("speed", "speed-rival")}
        save_results("text", {**saved(), **summary})
        draw(found)


def _short(params: dict) -> dict:
    return {
        k.split("__")[-1]: float(f"{v:.3g}") if isinstance(v, float) else v
        for k, v in params.items()
    }


def draw(found: dict) -> None:
    """Draw development accuracy per trial and the best so far (Figure 1)."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    tasks = ["amazon", "sst", "congress"]
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for axis, task in zip(axes, tasks, strict=True):
        for space, color in (("paper", "tab:blue"), ("extended", "tab:orange")):
            rows = [r["scores"] for r in found[space][task]]
            if not rows:
                continue
            scores = 100 * np.array(rows, dtype=float)
            trials = np.arange(1, scores.shape[1] + 1)
            best = np.fmax.accumulate(scores, axis=1).mean(axis=0)
            axis.plot(trials, scores[0], ".", color=color, alpha=0.5)
            axis.plot(trials, best, color=color, label=space)
        axis.set(title=task, xlabel="trial", ylabel="development accuracy (%)")
        axis.set_ylim(bottom=50)
    axes[0].legend(title="space", loc="lower right")
    path = HERE.parent / "docs" / "images" / "text.png"
    figure.savefig(path, dpi=110)
    print(f"written: {path.relative_to(HERE.parent)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("run", help="make what is missing")
    sub.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    sub.add_argument("--methods", type=names(RUNS), default=list(METHODS))
    sub.add_argument("--seeds", type=int, default=3, help="default: 3")
    sub.set_defaults(function=run)
    sub = commands.add_parser("default", help="the default, the paper's space, a grid")
    sub.add_argument("--tasks", type=names(SIMPLE_TASKS), default=QUICK_TASKS)
    sub.add_argument("--seeds", type=int, default=5, help="default: 5")
    sub.set_defaults(function=default)
    sub = commands.add_parser("show-default", help="print the table of that")
    sub.add_argument("--save", action="store_true", help="write it")
    sub.set_defaults(function=show_default)
    sub = commands.add_parser("speed", help="compare the time of 30 trials on IMDB")
    sub.add_argument("--seed", type=int, default=0)
    sub.set_defaults(function=speed)
    sub = commands.add_parser("one", help="one side of it (called by speed)")
    sub.add_argument("who", choices=["skbayes", "scikit-learn"])
    sub.add_argument("--seed", type=int, default=0)
    sub.set_defaults(function=one)
    sub = commands.add_parser("show", help="print the tables")
    sub.add_argument("--save", action="store_true", help="write them and the picture")
    sub.set_defaults(function=show)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
