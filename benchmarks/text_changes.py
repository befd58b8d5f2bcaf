"""Changes of a text representation, one at a time, on ten collections of texts.

The command `change` changes one option at a time of a few good pipelines. It scores the
results by five folds on the training texts, and on the test texts. The command `show`
prints the effect of each change, and the representations with which a search should
begin. They are a greedy choice by the scores of the folds, with each collection left
out in turn. The data sets are expected outside of the checkout, in ../shared/data.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from common import Cache, names, save_results
from shared import all_texts, load
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text.shared_counts import counted_texts

data = load()
N_FOLDS = 5


GROUPS = ("science", "atheist.religion", "x.graphics", "sports")
TASKS = {
    "sst": data.load_sst2,
    "congress": data.load_convote,
    **{one: partial(data.load_amazon, one) for one in data.AMAZON_DOMAINS},
    **{one: partial(data.load_newsgroups_task, one, subject=True) for one in GROUPS},
}


def pipeline(params: dict[str, Any]) -> Pipeline:
    options = LiblinearClassifier._get_param_names()
    own = {name: value for name, value in params.items() if name in options}
    others = {name: value for name, value in params.items() if name not in options}
    tol = 1e-2 if own["loss"] == "logistic" else 0.1
    return Pipeline(
        [
            ("vectorizer", NGramVectorizer(**{"token_pattern": "unicode", **others})),
            (
                "classifier",
                LiblinearClassifier(
                    fit_intercept=False, random_state=0, tol=tol, **own
                ),
            ),
        ]
    )


def one(counted, labels, test_labels, folds, make_it) -> dict:
    """Score one configuration on all folds and on the test texts."""
    n = len(labels)
    begin = time.process_time()
    scores = [
        make_it().fit(counted[train], labels[train]).score(counted[test], labels[test])
        for train, test in folds
    ]
    seconds = time.process_time() - begin
    model = make_it().fit(counted[np.arange(n)], labels)
    on_test = model.score(counted[np.arange(n, len(counted))], test_labels)
    return {"folds": scores, "test": on_test, "seconds": seconds}


# -- one option at a time -------------------------------------------------------------

_TFIDF = {"weighting": "tf-idf", "sublinear_tf": True, "norm": "l2"}
_RATIO = {"loss": "logistic", "feature_scaling": "log-count-ratio"}
BASES = {
    "words": {"ngram_range": (1, 2), **_TFIDF, **_RATIO, "C": 10.0},
    "characters": {
        "analyzer": "char_wb",
        "ngram_range": (2, 5),
        **_TFIDF,
        **_RATIO,
        "C": 10.0,
    },
    "binary": {"ngram_range": (1, 2), "weighting": "binary", **_RATIO, "C": 1.0},
}
_ALL: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no ratios": {"feature_scaling": None},
    "squared hinge": {"loss": "squared_hinge", "C": 1.0},
    "l1": {"penalty": "l1"},
    "balanced": {"class_weight": "balanced"},
    "C x 10": {"C": 100.0},
    "C / 10": {"C": 1.0},
    "C / 100": {"C": 0.1},
    "ridge": {"learner": "ridge"},
    "naive Bayes": {"learner": "bayes"},
    "BM25": {"weighting": "bm25"},
    "BM25 in rows of length 1": {"weighting": "bm25", "norm": "l2"},
    "no logarithm": {"sublinear_tf": False},
    "binary in rows of length 1": {"weighting": "binary", "norm": "l2"},
    "binary": {"weighting": "binary", "norm": None},
    "min_df=2": {"min_df": 2},
    "max_df=0.5": {"max_df": 0.5},
    "normalize_numbers": {"normalize_numbers": True},
}
_OF_WORDS: dict[str, dict[str, Any]] = {
    "one word": {"ngram_range": (1, 1)},
    "up to three": {"ngram_range": (1, 3)},
    "punctuation": {"token_pattern": "unicode-punctuation"},
    "stop words": {"stop_words": "english"},
    "stems": {"stemmer": "english"},
    "gaps": {"max_gap": 1},
}
_OF_CHARACTERS: dict[str, dict[str, Any]] = {
    "up to 4": {"ngram_range": (2, 4)},
    "up to 6": {"ngram_range": (2, 6)},
    "3 to 6": {"ngram_range": (3, 6)},
    "across words": {"analyzer": "char"},
    "across words, up to 6": {"analyzer": "char", "ngram_range": (2, 6)},
    "across words, 3 to 5": {"analyzer": "char", "ngram_range": (3, 5)},
    "across words, 3 to 6": {"analyzer": "char", "ngram_range": (3, 6)},
    "across words, hinge": {
        "analyzer": "char",
        "ngram_range": (2, 5),
        "loss": "squared_hinge",
        "C": 1.0,
    },
}
CHANGES = {
    "words": _ALL | _OF_WORDS,
    "characters": _ALL | _OF_CHARACTERS,
    "binary": {
        name: _ALL[name]
        for name in ("as it is", "no ratios", "C x 10", "C / 10", "balanced")
    }
    | {name: _OF_WORDS[name] for name in ("one word", "up to three", "punctuation")},
}
# Multiples of the C of the other.
CHANGES["binary"]["C x 10"] = {"C": 10.0}
CHANGES["binary"]["C / 10"] = {"C": 0.1}


class BM25(BaseEstimator, TransformerMixin):
    """Weights of Robertson & Walker (1994) for counts, with k1=1.2 and b=0.75."""

    def __init__(self, norm: str | None = None) -> None:
        self.norm = norm

    def fit(self, X, y=None):  # noqa: D102
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        n = X.shape[0]
        self.idf_ = np.log(1 + (n - frequency + 0.5) / (frequency + 0.5))
        self.length_ = X.sum() / n
        return self

    def transform(self, X):  # noqa: D102
        lengths = np.asarray(X.sum(axis=1)).ravel() / self.length_
        saturation = np.repeat(1.2 * (0.25 + 0.75 * lengths), np.diff(X.indptr))
        X = X.copy()
        X.data = self.idf_[X.indices] * X.data * 2.2 / (X.data + saturation)
        return X if self.norm is None else normalize(X, norm=self.norm)


def changed(base: str, change: str) -> Pipeline:
    """Return the pipeline of a base with one change."""
    params = {**BASES[base], **CHANGES[base][change]}
    learner = params.pop("learner", "linear")
    bm25 = params["weighting"] == "bm25"
    if bm25:
        params |= {"weighting": "tf", "norm": None, "sublinear_tf": False}
    if learner != "linear":
        params["feature_scaling"] = None
    steps = pipeline(params).steps
    if bm25:
        steps.insert(1, ("bm25", BM25(CHANGES[base][change].get("norm"))))
    if learner == "ridge":
        steps[-1] = ("classifier", RidgeClassifier(solver="sparse_cg"))
    if learner == "bayes":
        steps[-1] = ("classifier", ComplementNB())
    return Pipeline(steps)


def change(args: argparse.Namespace) -> None:
    """Score every change by five folds and on the test texts."""
    warnings.simplefilter("ignore")
    cache = Cache("text_changes")
    for task in args.tasks:
        known = {(r["base"], r["change"]) for r in cache.load(f"changes-{task}")}
        sets = TASKS[task]()
        texts, labels = all_texts(sets)
        n = len(texts)
        splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        folds = list(splitter.split(texts, labels))
        with counted_texts(texts + list(sets["test"][0]), None) as counted:
            for base in BASES:
                for name in CHANGES[base]:
                    if (base, name) in known:
                        continue
                    make_it = partial(changed, base, name)
                    record = one(counted, labels, sets["test"][1], folds, make_it)
                    cache.append(
                        f"changes-{task}",
                        {"base": base, "change": name, **record, "n": n},
                    )
        print(task, flush=True)


def show(args: argparse.Namespace) -> None:
    """Print the effect of each change of a base, in points of accuracy."""
    cache = Cache("text_changes")
    found = {
        (task, r["base"], r["change"]): r
        for task in TASKS
        for r in cache.load(f"changes-{task}")
    }
    tasks = [task for task in TASKS if (task, "words", "as it is") in found]
    for base in BASES:
        print(f"\n| {base} | by folds | on test texts | time | " + " | ".join(tasks))
        for name in CHANGES[base]:
            if any((task, base, name) not in found for task in tasks):
                continue
            pairs = [
                (found[task, base, name], found[task, base, "as it is"])
                for task in tasks
            ]
            plain = name == "as it is"
            folds = [
                100 * (np.mean(a["folds"]) - (0 if plain else np.mean(b["folds"])))
                for a, b in pairs
            ]
            tests = [100 * (a["test"] - (0 if plain else b["test"])) for a, b in pairs]
            times = np.exp(
                np.mean([np.log(a["seconds"] / b["seconds"]) for a, b in pairs])
            )
            cells = [f"{value:.1f}" for value in tests]
            print(
                f"| {name} | {_points(folds)} | {_points(tests)} | {times:.1f} | "
                + " | ".join(cells)
            )
    portfolio(found, tasks)
    if args.save:
        save_results(
            "text_changes/changes",
            {"changes": [{"task": t, **r} for (t, _, _), r in found.items()]},
        )


def portfolio(found: dict, tasks: list[str], n: int = 6) -> None:
    """Print a greedy choice of representations, and its distance to the best."""
    named = [
        (base, name)
        for base in BASES
        for name in CHANGES[base]
        if all(found.get((t, base, name), {}).get("folds") for t in tasks)
    ]
    scores = 100 * np.array(
        [[np.mean(found[task, *one]["folds"]) for one in named] for task in tasks]
    )
    print("\n| left out | below the best after 1 to 6 | the first four")
    for out, task in [(None, "none"), *enumerate(tasks)]:
        rows = [row for row in range(len(tasks)) if row != out]
        chosen: list[int] = []
        reached = np.full(len(rows), -np.inf)
        for _ in range(n):
            means = np.maximum(reached[:, None], scores[rows]).mean(axis=0)
            chosen.append(int(np.argmax(means)))
            reached = np.maximum(reached, scores[rows, chosen[-1]])
        left = [
            np.mean(scores.max(axis=1)[own] - scores[own][:, chosen[:k]].max(axis=1))
            for own in [rows if out is None else [out]]
            for k in range(1, n + 1)
        ]
        cells = " ".join(f"{value:.2f}" for value in left)
        print(f"| {task} | {cells} | {[' / '.join(named[i]) for i in chosen[:4]]}")


def dual(args: argparse.Namespace) -> None:
    """Compare the dual problem at LIBLINEAR's tolerance with the converged primal."""
    rows = []
    for task in args.tasks:
        sets = TASKS[task]()
        texts, labels = all_texts(sets)
        for base, params in BASES.items():
            vectorizer, _ = (step for _, step in pipeline(params).steps)
            train = vectorizer.fit_transform(texts)
            test = vectorizer.transform(sets["test"][0])
            for C in (0.1, 1.0, 10.0):
                found, seconds = {}, {}
                for kind, tol in ((True, 0.1), (False, 1e-4)):
                    model = LiblinearClassifier(
                        loss="logistic",
                        feature_scaling="log-count-ratio",
                        dual=kind,
                        tol=tol,
                        C=C,
                        fit_intercept=False,
                        random_state=0,
                    )
                    begin = time.process_time()
                    model.fit(train, labels)
                    seconds[kind] = time.process_time() - begin
                    found[kind] = model.predict(test)
                row = {
                    "task": task,
                    "base": base,
                    "C": C,
                    "other": float(np.mean(found[True] != found[False])),
                    "times": seconds[False] / seconds[True],
                }
                rows.append(row)
    for base in BASES:
        own = [row for row in rows if row["base"] == base]
        other = [100 * row["other"] for row in own]
        times = [row["times"] for row in own]
        print(
            f"{base}: other predictions {np.mean(other):.3f} % (most {max(other):.2f} "
            f"%), primal / dual time {np.exp(np.mean(np.log(times))):.1f}"
        )
    save_results("text_changes/dual", {"rows": rows})


def _points(values: list[float]) -> str:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{np.mean(values):.2f} ± {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("change", help="change one option at a time")
    sub.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    sub.set_defaults(function=change)
    sub = commands.add_parser("dual", help="compare the dual problem with the primal")
    sub.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    sub.set_defaults(function=dual)
    sub = commands.add_parser("show", help="print the results")
    sub.add_argument("--save", action="store_true", help="save the results")
    sub.set_defaults(function=show)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
