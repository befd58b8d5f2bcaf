"""First steps of pipelines that are shared by the trials of a search."""

import contextlib
import os
import pickle
import tempfile
import time
from functools import partial
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from counting_steps import (
    CountingScaler,
    MetersModel,
    MetersStep,
    NoisyScaler,
    WritingStep,
    count,
    sharing,
)
from fake_clock import FakeClock
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    mutual_info_classif,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from skbayes import (
    BayesSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TradeoffSearchCV,
)
from skbayes.trial import prefix_steps, prefix_store
from skbayes.trial.aspect import Aspect, FoldAspect
from skbayes.trial.aspects import registry, shared_steps
from skbayes.trial.aspects.shared_steps import LEAST_SECONDS, SharedFit, SharedStep
from skbayes.trial.prefix_steps import _is_known
from skbayes.trial.prefix_store import PrefixStore

SPACE = {"clf__var_smoothing": (1e-9, 1e-1, "log-uniform")}
N_ITER, N_FOLDS = 4, 2


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


@pytest.fixture(autouse=True)
def all_steps():
    with sharing():
        yield


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def pipeline(*steps, model=None):
    named = [(f"s{i}", step) for i, step in enumerate(steps)]
    return Pipeline([*named, ("clf", GaussianNB() if model is None else model)])


def search(estimator, space=None, kind=BayesSearchCV, **kwargs):
    given = {"n_iter": N_ITER, "cv": N_FOLDS, "random_state": 0, "refit": False}
    given |= {"pre_dispatch": 1, "error_score": "raise", **kwargs}
    if kind is BayesSearchCV:
        given.setdefault("surrogate", "random")
    return kind(estimator, SPACE if space is None else space, **given)


def plain_fit(search, *args, **kwargs):
    """Fit a search without shared steps."""
    with sharing(False):
        return search.fit(*args, **kwargs)


def assert_same_scores(one, other):
    """Compare all columns except the times, bit for bit."""
    assert one.cv_results_["params"] == other.cv_results_["params"]
    for name, column in one.cv_results_.items():
        if name.startswith(("mean_", "split")) and "time" not in name:
            np.testing.assert_array_equal(column, other.cv_results_[name], name)


def assert_as_plain(estimator, X, y, space=None, fit_params=None, **kwargs):
    """Fit with shared steps and without, and compare the scores; return both."""
    both = [search(estimator, space, **kwargs) for _ in range(2)]
    both[0].fit(X, y, **(fit_params or {}))
    plain_fit(both[1], X, y, **(fit_params or {}))
    assert_same_scores(*both)
    return both


def shared_times(search):
    """Return the time that was saved by each trial."""
    return np.array([trial.shared_time for trial in search.trials_])


def test_a_step_without_searched_parameters_is_fitted_once_per_fold(iris, log):
    estimator = pipeline(CountingScaler(str(log)), MinMaxScaler())
    done = search(estimator).fit(*iris)
    assert count(log, "f") == N_FOLDS
    # Training rows and test rows of each fold.
    assert count(log, "t") == 2 * N_FOLDS
    assert np.all(shared_times(done)[1:] > 0.0)
    assert np.all(done.cv_results_["mean_fit_time"][1:] > 0.0)
    log.unlink()
    plain = plain_fit(search(estimator), *iris)
    assert count(log, "f") == N_FOLDS * N_ITER
    assert not np.any(shared_times(plain))


COUNTED = "place of the step that counts its fits"
UNION = FeatureUnion([("k", SelectKBest(k=1)), ("scaled", CountingScaler())])


