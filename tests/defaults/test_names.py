"""Names and types of parameters in search spaces."""

import re
from itertools import cycle

import numpy as np
import pytest
from default_spaces import estimators
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.defaults import default_space
from skbayes.defaults.catalog import DataFacts
from skbayes.defaults.for_search import resolved_spaces
from skbayes.defaults.names import number_types, set_parameters
from skbayes.defaults.parts import parts_of, space_of
from skbayes.search._configurations import check_names, check_values
from skbayes.space import Choice, Integer, Real, Space
from skbayes.trial.fold import configured

X = np.random.default_rng(0).normal(size=(30, 2))
y = np.arange(30) % 2


def _check(estimator, notation):
    """Run the checks of a search before the first fit."""
    space = Space.from_notation(notation)
    sample = space.covering_sample()
    models = [configured(estimator, params) for params in sample]
    check_names(estimator, sample, models)
    check_values(space, sample, models)


def _boosting(package, **params):
    module = pytest.importorskip(package)
    names = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
    return getattr(module, f"{names[package]}Classifier")(**params)


def _model(estimator):
    return _boosting(estimator) if isinstance(estimator, str) else estimator


WRAPPED = {
    "alone": ("", lambda one: one),
    "pipeline": (
        "model__",
        lambda one: Pipeline([("s", "passthrough"), ("model", one)]),
    ),
    "meta-estimator": ("estimator__", OneVsRestClassifier),
    "nested": (
        "b__estimator__",
        lambda one: Pipeline([("b", BaggingClassifier(one, n_estimators=2))]),
    ),
}


def in_places(names, cases):
    """Parametrize by cases, each in one of the places."""
    places = [(*one, place) for one, place in zip(cases, cycle(WRAPPED), strict=False)]
    return pytest.mark.parametrize((*names.split(), "place"), places)


MISSPELLED = [
    ("lightgbm", "num_leafs", "num_leaves"),
    ("lightgbm", "colsample_by_tree", "colsample_bytree"),
    ("lightgbm", "lamda_l1", "lambda_l1"),
    ("lightgbm", "bagging_fractions", "bagging_fraction"),
    ("lightgbm", "min_data_in_leafs", "min_data_in_leaf"),
    ("xgboost", "max_dept", "max_depth"),
    ("xgboost", "learning_rat", "learning_rate"),
    ("xgboost", "sub_sample", "subsample"),
    ("xgboost", "etaa", "eta"),
]


@in_places("package name meant", MISSPELLED)
def test_a_name_that_is_close_to_a_parameter_gets_a_warning(
    package, name, meant, place
):
    prefix, wrap = WRAPPED[place]
    estimator = wrap(_boosting(package))
    with pytest.warns(UserWarning, match=f"'{prefix}{name}'.*mean '{prefix}{meant}'"):
        _check(estimator, {f"{prefix}{name}": [2, 30]})
    choice = Choice({5: {}, 9: {f"{prefix}{name}": [2, 30]}})
    with pytest.warns(UserWarning, match=f"'{prefix}{name}'"):
        _check(estimator, {f"{prefix}n_estimators": choice})
    logistic = LogisticRegression()
    models = [{"m": [logistic], "m__C": [1.0, 2.0]}]
    models.append({"m": [estimator], f"m__{prefix}{name}": [2, 30]})
    with pytest.warns(UserWarning, match=f"'m__{prefix}{name}'"):
        _check(Pipeline([("m", logistic)]), models)
    # A name that the user has set is known.
    model = wrap(_boosting(package, **{name: 2}))
    _check(model, {f"{prefix}{name}": [2, 30]})


def test_unknown_names_that_catboost_refuses_are_an_error():
    with pytest.raises(ValueError, match="'dept'.*Did you mean 'depth'"):
        _check(_boosting("catboost"), {"dept": [2, 3]})
    with pytest.raises(ValueError, match="Did you mean 'estimator__depth'"):
        _check(OneVsRestClassifier(_boosting("catboost")), {"estimator__dept": [2, 3]})


NATIVE = {
    "lightgbm": "max_bin path_smooth extra_trees cat_smooth cat_l2 linear_lambda "
    "top_rate other_rate min_data_in_bin max_cat_threshold skip_drop max_drop "
    "neg_bagging_fraction feature_fraction_bynode num_class cegb_tradeoff is_unbalance "
    "pos_subsample num_threads",
    "xgboost": "rate_drop one_drop skip_drop normalize_type sample_type updater top_k "
    "tweedie_variance_power quantile_alpha huber_slope seed nthread num_class alpha "
    "refresh_leaf process_type max_cached_hist_node eta",
    "catboost": "bagging_temperature model_size_reg one_hot_max_size rsm",
}


# Parameters that are whole numbers, for which a pair of integers is right.
WHOLE = {
    "xgboost": "max_depth n_estimators max_leaves max_bin num_parallel_tree",
    "catboost": "depth iterations max_depth n_estimators border_count max_leaves",
    "lightgbm": "num_leaves n_estimators max_depth min_data_in_leaf max_bin",
}


