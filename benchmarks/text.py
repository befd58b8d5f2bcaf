"""Text representations: default search compared with other methods, and its speed.

The command `run` computes the missing searches on all tasks and caches each of them.
The command `show` prints the tables and plots the curves. The default search, the grid
and fastText get the training texts, and the development texts if there are any. The
search of the paper and the published configurations use both sets as in the paper.
Times are processor times.

The command `speed` compares the time of 30 trials with that of the same 30
configurations in a pipeline of scikit-learn, each in a separate process. The command
`scale` fits a million short texts. The data sets are expected outside of the checkout,
in ../shared/data.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import contextlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial

import numpy as np
from common import HERE, Cache, names, save_results
from shared import all_texts, load
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline

from skbayes import TextRepresentationSearchCV
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text.shared_counts import counted_texts

data = load()
N_ITER = 30

# Test accuracy published by Yogatama, Kong & Smith (2015), the configuration that they
# chose, and whether the final fit includes the development set. It does if this set is
# taken from the training set.
_BINARY = {"weighting": "binary", "penalty": "l2"}
TASKS = {
    "sst": {
        "target": 82.4,
        "published": 82.43,
        "chosen": {"n": (1, 2), "weighting": "tf-idf", "penalty": "l2", "C": 10},
    },
    "amazon": {
        "target": 83.0,
        "published": 91.56,
        "chosen": {"n": (1, 3), "C": 120, **_BINARY},
    },
    "congress": {
        "target": 78.6,
        "published": 78.59,
        "chosen": {"n": (2, 2), "C": 121, **_BINARY},
    },
    "science": {
        "target": 94.5,
        "published": 95.82,
        "chosen": {"n": (1, 2), "C": 142, **_BINARY},
    },
    "religion": {
        "target": 85.5,
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
        "target": 90.0,
        "published": 92.09,
        "chosen": {"n": (1, 1), "stop": True, "C": 91, **_BINARY},
    },
    "20n": {
        "target": 87.8,
        "published": 87.84,
        "chosen": {"n": (1, 2), "C": 16, **_BINARY},
    },
    "imdb": {
        "target": 91.5,
        "published": 90.85,
        "chosen": {"n": (1, 2), "C": 147, **_BINARY},
    },
}
GROUPS = {
    "science": "science",
    "religion": "atheist.religion",
    "graphics": "x.graphics",
}


def task_data(task: str, seed: int) -> dict:
    """Load a task; a fifth of the training set replaces a missing development set."""
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


def load_questions() -> dict:
    """Load the questions of WikiQA without their first word, which is the label."""
    sets = {}
    for name, rows in data.load_wikiqa().items():
        words = [question.split(maxsplit=1) for question, *_ in rows]
        labels = [w[0] if w[0] in QUESTION_WORDS else "other" for w in words]
        texts = [w[1] if len(w) > 1 else "" for w in words]
        sets[name] = texts, np.array(labels)
    return sets


QUESTION_WORDS = ("what", "how", "who", "when", "where")


def load_four_groups() -> dict:
    """Load the four topics of scikit-learn's example of document classification."""
    whole = data.load_newsgroups20()
    wanted = ["alt.atheism", "talk.religion.misc", "comp.graphics", "sci.space"]
    codes = [whole["categories"].index(name) for name in wanted]
    sets = {}
    for name in ("train", "test"):
        texts, labels = whole[name]
        rows = [row for row, label in enumerate(labels) if label in codes]
        sets[name] = [texts[row] for row in rows], np.asarray(labels)[rows]
    return sets


# Further collections of the kind on which the options of the space were chosen.
MORE = {
    **{
        name: partial(data.load_amazon, name)
        for name in data.AMAZON_DOMAINS
        if name != "electronics"
    },
    "sports": partial(data.load_newsgroups_task, "sports", subject=True),
}

# Collections on which no option of the space and no default was chosen.
OTHERS = {
    "yelp": data.load_yelp,
    "questions": load_questions,
    "four groups": load_four_groups,
}


