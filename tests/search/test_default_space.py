"""The search space "auto", the first trials, and learned priors."""

import functools

import numpy as np
import pytest
from every_search import LABELS, SEARCHES, TEXTS, data, make, small_search
from joblib import parallel_config
from simple_estimators import Unknown
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.defaults import EditableSpace, default_space
from skbayes.defaults.for_search import train_share
from skbayes.space import Choice, Ordinal, Space

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*has no name", "ignore::sklearn.exceptions.ConvergenceWarning"
)

X, y = load_iris(return_X_y=True)
every_kind = pytest.mark.parametrize("kind", SEARCHES)


def _fitted(kind, spaces="auto", **params):
    search = make(kind, **{"search_spaces": spaces, "n_iter": 6, **params})
    return search.fit(*data(kind))


def _of_svc(spaces="auto", **params):
    return _small(SVC(), spaces, **params).fit(X, y)


def _small(estimator, spaces="auto", **params):
    return small_search(estimator, spaces, **{"n_iter": 4, **params})


def _trials(search):
    return [(trial.params, trial.score) for trial in search.trials_]


@pytest.mark.filterwarnings("ignore")
@every_kind
def test_auto_is_the_space_of_the_estimator_which_is_tried_first(kind, tmp_path):
    # A journal is resumed with the same space.
    journal, n_iter = tmp_path / "journal", 6 if kind is HyperTuneSearchCV else 2
    first = _fitted(kind, n_iter=n_iter, journal=journal)
    search = _fitted(kind, n_iter=max(n_iter, 4), journal=journal)
    assert repr(search.search_spaces_) == repr(first.search_spaces_)
    assert isinstance(search.search_spaces_, EditableSpace)
    assert search.untuned_ == []
    names = {name for trial in search.trials_ for name in trial.params}
    parameters = Space.from_notation(search.search_spaces_).parameter_names
    assert names - {"train_size"} <= set(parameters)
    assert clone(search).search_spaces == "auto"
    # The estimator as it is given.
    own_values = {**search.initial_points_[0]}
    own_values.pop("train_size", None)
    changed = clone(search.best_estimator_).set_params(**own_values)
    if kind is not TextRepresentationSearchCV:
        params = search.estimator.get_params()
        for name, value in changed.get_params().items():
            assert value == params[name] or value is params[name], name
    # The small samples of HyperTuneSearchCV precede it.
    configurations = [trial.params for trial in search.trials_]
    assert own_values in configurations[: None if kind is HyperTuneSearchCV else 1]


def test_all_notations_of_auto_give_the_same_trials():
    search = _of_svc()
    names = {"Choice": Choice, "Ordinal": Ordinal}
    printed = eval(repr(search.search_spaces_), names)
    for spaces in (None, {"auto": True}, printed):
        assert _trials(_of_svc(spaces)) == _trials(search)
    alone = _of_svc(n_iter=1, cv=None)
    assert repr(alone.search_spaces_) == repr(default_space(SVC(), X, y))
    assert _of_svc({"auto": False, "C": [1, 2]}).search_spaces_ == {"C": [1, 2]}
    # Entries replace those of the space.
    search = _of_svc({"auto": True, "C": [3.0], "kernel": ["rbf"]})
    assert {trial.params["C"] for trial in search.trials_} == {3.0}
    assert all(set(t.params) == {"C", "gamma", "kernel"} for t in search.trials_)
    # C=1 is not in the space.
    assert search.initial_points_ == []
    spaces = [{"auto": True, "kernel": ["rbf"]}, {"kernel": ["linear"], "C": [7.0]}]
    search = _of_svc(spaces, n_iter=6)
    assert {trial.params["kernel"] for trial in search.trials_} == {"rbf", "linear"}


def test_parts_without_a_default_space_are_reported(capsys):
    pipeline = make_pipeline(Unknown(), KNeighborsClassifier())
    search = _small(pipeline, verbose=1).fit(X, y)
    assert search.untuned_ == ["unknown (Unknown)"]
    assert "unknown (Unknown) are not known and keep" in capsys.readouterr().out


def test_a_search_as_a_step_is_not_tuned():
    inner = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]})
    search = _small(make_pipeline(StandardScaler(), inner), n_iter=1).fit(X, y)
    assert set(search.search_spaces_) == {"standardscaler"}


