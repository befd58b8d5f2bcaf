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

Symbols (B samples, D columns, N sign points):

- ``optima``: (B, D), the encoded best configuration on each sample.
- ``center``: (D,), their center, the small optimum.
- simple end of a column: 0 if its sign is +1, 1 if it is -1.

Joy, Rana, Gupta & Venkatesh (2019): the best model of a small sample is simpler than
the best model of all data. The score on all data therefore increases from the simple
end of the range up to the small optimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.space import Space
from skbayes.space.candidates import Configuration, sobol
from skbayes.space.dimensions import FloatArray, key_of
from skbayes.trial.fold import configured
from skbayes.trial.records import History, Trial
from skbayes.utils.estimators import owner_of
from skbayes.utils.random_streams import Stream, make_generator

__all__ = ["known_monotonicity"]

_TREE = {
    **{"ccp_alpha": -1, "min_impurity_decrease": -1},
    **{"max_depth": +1, "max_leaf_nodes": +1},
}
_HISTOGRAM = {"l2_regularization": -1, "max_depth": +1, "max_iter": +1}
_KERNEL = {"degree": +1, "gamma": +1}
_REGULARIZED = {"n_estimators": +1, "reg_alpha": -1, "reg_lambda": -1}

# Signs of hyper-parameters by the names of the class and of the parameter. A class that
# is not listed uses the signs of its first listed base class.
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
        Signs +1 or -1 by name. Hyper-parameters without an order, or with different
        signs in different alternatives, are left out.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from skbayes.hypertune.monotonicity import known_monotonicity
    >>> pipeline = make_pipeline(StandardScaler(), SVC())
    >>> space = {"svc__C": (0.1, 10.0), "svc__kernel": ["rbf", "poly"]}
    >>> known_monotonicity(pipeline, space)
    {'svc__C': 1}
    """
    space = Space.from_notation(search_spaces)
    unordered = _unordered(space)
    signs_by_name: dict[str, set[int]] = {}
    for params in space.covering_sample():
        # An alternative can replace the estimator of a step.
        candidate = configured(estimator, params)
        for name in params:
            if name not in unordered:
                signs_by_name.setdefault(name, set()).add(_sign(candidate, name))
    return {
        name: signs.pop()
        for name, signs in sorted(signs_by_name.items())
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
                "therefore no sign. Use a range or a list of numbers, or omit it."
            )
    return {name: int(sign) for name, sign in sorted(complexity.items()) if sign}


# -- signs from small samples ---------------------------------------------------------

# Number of sign points.
N_SIGN_POINTS = 10

# Minimum distance between simple end and optimum for a sign.
MIN_DISTANCE = 0.02


class RoundRobinOptimizer:
    """Optimizers that take turns: the (k mod B)-th proposes the k-th configuration.

    Each optimizer observes only its own trials. As long as at most B trials are in
    progress, the proposals do not depend on their number.
    """

    def __init__(self, optimizers: Sequence[Any]) -> None:
        self.optimizers = list(optimizers)
        self.last_expected_improvement: float | None = None
        self._n_asked = 0
        # Configurations in progress and the optimizers that proposed them.
        self._pending: list[tuple[Configuration, int]] = []

    @property
    def space(self) -> Space:
        """The search space."""
        return self.optimizers[0].space

    @property
    def n_configurations(self) -> float:
        """Number of configurations that all optimizers together can propose."""
        return len(self.optimizers) * self.optimizers[0].n_configurations

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set limit and budget of the costs; the budget is divided equally."""
        share = None if budget is None else budget / len(self.optimizers)
        for optimizer in self.optimizers:
            optimizer.limit_costs(limit, share)

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Propose one configuration, with its encoding."""
        optimizer = self.optimizers[self._n_asked % len(self.optimizers)]
        configuration = optimizer.propose(max_cost)
        self.last_expected_improvement = optimizer.last_expected_improvement
        self._take_turn(configuration)
        return configuration

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Register a configuration as proposed."""
        configuration = Configuration.of(self.space, params)
        self.optimizers[self._n_asked % len(self.optimizers)].pend(configuration)
        self._take_turn(configuration)

    def _take_turn(self, configuration: Configuration) -> None:
        turn = self._n_asked % len(self.optimizers)
        self._pending.append((configuration, turn))
        self._n_asked += 1

    def _places(self, params: Mapping[str, Any] | Configuration) -> list[int]:
        """Return the places of this object, or of all equal configurations."""
        pending = [configuration for configuration, _ in self._pending]
        places = [k for k, one in enumerate(pending) if one is params]
        key = key_of(Configuration.of(self.space, params).row)
        return places or [k for k, one in enumerate(pending) if key_of(one.row) == key]

    def tell(
        self, params: Mapping[str, Any] | Configuration, score: Any, **options: Any
    ) -> None:
        """Pass a score to the optimizer that proposed the configuration."""
        _, turn = self._pending.pop(self._places(params)[0])
        self.optimizers[turn].tell(params, score, **options)

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Remove a pending configuration, the last one if several are equal."""
        _, turn = self._pending.pop(self._places(params)[-1])
        # The next proposal takes its turn.
        self._n_asked -= 1
        self.optimizers[turn].forget(params)

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Return the expected cost of the configuration that was proposed last."""
        turn = self._pending[-1][1] if self._pending else 0
        return self.optimizers[turn].expected_cost(params)


