"""Tables of text representations: random configurations on small collections of texts.

`make` draws configurations from a wide space, the same for all tasks, and fits each by
five folds on the training texts, twice with other folds, and once on all of them, with
the accuracy on the test texts. `show` prints what each option changes, which
representations to begin with (chosen on the other tasks), what the choice by few folds
regrets, and what averaging the best trials adds. Needs the data beside the checkout.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import functools
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from common import HERE, Cache, names, save_results
from scipy.special import expit
from shared import load
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from skbayes.space import Space
from skbayes.text import LiblinearClassifier, NGramVectorizer
from skbayes.text.shared_counts import counted_texts

data = load()
N_FOLDS, N_REPEATS = 5, 2
PREDICTIONS = HERE / "cache" / "text_tables"

# As wide as anything that might be in a space; `show` tells what each option changes.
WORDS = {
    "analyzer": ["word"],
    "ngram_range": [(1, 1), (1, 2), (1, 3), (2, 2)],
    "token_pattern": ["unicode", "unicode-punctuation"],
    "stop_words": [None, "english"],
    "stemmer": [None, "english"],
    "max_gap": [0, 1],
}
CHARACTERS = {
    "analyzer": ["char", "char_wb"],
    "ngram_range": [(1, 3), (2, 4), (2, 5), (2, 6), (3, 6)],
}
WEIGHTS = {
    "weighting": ["tf", "tf-idf", "binary"],
    "sublinear_tf": [False, True],
    "norm": [None, "l2"],
    "min_df": [1, 2, 3],
    "max_df": [0.5, 0.9, 1.0],
    "normalize_numbers": [False, True],
}
LEARNER = {
    "feature_scaling": [None, "log-count-ratio"],
    "loss": ["logistic", "squared_hinge"],
    "class_weight": [None, "balanced"],
    "C": (1e-2, 1e2, "log-uniform"),
}


def merged(sets: dict, names: Sequence[str]) -> tuple[list[str], np.ndarray]:
    parts = [sets[name] for name in names if sets.get(name) is not None]
    texts = [text for part in parts for text in part[0]]
    return texts, np.concatenate([labels for _, labels in parts])


def of_sets(make: Any) -> dict:
    sets = make()
    return {"train": merged(sets, ["train", "dev"]), "test": sets["test"]}


GROUPS = ("science", "atheist.religion", "x.graphics", "sports")
TASKS = {
    "sst": partial(of_sets, data.load_sst2),
    "congress": partial(of_sets, data.load_convote),
    **{
        one: partial(of_sets, partial(data.load_amazon, one))
        for one in data.AMAZON_DOMAINS
    },
    **{
        one: partial(of_sets, partial(data.load_newsgroups_task, one, subject=True))
        for one in GROUPS
    },
}


def configurations(n: int) -> list[dict[str, Any]]:
    """Draw configurations, which are the same for all tasks."""
    rng = np.random.RandomState(0)
    drawn = []
    for _ in range(n):
        tokens = WORDS if rng.rand() < 0.6 else CHARACTERS
        space = Space.from_notation({**tokens, **WEIGHTS, **LEARNER})
        drawn += space.decode(space.from_uniform(rng.rand(1, space.n_columns)))
    return drawn


def pipeline(params: dict[str, Any]) -> Pipeline:
    own = {name: value for name, value in params.items() if name in LEARNER}
    others = {k: v for k, v in params.items() if k not in LEARNER}
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


def scores_of(model: Pipeline, texts: Any, labels: np.ndarray) -> tuple[float, Any]:
    values = model.decision_function(texts)
    classes = model.classes_
    picked = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    return float(np.mean(classes[picked] == labels)), values.astype(np.float32)


def make(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    drawn = configurations(args.n)
    for task in args.tasks:
        cache = Cache("text_tables")
        known = {record["number"] for record in cache.load(task)}
        sets = TASKS[task]()
        texts, labels = sets["train"]
        folds = [
            fold
            for seed in range(N_REPEATS)
            for fold in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(
                texts, labels
            )
        ]
        begun = time.monotonic()
        n = len(texts)
        with counted_texts(texts + list(sets["test"][0]), None) as counted:
            for number, params in enumerate(drawn):
                if number in known:
                    continue
                if time.monotonic() - begun > args.seconds:
                    break
                record, predictions = one(
                    counted, labels, sets["test"][1], folds, params
                )
                PREDICTIONS.mkdir(parents=True, exist_ok=True)
                np.savez(PREDICTIONS / f"{task}-{number}.npz", test=predictions)
                cache.append(task, {"number": number, **record, "n": n})
        print(task, len(cache.load(task)), flush=True)


def one(counted, labels, test_labels, folds, params) -> tuple[dict, np.ndarray]:
    """Score one configuration on all folds and on the test texts."""
    n = len(labels)
    begin = time.process_time()
    scores = []
    try:
        for train, test in folds:
            model = pipeline(params).fit(counted[train], labels[train])
            scores.append(scores_of(model, counted[test], labels[test])[0])
        seconds = time.process_time() - begin
        model = pipeline(params).fit(counted[np.arange(n)], labels)
        rest = counted[np.arange(n, len(counted))]
        test_score, values = scores_of(model, rest, test_labels)
    except ValueError:  # no n-gram is left
        return {"folds": None, "test": None, "seconds": 0.0}, np.empty(0)
    return {"folds": scores, "test": test_score, "seconds": seconds}, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("make", help="fit what is missing")
    sub.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    sub.add_argument("--n", type=int, default=120, help="configurations; default: 120")
    sub.add_argument("--seconds", type=float, default=150.0, help="most for a task")
    sub.set_defaults(function=make)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