@pytest.mark.parametrize("names, values", [(NATIVE, [0.25, 0.5]), (WHOLE, (2, 5))])
@pytest.mark.parametrize("package", NATIVE)
def test_native_names_are_accepted_in_silence(package, names, values, recwarn):
    for name in names[package].split():
        _check(_boosting(package), {name: values})
        assert not recwarn, name


PAIRS = [
    ("lightgbm", "feature_fraction", "colsample_bytree"),
    ("lightgbm", "min_data_in_leaf", "min_child_samples"),
    ("lightgbm", "lambda_l2", "reg_lambda"),
    ("xgboost", "eta", "learning_rate"),
    ("xgboost", "alpha", "reg_alpha"),
    ("xgboost", "min_split_loss", "gamma"),
    ("catboost", "max_depth", "depth"),
    ("catboost", "n_estimators", "iterations"),
    ("catboost", "num_trees", "n_estimators"),
]


@in_places("package first second", PAIRS)
def test_two_names_of_one_parameter_are_refused(package, first, second, place):
    prefix, wrap = WRAPPED[place]
    for name, other in ((first, second), (second, first)):
        estimator = wrap(_boosting(package, **{name: 3}))
        with pytest.raises(ValueError, match=f"'{prefix}{other}'.*'{prefix}{name}' is"):
            _check(estimator, {f"{prefix}{other}": [2, 4]})
        option = Choice([(estimator, {f"m__{prefix}{other}": [2, 4]})])
        with pytest.raises(ValueError, match="two names of one parameter"):
            _check(Pipeline([("m", LogisticRegression())]), {"m": option})
        _check(wrap(_boosting(package, **{name: 3})), {f"{prefix}{name}": [2, 4]})
    both = {f"{prefix}{first}": [2, 4], f"{prefix}{second}": [2, 4]}
    with pytest.raises(ValueError, match="' also: these are two names of one"):
        _check(wrap(_boosting(package)), both)
    # In different configurations, each has its own name.
    _check(wrap(_boosting(package)), [{name: both[name]} for name in both])


def test_an_integer_that_equals_the_default_is_not_set():
    boosting = _boosting("lightgbm", reg_alpha=0, subsample=1, subsample_freq=0)
    _check(boosting, {"lambda_l1": [0.0, 1.0], "bagging_fraction": [0.5, 1.0]})
    forest = RandomForestRegressor(max_features=1)
    assert set_parameters(forest) == {"max_features"}


@pytest.mark.parametrize("name", ["num_leaf", "eta", "sub_feature", "max_leaf_nodes"])
def test_names_that_lightgbm_ignores_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}', which LGBMClassifier ignores"):
        _check(_boosting("lightgbm"), {name: [2, 4]})


@in_places(
    "package alias value name",
    [
        ("lightgbm", "feature_fraction", 0.5, "colsample_bytree"),
        ("lightgbm", "bagging_fraction", 0.5, "subsample"),
        ("lightgbm", "num_trees", 7, "n_estimators"),
        ("xgboost", "eta", 0.7, "learning_rate"),
        ("xgboost", "lambda", 0.7, "reg_lambda"),
        ("catboost", "max_depth", 3, "depth"),
        ("catboost", "eta", 0.2, "learning_rate"),
    ],
)
def test_the_default_space_has_the_name_that_is_set(package, alias, value, name, place):
    prefix, wrap = WRAPPED[place]
    estimator = wrap(_boosting(package, **{alias: value}))
    space = default_space(estimator, X, y)
    assert f"'{prefix}{name}'" not in repr(dict(space)).replace('"', "'")
    assert f"{prefix}{alias}" in repr(dict(space))
    _check(estimator, dict(space))


@pytest.mark.parametrize(("package", "first", "second"), PAIRS)
def test_an_entry_takes_the_place_of_its_other_name(package, first, second):
    estimator = _boosting(package)
    for name, other in ((first, second), (second, first)):
        search = BayesSearchCV(estimator, {"auto": True, name: [2, 4]})
        spaces, _, _ = resolved_spaces(search._settings(), X, y)
        assert f"'{name}'" in repr(spaces).replace('"', "'")
        assert f"'{other}'" not in repr(spaces).replace('"', "'")
        _check(estimator, spaces)


def test_a_search_checks_names_before_the_first_fit():
    boosting = _boosting("lightgbm", colsample_bytree=0.5, verbose=-1, n_estimators=1)
    space = {"feature_fraction": [0.25, 0.5]}
    search = BayesSearchCV(boosting, space, n_iter=2, cv=2)
    with pytest.raises(ValueError, match="two names of one parameter"):
        search.fit(X, y)
    assert not hasattr(search, "trials_")
    search.set_params(search_spaces={"num_leafs": [2, 3], "reg_alpha": (0, 1)})
    with pytest.warns(UserWarning) as caught:
        search.fit(X, y)
    texts = " ".join(str(one.message) for one in caught)
    assert "Did you mean 'num_leaves'" in texts and "only integers" in texts


# -- types of numbers ------------------------------------------------------------------


