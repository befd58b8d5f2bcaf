"""Default spaces beside each parameter that a user may set.

    python benchmarks/attacks/set_parameters.py before|after --only 'xgboost|LGBM'

For each class of the catalog, each of its parameters is set to legal values that are
not the default. The default space of this estimator is built, and the estimator is
fitted once with each option of the space and with both ends of each range. An option
fails if the fit fails, although it succeeds without the set parameter ("refused"), if
the set parameter has no effect on the predictions, although it has one without the
option ("void"), or if no value of a searched parameter has an effect, although one has
without the set parameter ("no effect").
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import one_thread  # noqa: E402, F401

# isort: split
import argparse
import contextlib
import importlib
import inspect
import itertools
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils import all_estimators

from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.parts import current_values, parts_of, space_of
from skbayes.space import Choice, Ordinal
from skbayes.space.notation import pairs_of

RESULTS = Path(__file__).resolve().parents[1] / "results" / "attacks"

# Parameters that have no effect on predictions, or only through chance or precision.
TECHNICAL = {
    *("n_jobs", "random_state", "verbose", "verbosity", "cache_size", "copy", "copy_X"),
    *("memory", "warm_start", "thread_count", "random_seed", "tol", "max_iter", "eps"),
    *("copy_x", "check_input", "check_inverse", "working_memory", "transform_n_jobs"),
    *("leaf_size", "batch_size", "n_restarts_optimizer"),
}

# Fits must be short. The value of a set parameter is kept.
SHORT = {
    **dict.fromkeys(("n_estimators", "iterations"), 5),
    **{"n_init": 1, "max_no_improvement": 3},
}

# Number of values of a parameter that are tried.
MOST_VALUES = 8


def each(value: Any, names: str) -> dict[str, list[Any]]:
    """Return one legal value for each of several parameters."""
    return dict.fromkeys(names.split(), [value])


# Legal values by library, also for names of **kwargs.
LEGAL: dict[str, dict[str, list[Any]]] = {
    "xgboost": {
        **each(0.7, "learning_rate reg_alpha eta alpha"),
        **each(0.5, "gamma max_delta_step colsample_bytree colsample_bylevel"),
        **each(0.5, "colsample_bynode min_split_loss rate_drop skip_drop"),
        **each(3.0, "min_child_weight reg_lambda scale_pos_weight lambda"),
        "booster": ["gblinear", "dart", "gbtree"],
        "max_depth": [2, 3],
        "max_leaves": [4],
        "max_bin": [8],
        "grow_policy": ["lossguide"],
        "n_estimators": [7],
        "tree_method": ["exact", "approx", "hist"],
        "subsample": [0.6],
        "sampling_method": ["uniform"],
        "base_score": [0.3],
        "num_parallel_tree": [3],
        "monotone_constraints": ["(0,0,1,1)", (0, 0, -1, -1), {0: 1, 2: -1}],
        "interaction_constraints": ["[[0, 1], [2, 3]]", [[0, 1], [2, 3]]],
        "importance_type": ["weight", "gain"],
        "feature_weights": [np.array([1.0, 1.0, 0.1, 0.1])],
        "multi_strategy": ["multi_output_tree"],
        "missing": [0.0],
        "enable_categorical": [True],
        "objective": ["reg:absoluteerror", "reg:gamma", "count:poisson"],
        "updater": ["shotgun", "coord_descent", "grow_colmaker"],
        "feature_selector": ["shuffle", "cyclic"],
        "refresh_leaf": [0],
        "process_type": ["default"],
        "max_cached_hist_node": [100],
    },
    "lightgbm": {
        **each(5, "num_leaves min_child_samples min_data_in_leaf num_leaf"),
        **each(0.3, "learning_rate eta other_rate"),
        **each(7, "n_estimators num_iterations"),
        **each(2.0, "min_child_weight cegb_tradeoff"),
        **each(0.6, "subsample bagging_fraction"),
        **each(0.5, "colsample_bytree reg_alpha reg_lambda feature_fraction lambda_l1"),
        **each(0.5, "lambda_l2 feature_fraction_bynode top_rate drop_rate"),
        **each(0.5, "max_delta_step pos_bagging_fraction neg_bagging_fraction"),
        **each(True, "linear_tree extra_trees is_unbalance use_quantized_grad"),
        **each(True, "bagging_by_query force_col_wise"),
        "boosting_type": ["goss", "dart", "rf"],
        "max_depth": [1, 2, 3],
        "subsample_for_bin": [20],
        "objective": ["regression_l1", "huber", "binary", "multiclassova"],
        "class_weight": ["balanced"],
        "min_split_gain": [0.2],
        "subsample_freq": [1, 2],
        "importance_type": ["gain"],
        "bagging_freq": [1],
        "monotone_constraints": [[0, 0, 1, 1], [0, 0, -1, -1]],
        "interaction_constraints": [[[0, 1], [2, 3]]],
        "data_sample_strategy": ["goss"],
        "boosting": ["goss", "dart"],
        "path_smooth": [1.0],
        "max_bin": [8],
        "scale_pos_weight": [3.0],
    },
    "catboost": {
        **each(7, "iterations n_estimators num_boost_round num_trees"),
        **each(0.3, "learning_rate eta"),
        **each(3, "depth max_depth leaf_estimation_iterations one_hot_max_size"),
        **each(9.0, "l2_leaf_reg reg_lambda"),
        **each(0.5, "rsm colsample_bylevel subsample"),
        **each(8, "border_count max_bin"),
        **each(5, "max_leaves num_leaves"),
        **each(9, "min_data_in_leaf min_child_samples"),
        **each(3.0, "bagging_temperature penalties_coefficient scale_pos_weight"),
        **each(True, "langevin posterior_sampling boost_from_average has_time"),
        "random_strength": [5.0],
        "grow_policy": ["Lossguide", "Depthwise"],
        "bootstrap_type": ["Bayesian", "Bernoulli", "MVS", "No"],
        "boosting_type": ["Ordered", "Plain"],
        "score_function": ["L2", "Cosine"],
        "leaf_estimation_method": ["Gradient", "Simple", "Newton"],
        "model_shrink_rate": [0.2],
        "model_shrink_mode": ["Decreasing"],
        "monotone_constraints": [[0, 0, 1, 1], "(0,0,-1,-1)"],
        "feature_weights": [[1.0, 1.0, 0.1, 0.1]],
        "random_score_type": ["Gumbel"],
        "auto_class_weights": ["Balanced"],
        "class_weights": [[1.0, 2.0], [1.0, 2.0, 3.0]],
        "sampling_frequency": ["PerTree"],
        "sampling_unit": ["Object"],
        "loss_function": ["MAE", "RMSE", "MultiClassOneVsAll", "CrossEntropy"],
        "objective": ["MAE"],
        "eval_metric": ["AUC"],
        "od_type": ["Iter"],
        "nan_mode": ["Max"],
        "ignored_features": [[0]],
        "target_border": [1.5],
    },
}

# Metrics of rows of booleans.
BINARY = (
    *("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "yule"),
    *("sokalsneath", "hamming"),
)

# Legal values of parameters whose constraints do not tell one.
SPECIAL: dict[str, list[Any]] = {
    "class_weight": ["balanced", {0: 2.0, 1: 1.0}],
    "monotonic_cst": [[0, 0, 1, 1]],
    "interaction_cst": ["pairwise", "no_interactions", [[0, 1], [2, 3]]],
    "categorical_features": [[0]],
    "priors": [[0.5, 0.5], [0.2, 0.3, 0.5]],
    "weights": [[1.0, 2.0]],
    "metric": ["manhattan", "chebyshev", "cosine", "euclidean"],
    "hidden_layer_sizes": [(3,)],
    "covariance_estimator": ["oas"],
    "kernel": ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "gp"],
    "vocabulary": [["aa", "bb", "cc"]],
    "stop_words": [["aa"]],
    "max_features": [2, 0.5, "sqrt", "log2"],
    "max_samples": [0.5, 20],
    "n_components": [1, 3, 0.9],
    "init": ["random", "k-means++", "pca"],
    "sampling_strategy": [1.0, 0.9, "all", "not majority", "minority"],
    "target_type": ["binary", "continuous"],
    "C": [2.0, np.inf],
    "l1_ratio": [0.0, 0.5, 1.0],
}


def legal_values(estimator: Any, package: str, name: str) -> Iterator[Any]:
    """Yield values of a parameter that may be legal, without the default."""
    if package in LEGAL:
        yield from LEGAL[package].get(name, ())
        return
    default = getattr(estimator, name)
    values: list[Any] = list(SPECIAL.get(name, ()))
    constraints = getattr(estimator, "_parameter_constraints", {}).get(name, [])
    for kind in constraints if isinstance(constraints, list) else []:
        if options := getattr(kind, "options", None):
            values += sorted(options, key=repr)
        elif hasattr(kind, "closed"):
            whole = "Integral" in str(kind.type)
            low = -5 if kind.left is None else kind.left
            high = low + 10 if kind.right is None else kind.right
            number = isinstance(default, int | float) and np.isfinite(default)
            # Larger values of thresholds would leave constant models.
            middle = low + 0.1 * (high - low) if 0 < high < 1e6 else 0.01
            numbers = [default * 2, default * 0.5] if number and default else [middle]
            numbers += [2, 3] if whole else []
            for value in numbers:
                value = int(value) if whole else float(value)
                if kind.__contains__(value):
                    values.append(value)
        elif kind is None:
            values.append(None)
        elif kind in ("boolean", bool) or kind == "verbose":
            values += [True, False]
    reprs = [repr(default), *map(repr, BINARY)]
    for value in values:
        if repr(value) not in reprs:
            reprs.append(repr(value))
            yield value


# -- estimators and data ---------------------------------------------------------------


def make(package: str, name: str) -> Any:
    """Return an estimator of a class of the catalog, or None in other releases."""
    kinds = dict(all_estimators())
    kind = kinds.get(name) if package == "sklearn" else None
    if package != "sklearn":
        with contextlib.suppress(ImportError):
            module = "skbayes.text" if package == "skbayes" else package
            kind = getattr(importlib.import_module(module), name, None)
    if kind is None:
        return None
    inner = kinds["DecisionTreeClassifier" if "ase" in name else "LogisticRegression"]()
    if name.endswith("Regressor"):
        inner = kinds["Ridge"]()
    named = name.startswith(("Voting", "Stacking", "Pipeline", "FeatureUnion"))
    try:
        return kind()
    except TypeError:
        if name == "FeatureUnion":
            inner = kinds["PCA"]()
        if name == "ColumnTransformer":
            return kind([("a", kinds["PCA"](), [0, 1])])
        return kind([("a", inner)] if named else inner)


def data_sets(name: str) -> Iterator[tuple[Any, Any]]:
    """Yield data for a class, of which the first that it can be fitted to is used."""
    X, y = load_iris(return_X_y=True)
    X = np.round(X + np.random.default_rng(0).normal(0, 0.3, X.shape), 2)
    if name in ("MultinomialNB", "ComplementNB", "CategoricalNB", "NMF"):
        X = np.abs(np.round(X))
    if "Encoder" in name:
        X = np.round(X)
    if "Imputer" in name:
        X[::7, 1] = np.nan
    words = [
        " ".join("abcdefg"[(k * j) % 7] * 2 for j in range(1, 2 + k % 9))
        for k in range(60)
    ]
    if "Vectorizer" in name:
        yield words, np.arange(60) % 2
    rows = np.r_[0:20, 50:90, 100:125]
    two = rows[rows >= 50]
    if name == "IsotonicRegression":
        yield X[:, 0], X[:, 1]
    if name.startswith("MultiTask") or name in ("MultiOutputRegressor",):
        yield X[rows], X[rows][:, :2]
    if "Regress" in name and "Logistic" not in name or name in ("SVR", "NuSVR"):
        yield X[rows], np.abs(X[rows][:, 3] + 0.3 * X[rows][:, 0] ** 2)
    if name in ("MultiOutputClassifier", "ClassifierChain"):
        yield X[rows], np.c_[y[rows] > 0, y[rows] > 1].astype(int)
    yield X[two], (y[two] > 1).astype(int)
    yield X[rows], y[rows]


def output(model: Any, X: Any, y: Any) -> Any:
    """Return what a fitted model predicts."""
    model.fit(X, y)
    if isinstance(X, np.ndarray) and X.ndim == 2 and not isinstance(X[0, 0], str):
        X = X + np.tile([0.05, -0.1], X.shape[1])[: X.shape[1]] * (X % 1 != 0)
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            values = getattr(model, method)(X)
            break
    else:
        values = model.score_samples(X)
    if isinstance(values, list):
        values = np.hstack(values)
    if sparse.issparse(values):
        values = values.toarray()
    return np.asarray(values)


def fitted(estimator: Any, params: dict[str, Any], X: Any, y: Any) -> Any:
    """Return the predictions, or the exception of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return output(clone(estimator).set_params(**params), X, y)
        except Exception as error:
            return error


