"""Search spaces of transformers, decompositions, vectorizers, clusterers, samplers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from skbayes.defaults.catalog import (
    LOG,
    NEIGHBORS,
    Conflict,
    DataFacts,
    Fallback,
    Notation,
    Params,
    UpTo,
    at_most,
    components,
    counts,
    counts_or,
    fitting,
    gamma,
    is_array,
    known,
    register,
)
from skbayes.space.lists import Ordinal
from skbayes.space.notation import Choice

__all__: list[str] = []


# -- spaces that do not depend on the data --------------------------------------------

register(
    *("DictVectorizer", "FunctionTransformer", "LabelBinarizer", "LabelEncoder"),
    *("MissingIndicator", "MultiLabelBinarizer"),
    *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"),
    *("PowerTransformer", "QuantileTransformer"),
)
register(
    *("CondensedNearestNeighbour", "OneSidedSelection", "TomekLinks"),
    "FunctionSampler",
    package="imblearn",
)
register("TargetEncoder", smooth=Ordinal([0.1, 1.0, 10.0, "auto", 100.0, 1000.0]))
register("SelectFpr", "SelectFdr", "SelectFwe", alpha=(1e-3, 0.5, LOG))
register("Normalizer", norm=["l1", "l2", "max"])
register("VarianceThreshold", threshold=Ordinal([0.0, 1e-4, 1e-3, 0.01], scale="rank"))
register("AffinityPropagation", damping=(0.5, 0.99))
register(
    "BernoulliRBM",
    n_components=(16, 512, LOG),
    learning_rate=(1e-3, 0.5, LOG),
    n_iter=(5, 50, LOG),
)


# -- imputers and encoders ------------------------------------------------------------


@known("SimpleImputer")
def simple_imputer(params: Params, facts: DataFacts) -> Notation:
    # The other strategies are for columns that need not be numeric.
    if params["strategy"] not in ("mean", "median") or not facts.has_missing:
        return {}
    return {"strategy": ["mean", "median"], "add_indicator": [False, True]}


@known("KNNImputer")
def neighbors_imputer(params: Params, facts: DataFacts) -> Notation:
    if not facts.has_missing:
        return {}
    weights = ["uniform", "distance"]
    return {"n_neighbors": NEIGHBORS(params, facts), "weights": weights}


register(
    *("OneHotEncoder", "OrdinalEncoder"),
    min_frequency=lambda params, facts: Ordinal(
        [None, *counts(2, at_most(50, facts.n_rows, 0.05))]
    ),
    conflicts=[Conflict("min_frequency", "max_categories")],
)
register(
    "KBinsDiscretizer",
    n_bins=UpTo(2, 20, 0.2, scale=()),
    strategy=["uniform", "quantile", "kmeans"],
    conflicts=[
        Conflict("strategy", {"n_bins": is_array}),
        Conflict("strategy", "quantile_method"),
    ],
)


# -- features -------------------------------------------------------------------------


def _degrees(params: Params, facts: DataFacts) -> list[int]:
    few = facts.n_features is not None and facts.n_features <= 15
    return [1, 2, 3] if few else [1, 2]


register(
    "PolynomialFeatures",
    degree=_degrees,
    interaction_only=[False, True],
    conflicts=[Conflict("degree interaction_only", {"degree": is_array})],
)
register(
    "SplineTransformer",
    n_knots=(3, 15),
    degree=[1, 2, 3],
    knots=["uniform", "quantile"],
    conflicts=[
        Conflict("n_knots", {"knots": is_array, "extrapolation": ("periodic",)}),
        Conflict("knots", {"knots": is_array}),
    ],
)


def _width(params: Params, facts: DataFacts) -> Any:
    has_width = params.get("kernel", "rbf") in ("rbf", "laplacian")
    return gamma(facts, params["gamma"]) if has_width else None


def _samples(n_rows: int | None) -> tuple[int, int, str]:
    most = 500 if n_rows is None else at_most(500, n_rows)
    return (min(20, most - 1), most, LOG)


register(
    "Nystroem", n_components=lambda params, facts: _samples(facts.n_rows), gamma=_width
)
register("RBFSampler", n_components=_samples(None), gamma=_width)


def _up_to(high: int, facts: DataFacts, unknown: int = 20) -> int:
    """Return an upper bound for a number of columns that cannot be exceeded."""
    fewest = unknown if facts.fewest_features is None else facts.fewest_features
    return max(1, min(high, fewest))


register(
    "SelectKBest",
    k=lambda params, facts: counts_or(params["k"], 1, _up_to(1000, facts)),
)
register(
    "SelectPercentile",
    # A percentage may select none of a single column.
    percentile=lambda params, facts: (
        None if facts.fewest_features == 1 else (5.0, 100.0)
    ),
)
register(
    "SelectFromModel",
    # None is the mean, or a threshold for coefficients that an l1 penalty has set to 0.
    threshold=Ordinal(["0.1*mean", "0.25*mean", "0.5*mean", None]),
    conflicts=[Conflict("threshold", "max_features")],
)


@known("RFE")
def eliminated_features(params: Params, facts: DataFacts) -> Notation:
    if isinstance(params["n_features_to_select"], int):
        return {"n_features_to_select": (1, _up_to(1000, facts), LOG)}
    columns = facts.fewest_features or 10
    shares = [0.1, 0.2, 0.3, 0.4, None, 0.6, 0.7, 0.8, 0.9]  # None is one half
    feasible = [share for share in shares if share is None or share * columns >= 1.0]
    return {"n_features_to_select": Ordinal(feasible)}


# -- decompositions -------------------------------------------------------------------


def _below_all(notation: Any, facts: DataFacts) -> Any:
    """Return a range of components without the number of all, which "arpack" refuses.

    None is one component less than all.
    """
    limits = (facts.fewest_features, facts.n_rows)
    most = max(1, min([n - 1 for n in limits if n is not None], default=2))
    if isinstance(notation, Ordinal):
        counts = [n for n in notation.values if n is not None and n <= most]
        return Ordinal([*counts, None])
    low, high, *log = notation
    return (min(low, most), min(high, most), *log)


def _principal_components(params: Params, facts: DataFacts) -> Any:
    fractions = params["svd_solver"] in ("auto", "full", "covariance_eigh")
    if isinstance(params["n_components"], int) or not fractions:
        found = components(params, facts, 500)
        return _below_all(found, facts) if params["svd_solver"] == "arpack" else found
    return Ordinal([0.5, 0.7, 0.8, 0.9, 0.95, 0.99, None])  # of the variance


register("PCA", n_components=_principal_components, whiten=[False, True])
register(
    *("IncrementalPCA", "FactorAnalysis", "SparsePCA", "MiniBatchSparsePCA"),
    n_components=partial(components, high=100),
)
register(
    "FastICA",
    n_components=partial(components, high=100),
    conflicts=[Conflict("n_components", {"whiten": (False,)})],
)
register("NeighborhoodComponentsAnalysis", n_components=partial(components, high=50))
register(
    *("NMF", "MiniBatchNMF"),
    n_components=partial(components, high=100),
    alpha_W=Ordinal([0.0, 1e-5, 1e-4, 1e-3, 0.01, 0.1], scale="rank"),
    l1_ratio=(0.0, 1.0),
)
register(
    "LatentDirichletAllocation",
    n_components=(2, 100, LOG),
    learning_decay=lambda params, facts: (
        (0.51, 1.0) if params["learning_method"] == "online" else None
    ),
)


def _columns(
    name: str, high: int, params: Params, facts: DataFacts, unknown: int = 20
) -> Any:
    """Return the numbers of columns of an output, of at least one."""
    most = _up_to(high, facts, unknown)
    if params.get("algorithm") == "arpack":
        most = max(1, most - 1)
    return fitting(params[name], (min(2, most), most, LOG), facts)


register(
    "TruncatedSVD",
    # Many features are unknown after a vectorizer.
    n_components=lambda params, facts: (
        (2, at_most(200, facts.n_rows), LOG)
        if facts.fewest_features is None
        else _columns("n_components", 200, params, facts)
    ),
)
register(
    "FeatureAgglomeration",
    n_clusters=lambda params, facts: _columns("n_clusters", 200, params, facts, 3),
)


@known("KernelPCA", conflicts=[Conflict("kernel", "degree coef0")])
def kernel_principal_components(params: Params, facts: DataFacts) -> Notation:
    high = at_most(200, facts.n_rows)
    space = {"n_components": counts_or(params["n_components"], 2, high)}
    if callable(params["kernel"]) or params["kernel"] == "precomputed":
        return space
    width = {"gamma": gamma(facts, params["gamma"])}
    kernels = {"linear": {}, "rbf": width, "cosine": {}}
    if params["kernel"] in ("poly", "sigmoid"):
        kernels[params["kernel"]] = width
    return {**space, "kernel": Choice(kernels)}


@known("GaussianRandomProjection", "SparseRandomProjection")
def random_projection(params: Params, facts: DataFacts) -> Notation:
    most = _up_to(500, facts)
    bounds = (min(2, most), most, LOG)
    if params["n_components"] != "auto":
        return {"n_components": bounds}
    if facts.fewest_features is None or facts.n_rows is None:
        return {}
    # With few columns, the number that follows from eps exceeds them.
    eps = params["eps"]
    least = 4.0 * math.log(facts.n_rows) / (eps**2 / 2 - eps**3 / 3)
    return {"n_components": Fallback(bounds)} if least > facts.fewest_features else {}


MANIFOLD: Notation = {
    "n_neighbors": UpTo(2, 50, 0.5),
    "n_components": partial(components, high=50),
}
register(
    "Isomap", **MANIFOLD, conflicts=[Conflict("n_neighbors n_components", "radius")]
)
register(
    "LocallyLinearEmbedding",
    **MANIFOLD,
    # These methods need more neighbors than a function of the number of components.
    conflicts=[
        Conflict("n_components", {"method": ("hessian", "modified", "ltsa")}),
        Conflict("n_neighbors", {"method": ("hessian",)}),
    ],
)


# -- texts ----------------------------------------------------------------------------

# Number of documents for which trigrams are cheap.
FEW_DOCUMENTS = 2000


def _ngrams(params: Params, facts: DataFacts) -> list[tuple[int, int]] | None:
    if params["analyzer"] == "word":
        # With many documents, the gain in accuracy does not justify the many trigrams.
        few = (facts.n_rows or 1) <= FEW_DOCUMENTS
        return [(1, 1), (1, 2), *([(1, 3)] if few else [])]
    if params["analyzer"] in ("char", "char_wb"):
        return [(1, 3), (2, 4), (2, 5), (3, 5)]
    return None


def _min_df(params: Params, facts: DataFacts) -> list[int] | None:
    if params.get("vocabulary") is not None or not isinstance(params["min_df"], int):
        return None
    return [1, *counts(2, at_most(20, facts.n_rows, 0.02))]


def _max_df(params: Params, facts: DataFacts) -> tuple[float, float] | None:
    tuned = params["vocabulary"] is None and isinstance(params["max_df"], float)
    least = params["min_df"] if isinstance(params["min_df"], float) else 0.0
    return (max(0.3, least), 1.0) if tuned else None


COUNTED: Notation = {
    "ngram_range": _ngrams,
    "binary": [False, True],
    "min_df": _min_df,
    "max_df": _max_df,
}
TFIDF: Notation = {
    "use_idf": [True, False],
    "sublinear_tf": [False, True],
    "norm": ["l2", "l1"],
}
OF_VOCABULARY = Conflict("ngram_range", "vocabulary")
# Without these weights, their smoothing has no effect.
OF_WEIGHTS = Conflict("use_idf", "smooth_idf")
register("CountVectorizer", **COUNTED, conflicts=[OF_VOCABULARY])
register("TfidfTransformer", **TFIDF, conflicts=[OF_WEIGHTS])
register("TfidfVectorizer", **COUNTED, **TFIDF, conflicts=[OF_VOCABULARY, OF_WEIGHTS])
register(
    "NGramVectorizer",
    package="skbayes",
    ngram_range=_ngrams,
    sublinear_tf=[False, True],
    min_df=_min_df,
    norm=[None, "l2"],
    conflicts=[Conflict("sublinear_tf", {"weighting": ("binary",)})],
)
register(
    "HashingVectorizer",
    ngram_range=_ngrams,
    binary=[False, True],
    alternate_sign=[True, False],
    conflicts=[Conflict("binary alternate_sign", "alternate_sign")],
)


# -- clusters and densities -----------------------------------------------------------

CLUSTERS = UpTo(2, 20, 0.2, scale=())

register(
    *("KMeans", "MiniBatchKMeans", "BisectingKMeans"),
    # The inertia, which is the estimator's own score, decreases with the number of
    # clusters.
    n_clusters=lambda params, facts: (
        None if facts.own_score else CLUSTERS(params, facts)
    ),
    init=["k-means++", "random"],
    conflicts=[
        Conflict("n_clusters", {"init": is_array}),
        Conflict("init", {"init": lambda start: not isinstance(start, str)}),
    ],
)
register(
    "AgglomerativeClustering",
    n_clusters=CLUSTERS,
    linkage=["ward", "complete", "average", "single"],
    conflicts=[
        Conflict("linkage", "metric"),
        Conflict("linkage", {"n_clusters": (None,)}),
    ],
)


@known("SpectralClustering")
def spectral_clustering(params: Params, facts: DataFacts) -> Notation:
    space: Notation = {"n_clusters": CLUSTERS(params, facts)}
    if params["affinity"] in ("rbf", "nearest_neighbors"):
        near = {"n_neighbors": UpTo(2, 50, 0.5)(params, facts)}
        wide = {"gamma": gamma(facts, params["gamma"])}
        space["affinity"] = Choice({"rbf": wide, "nearest_neighbors": near})
    return space


register("Birch", threshold=(0.05, 2.0, LOG), n_clusters=CLUSTERS)


def _radius(params: Params, facts: DataFacts) -> tuple[float, float, str]:
    unit = round((facts.n_features or 1) ** 0.5, 3)
    return (0.05 * unit, 2.0 * unit, LOG)


register("DBSCAN", eps=_radius, min_samples=UpTo(2, 50, 0.2))
register(
    "HDBSCAN",
    min_cluster_size=UpTo(2, 100, 0.2, least=3),
    min_samples=lambda params, facts: Ordinal(
        [*counts(1, at_most(100, facts.n_rows, 0.2)), None]
    ),
)
register(
    "OPTICS",
    min_samples=UpTo(2, 50, 0.2),
    xi=(0.01, 0.3, LOG),
    conflicts=[
        Conflict("xi", "cluster_method"),
        Conflict("xi", {"min_samples": lambda share: isinstance(share, float)}),
    ],
)
register(
    *("GaussianMixture", "BayesianGaussianMixture"),
    n_components=UpTo(1, 20, 0.1, scale=()),
    covariance_type=["full", "tied", "diag", "spherical"],
    reg_covar=(1e-8, 0.1, LOG),
    conflicts=[
        Conflict("n_components", "weights_init means_init precisions_init"),
        Conflict("covariance_type", "precisions_init covariance_prior"),
    ],
)
register(
    "KernelDensity",
    kernel=["gaussian", "tophat", "epanechnikov", "exponential"],
    bandwidth=(0.01, 10.0, LOG),
)


# -- samplers of imbalanced-learn ------------------------------------------------------

# Ratios of the number of rows of the smaller class to the number of the larger one. A
# ratio must exceed the ratio of the data by a margin, because the ratios of folds
# differ.
RATIOS = (0.1, 0.2, 0.3, 0.5, 0.7)
MARGIN = 1.2


def _ratios(params: Params, facts: DataFacts) -> Ordinal | None:
    """Return the ratios of two classes that sampling can reach."""
    own_ratio = params["sampling_strategy"] not in ("auto", None)
    if facts.n_classes != 2 or facts.resampled or own_ratio:
        return None
    ratio = facts.max_nu / (2.0 - facts.max_nu)
    reached = [target for target in RATIOS if target >= MARGIN * ratio]
    return Ordinal([*reached, "auto"]) if reached else None


@dataclass(frozen=True)
class _Within:
    """Numbers of neighbors within the smallest class."""

    name: str
    high: int

    def __call__(self, params: Params, facts: DataFacts) -> Any:
        own, most = params[self.name], self.high
        if facts.smallest_class is not None:
            most = facts.smallest_class - 1
        if not isinstance(own, int | None) or most < 1:
            return None
        bounds = (1, min(self.high, most), LOG)
        return Fallback(bounds) if (own or 1) > most else bounds


sampler = partial(register, package="imblearn")
RATIO: Notation = {"sampling_strategy": _ratios}
SMOTE = {**RATIO, "k_neighbors": _Within("k_neighbors", 20)}
BORDER = {**SMOTE, "m_neighbors": _Within("m_neighbors", 30)}
FEW: Notation = {"n_neighbors": _Within("n_neighbors", 10)}
sampler(
    *("ClusterCentroids", "InstanceHardnessThreshold", "SMOTEENN", "SMOTETomek"),
    **RATIO,
)
sampler("SMOTE", "SMOTENC", "SMOTEN", "KMeansSMOTE", **SMOTE)
sampler("SVMSMOTE", **BORDER)
sampler("BorderlineSMOTE", **BORDER, kind=["borderline-1", "borderline-2"])
sampler("ADASYN", **RATIO, n_neighbors=_Within("n_neighbors", 20))
# Without shrinkage, rows need not be numeric.
sampler("RandomOverSampler", **RATIO, shrinkage=(0.0, 2.0))
sampler("RandomUnderSampler", **RATIO, replacement=[False, True])
sampler("NearMiss", **RATIO, version=[1, 2], n_neighbors=_Within("n_neighbors", 20))
sampler(
    *("EditedNearestNeighbours", "AllKNN", "RepeatedEditedNearestNeighbours"),
    **FEW,
    kind_sel=["all", "mode"],
)
sampler("NeighbourhoodCleaningRule", **FEW, threshold_cleaning=(0.1, 0.9))
