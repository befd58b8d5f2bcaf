"""Searches with a warm start from other data."""

import warnings

import numpy as np
import pytest
from every_search import SEARCHES, TEXT_SPACE, data, make, small_search
from every_search import SPACE as TREE_SPACE
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import skbayes
from skbayes.space import Space

X, y = load_iris(return_X_y=True)
OTHER = load_wine(return_X_y=True)
SPACE = {
    "svc__C": (1e-3, 1e3, "log-uniform"),
    "svc__gamma": (1e-4, 10.0, "log-uniform"),
}
PIPELINE = make_pipeline(StandardScaler(), SVC())
TAKE = [kind for kind in SEARCHES if kind._takes_sources]


def search_of(source, n_iter=6, **more):
    more = {"n_iter": n_iter, "warm_start_from": source, "cv": 3, **more}
    return small_search(PIPELINE, SPACE, **more)


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("journals") / "wine.journal"
    search_of(None, n_iter=10, journal=path).fit(*OTHER)
    return path


@pytest.fixture(scope="module")
def grid():
    space = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [1e-3, 0.1, 1.0]}
    return GridSearchCV(PIPELINE, space, cv=3).fit(*OTHER)


def test_the_best_of_the_sources_come_first_and_their_models_count(journal, grid):
    search = search_of([journal, grid]).fit(X, y)
    frame = skbayes.load_history(journal)
    known = [*grid.cv_results_["params"]]
    columns = frame[[f"param_{name}" for name in SPACE]].to_numpy()
    known += [dict(zip(SPACE, pair, strict=True)) for pair in columns]
    assert search.trials_[0].params in known
    assert search.trials_[0].expected_improvement is None
    # After at most three configurations of the sources the model decides.
    assert all(t.expected_improvement is not None for t in search.trials_[3:])
    weights = search.optimizer_.fitted_surrogate().weights_
    assert weights.shape == (3,) and np.sum(weights) == pytest.approx(1.0)
    assert search.optimizer_.n_told == 6
    # A list of one search is about other data, too.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = search_of([grid], n_iter=3).fit(X, y)
        same = search_of(grid, n_iter=3).fit(X, y)
    assert search.optimizer_._learned == []
    assert len(same.optimizer_._learned) == 9


@pytest.mark.parametrize("kind", TAKE)
def test_every_search_takes_them(kind):
    space = Space.from_notation(TEXT_SPACE if "Text" in kind.__name__ else TREE_SPACE)
    rows = space.from_uniform(np.random.default_rng(0).random((8, space.n_columns)))
    source = {"params": space.decode(rows), "mean_test_score": np.arange(8.0)}
    search = make(kind, n_iter=6, warm_start_from=[source], random_state=1)
    search.fit(*data(kind))
    assert source["params"][-1] in [t.params for t in search.trials_]


@pytest.mark.parametrize("kind", [one for one in SEARCHES if one not in TAKE])
def test_searches_with_several_objectives_refuse_them(kind, grid):
    with pytest.raises(ValueError, match=f"^warm_start_from: {kind.__name__} .*a list"):
        make(kind, warm_start_from=[grid]).fit(*data(kind))


@pytest.mark.parametrize("surrogate", ["random", "tpe", "graph"])
def test_other_surrogates(surrogate, grid):
    space = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [1e-3, 1e-2, 0.1, 1.0]}
    more = {"surrogate": surrogate, "warm_start_from": [grid], "n_iter": 3}
    search = small_search(PIPELINE, space, **more).fit(X, y)
    assert search.trials_[0].params in grid.cv_results_["params"]


def test_a_resumed_search_is_the_same(grid, tmp_path):
    source = tmp_path / "wine.journal"
    search_of(None, n_iter=3, journal=source).fit(*OTHER)
    sources = [source, grid]
    whole = search_of(sources).fit(X, y)
    path = tmp_path / "iris.journal"
    search_of(sources, n_iter=4, journal=path).fit(X, y)
    resumed = search_of(sources, journal=path).fit(X, y)
    assert [t.params for t in resumed.trials_] == [t.params for t in whole.trials_]
    with pytest.raises(ValueError, match="settings: warm_start_from"):
        search_of([grid, source], journal=path).fit(X, y)
    # A journal that has grown is another source.
    search_of(None, n_iter=4, journal=source).fit(*OTHER)
    with pytest.raises(ValueError, match="settings: warm_start_from"):
        search_of(sources, journal=path).fit(X, y)


def test_sources_that_are_too_small_are_ignored(grid):
    small = GridSearchCV(PIPELINE, {"svc__C": [1.0, 2.0]}, cv=3).fit(*OTHER)
    with pytest.warns(UserWarning, match=r"warm_start_from\[1\] is ignored: 2 of"):
        search = search_of([grid, small], n_iter=3).fit(X, y)
    assert len(search.optimizer_.fitted_surrogate().weights_) == 2
    plain = search_of(None, n_iter=3).fit(X, y)
    with pytest.warns(UserWarning, match=r"warm_start_from\[0\] is ignored"):
        alone = search_of([small], n_iter=3).fit(X, y)
    assert [t.params for t in alone.trials_] == [t.params for t in plain.trials_]


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (3, TypeError, r"^warm_start_from\[1\] must be a fitted search.*int"),
        (SVC(), ValueError, r"^warm_start_from\[1\]: this SVC is not fitted"),
        ("none.journal", FileNotFoundError, r"^warm_start_from\[1\]: there is no jour"),
        ({"params": [{}]}, ValueError, r"^warm_start_from\[1\]: .*mean_test_score"),
    ],
)
def test_a_wrong_source_is_named_by_its_place(grid, source, error, message):
    with pytest.raises(error, match=message):
        search_of([grid, source]).fit(X, y)


def test_options_that_are_objects_are_found_in_a_journal(tmp_path):
    scalers = {"standardscaler": [StandardScaler(), MinMaxScaler()]}
    path = tmp_path / "wine.journal"
    earlier = {**scalers, "svc__C": [1.0, 10.0]}
    small_search(PIPELINE, earlier, n_iter=4, journal=path).fit(*OTHER)
    space = {**scalers, **SPACE}
    search = small_search(PIPELINE, space, n_iter=3, warm_start_from=[path]).fit(X, y)
    (model,) = search.optimizer_._proposer.model.models
    names = [column.name for column in search.optimizer_.space.columns]
    known = {name for name, one in zip(names, model.known, strict=True) if one}
    assert known == {"standardscaler", "svc__C"}