def failed(result: Any) -> bool:
    return isinstance(result, Exception)


def same(first: Any, second: Any) -> bool:
    if first.shape != second.shape:
        return False
    if first.dtype.kind == "f":
        return bool(np.allclose(first, second, 1e-9, 1e-12, equal_nan=True))
    return bool(np.all(first == second))


# -- configurations --------------------------------------------------------------------


def own_configuration(space: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with the own values, or the first ones."""
    config: dict[str, Any] = {}
    for name, notation in space.items():
        values = values_of(notation)
        value = defaults.get(name)
        keys = list(map(repr, values))
        inside = isinstance(notation, tuple) and isinstance(value, int | float)
        inside = inside and notation[0] <= value <= notation[1]
        config[name] = value if repr(value) in keys or inside else values[0]
        if isinstance(notation, Choice):
            subs = {repr(option): sub for option, sub in pairs_of(notation)}
            config |= own_configuration(subs[repr(config[name])], defaults)
    return config


def values_of(notation: Any) -> list[Any]:
    """Return the options of a notation, or the ends of a range."""
    if isinstance(notation, Choice):
        return [option for option, _ in pairs_of(notation)]
    if isinstance(notation, tuple):
        low, high = notation[:2]
        if isinstance(low, int):
            return [low, (low + high) // 2, high]
        return [low, high, low + 0.3 * (high - low)]
    if isinstance(notation, Ordinal):
        values = list(notation.values)
        options = [v for v in values if not isinstance(v, int | float)]
        return [values[0], *options, values[len(values) // 2], values[-1]]
    return list(notation)


def deviations(
    space: Any, defaults: dict[str, Any], base: dict[str, Any]
) -> Iterator[tuple[str, Any, dict[str, Any], bool]]:
    """Yield (name, value, configuration, whether it is an option) for each value."""
    for name, notation in space.items():
        ordered = isinstance(notation, tuple | Ordinal)
        if isinstance(notation, Choice):
            below = {inner for _, sub in pairs_of(notation) for inner in names_of(sub)}
            kept = {k: v for k, v in base.items() if k not in below}
            for option, sub in pairs_of(notation):
                config = {**kept, name: option, **own_configuration(sub, defaults)}
                yield name, option, config, True
                yield from deviations(sub, defaults, config)
            continue
        for value in values_of(notation):
            yield name, value, {**base, name: value}, not ordered


def names_of(space: Any) -> Iterator[str]:
    """Yield all names of a space."""
    for name, notation in space.items():
        yield name
        if isinstance(notation, Choice):
            for _, sub in pairs_of(notation):
                yield from names_of(sub)


# -- attack ----------------------------------------------------------------------------


def attack(package: str, name: str) -> tuple[Counter, list[str]]:
    """Return the counts and the failures of a class."""
    counts: Counter = Counter(classes=1)
    plain = make(package, name)
    if plain is None:
        return Counter(), []
    params = plain.get_params(deep=False)
    signature = inspect.signature(type(plain).__init__).parameters
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    if package == "catboost":
        plain.set_params(**quiet, random_seed=0)
    if package == "lightgbm":
        plain.set_params(verbose=-1, n_jobs=1)
    if "random_state" in params or package == "xgboost":
        plain.set_params(random_state=0)
    listed = LEGAL.get(package) or params
    short = {k: v for k, v in SHORT.items() if k in listed and k in signature}
    if package == "xgboost":
        short = {"n_estimators": 5}
    if package == "catboost":
        short = {"iterations": 5}
    failures: list[str] = []
    ranker = name.endswith("Ranker")
    if ranker or name in ("DictVectorizer", "MultiLabelBinarizer", "CatBoost"):
        return Counter(), []
    data = [d for d in data_sets(name) if not failed(fitted(plain, short, *d))]
    if not data:
        return Counter(unfitted=1), [
            f"{name}: {fitted(plain, short, X, y)!r}" for X, y in data_sets(name)
        ]
    for parameter in listed:
        if parameter in quiet or parameter in ("random_state", "random_seed", "n_jobs"):
            continue
        if package in LEGAL and parameter not in params and package != "catboost":
            if "kwargs" not in signature and parameter not in signature:
                continue
        values = legal_values(plain, package, parameter)
        for value in itertools.islice(values, MOST_VALUES):
            for X, y in data:
                one = Beside(plain, short, parameter, value, X, y)
                if one.is_legal:
                    counts["values"] += 1
                    for kind, text in one.failures(counts):
                        counts[kind] += 1
                        failures.append(f"{kind}: {name}({parameter}={value!r}) {text}")
                    break
    return counts, failures


class Beside:
    """Estimator with a set parameter, and its default space."""

    def __init__(
        self, plain: Any, short: dict, parameter: str, value: Any, X: Any, y: Any
    ) -> None:
        self.data = X, y
        self.parameter, self.value = parameter, value
        groups = [
            {"n_estimators", "iterations", "num_boost_round", "num_trees"},
            {"n_estimators", "num_iterations"},
        ]
        aliases = {n for group in groups if parameter in group for n in group}
        self.short = {k: v for k, v in short.items() if k not in {parameter, *aliases}}
        self.plain = plain
        self.set = clone(plain).set_params(**{parameter: value})
        self.own = fitted(self.set, self.short, X, y)
        self.default = fitted(plain, self.short, X, y)
        self.is_legal = not failed(self.own) and not failed(self.default)

    def run(self, estimator: Any, config: dict) -> Any:
        """Return the predictions with a configuration, or the exception."""
        kept = {k: v for k, v in self.short.items() if k not in config or k in SHORT}
        return fitted(estimator, {**config, **kept}, *self.data)

    def failures(self, counts: Counter) -> Iterator[tuple[str, str]]:
        """Yield the kind and the description of each failure."""
        X, y = self.data
        try:
            facts = DataFacts.of(X, y, 1.0)
            space = space_of(parts_of(self.set, facts))
        except Exception as error:
            yield "refused", f"no space: {error!r}"
            return
        defaults = current_values(self.set)
        base = own_configuration(space, defaults)
        searched = set(names_of(space))
        results_of: dict[tuple, list] = {}
        for name, value, config, is_option in deviations(space, defaults, base):
            counts["fits"] += 1
            result = self.run(self.set, config)
            plain = self.run(self.plain, config)
            label = f"option {name}={value!r}"
            if failed(result):
                kind = "always" if failed(plain) else "refused"
                yield kind, f"{label}: {str(result)[:100]!r}"
                continue
            path = tuple(
                (k, repr(v))
                for k, v in config.items()
                if k != name and base.get(k, v) is not v
            )
            results_of.setdefault((name, path), []).append((result, plain))
            if (
                is_option
                and self.parameter != name
                and self.parameter not in config
                and self.parameter not in TECHNICAL
                and not failed(plain)
                and not same(self.own, self.default)
                and same(result, plain)
            ):
                inner = " (searched)" if self.parameter in searched else ""
                yield "void", f"{label}{inner}"
        for (name, path), results in results_of.items():
            skipped = {name, self.parameter} & {*SHORT, *TECHNICAL}
            if name == self.parameter or len(results) < 2 or skipped:
                continue
            beside, alone = zip(*results, strict=True)
            if any(map(failed, alone)):
                continue
            if all(same(beside[0], one) for one in beside[1:]) and not all(
                same(alone[0], one) for one in alone[1:]
            ):
                yield "no effect", f"searched {name} under {dict(path)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "when", choices=("before", "after"), help="release, for the file"
    )
    parser.add_argument("--only", default="", help="regular expression of classes")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen = [key for key in sorted(CATALOG) if re.search(args.only, ".".join(key))]
    tasks = (delayed(attack)(*key) for key in chosen)
    done = Parallel(args.jobs, return_as="generator")(tasks)
    table: dict[str, Counter] = {}
    for (package, _), (counts, failures) in zip(chosen, done, strict=True):
        table.setdefault(package, Counter()).update(counts)
        print(*failures, sep="\n", end="\n" * bool(failures), flush=True)
    for package, counts in table.items():
        print(package, dict(counts))
    if not args.only:
        path = RESULTS / f"set_parameters-{args.when}.json"
        path.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
