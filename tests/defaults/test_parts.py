"""Parts of composed estimators."""

import numpy as np
import pytest
from scipy import sparse
from simple_estimators import Unknown
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.defaults import default_space
from skbayes.defaults.catalog import DataFacts
from skbayes.defaults.default import unknown_parts
from skbayes.defaults.parts import parts_of
from skbayes.space import Space
from skbayes.utils.estimators import owner_of

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 5)), np.arange(60) % 2
LEARNER = LogisticRegression()
WITH_ONE_LEARNER = {
    "pipeline__": Pipeline([("pipeline", LEARNER)]),
    "a__": VotingClassifier([("a", LEARNER)]),
    "b__": StackingClassifier([("b", LEARNER)]),
    "final_estimator__": StackingClassifier([], final_estimator=LEARNER),
    "estimator__": CalibratedClassifierCV(LEARNER),
    "estimator__estimator__": BaggingClassifier(AdaBoostClassifier(LEARNER)),
    "c__estimator__": Pipeline([("c", MultiOutputClassifier(LEARNER))]),
    "d__t__s__estimator__": FeatureUnion(
        [("d", ColumnTransformer([("t", Pipeline([("s", RFE(LEARNER))]), [0])]))]
    ),
    "e__estimator__": Pipeline([("e", SelectFromModel(LEARNER))]),
}


@pytest.mark.parametrize("prefix", WITH_ONE_LEARNER)
def test_names_are_those_of_get_params(prefix):
    estimator = WITH_ONE_LEARNER[prefix]
    space = Space.from_notation(default_space(estimator, X, y))
    assert f"{prefix}C" in space.parameter_names
    assert set(space.parameter_names) <= estimator.get_params().keys()
    for params in space.covering_sample():
        estimator.set_params(**params)


def test_searches_and_frozen_estimators_are_left_alone():
    searches = GridSearchCV(SVC(), {"C": [1, 2]}), BayesSearchCV(SVC())
    for frozen in (*searches, FrozenEstimator(SVC()), "passthrough", None):
        estimator = Pipeline([("pca", PCA()), ("last", frozen)])
        space = default_space(estimator, X, y)
        assert not [name for name in space if name.startswith("last")]
        assert not unknown_parts(parts_of(estimator, DataFacts()))


class UnknownWrapper(ClassifierMixin, BaseEstimator):
    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        return self


def test_unknown_parts_are_named():
    estimator = make_pipeline(Unknown(), SVC())
    parts = parts_of(estimator, DataFacts())
    assert unknown_parts(parts) == ["unknown (Unknown)"]
    assert all(name.startswith("svc__") for name in default_space(estimator))
    assert "inner__C" in default_space(UnknownWrapper(SVC()))
    # Without known parts, the error says how to write the space.
    with pytest.raises(ValueError, match=r"default space for .*\(Unknown\)") as error:
        default_space(make_pipeline(Unknown()))
    assert "by hand, such as {'unknown__NAME': (0.1, 10.0)}; " in str(error.value)


def test_the_choice_of_scalers_begins_with_the_current_one():
    robust = RobustScaler(quantile_range=(10.0, 90.0))
    space = default_space(Pipeline([("scale", robust), ("svc", SVC())]), X, y)
    assert space["scale"][0] is robust
    assert len({*map(type, space["scale"])}) == len(space["scale"]) > 2


@pytest.mark.parametrize(
    ("scaler", "model", "stays"),
    [
        (StandardScaler(with_mean=False), SVC(), True),  # for sparse data
        (MinMaxScaler(), SVC(), True),  # for positive data
        (StandardScaler(), RandomForestClassifier(), True),
        (StandardScaler(), DecisionTreeClassifier(), True),
        (StandardScaler(), AdaBoostClassifier(LEARNER), False),
    ],
    ids=repr,
)
def test_a_scaler_without_a_substitute_or_an_effect_stays(scaler, model, stays):
    space = default_space(Pipeline([("scale", scaler), ("model", model)]), X, y)
    assert ("scale" not in space) == stays


N = "n_features"
COLUMNS = ColumnTransformer([("t", PCA(), [0, 1, 3]), ("u", PCA(n_components=1), 2)])
TARGET = TransformedTargetRegressor(Lasso(), func=np.log, inverse_func=np.exp)


@pytest.mark.parametrize(
    ("estimator", "prefix", "name", "value"),
    [
        (make_pipeline(SimpleImputer(), StandardScaler(), SVC()), "svc__", N, 5),
        (make_pipeline(OneHotEncoder(), SVC()), "svc__", N, None),
        (COLUMNS, "t__", N, 3),
        (COLUMNS, "u__", N, None),
        # Rows of inner folds, and the scale of a transformed target.
        (CalibratedClassifierCV(SVC(), cv=3), "estimator__", "n_rows", 40),
        (ClassifierChain(SVC()), "", "n_rows", 60),
        (TARGET, "regressor__", "y_scale", 1.0),
        (TransformedTargetRegressor(Ridge()), "regressor__", "y_scale", 1000.0),
    ],
)
def test_parts_have_the_facts_about_their_data(estimator, prefix, name, value):
    facts = DataFacts.of(X, 1000.0 * y if name == "y_scale" else y)
    parts = {part.prefix: part for part in parts_of(estimator, facts)}
    assert getattr(parts[prefix].facts, name) == value


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "dia"])
def test_sparse_data_have_the_facts_of_their_numbers(format):
    counts = np.random.default_rng(0).integers(100, 120, (40, 3)).astype(np.int8)
    sparse_counts = sparse.coo_array(counts).asformat(format)
    facts = DataFacts.of(sparse_counts)
    assert facts.x_variance == 10_000.0
    assert not facts.has_missing
    holes = np.where(counts == counts[0, 0], np.nan, counts)
    assert DataFacts.of(sparse.coo_array(holes).asformat(format)).has_missing


@pytest.mark.parametrize("unknown", [np.full((5, 2), np.nan), np.array(["a b"] * 5)])
@pytest.mark.filterwarnings("error")
def test_the_variance_excludes_missing_values(unknown):
    assert DataFacts.of(unknown).x_variance == 1.0
    holes = np.where(np.arange(5) == 2, np.nan, 100.0 * X[:, 0][:5])[:, None]
    rest = np.delete(holes, 2, axis=0)
    assert DataFacts.of(holes).x_variance == DataFacts.of(rest).x_variance > 1.0
    assert DataFacts.of(1e-3 * X).x_variance == 1.0
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[s]")[:, None]
    assert DataFacts.of(dates) == DataFacts.of(np.array([["a"], ["b"]]))
    # The data are searched for missing values.
    holes = X.copy()
    assert not DataFacts.of(X).has_missing
    holes[3, 2] = np.nan
    steps = make_pipeline(SimpleImputer(), SVC())
    assert "simpleimputer__strategy" in default_space(steps, holes, y)
    assert "simpleimputer__strategy" not in default_space(steps, X, y)


def test_the_owner_of_a_parameter_is_a_part():
    model = make_pipeline(StandardScaler(), SVC())
    assert owner_of(model, "svc__C") == (model[-1], "C")
    assert owner_of(model, "memory") == (model, "memory")
    assert owner_of(model, "forest__max_depth") == (None, "max_depth")
    assert owner_of(None, "svc__C") == (None, "C")
