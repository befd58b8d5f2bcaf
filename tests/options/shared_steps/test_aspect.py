"""First steps of pipelines that are shared by the trials of a search."""

import contextlib
import os
import pickle
import tempfile
from functools import partial
from unittest.mock import Mock

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from counting_steps import (
    CountingScaler,
    MetersModel,
    MetersStep,
    WritingStep,
    count,
    sharing,
)
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest, mutual_info_classif
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LassoCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from skbayes import BayesSearchCV, MultiStageSearchCV, ParetoSearchCV
from skbayes.options.shared_steps import aspect as shared_steps
from skbayes.trial import option_table
from skbayes.trial import shared_store as prefix_store
from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect
from skbayes.trial.shared_store import PrefixStore

SPACE = {"clf__var_smoothing": (1e-9, 1e-1, "log-uniform")}
N_ITER, N_FOLDS = 4, 2


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:80]
    return X[order], y[order]


@pytest.fixture(autouse=True)
def fast_steps():
    with sharing():
        yield


@pytest.fixture
def log(tmp_path):
    """Share steps of any class; return the file in which one notes its calls."""
    with sharing(of_any_class=True):
        yield tmp_path / "log"


def pipeline(*steps, model=None):
    named = [(f"s{i}", step) for i, step in enumerate(steps)]
    return Pipeline([*named, ("clf", GaussianNB() if model is None else model)])


def search(estimator, space=None, kind=BayesSearchCV, **kwargs):
    params = {"n_iter": N_ITER, "cv": N_FOLDS, "random_state": 0, "refit": False}
    params |= {"pre_dispatch": 1, "error_score": "raise", **kwargs}
    if kind is BayesSearchCV:
        params.setdefault("surrogate", "random")
    return kind(estimator, SPACE if space is None else space, **params)


def assert_same_scores(one, other):
    """Compare all columns except the times, bit for bit."""
    assert one.cv_results_["params"] == other.cv_results_["params"]
    for name, column in one.cv_results_.items():
        if name.startswith(("mean_", "split")) and "time" not in name:
            np.testing.assert_array_equal(column, other.cv_results_[name], name)


def assert_as_plain(estimator, X, y, space=None, **kwargs):
    """Fit with shared steps and without, and compare the scores; return both."""
    both = []
    for shares in (True, False):
        np.random.seed(0)
        with contextlib.nullcontext() if shares else sharing(False):
            one = search(estimator, space, **kwargs)
            both.append(one.fit(np.copy(X) if type(X) is np.ndarray else X, y))
    assert_same_scores(*both)
    assert not np.any(shared_times(both[1]))
    return both


def shared_times(search):
    """Return the time that was saved by each trial."""
    return np.array([trial.shared_time for trial in search.trials_])


# -- a search with shared steps is that of the plain pipeline --------------------------


def in_gaps(X):
    X = X.copy()
    X[::7, 1] = np.nan
    return X


def frame(X):
    return pd.DataFrame(in_gaps(X), columns=list("abcd"))


def texts(X):
    return [" ".join(f"w{value:.1f}" for value in row) for row in X]


def double(X):
    return 2.0 * X


SHUFFLED = SelectFromModel(LassoCV(alphas=[0.01, 0.1], cv=KFold(2, shuffle=True)))
POSTERIOR = IterativeImputer(sample_posterior=True, max_iter=1, random_state=0)
SEEDED = partial(mutual_info_classif, random_state=0)
COLUMNS = ColumnTransformer(
    [
        ("a", make_pipeline(SimpleImputer(), StandardScaler(), PCA(1)), ["b", "c"]),
        ("b", MinMaxScaler(), ["a", "d"]),
    ],
    verbose_feature_names_out=False,
).set_output(transform="pandas")
COUNTS = {"clf__alpha": (0.1, 9.0)}
BAYES = MultinomialNB()