@pytest.mark.parametrize(
    ("search", "share"),
    [
        (BayesSearchCV(SVC(), cv=None), 0.8),
        (BayesSearchCV(SVC(), cv=4), 0.75),
        (BayesSearchCV(SVC(), cv=KFold(3)), 2.0 / 3.0),
        (BayesSearchCV(SVC(), cv=ShuffleSplit(3)), 0.5),
        (BayesSearchCV(SVC(), cv=[(np.arange(30), np.arange(30, 60))]), 0.2),
        # The smallest training set is decisive.
        (MultiStageSearchCV(SVC(), stages=(0.25, 1.0), cv=2), 0.125),
        (MultiStageSearchCV(SVC(), stages=(15, 1.0), cv=2), 0.1),
        (TradeoffSearchCV(SVC(), train_sizes=(0.4, 1.0), cv=2), 0.2),
        (HyperTuneSearchCV(SVC(), subset_fraction=0.1, cv=2), 0.05),
    ],
)
def test_the_share_of_rows_in_a_fold(search, share):
    sizes = getattr(search, search._subset_parameter, 1.0)
    assert train_share(search.cv, sizes, X, y) == pytest.approx(share)


def test_neighbors_are_no_more_than_rows():
    params = {"stages": (0.2, 1.0), "n_iter": 2, "cv": 2, "error_score": "raise"}
    search = MultiStageSearchCV(KNeighborsClassifier(), **params).fit(X, y)
    assert search.search_spaces_["n_neighbors"][1] == 7


def _above(params):
    return params["C"] > 1.5


KERNEL = Choice({"linear": {}, "rbf": {"gamma": ["scale", "auto"]}})
LINEAR, RBF = {"kernel": ["linear"]}, {"kernel": ["rbf"]}


@pytest.mark.parametrize(
    ("space", "params", "points"),
    [
        ({"C": (0.5, 3.0)}, {}, [{"C": 1.0}]),
        # The nearest value of the space, if it is not forbidden.
        ({"C": (2.0, 3.0)}, {}, [{"C": 2.0}]),
        ({"C": [2.0, 3.0]}, {}, []),
        ({"C": (0.5, 3.0)}, {"constraints": _above}, []),
        ({"C": (0.5, 3.0)}, {"initial_points": None}, []),
        ({"C": (0.5, 3.0)}, {"initial_points": [{"C": 2.5}]}, [{"C": 2.5}]),
        # Below an option, and in alternatives.
        ({"kernel": KERNEL, "C": (0.1, 9.0)}, {},
         [{"C": 1.0, "gamma": "scale", "kernel": "rbf"}]),
        ([{**LINEAR, "C": (0.1, 9.0)}, {**RBF, "C": [1.0]}], {},
         [{"C": 1.0, "kernel": "rbf"}]),
    ],
)  # fmt: skip
def test_the_current_values_are_the_first_point(space, params, points):
    search = _of_svc(space, **params)
    assert search.initial_points_ == points
    assert (search.trials_[0].params in points) == bool(points)


MODELS = [
    (GaussianNB(), {"model__var_smoothing": (1e-12, 1.0, "log-uniform")}),
    (DecisionTreeClassifier(random_state=0), {"model__max_depth": (1, 9)}),
    (KNeighborsClassifier(), {"model__n_neighbors": (1, 20)}),
]
AMONG_MODELS = {
    "list": [{"model": [model], **ranges} for model, ranges in MODELS],
    "choice": {"model": Choice(MODELS)},
}


def _among_models(notation="choice", **params):
    pipeline = Pipeline([("scale", StandardScaler()), ("model", MODELS[2][0])])
    params = {"pre_dispatch": 1, **params}
    return _small(pipeline, AMONG_MODELS[notation], **params).fit(X[::2], y[::2])


def _models(search):
    return [type(trial.params["model"]).__name__ for trial in search.trials_]


@pytest.mark.parametrize(
    "notation, n_initial_points", [("list", "default"), ("choice", 0), ("choice", 6)]
)
def test_each_model_is_tried_once_after_the_current_values(notation, n_initial_points):
    search = _among_models(notation, initial_points=n_initial_points)
    assert search.trials_[0].params == search.initial_points_[0]
    assert _models(search)[0] == "KNeighborsClassifier"
    assert len(set(_models(search)[:3])) == 3
    # The own values, or the best configuration of the portfolio of the class.
    others = {type(t.params["model"]).__name__: t.params for t in search.trials_[1:3]}
    assert others["GaussianNB"]["model__var_smoothing"] == pytest.approx(1e-9, rel=1e-2)


