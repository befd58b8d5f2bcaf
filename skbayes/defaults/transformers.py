"""Search spaces of transformers, decompositions, vectorizers, clusterers, samplers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from skbayes.defaults.catalog import (
    LOG,
    DataFacts,
    Fallback,
    Notation,
    Params,
    at_most,
    components,
    counts_or,
    fitting,
    gamma,
    known,
    register,
    series,
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
    most = at_most(50, facts.n_rows, 0.5)
    return {"n_neighbors": (1, most, LOG), "weights": ["uniform", "distance"]}


@known("OneHotEncoder", "OrdinalEncoder")
def encoder(params: Params, facts: DataFacts) -> Notation:
    most = at_most(50, facts.n_rows, 0.05)
    if params.get("max_categories") is not None or not _is_count(
        params["min_frequency"]
    ):
        return {}
    return {"min_frequency": Ordinal([None, *_counts(2, most)])}


@known("KBinsDiscretizer")
def bins(params: Params, facts: DataFacts) -> Notation:
    if not isinstance(params["n_bins"], int):
        return {}
    most = at_most(20, facts.n_rows, 0.2)
    return {"n_bins": (2, most), "strategy": ["uniform", "quantile", "kmeans"]}


def _is_count(value: Any) -> bool:
    return value is None or isinstance(value, int)


def _counts(low: int, high: int) -> list[int]:
    return [int(count) for count in series(low, high)]


# -- features -------------------------------------------------------------------------


@known("PolynomialFeatures")
def polynomial_features(params: Params, facts: DataFacts) -> Notation:
    if not isinstance(params["degree"], int):
        return {}
    few = facts.n_features is not None and facts.n_features <= 15
    return {"degree": [1, 2, 3] if few else [1, 2], "interaction_only": [False, True]}


@known("SplineTransformer")
def spline_features(params: Params, facts: DataFacts) -> Notation:
    knots = ["uniform", "quantile"] if isinstance(params["knots"], str) else None
    return {"n_knots": (3, 15), "degree": [1, 2, 3], "knots": knots}


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
    # A percentage of one column may select nothing.
    percentile=lambda params, facts: (
        None if facts.fewest_features == 1 else (5.0, 100.0)
    ),
)


@known("SelectFromModel")
def important_features(params: Params, facts: DataFacts) -> Notation:
    if params["max_features"] is not None:
        return {}
    # None is the mean, or a threshold for coefficients that an l1 penalty has set to 0.
    return {"threshold": Ordinal(["0.1*mean", "0.25*mean", "0.5*mean", None])}


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
    *("IncrementalPCA", "FastICA", "FactorAnalysis", "SparsePCA", "MiniBatchSparsePCA"),
    n_components=partial(components, high=100),
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


@known("TruncatedSVD")
def truncated_svd(params: Params, facts: DataFacts) -> Notation:
    if facts.fewest_features is None:  # many features after a vectorizer
        return {"n_components": (2, at_most(200, facts.n_rows), LOG)}
    most = _up_to(200, facts)
    if params["algorithm"] == "arpack":
        most = max(1, most - 1)
    bounds = (min(2, most), most, LOG)
    return {"n_components": fitting(params["n_components"], bounds, facts)}


@known("KernelPCA")
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


@known("FeatureAgglomeration")
def feature_clusters(params: Params, facts: DataFacts) -> Notation:
    most = _up_to(200, facts, unknown=3)
    bounds = (min(2, most), most, LOG)
    return {"n_clusters": fitting(params["n_clusters"], bounds, facts)}


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


@known("Isomap", "LocallyLinearEmbedding")
def manifold(params: Params, facts: DataFacts) -> Notation:
    if params.get("radius") is not None:
        return {}
    high = at_most(50, facts.n_rows, 0.5)
    n_components = components(params, facts, 50)
    return {"n_neighbors": (2, high, LOG), "n_components": n_components}


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
    return [1, *_counts(2, at_most(20, facts.n_rows, 0.02))]


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
register("CountVectorizer", **COUNTED)
register("TfidfTransformer", **TFIDF)
register("TfidfVectorizer", **COUNTED, **TFIDF)
register(
    "NGramVectorizer",
    package="skbayes",
    ngram_range=_ngrams,
    sublinear_tf=[False, True],
    min_df=_min_df,
    norm=[None, "l2"],
)
register(
    "HashingVectorizer",
    ngram_range=_ngrams,
    binary=[False, True],
    alternate_sign=lambda params, facts: (
        [True, False] if params["alternate_sign"] else None
    ),
)


# -- clusters and densities -----------------------------------------------------------


def _clusters(facts: DataFacts) -> tuple[int, int]:
    return (2, at_most(20, facts.n_rows, 0.2))


@known("KMeans", "MiniBatchKMeans", "BisectingKMeans")
def k_means(params: Params, facts: DataFacts) -> Notation:
    start = ["k-means++", "random"] if isinstance(params["init"], str) else None
    # The inertia, which is the own score, decreases with the number of clusters.
    clusters = None if facts.own_score else _clusters(facts)
    return {"n_clusters": clusters, "init": start}


@known("AgglomerativeClustering")
def agglomerative(params: Params, facts: DataFacts) -> Notation:
    if params["n_clusters"] is None:
        return {}
    linkages = ["ward", "complete", "average", "single"]
    euclidean = params["metric"] in ("euclidean", None)
    return {"n_clusters": _clusters(facts), "linkage": linkages if euclidean else None}


@known("SpectralClustering")
def spectral_clustering(params: Params, facts: DataFacts) -> Notation:
    space: Notation = {"n_clusters": _clusters(facts)}
    if params["affinity"] in ("rbf", "nearest_neighbors"):
        near = {"n_neighbors": (2, at_most(50, facts.n_rows, 0.5), LOG)}
        wide = {"gamma": gamma(facts, params["gamma"])}
        space["affinity"] = Choice({"rbf": wide, "nearest_neighbors": near})
    return space


@known("Birch")
def birch(params: Params, facts: DataFacts) -> Notation:
    clusters = _clusters(facts) if isinstance(params["n_clusters"], int) else None
    return {"threshold": (0.05, 2.0, LOG), "n_clusters": clusters}


@known("DBSCAN")
def dbscan(params: Params, facts: DataFacts) -> Notation:
    unit = round((facts.n_features or 1) ** 0.5, 3)
    high = at_most(50, facts.n_rows, 0.2)
    return {"eps": (0.05 * unit, 2.0 * unit, LOG), "min_samples": (2, high, LOG)}


@known("HDBSCAN")
def hdbscan(params: Params, facts: DataFacts) -> Notation:
    high = at_most(100, facts.n_rows, 0.2)
    counts = Ordinal([*_counts(1, high), None])
    return {"min_cluster_size": (2, max(3, high), LOG), "min_samples": counts}


@known("OPTICS")
def optics(params: Params, facts: DataFacts) -> Notation:
    if not isinstance(params["min_samples"], int):
        return {}
    return {
        "min_samples": (2, at_most(50, facts.n_rows, 0.2), LOG),
        "xi": (0.01, 0.3, LOG) if params["cluster_method"] == "xi" else None,
    }


@known("GaussianMixture", "BayesianGaussianMixture")
def gaussian_mixture(params: Params, facts: DataFacts) -> Notation:
    return {
        "n_components": (1, at_most(20, facts.n_rows, 0.1)),
        "covariance_type": ["full", "tied", "diag", "spherical"],
        "reg_covar": (1e-8, 0.1, LOG),
    }


@known("KernelDensity")
def kernel_density(params: Params, facts: DataFacts) -> Notation:
    own_width = not isinstance(params["bandwidth"], str)
    return {
        "kernel": ["gaussian", "tophat", "epanechnikov", "exponential"],
        "bandwidth": (0.01, 10.0, LOG) if own_width else None,
    }


# -- samplers of imbalanced-learn ------------------------------------------------------

# Ratios of the number of rows of the smaller class to that of the larger one. A ratio
# must exceed that of the data by a margin, because the ratios of folds differ.
RATIOS = (0.1, 0.2, 0.3, 0.5, 0.7)
MARGIN = 1.2


@known("ClusterCentroids", "InstanceHardnessThreshold", package="imblearn")
@known("SMOTEENN", "SMOTETomek", package="imblearn")
def _sampling_strategy(params: Params, facts: DataFacts) -> Notation:
    """Return the ratios of two classes that sampling can reach."""
    own_ratio = params["sampling_strategy"] not in ("auto", None)
    if facts.n_classes != 2 or facts.resampled or own_ratio:
        return {}
    ratio = facts.max_nu / (2.0 - facts.max_nu)
    reached = [target for target in RATIOS if target >= MARGIN * ratio]
    return {"sampling_strategy": Ordinal([*reached, "auto"])} if reached else {}


def _neighbors(name: str, params: Params, facts: DataFacts, high: int) -> Notation:
    """Return numbers of neighbors within the smallest class."""
    most = high if facts.smallest_class is None else facts.smallest_class - 1
    if not isinstance(params[name], int | None) or most < 1:
        return {}
    bounds = (1, min(high, most), LOG)
    return {name: Fallback(bounds) if (params[name] or 1) > most else bounds}


@known("SMOTE", "SMOTENC", "SMOTEN", "KMeansSMOTE", package="imblearn")
def smote(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        **_neighbors("k_neighbors", params, facts, 20),
    }


@known("BorderlineSMOTE", "SVMSMOTE", package="imblearn")
def border_smote(params: Params, facts: DataFacts) -> Notation:
    return {
        **smote(params, facts),
        **_neighbors("m_neighbors", params, facts, 30),
        "kind": ["borderline-1", "borderline-2"] if "kind" in params else None,
    }


@known("ADASYN", package="imblearn")
def adaptive_sampling(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        **_neighbors("n_neighbors", params, facts, 20),
    }


@known("RandomOverSampler", package="imblearn")
def random_over_sampling(params: Params, facts: DataFacts) -> Notation:
    # Without shrinkage, rows need not be numeric.
    numeric = isinstance(params["shrinkage"], int | float)
    shrinkage = (0.0, 2.0) if numeric else None
    return {**_sampling_strategy(params, facts), "shrinkage": shrinkage}


@known("RandomUnderSampler", package="imblearn")
def random_under_sampling(params: Params, facts: DataFacts) -> Notation:
    return {**_sampling_strategy(params, facts), "replacement": [False, True]}


@known("NearMiss", package="imblearn")
def near_miss(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        "version": [1, 2],
        **_neighbors("n_neighbors", params, facts, 20),
    }


@known("EditedNearestNeighbours", "AllKNN", package="imblearn")
@known("RepeatedEditedNearestNeighbours", package="imblearn")
def edited_neighbors(params: Params, facts: DataFacts) -> Notation:
    return {**_neighbors("n_neighbors", params, facts, 10), "kind_sel": ["all", "mode"]}


@known("NeighbourhoodCleaningRule", package="imblearn")
def neighborhood_cleaning(params: Params, facts: DataFacts) -> Notation:
    shares = {"threshold_cleaning": (0.1, 0.9)}
    return {**_neighbors("n_neighbors", params, facts, 10), **shares}
