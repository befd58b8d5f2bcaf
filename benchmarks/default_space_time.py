"""Default search spaces: processor time of searches, compared with random search.

Each estimator is searched with its default space, and by RandomizedSearchCV with a
hand-written space and as many trials, on raw and on standardized tables of at most 600
rows. Both searches run with one thread in separate processes.

A search exceeds the limit if its processor time is more than five times that of
RandomizedSearchCV. The best configurations are not fitted again. The operating system
ends a search after six times the processor time of RandomizedSearchCV and ten seconds.

Results are stored in one file, which is extended by each call, so that subsets can run
one after another.

Example: python benchmarks/default_space_time.py --estimators SVC,SVR --save after
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import shared
from common import HERE, names, save_results
from priors.hand_written import HAND_WRITTEN, LOG
from scipy import stats
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators, shuffle

from skbayes import BayesSearchCV

FACTOR = 5.0  # limit of the processor time, relative to RandomizedSearchCV
CAP, MORE = 6.0, 10.0  # a search is ended after CAP times that time, and MORE seconds
N_ROWS = 600
# Numbers of texts and of topics.
N_TEXTS = {"newsgroups": (600, 4), "newsgroups_many": (3000, 8)}
TEXT = "TfidfVectorizer+LogisticRegression"
NETWORK = {
    "hidden_layer_sizes": [(50,), (100,), (50, 50)],
    "alpha": (1e-5, 1e-1, LOG),
    "learning_rate_init": (1e-4, 1e-2, LOG),
}
MORE_HAND_WRITTEN: dict[str, dict[str, Any]] = {
    # "liblinear" cannot fit more than two classes.
    "LogisticRegression": {"C": (1e-3, 100.0, LOG), "class_weight": [None, "balanced"]},
    "SVC": {"C": (0.1, 100.0, LOG), "gamma": (1e-4, 1.0, LOG)},
    "NuSVC": {"nu": (0.05, 0.5), "gamma": (1e-4, 1.0, LOG)},
    "MLPClassifier": NETWORK,
    "HistGradientBoostingClassifier": {
        "max_iter": (50, 300),
        "learning_rate": (0.01, 0.3, LOG),
        "max_leaf_nodes": (8, 64),
        "l2_regularization": (1e-3, 10.0, LOG),
    },
    "LinearSVR": {"C": (1e-2, 100.0, LOG), "epsilon": (0.01, 1.0, LOG)},
    "KernelRidge": {
        "alpha": (1e-3, 10.0, LOG),
        "kernel": ["rbf"],
        "gamma": (1e-4, 1.0, LOG),
    },
    TEXT: {
        "tfidfvectorizer__ngram_range": [(1, 1), (1, 2)],
        "tfidfvectorizer__min_df": [1, 2, 5],
        "tfidfvectorizer__sublinear_tf": [False, True],
        "logisticregression__C": (1e-2, 100.0, LOG),
    },
}
CLASSIFIERS = (
    *("SVC", "NuSVC", "LinearSVC", "LogisticRegression", "SGDClassifier"),
    *("KNeighborsClassifier", "DecisionTreeClassifier", "RandomForestClassifier"),
    *("MLPClassifier", "HistGradientBoostingClassifier"),
)
REGRESSORS = ("SVR", "LinearSVR", "KernelRidge", "Ridge", "ElasticNet")
TABLES = {
    "classification": ("breast_cancer", "wine", "digits", "german_credit"),
    "regression": ("diabetes", "boston_housing"),
    "text": ("newsgroups",),
}
LEFT_OUT = {  # tables that were not used to choose the bounds of the spaces
    "classification": (
        *("ionosphere", "oil_spill", "pima", "segment", "sonar", "wine_red"),
    ),
    "regression": ("abalone", "bodyfat", "cpu", "strike"),
    "text": ("newsgroups_many",),
}


def task_of(name: str) -> str:
    if name == TEXT:
        return "text"
    return "classification" if name in CLASSIFIERS else "regression"


def make(name: str) -> Any:
    """Return an estimator with its defaults and, if possible, a fixed seed."""
    if name == TEXT:
        return make_pipeline(TfidfVectorizer(), LogisticRegression())
    estimator = dict(all_estimators())[name]()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


@cache
def table(name: str) -> tuple[Any, np.ndarray]:
    """Return rows in random order: numbers, with missing values imputed, or texts."""
    if name in N_TEXTS:
        n_rows, n_topics = N_TEXTS[name]
        texts, y = shared.all_texts(shared.load().load_newsgroups20())
        few = [text for text, label in zip(texts, y, strict=True) if label < n_topics]
        texts, y = shuffle(few, y[y < n_topics], random_state=0)
        return texts[:n_rows], y[:n_rows]
    if hasattr(datasets, f"load_{name}"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        one = shared.load().load_uci(name)
        numeric = [
            values
            for column, values in one["data"].items()
            if column not in one["categorical"]
        ]
        X = SimpleImputer().fit_transform(np.column_stack(numeric).astype(float))
        y = one["target"]
    X, y = shuffle(X, y, random_state=0)
    return X[:N_ROWS], y[:N_ROWS]


def distributions(space: dict[str, Any]) -> dict[str, Any]:
    """Return a space in dict notation as distributions of SciPy."""
    found: dict[str, Any] = {}
    for name, one in space.items():
        found[name] = one
        if isinstance(one, tuple) and one[-1] == LOG:
            found[name] = stats.loguniform(*one[:2])
        elif isinstance(one, tuple) and isinstance(one[0], int):
            found[name] = stats.randint(one[0], one[1] + 1)
        elif isinstance(one, tuple):
            found[name] = stats.uniform(one[0], one[1] - one[0])
    return found


def searches(name: str, n: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Return functions that make the two searches."""
    own = {
        "n_iter": n,
        "cv": 3,
        "random_state": seed,
        "error_score": np.nan,
        "refit": False,
    }
    hand = MORE_HAND_WRITTEN.get(name) or HAND_WRITTEN[name]
    return {
        "random": lambda: RandomizedSearchCV(make(name), distributions(hand), **own),
        "default": lambda: BayesSearchCV(make(name), "auto", **own),
    }


