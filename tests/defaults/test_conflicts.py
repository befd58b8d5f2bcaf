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
from skbayes.defaults.catalog import DataFacts
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
    params = {"n_estimators": 3, "n_jobs": 1, **params}
    return getattr(pytest.importorskip(package), name)(**params)


def _space(estimator):
    return space_of(parts_of(estimator, DataFacts.of(X, y)))


def _options(space, name):
    if name not in names_in(space):
        return []
    entry = space.get(name)
    return entry.dimension.values if isinstance(entry, Choice) else [entry]


TF_IDF, XGB, LGBM = "TfidfVectorizer", "XGBRegressor", "LGBMClassifier"
# Class, searched parameter, and sets of parameters that leave no options of it.
NONE_LEFT: list[tuple[str, str, list[dict]]] = [
    ("RandomForestClassifier", "bootstrap", [{"max_samples": 0.5}]),
    ("RandomForestRegressor", "bootstrap", [{"max_samples": 20}]),
    ("ExtraTreesClassifier", "bootstrap", [{"max_samples": 9, "bootstrap": True}]),
    (XGB, "booster", [{"monotone_constraints": (1, 0, 0, 0)}, {"max_bin": 8},
                      {"interaction_constraints": "[[0, 1], [2, 3]]"},
                      {"tree_method": "exact"}, {"min_split_loss": 0.5},
                      {"booster": "dart", "rate_drop": 0.5},
                      {"booster": "gblinear", "feature_selector": "cyclic"}]),
    (LGBM, "subsample", [{"boosting_type": "rf", "subsample": 0.5,
                          "subsample_freq": 1}]),
    (LGBM, "subsample_freq", [{"subsample": 0.5, "subsample_freq": 1}]),
    ("LGBMRegressor", "learning_rate", [{"boosting_type": "rf"}]),
    ("HistGradientBoostingClassifier", "max_leaf_nodes", [{"max_depth": 2}]),
    ("DecisionTreeClassifier", "max_depth", [{"max_leaf_nodes": 2}]),
    ("LinearSVC", "loss", [{"penalty": "l1"}]),
    ("LinearDiscriminantAnalysis", "solver", [{"solver": "lsqr", "shrinkage": 0.5}]),
    ("BernoulliNB", "fit_prior", [{"class_prior": [0.5, 0.5]}]),
    ("FastICA", "n_components", [{"whiten": False}]),
    ("SplineTransformer", "n_knots", [{"knots": KNOTS}, {"extrapolation": "periodic"}]),
    (TF_IDF, "ngram_range", [{"vocabulary": ["aa"]}]),
    (TF_IDF, "use_idf", [{"smooth_idf": False}]),
    ("HashingVectorizer", "binary", [{"alternate_sign": False}]),
    ("SGDClassifier", "penalty", [{"penalty": "elasticnet", "l1_ratio": 0.5}]),
    ("SGDClassifier", "loss", [{"loss": "huber", "epsilon": 0.3}]),
    ("SGDRegressor", "loss", [{"loss": "huber", "epsilon": 0.3}]),
    ("KernelPCA", "kernel", [{"kernel": "poly", "degree": 2},
                             {"kernel": "poly", "coef0": 2.0}]),
]  # fmt: skip
OPTIONS = [(name, one, params, []) for name, one, sets in NONE_LEFT for params in sets]
OPTIONS += [
    (XGB, "booster", {"reg_alpha": 0.5}, ["gbtree", "gblinear"]),
    (XGB, "booster", {"booster": "dart"}, ["gbtree", "gblinear", "dart"]),
    ("SVC", "kernel", {"gamma": 0.1}, ["rbf", "poly"]),
    ("KernelPCA", "kernel", {"kernel": "poly", "gamma": 0.2}, ["rbf", "poly"]),
]


@pytest.mark.parametrize(
    ("name", "searched", "params", "options"), OPTIONS, ids=lambda one: str(one)[:30]
)
def test_entries_that_conflict_with_a_set_parameter_are_removed(
    name, searched, params, options
):
    default = _space(_make(name))
    assert searched in names_in(default) or "solver" in params
    estimator = _make(name, **params)
    steps = Pipeline([("m", estimator)])
    bagging = BaggingClassifier(estimator)
    for prefix, one in (("", estimator), ("m__", steps), ("estimator__", bagging)):
        assert list(_options(_space(one), prefix + searched)) == options
    data = ["aa bb", "aa cc"] * 20 if "Vectorizer" in name else X
    plain = clone(estimator).set_params(n_components=2) if name == "FastICA" else None
    for config in Space.from_notation(_space(estimator)).covering_sample():
        with warnings.catch_warnings(action="ignore"):
            clone(plain or estimator).set_params(**config).fit(data, y[: len(data)])


