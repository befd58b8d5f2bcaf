"""Choice of the best row by a rule, and the gain over the estimator's own values."""

import every_search
import numpy as np
import pytest
from every_search import SEARCHES, small_search
from scripted_estimators import scores_nan
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, MultiStageSearchCV, ParetoSearchCV, TradeoffSearchCV
from skbayes.inspection import advice
from skbayes.search.choice import gain_of, rank
from skbayes.trial.records import History

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
SPACE = {"max_depth": [1, 2, 3, None], "min_samples_leaf": (1, 40)}


def make(space=SPACE, kind=BayesSearchCV, estimator=TREE, **params):
    arguments = {"n_iter": 6, "cv": 5, "random_state": 0, **params}
    return kind(estimator, space, **arguments)


class Fixed(BaseEstimator):
    """Estimator whose score on each fold of the search is its parameter `scores`.

    On all other folds the score is `later`.
    """

    def __init__(self, scores=(0.0, 0.0), later=0.0):
        self.scores, self.later = scores, later

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        # The folds of the search are rows 0 to 9 and 10 to 19.
        is_of_search = np.ptp(X) == 9
        return self.scores[int(X[0, 0] == 10)] if is_of_search else self.later


ROWS = np.arange(20.0)[:, None]
OWN_SCORES = ((0.5, 0.5), 0.5)


def fixed(scores, later, refit):
    """Search with the own values, one other configuration, and two bad ones."""
    pairs = [OWN_SCORES, (scores, later), ((0.0, 0.1), 0.0), ((0.1, 0.0), 0.0)]
    points = [dict(zip(("scores", "later"), pair, strict=True)) for pair in pairs]
    space = {name: list({point[name] for point in points}) for name in points[0]}
    params = {"n_iter": 4, "refit": refit, "initial_points": [*points, 4]}
    return small_search(Fixed(*OWN_SCORES), space, **params).fit(ROWS)


class OrderedSearchCV(BayesSearchCV):
    """Search whose rows are the trials in the order of their scores."""

    def _ranked(self, history):
        return History(history.best_first())


def test_all_results_follow_the_order_of_the_rows():
    ordered = make(kind=OrderedSearchCV, return_folds="predict").fit(X, Y)
    plain = make().fit(X, Y)
    assert ordered.best_index_ == 0
    assert ordered.best_params_ == plain.best_params_
    scores = ordered.cv_results_["mean_test_score"]
    assert list(scores) == sorted(plain.cv_results_["mean_test_score"], reverse=True)
    accuracy = np.mean(ordered.oof_predictions_ == Y)
    assert accuracy == pytest.approx(ordered.best_score_)
    # An order of no trials is an error that names the hook.
    unscored = make({"max_depth": [1, 2]}, OrderedSearchCV, scoring=scores_nan)
    with pytest.raises(ValueError, match="hook _ranked of OrderedSearchCV"):
        unscored.fit(X, Y)


def scores_infinity(model, X, y):
    return -np.inf


def raises(model, X, y):
    raise RuntimeError("no score")


RULES = [True, "corrected", "ensemble", lambda results: 0]
SCORERS = [scores_nan, scores_infinity, raises]
OF_SEVERAL = (ParetoSearchCV, TradeoffSearchCV)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "kind, refit, scorer",
    [
        (kind, refit, SCORERS[(i + j) % 3])
        for i, kind in enumerate(SEARCHES)
        for j, refit in enumerate(RULES)
        # Searches of several objectives have no rules.
        if not (issubclass(kind, OF_SEVERAL) and isinstance(refit, str))
    ],
)
def test_a_search_without_any_score_says_that_its_model_is_not_tuned(
    kind, refit, scorer
):
    params = {"scoring": scorer, "refit": refit, "n_iter": 2, "cv": 3}
    if kind is ParetoSearchCV:
        params = {"objectives": {"a": ("max", scorer), "fit_time": "min"}, "n_iter": 2}
    search, data = every_search.make(kind, **params), every_search.data(kind)
    if kind in OF_SEVERAL:
        with pytest.raises(ValueError, match="No trial has (a|both a) (score|value)"):
            search.fit(*data)
        return
    with pytest.warns(UserWarning, match="No trial has a finite score, so the model"):
        search.fit(*data)
    assert not np.isfinite(search.cv_results_["mean_test_score"]).any()


@pytest.mark.filterwarnings("ignore")
def test_infinite_and_missing_scores_are_ranked_as_in_grid_search():
    scores = {1: 0.5, 2: np.inf, 3: np.nan, 4: -np.inf, 5: 0.7, 6: np.nan}

    def scoring(model, X, y):
        return scores[model.max_depth]

    space = {"max_depth": [*scores]}
    grid = GridSearchCV(DecisionTreeClassifier(), space, scoring=scoring).fit(X, Y)
    expected = grid.cv_results_["rank_test_score"]
    np.testing.assert_array_equal(rank(np.array([*scores.values()])), expected)


def test_the_gain_is_the_corrected_difference_on_the_same_folds():
    search = fixed((0.2, 0.9), 0.0, True)
    defaults, best = np.array(OWN_SCORES[0]), np.array([0.2, 0.9])
    optimism = search.best_score_ - search.best_score_corrected_
    assert optimism > 0
    assert search.best_gain_ == pytest.approx(np.mean(best - defaults) - optimism)
    variance = (1 / 2 + 1 / 1) * np.var(best - defaults, ddof=1)
    assert search.best_gain_std_**2 == pytest.approx(variance + optimism**2)
    # The own values have none.
    own_values = fixed((0.1, 0.2), 0.0, True)
    assert own_values.best_index_ == own_values.own_index_
    assert own_values.best_gain_ == own_values.best_gain_std_ == 0.0


