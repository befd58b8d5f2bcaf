"""Default search spaces: processor time of searches, compared with random search.

Each estimator is searched with its default space, and by RandomizedSearchCV with a
hand-written space and as many trials, on raw and on standardized tables of at most 600
rows. Both searches run with one thread in separate processes.

A search exceeds the limit if its processor time is more than five times that of
RandomizedSearchCV. The best configurations are not fitted again. The operating system
ends a search after six times the processor time of RandomizedSearchCV and ten seconds.

The figures are the median and the largest time relative to RandomizedSearchCV, and the
mean and the smallest difference of the best scores. The tables of the study "left-out"
were not used to choose the bounds of the spaces.

Example: python benchmarks/default_space_time.py chosen --every 10
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import resource
import time
import warnings
from collections.abc import Sequence
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from harness import Figures, Record, Study, all_texts, load, main
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
FIGURES = ("seconds", "best_score", "failed")
CAP, MORE = 6.0, 10.0  # a search is ended after CAP times that time, and MORE seconds
N_ROWS = 600
# Numbers of texts and of topics.
N_TEXTS = {"newsgroups": (600, 4), "newsgroups_many": (3000, 8)}
TEXT = "TfidfVectorizer+LogisticRegression"
LOG = "log-uniform"
TREE = {
    "max_depth": [3, 5, 10, 20, None],
    "min_samples_split": (2, 20),
    "min_samples_leaf": (1, 10),
}
NETWORK = {
    "hidden_layer_sizes": [(50,), (100,), (50, 50)],
    "alpha": (1e-5, 1e-1, LOG),
    "learning_rate_init": (1e-4, 1e-2, LOG),
}
HAND_WRITTEN: dict[str, dict[str, Any]] = {
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
    "LinearSVC": {"C": (1e-3, 100.0, LOG), "loss": ["hinge", "squared_hinge"]},
    "SGDClassifier": {
        "loss": ["hinge", "log_loss", "modified_huber"],
        "penalty": ["l2", "l1", "elasticnet"],
        "alpha": (1e-5, 1e-1, LOG),
    },
    "KNeighborsClassifier": {
        "n_neighbors": (1, 30),
        "weights": ["uniform", "distance"],
        "p": [1, 2],
    },
    "DecisionTreeClassifier": {**TREE, "criterion": ["gini", "entropy"]},
    "RandomForestClassifier": {
        "max_depth": [3, 5, 10, 20, None],
        "min_samples_split": (2, 10),
        "min_samples_leaf": (1, 5),
        "max_features": ["sqrt", "log2", None],
        "bootstrap": [True, False],
    },
    "SVR": {
        "C": (0.1, 100.0, LOG),
        "gamma": (1e-4, 1.0, LOG),
        "epsilon": (0.01, 1.0, LOG),
    },
    "Ridge": {"alpha": (1e-3, 100.0, LOG)},
    "ElasticNet": {"alpha": (1e-3, 10.0, LOG), "l1_ratio": (0.1, 0.9)},
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


def table(name: str) -> tuple[Any, np.ndarray]:
    """Return rows in random order: numbers, with missing values imputed, or texts."""
    if name in N_TEXTS:
        n_rows, n_topics = N_TEXTS[name]
        texts, y = all_texts(load().load_newsgroups20())
        few = [text for text, label in zip(texts, y, strict=True) if label < n_topics]
        texts, y = shuffle(few, y[y < n_topics], random_state=0)
        return texts[:n_rows], y[:n_rows]
    if hasattr(datasets, f"load_{name}"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        uci = load().load_uci(name)
        numeric = [
            values
            for column, values in uci["data"].items()
            if column not in uci["categorical"]
        ]
        X = SimpleImputer().fit_transform(np.column_stack(numeric).astype(float))
        y = uci["target"]
    X, y = shuffle(X, y, random_state=0)
    return X[:N_ROWS], y[:N_ROWS]


def distributions(space: dict[str, Any]) -> dict[str, Any]:
    """Return a space in dict notation as distributions of SciPy."""
    found: dict[str, Any] = {}
    for name, given in space.items():
        found[name] = given
        if isinstance(given, tuple) and given[-1] == LOG:
            found[name] = stats.loguniform(*given[:2])
        elif isinstance(given, tuple) and isinstance(given[0], int):
            found[name] = stats.randint(given[0], given[1] + 1)
        elif isinstance(given, tuple):
            found[name] = stats.uniform(given[0], given[1] - given[0])
    return found


def make_search(kind: str, name: str, n: int, seed: int) -> Any:
    """Return a search with the hand-written space, or with the default space."""
    own = {
        "n_iter": n,
        "cv": 3,
        "random_state": seed,
        "error_score": np.nan,
        "refit": False,
    }
    if kind == "random":
        return RandomizedSearchCV(make(name), distributions(HAND_WRITTEN[name]), **own)
    return BayesSearchCV(make(name), "auto", **own)


def timed(*search: Any, cap: float | None = None) -> dict[str, Any] | None:
    """Run a search in a process; return its time and score; None if ended or failed."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(False)
    process = context.Process(target=_run, args=(sender, cap, *search))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None
    finally:
        process.join()