@pytest.mark.parametrize(
    "steps, space, n_iter, n_fits",
    [
        # Once for each setting, and for each choice of the steps before.
        ([COUNTED, SelectKBest(k=1)], {"s0__with_mean": [True, False], "s1__k": [1, 2]},
         4, 2),
        ([StandardScaler(), COUNTED],
         {"s0": [StandardScaler(), MinMaxScaler()], **SPACE}, 8, 2),
        # Not where a step before has many settings.
        ([QuantileTransformer(n_quantiles=2, random_state=0), COUNTED],
         {"s0__n_quantiles": (2, 40), **SPACE}, 4, 4),
        # There are more than ten rows per column, so that PCA draws no numbers.
        ([PCA(2), COUNTED], SPACE, 4, 1),
        ([SelectKBest(partial(mutual_info_classif, random_state=0), k=2), COUNTED],
         SPACE, 4, 1),
        # It is fitted each time after a draw.
        ([PCA(2, svd_solver="randomized"), COUNTED], SPACE, 4, 4),
        ([TargetEncoder(), COUNTED], SPACE, 4, 4),
        ([PCA(2, random_state=np.random.RandomState(0)), COUNTED], SPACE, 4, 4),
        ([NoisyScaler(), COUNTED], SPACE, 4, 4),
        ([make_pipeline(PCA(2, svd_solver="randomized"), MinMaxScaler()), COUNTED],
         SPACE, 4, 4),
        ([SelectFromModel(LassoCV(cv=KFold(3, shuffle=True))), COUNTED], SPACE, 4, 4),
        ([SelectKBest(mutual_info_classif, k=2), COUNTED], SPACE, 4, 4),
        ([PCA(3, svd_solver="randomized"), UNION], {"s1__k__k": (1, 3), **SPACE}, 4, 4),
        # Parts of a union of which another part is searched.
        ([UNION], {"s0__k__k": [1, 2, 3, 4], **SPACE}, 4, 1),
    ],
    ids=range(14),
)  # fmt: skip
def test_how_often_a_step_is_fitted(iris, log, steps, space, n_iter, n_fits):
    counted = CountingScaler(str(log))
    steps = [counted if step is COUNTED else clone(step) for step in steps]
    if isinstance(steps[-1], FeatureUnion):
        steps[-1].set_params(scaled=counted)
    search(pipeline(*steps), space, n_iter=n_iter).fit(*iris)
    assert count(log, "f") == N_FOLDS * n_fits


@pytest.mark.parametrize("where", ["fit_transform", "transform"])
def test_random_steps_give_the_scores_of_the_plain_pipeline(iris, where):
    both = []
    for shares in (True, False):
        np.random.seed(0)
        with sharing(shares):
            both.append(search(pipeline(NoisyScaler(where))).fit(*iris))
    assert_same_scores(*both)
    assert len(set(both[0].cv_results_["mean_test_score"])) > 1


def test_parts_of_a_column_transformer_are_shared_where_another_is_searched(iris, log):
    searched, counted = QuantileTransformer(random_state=0), CountingScaler(str(log))
    parts = [("searched", searched, [0]), ("scaled", counted, [1, 2])]
    parts.append(("inner", make_pipeline(clone(counted), PCA(1)), [2, 3]))
    columns = ColumnTransformer(parts)
    space = {"s0__searched__n_quantiles": (5, 60), **SPACE}
    assert_as_plain(pipeline(columns), *iris, space)
    # Two counting steps, by the search that shares them and by the other one.
    assert count(log, "f") == 2 * N_FOLDS * (1 + N_ITER)


def test_each_stage_fits_its_own(iris, log):
    more = {"kind": MultiStageSearchCV, "n_iter": 6, "stages": (0.5, 1.0)}
    done = search(pipeline(CountingScaler(str(log))), **more).fit(*iris)
    assert {trial.fidelity.stage for trial in done.trials_} == {0, 1}
    assert count(log, "f") == 2 * N_FOLDS


def test_steps_of_scikit_learn_are_shared(iris, log, monkeypatch):
    monkeypatch.setattr(shared_steps, "LEAST_SECONDS", LEAST_SECONDS)
    monkeypatch.setattr(prefix_steps, "_is_known", _is_known)
    fit, calls = StandardScaler.fit, []

    def slow(self, X, y=None, sample_weight=None):
        calls.append(1)
        time.sleep(0.01)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(StandardScaler, "fit", slow)
    estimator = pipeline(StandardScaler(), MinMaxScaler())
    shared = search(estimator).fit(*iris)
    assert len(calls) == N_FOLDS
    assert_same_scores(shared, plain_fit(search(estimator), *iris))
    search(pipeline(CountingScaler(str(log)))).fit(*iris)
    assert count(log, "f") == N_FOLDS * N_ITER


