"""XGBoost on 119 data sets, predicted by the surrogate of YAHPO Gym."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import shared
from scipy.stats import qmc
from sklearn.base import BaseEstimator, ClassifierMixin

from skbayes.space import Space
from skbayes.spaces import default_space

__all__ = ["METRICS", "XGBClassifier", "configurations", "evaluate", "instances"]

N_CONFIGURATIONS = 500
METRICS = ("accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss")
OUTPUTS = {"acc": 1.0, "bac": 1.0, "auc": 1.0, "logloss": -1.0}
# Names in YAHPO Gym by our names.
NAMES = {
    "n_estimators": "nrounds",
    "booster": "booster",
    "learning_rate": "eta",
    "max_depth": "max_depth",
    "min_child_weight": "min_child_weight",
    "subsample": "subsample",
    "colsample_bytree": "colsample_bytree",
    "colsample_bylevel": "colsample_bylevel",
    "gamma": "gamma",
    "reg_alpha": "alpha",
    "reg_lambda": "lambda",
    "rate_drop": "rate_drop",
    "skip_drop": "skip_drop",
}
DEFAULTS = {
    "n_estimators": 100,
    "booster": "gbtree",
    "learning_rate": 0.3,
    "max_depth": 6,
    "min_child_weight": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
    "colsample_bylevel": 1.0,
    "gamma": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 1.0,
    "rate_drop": 0.0,
    "skip_drop": 0.0,
}


class XGBClassifier(ClassifierMixin, BaseEstimator):
    """Substitute for the class of XGBoost, which is not required here."""

    __module__ = "xgboost.sklearn"

    def __init__(
        self,
        n_estimators=None,
        booster=None,
        learning_rate=None,
        max_depth=None,
        min_child_weight=None,
        subsample=None,
        colsample_bytree=None,
        colsample_bylevel=None,
        gamma=None,
        reg_alpha=None,
        reg_lambda=None,
        rate_drop=None,
        skip_drop=None,
    ):
        self.n_estimators = n_estimators
        self.booster = booster
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.gamma = gamma
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.rate_drop = rate_drop
        self.skip_drop = skip_drop

    def fit(self, X, y):
        """Raise an exception."""
        raise NotImplementedError


@cache
def _model() -> Any:
    return shared.load().Yahpo("rbv2_xgboost")


def instances() -> list[str]:
    """Return the names of the data sets."""
    return list(_model().instances)


@cache
def space() -> Space:
    """Return the default search space."""
    return Space.from_notation(dict(default_space(XGBClassifier())))


def configurations() -> list[dict[str, Any]]:
    """Return the default configuration, and random ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not a power of 2
        sobol = qmc.Sobol(space().n_columns, scramble=True, seed=0)
        U = sobol.random(N_CONFIGURATIONS)
    return [{}, *space().decode(space().from_uniform(U))]


def evaluate(params: list[dict[str, Any]], instance: str) -> np.ndarray:
    """Return scores of configurations, shape (n, 4), in the order of METRICS.

    Values outside the ranges of the surrogate are moved to its bounds.
    """
    model = _model()
    ranges = {one["name"]: one for one in model.space}
    settings = []
    for one in params:
        setting = {"num.impute.selected.cpo": "impute.median"}
        for name, value in (DEFAULTS | one).items():
            about = ranges[NAMES[name]]
            if "lower" in about:
                value = min(max(value, about["lower"]), about["upper"])
            setting[NAMES[name]] = value
        settings.append(setting)
    found = model.predict(settings, instance)
    return np.column_stack(
        [sign * found[:, model.outputs.index(name)] for name, sign in OUTPUTS.items()]
    )
