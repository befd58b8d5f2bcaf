"""Tuning of scikit-learn estimators: best cross-validated score by number of trials.

The sixteen tasks "shipped" use digits, breast_cancer, wine and diabetes, which are part
of scikit-learn. Each data set is combined with an RBF-SVM, a multi-layer perceptron,
gradient boosting and a penalized linear model. The score is the estimator's own
(accuracy, or R² on diabetes), averaged over 3 folds that are the same for all methods.
Columns are standardized within each fold. To keep fits cheap, digits is reduced to 500
rows, the perceptron to 20 epochs and boosting to 20 rounds. The target of diabetes is
standardized, and its linear model also gets products of columns.

The 44 tasks "uci" are 22 UCI tables with two of eight learners each. These are the four
learners above and nearest neighbors, a decision tree, a random forest of 20 trees, and
ridge regression on a Nyström approximation of a kernel. Within each fold, missing
values are imputed, categories are one-hot encoded, and targets of regressions are
standardized. The tables are reduced to 400 rows.

The output is the normalized regret after t trials (10, 20 and 40), × 1000:

    (best known − best so far) / (best known − median of random trials)

"Best known" is the best score in any cached run on the task, including a reference of
300 random trials; the median is that of the reference. Means are over tasks, and
standard errors are over seeds. Differences are method − skbayes, paired by seed:
positive values are in favor of skbayes.

Example: python benchmarks/sklearn_tasks.py --methods skbayes,random --seeds 10
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import shared
from common import Cache, add_run_options, names, parse_option, run_all, save_results
from methods import METHODS, Categories, Float, Int, Params, Space, make_method
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import ElasticNet, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

N_TRIALS = 40
SHOWN = (10, 20, 40)
REFERENCE = "reference"
REFERENCE_SEED, REFERENCE_TRIALS = 10_000, 300
DIGITS_ROWS = 500

SVM: Space = {
    "C": Float(1e-2, 1e4, log=True),
    "gamma": Float(1e-6, 1e1, log=True),
}
SVM_REGRESSION: Space = {
    "C": Float(1e-3, 1e3, log=True),
    "gamma": Float(1e-6, 1e1, log=True),
    "epsilon": Float(1e-3, 1e0, log=True),
}
MLP: Space = {
    "n_hidden": Int(4, 128, log=True),
    "alpha": Float(1e-6, 1e1, log=True),
    "learning_rate_init": Float(1e-4, 1e-1, log=True),
    "activation": Categories(("relu", "tanh", "logistic")),
    "solver": Categories(("adam", "sgd")),
}
BOOSTING: Space = {
    "learning_rate": Float(1e-2, 1e0, log=True),
    "max_iter": Int(5, 20),
    "max_leaf_nodes": Int(2, 32, log=True),
    "min_samples_leaf": Int(1, 50, log=True),
    "l2_regularization": Float(1e-6, 1e2, log=True),
    "max_features": Float(0.1, 1.0),
}
LINEAR: Space = {
    "loss": Categories(("hinge", "log_loss", "modified_huber")),
    "alpha": Float(1e-7, 1e0, log=True),
    "l1_ratio": Float(0.0, 1.0),
    "learning_rate": Categories(("optimal", "invscaling", "constant", "adaptive")),
    "eta0": Float(1e-4, 1e0, log=True),
}
LINEAR_REGRESSION: Space = {
    "degree": Int(1, 2),
    "alpha": Float(1e-5, 1e1, log=True),
    "l1_ratio": Float(0.0, 1.0),
}
NEIGHBORS: Space = {
    "n_neighbors": Int(1, 60, log=True),
    "weights": Categories(("uniform", "distance")),
    "metric": Categories(("euclidean", "manhattan", "chebyshev", "cosine")),
}
TREE: Space = {
    "max_depth": Int(1, 20),
    "min_samples_split": Int(2, 60, log=True),
    "min_samples_leaf": Int(1, 60, log=True),
    "max_features": Float(0.1, 1.0),
    "ccp_alpha": Float(1e-5, 1e-1, log=True),
}
FOREST: Space = {
    "max_depth": Int(2, 30, log=True),
    "min_samples_leaf": Int(1, 30, log=True),
    "max_features": Float(0.05, 1.0),
    "max_samples": Float(0.2, 1.0),
}
KERNEL: Space = {
    "kernel": Categories(("rbf", "laplacian", "sigmoid")),
    "gamma": Float(1e-6, 1e1, log=True),
    "n_components": Int(10, 100, log=True),
    "alpha": Float(1e-4, 1e3, log=True),
}
CRITERION: Space = {"criterion": Categories(("gini", "entropy"))}
ERROR_CRITERION: Space = {"criterion": Categories(("squared_error", "friedman_mse"))}


def _mlp(kind: type) -> Callable[..., Any]:
    def build(n_hidden: int, **params: Any) -> Any:
        fixed = {"batch_size": 64, "max_iter": 20, "random_state": 0}
        return kind(hidden_layer_sizes=(n_hidden,), **fixed, **params)

    return build


def _boosting(kind: type) -> Callable[..., Any]:
    return lambda **params: kind(early_stopping=False, random_state=0, **params)


def _sgd(**params: Any) -> SGDClassifier:
    return SGDClassifier(penalty="elasticnet", max_iter=50, random_state=0, **params)


def _seeded(kind: type, **fixed: Any) -> Callable[..., Any]:
    return lambda **params: kind(random_state=0, **fixed, **params)


def _kernel_ridge(kind: type) -> Callable[..., Any]:
    def build(alpha: float, **params: Any) -> Any:
        return make_pipeline(Nystroem(random_state=0, **params), kind(alpha=alpha))

    return build


Builder = Callable[..., Any]
LEARNERS: dict[str, tuple[tuple[Builder, Space], tuple[Builder, Space]]] = {
    # name: (classifier, its space), (regressor, its space)
    "svm": ((SVC, SVM), (SVR, SVM_REGRESSION)),
    "mlp": ((_mlp(MLPClassifier), MLP), (_mlp(MLPRegressor), MLP)),
    "boosting": (
        (_boosting(HistGradientBoostingClassifier), BOOSTING),
        (_boosting(HistGradientBoostingRegressor), BOOSTING),
    ),
    "linear": ((_sgd, LINEAR), (ElasticNet, LINEAR_REGRESSION)),
    "neighbors": ((KNeighborsClassifier, NEIGHBORS), (KNeighborsRegressor, NEIGHBORS)),
    "tree": (
        (_seeded(DecisionTreeClassifier), TREE | CRITERION),
        (_seeded(DecisionTreeRegressor), TREE | ERROR_CRITERION),
    ),
    "forest": (
        (_seeded(RandomForestClassifier, n_estimators=20), FOREST | CRITERION),
        (_seeded(RandomForestRegressor, n_estimators=20), FOREST),
    ),
    "kernel": (
        (_kernel_ridge(RidgeClassifier), KERNEL),
        (_kernel_ridge(Ridge), KERNEL),
    ),
}
DATA = ("digits", "breast_cancer", "wine", "diabetes")
SHIPPED = tuple(
    f"{data}-{learner}"
    for data in DATA
    for learner in ("svm", "mlp", "boosting", "linear")
)
UCI_DATA = (
    "abalone",
    "auto_mpg",
    "banknote",
    "bodyfat",
    "boston_housing",
    "breast_cancer_yugoslavia",
    "cpu",
    "ecoli",
    "german_credit",
    "haberman",
    "ionosphere",
    "mammography",
    "oil_spill",
    "pima",
    "quake",
    "segment",
    "servo",
    "sonar",
    "soybean",
    "strike",
    "vote",
    "wine_red",
)
# The pairs alternate, so that each learner is used on five or six tables.
UCI = tuple(
    f"{data}-{list(LEARNERS)[(2 * i + j + i // 4) % len(LEARNERS)]}"
    for i, data in enumerate(UCI_DATA)
    for j in range(2)
)
TASKS = SHIPPED + UCI
UCI_ROWS = 400
Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def folds(data: str, degree: int = 1) -> list[Fold]:
    """Return three prepared folds, each (X_train, y_train, X_test, y_test)."""
    if data in UCI_DATA:
        return uci_folds(data, UCI_ROWS)
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    if data == "digits":
        rows = np.random.default_rng(0).permutation(len(y))[:DIGITS_ROWS]
        X, y = X[rows], y[rows]
    if data == "diabetes":
        y = (y - y.mean()) / y.std()
    X = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    return _split(X, y, StandardScaler(), data == "diabetes")


@cache
def uci_folds(name: str, n_rows: int) -> list[Fold]:
    """Split a UCI table of at most `n_rows` into three folds of numbers."""
    import pandas as pd

    table = shared.load().load_uci(name)
    X, y = pd.DataFrame(table["data"]), table["target"]
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X.iloc[rows], y[rows]
    regression = table["task"] == "regression"
    if regression:
        y = (y - y.mean()) / y.std()
    else:
        common = np.isin(y, [c for c in np.unique(y) if np.sum(y == c) >= 3])
        X, y = X[common], y[common]
    categorical = list(table["categorical"])
    numeric = [c for c in X.columns if c not in categorical]
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categorical),
    )
    return _split(X, y, prepare, regression)


def _split(X: Any, y: np.ndarray, prepare: Any, regression: bool) -> list[Fold]:
    splitter = KFold if regression else StratifiedKFold
    split = []
    for train, test in splitter(3, shuffle=True, random_state=0).split(X, y):
        parts = [X.iloc[i] if hasattr(X, "iloc") else X[i] for i in (train, test)]
        prepare.fit(parts[0])
        X_train, X_test = (prepare.transform(part) for part in parts)
        split.append((X_train, y[train], X_test, y[test]))
    return split


@cache
def is_regression(data: str) -> bool:
    """Return whether the target of a data set is a number."""
    if data in UCI_DATA:
        return shared.load().uci_index()[data]["task"] == "regression"
    return data == "diabetes"


def space_of(task: str) -> Space:
    """Return the search space of a task."""
    data, learner = task.split("-")
    return LEARNERS[learner][is_regression(data)][1]


def fold_scores(task: str, params: Params) -> np.ndarray:
    """Return the scores of the three folds; NaN if a fit fails."""
    data, learner = task.split("-")
    build = LEARNERS[learner][is_regression(data)][0]
    params = dict(params)
    # Products of columns are only used on the data of scikit-learn, which have few
    # columns.
    degree = params.pop("degree", 1)
    try:
        return np.array(
            [
                build(**params).fit(X_train, y_train).score(X_test, y_test)
                for X_train, y_train, X_test, y_test in folds(data, degree)
            ]
        )
    except ValueError:  # the weights overflow
        return np.full(3, np.nan)


def evaluate(task: str, params: Params) -> float:
    """Return the mean score of the three folds; NaN if a fit fails."""
    return float(np.mean(fold_scores(task, params)))


def run(name: str, task: str, seed: int, option: list[str]) -> dict[str, Any]:
    """Run one search; times are process times in seconds."""
    warnings.simplefilter("ignore")
    space = space_of(task)
    reference = name == REFERENCE
    method = make_method(
        "random" if reference else name, space, seed, **dict(map(parse_option, option))
    )
    trials = []
    for _ in range(REFERENCE_TRIALS if reference else N_TRIALS):
        began = time.process_time()
        params = method.ask()
        asked = time.process_time()
        score = evaluate(task, params)
        scored = time.process_time()
        method.tell(params, score)
        thought = asked - began + time.process_time() - scored
        trials.append(
            {
                "params": params,
                "score": None if np.isnan(score) else score,
                "fit": round(scored - asked, 4),
                "think": round(thought, 4),
            }
        )
    return {"task": task, "seed": seed, "trials": trials}


def scores(record: dict[str, Any]) -> np.ndarray:
    values = [trial["score"] for trial in record["trials"]]
    return np.array([-np.inf if v is None else v for v in values])


# Values at each of SHOWN, by label, task and seed.
Regrets = dict[str, dict[str, dict[int, np.ndarray]]]


def regrets(
    store: Cache, labels: list[str], tasks: list[str], n_seeds: int
) -> tuple[Regrets, dict[str, float]]:
    """Return regrets × 1000 at each of SHOWN, and the best known score of each task."""
    best = dict.fromkeys(tasks, -np.inf)
    median: dict[str, float] = {}
    found: Regrets = {}
    for label in {*store.labels(), *labels}:
        for record in store.load(label):
            task, seed = record["task"], record["seed"]
            if task not in best:
                continue
            score = scores(record)
            best[task] = max(best[task], score.max())
            if label == REFERENCE:
                median[task] = float(np.median(score))
            elif label in labels and seed < n_seeds:
                so_far = np.maximum.accumulate(score)[np.array(SHOWN) - 1]
                found.setdefault(label, {}).setdefault(task, {})[seed] = so_far
    for by_task in found.values():
        for task, by_seed in by_task.items():
            for seed, so_far in by_seed.items():
                gap = best[task] - median[task]
                by_seed[seed] = 1000 * (best[task] - so_far) / gap
    return found, best


def _mean_se(values: np.ndarray) -> tuple[list[float], list[float]]:
    """Return mean and standard error over the first axis, rounded."""
    mean = values.mean(axis=0)
    se = values.std(axis=0, ddof=min(1, len(values) - 1)) / len(values) ** 0.5
    return [round(float(v), 1) for v in mean], [round(float(v), 1) for v in se]


def _show(values: tuple[list[float], list[float]], sign: str = "") -> str:
    return "  ".join(
        f"{mean:{sign}6.0f} ± {se:3.0f}" for mean, se in zip(*values, strict=True)
    )


def summarize(
    store: Cache, labels: list[str], tasks: list[str], n_seeds: int, ours: str
) -> dict[str, Any]:
    """Print and return regrets per task, their mean, and differences from skbayes.

    The mean is over the seeds that all displayed methods have finished on every task.
    """
    found, best = regrets(store, labels, tasks, n_seeds)
    complete = [label for label in labels if set(found.get(label, {})) == set(tasks)]
    seeds = sorted(
        set.intersection(
            set(range(n_seeds)),
            *(set(found[label][task]) for label in complete for task in tasks),
        )
    )
    if not complete or not seeds:
        print("no seed is finished by every method on every task")
        return {}
    summary: dict[str, Any] = {"seeds": len(seeds), "trials": SHOWN, "methods": {}}
    summary["best_known"] = {task: round(score, 5) for task, score in best.items()}
    cube = {
        label: np.array([[found[label][task][s] for task in tasks] for s in seeds])
        for label in complete
    }
    print(f"regret × 1000 ± se over {len(seeds)} seeds, after {SHOWN} trials")
    for i, task in enumerate(tasks):
        for label in complete:
            print(f"{task:24}{label:14}{_show(_mean_se(cube[label][:, i]))}")
    for label in complete:
        mean, se = _mean_se(cube[label].mean(axis=1))
        entry: dict[str, Any] = {"mean": mean, "se": se}
        line = f"{'MEAN':24}{label:14}{_show((mean, se))}"
        if ours in complete and label != ours:
            apart = _mean_se((cube[label] - cube[ours]).mean(axis=1))
            entry |= {"minus_ours": apart[0], "minus_ours_se": apart[1]}
            line += f"   difference {_show(apart, '+')}"
        entry["tasks"] = {
            task: _mean_se(cube[label][:, i])[0] for i, task in enumerate(tasks)
        }
        summary["methods"][label] = entry
        print(line)
    return summary


def _tasks(text: str) -> list[str]:
    groups = {"shipped": SHIPPED, "uci": UCI}
    return list(groups[text]) if text in groups else names(TASKS)(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=10, help="runs per task, seeds 0 … n-1")
    add("--tasks", type=_tasks, default=SHIPPED, help="shipped, uci, or names of tasks")
    add("--methods", type=names(METHODS), default="skbayes,random")
    add(
        "--compare", default="", help="additional labels in the output, comma-separated"
    )
    add_run_options(parser)
    args = parser.parse_args()
    store = Cache("sklearn_tasks")
    label_of = {m: m for m in args.methods}
    ours = args.label or "skbayes"
    if "skbayes" in label_of:
        label_of["skbayes"] = ours
        if args.fresh:
            store.clear(ours)
    done = {
        label: {(r["task"], r["seed"]) for r in store.load(label)}
        for label in (*label_of.values(), REFERENCE)
    }
    wanted = [(REFERENCE, REFERENCE, REFERENCE_SEED, task) for task in args.tasks]
    wanted += [
        (method, label, seed, task)
        for seed in range(args.seeds)
        for task in args.tasks
        for method, label in label_of.items()
    ]
    jobs = [
        (label, (method, task, seed, args.option))
        for method, label, seed, task in wanted
        if (task, seed) not in done[label]
    ]
    run_all(run, jobs, store, args.jobs)
    labels = list(
        dict.fromkeys([*label_of.values(), *filter(None, args.compare.split(","))])
    )
    summary = summarize(store, labels, args.tasks, args.seeds, ours)
    if args.save and summary:
        save_results("sklearn_tasks", summary)


if __name__ == "__main__":
    main()
