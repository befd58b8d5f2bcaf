"""Search spaces of linear models, support vector machines, neighbors and wrappers."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.defaults.catalog import (
    LOG,
    NEIGHBORS,
    Conflict,
    DataFacts,
    Fallback,
    Notation,
    Params,
    builder_of,
    class_weights,
    counts_or,
    fitting,
    gamma,
    register,
    series,
)
from skbayes.space.lists import Ordinal
from skbayes.space.notation import Choice

__all__: list[str] = []

# Losses of SGDClassifier with probabilities.
WITH_PROBABILITIES = ("log_loss", "modified_huber")

# Penalties of stochastic gradient descent.
PENALTIES: dict[str, Notation] = {
    "l2": {},
    "l1": {},
    "elasticnet": {"l1_ratio": (0.0, 1.0)},
}

# Number of entries of the data, times the number of classes. Solvers that visit rows
# one by one are several times slower than others above the first value, and too slow
# above the second.
CHEAP_SIZE, SLOW_SIZE = 1e5, 3e6

# Number of rows per column from which an l1 penalty improves predictions little.
MANY_PER_COLUMN = 5

# Range of C for squared distances of about one, as kernels of standardized data have.
MARGINS = (1e-2, 1e3)

# Largest C where the time of a fit grows with C: in regressions, on other scales, with
# few columns, or with many rows. The first value is for linear kernels and polynomials,
# the second for other kernels.
MODERATE, HIGH = 10.0, 500.0
MANY_ROWS, MANY_ROWS_OF_HARD = 3000, 200


# -- spaces that do not depend on the data --------------------------------------------

register(
    *("DummyClassifier", "DummyRegressor", "IsotonicRegression", "LinearRegression"),
    # These classes tune their own hyper-parameters.
    *("ElasticNetCV", "LarsCV", "LassoCV", "LassoLarsCV", "LassoLarsIC"),
    *("LogisticRegressionCV", "MultiTaskElasticNetCV", "MultiTaskLassoCV"),
    *("OrthogonalMatchingPursuitCV", "RidgeCV", "RidgeClassifierCV"),
)
register(
    *("Pipeline", "FeatureUnion", "ColumnTransformer", "TransformedTargetRegressor"),
    *("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain"),
    *("RegressorChain", "OneVsRestClassifier", "OneVsOneClassifier"),
    *("TunedThresholdClassifierCV", "VotingRegressor"),
)
register("StackingClassifier", "StackingRegressor", passthrough=[False, True])
register("CalibratedClassifierCV", method=["sigmoid", "isotonic"])
register("OutputCodeClassifier", code_size=(1.0, 5.0))
register(
    "LiblinearClassifier",
    package="skbayes",
    C=(1e-4, 1e4, LOG),
    class_weight=class_weights,
)
register("RidgeClassifier", alpha=(1e-4, 1e4, LOG), class_weight=class_weights)
register("Ridge", alpha=(1e-4, 1e4, LOG), fit_intercept=[True, False])
register(
    *("PassiveAggressiveClassifier", "PassiveAggressiveRegressor"),
    C=(1e-4, 10.0, LOG),
    average=[False, True],
    class_weight=class_weights,
)
register(
    *("PoissonRegressor", "GammaRegressor", "TweedieRegressor"),
    alpha=(1e-6, 100.0, LOG),
)
register("HuberRegressor", epsilon=(1.05, 5.0, LOG), alpha=(1e-6, 1.0, LOG))
register(
    "SGDRegressor",
    loss=["squared_error", "huber", "epsilon_insensitive"],
    alpha=(1e-6, 0.1, LOG),
    penalty=Choice(PENALTIES),
    eta0=(1e-4, 0.1, LOG),
    average=[False, True],
    # Other losses do not use "epsilon", and this schedule does not use "eta0".
    conflicts=[
        Conflict("loss", "epsilon"),
        Conflict("eta0", {"learning_rate": ("optimal",)}),
    ],
)
register("GaussianNB", var_smoothing=(1e-12, 1.0, LOG))
_GAMMA_PRIORS: dict[str, Any] = dict.fromkeys(
    ("alpha_1", "alpha_2", "lambda_1", "lambda_2"), (1e-10, 1e-2, LOG)
)
register("BayesianRidge", **_GAMMA_PRIORS)
register("ARDRegression", **_GAMMA_PRIORS, threshold_lambda=(1e3, 1e6, LOG))
_ALPHA = {"alpha": (1e-7, 0.01, LOG)}
_MIXED = {**_ALPHA, "l1_ratio": (0.0, 1.0)}
register(
    "Perceptron",
    penalty=Choice({None: {}, "l2": _ALPHA, "l1": _ALPHA, "elasticnet": _MIXED}),
    class_weight=class_weights,
)


# -- linear classifiers ---------------------------------------------------------------


@builder_of("LogisticRegression", stands_for={"l1_ratio": 0.0})
def logistic_regression(params: Params, facts: DataFacts) -> Notation:
    space: Notation = {
        "C": (1e-4, 1e4, LOG),
        "class_weight": class_weights(params, facts),
    }
    if params.get("penalty", "l2") is None or params.get("C") == float("inf"):
        del space["C"]  # no penalty
        return space
    ridge = params.get("penalty", "l2") in ("l2", "deprecated") and not params.get(
        "l1_ratio"
    )
    if not ridge or params.get("dual") or params["solver"] == "liblinear":
        if params["solver"] == "saga" and params.get("l1_ratio") is not None:
            space["l1_ratio"] = (0.0, 1.0)
        return space
    elastic: Notation = {"l1_ratio": (0.0, 1.0)}
    if params.get("penalty") == "l2":  # before scikit-learn 1.8
        elastic = {"penalty": ["elasticnet"], **elastic}
    plain = params["solver"] if params["solver"] != "saga" else "lbfgs"
    options = {plain: {}, "saga": elastic}
    if params["solver"] != "saga" and not _elastic_net_is_useful(facts):
        return space
    return {**space, "solver": Choice(options)}


def _elastic_net_is_useful(facts: DataFacts) -> bool:
    """Return whether the solver "saga" is fast, or may improve scores and is not slow.

    It visits the rows one by one, and does not accept the 64-bit indices of wide data.
    """
    n_rows, n_features = facts.n_rows or 1, facts.n_features or 16
    n_classes = facts.n_classes or 1
    size = n_rows * n_features * (n_classes if n_classes > 2 else 1)
    few_rows = n_rows < MANY_PER_COLUMN * n_features
    return not facts.wide and size <= (SLOW_SIZE if few_rows else CHEAP_SIZE)


register(
    "SGDClassifier",
    loss=lambda params, facts: (
        list(WITH_PROBABILITIES)
        if params["loss"] in WITH_PROBABILITIES
        else ["hinge", *WITH_PROBABILITIES]
    ),
    alpha=(1e-6, 0.1, LOG),
    penalty=Choice(PENALTIES),
    average=[False, True],
    class_weight=class_weights,
    conflicts=[Conflict("loss", "epsilon")],
)
register(
    "LinearSVC",
    C=(1e-4, 1e3, LOG),
    class_weight=class_weights,
    loss=Choice({"squared_hinge": {"penalty": ["l1", "l2"]}, "hinge": {}}),
    conflicts=[Conflict("loss", "dual multi_class")],
)


# -- linear regression ----------------------------------------------------------------


def _alpha(params: Params, facts: DataFacts) -> tuple:
    return (1e-5 * facts.y_scale, 10.0 * facts.y_scale, LOG)


register("Lasso", "LassoLars", "MultiTaskLasso", "QuantileRegressor", alpha=_alpha)
register("ElasticNet", "MultiTaskElasticNet", alpha=_alpha, l1_ratio=(0.01, 1.0))


register(
    "OrthogonalMatchingPursuit",
    n_nonzero_coefs=lambda params, facts: counts_or(
        params["n_nonzero_coefs"], 1, min(100, facts.n_features or 20)
    ),
    conflicts=[Conflict("n_nonzero_coefs", "tol")],
)


@builder_of("PLSRegression")
def partial_least_squares(params: Params, facts: DataFacts) -> Notation:
    # Centered columns have one dimension less than rows.
    rank = max(1, (facts.n_rows or 31) - 1)
    most = min(30, facts.fewest_features or 2, rank)
    return {"n_components": fitting(params["n_components"], (1, most), facts)}


# -- support vector machines ----------------------------------------------------------


def kernel(
    params: Params, facts: DataFacts, C: float | None = None, regression: bool = False
) -> Notation:
    """Return the kernels of a support vector machine and their parameters.

    With `C`, a unit, they include ranges of C. In a `regression`, no kernel can
    separate the rows.
    """
    if callable(params["kernel"]) or params["kernel"] == "precomputed":
        return {} if C is None else {"C": (MARGINS[0] * C, MARGINS[1] * C, LOG)}
    width = {"gamma": gamma(facts, params["gamma"])}
    hard = regression or facts.x_variance > 1.0
    # With fewer products of columns than rows, polynomials separate few problems.
    n_rows = facts.n_rows or 1
    few_columns = (facts.n_features or 16) ** 2 < n_rows
    small = hard or few_columns
    shape = {"degree": (2, 4), "coef0": (0.0, 1.0)}
    options: dict[str, Notation] = {
        "rbf": width,
        "poly": {**(_small_width(params, facts) if small else width), **shape},
        "linear": {},
    }
    if params["kernel"] == "sigmoid":
        options["sigmoid"] = {**width, "coef0": (0.0, 1.0)}
    if C is None:
        if hard and params["kernel"] != "linear":  # no C bounds the time of a fit
            del options["linear"]
        return {"kernel": Choice(options)}
    many_rows = n_rows > (MANY_ROWS_OF_HARD if hard else MANY_ROWS)
    slow = many_rows or few_columns or regression
    limits = {"poly": C, "linear": C / facts.x_variance}
    ranges = {}
    for name in options:
        high = MARGINS[1]
        if slow:
            high = MODERATE if name in limits else HIGH
        unit = limits.get(name, C)
        ranges[name] = {"C": (MARGINS[0] * unit, high * unit, LOG)}
    if len(set(margins["C"] for margins in ranges.values())) == 1:
        return {**ranges["rbf"], "kernel": Choice(options)}
    return {"kernel": Choice({n: {**ranges[n], **options[n]} for n in options})}


def _small_width(params: Params, facts: DataFacts) -> Notation:
    """Return widths of a polynomial up to "scale", beyond which fits are slow."""
    most = 1.0 / (facts.n_features or 16) / facts.x_variance
    if isinstance(params["gamma"], str):
        return {"gamma": Ordinal([*series(most / 1000.0, most)[:-1], "scale"])}
    return {"gamma": (most / 1000.0, most, LOG)}


@builder_of("SVC")
def svc(params: Params, facts: DataFacts) -> Notation:
    return {**kernel(params, facts, 1.0), "class_weight": class_weights(params, facts)}


@builder_of("SVR")
def svr(params: Params, facts: DataFacts) -> Notation:
    scale = facts.y_scale
    space = kernel(params, facts, scale, regression=True)
    margin = {"C": space.pop("C")} if "C" in space else {}
    return {**margin, "epsilon": (1e-3 * scale, 1.0 * scale, LOG), **space}


@builder_of("NuSVC")
def nu_svc(params: Params, facts: DataFacts) -> Notation:
    most = 0.95 * min(1.0, facts.max_nu)
    nu: Any = (min(0.01, most / 5.0), most)
    if params["nu"] > facts.max_nu and params.get("class_weight") is None:
        nu = Fallback(nu)
    return {
        "nu": nu,
        **kernel(params, facts),
        "class_weight": class_weights(params, facts),
    }


@builder_of("NuSVR")
def nu_svr(params: Params, facts: DataFacts) -> Notation:
    return {"nu": (0.05, 1.0), **kernel(params, facts, facts.y_scale, regression=True)}


register(
    "LinearSVR",
    C=(1e-4, 1e3, LOG),
    epsilon=lambda params, facts: Ordinal(
        [0.0, *(share * facts.y_scale for share in (1e-3, 0.01, 0.1, 1.0))],
        scale="rank",
    ),
    loss=["epsilon_insensitive", "squared_epsilon_insensitive"],
    conflicts=[Conflict("loss", "dual")],
)


@builder_of("KernelRidge")
def kernel_ridge(params: Params, facts: DataFacts) -> Notation:
    space: Notation = {"alpha": (1e-6, 100.0, LOG)}
    if callable(params["kernel"]) or params["kernel"] == "precomputed":
        return space
    width = {"gamma": gamma(facts, params["gamma"])}
    distances = {"gamma": gamma(facts, params["gamma"], facts.x_variance**0.5)}
    polynomial = {**width, "degree": [2, 3, 4], "coef0": (0.0, 1.0)}
    options = {"linear": {}, "rbf": width, "laplacian": distances, "poly": polynomial}
    return {**space, "kernel": Choice(options)}


# -- neighbors ------------------------------------------------------------------------


def _radius(params: Params, facts: DataFacts) -> tuple[float, float, str]:
    # Distances of standardized rows are up to twice the root of n_features. Predictions
    # fail for smaller balls without rows.
    unit = round((facts.n_features or 1) ** 0.5, 3)
    return (unit, 2.0 * unit, LOG)


DISTANCES: dict[str, Any] = {
    "weights": ["uniform", "distance"],
    "p": [1, 2],
    "conflicts": [Conflict("p", "metric"), Conflict("weights", {"weights": callable})],
}
register(
    *("KNeighborsClassifier", "KNeighborsRegressor"), n_neighbors=NEIGHBORS, **DISTANCES
)
register(
    *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
    radius=_radius,
    **DISTANCES,
)


# -- naive Bayes and discriminant analysis --------------------------------------------

register(
    *("MultinomialNB", "BernoulliNB", "CategoricalNB"),
    alpha=(1e-3, 100.0, LOG),
    fit_prior=[True, False],
    conflicts=[Conflict("fit_prior", "class_prior")],
)
register("ComplementNB", alpha=(1e-3, 100.0, LOG), norm=[False, True])


def _solvers(params: Params, facts: DataFacts) -> Choice:
    shrinkage: Any = Ordinal([*np.arange(1, 11) / 10, "auto"])
    if params["solver"] == "svd":
        # Without shrinkage, "eigen" fails on singular covariances, and equals "svd".
        shrinkage = Fallback(shrinkage)
    shrunk = {"shrinkage": shrinkage}
    other = params["solver"] if params["solver"] != "svd" else "eigen"
    return Choice({"svd": {}, other: shrunk})


register(
    "LinearDiscriminantAnalysis",
    solver=_solvers,
    conflicts=[Conflict("solver", "covariance_estimator")],
)
register("QuadraticDiscriminantAnalysis", reg_param=(0.0, 1.0))
register(
    "NearestCentroid",
    # Deviations are divided by the median standard deviation of the columns.
    shrink_threshold=lambda params, facts: Ordinal(
        [None] if facts.half_constant else [None, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    ),
)


# -- wrappers --------------------------------------------------------------------------


@builder_of("VotingClassifier")
def voting(params: Params, facts: DataFacts) -> Notation:
    members = [
        member for _, member in params["estimators"] if not isinstance(member, str)
    ]
    probable = all(hasattr(member, "predict_proba") for member in members)
    # Users who chose "soft" may need its probabilities.
    tuned = params["voting"] == "hard" and probable
    return {"voting": ["hard", "soft"] if tuned else None}


@builder_of("FixedThresholdClassifier")
def fixed_threshold(params: Params, facts: DataFacts) -> Notation:
    method = params["response_method"]
    if method == "auto":
        has = hasattr(params["estimator"], "predict_proba")
        method = "predict_proba" if has else "decision_function"
    probable = method == "predict_proba"
    if params["threshold"] != "auto":
        return {"threshold": (0.05, 0.95) if probable else (-1.0, 1.0)}
    shares = [share / 20 for share in range(1, 20) if share != 10]
    margins = [-1.0, -0.5, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.5, 1.0]
    values = shares if probable else margins
    half = len(values) // 2
    return {"threshold": Ordinal([*values[:half], "auto", *values[half:]])}


# -- networks -------------------------------------------------------------------------


register(
    *("MLPClassifier", "MLPRegressor"),
    hidden_layer_sizes=[(20,), (50,), (100,), (200,), (50, 50), (100, 100)],
    activation=["relu", "tanh"],
    alpha=(1e-6, 10.0, LOG),
    learning_rate_init=(1e-4, 0.1, LOG),
    conflicts=[Conflict("learning_rate_init", {"solver": ("lbfgs",)})],
)