@pytest.mark.parametrize(
    ("n_rows", "n_components"), [(30, 1), (30, 2), (30, 3), (30, None), (3, 1), (3, 2)]
)
def test_components_of_arpack_are_fewer_than_all(n_components, n_rows):
    rows = X[:: len(X) // n_rows][:n_rows]
    pca = SKLEARN["PCA"](svd_solver="arpack", n_components=n_components)
    space = space_of(parts_of(pca, DataFacts.of(rows, np.arange(n_rows) % 2)))
    for config in Space.from_notation(space).covering_sample():
        fitted = clone(pca).set_params(**config).fit(rows)
        assert fitted.n_components_ < min(rows.shape)


def test_bounds_depend_on_the_current_values():
    # Words may be as frequent as they must be.
    vectorizer = SKLEARN["CountVectorizer"](min_df=0.5)
    assert default_space(vectorizer)["max_df"] == (0.5, 1.0)
    # A range of one count is not listed beside a value of another type.
    facts = DataFacts(n_rows=6, n_features=2, fewest_features=2)
    space = space_of(parts_of(SKLEARN["KBinsDiscretizer"](n_bins=[2, 3]), facts))
    assert "n_bins" not in space
    assert "strategy" in default_space(SKLEARN["KBinsDiscretizer"](n_bins=7))


def test_an_option_of_a_step_keeps_what_its_estimator_demands():
    forest = SKLEARN["RandomForestClassifier"](max_samples=0.5)
    steps = Pipeline([("m", SKLEARN["GaussianNB"]())])
    space = default_space(steps, X, y) | {"m": [SKLEARN["GaussianNB"](), forest]}
    opened = dict((type(o).__name__, sub) for o, sub in pairs_of(space["m"]))
    assert "m__bootstrap" not in names_in(opened["RandomForestClassifier"])
    assert "m__max_samples" in opened["RandomForestClassifier"]


def test_a_monotonic_constraint_holds_in_the_best_model():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = -2.0 * X[:, 0] + X[:, 1]
    estimator = _make("XGBRegressor", monotone_constraints=(1, 0, 0))
    search = BayesSearchCV(estimator, "auto", n_iter=6, cv=2, random_state=0).fit(X, y)
    rows = np.linspace(-3.0, 3.0, 20)[:, None] * [1.0, 0.0, 0.0]
    assert np.all(np.diff(search.predict(rows)) >= 0.0)


# A parameter and its value, and one that is not searched beside it.
OF_LIGHTGBM = [
    ("is_unbalance", True, "class_weight"),
    ("scale_pos_weight", 5.0, "class_weight"),
    ("boosting", "rf", "learning_rate"),
    ("boosting", "goss", "subsample"),
    ("pos_bagging_fraction", 0.5, "subsample"),
    ("neg_bagging_fraction", 0.5, "subsample"),
    ("max_depth", 2, "num_leaves"),
    ("data_sample_strategy", "goss", "subsample"),
]


@pytest.mark.parametrize(("name", "value", "dropped"), OF_LIGHTGBM)
def test_all_names_of_a_parameter_of_lightgbm_have_the_same_conflicts(
    name, value, dropped
):
    lightgbm = pytest.importorskip("lightgbm")
    rare, rows = np.arange(60) % 8 == 0, np.zeros((60, 2))

    def names_with(**params):
        return names_in(default_space(lightgbm.LGBMClassifier(**params), rows, rare))

    table = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    spaces = [names_with(**{alias: value}) for alias in {name, *table[name]}]
    assert all(space == spaces[0] for space in spaces)
    assert spaces[0] < names_with() and dropped in names_with() - spaces[0]
    # Weights of one are not weights.
    for weights in ({"is_unbalance": False}, {"scale_pos_weight": 1.0}):
        assert "class_weight" in names_with(**weights)
