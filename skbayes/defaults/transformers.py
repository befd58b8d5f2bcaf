"""Search spaces of transformers, decompositions and vectorizers."""

from __future__ import annotations

from functools import partial
from typing import Any

from skbayes.defaults.catalog import (
    LOG,
    NEIGHBORS,
    Conflict,
    DataFacts,
    Notation,
    Params,
    UpTo,
    at_most,
    builder_of,
    components,
    counts,
    counts_or,
    fitting,
    gamma,
    is_array,
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
register("TargetEncoder", smooth=Ordinal([0.1, 1.0, 10.0, "auto", 100.0, 1000.0]))
register("SelectFpr", "SelectFdr", "SelectFwe", alpha=(1e-3, 0.5, LOG))
register("Normalizer", norm=["l1", "l2", "max"])
register("VarianceThreshold", threshold=Ordinal([0.0, 1e-4, 1e-3, 0.01], scale="rank"))


# -- imputers and encoders ------------------------------------------------------------


@builder_of("SimpleImputer")
def simple_imputer(params: Params, facts: DataFacts) -> Notation:
    # The other strategies are for columns that need not be numeric.
    if params["strategy"] not in ("mean", "median") or not facts.has_missing:
        return {}
    return {"strategy": ["mean", "median"], "add_indicator": [False, True]}


@builder_of("KNNImputer")
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
    has_few = facts.n_features is not None and facts.n_features <= 15
    return [1, 2, 3] if has_few else [1, 2]


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
    """Return an upper bound for a number of columns, at most the available ones."""
    fewest = unknown if facts.fewest_features is None else facts.fewest_features
    return max(1, min(high, fewest))


register(
    "SelectKBest",
    k=lambda params, facts: counts_or(params["k"], 1, _up_to(1000, facts)),
)
register(
    "SelectPercentile",
    # A percentage of a single column may select no column.
    percentile=lambda params, facts: (
        None if facts.fewest_features == 1 else (5.0, 100.0)
    ),
)
register(
    "SelectFromModel",
    # None means "mean", or with an l1 penalty, a threshold just above 0.
    threshold=Ordinal(["0.1*mean", "0.25*mean", "0.5*mean", None]),
    conflicts=[Conflict("threshold", "max_features")],
)


@builder_of("RFE")
def eliminated_features(params: Params, facts: DataFacts) -> Notation:
    if isinstance(params["n_features_to_select"], int):
        return {"n_features_to_select": (1, _up_to(1000, facts), LOG)}
    columns = facts.fewest_features or 10
    shares = [0.1, 0.2, 0.3, 0.4, None, 0.6, 0.7, 0.8, 0.9]  # None is one half
    feasible = [share for share in shares if share is None or share * columns >= 1.0]
    return {"n_features_to_select": Ordinal(feasible)}


# -- decompositions -------------------------------------------------------------------


def _below_all(notation: Any, facts: DataFacts) -> Any:
    """Return a range of components without the maximum, which "arpack" refuses.

    None stands for one component less than the maximum.
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
        sizes = components(params, facts, 500)
        return _below_all(sizes, facts) if params["svd_solver"] == "arpack" else sizes
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


@builder_of("TruncatedSVD")
def truncated_svd(params: Params, facts: DataFacts) -> Notation:
    if facts.fewest_features is None:  # many features, after a vectorizer
        return {"n_components": (2, at_most(200, facts.n_rows), LOG)}
    most = max(1, _up_to(200, facts) - (params["algorithm"] == "arpack"))
    bounds = (min(2, most), most, LOG)
    return {"n_components": fitting(params["n_components"], bounds, facts)}


@builder_of("KernelPCA", conflicts=[Conflict("kernel", "degree coef0")])
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


# -- texts ----------------------------------------------------------------------------

# Number of documents for which trigrams are cheap.
FEW_DOCUMENTS = 2000


def _ngrams(params: Params, facts: DataFacts) -> list[tuple[int, int]] | None:
    if params["analyzer"] == "word":
        # With many documents, the gain in accuracy does not justify the many trigrams.
        has_few = (facts.n_rows or 1) <= FEW_DOCUMENTS
        return [(1, 1), (1, 2), *([(1, 3)] if has_few else [])]
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
