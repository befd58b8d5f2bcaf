"""Monotonicity: direction in which hyper-parameters make a model more complex.

The sign of a hyper-parameter is the direction in which its best value moves as the
amount of data grows: +1 upwards, -1 downwards. :class:`skbayes.HyperTuneSearchCV` uses
these signs. For most hyper-parameters, this is the direction of greater complexity. The
exceptions have no sign or the opposite one:

- Counts of rows such as `min_samples_leaf` have no sign: more rows make a model
  simpler. With more data, the best count increases, while the best fraction decreases.
- The number of neighbors has the sign +1, since its best value increases.
- Hyper-parameters that balance another one, such as learning rates, have no sign.
- Sizes of ensembles that are averaged have no sign, since more members only increase
  the cost.
- Shapes and kinds have no sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skbayes.defaults.parts import owner_of
from skbayes.evaluation.fold import configured
from skbayes.space import Space

__all__ = ["KNOWN_MONOTONICITY", "check_monotonicity", "known_monotonicity"]

_TREE = {
    **{"ccp_alpha": -1, "min_impurity_decrease": -1},
    **{"max_depth": +1, "max_leaf_nodes": +1},
}
_HISTOGRAM = {"l2_regularization": -1, "max_depth": +1, "max_iter": +1}
_KERNEL = {"degree": +1, "gamma": +1}
_REGULARIZED = {"n_estimators": +1, "reg_alpha": -1, "reg_lambda": -1}

#: Signs of hyper-parameters by the names of the class and of the parameter.
#:
#: A sign is the direction in which the best value moves as the amount of data grows: +1
#: upwards, -1 downwards. For example, ``KNOWN_MONOTONICITY["Ridge"]`` is
#: ``{"alpha": -1}``. A class that is not listed uses the signs of its first listed base
#: class.
KNOWN_MONOTONICITY: dict[str, dict[str, int]] = {
    name: signs
    for names, signs in (
        # Linear models
        ("ElasticNet GammaRegressor HuberRegressor Lasso Perceptron", {"alpha": -1}),
        ("MultiTaskElasticNet MultiTaskLasso PoissonRegressor", {"alpha": -1}),
        ("QuantileRegressor Ridge RidgeClassifier SGDClassifier", {"alpha": -1}),
        ("SGDRegressor TweedieRegressor", {"alpha": -1}),
        ("LinearSVC LogisticRegression", {"C": +1}),
        ("LinearSVR", {"C": +1, "epsilon": -1}),
        # Discriminants and Bayes
        ("BernoulliNB ComplementNB MultinomialNB", {"alpha": -1}),
        ("GaussianNB", {"var_smoothing": -1}),
        ("LinearDiscriminantAnalysis", {"shrinkage": -1}),
        ("QuadraticDiscriminantAnalysis", {"reg_param": -1}),
        # Kernels
        ("KernelRidge", {**_KERNEL, "alpha": -1}),
        ("NuSVC", {**_KERNEL, "nu": -1}),
        ("NuSVR", {**_KERNEL, "C": +1, "nu": +1}),
        ("SVC", {**_KERNEL, "C": +1}),
        ("SVR", {**_KERNEL, "C": +1, "epsilon": -1}),
        # Neighbors
        ("KNeighborsClassifier KNeighborsRegressor", {"n_neighbors": +1}),
        # Trees
        ("AdaBoostClassifier AdaBoostRegressor", {"n_estimators": +1}),
        ("DecisionTreeClassifier DecisionTreeRegressor", _TREE),
        ("ExtraTreesClassifier ExtraTreesRegressor", _TREE),
        ("RandomForestClassifier RandomForestRegressor", _TREE),
        ("GradientBoostingClassifier", {**_TREE, "n_estimators": +1}),
        ("GradientBoostingRegressor", {**_TREE, "n_estimators": +1}),
        ("HistGradientBoostingClassifier", {**_HISTOGRAM, "max_leaf_nodes": +1}),
        ("HistGradientBoostingRegressor", {**_HISTOGRAM, "max_leaf_nodes": +1}),
        (
            "LGBMModel",
            {"max_depth": +1, "min_split_gain": -1, "num_leaves": +1, **_REGULARIZED},
        ),
        ("XGBModel", {"gamma": -1, "max_depth": +1, "max_leaves": +1, **_REGULARIZED}),
        # Neural networks
        ("MLPClassifier MLPRegressor", {"alpha": -1, "hidden_layer_sizes": +1}),
        # Transformers
        ("AdditiveChi2Sampler", {"sample_steps": +1}),
        ("CountVectorizer", {"max_features": +1}),
        ("FactorAnalysis NMF PCA TruncatedSVD", {"n_components": +1}),
        ("KBinsDiscretizer", {"n_bins": +1}),
        ("KernelPCA Nystroem PolynomialCountSketch", {**_KERNEL, "n_components": +1}),
        ("PolynomialFeatures", {"degree": +1}),
        ("RBFSampler", {"gamma": +1, "n_components": +1}),
        ("SelectKBest", {"k": +1}),
        ("SelectPercentile", {"percentile": +1}),
        ("SplineTransformer", {"degree": +1, "n_knots": +1}),
        ("VarianceThreshold", {"threshold": -1}),
    )
    for name in names.split()
}


def known_monotonicity(estimator: Any, search_spaces: Any) -> dict[str, int]:
    """Look up the signs of hyper-parameters.

    Parameters
    ----------
    estimator : estimator
        Estimator to tune. Nested names, such as ``svc__C``, refer to its parts.
    search_spaces : dict, list of dict, or Space
        Search space.

    Returns
    -------
    signs : dict of str to int
        Signs +1 or -1 by name, from `KNOWN_MONOTONICITY`. Hyper-parameters without an
        order, or with different signs in different alternatives, are left out.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from skbayes.search.monotonicity import known_monotonicity
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> space = {"svc__C": (0.1, 10.0), "svc__kernel": ["rbf", "poly"]}
    >>> known_monotonicity(pipeline, space)
    {'svc__C': 1}
    """
    space = Space.from_notation(search_spaces)
    unordered = _unordered(space)
    found: dict[str, set[int]] = {}
    for params in space.covering_sample():
        # An alternative can replace the estimator of a step.
        candidate = configured(estimator, params)
        for name in params:
            if name not in unordered:
                found.setdefault(name, set()).add(_sign(candidate, name))
    return {
        name: signs.pop()
        for name, signs in sorted(found.items())
        if len(signs) == 1 and 0 not in signs
    }


def _sign(estimator: Any, name: str) -> int:
    owner, parameter = owner_of(estimator, name)
    for base in type(owner).__mro__:
        if base.__name__ in KNOWN_MONOTONICITY:
            return KNOWN_MONOTONICITY[base.__name__].get(parameter, 0)
    return 0


def _unordered(space: Space) -> set[str]:
    return {
        column.name
        for column in space.columns
        if column.name is not None and column.dimension.is_categorical
    }


def check_monotonicity(complexity: Any, estimator: Any, space: Space) -> dict[str, int]:
    """Resolve the parameter `complexity` to signs by name."""
    if complexity is None:
        return {}
    if isinstance(complexity, str) and complexity == "auto":
        return known_monotonicity(estimator, space)
    if not isinstance(complexity, Mapping):
        raise TypeError(
            "complexity must be 'auto', None or a dict of signs by parameter name, got "
            f"{complexity!r}."
        )
    unordered = _unordered(space)
    for name, sign in complexity.items():
        if name not in space.parameter_names:
            raise ValueError(
                f"complexity names {name!r}, which is not in search_spaces: "
                f"{space.parameter_names}."
            )
        if isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise ValueError(
                f"complexity[{name!r}] must be +1 (more complex as it grows), -1 or 0, "
                f"got {sign!r}."
            )
        if sign and name in unordered:
            raise ValueError(
                f"complexity[{name!r}]: the values of {name!r} have no order and "
                "therefore no sign. Use a range or a list of numbers, or leave it out."
            )
    return {name: int(sign) for name, sign in sorted(complexity.items()) if sign}
