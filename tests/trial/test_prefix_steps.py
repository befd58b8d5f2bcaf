"""Steps that are shared: those known to be deterministic."""

import math
from functools import partial

import numpy as np
import pytest
from counting_steps import CountingScaler, NoisyScaler, arguments_of_selectors
from sklearn.base import clone
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
from sklearn.utils import all_estimators

from skbayes.trial.prefix_steps import find_runs

INNER = LogisticRegression()
ARGUMENTS = {
    "ColumnTransformer": [[("a", StandardScaler(), [0])]],
    "FeatureUnion": [[("a", StandardScaler())]],
    **arguments_of_selectors(INNER),
    "StackingClassifier": [[("a", INNER)]],
    "StackingRegressor": [[("a", INNER)]],
    "VotingClassifier": [[("a", INNER)]],
    "VotingRegressor": [[("a", INNER)]],
}
# Without a method `transform` for new rows.
NEVER = {"TSNE"}
TRANSFORMERS = dict(all_estimators(type_filter="transformer"))


def shared(step):
    """Return the paths of the steps that are shared in a pipeline."""
    estimator = Pipeline([("step", step), ("clf", GaussianNB())])
    runs = find_runs(estimator, {"clf__var_smoothing": math.inf})
    return {one.path for _, steps in runs for one in steps}


def made(name):
    try:
        return clone(TRANSFORMERS[name](*ARGUMENTS.get(name, [])))
    except TypeError:
        pytest.skip(f"{name} has other arguments in this release")


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_of_scikit_learn_are_shared_with_a_seed(name):
    """Without a seed, their fits are observed; see the draws in other processes."""
    own = made(name)
    own.__class__ = type(name, (type(own),), {"__module__": __name__})
    assert not shared(own) - {"step__a"}
    step = made(name)
    seeded = {key: 0 for key in step.get_params() if key.endswith("random_state")}
    expected = set() if name in NEVER else {"step"}
    assert shared(step.set_params(**seeded)) == expected
    for key in seeded:
        assert not shared(step.set_params(**{key: np.random.RandomState(0)}))


def own(X):
    return X


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(),
        FunctionTransformer(np.log1p, inverse_func=np.expm1),
        SelectKBest(f_classif),
        SelectKBest(partial(mutual_info_classif, random_state=0)),
        PCA(),
        KBinsDiscretizer(),
        RFECV(INNER, cv=KFold(3, shuffle=True, random_state=0)),
        OneHotEncoder(categories=[["a", "b"]], dtype=np.float32),
        SimpleImputer(missing_values=np.nan),
        make_pipeline(StandardScaler(), PCA()),
        ColumnTransformer(
            [("a", StandardScaler(), make_column_selector(dtype_include=object))]
        ),
    ],
)
def test_known_steps(step):
    assert shared(step) == {"step"}


@pytest.mark.parametrize(
    "step",
    [
        CountingScaler(),
        NoisyScaler(),
        FunctionTransformer(own),
        FunctionTransformer(np.random.permutation),
        FunctionTransformer(np.frompyfunc(own, 1, 1)),
        FunctionTransformer(np.empty_like),
        SelectKBest(own),
        SelectKBest(mutual_info_classif),
        CountVectorizer(tokenizer=str.split),
        KNNImputer(metric=own),
        KMeans(verbose=1),
        SelectFromModel(CountingScaler()),
        RFECV(INNER, cv=KFold(3, shuffle=True)),
        RFECV(INNER, scoring=make_scorer(own)),
        RFECV(INNER, cv=iter([])),
        # The draws of other processes cannot be observed.
        RFECV(INNER, n_jobs=2),
        make_pipeline(StandardScaler(), memory="folder"),
    ],
)
def test_other_steps_are_not_shared(step):
    if isinstance(step, Pipeline):
        estimator = Pipeline([*step.steps, ("clf", GaussianNB())], memory="folder")
        assert not list(find_runs(estimator, {}))
    else:
        assert not shared(step)


def test_only_known_parts_of_a_composite_are_shared():
    parts = [("own", CountingScaler()), ("known", StandardScaler())]
    assert shared(FeatureUnion(parts)) == {"step__known"}
    columns = [(*part, [0]) for part in parts]
    assert shared(ColumnTransformer(columns)) == {"step__known"}
    assert shared(make_pipeline(StandardScaler(), CountingScaler())) == {
        "step__standardscaler"
    }


@pytest.mark.parametrize("none", [None, "passthrough"])
def test_steps_after_one_that_is_left_out_depend_on_it(none):
    steps = [("none", none), ("known", StandardScaler()), ("clf", GaussianNB())]
    ((_, (step,)),) = find_runs(Pipeline(steps), {"none": 2})
    assert (step.path, step.names) == ("known", {"none"})


@pytest.mark.parametrize("last", [Lasso(copy_X=False), PCA(copy=False)])
def test_nothing_is_shared_if_a_later_step_writes(last):
    estimator = make_pipeline(FunctionTransformer(), last)
    assert not list(find_runs(estimator, {}))