def sets_of(task: str) -> dict:
    makers = MORE | OTHERS
    return makers[task]() if task in makers else task_data(task, 0)


# Sizes of the ensembles of the best trials.
SIZES = (3, 5, 10)


def run_default(task: str, seed: int, **options) -> dict:
    """Run the default search, then fit its best complete trials, and score them."""
    sets = sets_of(task)
    texts, labels = all_texts(sets)
    search = TextRepresentationSearchCV(random_state=seed, **options)
    clock = Clock()
    begin = time.process_time()
    with clock:
        search.fit(texts, labels)
    seconds = time.process_time() - begin
    results = search.cv_results_
    states = results["state"].tolist()
    record = {
        "score": float(search.best_score_),
        "corrected": number(search.best_score_corrected_),
        "test": float(search.score(*sets["test"])),
        "params": {k: plain(v) for k, v in search.best_params_.items()},
        "seconds": seconds,
        "refit": search.refit_time_,
        "representing": clock.seconds,
        "n_complete": states.count("complete"),
        "n_trials": len(search.trials_),
    }
    if len(texts) >= MANY or seed > 1:  # too expensive
        return record
    return record | _of_trials(search, texts, labels, sets["test"])


def _of_trials(search, texts, labels, test) -> dict:
    """Fit the ten best complete trials, for the regret of the choice and ensembles."""
    results = search.cv_results_
    complete = np.flatnonzero(results["state"] == "complete")
    scores = results["mean_test_score"][complete]
    rows = complete[np.argsort(-scores, kind="stable")][: max(SIZES)]
    total, tests, ensembles = 0.0, [], {}
    with counted_texts(texts + list(test[0]), None) as counted:
        train = counted[np.arange(len(texts))]
        rest = counted[np.arange(len(texts), len(counted))]
        for number, row in enumerate(rows, start=1):
            model = clone(search._pipeline()).set_params(**results["params"][row])
            model.fit(train, labels)
            probabilities = model.predict_proba(rest)
            total = total + probabilities
            tests.append(_accuracy(model.classes_, probabilities, test[1]))
            if number in SIZES:
                ensembles[str(number)] = _accuracy(model.classes_, total, test[1])
    return {"tests": tests, "ensembles": ensembles}


def _accuracy(classes, probabilities, labels) -> float:
    return float(np.mean(classes[probabilities.argmax(axis=1)] == labels))


def run_paper(task: str, seed: int) -> dict:
    """Run the search of the paper, scored on the development set."""
    sets = task_data(task, seed)
    search = TextRepresentationSearchCV(
        space="paper",
        surrogate="tpe",
        stages=(1.0,),
        dev=sets["dev"],
        refit_dev=not sets["given"],
        n_iter=N_ITER,
        random_state=seed,
    )
    begin = time.process_time()
    search.fit(*sets["train"])
    seconds = time.process_time() - begin
    scores = search.cv_results_["mean_test_score"].tolist()
    return {
        "dev": float(search.best_score_),
        "test": float(search.score(*sets["test"])),
        "params": {k: plain(v) for k, v in search.best_params_.items()},
        "scores": [None if np.isnan(s) else s for s in scores],
        "seconds": seconds,
    }


def run_fasttext(task: str, seed: int) -> dict:
    """Train fastText's classifier on words and pairs, as in its tutorial."""
    import fasttext

    sets = sets_of(task)
    texts, labels = all_texts(sets)
    classes, codes = np.unique(labels, return_inverse=True)
    begin = time.process_time()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        for text, code in zip(texts, codes, strict=True):
            file.write(f"__label__{code} {_line(text)}\n")
        file.flush()
        model = fasttext.train_supervised(
            file.name, wordNgrams=2, epoch=25, lr=0.5, thread=1, seed=seed, verbose=0
        )
    seconds = time.process_time() - begin
    # Its Python wrapper does not support NumPy 2.
    found = [model.f.predict(_line(t), 1, 0.0, "strict") for t in sets["test"][0]]
    picked = [int(f[0][1].removeprefix("__label__")) if f else 0 for f in found]
    return {
        "test": float(np.mean(classes[picked] == sets["test"][1])),
        "seconds": seconds,
    }


