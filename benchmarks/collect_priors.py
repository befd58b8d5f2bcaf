"""Scores of random configurations of estimators on small tables.

Each estimator is fitted on each table of its task. Its configurations are its own one
and random ones, uniform in the default search space (a scrambled Sobol sequence). They
are the same on all tables, except for bounds that depend on the data. One fit gives
several scores: accuracy, balanced accuracy, area under the ROC curve and negative log
loss, or R² and the negative mean absolute error. The mean over two folds is stored; the
score of a failed fit is NaN.

The tables are listed in `CLASSIFICATION` and `REGRESSION`: UCI tables, adult, and
diabetes of scikit-learn. "NAME.cut" has a target of a regression split into two
classes, and "NAME.number" has the last numeric column of a classification as its
target. A fold has at most 400 rows for training and 600 for testing. The three largest
classes are kept. Missing values are imputed, numbers are standardized, and categories
are one-hot encoded within each fold. Targets of regressions are standardized.

The names of pipelines have a "+". "TfidfVectorizer+NAME" classifies the texts of
`TEXTS`, with 300 documents for training and 400 for testing, of at most 600
characters. CatBoost has 60 or 300 rounds and the learning rate that it chooses.

Finished pairs of estimator and table are stored in cache/priors/, so that the same
command continues where it stopped. The tables of an estimator are written to
results/priors/, which learn_priors.py reads.

Example: python benchmarks/collect_priors.py --estimators MLPRegressor
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import importlib
import json
import math
import time
import warnings
from functools import cache, lru_cache
from typing import Any

import numpy as np
from harness import HERE, load
from learn_priors import RESULTS
from scipy.stats import qmc
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skbayes.defaults import default_space
from skbayes.space import Space

CACHE = HERE / "cache" / "priors"
# Number of random configurations, and of those of spaces with two dimensions and of
# CatBoost.
N_CONFIGURATIONS, N_FEW = 80, 40

N_FOLDS = 2
N_TRAIN, N_TEST = 400, 600
# Smaller tables are split into three folds, of which two are used.
N_SMALL = 800
# Classes with too few rows for each fold are omitted.
MAX_CLASSES, MIN_ROWS = 3, 6
SMALLEST_PROBABILITY = 1e-15

CLASSIFICATION = (
    "pima german_credit ionosphere sonar ecoli mammography oil_spill vote adult "
    "wine_red.cut"
).split()
TEXTS = (
    "sst2 imdb convote yelp amazon.books newsgroups.science newsgroups.sports "
    "amazon.kitchen amazon.electronics newsgroups.x.graphics"
).split()
N_TRAIN_TEXTS, N_TEST_TEXTS, N_CHARACTERS = 300, 400, 600
REGRESSION = (
    "boston_housing auto_mpg abalone wine_red diabetes cpu strike bodyfat servo "
    "pima.number"
).split()
METRICS = {
    False: ("accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss"),
    True: ("r2", "neg_mean_absolute_error"),
}

# Number of trees that is sufficient to compare the other parameters.
FOREST = {"n_estimators": 30, "n_jobs": 1}
XGBOOST = {"n_jobs": 1, "verbosity": 0}
CATBOOST = {
    **{"border_count": 64, "thread_count": 1},
    **{"verbose": False, "allow_writing_files": False},
}
# Module and fixed parameters, in the order of collection. Estimators with the same
# stream share their configurations.
ESTIMATORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "HistGradientBoostingClassifier": ("sklearn.ensemble", {}, "histogram"),
    "HistGradientBoostingRegressor": ("sklearn.ensemble", {}, "histogram"),
    "RandomForestClassifier": ("sklearn.ensemble", FOREST, "forest"),
    "RandomForestRegressor": ("sklearn.ensemble", FOREST, "forest"),
    "ExtraTreesClassifier": ("sklearn.ensemble", FOREST, "forest"),
    "ExtraTreesRegressor": ("sklearn.ensemble", FOREST, "forest"),
    "MLPClassifier": ("sklearn.neural_network", {}, "network"),
    "MLPRegressor": ("sklearn.neural_network", {}, "network"),
    "XGBRegressor": ("xgboost", XGBOOST, "xgboost"),
    "GradientBoostingClassifier": ("sklearn.ensemble", {}, "boosting"),
    "GradientBoostingRegressor": ("sklearn.ensemble", {}, "boosting"),
    "AdaBoostClassifier": ("sklearn.ensemble", {}, "adaboost"),
    "AdaBoostRegressor": ("sklearn.ensemble", {}, "adaboost"),
    "CatBoostClassifier": ("catboost", CATBOOST | {"iterations": 60}, "catboost"),
    "CatBoostRegressor": ("catboost", CATBOOST | {"iterations": 300}, "catboost"),
    "TfidfVectorizer+LogisticRegression": ("sklearn.linear_model", {}, "texts"),
    "TfidfVectorizer+LinearSVC": ("sklearn.svm", {}, "texts"),
    "TfidfVectorizer+SGDClassifier": ("sklearn.linear_model", {}, "texts"),
    "TfidfVectorizer+MultinomialNB": ("sklearn.naive_bayes", {}, "texts"),
    # Only for judging the knowledge of the vectorizer; it has the same stream.
    "TfidfVectorizer+RidgeClassifier": ("sklearn.linear_model", {}, "texts"),
}
# The good values of this parameter depend on the number of rounds.
NOT_COLLECTED = {"catboost": "learning_rate"}

Params = dict[str, Any]
# X_train, y_train, X_test, y_test
Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


# -- tables ---------------------------------------------------------------------------


@cache
def folds(name: str) -> list[Fold]:
    """Return the folds of a table or of texts."""
    if name in TEXTS:
        return _texts(name)
    X, y, categorical = _read(name)
    regression = name in REGRESSION
    if regression:
        y = (y - y.mean()) / y.std()
    else:
        classes, counts = np.unique(y, return_counts=True)
        largest = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
        common = np.isin(y, classes[[c for c in largest if counts[c] >= MIN_ROWS]])
        X, y = X[common], np.unique(y[common], return_inverse=True)[1]
    numeric = [c for c in X.columns if c not in categorical]
    impute = SimpleImputer(strategy="median")
    prepare = make_column_transformer(
        (make_pipeline(impute, StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categorical),
    )
    split = []
    for train, test in _splitter(len(y), regression).split(X, y):
        prepare.fit(X.iloc[train])
        inner, outer = (prepare.transform(X.iloc[rows]) for rows in (train, test))
        split.append((inner, y[train], outer, y[test]))
    return split[:N_FOLDS]


def _texts(name: str) -> list[Fold]:
    source, _, part = name.partition(".")
    if source == "newsgroups":
        data = load().load_newsgroups_task(part)
    else:
        data = getattr(load(), f"load_{source}")(*([part] if part else []))
    texts, y = data["train"]
    classes, counts = np.unique(y, return_counts=True)
    common = np.isin(y, classes[np.argsort(-counts, kind="stable")[:MAX_CLASSES]])
    X = np.array([text[:N_CHARACTERS] for text in texts], dtype=object)[common]
    y = np.unique(y[common], return_inverse=True)[1]
    sizes = {"train_size": N_TRAIN_TEXTS, "test_size": N_TEST_TEXTS}
    split = StratifiedShuffleSplit(N_FOLDS, **sizes, random_state=0).split(X, y)
    return [(X[train], y[train], X[test], y[test]) for train, test in split]


def _splitter(n_rows: int, regression: bool) -> Any:
    if n_rows < N_SMALL:
        kind = KFold if regression else StratifiedKFold
        return kind(3, shuffle=True, random_state=0)
    shuffle = ShuffleSplit if regression else StratifiedShuffleSplit
    n_test = min(N_TEST, n_rows - N_TRAIN)
    return shuffle(N_FOLDS, train_size=N_TRAIN, test_size=n_test, random_state=0)


@cache
def _read(name: str) -> tuple[Any, np.ndarray, list[str]]:
    """Return columns, target, and categorical columns."""
    import pandas as pd

    name, _, change = name.partition(".")
    categorical: list[str] = []
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        y = y.to_numpy()
    elif name == "adult":
        adult = load().load_adult("object")
        X, y = adult["train"]
        X = pd.DataFrame(X, columns=adult["feature_names"]).infer_objects()
        categorical = adult["categorical"]
    elif name == "letter":
        X, y = load().load_letter()["train"]
        X = pd.DataFrame(X.astype(float)).add_prefix("x")
    else:
        table = load().load_uci(name)
        X, y = pd.DataFrame(table["data"]), table["target"]
        categorical = table["categorical"]
    if change == "cut":
        # Classes of equal size for half of the tables.
        share = 0.5 if X.shape[1] % 2 else 0.75
        y = (y > np.quantile(y, share)).astype(int)
    elif change == "number":
        column = [c for c in X if X[c].dtype.kind == "f" and X[c].nunique() >= 20][-1]
        X = X[X[column].notna()]
        X, y = X.drop(columns=column), X[column].to_numpy()
    return X, y, categorical


# -- configurations -------------------------------------------------------------------


def tables_of(name: str) -> list[str]:
    """Return the tables of an estimator."""
    if "+" in name:
        return TEXTS
    return REGRESSION if name.endswith("Regressor") else CLASSIFICATION


def make(name: str) -> Any:
    """Return an estimator with the parameters for its evaluation."""
    module, fixed, _ = ESTIMATORS[name]
    first, _, last = name.rpartition("+")
    model = getattr(importlib.import_module(module), last)(**fixed)
    if "random_state" in model.get_params() or not first:
        model.set_params(random_state=0)
    return make_pipeline(TfidfVectorizer(), model) if first else model


@cache
def space_of(name: str, table: str) -> Space:
    """Return the default search space of an estimator on a table."""
    X, y, *_ = folds(table)[0]
    space = dict(default_space(make(name), X, y))
    space.pop(NOT_COLLECTED.get(ESTIMATORS[name][2], ""), None)
    return Space.from_notation(space)


def _labels(space: Space) -> list[str]:
    """Return labels of columns: their names, with a number if a name is repeated."""
    names = [column.name or "|" for column in space.columns]
    return [f"{name}#{names[:k].count(name)}" for k, name in enumerate(names)]


@cache
def _stream(stream: str) -> dict[str, np.ndarray]:
    """Return one uniform sequence for each column that the spaces have on any table."""
    names = [name for name in ESTIMATORS if ESTIMATORS[name][2] == stream]
    spaces = [space_of(name, table) for name in names for table in tables_of(name)]
    known = list(dict.fromkeys(label for space in spaces for label in _labels(space)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not a power of 2
        few = len(known) == 2 or stream == "catboost"
        n = N_FEW if few else N_CONFIGURATIONS
        U = qmc.Sobol(len(known), scramble=True, seed=0).random(n)
    return dict(zip(known, U.T, strict=True))


def configurations(name: str, table: str) -> list[Params]:
    """Return the configurations on a table: the estimator's own, then random ones."""
    space, stream = space_of(name, table), _stream(ESTIMATORS[name][2])
    U = np.column_stack([stream[label] for label in _labels(space)])
    return [{}, *space.decode(space.from_uniform(U))]


