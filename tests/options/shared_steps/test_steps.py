"""Steps that are shared: those of known code."""

import math
from functools import partial

import numpy as np
import pytest
from counting_steps import CountingScaler
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import (
    RFECV,
    SelectFromModel,
    SelectKBest,
    f_classif,
    mutual_info_classif,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    StandardScaler,
)

from skbayes.options.shared_steps.steps import leading_steps

INNER = LogisticRegression()


def identity(X):
    return X


def columns(transformer, which=0):
    return ColumnTransformer([("a", transformer, which)])


SHARED = [
    FunctionTransformer(),
    FunctionTransformer(np.log1p, inverse_func=np.expm1),
    SelectKBest(f_classif),
    SelectKBest(mutual_info_classif),  # its draws are observed
    SelectKBest(partial(mutual_info_classif, random_state=0)),
    PCA(),
    KBinsDiscretizer(),
    KMeans(verbose=1),
    RFECV(INNER, cv=KFold(3, shuffle=True)),
    RFECV(LogisticRegression(random_state=0), n_jobs=2),
    OneHotEncoder(categories=[["a", "b"], np.array(["c"])], dtype=np.float32),
    SimpleImputer(missing_values=np.nan, fill_value=np.float64(3.0)),
    make_pipeline(StandardScaler(), PCA()),
    FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]),
    columns(StandardScaler(), slice(0, 2)),
    columns(StandardScaler(), make_column_selector(dtype_include=object)),
]
UNKNOWN = [
    CountingScaler(),
    FunctionTransformer(identity),
    FunctionTransformer(lambda X: X),
    FunctionTransformer(np.random.permutation),
    FunctionTransformer(np.frompyfunc(identity, 1, 1)),
    FunctionTransformer(np.empty_like),
    FunctionTransformer(print),
    SelectKBest(identity),
    SelectKBest(partial(mutual_info_classif, random_state=np.random.RandomState(0))),
    PCA(random_state=np.random.RandomState(0)),
    CountVectorizer(tokenizer=str.split),
    KNNImputer(metric=identity),
    SelectFromModel(CountingScaler()),
    RFECV(INNER, scoring=make_scorer(identity)),
    RFECV(INNER, cv=iter([])),
    # The draws of other processes cannot be observed.
    RFECV(INNER, n_jobs=2),
    columns(CountingScaler()),
    columns(StandardScaler(), identity),
    FeatureUnion([("a", StandardScaler()), ("b", CountingScaler())]),
    make_pipeline(StandardScaler(), CountingScaler()),
]


@pytest.mark.parametrize(
    "is_known, step",
    [*((True, step) for step in SHARED), *((False, step) for step in UNKNOWN)],
    ids=range(len(SHARED) + len(UNKNOWN)),
)
def test_steps_of_supported_packages_are_shared(is_known, step):
    steps = [("step", step), ("other", StandardScaler()), ("clf", GaussianNB())]
    shared = leading_steps(Pipeline(steps), {"clf__var_smoothing": math.inf})
    assert len(shared) == 2 * is_known


@pytest.mark.parametrize("none", [None, "passthrough"])
def test_steps_after_one_that_is_left_out_depend_on_it(none):
    steps = [("none", none), ("known", StandardScaler()), ("clf", GaussianNB())]
    (step,) = leading_steps(Pipeline(steps), {"none": 2, "clf": 3})
    assert step.names == {"none"}


def test_steps_depend_on_the_parameters_of_earlier_ones():
    steps = [("a", PCA()), ("ab", StandardScaler()), ("c", PCA()), ("d", GaussianNB())]
    n_values = {"a__n_components": 4, "ab__with_mean": 2, "c__whiten": 5, "d": 3}
    first, second = leading_steps(Pipeline(steps), n_values)
    assert first.names == {"a__n_components"}
    assert second.names == {"a__n_components", "ab__with_mean"}


@pytest.mark.parametrize(
    "pipeline, n_values",
    [
        # A step that writes into its input.
        (make_pipeline(StandardScaler(), Lasso(copy_X=False)), {}),
        (make_pipeline(StandardScaler(), PCA(copy=False), INNER), {}),
        (make_pipeline(StandardScaler(), INNER, memory="folder"), {}),
        (make_pipeline(StandardScaler(), INNER), {"memory": 2}),
        (make_pipeline(StandardScaler(), INNER), {"steps": 2}),
        (make_pipeline(StandardScaler(), INNER), {"standardscaler__with_mean": 33}),
        (make_pipeline(StandardScaler(), INNER), {"standardscaler": math.inf}),
    ],
    ids=range(7),
)
def test_steps_that_cannot_be_shared(pipeline, n_values):
    assert leading_steps(pipeline, n_values) == []