def test_fast_steps_are_neither_stored_nor_examined_again(iris, monkeypatch):
    monkeypatch.setattr(shared_steps, "LEAST_SECONDS", 1e3)
    spy = Mock(wraps=shared_steps.find_runs)
    monkeypatch.setattr(shared_steps, "find_runs", spy)
    shared = search(pipeline(StandardScaler())).fit(*iris)
    assert not np.any(shared_times(shared))
    assert spy.call_count == 1


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_shared_fit_warns_once_per_fold(iris):
    X = np.column_stack([iris[0], np.ones(len(iris[0]))])
    with pytest.warns(UserWarning, match="constant") as caught:
        search(pipeline(SelectKBest(k=2))).fit(X, iris[1])
    assert len([one for one in caught if "constant" in str(one.message)]) == N_FOLDS


def with_gaps(X):
    X[::7, 1] = np.nan
    return X


def gaps_in_a_frame(X):
    return pd.DataFrame(with_gaps(X), columns=list("abcd"))


def _presence(X):
    return (X > 2.0).astype(float)


FOREST = SelectFromModel(RandomForestClassifier(5, random_state=0))


@pytest.mark.parametrize(
    "is_shared, data, steps",
    [
        (1, gaps_in_a_frame, [SimpleImputer(), PCA(2, svd_solver="full")]),
        (1, gaps_in_a_frame, [SimpleImputer(), FOREST]),
        (1, lambda X: np.asfortranarray(with_gaps(X)), [KNNImputer(n_neighbors=2)]),
        (1, with_gaps, [FunctionTransformer(np.nan_to_num), SimpleImputer()]),
        (1, sparse.csr_matrix, [FunctionTransformer(_presence, accept_sparse=True)]),
        # Steps that write into their input, after a shared or a random step.
        (1, np.copy, [StandardScaler(), WritingStep()]),
        (1, np.copy, [StandardScaler(), PCA(3, random_state=None), WritingStep()]),
        (0, np.copy, [StandardScaler(), PCA(2), StandardScaler(copy=False)]),
        (0, np.copy, [StandardScaler(copy=False), PCA(2)]),
    ],
    ids=range(9),
)
def test_scores_are_those_of_the_plain_pipeline(iris, is_shared, data, steps):
    X, model, more = data(iris[0].copy()), None, {}
    if sparse.issparse(X):
        model, more = MultinomialNB(), {"space": {"clf__alpha": (0.1, 9.0)}}
    more |= {"n_iter": 3, "return_train_score": True, "scoring": ["accuracy"]}
    shared, _ = assert_as_plain(pipeline(*steps, model=model), X, iris[1], **more)
    assert np.all(shared_times(shared)[1:] > 0.0) == is_shared


def test_arrays_with_attributes_and_values_without_a_hash(iris):
    shared, _ = assert_as_plain(pipeline(MetersStep(), model=MetersModel()), *iris)
    assert not np.any(shared_times(shared))
    space = {**SPACE, "s0__func": [lambda X: X, lambda X: -X]}
    assert_as_plain(pipeline(FunctionTransformer()), *iris, space)


def test_frames_stay_frames(iris):
    X = pd.DataFrame(iris[0], columns=list("abcd"))
    columns = ColumnTransformer(
        [("a", StandardScaler(), ["a", "b"]), ("b", MinMaxScaler(), ["c", "d"])],
        verbose_feature_names_out=False,
    )
    last = ColumnTransformer([("c", StandardScaler(), ["a", "d"])])
    estimator = pipeline(columns, last)
    estimator.set_output(transform="pandas")
    assert_as_plain(estimator, X, iris[1])
    assert_as_plain(estimator, X, iris[1], {"s0__a__with_mean": [True, False], **SPACE})


