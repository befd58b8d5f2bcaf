"""Rules E1 … E4: fits that fail."""

import math
import warnings
from operator import itemgetter
from types import SimpleNamespace
from unittest.mock import Mock

import joblib
import numpy as np
import pytest
from every_search import SEARCHES, data, make
from grid_comparison import Sometimes, assert_same_results, searches
from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ShutdownExecutorError,
    TerminatedWorkerError,
)
from scripted_estimators import scores_nan, scores_nothing
from simple_estimators import Whole
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
    load_history,
)
from skbayes.loop.executor import is_death, is_unreadable
from skbayes.loop.failures import FailingStart
from skbayes.space import Choice, Space
from skbayes.trial.plan import Stage
from skbayes.trial.records import FoldResult, History, Trial

X, y = load_iris(return_X_y=True)
ROWS = np.arange(150.0)[:, None]


def search_of(estimator, space, **more):
    return BayesSearchCV(estimator, space, **{"cv": 2, "random_state": 0, **more})


@pytest.mark.parametrize("error_score", [np.nan, -3])
def test_e1_a_number_goes_into_the_failed_folds(error_score):
    grid = {"quality": [0.5, 0.7], "bad": [None, "some"]}
    # Two splits: the training rows begin with an odd and with an even number.
    splits = [(np.arange(1, 80), np.arange(80, 150)), (np.arange(80), np.arange(9))]
    ours, theirs = searches(Sometimes(), grid, cv=splits, error_score=error_score)
    for search in (ours, theirs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(ROWS, y)
        failed = [w for w in caught if issubclass(w.category, FitFailedWarning)]
        assert len(failed) == 1
        assert "2 fits failed out of a total of 8" in str(failed[0].message)
    assert_same_results(ours, theirs)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_e2_a_trial_whose_every_fold_fails_costs_that_trial_only():
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = search_of(Sometimes(), space, n_iter=12)
    with pytest.warns(FitFailedWarning):
        search.fit(X, y)
    failed = [trial for trial in search.trials_ if trial.params["bad"] == "fit"]
    worked = [trial for trial in search.trials_ if trial.params["bad"] is None]
    assert failed and worked and len(search.trials_) == 12
    for trial in failed:
        assert trial.state == "failed"
        assert math.isnan(trial.score)
        assert "cannot be fitted" in trial.error
    assert all(trial.state == "complete" and trial.error is None for trial in worked)
    assert search.best_params_["bad"] is None
    # The model observes the failures and avoids their region.
    assert len(worked) > len(failed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error_score", [100.0, np.nan])
def test_e2_a_wholly_failed_trial_is_no_score_to_the_model(error_score):
    more = {"n_iter": 2, "refit": False, "error_score": error_score}
    search = search_of(Sometimes(), {"bad": ["fit", "none"]}, **more).fit(X, y)
    told = {trial.params["bad"]: trial.score for trial in search.trials_}
    assert math.isnan(told["fit"])
    assert told["none"] == 0.5
    row = search.cv_results_["params"].index({"bad": "fit"})
    np.testing.assert_equal(search.cv_results_["mean_test_score"][row], error_score)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_e3_errors_of_the_refit_always_rise_and_lose_nothing(error):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise error("too many rows")
            return super().fit(X, y)

    search = search_of(FailsOnAll(), {"quality": [1, 2]}, n_iter=2)
    with pytest.raises(error, match="too many rows"):
        search.fit(X, y)
    assert search.best_params_ == {"quality": 2}
    assert search.best_score_ == search.cv_results_["mean_test_score"][1] == 2
    assert len(search.trials_) == search.optimizer_.n_told == 2
    assert search.stop_reason_ == "exhausted"
    assert search.target_metric_ == "score" and callable(search.scorer_)
    assert not hasattr(search.best_estimator_, "classes_")
    # A callable refit that raises an exception does not either.
    with pytest.raises(ZeroDivisionError):
        search.set_params(refit=lambda results: 1 // 0).fit(X, y)
    assert len(search.trials_) == len(search.cv_results_["params"]) == 2


def test_a_constraint_that_raises_later_ends_the_search():
    def late(params):
        if params["quality"] > 0.9:
            raise ZeroDivisionError
        return True

    search = search_of(Sometimes(), {"quality": (0.0, 1.0)}, constraints=late)
    with pytest.raises(ValueError, match="The constraint raised ZeroDivisionError"):
        search.fit(X, y)


def both(estimator, X, y):
    return {"a": estimator.quality, "b": 1.0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "scoring, refit", [(both, "a"), (["accuracy", "recall_macro"], "accuracy")]
)
def test_e4_several_metrics_of_which_the_first_trial_has_none(scoring, refit):
    grid = [{"bad": ["fit"]}, {"quality": [0.1, 0.3]}]
    ours, theirs = searches(Sometimes(), grid, cv=2, scoring=scoring, refit=refit)
    assert_same_results(ours.fit(X, y), theirs.fit(X, y))
    names = {"a", "b"} if scoring is both else {*scoring}
    assert ours.trials_[0].scores.keys() == names
    for name in names:
        assert np.isnan(ours.cv_results_[f"mean_test_{name}"][0])


@pytest.mark.filterwarnings("ignore:One or more of the")
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_what_set_params_refuses_for_one_proposal_costs_that_trial(
    scoring, monkeypatch
):
    # Every single value is valid, and the configurations that check the names are, too.
    allowed = [{"quality": 0.5, "bad": None}]
    monkeypatch.setattr("skbayes.space.Space.covering_sample", lambda self: allowed)
    space = {"quality": [0.5, 2.0], "bad": [None, "params"]}
    refit = scoring is None or "accuracy"
    more = {"return_train_score": True, "scoring": scoring, "refit": refit}
    more["error_score"] = np.nan if scoring is None else -1.0
    search = search_of(Sometimes(), space, n_iter=4, **more)
    with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 8"):
        search.fit(X, y)
    (refused,) = [t for t in search.trials_ if t.state == "failed"]
    assert refused.params == {"quality": 2.0, "bad": "params"}
    assert "do not go together" in refused.error
    assert refused.started is None and not refused.fit_times.any()
    assert refused.scores.keys() == {"score"} if scoring is None else {*scoring}
    row = search.cv_results_["params"].index(refused.params)
    for name in refused.scores:
        score = search.cv_results_[f"mean_test_{name}"][row]
        np.testing.assert_equal(score, more["error_score"])
    search.set_params(error_score="raise")
    with pytest.raises(ValueError, match="do not go together"):
        search.fit(X, y)


def test_a_scorer_that_returns_no_number_raises():
    scoring = {"scoring": lambda estimator, X, y: "high"}
    with pytest.raises(ValueError, match="must return a number"):
        search_of(SVC(), {"C": [1, 2]}, n_iter=2, **scoring).fit(X, y)


def test_infinite_scores_are_failures_to_the_model():
    def scoring(estimator, X, y):
        return math.inf if estimator.quality < 0.5 else estimator.quality

    space = {"quality": [0.2, 0.8]}
    search = search_of(Sometimes(), space, n_iter=2, scoring=scoring)
    with pytest.warns(UserWarning, match="non-finite"):
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        search.fit(X, y)
    assert [trial.state for trial in search.trials_] == ["failed", "complete"]


# -- data that nothing can be learned from ---------------------------------------------

WITH_GAPS = X.copy()
WITH_GAPS[::2, 1] = np.nan
WITH_WORDS = X.astype(object)
WITH_WORDS[:, 1] = [f"word {i}" for i in range(150)]
SVC_SPACE = {"C": (0.1, 10.0), "kernel": ["rbf", "linear"]}


class Unlearnable(ClassifierMixin):
    """Estimator that always fails in the same way, with a number in the message."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        raise LookupError(f"cannot learn from {X.shape[0]} rows\nsecond line")


class UnlearnableTree(Unlearnable, DecisionTreeClassifier):
    # Before 1.7 scikit-learn looks for `check_input` in the signature.
    def fit(self, X, y, check_input=True):
        return super().fit(X, y)


class UnlearnableTexts(Unlearnable, LogisticRegression):
    pass


class CountedSVC(SVC):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def counts():
    for cls in (UnlearnableTree, UnlearnableTexts, CountedSVC):
        cls.n_fits = 0


@pytest.mark.parametrize(
    "kind, n_points", [*((kind, 1) for kind in SEARCHES), (SEARCHES[0], 4)]
)
def test_every_search_stops_when_nothing_can_be_fitted(kind, n_points):
    text = kind is TextRepresentationSearchCV
    estimator = UnlearnableTexts() if text else UnlearnableTree()
    search = make(kind, estimator=estimator, n_iter=40, pre_dispatch=n_points)
    with pytest.raises(LookupError) as raised:
        search.fit(*data(kind))
    assert str(raised.value).splitlines()[0].startswith("cannot learn from ")
    (note,) = raised.value.__notes__
    assert "All the 6 fits of the first 3 trials failed in this way" in note
    # With one worker the trials in flight have not begun; two fits ask for the reason.
    assert type(estimator).n_fits == 3 * 2 + 2
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize(
    ("X", "y", "message", "error_score"),
    [
        (WITH_WORDS, y, "could not convert string to float: 'word ", np.nan),
        (WITH_GAPS, y, "Input X contains NaN.", 0.0),
        (X, np.zeros(150, int), "The number of classes has to be greater than", 0.0),
    ],
)
def test_mistakes_in_the_data_cost_three_trials(X, y, message, error_score):
    search = search_of(CountedSVC(), SVC_SPACE, error_score=error_score)
    with pytest.raises(ValueError, match=f"^{message}"):
        search.fit(X, y)
    assert CountedSVC.n_fits == 3 * 2 + 2


def test_the_first_three_trials_in_flight_end():
    search = search_of(UnlearnableTree(), {"max_depth": (1, 100)}, pre_dispatch=4)
    with (
        joblib.parallel_config("threading", n_jobs=2),
        pytest.raises(LookupError, match="All the 6 fits of the first 3 trials"),
    ):
        search.fit(X, y)


@pytest.mark.parametrize("n_iter", [1, 2])
def test_fewer_trials_end_as_grid_search_does(n_iter):
    search = make(SEARCHES[0], estimator=UnlearnableTree(), n_iter=n_iter)
    with pytest.raises(ValueError, match=f"All the {2 * n_iter} fits failed"):
        search.fit(X, y)


# From scikit-learn 1.8 on, `penalty` is deprecated.
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_the_space_fixes_is_tried_with_the_rest_as_it_is():
    space = {"penalty": ["l1"], "C": (0.1, 10.0)}
    search = search_of(LogisticRegression(solver="lbfgs"), space)
    with pytest.raises(ValueError, match="Solver lbfgs supports only .*") as raised:
        search.fit(X, y)
    assert "All the 6 fits of the first 3 trials" in raised.value.__notes__[0]


def test_unlucky_configurations_do_not_end_a_search():
    points = [{"quality": q, "bad": "fit"} for q in (0.1, 0.2, 0.3)]
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = search_of(Sometimes(), space, n_iter=8, initial_points=points)
    with pytest.warns():
        search.fit(X, y)
    assert [trial.state for trial in search.trials_[:3]] == ["failed"] * 3
    assert search.best_params_["bad"] is None and len(search.trials_) == 8


def test_an_estimator_that_fails_as_it_is_may_be_mended_by_other_options():
    pipeline = Pipeline([("fill", "passthrough"), ("svc", SVC())])
    space = {"fill": ["passthrough", SimpleImputer()], "svc__C": (0.1, 10.0)}
    points = [{"fill": "passthrough", "svc__C": C} for C in (1.0, 2.0, 3.0)]
    search = search_of(pipeline, space, n_iter=6, initial_points=points)
    with pytest.warns():
        search.fit(WITH_GAPS, y)
    assert isinstance(search.best_params_["fill"], SimpleImputer)


def test_one_word_among_the_numbers_costs_three_trials():
    words = X.astype(object)
    # It is in the test rows of the first split, whose fit works.
    words[3, 1] = "word"
    search = search_of(CountedSVC(), SVC_SPACE, cv=3)
    with (
        pytest.raises(ValueError, match="^could not convert") as raised,
        pytest.warns(UserWarning, match="Scoring failed"),
    ):
        search.fit(words, y)
    assert CountedSVC.n_fits == 3 * 3 + 2
    assert "6 of 9 fits of the first 3 trials" in raised.value.__notes__[0]


@pytest.mark.parametrize("placeholder", [DummyClassifier(), None])
def test_a_placeholder_of_a_searched_step_does_not_hide_the_data(placeholder):
    pipeline = Pipeline([("clf", placeholder)])
    space = {"clf": [CountedSVC(), CountedSVC(kernel="linear")], "clf__C": (0.1, 10.0)}
    search = search_of(pipeline, space, scoring="accuracy")
    with pytest.raises(ValueError, match="^could not convert string to float: 'word "):
        search.fit(WITH_WORDS, y)
    assert CountedSVC.n_fits == 3 * 2 + 2


def test_dicts_and_sizes_of_training_sets_do_not_hide_the_data():
    space = [SVC_SPACE, {"C": (0.1, 10.0)}]
    search = TradeoffSearchCV(CountedSVC(), space, cv=2, random_state=0)
    with pytest.raises(ValueError, match="Input X contains NaN."):
        search.fit(WITH_GAPS, y)
    assert CountedSVC.n_fits == 3 * 2 + 2


def test_a_warm_started_search_stops_too():
    earlier = search_of(SVC(), SVC_SPACE, n_iter=4).fit(X, y)
    search = search_of(SVC(), SVC_SPACE, warm_start_from=earlier)
    with pytest.raises(ValueError, match="Input X contains NaN.") as raised:
        search.fit(WITH_GAPS, y)
    assert "All the 6 fits" in raised.value.__notes__[0]


def test_a_journal_stays_readable_and_goes_on_when_fits_work(tmp_path):
    path = tmp_path / "a.journal"

    class Mended(UnlearnableTree):
        broken = True

        def fit(self, X, y, check_input=True):
            return super().fit(X, y) if self.broken else self.work(X, y)

        def work(self, X, y):
            return DecisionTreeClassifier.fit(self, X, y)

    search = make(SEARCHES[0], estimator=Mended(random_state=0), journal=path)
    for _ in range(2):  # the second one recalls the trials
        with pytest.raises(LookupError, match="All the 6 fits of the first 3 trials"):
            search.fit(X, y)
        assert load_history(path)["state"].tolist() == ["failed"] * 3
    Mended.broken = False
    with pytest.warns():  # of the fits that failed
        search.fit(X, y)
    assert [trial.state for trial in search.trials_[:4]] == ["failed"] * 3 + [
        "complete"
    ]


def _trial(number, *errors, skipped=0, score=math.nan):
    folds = [
        FoldResult({"score": math.nan if error else score}, fit_error=error)
        for error in errors
    ]
    folds += [FoldResult(status="skipped")] * skipped
    return Trial(number, {"a": number / 4}, folds, math.nan, state="failed")


def _traceback(line):
    return f"Traceback (most recent call last):\n  File 'a.py'\n{line}\n"


BAD = _traceback("ValueError: bad")


@pytest.mark.parametrize(
    ("trials", "asks"),
    [
        ([_trial(k, BAD, skipped=1) for k in range(3)], True),
        ([_trial(k, _traceback(f"ValueError: bad {k}")) for k in range(3)], True),
        ([_trial(k, _traceback(f"ValueError: '{k}'\n'b'")) for k in range(3)], True),
        ([_trial(k, BAD, None) for k in range(3)], True),
        # No fit has a score.
        ([_trial(k, BAD, None) for k in range(2)] + [_trial(2, None, None)], True),
        ([_trial(k, None, None) for k in range(3)], True),
        ([_trial(k, BAD, BAD) for k in range(2)], False),
        ([_trial(k, BAD, BAD) for k in range(4)], False),
        ([_trial(k, BAD, BAD) for k in range(3, 6)], False),
        ([_trial(0, BAD), _trial(1, BAD, None, score=0.5), _trial(2, BAD)], False),
        ([_trial(k, _traceback(e)) for k, e in enumerate(["A: 1", "B: 1", "A: 1"])], 0),
        # Configurations that killed a worker are not fitted here.
        ([_trial(k, "The worker that ran this trial died: 9") for k in range(3)], 0),
    ],
)
def test_when_it_is_asked_why_all_fits_fail(trials, asks):
    asked = []

    def fit_here(fold):
        asked.append(fold.params)
        return FoldResult({"score": 0.5})

    space = Space.from_notation({"a": (0.0, 1.0)})
    objective = Mock(side_effect=itemgetter("score"))
    run = SimpleNamespace(
        space=space, objective=objective, missing_score=math.nan, estimator=Whole()
    )
    start = FailingStart(run, Stage(None, 9), SimpleNamespace(fit_here=fit_here))
    assert start(History(trials)) is False
    # The first fit succeeded, and the fit with the only parameter did, too.
    assert asked[:1] == ([{}] if asks else [])
    assert [[*params] for params in asked[1:]] == ([["a"]] if asks else [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "scoring, more, error",
    [
        (scores_nothing, {}, (KeyError, "'a scorer'")),
        (scores_nan, {"trial_limits": {"time": 600}}, (ValueError, "the score of eac")),
        (
            {"a": scores_nothing, "b": "accuracy"},
            {"refit": "a", "error_score": 0.0},
            (KeyError, "'a scorer'"),
        ),
    ],
)
def test_scoring_that_always_fails_ends_the_search(scoring, more, error):
    space = {"quality": (0.0, 1.0)}
    search = search_of(Sometimes(), space, scoring=scoring, **more)
    with pytest.raises(error[0], match=error[1]) as caught:
        search.fit(X, y)
    note = caught.value.__notes__[-1]
    assert "All the 6 fits of the first 3 trials had no score" in note


def test_scores_that_are_all_infinite_end_a_continued_search_too(tmp_path):
    def infinite(estimator, X, y):
        return math.inf

    space, path = {"quality": (0.0, 1.0)}, tmp_path / "a.journal"
    search = search_of(Sometimes(), space, journal=path, scoring=infinite)
    for _ in range(2):
        with pytest.raises(ValueError, match="the score of each fit is inf"):
            search.fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error_score", [0.0, math.nan])
def test_scoring_that_sometimes_fails_does_not_end_the_search(error_score):
    def scoring(model, X, y):
        if model.quality < 0.9:
            raise KeyError("a scorer")
        return model.quality

    space = [0.1, 0.2, 0.3, 0.9]
    more = {"scoring": scoring, "error_score": error_score}
    points = [{"quality": quality} for quality in space]
    search = search_of(Sometimes(), {"quality": space}, initial_points=points, **more)
    assert search.fit(X, y).best_params_ == {"quality": 0.9}


def test_a_death_is_told_from_a_failure():
    unreadable = BrokenProcessPool("A task has failed to un-serialize.")
    in_other_words = RuntimeError("The executor underlying Parallel was shut down.")
    in_other_words.__context__ = ShutdownExecutorError()
    for error in (TerminatedWorkerError(), in_other_words, unreadable):
        assert is_death(error)
        assert is_unreadable(error) == (error is unreadable)
    assert not is_death(RuntimeError("un-serialize"))
    assert not is_unreadable(RuntimeError("un-serialize"))


STEPS = Pipeline([("scale", SimpleImputer()), ("tree", Whole())])
OTHERS = {"min_samples_leaf": (1, 5), "splitter": ["best", "random"]}


@pytest.mark.parametrize(
    "estimator, space, named, more",
    [
        (Whole(), {"max_depth": (3.0, 10.0)}, "'max_depth'", {}),
        (Whole(), {"share": (2.0, 3.0)}, "'share'", {"n_jobs": 2}),
        (Whole(), {"share": (1.5, 3.0)}, "'share'", {"timeout": 600}),
        (Whole(), {"kernel": ["x", "y"]}, "'kernel'", {"error_score": -1.0}),
        (Whole(), {"kernel": Choice({"a": {"share": (1.5, 3.0)}})}, "'share'", {}),
        (STEPS, {"tree__share": (1.5, 3.0)}, "'tree__share'", {}),
        (
            STEPS,
            {"tree": Choice({Whole(): {"tree__share": (1.5, 3.0)}})},
            "'tree__share'",
            {},
        ),
        (
            STEPS,
            {"tree__share": (1.5, 3.0), "scale": [SimpleImputer(), "passthrough"]},
            "'tree__share'",
            {},
        ),
    ],
)
def test_the_parameter_whose_values_fail_is_named(estimator, space, named, more):
    prefix = "tree__" if estimator is STEPS else ""
    others = {prefix + name: values for name, values in OTHERS.items()}
    search = search_of(estimator, {**space, **others}, n_iter=30, **more)
    with pytest.raises(ValueError, match=f"search_spaces: the values of {named}") as e:
        search.fit(X, y)
    assert isinstance(e.value.__cause__, RuntimeError)
    whole = "max_depth" in space
    assert ("For integers, write (3, 10)." in str(e.value)) == whole
    assert ("For integers" in str(e.value)) == whole
    assert ". The fits of the first 3 trials" in str(e.value)


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_parameter_is_named_by_each_search(kind):
    if kind is TextRepresentationSearchCV:
        return
    more = {"estimator": Whole(), "search_spaces": {"share": (1.5, 3.0), **OTHERS}}
    if "complexity" in make(kind).get_params():
        more["complexity"] = {"min_samples_leaf": 1}
    with pytest.raises(ValueError, match="search_spaces: the values of 'share'"):
        make(kind, **more).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_range_with_the_own_value_of_the_estimator_is_not_blamed():
    # The first three configurations fail, but the estimator's own value would not.
    points = [{"share": share, "max_depth": 2} for share in (2.0, 2.5, 3.0, 0.5)]
    space = {"share": (0.1, 200.0), "max_depth": [2, 3]}
    search = search_of(Whole(share=0.9), space, n_iter=4, initial_points=points)
    search.fit(X, y)
    assert search.best_params_["share"] == 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.parametrize(
    "space", [{"kernel": list("wxyza")}, {"share": [1.5, 2.0, 3.0, 0.5]}]
)
def test_values_that_fail_by_chance_do_not_end_the_search(space):
    search = search_of(Whole(kernel="b"), space, n_iter=5).fit(X, y)
    states = [trial.state for trial in search.trials_]
    assert states[:3] == ["failed"] * 3
    assert "complete" in states