def test_random_search_does_not_try_each_model_first():
    assert len(set(_models(_among_models(n_iter=2)))) == 2
    params = {"surrogate": "random", "n_iter": 6}
    search = _among_models(**params)
    points = search.initial_points_
    assert _trials(search) == _trials(_among_models(**params, initial_points=points))


def test_each_model_is_tried_in_parallel_and_after_a_resume(tmp_path):
    expected = _among_models(pre_dispatch=2, n_iter=5)
    assert len(set(_models(expected)[:3])) == 3
    with parallel_config("threading"):
        parallel = _among_models(pre_dispatch=2, n_jobs=2, n_iter=5)
    journal = tmp_path / "journal"
    _among_models(pre_dispatch=2, n_iter=2, journal=journal)
    resumed = _among_models(pre_dispatch=2, n_iter=5, journal=journal)
    assert _trials(expected) == _trials(parallel) == _trials(resumed)


def test_models_of_an_earlier_search_are_not_tried_first():
    first = _among_models(n_iter=3)
    search = _among_models(n_iter=1, warm_start_from=first, surrogate="gp-matern52")
    # The best known configuration is tried again.
    assert search.trials_[0].params == first.best_params_
    later = _among_models(n_iter=2, warm_start_from=first)
    assert later.optimizer_.last_expected_improvement is not None


def test_the_pipeline_of_texts_may_be_searched_by_what_is_known_of_it():
    text = functools.partial(TextRepresentationSearchCV, n_iter=2, cv=2, random_state=0)
    search = text(LogisticRegression(), "auto", space=None, stages=(1.0,))
    search.fit(TEXTS, LABELS)
    assert "classifier__C" in search.search_spaces_
    named, plain = text(search_spaces="auto"), text()
    assert _trials(named.fit(TEXTS, LABELS)) == _trials(plain.fit(TEXTS, LABELS))


def test_steps_before_a_score_that_depends_on_their_columns_need_scoring():
    def separation(estimator, X, y=None):
        return silhouette_score(X, estimator.predict(X))

    steps = make_pipeline(StandardScaler(), KMeans(n_init=1))
    shuffled = np.random.default_rng(0).permutation(X)
    spaces = {"auto": True, "kmeans__n_clusters": [2, 3]}
    with pytest.raises(ValueError, match=r"no default space for kmeans \(KMeans\)"):
        _small(steps, {"auto": True}).fit(shuffled)
    search = _small(steps, spaces, scoring=separation).fit(shuffled)
    assert set(search.search_spaces_) == {"standardscaler", "kmeans__n_clusters"}
    assert search.untuned_ == ["kmeans (KMeans)"]
    projection = make_pipeline(StandardScaler(), PCA())
    with pytest.warns(UserWarning, match="before PCA .'standardscaler'. are") as caught:
        search = _small(projection).fit(X)
    assert caught[0].filename == __file__
    assert set(search.search_spaces_) == {"pca__n_components", "pca__whiten"}


STEPS = make_pipeline(StandardScaler(), SVC())
RANGES = {"svc__C": (0.01, 1000.0, "log-uniform"), "svc__kernel": ["rbf", "linear"]}


def test_the_estimator_and_then_the_portfolio(tmp_path):
    for n_iter in (3, 6):
        again = _small(STEPS, RANGES, n_iter=n_iter, journal=tmp_path / "a.journal")
        again.fit(X, y)
    search = _small(STEPS, RANGES, n_iter=6).fit(X, y)
    portfolio = search.optimizer_.prior.portfolio
    points = search.optimizer_.space.decode(portfolio.rows)
    params = search.cv_results_["params"]
    assert params[0] == {"svc__C": 1.0, "svc__kernel": "rbf"}
    assert all(params in points for params in params[1 : portfolio.n_first])
    assert again.cv_results_["params"] == params


SWITCHES = {"fit_intercept": [True, False], "positive": [True, False]}


@pytest.mark.parametrize(
    "model, space, points, has_prior",
    [
        # Initial points of the user replace the portfolio.
        (STEPS, RANGES, None, False),
        (STEPS, RANGES, [{"svc__C": 2.0, "svc__kernel": "rbf"}], False),
        # A class without a portfolio.
        (LinearRegression(), SWITCHES, "default", False),
        # Densities of conditional parameters.
        (STEPS, "auto", "default", True),
    ],
)
def test_portfolios_and_densities_are_a_prior(model, space, points, has_prior):
    search = _small(model, space, n_iter=1, initial_points=points, refit=False)
    prior = search.fit(X, y).optimizer_.prior
    assert (prior is not None) == has_prior
    assert ("svc__gamma" in repr(prior)) == has_prior
