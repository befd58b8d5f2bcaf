"""Search spaces of trees, forests and boosted trees."""

from __future__ import annotations

import math
from typing import Any

from skbayes.space.lists import Ordinal
from skbayes.space.notation import Choice
from skbayes.spaces.catalog import (
    LOG,
    PENALTY,
    DataFacts,
    Notation,
    Params,
    at_most,
    class_weight,
    feature_shares,
    known,
)

__all__: list[str] = []

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, None)

# Fraction of the training rows that bounds the minimum leaf size.
LEAF_SHARE = 0.25

# Largest number of bins of a column in histogram-based gradient boosting.
BINS = 255


def _leaf(facts: DataFacts, high: int, low: int = 1) -> tuple[int, int, str]:
    return (low, max(low + 1, at_most(high, facts.n_rows, LEAF_SHARE)), LOG)


# -- trees ----------------------------------------------------------------------------


@known("DecisionTreeClassifier", "ExtraTreeClassifier")
def tree_classifier(params: Params, facts: DataFacts) -> Notation:
    return {
        "criterion": ["gini", "entropy"],
        **tree_regressor(params, facts),
        "ccp_alpha": Ordinal([0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03], scale="rank"),
        **class_weight(params, facts),
    }


@known("DecisionTreeRegressor", "ExtraTreeRegressor")
def tree_regressor(params: Params, facts: DataFacts) -> Notation:
    return {
        "max_depth": Ordinal(DEPTHS),
        "min_samples_leaf": _leaf(facts, 64),
        "min_samples_split": _leaf(facts, 64, low=2),
        "max_features": feature_shares(facts, params),
    }


# -- forests --------------------------------------------------------------------------


@known("RandomForestClassifier", "ExtraTreesClassifier")
def forest_classifier(params: Params, facts: DataFacts) -> Notation:
    return {
        "criterion": ["gini", "entropy"],
        **forest_regressor(params, facts),
        **class_weight(params, facts),
    }


@known("RandomForestRegressor", "ExtraTreesRegressor")
def forest_regressor(params: Params, facts: DataFacts) -> Notation:
    return {
        "max_features": feature_shares(facts, params),
        "min_samples_leaf": _leaf(facts, 20),
        **_bootstrap(params),
    }


def _bootstrap(params: Params) -> Notation:
    sizes = {"max_samples": Ordinal([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, None])}
    if params.get("oob_score"):
        return sizes
    return {"bootstrap": Choice({True: sizes, False: {}})}


@known("BaggingClassifier", "BaggingRegressor", stands_for={"max_samples": 1.0})
def bagging(params: Params, facts: DataFacts) -> Notation:
    space: Notation = {"max_samples": (0.3, 1.0), "max_features": (0.1, 1.0)}
    if params["oob_score"] or params["warm_start"]:
        return space
    return {**space, "bootstrap": [True, False]}


@known("IsolationForest")
def isolation_forest(params: Params, facts: DataFacts) -> Notation:
    sizes = [n for n in (32, 64, 128) if n <= (facts.n_rows or 128)]
    more = [n for n in (512, 1024) if n <= (facts.n_rows or 0)]
    return {
        "max_samples": Ordinal([*sizes, "auto", *more]),
        "max_features": (0.3, 1.0),
    }


# -- boosted trees --------------------------------------------------------------------


@known("AdaBoostClassifier", "AdaBoostRegressor")
def ada_boost(params: Params, facts: DataFacts) -> Notation:
    return {"n_estimators": (10, 500, LOG), "learning_rate": (0.01, 2.0, LOG)}


@known("GradientBoostingClassifier", "GradientBoostingRegressor")
def gradient_boosting(params: Params, facts: DataFacts) -> Notation:
    return {
        "n_estimators": (30, 500, LOG),
        "learning_rate": (0.01, 0.5, LOG),
        "max_depth": (1, 10),
        "min_samples_leaf": _leaf(facts, 64),
        "subsample": (0.4, 1.0),
        "max_features": feature_shares(facts, params),
    }