class Own(ClassifierMixin, BaseEstimator):
    """Estimator with parameters of several types."""

    def __init__(
        self,
        real: float = 1,
        optional: "float | None" = None,
        whole: int | None = None,
        either: int | float = 1,
        alpha: int | float = 1,
        default=0.5,
        three=3,
        unknown=None,
        one=1,
        zero=0,
        n_parts=None,
        max_depth=None,
        flag=False,
    ):
        for name, value in list(locals().items()):
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def fit(self, X, y):
        return self


class Child(Own):
    def __init__(self, values=None, **kwargs):
        super().__init__(**kwargs)
        self.values = values


# An estimator, its parameters, and why integers are probably not meant.
TYPES = [
    (Own(), "real optional default", "accepts any real number"),
    (Own(), "unknown one zero", "does not declare a type"),
    (Own(), "whole either three n_parts max_depth flag", None),
    ("xgboost", "gamma subsample eta reg_alpha", "only integers"),
    ("catboost", "subsample rsm l2_leaf_reg", "only integers"),
    ("lightgbm", "subsample feature_fraction", "only integers"),
]
ONE_BY_ONE = [(one, name, why) for one, names, why in TYPES for name in names.split()]


@in_places("estimator name why", ONE_BY_ONE)
def test_integers_as_bounds_of_a_real_parameter_get_a_warning(
    estimator, name, why, place
):
    prefix, wrap = WRAPPED[place]
    model, full = wrap(_model(estimator)), prefix + name
    if why is None:
        _check(model, {full: (0, 1)})
        return
    with pytest.warns(UserWarning, match=rf"{full}'.*{why}.*\(0\.0, 1\.0\)"):
        _check(model, {full: (0, 1)})
    _check(model, {full: Integer(0, 1)})
    _check(model, {full: (0.0, 1.0)})


def test_types_are_found_behind_keywords():
    assert number_types(Child(), "real") == number_types(Own(), "real")
    assert number_types(Child(), "values") == set()


# -- long uniform ranges ---------------------------------------------------------------


LONG = [
    (SVC(), "gamma", (1e-5, 1.0)),
    (SVC(), "tol", (1e-5, 0.1)),
    ("lightgbm", "lambda_l1", (1e-3, 10.0)),
    ("xgboost", "eta", (1e-3, 0.5)),
    ("xgboost", "min_split_loss", (1e-3, 10.0)),
]
NOT_LONG = [
    (SVC(), {"C": (0.1, 10.0)}),
    (SVC(), {"C": (0.1, 1e3, "uniform")}),
    (SVC(), {"C": (0.1, 1e3, "log-uniform")}),
    (SVC(), {"C": Real(0.1, 1e3)}),
    (SVC(), {"C": uniform(0.1, 1e3)}),
    (SVC(), {"coef0": (1e-3, 1.0)}),
    (SGDClassifier(), {"l1_ratio": (1e-3, 1.0)}),
    (DecisionTreeClassifier(), {"min_samples_leaf": (1e-4, 0.5)}),
    (HistGradientBoostingClassifier(), {"max_iter": (1, 500)}),
    ("lightgbm", {"num_leaves": (2, 500), "subsample": (1e-3, 1.0)}),
]


@in_places("estimator name pair", LONG)
def test_a_long_uniform_range_of_a_scale_gets_a_warning(estimator, name, pair, place):
    prefix, wrap = WRAPPED[place]
    low, high = pair
    right = re.escape(f"Write ({low}, {high}, 'log-uniform'), or ({low}, {high}, 'un")
    with pytest.warns(UserWarning, match=f"'{prefix}{name}': .* is uniform.*{right}"):
        _check(wrap(_model(estimator)), {f"{prefix}{name}": pair})


@pytest.mark.parametrize(("estimator", "space"), NOT_LONG)
def test_other_ranges_get_no_warning(estimator, space):
    _check(_model(estimator), space)


def test_a_long_range_of_integers_gets_one_warning_with_the_range_to_write():
    right = re.escape("Write (1.0, 1000.0, 'log-uniform'), or Integer(1, 1000)")
    with pytest.warns(UserWarning, match=right) as caught:
        _check(SVC(), {"C": (1, 1000)})
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=re.escape("Write (1, 1000, 'log-uniform')")):
        _check(Own(), {"either": (1, 9), "alpha": (1, 1000)})


def _scales():
    """Yield the real parameters whose default spaces are long and logarithmic."""
    for _, estimator in estimators():
        for name, notation in space_of(parts_of(estimator, DataFacts.of(X, y))).items():
            is_log = isinstance(notation, tuple) and len(notation) == 3
            values = notation if is_log else getattr(notation, "values", ())
            ends = [value for value in values if type(value) is float and value > 0]
            if ends and max(ends) > 100 * min(ends):
                yield estimator, name, (min(ends), max(ends))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_each_scale_of_the_default_spaces_gets_the_warning():
    scales = list(_scales())
    assert len({name for _, name, _ in scales}) > 10
    for estimator, name, pair in scales:
        with pytest.warns(UserWarning, match=f"{name}'.* is uniform"):
            _check(estimator, {name: pair})
