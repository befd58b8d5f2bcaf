"""Search spaces of trees, forests and boosted trees."""

from __future__ import annotations

import functools
import math

from skbayes.defaults import catalog
from skbayes.defaults.catalog import (
    LOG,
    PENALTY,
    Conflict,
    DataFacts,
    Notation,
    Params,
    UpTo,
    class_weights,
    feature_shares,
)
from skbayes.space.lists import Ordinal
from skbayes.space.notation import Choice

__all__: list[str] = []

builder_of = functools.partial(catalog.builder_of, of_trees=True)
register = functools.partial(catalog.register, of_trees=True)

# Fraction of the training rows that bounds the minimum leaf size.
LEAF_SHARE = 0.25

# Largest number of bins of a column in histogram-based gradient boosting.
BINS = 255

# Effective values of parameters that are None in XGBoost.
XGBOOST_DEFAULTS = {
    "n_estimators": 100,
    "booster": "gbtree",
    "learning_rate": 0.3,
    "max_depth": 6,
    "min_child_weight": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
    "gamma": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 1.0,
}

# Defaults that get_params of CatBoost omits if the user has not set the parameters.
CATBOOST_DEFAULTS = {
    "iterations": 1000,
    "depth": 6,
    "l2_leaf_reg": 3.0,
    "random_strength": 1.0,
    "rsm": 1.0,
}


# -- trees and forests ----------------------------------------------------------------

CRITERIA = ["gini", "entropy"]

TREE: Notation = {
    "max_depth": Ordinal((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, None)),
    "min_samples_leaf": UpTo(1, 64, LEAF_SHARE),
    "min_samples_split": UpTo(2, 64, LEAF_SHARE, least=3),
    "max_features": feature_shares,
}
PRUNED = Ordinal([0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03], scale="rank")
STUMPS, LEAVES = {"max_leaf_nodes": (2,)}, "min_weight_fraction_leaf"
OF_TREES = [
    Conflict("max_depth min_samples_split", STUMPS),
    Conflict("min_samples_leaf min_samples_split", LEAVES),
]
# A tree of depth 1 or 2 has at most two or four leaves.
SHALLOW = {"max_depth": (1, 2)}
register("DecisionTreeRegressor", "ExtraTreeRegressor", **TREE, conflicts=OF_TREES)
register(
    *("DecisionTreeClassifier", "ExtraTreeClassifier"),
    criterion=CRITERIA,
    **TREE,
    ccp_alpha=PRUNED,
    class_weight=class_weights,
    conflicts=OF_TREES,
)

SIZES = Ordinal([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, None])
BOOTSTRAP = Choice({True: {"max_samples": SIZES}, False: {}})
FOREST: Notation = {
    "max_features": feature_shares,
    "min_samples_leaf": UpTo(1, 20, LEAF_SHARE),
    "max_samples": lambda params, facts: SIZES if params.get("oob_score") else None,
    "bootstrap": lambda params, facts: None if params.get("oob_score") else BOOTSTRAP,
}
OF_FORESTS = [
    Conflict("min_samples_leaf", LEAVES),
    Conflict("bootstrap", "max_samples", option=False),
]
register("RandomForestRegressor", "ExtraTreesRegressor", **FOREST, conflicts=OF_FORESTS)
register(
    *("RandomForestClassifier", "ExtraTreesClassifier"),
    criterion=CRITERIA,
    **FOREST,
    class_weight=class_weights,
    conflicts=OF_FORESTS,
)


register(
    *("BaggingClassifier", "BaggingRegressor"),
    stands_for={"max_samples": 1.0},
    max_samples=(0.3, 1.0),
    max_features=(0.1, 1.0),
    bootstrap=[True, False],
    conflicts=[Conflict("bootstrap", "oob_score warm_start")],
)


# -- boosted trees --------------------------------------------------------------------

register(
    *("AdaBoostClassifier", "AdaBoostRegressor"),
    n_estimators=(10, 500, LOG),
    learning_rate=(0.01, 2.0, LOG),
)
register(
    *("GradientBoostingClassifier", "GradientBoostingRegressor"),
    n_estimators=(30, 500, LOG),
    learning_rate=(0.01, 0.5, LOG),
    max_depth=(1, 10),
    min_samples_leaf=UpTo(1, 64, LEAF_SHARE),
    subsample=(0.4, 1.0),
    max_features=feature_shares,
    conflicts=OF_TREES,
)