def _run(
    sender: Any, cap: float | None, kind: str, task: str, n: int, seed: int
) -> None:
    warnings.simplefilter("ignore")
    name, data, *scaled = task.split()
    X, y = table(data)
    if scaled:
        X = StandardScaler().fit_transform(X)
    search = make_search(kind, name, n, seed)
    if cap is not None:
        limit = int(time.process_time() + cap) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    start = time.process_time()
    search.fit(X, y)
    seconds = time.process_time() - start
    failed = np.isnan(search.cv_results_["mean_test_score"]).sum()
    sender.send(
        {
            "seconds": round(seconds, 2),
            "best_score": round(float(search.best_score_), 4),
            "failed": int(failed),
        }
    )


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return times, best scores, and failures of both searches."""
    random = timed("random", task, options["trials"], seed)
    seconds = 0.0 if random is None else random["seconds"]
    cap = CAP * seconds + MORE
    ours = timed("default", task, options["trials"], seed, cap=cap)
    figures = [(run or {}).get(k) for run in (random, ours) for k in FIGURES]
    return {"figures": figures}


def tasks_of(tables: dict[str, tuple[str, ...]]) -> list[str]:
    found = []
    for name in (*CLASSIFIERS, *REGRESSORS, TEXT):
        for data in tables[task_of(name)]:
            found += [f"{name} {data}"]
            found += [f"{name} {data} scaled"] if name != TEXT else []
    return found


def summarize(study: Study, found: Figures, columns: Sequence[Any]) -> Record:
    """Print and return times and scores relative to RandomizedSearchCV."""
    summary: Record = {"columns": list(columns), "exceeded": [], "groups": {}}
    rows: dict[str, list[tuple[float, float]]] = {}
    for (task, _), values in found["default"].items():
        random, score, seconds, own = values[[0, 1, 3, 4]]
        ended, none = np.isnan(seconds), np.isnan(random)
        if ended or seconds > FACTOR * random:
            summary["exceeded"].append(task)
        if not (none or ended):
            rows.setdefault(task.split()[0], []).append((seconds / random, own - score))
    for name, pairs in rows.items():
        times, scores = np.array(pairs).T
        figures = [np.median(times), max(times), np.mean(scores), min(scores)]
        entry = {"runs": len(pairs), "figures": list(map(float, figures))}
        summary["groups"][name] = entry
        print(name, entry["runs"], *(f"{figure:+.3f}" for figure in figures))
    print("more than", FACTOR, "times the time:", summary["exceeded"])
    return summary


STUDIES = {
    name: Study(
        name="default_space_time",
        tasks=partial(tasks_of, tables),
        methods=("default",),
        run=run,
        columns=lambda options: ["median time", "largest", "mean score", "smallest"],
        group=lambda task: task.split()[0],
        options={"trials": 10},
        seeds=1,
        summarize=summarize,
        smallest=("--tasks", "Ridge diabetes", "--trials", "2")
        if name == "chosen"
        else (),
    )
    for name, tables in (("chosen", TABLES), ("left-out", LEFT_OUT))
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