@dataclass(frozen=True)
class SignPlan:
    """Signs for the search on all data, and the points at which they are assumed."""

    optima: FloatArray  # (B, D), one for each sample with a score
    center: FloatArray  # (D,)
    points: FloatArray  # (N, D), the sign points
    signs: FloatArray  # (N, D), +1, -1 or 0


def center_of(space: Space, optima: FloatArray) -> FloatArray:
    """Return the center of configurations, on which outliers have little influence.

    In an unordered column, it is the most frequent option, and the first one of equally
    frequent options. In an ordered column, it is the median of the active values, or
    0.5 without any.
    """
    center = np.where(space.categorical, 0.0, 0.5)
    for column, unordered in enumerate(space.categorical):
        values = optima[:, column][~np.isnan(optima[:, column])]
        if len(values) and unordered:
            options, counts = np.unique(values, return_counts=True)
            center[column] = options[np.argmax(counts)]
        elif len(values):
            center[column] = np.median(values)
    return space.snap(center[None, :])[0]


def derive_signs(
    space: Space, signs: Mapping[str, int], trials: Sequence[Trial], seed: int
) -> SignPlan | None:
    """Derive signs from the trials on small samples; None if no trial has a score."""
    best: dict[int, Trial] = {}
    for trial in History(trials).best_first():
        best.setdefault(trial.fidelity.subset, trial)
    if not best:
        return None
    optima = space.encode([best[subset].params for subset in sorted(best)])
    center = center_of(space, optima)
    by_column = np.array([signs.get(c.name or "", 0) for c in space.columns])
    by_column[space.categorical] = 0
    rng = make_generator(seed, Stream.MONOTONICITY)
    points, table = _draw_points(space, by_column, center, rng)
    return SignPlan(optima, center, points, table)


def _draw_points(
    space: Space, by_column: np.ndarray, center: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return points between the simple end and the center, and their signs."""
    U = sobol(space.n_columns, N_SIGN_POINTS.bit_length(), rng)[:N_SIGN_POINTS]
    points = space.from_uniform(U)
    # Signs hold in the branch of the center, so the points have its options.
    points[:, space.categorical] = center[space.categorical]
    end = np.where(by_column < 0, 1.0, 0.0)
    lengths = np.abs(np.where(np.isnan(center), end, center) - end)
    signed = (by_column != 0) & (lengths > MIN_DISTANCE)
    between = end + U * (center - end)
    points[:, signed] = between[:, signed]
    points[:, np.isnan(center)] = np.nan
    table = np.where(signed & ~np.isnan(points), by_column.astype(float), 0.0)
    return points, table
