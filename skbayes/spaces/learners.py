"""Search spaces of linear models, support vector machines, neighbors and networks."""

from __future__ import annotations

from typing import Any

from skbayes.space import Choice, Ordinal
from skbayes.spaces.catalog import (
    LOG,
    Notation,
    Params,
    at_most,
    class_weight,
    known,
    series,
)
from skbayes.spaces.facts import DataFacts

__all__: list[str] = []

# Losses of SGDClassifier with probabilities.
WITH_PROBABILITIES = ("log_loss", "modified_huber")


# -- linear classifiers ---------------------------------------------------------------


@known("LogisticRegression")
def logistic_regression(own: Params, facts: DataFacts) -> Notation:
    space: Notation = {"C": (1e-4, 1e4, LOG), **class_weight(own, facts)}
    if own.get("penalty", "l2") is None or own.get("C") == float("inf"):
        del space["C"]  # no penalty
        return space
    ridge = own.get("penalty", "l2") in ("l2", "deprecated") and not own.get("l1_ratio")
    if not ridge or own.get("dual") or own["solver"] == "liblinear":
        if own["solver"] == "saga" and own.get("l1_ratio") is not None:
            space["l1_ratio"] = (0.0, 1.0)
        return space
    elastic: Notation = {"l1_ratio": (0.0, 1.0)}
    if own.get("penalty") == "l2":  # before scikit-learn 1.8
        elastic = {"penalty": ["elasticnet"], **elastic}
    plain = own["solver"] if own["solver"] != "saga" else "lbfgs"
    options = {plain: {}, "saga": elastic}
    return {**space, "solver": Choice(options)}


@known("SGDClassifier")
def sgd_classifier(own: Params, facts: DataFacts) -> Notation:
    losses = ["hinge", "log_loss", "modified_huber"]
    if own["loss"] in WITH_PROBABILITIES:
        losses = list(WITH_PROBABILITIES)
    return {
        "loss": losses,
        "alpha": (1e-6, 0.1, LOG),
        "penalty": _sgd_penalty(),
        "average": [False, True],
        **class_weight(own, facts),
    }


def _sgd_penalty() -> Choice:
    return Choice({"l2": {}, "l1": {}, "elasticnet": {"l1_ratio": (0.0, 1.0)}})


@known("LinearSVC")
def linear_svc(own: Params, facts: DataFacts) -> Notation:
    space: Notation = {"C": (1e-4, 1e3, LOG), **class_weight(own, facts)}
    if own.get("dual") == "auto" and own["multi_class"] == "ovr":
        squared = {"penalty": ["l1", "l2"]}
        space["loss"] = Choice({"squared_hinge": squared, "hinge": {}})
    return space


# -- linear regression ----------------------------------------------------------------


@known("Ridge")
def ridge(own: Params, facts: DataFacts) -> Notation:
    return {"alpha": (1e-4, 1e4, LOG), "fit_intercept": [True, False]}


@known("ElasticNet")
def elastic_net(own: Params, facts: DataFacts) -> Notation:
    return {**_sparse_alpha(facts), "l1_ratio": (0.01, 1.0)}


def _sparse_alpha(facts: DataFacts) -> Notation:
    """A penalty with a 1-norm grows as the target does."""
    return {"alpha": (1e-5 * facts.y_scale, 10.0 * facts.y_scale, LOG)}


# -- support vector machines ----------------------------------------------------------


def gamma(facts: DataFacts, option: Any = "scale") -> Ordinal:
    """Return kernel widths, with an own option where standardized features put it."""
    values: list[Any] = series(1e-5, 10.0)
    if isinstance(option, str):
        place = 1.0 / (facts.n_features or 16)
        values.insert(sum(value < place for value in values), option)
    return Ordinal(values)


def kernel(own: Params, facts: DataFacts) -> Notation:
    """Return the kernels of a support vector machine and their parameters."""
    if callable(own["kernel"]) or own["kernel"] == "precomputed":
        return {}
    width = {"gamma": gamma(facts, own["gamma"])}
    options = {
        "rbf": width,
        "poly": {**width, "degree": (2, 4), "coef0": (0.0, 1.0)},
        "linear": {},
    }
    if own["kernel"] == "sigmoid":
        options["sigmoid"] = {**width, "coef0": (0.0, 1.0)}
    return {"kernel": Choice(options)}


@known("SVC")
def svc(own: Params, facts: DataFacts) -> Notation:
    return {
        "C": (1e-2, 1e3, LOG),
        **kernel(own, facts),
        **class_weight(own, facts),
    }


@known("SVR")
def svr(own: Params, facts: DataFacts) -> Notation:
    scale = facts.y_scale
    return {
        "C": (1e-2 * scale, 1e3 * scale, LOG),
        "epsilon": (1e-3 * scale, 1.0 * scale, LOG),
        **kernel(own, facts),
    }


# -- neighbors ------------------------------------------------------------------------


@known("KNeighborsClassifier", "KNeighborsRegressor")
def neighbors(own: Params, facts: DataFacts) -> Notation:
    space: Notation = {"n_neighbors": (1, at_most(50, facts.n_rows, 0.5), LOG)}
    if not callable(own["weights"]):
        space["weights"] = ["uniform", "distance"]
    if own["metric"] == "minkowski":
        space["p"] = [1, 2]
    return space


# -- networks -------------------------------------------------------------------------


@known("MLPClassifier", "MLPRegressor")
def network(own: Params, facts: DataFacts) -> Notation:
    return {
        "hidden_layer_sizes": [(20,), (50,), (100,), (200,), (50, 50), (100, 100)],
        "activation": ["relu", "tanh"],
        "alpha": (1e-6, 10.0, LOG),
        "learning_rate_init": (1e-4, 0.1, LOG),
    }