@known("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
def histogram_boosting(params: Params, facts: DataFacts) -> Notation:
    # Weighted quantiles of many rows take longer than the trees, and class weights
    # rarely increase the accuracy, which is the own score.
    weights = not facts.own_score or (facts.n_rows or math.inf) <= BINS
    return {
        "max_iter": (30, 500, LOG),
        "learning_rate": (0.01, 0.5, LOG),
        "max_leaf_nodes": (4, 128, LOG),
        "min_samples_leaf": _leaf(facts, 100),
        "l2_regularization": Ordinal(PENALTY, scale="rank"),
        "max_features": (0.3, 1.0),
        **(class_weight(params, facts) if weights else {}),
    }


@known("LGBMClassifier", "LGBMRegressor", "LGBMRanker", package="lightgbm")
def lightgbm(params: Params, facts: DataFacts) -> Notation:
    rows: Any = Choice({0: {}, 1: {"subsample": (0.4, 1.0)}})
    return {
        "n_estimators": (30, 500, LOG),
        "learning_rate": (0.01, 0.5, LOG),
        "num_leaves": (4, 128, LOG),
        "min_child_samples": _leaf(facts, 100),
        "colsample_bytree": (0.3, 1.0),
        "subsample_freq": rows,
        "reg_alpha": Ordinal(PENALTY, scale="rank"),
        "reg_lambda": Ordinal(PENALTY, scale="rank"),
        **class_weight(params, facts),
    }


# Effective values of parameters that are None.
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


@known(
    "XGBRFClassifier",
    "XGBRFRegressor",
    package="xgboost",
    stands_for=XGBOOST_DEFAULTS,
)
def xgboost_forest(params: Params, facts: DataFacts) -> Notation:
    return {
        "max_depth": (2, 16),
        "min_child_weight": (0.5, 128.0, LOG),
        "subsample": (0.3, 1.0),
        "colsample_bynode": (0.1, 1.0),
    }


@known(
    "XGBClassifier",
    "XGBRegressor",
    "XGBRanker",
    package="xgboost",
    stands_for=XGBOOST_DEFAULTS,
)
def xgboost(params: Params, facts: DataFacts) -> Notation:
    trees = {
        "max_depth": (1, 12),
        "min_child_weight": (0.5, 128.0, LOG),
        "subsample": (0.3, 1.0),
        "colsample_bytree": (0.3, 1.0),
        "gamma": Ordinal([0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0], scale="rank"),
    }
    boosters: dict[str, Notation] = {"gbtree": trees, "gblinear": {}}
    if params["booster"] == "dart":
        boosters["dart"] = trees
    return {
        "booster": Choice(boosters),
        "n_estimators": (30, 500, LOG),
        "learning_rate": (0.01, 0.5, LOG),
        "reg_alpha": Ordinal(PENALTY, scale="rank"),
        "reg_lambda": (1e-3, 1e3, LOG),
    }


# Defaults that get_params of CatBoost omits if the user has not set the parameters.
CATBOOST_DEFAULTS = {
    "iterations": 1000,
    "depth": 6,
    "l2_leaf_reg": 3.0,
    "random_strength": 1.0,
    "rsm": 1.0,
}


@known(
    "CatBoostClassifier",
    "CatBoostRegressor",
    "CatBoostRanker",
    "CatBoost",
    package="catboost",
    stands_for=CATBOOST_DEFAULTS,
)
def catboost(params: Params, facts: DataFacts) -> Notation:
    # Without a learning rate, CatBoost chooses one by the number of rows.
    return {
        "learning_rate": Ordinal([0.01, 0.02, 0.05, None, 0.1, 0.2, 0.5]),
        "depth": (2, 10),
        "l2_leaf_reg": (0.3, 100.0, LOG),
        "random_strength": (0.01, 10.0, LOG),
        **({} if params.get("task_type") == "GPU" else {"rsm": (0.3, 1.0)}),
    }