def _line(text: str) -> str:
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    return " ".join(words) + "\n"


def number(value: float) -> float | None:
    """Return a value for JSON; the corrected score of a single split is NaN."""
    return None if np.isnan(value) else float(value)


def plain(value):
    return list(value) if isinstance(value, tuple) else value


class Clock:
    """Timer of the vectorizers in this process while the context is entered."""

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
                    dual=False,
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
    """Return a typical grid search with 36 candidates."""
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


# For large collections, the grid is scored on one split, as the search is.
MANY = 10_000


def run_grid(task: str, seed: int) -> dict:
    """Run a typical grid search on the same texts as the default search."""
    sets = sets_of(task)
    texts, labels = all_texts(sets)
    cv = 5
    if len(texts) >= MANY:
        cv = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
    grid = practitioners_grid(many=len(np.unique(labels)) > 2, cv=cv)
    begin = time.process_time()
    grid.fit(texts, labels)
    seconds = time.process_time() - begin
    params = {k: plain(v) for k, v in grid.best_params_.items() if k != "vectorizer"}
    params["vectorizer"] = type(grid.best_params_["vectorizer"]).__name__
    return {
        "score": float(grid.best_score_),
        "test": float(grid.score(*sets["test"])),
        "params": params,
        "seconds": seconds,
    }


RUNS = {
    "default": run_default,
    "default-gp": partial(run_default, surrogate="gp"),
    "default-tpe": partial(run_default, surrogate="tpe"),
    "grid": run_grid,
    "fasttext": run_fasttext,
    "published": run_published,
    "paper": run_paper,
}
METHODS = [name for name in RUNS if not name.startswith("default-")]
# Methods without randomness are run once.
FIXED = ("grid", "published")


