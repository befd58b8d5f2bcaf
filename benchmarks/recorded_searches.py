"""Recorded results of seeded searches, for comparison after a change of the code.

    python benchmarks/recorded_searches.py record
    python benchmarks/recorded_searches.py check --jobs 2
    python benchmarks/recorded_searches.py check --only 'racing|rounds'
    python benchmarks/recorded_searches.py show --only 'Bayes . racing . rounds$'

The searches are listed in a table (kinds of spaces, surrogates, special parameters),
and each search class with each pair of aspects that it accepts, named "Bayes + racing +
rounds". The command `record` writes one line per search to
`results/recorded_searches/searches.jsonl`: the states and scores of its trials, its
choice, its warnings, or the error that refuses the combination, and a digest of
everything else that users see. The command `check` runs the searches again, prints the
names of what differs, and exits with status 1 if there is any difference. The command
`show` prints the values themselves; compare those of two checkouts with `diff`. Nothing
depends on measured time. Floats are compared exactly, and may be different on other
processors or with other releases of the numerical libraries. Therefore, record with the
code before the change.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import base64
import contextlib
import hashlib
import importlib.metadata
import inspect
import itertools
import json
import logging
import multiprocessing
import os
import re
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skbayes
from skbayes.loop import NoImprovement
from skbayes.options.shared_steps import aspect as shared_steps
from skbayes.space import Categorical, Choice, Integer, Ordinal, Real
from skbayes.text import NGramVectorizer

# Callbacks observe the fits of all steps, which are shared depending on their times.
shared_steps.LEAST_SECONDS = np.inf

FILE = Path(__file__).resolve().parent / "results/recorded_searches/searches.jsonl"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "joblib")
KINDS = {
    name: getattr(skbayes, f"{name}SearchCV")
    for name in ("Bayes", "MultiStage", "HyperTune", "Tradeoff", "Pareto")
} | {"Text": skbayes.TextRepresentationSearchCV}
OF_A_TRIAL = (
    *("number", "params", "score", "state", "stage", "train_fraction", "subset"),
    *("noise", "expected_improvement", "scores", "train_scores", "fitted", "feasible"),
    *("outcomes", "violation", "rounds", "stop_requested"),
)
TEXTS = [
    f"{word} {'really ' * (k % 3)}{other} film {k}, {'not ' * (k % 5 == 0)}{word}"
    for k, other in enumerate(["long", "short", "new", "old", "loud"] * 8)
    for word in (("bad", "dull"), ("good", "fine"))[k % 2]
]
# Label noise, so that no score is perfect.
LABELS = [(k // 2 + (k % 7 == 0)) % 2 for k in range(80)]


class Unreliable(DecisionTreeRegressor):
    """Decision tree whose fit fails if the leaves are large."""

    def __init__(self, max_depth: Any = None, min_samples_leaf: int = 1) -> None:
        super().__init__(
            max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=0
        )

    def fit(self, X: Any, y: Any, **params: Any) -> Unreliable:
        """Fit, or raise a ValueError."""
        if self.min_samples_leaf > 25:
            raise ValueError("too large")
        return super().fit(X, y, **params)


class Gate(BaseEstimator):
    """Step that passes the data on, fails, or allocates memory without end."""

    def __init__(self, way: str = "pass") -> None:
        self.way = way

    def fit(self, X: Any, y: Any = None) -> Gate:
        """Fit, raise a ValueError, or use memory until the process is ended."""
        if self.way == "fail":
            raise ValueError("the gate is closed")
        arrays: list[Any] = []
        while self.way == "allocate":
            arrays.append(np.ones(4_000_000))
            time.sleep(0.001)
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        """Return the data."""
        return X


class Recorder:
    """Callback that records the hooks called in the process of the search."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"events": []}

    def _note(self, hook: str, estimator: Any, context: Any) -> None:
        task = f"{context.task_name} {context.task_id} of {context.max_subtasks}"
        is_search = hasattr(estimator, "search_spaces")
        who = "search" if is_search else type(estimator).__name__
        self.events.append(f"{hook} {who} {task}")

    def setup(self, estimator: Any, context: Any) -> None:  # noqa: D102
        self._note("setup", estimator, context)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # noqa: D102
        self._note("begin", estimator, context)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:  # noqa: D102
        self._note("end", estimator, context)

    def teardown(self, estimator: Any, context: Any) -> None:  # noqa: D102
        self._note("teardown", estimator, context)