# -- scores ---------------------------------------------------------------------------


def classification_scores(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the scores in the order of METRICS; NaN without probabilities."""
    if not hasattr(model, "predict_proba"):
        values = model.decision_function(X)
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
        found = _class_scores(values, y)
        return [*found, math.nan]
    probability = model.predict_proba(X)
    own = np.maximum(probability[np.arange(len(y)), y], SMALLEST_PROBABILITY)
    return [*_class_scores(probability, y), float(np.mean(np.log(own)))]


def _class_scores(values: np.ndarray, y: np.ndarray) -> list[float]:
    predicted = np.argmax(values, axis=1)
    areas = [roc_auc_score(y == c, values[:, c]) for c in np.unique(y)]
    return [
        float(accuracy_score(y, predicted)),
        float(balanced_accuracy_score(y, predicted)),
        float(np.mean(areas)),
    ]


def regression_scores(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the scores in the order of METRICS."""
    error = y - np.ravel(model.predict(X))
    r2 = 1.0 - np.sum(error**2) / np.sum((y - y.mean()) ** 2)
    return [float(r2), -float(np.mean(np.abs(error)))]


@lru_cache(N_FOLDS * (N_CONFIGURATIONS + 1))
def _vectors(table: str, fold: int, options: tuple) -> tuple[Any, Any]:
    X_train, _, X_test, _ = folds(table)[fold]
    vectorizer = TfidfVectorizer(**dict(options))
    return vectorizer.fit_transform(X_train), vectorizer.transform(X_test)


def evaluate(name: str, table: str, params: Params) -> np.ndarray:
    """Return mean scores over the folds, in the order of METRICS."""
    regression = name.endswith("Regressor")
    score = regression_scores if regression else classification_scores
    found = []
    try:
        for k, (X_train, y_train, X_test, y_test) in enumerate(folds(table)):
            model = make(name).set_params(**params)
            if "+" in name:
                options = tuple(model[0].get_params().items())
                X_train, X_test = _vectors(table, k, options)
                model = model[-1]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X_train, y_train)
                found.append(score(model, X_test, y_test))
    except ValueError:
        return np.full(len(METRICS[regression]), np.nan)
    return np.mean(found, axis=0)