# Whether steps are shared, the data of the rows, the steps, and the search space.
CASES = [
    (1, frame, [COLUMNS, PCA(2, svd_solver="full")], {}),
    (1, lambda X: np.asfortranarray(in_gaps(X)), [KNNImputer(n_neighbors=2)], {}),
    (1, np.copy, [make_union(StandardScaler(), SelectKBest(k=2))], {}),
    (1, sparse.csr_matrix, [MaxAbsScaler(), BAYES], COUNTS),
    (1, texts, [TfidfVectorizer(), BAYES], COUNTS),
    # There are more than ten rows per column, so that PCA draws no numbers.
    (1, np.copy, [PCA(2), SelectKBest(SEEDED, k=2)], {}),
    # Searched steps, and steps after them.
    (1, np.copy, [StandardScaler(), SelectKBest()], {"s1__k": [1, 2, 3]}),
    (1, np.copy, [SelectKBest(), StandardScaler()], {"s0__k": [1, 2, 3]}),
    (1, np.copy, ["passthrough", PCA(2)], {"s0": [None, StandardScaler()]}),
    (1, in_gaps, [SimpleImputer(), QuantileTransformer(random_state=0)],
     {"s1__n_quantiles": (2, 40)}),
    (0, np.copy, [QuantileTransformer(random_state=0), PCA(2)],
     {"s0__n_quantiles": (2, 40)}),
    # Steps that write into their input, after a shared step or a random one.
    (1, np.copy, [StandardScaler(), WritingStep()], {}),
    (0, np.copy, [StandardScaler(), PCA(3, svd_solver="arpack"), WritingStep()], {}),
    (0, np.copy, [StandardScaler(), StandardScaler(copy=False)], {}),
    (0, np.copy, [StandardScaler(copy=False), PCA(2)], {}),
    # Random steps.
    (0, np.copy, [PCA(2, random_state=np.random.RandomState(0))], {}),
    (0, np.copy, [SelectKBest(mutual_info_classif, k=2)], {}),
    (0, np.copy, [TargetEncoder(), StandardScaler()], {}),
    (0, np.copy, [SHUFFLED], {}),
    (0, in_gaps, [POSTERIOR], {}),
    # Unknown code.
    (0, np.copy, [FunctionTransformer(double), StandardScaler()], {}),
    (0, np.copy, [FunctionTransformer()], {"s0__func": [lambda X: X, lambda X: -X]}),
]  # fmt: skip


def looks_inside(estimator, X, y):
    """Scorer that copies an estimator and uses its steps."""
    copied = pickle.loads(cloudpickle.dumps(estimator))
    first = copied[:1].transform(X[5:])
    return float(first.sum().sum() + copied.score(X, y))


# What is fitted for predictions only, with training rows, and for all steps.
MODES = [
    {"scoring": ["accuracy", "neg_log_loss"]},
    {"return_train_score": True},
    {"scoring": {"first": "accuracy", "odd": looks_inside, "last": "neg_log_loss"}},
]
SAMPLED = [(i, j) for i, case in enumerate(CASES) for j in (0, 1 + i % 2) if case[0]]
SAMPLED += [(i, i % 3) for i, case in enumerate(CASES) if not case[0]]


@pytest.mark.parametrize("case, mode", SAMPLED)
@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_the_plain_pipeline(iris, case, mode):
    is_shared, data, steps, space = CASES[case]
    params = {"n_iter": 4 if space else 3, **MODES[mode]}
    if steps[-1] is not BAYES:
        steps, space = [*steps, GaussianNB()], {**SPACE, **space}
    X = data(iris[0].copy())
    estimator = pipeline(*steps[:-1], model=steps[-1])
    shared, _ = assert_as_plain(estimator, X, iris[1], space, **params)
    assert np.any(shared_times(shared) > 0.0) == is_shared


def test_output_that_cannot_be_stored_is_not_shared(iris, log):
    shared, _ = assert_as_plain(pipeline(MetersStep(), model=MetersModel()), *iris)
    assert not np.any(shared_times(shared))


def test_rounds_and_costs_are_those_of_the_whole_pipeline(iris):
    objectives = {"accuracy": "max", "model_size": "min", "fit_time": "min"}
    front = {"kind": ParetoSearchCV, "objectives": objectives, "initial_points": 4}
    model = HistGradientBoostingClassifier(random_state=0, max_iter=3)
    space = {"clf__learning_rate": (0.05, 0.5, "log-uniform")}
    for last, spaces, params in (
        (None, SPACE, {**front, "error_score": 0.0}),
        (model, space, {"early_stopping": 3}),
    ):
        estimator = pipeline(PolynomialFeatures(4), StandardScaler(), model=last)
        shared, _ = assert_as_plain(estimator, *iris, spaces, **params)
        assert np.all(shared_times(shared)[1:] > 0.0)
        assert np.all(shared.cv_results_["mean_fit_time"][1:] > 0.0)


@pytest.mark.parametrize("routes", [False, True])
def test_weights_reach_the_steps(iris, routes):
    weights = np.linspace(0.1, 2.0, len(iris[1]))
    with config_context(enable_metadata_routing=routes):
        estimator, name = pipeline(StandardScaler()), "s0__sample_weight"
        scorer = get_scorer("accuracy")
        if routes:
            name = "sample_weight"
            scorer.set_score_request(sample_weight=False)
            for step in (estimator[0], estimator[1]):
                step.set_fit_request(sample_weight=True)
        both = [search(estimator, scoring=scorer) for _ in range(2)]
        both[0].fit(*iris, **{name: weights})
        with sharing(False):
            both[1].fit(*iris, **{name: weights})
    assert_same_scores(*both)
    assert np.all(shared_times(both[0])[1:] > 0.0)


