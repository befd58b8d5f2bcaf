"""Rules about learning curves, replayed on curves of boosting, forests and epochs.

    python benchmarks/rounds_curves.py collect
    python benchmarks/rounds_curves.py replay --save

`collect` fits random configurations of seven learners to a cap, on five folds of the
training rows of a task and on all of them, and keeps the scores after each point of
`round_grid`: of the folds on their test rows, of the fit to all rows on rows held out.
`replay` draws nothing and fits nothing: it applies rules to the kept curves.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, names
from shared import load
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skbayes.evaluation.learning_curves import round_grid

Array = np.ndarray
Params = dict[str, Any]
Staged = Iterator[tuple[int, Array]]

N_FOLDS = 5
MAX_TRAIN = 2000
MAX_TEST = 4000
REGRESSION = ("abalone", "wine_red", "boston_housing", "strike", "auto_mpg")
CACHE = HERE / "cache" / "rounds_curves"
# More rounds than the cap for the fit to all rows, which may need more.
MORE = 1.25

CAPS = {
    "lightgbm": 1000,
    "xgboost": 1000,
    "hist": 500,
    "gradient": 500,
    "forest": 300,
    "sgd": 200,
    "mlp": 100,
}
N_CONFIGURATIONS = {"lightgbm": 24, "xgboost": 20}
BOOSTED = (
    "german_credit",
    "wine_red",
    "pima",
    "boston_housing",
    "adult",
    "abalone",
    "strike",
    "oil_spill",
    "mammography",
)
DATA = {
    "lightgbm": (*BOOSTED, "segment", "letter8"),
    "xgboost": BOOSTED,
    "hist": ("pima", "boston_housing", "german_credit", "wine_red"),
    "gradient": ("pima", "boston_housing", "auto_mpg", "german_credit"),
    "forest": ("german_credit", "wine_red", "adult", "mnist"),
    "sgd": ("german_credit", "adult", "abalone", "segment", "mnist"),
    "mlp": ("german_credit", "boston_housing", "segment", "pima"),
}


def read(data: str) -> tuple[Array, Array, Array, Array]:
    """Training and test rows, categories one column each, missing values filled."""
    shared = load()
    if data == "adult":
        (X, y), _ = (shared.load_adult()[part] for part in ("train", "test"))
        X = X.toarray()
    elif data == "mnist":
        X, y = shared.load_mnist()["train"]
        X = X[:6000].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(6000, -1)
        y = y[:6000]
    elif data.startswith("letter"):
        X, y = shared.load_letter()["train"]
        _, y = np.unique(y, return_inverse=True)
        if data == "letter8":
            X, y = X[y < 8], y[y < 8]
    else:
        table = shared.load_uci(data)
        y = table["target"]
        columns = []
        for name, values in table["data"].items():
            if name in table["categorical"]:
                for value in sorted({v for v in values if v is not None})[1:]:
                    columns.append((values == value).astype(float))
            else:
                columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
        X = np.column_stack(columns)
    X = np.asarray(X, dtype=np.float64)
    strata = None if data in REGRESSION else y
    if strata is None:
        y = (y - y.mean()) / y.std()
    train = min(MAX_TRAIN, int(0.7 * len(y)))
    test = min(MAX_TEST, len(y) - train)
    X, held_out, y, truth = train_test_split(
        X, y, train_size=train, test_size=test, random_state=0, stratify=strata
    )
    return X, y, held_out, truth


def scores_of(truth: Array, predicted: Array, classes: int) -> list[float]:
    """Accuracy and negative log loss of probabilities, or R2 of values."""
    if not classes:
        residual = np.mean((truth - predicted) ** 2)
        return [float(1.0 - residual / np.var(truth))]
    if predicted.ndim == 1:
        predicted = np.column_stack([1.0 - predicted, predicted])
    of_truth = predicted[np.arange(len(truth)), truth]
    accuracy = np.mean(np.argmax(predicted, axis=1) == truth)
    # As scikit-learn clips them.
    return [float(accuracy), float(np.mean(np.log(np.clip(of_truth, 2.2e-16, 1.0))))]


def draw(learner: str, rng: np.random.Generator) -> Params:
    """Draw a configuration."""

    def log(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    if learner in ("lightgbm", "xgboost", "hist", "gradient"):
        return {
            "rate": log(0.005, 0.5),
            "leaves": int(log(4, 64)),
            "min_leaf": int(log(2, 60)),
            "subsample": float(rng.uniform(0.5, 1.0)),
            "columns": float(rng.uniform(0.4, 1.0)),
            "l2": log(1e-3, 30),
        }
    if learner == "forest":
        return {
            "max_features": float(rng.uniform(0.1, 1.0)),
            "min_samples_leaf": int(log(1, 30)),
            "max_leaf_nodes": int(log(8, 1000)),
        }
    if learner == "sgd":
        return {
            "alpha": log(1e-6, 1e-2),
            "eta0": log(1e-4, 1e-1),
            "learning_rate": str(rng.choice(["constant", "invscaling"])),
        }
    return {
        "learning_rate_init": log(2e-4, 3e-2),
        "alpha": log(1e-6, 1e-1),
        "hidden_layer_sizes": (int(log(8, 100)),),
        "batch_size": int(log(32, 256)),
    }


def lightgbm_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    import lightgbm

    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    params = {
        "objective": ["regression", "binary", "multiclass"][
            (classes > 0) + (classes > 2)
        ],
        "metric": "None",
        "learning_rate": p["rate"],
        "num_leaves": p["leaves"],
        "min_data_in_leaf": p["min_leaf"],
        "bagging_fraction": p["subsample"],
        "bagging_freq": 1,
        "feature_fraction": p["columns"],
        "lambda_l2": p["l2"],
        "seed": 0,
        "num_threads": 1,
        "verbose": -1,
        "force_col_wise": True,
    }
    if classes > 2:
        params["num_class"] = classes
    seen: list[tuple[int, Array]] = []
    wanted = set(grid.tolist())
    count = 0

    def keep(predicted: Array, data: Any) -> tuple[str, float, bool]:
        nonlocal count
        count += 1
        if count in wanted:
            seen.append((count, np.array(predicted)))
        return "nothing", 0.0, True

    train = lightgbm.Dataset(X, y, params={"verbose": -1})
    valid = lightgbm.Dataset(T, np.zeros(len(T)), reference=train)
    lightgbm.train(params, train, int(grid[-1]), valid_sets=[valid], feval=keep)
    return iter(seen)


def xgboost_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    import xgboost

    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    params = {
        "objective": ["reg:squarederror", "binary:logistic", "multi:softprob"][
            (classes > 0) + (classes > 2)
        ],
        "disable_default_eval_metric": 1,
        "eta": p["rate"],
        "max_leaves": p["leaves"],
        "max_depth": 0,
        "grow_policy": "lossguide",
        "min_child_weight": p["min_leaf"] * (0.2 if classes else 1.0),
        "subsample": p["subsample"],
        "colsample_bytree": p["columns"],
        "lambda": p["l2"],
        "tree_method": "hist",
        "max_bin": 64,
        "seed": 0,
        "nthread": 1,
        "verbosity": 0,
    }
    if classes > 2:
        params["num_class"] = classes
    seen: list[tuple[int, Array]] = []
    wanted = set(grid.tolist())
    count = 0

    def keep(predicted: Array, data: Any) -> tuple[str, float]:
        nonlocal count
        count += 1
        if count in wanted:
            seen.append((count, np.array(predicted, dtype=np.float64)))
        return "nothing", 0.0

    train, valid = xgboost.DMatrix(X, y), xgboost.DMatrix(T, np.zeros(len(T)))
    xgboost.train(
        params,
        train,
        int(grid[-1]),
        evals=[(valid, "v")],
        custom_metric=keep,
        verbose_eval=False,
    )
    return iter(seen)


def boosting_stages(
    learner: str, p: Params, X: Array, y: Array, T: Array, grid: Array
) -> Staged:
    """Predictions of scikit-learn's boosting after each point of the grid."""
    classify = y.dtype.kind == "i"
    shared = {"learning_rate": p["rate"], "min_samples_leaf": p["min_leaf"]}
    shared |= {"max_leaf_nodes": p["leaves"], "max_depth": None, "random_state": 0}
    model: Any
    if learner == "hist":
        kind = HistGradientBoostingClassifier, HistGradientBoostingRegressor
        model = kind[0 if classify else 1](
            max_iter=int(grid[-1]),
            l2_regularization=p["l2"],
            max_features=p["columns"],
            early_stopping=False,
            **shared,
        )
    else:
        sort = GradientBoostingClassifier, GradientBoostingRegressor
        model = sort[0 if classify else 1](
            n_estimators=int(grid[-1]),
            subsample=p["subsample"],
            max_features=p["columns"],
            **shared,
        )
    model.fit(X, y)
    stages = model.staged_predict_proba(T) if classify else model.staged_predict(T)
    wanted = set(grid.tolist())
    for count, predicted in enumerate(stages, 1):
        if count in wanted:
            yield count, predicted


