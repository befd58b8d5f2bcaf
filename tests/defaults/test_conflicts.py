"""Default spaces beside parameters that the user has set."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import all_estimators

from skbayes import BayesSearchCV
from skbayes.defaults import default_space
from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.conflicts import names_in
from skbayes.defaults.parts import parts_of, space_of
from skbayes.space import Choice, Space
from skbayes.space.notation import pairs_of

SKLEARN = dict(all_estimators())
X, y = load_iris(return_X_y=True)
X, y = X[50::2], (y[50::2] > 1).astype(int)
KNOTS = np.linspace(X.min(axis=0), X.max(axis=0), 5)


def _make(name, **params):
    if name in SKLEARN:
        return SKLEARN[name](**params)
    package = "xgboost" if name.startswith("XGB") else "lightgbm"
    module = pytest.importorskip(package)
    quiet = {"n_jobs": 1} | ({"verbose": -1} if package == "lightgbm" else {})
    return getattr(module, name)(**{"n_estimators": 3, **quiet, **params})


def _space(estimator):
    return space_of(parts_of(estimator, DataFacts.of(X, y)))


def _options(space, name):
    if name not in names_in(space):
        return []
    found = space.get(name)
    return found.dimension.values if isinstance(found, Choice) else [found]


# Parameters of trees, which leave no linear booster.
OF_TREES = [
    {"monotone_constraints": (1, 0, 0, 0)},
    {"monotone_constraints": "(1,0,0,0)"},
    {"interaction_constraints": "[[0, 1], [2, 3]]"},
    *({"max_depth": 3}, {"max_leaves": 4}, {"subsample": 0.5}, {"gamma": 0.5}),
    *({"tree_method": "exact"}, {"grow_policy": "lossguide"}, {"max_bin": 8}),
    *({"min_split_loss": 0.5}, {"num_parallel_tree": 2}, {"enable_categorical": True}),
    *({"colsample_bynode": 0.5}, {"max_delta_step": 1.0}, {"importance_type": "gain"}),
]


# Class, set parameters, searched parameter, and the options that are left.
LEFT = [
    ("RandomForestClassifier", {"max_samples": 0.5}, "bootstrap", []),
    ("RandomForestRegressor", {"max_samples": 20}, "bootstrap", []),
    ("ExtraTreesClassifier", {"max_samples": 9, "bootstrap": True}, "bootstrap", []),
    *(("XGBRegressor", params, "booster", []) for params in OF_TREES),
    ("XGBRegressor", {"reg_alpha": 0.5}, "booster", ["gbtree", "gblinear"]),
    ("XGBRegressor", {"booster": "dart", "rate_drop": 0.5}, "booster", []),
    ("XGBRegressor", {"booster": "dart"}, "booster", ["gbtree", "gblinear", "dart"]),
    (
        *("XGBRegressor", {"booster": "gblinear", "feature_selector": "cyclic"}),
        *("booster", []),
    ),
    *(
        ("LGBMClassifier", params, "subsample", [])
        for params in (
            {"boosting_type": "goss"},
            {"data_sample_strategy": "goss"},
            {"boosting": "goss"},
            {"pos_bagging_fraction": 0.5, "neg_bagging_fraction": 0.5},
            {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        )
    ),
    ("LGBMClassifier", {"subsample": 0.5, "subsample_freq": 1}, "subsample_freq", []),
    ("LGBMRegressor", {"boosting_type": "rf"}, "learning_rate", []),
    ("LGBMRegressor", {"max_depth": 2}, "num_leaves", []),
    ("HistGradientBoostingClassifier", {"max_depth": 2}, "max_leaf_nodes", []),
    ("DecisionTreeClassifier", {"max_leaf_nodes": 2}, "max_depth", []),
    ("LinearSVC", {"penalty": "l1"}, "loss", []),
    ("SVC", {"gamma": 0.1}, "kernel", ["rbf", "poly"]),
    (
        *("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": 0.5}),
        *("solver", []),
    ),
    ("BernoulliNB", {"class_prior": [0.5, 0.5]}, "fit_prior", []),
    ("FastICA", {"whiten": False}, "n_components", []),
    ("SplineTransformer", {"knots": KNOTS}, "n_knots", []),
    ("SplineTransformer", {"extrapolation": "periodic"}, "n_knots", []),
    ("TfidfVectorizer", {"vocabulary": ["aa"]}, "ngram_range", []),
    ("TfidfVectorizer", {"smooth_idf": False}, "use_idf", []),
    ("HashingVectorizer", {"alternate_sign": False}, "binary", []),
    ("SGDClassifier", {"penalty": "elasticnet", "l1_ratio": 0.5}, "penalty", []),
    ("SGDClassifier", {"loss": "huber", "epsilon": 0.3}, "loss", []),
    ("SGDRegressor", {"loss": "huber", "epsilon": 0.3}, "loss", []),
    ("KernelPCA", {"kernel": "poly", "degree": 2}, "kernel", []),
    ("KernelPCA", {"kernel": "poly", "coef0": 2.0}, "kernel", []),
    ("KernelPCA", {"kernel": "poly", "gamma": 0.2}, "kernel", ["rbf", "poly"]),
]


@pytest.mark.parametrize(
    ("name", "params", "searched", "left"), LEFT, ids=lambda one: str(one)[:30]
)
def test_what_conflicts_with_a_set_parameter_is_not_searched(
    name, params, searched, left
):
    estimator = _make(name, **params)
    steps = Pipeline([("m", estimator)])
    bagging = BaggingClassifier(estimator)
    for prefix, one in (("", estimator), ("m__", steps), ("estimator__", bagging)):
        assert list(_options(_space(one), prefix + searched)) == left
    data = ["aa bb", "aa cc"] * 20 if "Vectorizer" in name else X
    plain = clone(estimator).set_params(n_components=2) if name == "FastICA" else None
    for config in Space.from_notation(_space(estimator)).covering_sample():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(plain or estimator).set_params(**config).fit(data, y[: len(data)])


@pytest.mark.parametrize(
    ("n_rows", "own"), [(30, 1), (30, 2), (30, 3), (30, None), (3, 1), (3, 2)]
)
def test_components_of_arpack_are_fewer_than_all(own, n_rows):
    rows = X[:: len(X) // n_rows][:n_rows]
    pca = SKLEARN["PCA"](svd_solver="arpack", n_components=own)
    space = space_of(parts_of(pca, DataFacts.of(rows, np.arange(n_rows) % 2)))
    for config in Space.from_notation(space).covering_sample():
        fitted = clone(pca).set_params(**config).fit(rows)
        assert fitted.n_components_ < min(rows.shape)


def test_the_space_of_defaults_has_all_options():
    for name, params, searched, _ in LEFT:
        default = _space(_make(name))
        assert searched in names_in(default) or "solver" in params, name


def test_words_may_be_as_frequent_as_they_must_be():
    vectorizer = SKLEARN["CountVectorizer"](min_df=0.5)
    assert default_space(vectorizer)["max_df"] == (0.5, 1.0)


def test_an_option_of_a_step_keeps_what_its_estimator_demands():
    forest = SKLEARN["RandomForestClassifier"](max_samples=0.5)
    steps = Pipeline([("m", SKLEARN["GaussianNB"]())])
    space = default_space(steps, X, y) | {"m": [SKLEARN["GaussianNB"](), forest]}
    opened = dict((type(o).__name__, sub) for o, sub in pairs_of(space["m"]))
    assert "m__bootstrap" not in names_in(opened["RandomForestClassifier"])
    assert "m__max_samples" in opened["RandomForestClassifier"]


def test_a_monotonic_constraint_holds_in_the_best_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = -2.0 * X[:, 0] + X[:, 1]
    estimator = _make("XGBRegressor", monotone_constraints=(1, 0, 0))
    search = BayesSearchCV(estimator, "auto", n_iter=6, cv=2, random_state=0).fit(X, y)
    rows = np.zeros((20, 3))
    rows[:, 0] = np.linspace(-3.0, 3.0, 20)
    assert np.all(np.diff(search.predict(rows)) >= 0.0)


OF_LIGHTGBM: list[dict] = [
    {"is_unbalance": True},
    {"scale_pos_weight": 5.0},
    {"boosting": "rf"},
    {"boosting": "goss"},
    {"pos_bagging_fraction": 0.5},
    {"neg_bagging_fraction": 0.5},
    {"max_depth": 2},
    {"data_sample_strategy": "goss"},
]


@pytest.mark.parametrize("params", OF_LIGHTGBM, ids=str)
def test_all_names_of_a_parameter_of_lightgbm_have_the_same_conflicts(params):
    lightgbm = pytest.importorskip("lightgbm")
    rare = np.arange(60) % 8 == 0
    (name, value), rows = *params.items(), np.zeros((60, 2))
    table = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    plain = default_space(lightgbm.LGBMClassifier(), rows, rare)
    spaces = [
        names_in(default_space(lightgbm.LGBMClassifier(**{alias: value}), rows, rare))
        for alias in {name, *table[name]}
    ]
    assert all(space == spaces[0] for space in spaces)
    assert spaces[0] < names_in(plain)


@pytest.mark.parametrize(
    "params", [{"is_unbalance": False}, {"scale_pos_weight": 1.0}], ids=str
)
def test_weights_of_one_are_not_weights(params):
    rare = np.arange(60) % 8 == 0
    estimator = _make("LGBMClassifier", **params)
    assert "class_weight" in default_space(estimator, np.zeros((60, 2)), rare)


def test_an_own_value_of_another_type_is_not_listed_beside_a_single_count():
    """The data allow one count only, which the range of counts then consists of."""
    facts = DataFacts(n_rows=6, n_features=2, fewest_features=2)
    space = space_of(parts_of(SKLEARN["KBinsDiscretizer"](n_bins=[2, 3]), facts))
    assert "n_bins" not in space


def test_conflicts_have_one_condition():
    for entry in CATALOG.values():
        for conflict in entry.conflicts:
            assert bool(conflict.unless) != bool(conflict.beside)