def run(args: argparse.Namespace) -> None:
    cache = Cache("text")
    for seed in range(args.seeds):
        for task in args.tasks:
            for method in args.methods:
                if method in ("paper", "published") and task not in TASKS:
                    continue
                if method in FIXED and seed > 0:
                    continue
                done = {(r["task"], r["seed"]) for r in cache.load(method)}
                if (task, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = RUNS[method](task=task, seed=seed)
                cache.append(method, {"task": task, "seed": seed, **found})
                print(
                    f"{method:14} {task:11} seed {seed}: test {found['test']:.4f}, "
                    f"{found['seconds']:.1f} s",
                    flush=True,
                )


# -- speed ----------------------------------------------------------------------------


# The space of the paper, and the same representations with the default classifier.
SPEED_SPACES = ("paper", "dual")


def speed(args: argparse.Namespace) -> None:
    """Time 30 trials, then the same configurations in a pipeline of scikit-learn."""
    for space in args.spaces:
        for who in ("skbayes", "scikit-learn"):
            command = [sys.executable, __file__, "one", who, "--space", space]
            subprocess.run([*command, "--seed", str(args.seed)], check=True)


def one(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    cache = Cache("text")
    key = {"seed": args.seed, "space": args.space}

    def known(label: str) -> list[dict]:
        return [r for r in cache.load(label) if {k: r[k] for k in key} == key]

    sets = task_data("imdb", args.seed)
    ours = known("speed")
    if args.who == "skbayes" and not ours:
        cache.append("speed", {**key, **_our_trials(sets, args.seed, args.space)})
    if args.who == "scikit-learn":
        done = {r["number"] for r in known("speed-rival")}
        for number, params in enumerate(ours[0]["params"]):
            if number not in done:
                found = _their_fit(sets, params)
                cache.append("speed-rival", {**key, "number": number, **found})


def _peak() -> float:
    """Return the peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _our_trials(sets: dict, seed: int, space: str) -> dict:
    learner, changes = None, {}
    if space == "dual":
        learner = LiblinearClassifier(
            loss="logistic", dual=True, tol=0.01, fit_intercept=False, random_state=0
        )
        changes = {"C": (1e-2, 1e2, "log-uniform")}
    search = TextRepresentationSearchCV(
        learner,
        changes,
        space="paper",
        surrogate="tpe",
        stages=(1.0,),
        dev=sets["dev"],
        n_iter=N_ITER,
        random_state=seed,
        refit=False,
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
    dual = "classifier__tol" not in params
    classifier = LogisticRegression(
        penalty=params.get("classifier__penalty", "l2"),
        C=params["classifier__C"],
        tol=params.get("classifier__tol", 0.01),
        dual=dual,
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


# -- a million short texts -------------------------------------------------------------


def short_texts(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Make short texts: sentences of SST-2 with dropped and swapped words."""
    texts, labels = all_texts(data.load_sst2())
    rng = np.random.default_rng(seed)
    words = [text.split() for text in texts]
    vocabulary = sorted({word for one in words for word in one})
    rows = rng.integers(len(texts), size=n)
    made = []
    for row in rows:
        kept = [w for w in words[row] if rng.random() > 0.15]
        if kept:
            kept[rng.integers(len(kept))] = vocabulary[rng.integers(len(vocabulary))]
        made.append(" ".join(kept) or "nothing")
    return made, labels[rows]


def scale(args: argparse.Namespace) -> None:
    """Run the default search on many short texts, and record the memory used."""
    texts, labels = short_texts(args.n)
    peak = PeakOfAll()
    begin = time.perf_counter()
    with peak:
        search = TextRepresentationSearchCV(n_iter=args.n_iter, random_state=0)
        search.fit(texts, labels)
    record = {
        "n": args.n,
        "n_iter": args.n_iter,
        "characters": sum(map(len, texts)),
        "seconds": time.perf_counter() - begin,
        "peak_gb": peak.gb,
        "score": float(search.best_score_),
        "params": {k: plain(v) for k, v in search.best_params_.items()},
    }
    print(record)
    Cache("text").append("scale", record)


class PeakOfAll:
    """Largest resident memory of this process and its children in a context."""

    def __init__(self) -> None:
        self.gb = 0.0

    def __enter__(self):
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while not self._end.wait(0.2):
            total = 0
            for process in [me, *me.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
            self.gb = max(self.gb, total / 2**30)


# -- results --------------------------------------------------------------------------


def _mean_and_least(values: list[float]) -> str:
    if not values:
        return ""
    mean = f"{100 * np.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.2f})"


def show(args: argparse.Namespace) -> None:
    cache = Cache("text")
    everything = [*TASKS, *MORE, *OTHERS]
    found = {
        method: {
            task: sorted(
                (r for r in cache.load(method) if r["task"] == task),
                key=lambda r: r["seed"],
            )
            for task in everything
        }
        for method in RUNS
    }
    methods = [m for m in RUNS if any(found[m].values())]
    print("| task | target | published |" + "".join(f" {m} |" for m in methods))
    print("|" + "---|" * (len(methods) + 3))
    for task in everything:
        about = TASKS.get(task, {})
        cells = [_mean_and_least([r["test"] for r in found[m][task]]) for m in methods]
        cells = [str(about.get("target", "")), str(about.get("published", "")), *cells]
        print(f"| {task} | " + " | ".join(cells) + " |")
    print("\nseconds, mean")
    for task in everything:
        cells = [
            f"{np.mean([r['seconds'] for r in found[m][task]] or [np.nan]):.1f}"
            for m in methods
        ]
        print(f"| {task} | " + " | ".join(cells) + " |")
    for method in methods:
        if method.startswith("default"):
            show_choice(method, found[method])
    for record in [*cache.load("speed"), *cache.load("scale")]:
        print({k: v for k, v in record.items() if not isinstance(v, list | dict)})
    rival = cache.load("speed-rival")
    for ours in cache.load("speed"):
        theirs = [
            r for r in rival if (r["seed"], r["space"]) == (ours["seed"], ours["space"])
        ]
        totals = {k: sum(r[k] for r in theirs) for k in ("seconds", "representing")}
        print(f"scikit-learn, {len(theirs)} configurations: {totals}")
    if args.save:
        summary = {m: [r for t in everything for r in found[m][t]] for m in methods}
        for label in ("speed", "speed-rival", "scale"):
            summary[label] = cache.load(label)
        save_results("text", summary)
        draw(found)


def show_choice(method: str, found: dict) -> None:
    """Print the regret of the choice among the trials, and the gain by ensembles."""
    print(f"\n{method}: points below the best of the ten, ensembles of {SIZES}, time")
    for task, runs in found.items():
        runs = [run for run in runs if "tests" in run]
        if not runs:
            continue
        regret = [100 * (max(r["tests"]) - r["tests"][0]) for r in runs]
        gains = [
            [100 * (r["ensembles"].get(str(n), np.nan) - r["tests"][0]) for r in runs]
            for n in SIZES
        ]
        optimism = [100 * (r["score"] - r["corrected"]) for r in runs]
        share = [100 * r["representing"] / r["seconds"] for r in runs]
        cells = [f"{np.mean(values):.2f}" for values in (regret, *gains, optimism)]
        print(f"| {task} | " + " | ".join(cells) + f" | {np.mean(share):.0f} % |")


def _short(params: dict) -> dict:
    return {
        k.split("__")[-1]: float(f"{v:.3g}") if isinstance(v, float) else v
        for k, v in params.items()
    }


def draw(found: dict) -> None:
    """Plot test accuracy over time of the default search, the grid and fastText."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    shown = {"default": "tab:orange", "grid": "tab:blue", "fasttext": "tab:gray"}
    tasks = [t for t in TASKS if found["default"][t] and found["grid"][t]]
    figure, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained")
    for axis, task in zip(axes.flat, tasks, strict=False):
        for method, color in shown.items():
            rows = found[method][task]
            tests = [100 * r["test"] for r in rows]
            axis.plot(
                [r["seconds"] for r in rows], tests, "o", color=color, label=method
            )
        axis.set(title=task)
        axis.set_xlim(left=0)
    figure.supxlabel("processor seconds")
    figure.supylabel("test accuracy (%)")
    axes[0, 0].legend()
    path = HERE.parent / "docs" / "images" / "text.png"
    figure.savefig(path, dpi=110)
    print(f"written: {path.relative_to(HERE.parent)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    everything = {**TASKS, **MORE, **OTHERS}
    sub = commands.add_parser("run", help="compute the missing runs")
    sub.add_argument("--tasks", type=names(everything), default=list(everything))
    sub.add_argument("--methods", type=names(RUNS), default=METHODS)
    sub.add_argument("--seeds", type=int, default=5, help="default: 5")
    sub.set_defaults(function=run)
    sub = commands.add_parser("speed", help="compare the time of 30 trials on IMDB")
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument(
        "--spaces", type=names(dict.fromkeys(SPEED_SPACES)), default=SPEED_SPACES
    )
    sub.set_defaults(function=speed)
    sub = commands.add_parser(
        "one", help="one part of the comparison (called by speed)"
    )
    sub.add_argument("who", choices=["skbayes", "scikit-learn"])
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--space", choices=SPEED_SPACES, default="paper")
    sub.set_defaults(function=one)
    sub = commands.add_parser("scale", help="fit a million short texts")
    sub.add_argument("--n", type=int, default=1_000_000)
    sub.add_argument("--n-iter", type=int, default=N_ITER)
    sub.set_defaults(function=scale)
    sub = commands.add_parser("show", help="print the tables")
    sub.add_argument(
        "--save", action="store_true", help="save the tables and the figure"
    )
    sub.set_defaults(function=show)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