@builder_of(
    *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    conflicts=[Conflict("max_leaf_nodes", SHALLOW)],
)
def histogram_boosting(params: Params, facts: DataFacts) -> Notation:
    # Weighted quantiles of many rows take longer than the trees, and class weights
    # rarely increase the accuracy, which is the estimator's own score.
    weights = not facts.own_score or (facts.n_rows or math.inf) <= BINS
    return {
        "max_iter": (30, 500, LOG),
        "learning_rate": (0.01, 0.5, LOG),
        "max_leaf_nodes": (4, 128, LOG),
        "min_samples_leaf": UpTo(1, 100, LEAF_SHARE)(params, facts),
        "l2_regularization": Ordinal(PENALTY, scale="rank"),
        "max_features": (0.3, 1.0),
        "class_weight": class_weights(params, facts) if weights else None,
    }


RANDOM = ("rf", "random_forest")
register(
    *("LGBMClassifier", "LGBMRegressor", "LGBMRanker"),
    package="lightgbm",
    n_estimators=(30, 500, LOG),
    learning_rate=(0.01, 0.5, LOG),
    num_leaves=(4, 128, LOG),
    min_child_samples=UpTo(1, 100, LEAF_SHARE),
    colsample_bytree=(0.3, 1.0),
    subsample_freq=Choice({0: {}, 1: {"subsample": (0.4, 1.0)}}),
    reg_alpha=Ordinal(PENALTY, scale="rank"),
    reg_lambda=Ordinal(PENALTY, scale="rank"),
    class_weight=class_weights,
    conflicts=[
        Conflict("subsample_freq", "pos_bagging_fraction neg_bagging_fraction"),
        Conflict("subsample_freq", {"data_sample_strategy": ("goss",)}),
        Conflict("subsample_freq", {"boosting": ("goss", *RANDOM)}),
        Conflict("learning_rate", {"boosting": RANDOM}),
        Conflict("num_leaves", SHALLOW),
        # LightGBM multiplies these class weights by `class_weight`.
        Conflict("class_weight", {"is_unbalance": bool}),
        Conflict("class_weight", {"scale_pos_weight": lambda weight: weight != 1}),
    ],
)
register(
    *("XGBRFClassifier", "XGBRFRegressor"),
    package="xgboost",
    stands_for=XGBOOST_DEFAULTS,
    max_depth=(2, 16),
    min_child_weight=(0.5, 128.0, LOG),
    subsample=(0.3, 1.0),
    colsample_bynode=(0.1, 1.0),
    conflicts=[
        Conflict(
            "max_depth min_child_weight subsample colsample_bynode",
            {"booster": ("gblinear",)},
        )
    ],
)


# Parameters of linear boosters, and parameters of dropout.
LINEAR = (
    "alpha base_score booster callbacks eta eval_metric feature_selector lambda "
    "learning_rate n_estimators n_jobs nthread objective random_state "
    "reg_alpha reg_lambda scale_pos_weight seed top_k updater validate_parameters "
    "verbosity"
)
DART = "rate_drop one_drop skip_drop sample_type normalize_type"


def _boosters(params: Params, facts: DataFacts) -> Choice:
    trees = {
        "max_depth": (1, 12),
        "min_child_weight": (0.5, 128.0, LOG),
        "subsample": (0.3, 1.0),
        "colsample_bytree": (0.3, 1.0),
        "gamma": Ordinal([0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0], scale="rank"),
    }
    dart = {"dart": trees} if params["booster"] == "dart" else {}
    return Choice({"gbtree": trees, "gblinear": {}, **dart})


register(
    *("XGBClassifier", "XGBRegressor", "XGBRanker"),
    package="xgboost",
    stands_for=XGBOOST_DEFAULTS,
    booster=_boosters,
    n_estimators=(30, 500, LOG),
    learning_rate=(0.01, 0.5, LOG),
    reg_alpha=Ordinal(PENALTY, scale="rank"),
    reg_lambda=(1e-3, 1e3, LOG),
    conflicts=[
        Conflict("booster", option="gblinear", unless=LINEAR),
        Conflict("booster", DART, "gblinear"),
        Conflict("booster", DART, "gbtree"),
        Conflict("booster", "feature_selector top_k", "gbtree"),
        Conflict("booster", {"updater": ("shotgun", "coord_descent")}, "gbtree"),
    ],
)
register(
    *("CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker", "CatBoost"),
    package="catboost",
    stands_for=CATBOOST_DEFAULTS,
    # Without a learning rate, CatBoost chooses one by the number of rows.
    learning_rate=Ordinal([0.01, 0.02, 0.05, None, 0.1, 0.2, 0.5]),
    depth=(2, 10),
    l2_leaf_reg=(0.3, 100.0, LOG),
    random_strength=(0.01, 10.0, LOG),
    rsm=(0.3, 1.0),
    conflicts=[Conflict("rsm", {"task_type": ("GPU",)})],
)
