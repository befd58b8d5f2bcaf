"""Searches with a warm start from another search."""

import math
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from every_search import small_search
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TradeoffSearchCV,
)
from skbayes.optimizer.observed_trials import ObservedTrials

X, y = load_iris(return_X_y=True)
COARSE = {"C": [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]}
FINE = {"C": (0.1, 100.0, "log-uniform")}
OUTSIDE = "warm_start_from: 2 of 6 known configurations are ignored"


@pytest.fixture(scope="module")
def grid():
    return GridSearchCV(SVC(gamma=0.02), COARSE, cv=3).fit(X, y)


def fine(source, **params):
    params = {"n_iter": 5, "cv": 3, "warm_start_from": source, **params}
    return small_search(SVC(gamma=0.02), FINE, **params)


def test_coarse_grid_then_fine_search(grid):
    with pytest.warns(UserWarning, match=OUTSIDE):
        search = fine(grid).fit(X, y)
    # The best known configuration comes first; then the model decides.
    assert search.cv_results_["params"][0] == grid.best_params_
    assert search.best_score_ >= grid.best_score_
    assert search.trials_[0].expected_improvement is None
    assert all(t.expected_improvement is not None for t in search.trials_[1:])
    assert search.optimizer_.n_told == 5


@pytest.mark.parametrize(
    "kind, n_iter, params",
    [
        (BayesSearchCV, 3, {}),
        (BayesSearchCV, 20, {}),
        (BayesSearchCV, 3, {"surrogate": "random"}),
        (BayesSearchCV, 20, {"initial_points": [{"C": 1.0, "gamma": 0.02}, 2]}),
        (MultiStageSearchCV, 20, {"stages": (1.0,)}),
        (HyperTuneSearchCV, 3, {}),
        (ParetoSearchCV, 20, {"objectives": {"accuracy": "max", "model_size": "min"}}),
        (TradeoffSearchCV, 3, {"train_sizes": (0.5, 1.0), "cost": "model_size"}),
    ],
)
def test_other_configurations_than_the_best_known_are_not_tried_again(
    kind, params, n_iter
):
    space = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.02, 0.1]}
    options = {"cv": 3, "random_state": 0, **params}
    first = kind(SVC(), space, n_iter=4, **options).fit(X, y)
    search = kind(SVC(), space, n_iter=n_iter, warm_start_from=first, **options)

    def whole(trials):
        rows = [(trial.params, trial.fidelity.train_fraction) for trial in trials]
        return [trial for trial in rows if kind is TradeoffSearchCV or trial[1] == 1.0]

    trials = whole(search.fit(X, y).trials_)
    again = [trial for trial in trials if trial in whole(first.trials_)]
    best = getattr(first, "pareto_params_", [first.best_params_])
    points = [params for params in params.get("initial_points", []) if params != 2]
    assert len(again) <= len(best) + len(points)
    assert search.stop_reason_ == ("n_iter" if n_iter == 3 else "exhausted")


def study(grid):
    """Return the grid as an Optuna study that minimizes the error."""
    trials = [
        SimpleNamespace(params=params, value=1.0 - score, state=named("COMPLETE"))
        for params, score in zip(
            grid.cv_results_["params"], grid.cv_results_["mean_test_score"], strict=True
        )
    ]
    return SimpleNamespace(trials=trials, directions=[named("MINIMIZE")])


def named(name):
    return SimpleNamespace(name=name)


@pytest.mark.parametrize(
    "kind, params",
    [
        (BayesSearchCV, {}),
        (HyperTuneSearchCV, {"n_subsets": 2, "n_small_iter": 2}),
        (TradeoffSearchCV, {"score_range": (0.0, 1.0)}),
    ],
)
def test_the_best_of_a_study_is_tried_early(grid, kind, params):
    options = {"n_iter": 8, "cv": 3, "random_state": 0, **params}
    source = study(grid)
    search = kind(SVC(gamma=0.02), FINE, warm_start_from=source, **options)
    with pytest.warns(UserWarning, match=OUTSIDE):
        search.fit(X, y)
    whole = [
        trial.params for trial in search.trials_ if trial.fidelity.train_fraction == 1.0
    ]
    # A HyperTuneSearchCV begins with the best of the small samples.
    assert grid.best_params_ in whole[:2]