# -- files ----------------------------------------------------------------------------


def collect(name: str, table: str) -> None:
    """Evaluate all configurations of an estimator on a table, and store the scores."""
    path = CACHE / f"{name}.{table}.json"
    if path.exists():
        return
    began = time.process_time()
    params = configurations(name, table)
    scores = np.array([evaluate(name, table, values) for values in params])
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"params": params, "scores": scores.tolist()}))
    partial.rename(path)
    print(f"{name:32}{table:28}{time.process_time() - began:8.1f} s", flush=True)


def gather(name: str) -> None:
    """Write the finished tables of an estimator to one file."""
    paths = {table: CACHE / f"{name}.{table}.json" for table in tables_of(name)}
    found = {
        t: json.loads(path.read_text()) for t, path in paths.items() if path.exists()
    }
    texts = [json.dumps(record["params"]) for record in found.values()]
    distinct = list(dict.fromkeys(texts))
    scores = np.array([record["scores"] for record in found.values()], np.float32)
    # A score without that of the estimator's own values cannot be compared.
    scores[np.broadcast_to(np.isnan(scores[:, :1]), scores.shape)] = np.nan
    np.savez_compressed(
        RESULTS / f"{name}.npz",
        tables=np.array(list(found)),
        metrics=np.array(METRICS[name.endswith("Regressor")]),
        params=np.array(distinct),
        params_of_table=np.array([distinct.index(text) for text in texts]),
        scores=scores,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--estimators", help="comma-separated; default: all")
    args = parser.parse_args()
    names = args.estimators.split(",") if args.estimators else list(ESTIMATORS)
    # The pipelines of texts share vectors of a table.
    for table in dict.fromkeys(table for name in names for table in tables_of(name)):
        for name in names:
            if table in tables_of(name):
                collect(name, table)
    for name in names:
        gather(name)


if __name__ == "__main__":
    main()