def _accuracy(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


class ScalerWithMethod(StandardScaler):
    def fit(self, X, y=None, method=None):
        return super().fit(X * method)


def test_parameters_of_the_fit_of_a_step_have_any_names(iris):
    estimator = Pipeline([("s0", ScalerWithMethod()), ("clf", GaussianNB())])
    shared = search(estimator).fit(*iris, s0__method=2.0)
    assert np.all(shared_times(shared)[1:] > 0.0)


def test_weights_reach_the_steps(iris):
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        model = GaussianNB().set_fit_request(sample_weight=True)
        estimator = Pipeline([("s0", scaler), ("clf", model)])
        weights = {"sample_weight": np.linspace(0.1, 2.0, len(iris[1]))}
        more = {"fit_params": weights, "scoring": _accuracy}
        shared, _ = assert_as_plain(estimator, *iris, **more)
    assert np.all(shared_times(shared)[1:] > 0.0)


def _looks_inside(estimator, X, y):
    """Scorer that reads rows and steps, and modifies its arguments."""
    first = estimator[:1].transform(X[5:])
    whole = estimator[:-1].transform(X)
    whole += 1.0
    total = first.sum() + estimator.predict_proba(X[::-1])[:, 0].sum()
    return float(total + estimator.named_steps["s0"].mean_.sum())


def _pickles(estimator, X, y):
    copied = pickle.loads(pickle.dumps(estimator))
    assert not isinstance(copied[0], SharedStep)
    return float(copied.score(X, y))


@pytest.mark.parametrize("scorer", [_looks_inside, _pickles])
def test_a_scorer_may_copy_or_write_into_what_it_scores(iris, scorer):
    scoring = {"first": "accuracy", "odd": scorer, "last": "neg_log_loss"}
    assert_as_plain(pipeline(StandardScaler(), MinMaxScaler()), *iris, scoring=scoring)


COLUMNS = ColumnTransformer(
    [
        ("searched", KBinsDiscretizer(strategy="uniform", encode="ordinal"), [0, 1]),
        ("inner", make_pipeline(StandardScaler(), MinMaxScaler(), PCA(1)), [1, 2]),
        ("single", StandardScaler(), [2, 3]),
    ]
)


def parts(estimator):
    """Return the steps of an estimator, and the steps of these."""
    found = [estimator]
    for name in ("steps", "transformers", "transformers_"):
        for _, part, *_ in getattr(estimator, name, []):
            found += parts(part)
    return found


@pytest.mark.parametrize("first", [StandardScaler(), COLUMNS])
def test_fitted_estimators_are_plain(iris, first):
    space = {**SPACE, "s0__searched__n_bins": (2, 60)} if first is COLUMNS else SPACE
    more = {"refit": True, "return_folds": ["estimators", "predict_proba"]}
    pair = pipeline(first, MinMaxScaler())
    shared, plain = assert_as_plain(pair, *iris, space, **more)
    assert np.all(shared_times(shared)[1:] > 0.0)
    for one, other in zip(shared.fold_estimators_, plain.fold_estimators_, strict=True):
        for part, expected in zip(parts(one), parts(other), strict=True):
            assert type(part) is type(expected)
            if not isinstance(part, str):
                assert vars(part).keys() == vars(expected).keys()
        pickle.dumps(one)
    np.testing.assert_array_equal(shared.oof_predictions_, plain.oof_predictions_)


@pytest.mark.parametrize("trains", [False, True])
def test_rounds_are_scored_on_the_rows_of_the_fold(iris, trains):
    model = HistGradientBoostingClassifier(random_state=0, max_iter=3)
    space = {"clf__learning_rate": (0.05, 0.5, "log-uniform")}
    estimator = pipeline(PolynomialFeatures(3), StandardScaler(), model=model)
    more = {"early_stopping": 3, "return_train_score": trains}
    shared, _ = assert_as_plain(estimator, *iris, space, **more)
    assert np.all(shared_times(shared)[1:] > 0.0)


def test_two_workers_find_the_same(iris, log):
    estimator = pipeline(CountingScaler(str(log)))
    alone, _ = assert_as_plain(estimator, *iris)
    log.unlink()
    with parallel_config("threading"):
        together = search(estimator, n_jobs=2).fit(*iris)
    assert_same_scores(alone, together)
    assert count(log, "f") == N_FOLDS


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

    @classmethod
    def is_on(cls, plan):
        return True

    def fold_aspect(self):
        return _Change()

    def for_fold(self, evaluation, index, earlier):
        return self.change if evaluation.number % 2 else None


@pytest.mark.parametrize("change", ["train", "test", "weights"])
def test_an_aspect_may_change_the_data_of_a_fit(iris, monkeypatch, change):
    monkeypatch.setattr(registry, "ASPECTS", (*registry.ASPECTS, _EverySecondChanged))
    monkeypatch.setattr(_EverySecondChanged, "change", change)
    shared, _ = assert_as_plain(pipeline(StandardScaler()), *iris)
    saved = shared_times(shared) > 0.0
    assert saved.tolist() == [False, False, True, False]


def test_times_of_a_step_include_those_before(monkeypatch):
    monkeypatch.setattr(shared_steps, "time", clock := FakeClock())

    def step():
        clock.now += 2.0

    fit = SharedFit(None, (), {}, is_remote=False, is_lazy=False)
    assert fit.measured((1.0, 3.0), step) == (None, (3.0, 5.0))


def test_costs_are_those_of_the_whole_pipeline(iris):
    objectives = {"accuracy": "max", "model_size": "min", "fit_time": "min"}
    steps = pipeline(PolynomialFeatures(4), StandardScaler())
    more = {"objectives": objectives, "error_score": 0.0, "initial_points": 4}
    both = [search(steps, kind=ParetoSearchCV, **more) for _ in range(2)]
    both[0].fit(*iris)
    plain_fit(both[1], *iris)
    sizes = [one.cv_results_["mean_test_model_size"] for one in both]
    np.testing.assert_array_equal(*sizes)
    assert np.all(shared_times(both[0])[1:] > 0.0)
    assert np.all(both[0].cv_results_["mean_fit_time"][1:] > 0.0)


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_fails_does_so_in_each_trial(iris):
    estimator = pipeline(SelectKBest(k=2), PCA("wrong"))
    with pytest.raises(ValueError, match="n_components"):
        search(estimator).fit(*iris)
    choice = pipeline(StandardScaler(), PCA(2, svd_solver="full"))
    space = {"s1__n_components": [1, 2, 200], **SPACE}
    done = search(choice, space, n_iter=8, error_score=np.nan).fit(*iris)
    failed = [trial.state == "failed" for trial in done.trials_]
    assert failed == [trial.params["s1__n_components"] == 200 for trial in done.trials_]
    assert 0 < sum(failed) < 8


def test_a_resumed_search_goes_on(iris, tmp_path):
    path = tmp_path / "run.journal"
    estimator = pipeline(StandardScaler())
    whole = search(estimator, n_iter=6).fit(*iris)
    search(estimator, n_iter=3, journal=path).fit(*iris)
    resumed = search(estimator, n_iter=6, journal=path).fit(*iris)
    assert_same_scores(whole, resumed)
    # The store of the first fit was removed.
    shared = shared_times(resumed) > 0.0
    assert shared.tolist() == [False, True, True, False, True, True]


@pytest.fixture
def loaded(monkeypatch):
    """Return a list of the subsequent loads: "fitted", "output" and "test"."""
    load, kinds = PrefixStore.load, []

    def noted(self, key, mapped=True):
        kinds.append(key.rpartition("-")[2])
        return load(self, key, mapped)

    monkeypatch.setattr(PrefixStore, "load", noted)
    return kinds


@pytest.mark.parametrize(
    "looks, kwargs",
    [
        (False, {"scoring": None}),
        (False, {"scoring": ["accuracy", "neg_log_loss"], "refit": "accuracy"}),
        (False, {"scoring": "roc_auc_ovr"}),
        (False, {"constraints": {"score": ">= 0.5", "fit_time": "<= 1e3"}}),
        (False, {"kind": TradeoffSearchCV, "cost": "fit_time"}),
        (True, {"scoring": _accuracy}),
        (True, {"constraints": {"model_size": "<= 1e9"}}),
        (True, {"constraints": {"predict_time": "<= 1e3"}}),
        (True, {"return_folds": "estimators", "refit": True}),
        (True, {"return_train_score": True}),
    ],
)
def test_fitted_steps_are_loaded_if_something_looks_at_them(
    iris, loaded, looks, kwargs
):
    pair = pipeline(StandardScaler(), MinMaxScaler())
    fitted = search(pair, **kwargs).fit(*iris)
    n_later = N_FOLDS * (N_ITER - 1)
    if looks:
        assert loaded.count("fitted") >= n_later
        assert_same_scores(fitted, plain_fit(search(pair, **kwargs), *iris))
    else:
        assert "fitted" not in loaded
        # The first fit looks for the output again when it has its turn.
        assert loaded.count("output") == n_later + 2 * N_FOLDS or "kind" in kwargs


def test_only_the_last_output_of_the_test_rows_is_loaded(iris, loaded):
    steps = [StandardScaler(), MinMaxScaler(), SelectKBest(k=2)]
    assert_as_plain(pipeline(*steps), *iris)
    # The first fit of a fold does not find it.
    assert loaded.count("test") == N_FOLDS * N_ITER


@pytest.mark.parametrize("lost", ["fitted", "test", "output"])
def test_a_step_that_is_lost_meanwhile_is_fitted_again(iris, monkeypatch, lost):
    load = PrefixStore.load

    def missing(self, key, mapped=True):
        return None if key.endswith((lost, "test")) else load(self, key, mapped)

    monkeypatch.setattr(PrefixStore, "load", missing)
    shared, _ = assert_as_plain(pipeline(StandardScaler(), MinMaxScaler()), *iris)
    assert np.all(shared_times(shared)[1:] > 0.0) == (lost != "output")


@pytest.mark.parametrize("what", ["truncate", "unlink", "output"])
def test_a_file_that_cannot_be_read_costs_time_only(iris, log, monkeypatch, what):
    load = PrefixStore.load

    def spoiled(self, key, mapped=True):
        path = os.path.join(self.folder, key)
        if os.path.exists(path) and (what != "output" or path.endswith("output")):
            if what == "truncate":
                os.truncate(path, os.path.getsize(path) // 2)
            else:
                os.unlink(path)
        return load(self, key, mapped)

    monkeypatch.setattr(PrefixStore, "load", spoiled)
    assert_as_plain(pipeline(CountingScaler(str(log)), SelectKBest(k=2)), *iris)
    assert count(log, "f") == 2 * N_FOLDS * N_ITER


def test_without_room_nothing_is_shared_or_left_behind(iris, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    scaler = pipeline(StandardScaler())
    with monkeypatch.context() as patch:
        patch.setattr(BayesSearchCV, "_cache_limit", 10)
        small = search(scaler).fit(*iris)
    plain = plain_fit(search(scaler), *iris)
    assert_same_scores(small, plain)
    assert np.all(shared_times(small) == 0.0)
    assert not list(tmp_path.iterdir())
    for module, name in ((prefix_store.os, "replace"), (tempfile, "mkdtemp")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, full)
            shared, _ = assert_as_plain(scaler, *iris)
        assert np.all(shared_times(shared) == 0.0)


def test_a_pipeline_keeps_its_memory_for_transformers_of_other_packages(
    iris, log, tmp_path, monkeypatch
):
    monkeypatch.setattr(prefix_steps, "_is_known", _is_known)
    own = pipeline(CountingScaler(str(log)))
    search(own, refit=True).fit(*iris)
    assert count(log, "f") == N_FOLDS * N_ITER + 1
    log.unlink()
    done = search(own.set_params(memory=str(tmp_path / "memory")), refit=True)
    assert done.fit(*iris).best_estimator_.memory == str(tmp_path / "memory")
    assert count(log, "f") == N_FOLDS + 1