@pytest.mark.parametrize("kind", [BayesSearchCV, TradeoffSearchCV])
@pytest.mark.parametrize(("values", "n_ignored"), [((1, 3), 1), ([0.5, 1.0], 2)])
def test_all_features_are_not_one_feature(kind, values, n_ignored):
    tree = DecisionTreeClassifier(random_state=0)
    grid = GridSearchCV(tree, {"max_features": [1.0, 1, 2]}, cv=3).fit(X, y)
    search = kind(tree, {"max_features": values}, n_iter=2, random_state=0)
    with pytest.warns(UserWarning, match=rf"{n_ignored} of 3 .*{n_ignored} outside"):
        search.set_params(warm_start_from=grid).fit(X, y)
    with pytest.raises(TypeError, match="other results as initial_points"):
        search.set_params(warm_start_from=[grid]).fit(X, y)


def test_initial_points_precede_the_trials_of_a_warm_start(grid):
    with pytest.warns(UserWarning, match=OUTSIDE):
        search = fine(grid, initial_points=[{"C": 0.5}]).fit(X, y)
    assert search.cv_results_["params"][:2] == [{"C": 0.5}, grid.best_params_]
    with pytest.warns(UserWarning, match=OUTSIDE):
        search = fine(grid, constraints=lambda params: params["C"] < 1.0).fit(X, y)
    assert all(params["C"] < 1.0 for params in search.cv_results_["params"])


@pytest.mark.filterwarnings("ignore:warm_start_from")
def test_a_journal_continues_with_the_same_study(grid, tmp_path):
    path = tmp_path / "journal"
    fine(study(grid), n_iter=3, journal=path).fit(X, y)
    assert len(fine(study(grid), n_iter=4, journal=path).fit(X, y).trials_) == 4
    other = study(grid)
    other.trials[2].value = 0.5
    with pytest.raises(ValueError, match="warm_start_from"):
        fine(other, n_iter=4, journal=path).fit(X, y)
    objectives = {"accuracy": "max", "model_size": "min"}
    search = ParetoSearchCV(SVC(), FINE, objectives, warm_start_from=study(grid))
    with pytest.raises(ValueError, match="a study of Optuna does not name"):
        search.fit(X, y)


def test_the_guiding_metric_of_several_is_learned(grid):
    several = GridSearchCV(
        SVC(gamma=0.02), COARSE, cv=3, scoring=["accuracy", "f1_macro"], refit=False
    ).fit(X, y)
    with pytest.warns(UserWarning, match=OUTSIDE):
        search = fine(several, scoring=["f1_macro", "accuracy"], refit="f1_macro")
        search.fit(X, y)
    assert search.best_score_ >= max(several.cv_results_["mean_test_f1_macro"][2:])


def test_failures_and_times_of_a_study_are_learned(grid, monkeypatch):
    source = study(grid)
    for number, trial in enumerate(source.trials):
        trial.duration = timedelta(seconds=100.0 + number)
    # Failed trials have no score.
    source.trials[3].state.name = "FAIL"
    learned, learn = [], ObservedTrials.learn

    def watched(self, params, score, noise=None, cost=None, **kwargs):
        # A TradeoffSearchCV learns two objectives, and measures its own costs.
        first = score if np.isscalar(score) else score[0]
        learned.append((params["C"], math.isnan(first), cost))
        learn(self, params, score, noise, cost, **kwargs)

    monkeypatch.setattr(ObservedTrials, "learn", watched)
    failures = [(0.1, False), (1.0, True), (10.0, False), (100.0, False)]
    settings = {"n_iter": 1, "cv": 2, "random_state": 0, "warm_start_from": source}
    for kind, params, costs in (
        (BayesSearchCV, {}, [102.0, 103.0, 104.0, 105.0]),
        (TradeoffSearchCV, {"score_range": (0.0, 1.0)}, [None] * 4),
    ):
        learned.clear()
        with pytest.warns(UserWarning, match=OUTSIDE):
            search = kind(SVC(), FINE, **settings, **params).fit(X, y)
        expected = zip(failures, costs, strict=True)
        assert learned == [(*failure, cost) for failure, cost in expected]
        assert search.best_params_["C"] != 1.0


def test_unsupported_sources_are_refused_before_any_fit(no_trials):
    with pytest.raises(TypeError, match="warm_start_from"):
        fine(3).fit(X, y)
    search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)})
    with pytest.raises(ValueError, match="warm_start_from is the search itself. Use"):
        search.set_params(warm_start_from=search)
    search.warm_start_from = search
    with pytest.raises(ValueError, match="warm_start_from is the search itself. Use"):
        search.fit(np.eye(4), [0, 1, 0, 1])