def parts(estimator):
    """Return the steps of an estimator, and the steps of these."""
    estimators = [estimator]
    for name in ("steps", "transformers", "transformers_"):
        for _, part, *_ in getattr(estimator, name, []):
            estimators += parts(part)
    return estimators


@pytest.mark.parametrize("first", [StandardScaler(), COLUMNS])
def test_fitted_estimators_are_plain(iris, first):
    params = {"refit": True, "return_folds": ["estimators", "predict_proba"]}
    X = pd.DataFrame(iris[0], columns=list("abcd"))
    pair = pipeline(first, MinMaxScaler())
    shared, plain = assert_as_plain(pair, X, iris[1], **params)
    assert np.all(shared_times(shared)[1:] > 0.0)
    for one, other in zip(shared.fold_estimators_, plain.fold_estimators_, strict=True):
        for part, expected in zip(parts(one), parts(other), strict=True):
            assert type(part) is type(expected)
            if not isinstance(part, str):
                assert vars(part).keys() == vars(expected).keys()
        assert one.memory is None
        pickle.dumps(one)
    np.testing.assert_array_equal(shared.oof_predictions_, plain.oof_predictions_)


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_fails_does_so_in_each_trial(iris):
    estimator = pipeline(SelectKBest(k=2), PCA("wrong"))
    with pytest.raises(ValueError, match="n_components"):
        search(estimator).fit(*iris)
    choice = pipeline(StandardScaler(), PCA(2, svd_solver="full"))
    space = {"s1__n_components": [1, 2, 200], **SPACE}
    trials = search(choice, space, n_iter=8, error_score=np.nan).fit(*iris).trials_
    failed = [trial.state == "failed" for trial in trials]
    assert failed == [trial.params["s1__n_components"] == 200 for trial in trials]
    assert 0 < sum(failed) < 8
    # The categories of the test rows are unknown when they are scored.
    encoder = pipeline(OneHotEncoder(sparse_output=False))
    for shares in (True, False):
        with sharing(shares), pytest.raises(ValueError, match="unknown categories"):
            search(encoder, error_score=np.nan, verbose=0).fit(*iris)


# -- how often a step is fitted --------------------------------------------------------

COUNTED = "place of the step that counts its fits"


@pytest.mark.parametrize(
    "steps, space, n_iter, n_fits",
    [
        ([COUNTED, MinMaxScaler()], SPACE, 4, 1),
        # Once for each setting, and for each choice of the steps before.
        ([COUNTED, SelectKBest(k=1)], {"s0__with_mean": [True, False], "s1__k": [1, 2]},
         4, 2),
        ([StandardScaler(), COUNTED],
         {"s0": [StandardScaler(), MinMaxScaler()], **SPACE}, 8, 2),
        # Not after a step with many settings, or one that has drawn numbers.
        ([QuantileTransformer(n_quantiles=2, random_state=0), COUNTED],
         {"s0__n_quantiles": (2, 40), **SPACE}, 4, 4),
        ([make_pipeline(PCA(2, svd_solver="randomized"), MinMaxScaler()), COUNTED],
         SPACE, 4, 4),
    ],
    ids=range(5),
)  # fmt: skip
def test_equal_steps_are_fitted_once_per_fold(iris, log, steps, space, n_iter, n_fits):
    counted = CountingScaler(str(log))
    steps = [counted if step is COUNTED else clone(step) for step in steps]
    search(pipeline(*steps), space, n_iter=n_iter).fit(*iris)
    assert count(log, "f") == N_FOLDS * n_fits
    # Training rows and test rows of each fit.
    assert count(log, "t") == 2 * count(log, "f")


def test_times_include_those_of_shared_steps(iris):
    fitted = search(pipeline(PolynomialFeatures(4), StandardScaler())).fit(*iris)
    for fold in fitted.trials_[0].folds:
        assert fold.extras["shared_time"] == 0.0
    for trial in fitted.trials_[1:]:
        for fold in trial.folds:
            assert 0.0 < fold.extras["shared_time"] < fold.fit_time + fold.score_time


def test_workers_share_steps_and_stages_do_not(iris, log):
    stages = {"kind": MultiStageSearchCV, "n_iter": 6, "stages": (0.5, 1.0)}
    for n_fits, params in [
        (N_FOLDS, {}),
        (N_FOLDS, {"n_jobs": 2}),
        (2 * N_FOLDS, stages),
    ]:
        with parallel_config("threading"):
            fitted = search(pipeline(CountingScaler(str(log))), **params).fit(*iris)
        assert count(log, "f") == n_fits
        log.unlink()
        if "kind" not in params:
            assert_same_scores(search(pipeline(StandardScaler())).fit(*iris), fitted)