def forest_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    classify = y.dtype.kind == "i"
    kind = RandomForestClassifier if classify else RandomForestRegressor
    model = kind(n_estimators=int(grid[-1]), random_state=0, **p).fit(X, y)
    total: Any = 0.0
    wanted = set(grid.tolist())
    rows = T.astype(np.float32)
    for count, tree in enumerate(model.estimators_, 1):
        total = total + (tree.predict_proba(rows) if classify else tree.predict(rows))
        if count in wanted:
            yield count, total / count


def epoch_stages(
    learner: str, p: Params, X: Array, y: Array, T: Array, grid: Array
) -> Staged:
    """Predictions after each epoch of `partial_fit`, in another order each time."""
    scaler = StandardScaler().fit(X)
    X, T = scaler.transform(X), scaler.transform(T)
    classify = y.dtype.kind == "i"
    model: Any
    if learner == "mlp":
        model = (MLPClassifier if classify else MLPRegressor)(random_state=0, **p)
    elif classify:
        model = SGDClassifier(loss="log_loss", random_state=0, **p)
    else:
        model = SGDRegressor(random_state=0, **p)
    more = {"classes": np.unique(y)} if classify else {}
    wanted = set(grid.tolist())
    rng = np.random.default_rng(0)
    for count in range(1, int(grid[-1]) + 1):
        order = rng.permutation(len(y))
        model.partial_fit(X[order], y[order], **more)
        if count in wanted:
            yield count, model.predict_proba(T) if classify else model.predict(T)