def timed(
    build: Callable[[], Any], X: Any, y: Any, cap: float | None
) -> dict[str, Any] | None:
    """Run a search in a process; return its time and score; None if ended or failed."""
    context = get_context("fork")
    receiver, sender = context.Pipe(False)
    process = context.Process(target=_run, args=(build, X, y, cap, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None
    finally:
        process.join()


def _run(build: Any, X: Any, y: Any, cap: float | None, sender: Any) -> None:
    warnings.simplefilter("ignore")
    if cap is not None:
        limit = int(time.process_time() + cap) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    start = time.process_time()
    search = build().fit(X, y)
    seconds = time.process_time() - start
    failed = np.isnan(search.cv_results_["mean_test_score"]).sum()
    sender.send(
        {
            "seconds": round(seconds, 2),
            "best_score": round(float(search.best_score_), 4),
            "failed": int(failed),
        }
    )


def compare(name: str, data: str, scaled: bool, n: int, seed: int) -> dict[str, Any]:
    """Return the times of both searches of an estimator on a table."""
    X, y = table(data)
    if scaled:
        X = StandardScaler().fit_transform(X)
    built = searches(name, n, seed)
    random = timed(built["random"], X, y, None)
    seconds = 0.0 if random is None else random["seconds"]
    ours = timed(built["default"], X, y, CAP * seconds + MORE)
    return {"random": random, "default": ours}


def exceeded(run: dict[str, Any]) -> bool:
    """Return whether a search was ended, or took more time than the limit."""
    random, ours = run["random"], run["default"]
    if random is None:  # all its fits failed
        return ours is None
    return ours is None or ours["seconds"] > FACTOR * random["seconds"]


def main() -> None:
    every = (*CLASSIFIERS, *REGRESSORS, TEXT)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--estimators", type=names(every), default=list(every))
    add("--tables", default="", help="comma-separated; default: all")
    add("--left-out", action="store_true", help="other tables, to check the bounds")
    add("--trials", type=int, default=10)
    add("--seed", type=int, default=0)
    add("--save", metavar="NAME", help="extend results/default_space_time/NAME.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path = HERE / "results" / "default_space_time" / f"{args.save}.json"
    saved = json.loads(path.read_text()) if args.save and path.exists() else {}
    runs = saved.get("runs", {})
    for name in args.estimators:
        task = task_of(name)
        for data in (LEFT_OUT if args.left_out else TABLES)[task]:
            if args.tables and data not in args.tables.split(","):
                continue
            for scaled in (False, True) if task != "text" else (False,):
                one = compare(name, data, scaled, args.trials, args.seed)
                label = f"{name} {data}{' scaled' if scaled else ''}"
                runs[label] = one
                mark = "EXCEEDED" if exceeded(one) else ""
                print(label, one["random"], one["default"], mark, flush=True)
                if args.save:
                    over = [key for key, run in runs.items() if exceeded(run)]
                    summary = {"trials": args.trials, "exceeded": over}
                    save_results(
                        f"default_space_time/{args.save}", {**summary, "runs": runs}
                    )


if __name__ == "__main__":
    main()
