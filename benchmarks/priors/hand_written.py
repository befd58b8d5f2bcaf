"""Search spaces as written by practitioners."""

from __future__ import annotations

from typing import Any

__all__ = ["HAND_WRITTEN"]

LOG = "log-uniform"
FOREST = {
    "max_depth": [3, 5, 10, 20, None],
    "min_samples_split": (2, 10),
    "min_samples_leaf": (1, 5),
    "max_features": ["sqrt", "log2", None],
    "bootstrap": [True, False],
}
TREE = {
    "max_depth": [3, 5, 10, 20, None],
    "min_samples_split": (2, 20),
    "min_samples_leaf": (1, 10),
}
NEIGHBORS = {"n_neighbors": (1, 30), "weights": ["uniform", "distance"], "p": [1, 2]}
LIGHTGBM = {
    "n_estimators": (50, 500),
    "learning_rate": (0.01, 0.3, LOG),
    "num_leaves": (15, 63),
    "max_depth": [-1, 3, 5, 7],
    "subsample": (0.6, 1.0),
    "colsample_bytree": (0.6, 1.0),
}
HAND_WRITTEN: dict[str, dict[str, Any]] = {
    "SVC": {
        "C": (0.1, 100.0, LOG),
        "gamma": (1e-4, 1.0, LOG),
        "kernel": ["rbf", "linear"],
    },
    "SVR": {
        "C": (0.1, 100.0, LOG),
        "gamma": (1e-4, 1.0, LOG),
        "epsilon": (0.01, 1.0, LOG),
    },
    "LogisticRegression": {"C": (1e-3, 100.0, LOG), "solver": ["lbfgs", "liblinear"]},
    "LinearSVC": {"C": (1e-3, 100.0, LOG), "loss": ["hinge", "squared_hinge"]},
    "SGDClassifier": {
        "loss": ["hinge", "log_loss", "modified_huber"],
        "penalty": ["l2", "l1", "elasticnet"],
        "alpha": (1e-5, 1e-1, LOG),
    },
    "KNeighborsClassifier": NEIGHBORS,
    "KNeighborsRegressor": NEIGHBORS,
    "DecisionTreeClassifier": {**TREE, "criterion": ["gini", "entropy"]},
    "DecisionTreeRegressor": TREE,
    "Ridge": {"alpha": (1e-3, 100.0, LOG)},
    "ElasticNet": {"alpha": (1e-3, 10.0, LOG), "l1_ratio": (0.1, 0.9)},
    "RandomForestClassifier": FOREST,
    "RandomForestRegressor": FOREST | {"max_features": ["sqrt", 0.5, 1.0]},
    "ExtraTreesClassifier": FOREST,
    "LGBMClassifier": LIGHTGBM,
    "LGBMRegressor": LIGHTGBM,
    "XGBClassifier": {
        "n_estimators": (50, 500),
        "learning_rate": (0.01, 0.3, LOG),
        "max_depth": (3, 10),
        "subsample": (0.6, 1.0),
        "colsample_bytree": (0.6, 1.0),
        "gamma": (0.0, 5.0),
    },
}
