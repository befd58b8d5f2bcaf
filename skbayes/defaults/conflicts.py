"""Conflicts of default spaces with parameters that the user has set.

No option and no parameter of a default space is refused or without effect beside a
value of the user, or takes away the effect of this value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skbayes.defaults.catalog import KnownClass, Notation, Params
from skbayes.space.lists import same
from skbayes.space.notation import Choice, pairs_of

# Any value other than the default, and any array or list.
ANY, ARRAY = "any", "array"


class Conflict(NamedTuple):
    """Reason why something leaves the default spaces of some classes.

    It is a parameter, or only one of its options. It leaves the space if a parameter of
    `beside` is set to one of its values, or to any value. With `unless`, it leaves the
    space if any parameter is set that is not listed.
    """

    classes: str
    parameter: str
    beside: Mapping[str, Any] = {}
    option: Any = ANY
    unless: str = ""


# Parameters that linear boosters of XGBoost use.
LINEAR = (
    "alpha base_score booster callbacks eta eval_metric feature_selector lambda "
    "learning_rate n_estimators n_jobs nthread objective random_state "
    "reg_alpha reg_lambda scale_pos_weight seed top_k updater validate_parameters "
    "verbosity"
)
# Parameters of dropout, and of linear boosters.
DART = dict.fromkeys(
    ("rate_drop", "one_drop", "skip_drop", "sample_type", "normalize_type"), ANY
)
COORDINATES = {
    **dict.fromkeys(("feature_selector", "top_k"), ANY),
    "updater": ("shotgun", "coord_descent"),
}
XGB = "XGBClassifier XGBRegressor XGBRanker"
LGBM = "LGBMClassifier LGBMRegressor LGBMRanker"
GOSS = dict.fromkeys(("boosting_type", "boosting", "data_sample_strategy"), ("goss",))
BY_CLASS = dict.fromkeys(("pos_bagging_fraction", "neg_bagging_fraction"), ANY)
RANDOM = dict.fromkeys(("boosting_type", "boosting"), ("rf", "random_forest"))
TREES = (
    "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor GradientBoostingClassifier GradientBoostingRegressor"
)
LEAVES = {"min_weight_fraction_leaf": ANY}
STUMPS = {"max_leaf_nodes": (2,)}
FORESTS = (
    "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier "
    "ExtraTreesRegressor"
)
HISTOGRAMS = "HistGradientBoostingClassifier HistGradientBoostingRegressor"
TEXTS = "CountVectorizer TfidfVectorizer"
MIXTURES = "GaussianMixture BayesianGaussianMixture"
CENTERS = "KMeans MiniBatchKMeans BisectingKMeans"

CONFLICTS = [
    Conflict(XGB, "booster", option="gblinear", unless=LINEAR),
    Conflict(XGB, "booster", DART, "gbtree"),
    Conflict(XGB, "booster", DART, "gblinear"),
    Conflict(XGB, "booster", COORDINATES, "gbtree"),
    *(
        Conflict("XGBRFClassifier XGBRFRegressor", name, {"booster": ("gblinear",)})
        for name in ("max_depth", "min_child_weight", "subsample", "colsample_bynode")
    ),
    Conflict(LGBM, "subsample_freq", GOSS | BY_CLASS),
    Conflict(LGBM, "subsample_freq", RANDOM),
    Conflict(LGBM, "learning_rate", RANDOM),
    # At most four leaves, or two.
    Conflict(LGBM, "num_leaves", {"max_depth": (1, 2)}),
    Conflict(HISTOGRAMS, "max_leaf_nodes", {"max_depth": (1, 2)}),
    Conflict(TREES, "max_depth", STUMPS),
    Conflict(TREES, "min_samples_split", STUMPS),
    Conflict(f"{TREES} {FORESTS}", "min_samples_leaf", LEAVES),
    Conflict(TREES, "min_samples_split", LEAVES),
    Conflict(FORESTS, "bootstrap", {"max_samples": ANY}, option=False),
    Conflict(
        "MultinomialNB BernoulliNB CategoricalNB", "fit_prior", {"class_prior": ANY}
    ),
    Conflict("FastICA", "n_components", {"whiten": (False,)}),
    Conflict("KBinsDiscretizer", "strategy", {"quantile_method": ANY}),
    Conflict(
        "SplineTransformer", "n_knots", {"knots": ARRAY, "extrapolation": ("periodic",)}
    ),
    Conflict(TEXTS, "ngram_range", {"vocabulary": ANY}),
    # Without these weights, their smoothing has no effect.
    Conflict("TfidfTransformer TfidfVectorizer", "use_idf", {"smooth_idf": ANY}),
    Conflict("HashingVectorizer", "binary", {"alternate_sign": ANY}),
    Conflict("NGramVectorizer", "sublinear_tf", {"weighting": ("binary",)}),
    # Other losses and kernels do not use these parameters.
    Conflict("SGDClassifier SGDRegressor", "loss", {"epsilon": ANY}),
    Conflict("KernelPCA", "kernel", dict.fromkeys(("degree", "coef0"), ANY)),
    Conflict("SGDRegressor", "eta0", {"learning_rate": ("optimal",)}),
    # These methods need more neighbors than a function of the number of components.
    Conflict(
        "LocallyLinearEmbedding",
        "n_components",
        {"method": ("hessian", "modified", "ltsa")},
    ),
    Conflict("LocallyLinearEmbedding", "n_neighbors", {"method": ("hessian",)}),
    Conflict(CENTERS, "n_clusters", {"init": ARRAY}),
    Conflict(
        MIXTURES,
        "n_components",
        dict.fromkeys(("weights_init", "means_init", "precisions_init"), ANY),
    ),
    Conflict(
        MIXTURES,
        "covariance_type",
        dict.fromkeys(("precisions_init", "covariance_prior"), ANY),
    ),
]


def without_conflicts(
    space: Notation, params: Params, set_by_user: set[str], entry: KnownClass
) -> Notation:
    """Return a default space without what conflicts with parameters of the user.

    An option of a choice also conflicts with a set parameter that exists under the own
    option, but not under this one.
    """
    refused: dict[str, list[Any]] = {}
    for one in CONFLICTS:
        if entry.name in one.classes.split() and _holds(one, params, set_by_user):
            refused.setdefault(one.parameter, []).append(one.option)
    return _filtered(space, params, set_by_user, refused) if set_by_user else space


def _holds(conflict: Conflict, params: Params, set_by_user: set[str]) -> bool:
    if conflict.unless:
        return not set_by_user <= set(conflict.unless.split())
    for name in conflict.beside.keys() & set_by_user:
        values, value = conflict.beside[name], params[name]
        if values == ANY or (
            np.ndim(value) > 0 if values == ARRAY else value in values
        ):
            return True
    return False


def _filtered(
    space: Notation,
    params: Params,
    set_by_user: set[str],
    refused: Mapping[str, list[Any]],
) -> Notation:
    result: Notation = {}
    for name, notation in space.items():
        options = refused.get(name, [])
        if ANY in options:
            continue
        if not isinstance(notation, Choice):
            result[name] = notation
            continue
        pairs = [
            (option, _filtered(sub, params, set_by_user, refused))
            for option, sub in pairs_of(notation)
        ]
        own = [(option, sub) for option, sub in pairs if same(option, params[name])]
        demanded = set_by_user & names_in(own[0][1]) if own else set()
        kept = [
            (option, sub)
            for option, sub in pairs
            if same(option, params[name])
            or (option not in options and demanded <= names_in(sub))
        ]
        if len(kept) == 1:  # not a choice
            result |= kept[0][1]
        elif kept:
            as_dict = isinstance(notation.options, Mapping)
            result[name] = Choice(dict(kept) if as_dict else kept)
    return result


def names_in(space: Notation) -> set[str]:
    """Return the names of the parameters of a space, also under options."""
    below = [
        names_in(sub)
        for notation in space.values()
        if isinstance(notation, Choice)
        for _, sub in pairs_of(notation)
    ]
    return set(space).union(*below)