class InnerRecorder(Recorder):
    """Recorder that is propagated to the steps of the pipeline."""

    max_propagation_depth = None


def leaves(model: Any) -> float:
    """Return the number of leaves of a tree or of boosted trees."""
    model = model[-1] if isinstance(model, Pipeline) else model
    trees = np.ravel(getattr(model, "estimators_", model))
    return float(sum(tree.get_n_leaves() for tree in trees))


def nodes(tree: Any) -> float:
    return float(tree.tree_.node_count)


def support(machine: Any) -> float:
    return float(machine.n_support_.sum())


def price(net: Any) -> float:
    """Return a cost of a linear model, computed from its weights."""
    net = net[-1] if isinstance(net, Pipeline) else net
    return 1.0 + float(np.count_nonzero(np.abs(net.coef_) > 1e-3))


def small(params: Mapping[str, Any]) -> bool:
    return params["max_depth"] * params["min_samples_leaf"] <= 120


def moderate(params: Mapping[str, Any]) -> bool:
    return params.get("model__max_depth", params.get("classifier__C", 0)) <= 3


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    error = np.asarray(y) - estimator.predict(X)
    return {"bias": -abs(float(error.mean())), "spread": -float(error.std())}


def spread_first(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    return dict(reversed(both(estimator, X, y).items()))


class Killed(BaseException):
    """End of a search whose journal has some of its trials."""


def kill_after_three(trials: Any) -> None:
    if len(trials) >= 3:
        raise Killed


def second_best(results: Mapping[str, Any]) -> int:
    return int(np.argsort(results["mean_test_score"], kind="stable")[-2])


# -- spaces, surrogates, special parameters --------------------------------------------

DIABETES, IRIS, WINE = (
    load(return_X_y=True) for load in (load_diabetes, load_iris, load_wine)
)
TREE = DecisionTreeRegressor(random_state=0)
SIZES = {"max_depth": (1, 10), "min_samples_leaf": (1, 40)}
POSITIVE = stats.loguniform(1e-2, 1e2)
MODELS = [
    (ElasticNet(), {"model__alpha": (1e-3, 1.0, "log-uniform")}),
    (KNeighborsRegressor(), {"model__n_neighbors": (1, 30)}),
]
KERNELS = {
    "linear": {},
    "rbf": {"gamma": (1e-4, 1e-1, "log-uniform")},
    "poly": {"degree": [2, 3], "coef0": (0.0, 1.0)},
}
TEXT_SPACE = {
    "vectorizer__ngram_range": [(1, 1), (1, 2), (1, 3)],
    "vectorizer__sublinear_tf": [True, False],
    "classifier__C": (0.01, 100.0, "log-uniform"),
}
SPACES: dict[str, tuple[Any, Any, tuple]] = {
    "numeric": (
        ElasticNet(),
        {"alpha": Real(1e-3, 10.0, "log-uniform"), "l1_ratio": (0.0, 1.0)},
        DIABETES,
    ),
    "mixed": (
        TREE,
        {
            "splitter": ["best", "random"],
            "max_features": Categorical(["sqrt", "log2", None]),
            "max_depth": Integer(1, 12),
            "min_samples_leaf": (1, 50, "log-uniform"),
            "ccp_alpha": stats.uniform(0.0, 20.0),
        },
        DIABETES,
    ),
    "conditional": (SVC(), {"C": POSITIVE, "kernel": Choice(KERNELS)}, IRIS),
    "nested": (
        Pipeline([("scale", StandardScaler()), ("model", ElasticNet())]),
        {"model": Choice(MODELS), "scale": [None, StandardScaler()]},
        DIABETES,
    ),
    "alternatives": (
        SVC(),
        [
            {"kernel": ["linear"], "C": POSITIVE},
            {"kernel": ["rbf"], "C": POSITIVE, "gamma": Real(1e-4, 1e-1)},
        ],
        IRIS,
    ),
    "lists": (
        DecisionTreeClassifier(random_state=0),
        {
            "criterion": ["gini", "entropy"],
            "max_depth": [1, 2, 3, 4, 6],
            "min_samples_leaf": Ordinal([1, 2, 4, 8, 16]),
        },
        WINE,
    ),
    "few": (TREE, {"max_depth": [1, 2, 3], "max_features": [None, 3]}, DIABETES),
    "constraint": (TREE, SIZES, DIABETES),
    "sizes": (TREE, SIZES, DIABETES),
    "own": (LogisticRegression(), TEXT_SPACE, (TEXTS, LABELS)),
    "paper": (None, None, (TEXTS, LABELS)),
    "extended": (None, None, (TEXTS, LABELS)),
}
RACING = {"pruning": True, "cv": 5, "n_iter": 14}
TWO = {"scoring": ["r2", "neg_mean_absolute_error"], "refit": "r2"}
EARLIER = {
    "params": [{"alpha": 0.1, "l1_ratio": 0.9}, {"alpha": 5.0, "l1_ratio": 0.1}],
    "mean_test_score": np.array([0.4, 0.1]),
}
THREE = {"stages": (60, 0.5, 1.0), "n_iter": [6, 4, 3]}
APART = {"multi_fidelity": False, "best_of": "all_stages", "n_promoted": 2}
SUBSETS = {"n_subsets": 2, "n_small_iter": 4, "n_iter": 14}
SIGNS = {**SUBSETS, "complexity": {"max_depth": 1, "min_samples_leaf": -1}}
WRONG = {**SUBSETS, "complexity": {"max_depth": -1, "min_samples_leaf": 1}}
KERNEL_SIZE = {**SUBSETS, "complexity": {"C": 1}, "subset_fraction": 0.3}
LEAVES = {"cost": leaves, "tradeoff": 0.2}
PRICES = {"cost": price, "score_range": (-1.0, 1.0)}
PRICED = {"objectives": {"r2": "max", "leaves": ("min", leaves)}}
SUPPORT = {"objectives": {"accuracy": "max", "support": ("min", support)}}
WINES = {"objectives": {"accuracy": "max", "leaves": ("min", leaves)}}
THREE_OBJECTIVES = {
    "objectives": {"r2": "max", "nodes": ("min", nodes), "neg_max_error": "max"},
    "refit": "r2",
}
EVERY = "numeric mixed conditional nested alternatives lists constraint"
# Search, surrogates, spaces, numbers of trials in flight, note, arguments.
TABLE: list[tuple[str, str, str, str, str, dict[str, Any]]] = [
    ("Bayes", "gp tpe", EVERY, "1 3", "", {}),
    ("Bayes", "trees", "mixed conditional", "1 3", "", {}),
    ("Bayes", "graph", "lists", "1 3", "", {}),
    ("Bayes", "gp", "numeric", "1 3", "racing", RACING),
    ("Bayes", "gp-additive gp-matern32 gp-matern52 gp-rbf", "mixed", "1", "", {}),
    ("Bayes", "gp-additive gp-matern32 gp-matern52 gp-rbf", "lists", "3", "", {}),
    ("Bayes", "gp-warped random sobol", "mixed lists", "1 3", "", {}),
    ("Bayes", "graph", "lists", "1", "influence", {"surrogate": ("graph", "eif")}),
    ("Bayes", "gp", "numeric", "1", "ucb", {"surrogate": ("gp", "ucb")}),
    ("Bayes", "gp", "mixed", "3", "pi", {"surrogate": ("gp", "pi")}),
    ("Bayes", "tpe", "mixed", "1", "racing", {**RACING, "pruning": 0.2}),
    ("Bayes", "gp", "few", "1", "all of it", {}),
    ("Bayes", "tpe", "few", "3", "all of it", {"stopper": NoImprovement(9)}),
    ("Bayes", "gp tpe", "sizes", "1", "failures", {"estimator": Unreliable()}),
    ("Bayes", "gp", "mixed", "1 3", "two metrics", {**TWO, "refit": TWO["scoring"][1]}),
    (
        *("Bayes", "tpe", "numeric", "1", "dict of scores"),
        {"scoring": spread_first, "refit": False},
    ),
    ("Bayes", "gp", "numeric", "1", "stopper", {"stopper": NoImprovement(3)}),
    (
        *("Bayes", "gp", "numeric", "1", "known results"),
        {"initial_points": [{"alpha": 1.0, "l1_ratio": 0.5}, 2]}
        | {"warm_start_from": EARLIER},
    ),
    (
        *("Bayes", "gp", "numeric", "1", "oof, callable refit"),
        {"cv": KFold(3, shuffle=True, random_state=5), "return_folds": "predict"}
        | {"refit": second_best},
    ),
    ("Bayes", "gp tpe", "mixed", "1", "resumed", {"journal": "journal", "n_iter": 10}),
    ("MultiStage", "gp", "mixed conditional constraint", "1 3", "", {}),
    ("MultiStage", "tpe trees", "mixed", "1 3", "", {}),
    ("MultiStage", "gp", "numeric", "1 3", "racing", RACING),
    ("MultiStage", "graph gp", "lists", "1", "", {}),
    ("MultiStage", "gp", "numeric", "1", "one stage", {"stages": (1.0,)}),
    ("MultiStage", "gp", "numeric", "1", "three stages", THREE),
    ("MultiStage", "gp", "numeric", "1", "three stages apart", {**THREE, **APART}),
    ("MultiStage", "gp", "mixed", "3", "two metrics", TWO),
    ("MultiStage", "gp", "mixed", "1", "resumed", {"journal": "journal"}),
    ("HyperTune", "gp", "mixed constraint sizes", "1 3", "", SIGNS),
    ("HyperTune", "gp", "conditional", "1 3", "", KERNEL_SIZE),
    ("HyperTune", "gp-rbf", "sizes", "1", "", SIGNS),
    ("HyperTune", "gp", "lists", "1", "", SUBSETS),
    ("HyperTune", "gp", "numeric", "1", "no signs", {"complexity": None}),
    ("HyperTune", "gp", "sizes", "1", "wrong", WRONG),
    ("HyperTune", "gp", "sizes", "1", "racing", {**SIGNS, "pruning": True, "cv": 5}),
    ("Tradeoff", "gp", "mixed constraint", "1 3", "", {**PRICES, "cost": leaves}),
    ("Tradeoff", "gp", "numeric", "1 3", "", PRICES),
    ("Tradeoff", "gp", "conditional", "1 3", "", {"cost": support}),
    ("Tradeoff", "gp", "lists", "1 3", "", {"cost": leaves}),
    ("Tradeoff", "graph", "lists", "1", "", {**LEAVES, "train_sizes": (0.5, 1.0)}),
    ("Tradeoff", "trees random", "lists", "1", "", LEAVES),
    ("Tradeoff", "gp", "lists", "1", "paper", {**LEAVES, "surrogate": ("gp", "paper")}),
    ("Tradeoff", "gp", "lists", "1", "all", {**LEAVES, "all_tradeoffs": True}),
    (
        *("Tradeoff", "gp", "lists", "1", "free"),
        {"cost": leaves, "tradeoff": 0.0, "cost_scale": "raw"},
    ),
    ("Pareto", "gp", "mixed constraint", "1 3", "", PRICED),
    ("Pareto", "gp", "conditional", "1 3", "", SUPPORT),
    ("Pareto", "gp graph", "lists", "1 3", "", WINES),
    ("Pareto", "trees random", "mixed", "1", "", PRICED),
    ("Pareto", "gp", "sizes", "1", "three", THREE_OBJECTIVES),
    ("Text", "tpe", "extended paper", "1 3", "", {}),
    ("Text", "gp", "paper", "1 3", "", {}),
    ("Text", "tpe", "own", "1 3", "stages", {"stages": (0.5, 1.0)}),
    ("Text", "gp", "own", "1 3", "racing", RACING),
    (
        *("Text", "tpe", "paper", "1", "two metrics"),
        {"scoring": ["accuracy", "f1"], "refit": "f1"},
    ),
    (
        *("Text", "tpe", "extended", "1", "dev"),
        {"dev": (TEXTS[::3], LABELS[::3]), "cv": None},
    ),
]


def of_the_table() -> Iterator[tuple[str, Any, tuple, dict]]:
    """Yield name, unfitted search, data and parameters of `fit`."""
    for kind, surrogates, spaces, in_flight, note, extra in TABLE:
        product = itertools.product(
            surrogates.split(), spaces.split(), in_flight.split()
        )
        for surrogate, space, n_points in product:
            estimator, search_spaces, data = SPACES[space]
            words = [kind, surrogate, space, f"{n_points} in flight", note]
            name = " / ".join(filter(None, words))
            arguments = {"n_iter": 12, "cv": 3, "pre_dispatch": int(n_points)}
            arguments |= {"estimator": estimator, "search_spaces": search_spaces}
            if kind == "Text":
                arguments["space"] = None if space == "own" else space
            if space == "constraint":
                arguments["constraints"] = small
            arguments |= {"surrogate": surrogate, "random_state": seed(name), **extra}
            yield name, KINDS[kind](**arguments), data, {}


def seed(name: str) -> int:
    """Return a seed that does not depend on which other searches exist."""
    return zlib.crc32(name.encode()) % 10_000


# -- pairs of aspects ------------------------------------------------------------------

X, y = (part[:130:2] for part in WINE)
y = np.where(np.arange(65) % 7 == 0, 1 - y, y)
STEPS = [
    [("scale", StandardScaler()), ("pca", PCA(4, random_state=0))],
    [("model", GradientBoostingClassifier(n_estimators=4, random_state=0))],
]
TEXT_STEPS = [
    [("vectorizer", NGramVectorizer())],
    [("classifier", LogisticRegression(C=1.0))],
]
MODEL_SPACE = {
    "pca__n_components": [2, 4, 8],
    "model__max_depth": (1, 6),
    "model__learning_rate": (0.03, 1.0, "log-uniform"),
}
BASE: dict[str, dict[str, Any]] = {
    "MultiStage": {"stages": (0.5, 1.0), "n_iter": 7},
    "HyperTune": {"complexity": {"model__max_depth": 1}, "subset_fraction": 0.4}
    | {"n_subsets": 1, "n_small_iter": 3, "n_iter": 8},
    "Tradeoff": {"cost": leaves, "train_sizes": (0.5, 1.0)},
    "Pareto": WINES,
    "Text": {"space": None, "pruning": False},
}
LIMITS = {"trial_limits": {"time": "10 min", "memory": "20 GB"}}
# Each aspect sets arguments of a search. The names appear in the records, and also
# determine the seeds: "racing" is pruning, and "rounds" is early stopping. "gate",
# "fit" and "callbacks" are explained in `_search`.
ASPECTS: dict[str, dict[str, Any]] = {
    "racing": {"pruning": 0.3, "cv": 4, "n_iter": 8},
    "rounds": {"early_stopping": 4},
    "limits": LIMITS,
    "aborted": {"gate": ["pass", "allocate"], "trial_limits": {"memory": "300 MB"}},
    "failures": {"gate": ["pass", "open", "fail"]},
    "constraint": {"constraints": moderate},
    "constraints": {"constraints": {"recall": ">= 0.7", "gain": ("f1", ">= 0.5")}},
    "costs": {"constraints": {"model_size": "<= 12500", "n_features": "<= 150"}},
    "callbacks": {"callbacks": Recorder},
    "inner callbacks": {"callbacks": InnerRecorder},
    "kept fits": {"return_folds": ["estimators", "predict"]},
    "metrics": {"scoring": ["accuracy", "recall"], "refit": "recall"},
    "weights": {"fit": "sample_weight"},
    "training scores": {"return_train_score": True},
    "stages": {"stages": (0.4, 0.7, 1.0), "n_iter": 8},
    "subsets": {"n_subsets": 2},
    "in flight": {"pre_dispatch": 3},
    "journal": {"journal": "journal", "stopper": kill_after_three},
    "workers": {"n_jobs": 2, "pre_dispatch": 2},
}
# Aspects that are combined with each other aspect only for BayesSearchCV.
MINOR = {"inner callbacks", "training scores", "subsets", "in flight"}
# Searches with aspects whose processes take seconds to start. They are combined with
# many others at once, and one by one only for BayesSearchCV with limits.
SLOW = {"limits": {*KINDS}, "aborted": {"Bayes", "MultiStage"}}
WITH_LIMITS = {"racing", "rounds", "failures", "constraints", "callbacks", "kept fits"}
# Arguments that two aspects may both set.
COMBINED = {"constraints", "cv", "n_iter"}
# Aspects that are refused with rounds, and those that are left out of some searches
# with rounds and limits.
REFUSED_WITH_ROUNDS = {"constraints", "training scores"}
NOT_WITH_ROUNDS = {"constraints", "costs"}


def of_pairs() -> Iterator[tuple[str, Any, tuple, dict]]:
    """Yield name, unfitted search, data and parameters of `fit`."""
    for kind, search in KINDS.items():
        accepted = {*inspect.signature(search).parameters, "gate", "fit", "callbacks"}
        aspects = [name for name, params in ASPECTS.items() if {*params} <= accepted]
        aspects.remove("workers")
        slow, minor = ({*SLOW}, {*MINOR}) if kind != "Bayes" else ({"aborted"}, set())
        rows = [[], *([name] for name in aspects if name not in slow)]
        for pair in itertools.combinations(aspects, 2):
            first, second = (ASPECTS[name].keys() - COMBINED for name in pair)
            if not (slow | minor).isdisjoint(pair) or not first.isdisjoint(second):
                continue
            if "rounds" in pair and not REFUSED_WITH_ROUNDS.isdisjoint(pair):
                continue
            if "limits" not in pair or not WITH_LIMITS.isdisjoint(pair):
                rows.append([*pair])
        if kind == "Bayes":
            alone = {"aborted", "inner callbacks"}
            rows += [[name, "workers"] for name in aspects if name not in alone]
        for names in rows:
            full = " + ".join([kind, *names])
            yield full, *_search(kind, full, names)
        common = [a for a in aspects if a not in {*SLOW, *MINOR, "failures", "journal"}]
        for name in SLOW:
            for left_out in ({"rounds"}, NOT_WITH_ROUNDS):
                if kind in SLOW[name] and ("rounds" in common or "rounds" in left_out):
                    full = f"{kind} + {name} + all but {' and '.join(sorted(left_out))}"
                    names = [name, *(a for a in common if a not in left_out)]
                    yield full, *_search(kind, full, names)


def _combined(*values: Any) -> list[Any]:
    """Return constraints with all bounds in one dict."""
    parts = [
        part
        for value in values
        for part in (value if isinstance(value, list) else [value])
    ]
    bounds = [part for part in parts if isinstance(part, dict)]
    rules = [part for part in parts if callable(part)]
    merged = {name: bound for part in bounds for name, bound in part.items()}
    return [*rules, merged] if merged else rules


def _search(kind: str, name: str, aspects: list[str]) -> tuple[Any, tuple, dict]:
    """Return unfitted search, data and parameters of `fit` for the given aspects."""
    before, after = TEXT_STEPS if kind == "Text" else STEPS
    space = dict(TEXT_SPACE if kind == "Text" else MODEL_SPACE)
    arguments = {"n_iter": 6, "cv": 2, "pre_dispatch": 1, "initial_points": 3}
    arguments |= {"random_state": seed(name), **BASE.get(kind, {})}
    n_iter = arguments["n_iter"]
    for kwargs in map(ASPECTS.__getitem__, aspects):
        bounds = [d["constraints"] for d in (arguments, kwargs) if "constraints" in d]
        arguments |= kwargs
        if len(bounds) == 2:
            arguments["constraints"] = _combined(*bounds)
        n_iter = arguments["n_iter"] = max(n_iter, arguments["n_iter"])
    # A step of the pipeline that fails or allocates memory for one of its options.
    ways = arguments.pop("gate", None)
    if ways is not None:
        after, space["gate__way"] = [("gate", Gate()), *after], ways
    params = {}
    if (weight := arguments.pop("fit", None)) is not None:
        n_rows = len(LABELS if kind == "Text" else y)
        params[f"{after[-1][0]}__{weight}"] = 1.0 + np.arange(n_rows) % 3
    callbacks = arguments.pop("callbacks", None)
    search = KINDS[kind](Pipeline([*before, *after]), space, **arguments)
    if callbacks:
        search.set_callbacks(callbacks())
    return search, (TEXTS, LABELS) if kind == "Text" else (X, y), params


# -- results ---------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Convert a value to JSON without times; floats are represented exactly."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("list")
    if isinstance(value, np.ma.MaskedArray):
        return [None if v is np.ma.masked else plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        # Parameters should not be NumPy scalars, so these are not converted.
        return {
            str(k): repr(v) if isinstance(v, np.generic) else plain(v)
            for k, v in value.items()
            if "_time" not in str(k)
        }
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str | None):
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def outcome(search: Any, X: Any) -> dict[str, Any]:
    """Return what users see of a fitted search, except for measured times."""
    names = [
        n for n in dir(search) if n.endswith("_") and n[0] != "_" and "_time" not in n
    ]
    record: dict[str, Any] = {"attributes": names, "columns": [*search.cv_results_]}
    for name in names:
        value = getattr(search, name)
        if name.endswith("cv_results_"):
            columns = plain(value).items()
            record |= {f"{name[:-11]}{column}": values for column, values in columns}
        elif name == "fold_estimators_":
            record[name] = plain([model.predict(X[:9]) for model in value])
        elif name != "trials_":
            record[name] = plain(value)
    for name in OF_A_TRIAL:
        records = [
            trial.fidelity if hasattr(trial.fidelity, name) else trial
            for trial in search.trials_
        ]
        values = [plain(getattr(record, name, None)) for record in records]
        record[f"trials_.{name}"] = values
    errors = [
        (trial.error or "").strip().rpartition("\n")[2] for trial in search.trials_
    ]
    record["trials_.error"] = [re.sub(r"\d+ MB in memory", "", e) for e in errors]
    for callback in getattr(search, "_skl_callbacks", []):
        # With several workers, the order of events depends on timing.
        parallel = search.n_jobs is not None
        record["events"] = sorted(callback.events) if parallel else callback.events
    if hasattr(search, "best_estimator_"):
        record["predict"] = plain(search.predict(X[:20]))
    return record


def fit(search: Any, data: tuple, params: dict) -> dict[str, Any]:
    """Fit a search; one with a journal is ended early, and then continued."""
    with (
        warnings.catch_warnings(record=True) as caught,
        tempfile.TemporaryDirectory() as folder,
    ):
        warnings.simplefilter("always")
        try:
            if search.journal:
                search.set_params(journal=os.path.join(folder, search.journal))
                rest = {"n_iter": search.n_iter, "stopper": None}
                if search.stopper is None:
                    search.set_params(n_iter=search.n_iter // 2)
                with contextlib.suppress(Killed):
                    search.fit(*data, **params)
                search.set_params(**rest)
            record = outcome(search.fit(*data, **params), data[0])
        except Exception as error:
            text = f"{type(error).__name__}: {error}".replace(folder, "")
            return {"refused": text}
    pairs = [(w.category.__name__, str(w.message).strip().split("\n")) for w in caught]
    texts = {f"{name}: {lines[0]}" for name, lines in pairs}
    return record | {"warnings": sorted(texts)}


def run(job: tuple[str, Any, tuple, dict]) -> tuple[str, dict[str, Any], float]:
    """Run one search; return its name, its outcome, and the seconds that it took."""
    logging.getLogger("skbayes").setLevel(logging.CRITICAL)
    start, (name, search, data, params) = time.perf_counter(), job
    record = fit(search, data, params)
    if search.n_jobs:  # idle workers of joblib would delay the end of this process
        get_reusable_executor().shutdown(wait=True)
    return name, record, time.perf_counter() - start


def run_all(only: str, jobs: int) -> dict[str, dict[str, Any]]:
    """Run the searches whose names match a pattern, in one or more processes."""
    os.environ["PYTHONWARNINGS"] = "ignore"  # in the workers of the searches
    todo = [job for job in (*of_the_table(), *of_pairs()) if re.search(only, job[0])]
    records, start = {}, time.perf_counter()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        for name, result, taken in pool.map(run, todo):
            print(f"{taken:6.1f} s  {name}", file=sys.stderr, flush=True)
            records[name] = result
    taken = time.perf_counter() - start
    print(f"{len(todo)} searches in {taken:.0f} s", file=sys.stderr)
    return records


def digest(value: Any) -> str:
    text = json.dumps(value).encode()
    return base64.b64encode(hashlib.blake2b(text, digest_size=3).digest()).decode()


def line(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of a search: a few values, and digests of the others."""
    if "refused" in record:
        return dict(record)
    states = "".join(state[0] for state in record["trials_.state"])
    scores = [float(f"{float(score):.5g}") for score in record["trials_.score"]]
    short = {"states": states, "scores": str(scores), "best": record.get("best_index_")}
    short["warnings"] = record["warnings"]
    # Columns of splits and parameters have one digest; what is empty has none.
    parts: dict[str, list[Any]] = {}
    for name, value in record.items():
        if value not in (None, []) and value != [None] * len(record["trials_.state"]):
            key = re.sub(r"^((?:all_)?(?:split|param_)).*", r"\1*", name)
            parts.setdefault(key.replace("trials_.", "trial."), []).append(value)
    digests = [f"{key}={digest(values)}" for key, values in parts.items()]
    return short | {"digests": " ".join(digests)}


def versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield descriptions of the parts in which the records of a search differ."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if key != "digests" and old != new:
            yield f"{key}: {old!r} before, {new!r} now"
    old, new = (
        dict(part.split("=") for part in record.get("digests", "").split())
        for record in (before, after)
    )
    names = [
        name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)
    ]
    if names:
        yield f"differ: {', '.join(names)}"


def recorded() -> dict[str, Any]:
    """Return the recorded searches, and the versions of the libraries."""
    rows = FILE.read_text().splitlines() if FILE.exists() else []
    return {name: row for text in rows for name, row in json.loads(text).items()}


def check(only: str, jobs: int) -> bool:
    """Repeat the searches and print each difference; return whether there is none."""
    rows = recorded()
    for name, version in rows.pop("versions").items():
        if version != versions()[name]:
            print(f"{name} {versions()[name]}; recorded with {version}")
    before = {name: old for name, old in rows.items() if re.search(only, name)}
    after = {name: line(new) for name, new in run_all(only, jobs).items()}
    n_different = 0
    for name in dict.fromkeys([*before, *after]):
        texts = list(differences(before.get(name, {}), after.get(name, {})))
        n_different += bool(texts)
        for text in texts:
            print(f"{name}: {text}")
    print(f"{len(after)} searches, {n_different} with differences")
    return not n_different


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("record", "check", "show"))
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    if args.command == "check":
        sys.exit(0 if check(args.only, args.jobs) else 1)
    records = run_all(args.only, args.jobs)
    if args.command == "show":
        print(json.dumps(records, indent=1))
        return
    rows = recorded() if args.only else {}
    rows |= {"versions": versions()} | {k: line(v) for k, v in records.items()}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text("".join(json.dumps({k: v}) + "\n" for k, v in rows.items()))
    print(f"{len(rows) - 1} searches in {FILE.name}")


if __name__ == "__main__":
    main()