def test_the_gain_is_nan_without_a_trial_of_the_current_values():
    search = make(initial_points=None, n_iter=2).fit(X, Y)
    assert search.own_index_ is None
    assert np.isnan(search.best_gain_)
    assert np.isnan(search.best_gain_std_)
    assert np.isnan(gain_of(np.array([1.0]), np.array([0.5]), 1, np.nan)).all()


@pytest.mark.parametrize(
    ("model", "space", "first"),
    [
        # One feature is another value than all features.
        (DecisionTreeClassifier(max_features=1.0), {"max_features": (1, 4)}, None),
        (DecisionTreeClassifier(max_features=1), {"max_features": [0.5, 1.0]}, None),
        (make_pipeline(DecisionTreeClassifier(max_features=1.0)),
         {"decisiontreeclassifier__max_features": [1, 2]}, None),
        (DecisionTreeClassifier(max_features=[]), {"max_features": (0.1, 1.0)}, None),
        (SVC(C=1.0), {"C": [1, 10]}, {"C": 1}),
        (SVC(C=1), {"C": (0.1, 10.0)}, {"C": 1.0}),
    ],
)  # fmt: skip
def test_current_values_may_be_equal_numbers_of_another_type(model, space, first):
    search = small_search(model, space).fit(X, Y)
    assert search.initial_points_ == ([] if first is None else [first])
    assert (search.own_index_ is None) == (first is None)


@pytest.mark.parametrize(
    ("model", "space", "number"),
    [
        (RandomForestClassifier(3), {"max_features": (0.1, 1.0)}, 0.5),
        (ExtraTreesClassifier(3, max_features="log2"), {"max_features": (1, 4)}, 2),
        (make_pipeline(SelectKBest(k=2), RandomForestClassifier(3)),
         {"randomforestclassifier__max_features": (0.1, 0.3)}, 0.3),
    ],
)  # fmt: skip
def test_a_range_begins_with_the_number_that_an_option_means(model, space, number):
    (value,) = small_search(model, space).fit(X, Y).trials_[0].params.values()
    assert value == pytest.approx(number, rel=1e-5)


def test_own_values_win_unless_the_corrected_score_is_better():
    lucky = fixed((0.2, 0.9), 0.0, "corrected")
    assert lucky.best_index_ == lucky.own_index_ == 0
    assert lucky.best_params_["scores"] == OWN_SCORES[0]
    assert lucky.best_score_ == lucky.best_score_corrected_ == 0.5
    usual = fixed((0.2, 0.9), 0.0, True)
    assert usual.best_index_ == 1
    # The difference is the same on both folds, so it is not by chance.
    better = fixed((0.6, 0.6), 0.0, "corrected")
    assert better.best_index_ == 1
    assert better.best_score_ == 0.6


def test_a_rule_gives_the_same_choice_on_workers_and_from_a_journal(tmp_path):
    journal = {"journal": tmp_path / "search.journal"}
    first, *others = (
        make(refit="corrected", pre_dispatch=2, **params).fit(X, Y)
        for params in (journal, journal, {"n_jobs": 2})
    )
    for other in others:
        assert other.best_index_ == first.best_index_
        assert other.best_gain_ == first.best_gain_


STAGED = {"kind": MultiStageSearchCV, "stages": (0.5, 1.0)}
BOOSTED = {
    "estimator": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "space": {"max_iter": (1, 6), "learning_rate": (0.05, 0.5)},
}


@pytest.mark.parametrize(
    "params, metric",
    [
        ({"pruning": True, "constraints": {"fit_time": "<= 100"}}, "f1_macro"),
        ({"trial_limits": {"time": 60.0}, "timeout": 60.0, "n_iter": 2,
          "cv": StratifiedKFold(3, shuffle=True), "return_folds": "predict_proba"},
         None),
        ({"space": {"max_depth": [1, 2, None]}}, None),
        (STAGED, None),
        ({**BOOSTED, "early_stopping": "auto", "cv": 2}, None),
    ],
    ids=["pruning", "limits", "grid", "stages", "rounds"],
)  # fmt: skip
def test_rules_choose_a_row_with_other_options(params, metric, fits_here):
    rule = {"rule": "corrected"}
    if metric:
        params = {**params, "scoring": ["accuracy", metric]}
        rule["metric"] = metric
    search = make(refit=rule, **params).fit(X, Y)
    column = search.cv_results_[f"mean_test_{metric or 'score'}"]
    assert search.best_score_ == column[search.best_index_]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.own_index_ in {None, *range(len(column))}
    assert search.best_gain_ >= 0 or search.own_index_ is None
    assert search.predict(X).shape == Y.shape


@pytest.mark.parametrize("rule", ["corrected", "ensemble"])
@pytest.mark.parametrize("kind", OF_SEVERAL)
def test_searches_with_several_objectives_have_no_rules(kind, rule, no_trials):
    with pytest.raises(ValueError, match="refit"):
        every_search.make(kind, refit=rule).fit(X, Y)


def test_advice_reports_a_gain_that_may_be_chance():
    sentences = advice(fixed((0.2, 0.9), 0.0, True))
    assert any(sentence.startswith("No gain ") for sentence in sentences)
    corrected = advice(fixed((0.2, 0.9), 0.0, "corrected"))
    assert "The estimator's own values are the best choice." in corrected
    assert "± " not in " ".join(advice(fixed((0.9, 0.9), 0.9, True)))
