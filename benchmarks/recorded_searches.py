"""Recorded results of seeded searches, for comparison after a change of the code.

    python benchmarks/recorded_searches.py record
    python benchmarks/recorded_searches.py check

The command `record` runs every search and writes its trials, results and choice to
`results/recorded_searches/searches.json`. The command `check` runs the searches again,
prints each difference, and exits with status 1 if there is any. The searches use public
names only, and nothing depends on measured time. Floats are compared exactly, and may
be different on other processors or with other releases of the numerical libraries.
Therefore, record with the code before the change.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import importlib.metadata
import json
import logging
import os
import re
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.loop import NoImprovement
from skbayes.space import Categorical, Choice, Integer, Ordinal, Real

FILE = Path(__file__).resolve().parent / "results/recorded_searches/searches.json"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "joblib", "lightgbm")
GAUSSIAN_PROCESSES = (
    "gp-additive",
    "gp-matern32",
    "gp-matern52",
    "gp-rbf",
    "gp-warped",
)

# Public attributes of fitted searches whose values do not depend on measured time.
ATTRIBUTES = (
    "best_index_",
    "best_params_",
    "best_score_",
    "best_score_corrected_",
    "stop_reason_",
    "n_points_",
    "n_splits_",
    "multimetric_",
    "target_metric_",
    "oof_predictions_",
    "train_fractions_",
    "stage_correlation_",
    "signs_",
    "small_optimum_",
    "small_optima_",
    "sign_points_",
    "disagreement_",
    "weakened_",
    "signs_in_force_",
    "tradeoff_curve_",
    "best_train_fraction_",
    "best_cost_",
    "pareto_front_",
    "pareto_params_",
    "hypervolume_",
    "reference_point_",
)
OF_A_TRIAL = (
    "number",
    "params",
    "score",
    "state",
    "stage",
    "train_fraction",
    "subset",
    "noise",
    "expected_improvement",
)
WORDS = (("bad", "dull"), ("good", "fine"))
TEXTS = [
    f"{word} {'really ' * (k % 3)}{other} film {k}, {'not ' * (k % 5 == 0)}{word}"
    for k, other in enumerate(["long", "short", "new", "old", "loud"] * 8)
    for word in WORDS[k % 2]
]
LABELS = [k % 2 for k in range(40) for _ in range(2)]
for _k in range(0, len(LABELS), 7):  # label noise, so that no score is perfect
    LABELS[_k] = 1 - LABELS[_k]


class Unreliable(DecisionTreeRegressor):
    """Decision tree whose fit fails if the leaves are large."""

    def fit(self, X: Any, y: Any, **params: Any) -> Unreliable:
        """Fit, or raise a ValueError."""
        if self.min_samples_leaf > 25:
            raise ValueError("too large")
        return super().fit(X, y, **params)


def leaves(tree: Any) -> float:
    return float(tree.get_n_leaves())


def nodes(tree: Any) -> float:
    return float(tree.tree_.node_count)


def support(machine: Any) -> float:
    return float(machine.n_support_.sum())


def price(net: Any) -> float:
    """Return a cost of a linear model, computed from its weights."""
    return 1.0 + float(np.count_nonzero(net.coef_))


def small(params: Mapping[str, Any]) -> bool:
    return params["max_depth"] * params["min_samples_leaf"] <= 120


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    error = np.asarray(y) - estimator.predict(X)
    return {"bias": -abs(float(error.mean())), "spread": -float(error.std())}


def second_best(results: Mapping[str, Any]) -> int:
    return int(np.argsort(results["mean_test_score"], kind="stable")[-2])


def kinds() -> dict[str, tuple[Any, Any, dict, tuple]]:
    """Return estimator, space, further arguments and data for each kind of space."""
    diabetes = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(random_state=0)
    sizes = {"max_depth": (1, 10), "min_samples_leaf": (1, 40)}
    positive = stats.loguniform(1e-2, 1e2)
    models = [
        (ElasticNet(), {"model__alpha": (1e-3, 1.0, "log-uniform")}),
        (KNeighborsRegressor(), {"model__n_neighbors": (1, 30)}),
    ]
    return {
        "numeric": (
            ElasticNet(),
            {"alpha": Real(1e-3, 10.0, "log-uniform"), "l1_ratio": (0.0, 1.0)},
            {},
            diabetes,
        ),
        "mixed": (
            tree,
            {
                "splitter": ["best", "random"],
                "max_features": Categorical(["sqrt", "log2", None]),
                "max_depth": Integer(1, 12),
                "min_samples_leaf": (1, 50, "log-uniform"),
                "ccp_alpha": stats.uniform(0.0, 20.0),
            },
            {},
            diabetes,
        ),
        "conditional": (
            SVC(),
            {
                "C": positive,
                "kernel": Choice(
                    {
                        "linear": {},
                        "rbf": {"gamma": (1e-4, 1e-1, "log-uniform")},
                        "poly": {"degree": [2, 3], "coef0": (0.0, 1.0)},
                    }
                ),
            },
            {},
            load_iris(return_X_y=True),
        ),
        "nested": (
            Pipeline([("scale", StandardScaler()), ("model", ElasticNet())]),
            {"model": Choice(models), "scale": [None, StandardScaler()]},
            {},
            diabetes,
        ),
        "alternatives": (
            SVC(),
            [
                {"kernel": ["linear"], "C": positive},
                {"kernel": ["rbf"], "C": positive, "gamma": Real(1e-4, 1e-1)},
            ],
            {},
            load_iris(return_X_y=True),
        ),
        "lists": (
            DecisionTreeClassifier(random_state=0),
            {
                "criterion": ["gini", "entropy"],
                "max_depth": [1, 2, 3, 4, 6],
                "min_samples_leaf": Ordinal([1, 2, 4, 8, 16]),
            },
            {},
            load_wine(return_X_y=True),
        ),
        "few": (
            tree,
            {"max_depth": [1, 2, 3], "max_features": [None, 3]},
            {},
            diabetes,
        ),
        "constraint": (tree, sizes, {"constraint": small}, diabetes),
        "sizes": (tree, sizes, {}, diabetes),
    }


def searches() -> dict[str, tuple[Any, tuple]]:
    """Return the unfitted searches, and the arguments of their fits, by name."""
    found: dict[str, tuple[Any, tuple]] = {}
    all_kinds = kinds()

    def add(kind: Any, surrogate: str, space: str, note: str = "", **more: Any) -> None:
        estimator, search_spaces, extra, data = all_kinds[space]
        arguments: dict[str, Any] = {"n_iter": 12, "cv": 3, "n_points": 1}
        arguments |= {"surrogate": surrogate, **extra, **more}
        estimator = arguments.pop("estimator", estimator)
        words = [kind.__name__.removesuffix("SearchCV"), surrogate, space]
        words += [f"{arguments['n_points']} in flight", note]
        name = " / ".join(filter(None, words))
        if name in found:
            raise ValueError(f"{name} is there twice")
        # The seed does not depend on which other searches exist.
        arguments["random_state"] = zlib.crc32(name.encode()) % 10_000
        found[name] = kind(estimator, search_spaces, **arguments), data

    bayes(add)
    staged(add)
    hypertune(add)
    tradeoff(add)
    pareto(add)
    found.update(texts())
    return found


def bayes(add: Callable) -> None:
    spaces = ("numeric", "mixed", "conditional", "nested", "alternatives", "lists")
    for n_points in (1, 3):
        for space in (*spaces, "constraint"):
            add(BayesSearchCV, "gp", space, n_points=n_points)
            add(BayesSearchCV, "tpe", space, n_points=n_points, n_iter=14)
        add(BayesSearchCV, "trees", "mixed", n_points=n_points, n_iter=10)
        add(BayesSearchCV, "trees", "conditional", n_points=n_points, n_iter=10)
        add(BayesSearchCV, "graph", "lists", n_points=n_points)
        add(BayesSearchCV, "gp", "numeric", "racing", n_points=n_points, **RACING)
    for surrogate in (*GAUSSIAN_PROCESSES, "random", "sobol"):
        add(BayesSearchCV, surrogate, "mixed")
        add(BayesSearchCV, surrogate, "lists", n_points=3)
    add(BayesSearchCV, "graph", "lists", "influence", acquisition="eif")
    add(BayesSearchCV, "gp", "numeric", "ucb", acquisition="ucb")
    add(BayesSearchCV, "gp", "mixed", "pi", acquisition="pi", n_points=3)
    add(BayesSearchCV, "tpe", "mixed", "racing", **{**RACING, "racing": 0.2})
    add(BayesSearchCV, "gp", "few", "all of it")
    add(BayesSearchCV, "tpe", "few", "all of it", n_points=3, stopper=NoImprovement(9))
    failing = Unreliable(random_state=0)
    for surrogate in ("gp", "tpe"):
        add(BayesSearchCV, surrogate, "sizes", "failures", estimator=failing)
    scoring = ["r2", "neg_mean_absolute_error"]
    for n_points in (1, 3):
        more = {"scoring": scoring, "refit": scoring[1], "n_points": n_points}
        add(BayesSearchCV, "gp", "mixed", "two metrics", **more)
    more = {"scoring": both, "refit": False, "target_metric": "spread"}
    add(BayesSearchCV, "tpe", "numeric", "dict of scores", **more)
    more = {"stopper": NoImprovement(3), "return_train_score": True}
    add(BayesSearchCV, "gp", "numeric", "stopper, training scores", **more)
    point = {"alpha": 1.0, "l1_ratio": 0.5}
    known = {
        "params": [{"alpha": 0.1, "l1_ratio": 0.9}, {"alpha": 5.0, "l1_ratio": 0.1}],
        "mean_test_score": np.array([0.4, 0.1]),
    }
    more = {"initial_points": [point], "warm_start_from": known, "n_initial_points": 2}
    add(BayesSearchCV, "gp", "numeric", "known results", **more)
    more = {"cv": KFold(3, shuffle=True, random_state=5), "return_oof": "predict"}
    add(
        BayesSearchCV, "gp", "numeric", "oof, callable refit", **more, refit=second_best
    )
    for surrogate in ("gp", "tpe"):
        add(BayesSearchCV, surrogate, "mixed", "resumed", journal="journal", n_iter=10)


RACING = {"racing": True, "cv": 5, "n_iter": 14}


def staged(add: Callable) -> None:
    for n_points in (1, 3):
        for space in ("mixed", "conditional", "constraint"):
            add(MultiStageSearchCV, "gp", space, n_points=n_points)
        add(MultiStageSearchCV, "tpe", "mixed", n_points=n_points)
        add(MultiStageSearchCV, "gp", "numeric", "racing", n_points=n_points, **RACING)
    add(MultiStageSearchCV, "graph", "lists")
    add(MultiStageSearchCV, "gp", "lists")
    add(MultiStageSearchCV, "trees", "mixed", n_iter=10)
    add(MultiStageSearchCV, "gp", "numeric", "one stage", stages=(1.0,))
    more: dict[str, Any] = {"stages": (60, 0.5, 1.0), "trials_per_stage": [6, 4, 3]}
    add(MultiStageSearchCV, "gp", "numeric", "three stages", **more)
    more |= {"multi_fidelity": False, "best_of": "all_stages", "n_promoted": 2}
    add(MultiStageSearchCV, "gp", "numeric", "three stages apart", **more)
    scoring = ["r2", "neg_mean_absolute_error"]
    more = {"scoring": scoring, "refit": "r2", "n_points": 3}
    add(MultiStageSearchCV, "gp", "mixed", "two metrics", **more)
    add(MultiStageSearchCV, "gp", "mixed", "resumed", journal="journal")


def hypertune(add: Callable) -> None:
    signs = {"max_depth": 1, "min_samples_leaf": -1}
    small_samples = {"n_subsets": 2, "n_small_iter": 4, "n_iter": 14}
    for n_points in (1, 3):
        more = {**small_samples, "n_points": n_points}
        for space in ("mixed", "constraint", "sizes"):
            add(HyperTuneSearchCV, "gp", space, complexity=signs, **more)
        more["complexity"] = {"C": 1}
        add(HyperTuneSearchCV, "gp", "conditional", subset_fraction=0.3, **more)
    add(HyperTuneSearchCV, "gp-rbf", "sizes", complexity=signs, **small_samples)
    add(HyperTuneSearchCV, "gp", "lists", **small_samples)
    add(HyperTuneSearchCV, "gp", "numeric", "no signs", complexity=None)
    wrong = {name: -sign for name, sign in signs.items()}
    add(HyperTuneSearchCV, "gp", "sizes", "wrong", complexity=wrong, **small_samples)
    more = {**small_samples, "racing": True, "cv": 5}
    add(HyperTuneSearchCV, "gp", "sizes", "racing", complexity=signs, **more)


def tradeoff(add: Callable) -> None:
    costs = {"numeric": price, "conditional": support}
    for n_points in (1, 3):
        for space in ("numeric", "mixed", "conditional", "lists", "constraint"):
            more = {"cost": costs.get(space, leaves), "n_points": n_points}
            if space != "conditional" and space != "lists":
                more["score_range"] = (-1.0, 1.0)
            add(TradeoffSearchCV, "gp", space, **more)
    more = {"cost": leaves, "tradeoff": 0.2}
    add(TradeoffSearchCV, "graph", "lists", train_sizes=(0.5, 1.0), **more)
    add(TradeoffSearchCV, "trees", "lists", n_iter=10, **more)
    add(TradeoffSearchCV, "random", "lists", **more)
    add(TradeoffSearchCV, "gp", "lists", "paper", acquisition="paper", **more)
    add(TradeoffSearchCV, "gp", "lists", "all tradeoffs", all_tradeoffs=True, **more)
    more = {"cost": leaves, "tradeoff": 0.0, "cost_scale": "raw"}
    add(TradeoffSearchCV, "gp", "lists", "free", **more)


def pareto(add: Callable) -> None:
    objectives = {"r2": "max", "leaves": ("min", leaves)}
    for n_points in (1, 3):
        more = {"objectives": objectives, "n_points": n_points}
        for space in ("mixed", "constraint"):
            add(ParetoSearchCV, "gp", space, **more)
        more["objectives"] = {"accuracy": "max", "support": ("min", support)}
        add(ParetoSearchCV, "gp", "conditional", **more)
        more["objectives"] = {"accuracy": "max", "leaves": ("min", leaves)}
        add(ParetoSearchCV, "gp", "lists", **more)
    add(ParetoSearchCV, "graph", "lists", objectives=more["objectives"])
    add(ParetoSearchCV, "trees", "mixed", objectives=objectives, n_iter=10)
    add(ParetoSearchCV, "random", "mixed", objectives=objectives)
    three = {**objectives, "nodes": ("min", nodes), "neg_max_error": "max"}
    three.pop("leaves")
    add(ParetoSearchCV, "gp", "sizes", "three", objectives=three, refit="r2")


def texts() -> dict[str, tuple[Any, tuple]]:
    space = {
        "vectorizer__ngram_range": [(1, 1), (1, 2), (1, 3)],
        "vectorizer__sublinear_tf": [True, False],
        "classifier__C": (0.01, 100.0, "log-uniform"),
    }
    logistic = LogisticRegression()
    data = (TEXTS, LABELS)
    found = {}
    for n_points in (1, 3):
        more = {"n_iter": 12, "cv": 3, "random_state": 3, "n_points": n_points}
        tail = f"{n_points} in flight"
        kind = TextRepresentationSearchCV
        found |= {
            f"Text / tpe / extended / {tail}": kind(**more),
            f"Text / tpe / paper / {tail}": kind(space="paper", **more),
            f"Text / gp / paper / {tail}": kind(space="paper", surrogate="gp", **more),
            f"Text / tpe / own / {tail} / stages": kind(
                logistic, space, space=None, stages=(0.5, 1.0), **more
            ),
            f"Text / gp / own / {tail} / racing": kind(
                logistic, space, space=None, surrogate="gp", **{**more, **RACING}
            ),
        }
    more["scoring"], more["refit"] = ["accuracy", "f1"], "f1"
    found["Text / tpe / paper / two metrics"] = kind(space="paper", **more)
    del more["cv"], more["scoring"], more["refit"]
    more["dev"] = (TEXTS[::3], LABELS[::3])
    found["Text / tpe / extended / dev"] = kind(refit_dev=True, **more)
    return {name: (search, data) for name, search in found.items()}


def plain(value: Any) -> Any:
    """Convert a value to JSON; floats are represented exactly by their repr."""
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
        }
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str | None):
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def outcome(search: Any, X: Any) -> dict[str, Any]:
    """Return the results of a fitted search without measured times."""
    found = {}
    for name in ("cv_results_", "all_cv_results_"):
        for column, values in getattr(search, name, {}).items():
            known = name.startswith("all") and column.startswith("param_")
            if not known and "_time" not in column:
                found[f"{name}[{column}]"] = plain(values)
    for name in ATTRIBUTES:
        if hasattr(search, name):
            found[name] = plain(getattr(search, name))
    trials = search.trials_
    for name in OF_A_TRIAL:
        found[f"trials_.{name}"] = [plain(getattr(trial, name)) for trial in trials]
    if hasattr(search, "best_estimator_"):
        found["predict"] = plain(search.predict(X[:20]))
    return found


def fit(search: Any, data: tuple) -> Any:
    """Fit a search; a search with a journal is interrupted and continued."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if getattr(search, "journal", None):
            search.set_params(journal=os.path.join(folder, search.journal))
            n_iter = search.n_iter
            search.set_params(n_iter=n_iter // 2).fit(*data)
            search.set_params(n_iter=n_iter)
        return search.fit(*data)


def run(only: str) -> dict[str, Any]:
    """Run the searches whose names match a pattern."""
    logging.getLogger("skbayes").setLevel(logging.CRITICAL)
    found = {}
    for name, (search, data) in searches().items():
        if re.search(only, name):
            start = time.process_time()
            found[name] = outcome(fit(search, data), data[0])
            taken = time.process_time() - start
            print(f"{taken:6.1f} s  {name}", file=sys.stderr, flush=True)
    return found


def versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


# States of trials that were renamed since the file was recorded.
RENAMED = {"raced": "pruned", "censored": "timed_out"}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Describe the parts in which the results of a search differ."""
    lines = []
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in after or key not in before:
            lines.append(f"{key}: {'missing' if key in before else 'new'}")
            continue
        old, new = before[key], after[key]
        if "state" in key and isinstance(old, list):
            old = [RENAMED.get(state, state) for state in old]
        if old == new:
            continue
        if isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                lines.append(f"{key}: {len(old)} entries before, {len(new)} now")
            pairs = zip(old, new, strict=False)
            unequal = [k for k, (a, b) in enumerate(pairs) if a != b]
            if unequal:
                k = unequal[0]
                count = f"{len(unequal)} of {len(old)} differ, the first at {k}"
                lines.append(f"{key}: {count}: {old[k]!r} before, {new[k]!r} now")
        else:
            lines.append(f"{key}: {old!r} before, {new!r} now")
    return lines


def lines(record: Mapping[str, Any]) -> str:
    """Return JSON with one line per part of a search, which keeps diffs short."""
    parts = [f' "versions": {json.dumps(record["versions"])}', ' "searches": {']
    searches = []
    for name, found in record["searches"].items():
        inner = [f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
        searches.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(inner) + "\n  }")
    return "{\n" + ",\n".join(parts) + "\n" + ",\n".join(searches) + "\n }\n}"


def check(only: str) -> bool:
    """Repeat the searches and print each difference; return whether there is none."""
    recorded = json.loads(FILE.read_text())
    for name, version in versions().items():
        if recorded["versions"].get(name) != version:
            print(f"{name} {version}; recorded with {recorded['versions'].get(name)}")
    before = {k: v for k, v in recorded["searches"].items() if re.search(only, k)}
    after = json.loads(json.dumps(run(only)))
    n_different = 0
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after or name not in before:
            lines = ["not run any more" if name in before else "not recorded"]
        else:
            lines = differences(before[name], after[name])
        n_different += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
    print(f"{len(after)} searches, {n_different} with differences")
    return not n_different


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("record", "check"))
    parser.add_argument(
        "--only", default="", help="regular expression of names, for check"
    )
    args = parser.parse_args()
    if args.command == "check":
        sys.exit(0 if check(args.only) else 1)
    if args.only:
        parser.error("--only is for check: a record has all searches")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    record = {"versions": versions(), "searches": run("")}
    FILE.write_text(lines(record) + "\n")
    print(f"{len(record['searches'])} searches in {FILE}")


if __name__ == "__main__":
    main()