def curve(
    learner: str, p: Params, parts: tuple[Array, Array, Array, Array], cap: int
) -> Array:
    """Scores after each point of the grid: (metrics, points)."""
    X, y, T, truth = parts
    grid = round_grid(cap)
    stages: Callable[..., Staged] = {
        "lightgbm": lightgbm_stages,
        "xgboost": xgboost_stages,
        "forest": forest_stages,
    }.get(learner) or (
        lambda *args: (epoch_stages if learner in ("sgd", "mlp") else boosting_stages)(
            learner, *args
        )
    )
    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    scores = [scores_of(truth, out, classes) for _, out in stages(p, X, y, T, grid)]
    scores += [scores[-1]] * (len(grid) - len(scores))
    return np.array(scores).T


def path_of(learner: str, data: str) -> Path:
    return CACHE / f"{learner}-{data}.npz"


def collect_task(learner: str, data: str) -> None:
    """Fit the configurations of a task and keep their curves."""
    X, y, T, truth = read(data)
    splitter = KFold if data in REGRESSION else StratifiedKFold
    splits = list(splitter(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    rng = np.random.default_rng(len(data))
    cap = CAPS[learner]
    params, folds, tests, times = [], [], [], []
    for _ in range(N_CONFIGURATIONS.get(learner, 16)):
        p = draw(learner, rng)
        start = time.process_time()
        of_folds = [curve(learner, p, (X[i], y[i], X[j], y[j]), cap) for i, j in splits]
        times.append(time.process_time() - start)
        whole = curve(learner, p, (X, y, T, truth), int(MORE * cap))
        params.append(p)
        folds.append(of_folds)
        tests.append(whole)
    CACHE.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path_of(learner, data),
        folds=np.array(folds, dtype=np.float32),
        test=np.array(tests, dtype=np.float32),
        rates=np.array([p.get("rate", np.nan) for p in params]),
        times=np.array(times),
    )


def collect(learners: list[str]) -> None:
    """Collect what is not kept yet, one data set of each learner after the other."""
    warnings.simplefilter("ignore")
    for i in range(max(map(len, DATA.values()))):
        for learner in learners:
            if i >= len(DATA[learner]) or path_of(learner, DATA[learner][i]).exists():
                continue
            start = time.process_time()
            collect_task(learner, DATA[learner][i])
            spent = time.process_time() - start
            print(f"{learner:9} {DATA[learner][i]:16} {spent:6.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("step", choices=["collect", "replay"])
    parser.add_argument("--learners", type=names(CAPS), default=list(CAPS))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.step == "collect":
        collect(options.learners)


if __name__ == "__main__":
    main()