def test_a_pipeline_keeps_its_memory_for_transformers_of_other_packages(iris, tmp_path):
    log, memory = tmp_path / "log", str(tmp_path / "memory")
    for folder, n_fits in ((None, N_FOLDS * N_ITER + 1), (memory, N_FOLDS + 1)):
        model = pipeline(CountingScaler(str(log))).set_params(memory=folder)
        fitted = search(model, refit=True).fit(*iris)
        assert fitted.best_estimator_.memory == folder
        assert count(log, "f") == n_fits
        log.unlink()


def test_fast_steps_are_neither_stored_nor_examined_again(iris, monkeypatch):
    monkeypatch.setattr(shared_steps, "LEAST_SECONDS", 1e3)
    spy = Mock(wraps=shared_steps.leading_steps)
    monkeypatch.setattr(shared_steps, "leading_steps", spy)
    shared = search(pipeline(StandardScaler())).fit(*iris)
    assert not np.any(shared_times(shared))
    assert spy.call_count == 1


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_shared_fit_warns_once_per_fold(iris):
    X = np.column_stack([iris[0], np.ones(len(iris[0]))])
    with pytest.warns(UserWarning, match="constant") as caught:
        search(pipeline(SelectKBest(k=2))).fit(X, iris[1])
    assert len([one for one in caught if "constant" in str(one.message)]) == N_FOLDS


def test_a_resumed_search_fits_shared_steps_again(iris, tmp_path):
    path = tmp_path / "run.journal"
    estimator = pipeline(StandardScaler())
    whole = search(estimator, n_iter=6).fit(*iris)
    search(estimator, n_iter=3, journal=path).fit(*iris)
    resumed = search(estimator, n_iter=6, journal=path).fit(*iris)
    assert_same_scores(whole, resumed)
    # The store of the first fit was removed.
    shared = shared_times(resumed) > 0.0
    assert shared.tolist() == [False, True, True, False, True, True]


# -- aspects and the store -------------------------------------------------------------


class _Change(FoldAspect):
    def around(self, call):
        match call.fold.parts.get(self.name):
            case "train":
                call.train = call.train[::-1]
            case "test":
                call.test = call.test[::-1]
            case "weights":
                weights = np.arange(len(call.job.y))
                call.options["fit_params"] = {"s0__sample_weight": weights}
        return contextlib.nullcontext()


class _EverySecondChanged(Aspect):
    name = "every_second_changed"
    change = ""

    def fold_aspect(self):
        return _Change()

    def for_fold(self, evaluation, index, earlier):
        return self.change if evaluation.number % 2 else None


@pytest.mark.parametrize("change", ["train", "test", "weights"])
def test_an_aspect_may_change_the_data_of_a_fit(iris, monkeypatch, change):
    added = option_table.Option(
        f"{__name__}:_EverySecondChanged", is_on=lambda *args: True
    )
    monkeypatch.setattr(option_table, "OPTIONS", (*option_table.OPTIONS, added))
    monkeypatch.setattr(_EverySecondChanged, "change", change)
    shared, _ = assert_as_plain(pipeline(StandardScaler()), *iris)
    is_shared = shared_times(shared) > 0.0
    assert is_shared.tolist() == [False, False, True, False]


@pytest.mark.parametrize("damage", ["truncate", "unlink"])
@pytest.mark.parametrize("trains", [False, True])
def test_a_file_that_cannot_be_read_costs_time_only(
    iris, log, monkeypatch, damage, trains
):
    load = PrefixStore.load

    def spoiled(self, key):
        path = os.path.join(self.folder, key)
        if os.path.exists(path):
            if damage == "truncate":
                os.truncate(path, os.path.getsize(path) // 2)
            else:
                os.unlink(path)
        return load(self, key)

    monkeypatch.setattr(PrefixStore, "load", spoiled)
    steps = CountingScaler(str(log)), SelectKBest(k=2)
    assert_as_plain(pipeline(*steps), *iris, return_train_score=trains)
    assert count(log, "f") == 2 * N_FOLDS * N_ITER


def test_without_disk_space_no_step_is_shared_and_no_file_remains(
    iris, tmp_path, monkeypatch
):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    for owner, name, value in (
        (BayesSearchCV, "_cache_limit", 10),
        (prefix_store.os, "replace", full),
        (tempfile, "mkdtemp", full),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            shared, _ = assert_as_plain(pipeline(StandardScaler()), *iris)
        assert np.all(shared_times(shared) == 0.0)
        assert not list(tmp_path.iterdir())
