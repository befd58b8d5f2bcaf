"""Searches that find the number of rounds within one fit per fold."""

import numpy as np
import pytest
from round_outcomes import rounds_of_folds
from scipy.stats import randint
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    ShuffleSplit,
    StratifiedKFold,
    check_cv,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    compat,
)
from skbayes.evaluation.trial import TrialState
from skbayes.space import Integer

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3], Y[::3]
XR, YR = (part[::3] for part in load_diabetes(return_X_y=True))
CV = StratifiedKFold(3, shuffle=True, random_state=0)
RATE = {"learning_rate": (0.02, 0.5, "log-uniform")}


def boosting(**params):
    return HistGradientBoostingClassifier(
        random_state=0, min_samples_leaf=5, max_leaf_nodes=4, **params
    )


def search(estimator=None, spaces=RATE, **params):
    given = {"n_iter": 3, "cv": CV, "random_state": 0, "rounds": 20, **params}
    kind = given.pop("kind", BayesSearchCV)
    return kind(boosting() if estimator is None else estimator, spaces, **given)


def complete_rows(fitted):
    return [t for t in fitted.trials_ if t.state == TrialState.COMPLETE]


def check_scores_are_those_of_plain_fits(fitted, X, y, cv, scoring=None):
    splits = list(check_cv(cv, y, classifier=is_classifier(fitted)).split(X, y))
    metric = fitted.target_metric_
    for trial in complete_rows(fitted):
        for i, rounds in enumerate(rounds_of_folds(fitted, trial)):
            model = clone(fitted.estimator).set_params(
                **trial.params, **{name_of_rounds(fitted): rounds}
            )
            if "early_stopping" in model.get_params():
                model.set_params(early_stopping=False)
            expected = cross_validate(
                model, X, y, cv=[splits[i]], scoring=scoring, return_train_score=True
            )
            for kind, found in (("test", trial.scores), ("train", trial.train_scores)):
                for name, scores in (found or {}).items():
                    [score] = expected[f"{kind}_{name}"]
                    assert scores[i] == pytest.approx(score, rel=1e-9)
        assert trial.score == pytest.approx(np.mean(trial.scores[metric]), abs=1e-15)


def name_of_rounds(fitted):
    names = ("max_iter", "n_estimators", "iterations")
    return next(n for n in fitted.best_params_ if n.split("__")[-1] in names)


# The probabilities of LightGBM are computed up to rounding, which decides about ties.
# Its early releases miss the names of the columns of an array.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_scores_of_lightgbm_are_those_of_plain_fits_with_the_rounds():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, min_child_samples=5)
    estimator = make_pipeline(StandardScaler(), model)
    spaces = {f"lgbmclassifier__{name}": value for name, value in RATE.items()}
    fitted = search(estimator, spaces, scoring="neg_log_loss").fit(X, Y)
    check_scores_are_those_of_plain_fits(fitted, X, Y, CV, "neg_log_loss")
    assert fitted.best_score_ == max(t.score for t in complete_rows(fitted))
    expected = clone(estimator).set_params(**fitted.best_params_).fit(X, Y)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X))


def test_samplers_of_a_pipeline_do_not_change_the_scored_rows():
    pipeline = pytest.importorskip("imblearn.pipeline")
    sampling = pytest.importorskip("imblearn.under_sampling")
    sampler = sampling.RandomUnderSampler(random_state=0)
    model = pipeline.make_pipeline(sampler, boosting())
    spaces = {"histgradientboostingclassifier__learning_rate": (0.02, 0.5)}
    fitted = search(model, spaces, rounds=12, n_iter=2).fit(X, Y)
    check_scores_are_those_of_plain_fits(fitted, X, Y, CV)


def test_scores_of_several_metrics_and_of_a_regressor_are_those_of_plain_fits():
    boosting = GradientBoostingRegressor(random_state=0)
    fitted = search(boosting, cv=3).fit(XR, YR)
    check_scores_are_those_of_plain_fits(fitted, XR, YR, 3)
    scoring = ["accuracy", "neg_log_loss"]
    more = {"refit": "neg_log_loss", "return_train_score": True, "n_iter": 2}
    fitted = search(scoring=scoring, **more).fit(X, Y)
    check_scores_are_those_of_plain_fits(fitted, X, Y, CV, scoring)
    columns = {f"{kind}_{name}" for kind in ("test", "train") for name in scoring}
    assert columns < set(fitted.learning_curves_.columns)


def test_a_single_split_is_scored_at_its_own_choice():
    cv = ShuffleSplit(1, random_state=0)
    fitted = search(cv=cv, n_iter=2, scoring="neg_log_loss").fit(X, Y)
    for trial in fitted.trials_:
        assert trial.score == max(trial.folds[0].extras["curves"]["score"])


def test_a_fit_stops_if_its_score_does_not_improve():
    spaces = {"learning_rate": [0.9]}
    fitted = search(spaces=spaces, rounds=300, n_iter=1, scoring="neg_log_loss")
    (trial,) = fitted.fit(X, Y).trials_
    # The best score is reached early. The patience is a third of the maximum, or 50.
    assert trial.rounds < 50 and fitted.learning_curves_["rounds"].max() < 150
    assert trial.folds[0].extras["max_rounds"] == 300


def test_epochs_are_counted_by_passes_and_refitted_by_passes():
    model = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
    spaces = {"sgdclassifier__alpha": (1e-6, 1e-1, "log-uniform")}
    fitted = search(model, spaces, rounds=15).fit(X, Y)
    rounds = fitted.best_params_["sgdclassifier__max_iter"]
    assert rounds == fitted.cv_results_["rounds"][fitted.best_index_] <= 15
    scaled = StandardScaler().fit_transform(X)
    alpha = fitted.best_params_["sgdclassifier__alpha"]
    by_hand = SGDClassifier(random_state=0, alpha=alpha)
    for _ in range(rounds):
        by_hand.partial_fit(scaled, Y, classes=[0, 1])
    np.testing.assert_array_equal(fitted.predict(X), by_hand.predict(scaled))


def test_the_number_of_rounds_is_taken_out_of_the_search_space():
    spaces = {**RATE, "max_iter": (5, 20)}
    fitted = search(spaces=spaces, rounds="auto").fit(X, Y)
    assert list(fitted.search_spaces_) == ["learning_rate"]
    assert fitted.learning_curves_["rounds"].max() <= 20
    assert set(fitted.best_params_) == {"learning_rate", "early_stopping", "max_iter"}
    assert set(fitted.trials_[0].params) == {"learning_rate"}
    assert set(fitted.cv_results_["params"][0]) == set(fitted.best_params_)
    as_list = search(spaces=[{**RATE, "max_iter": [5, 12]}], rounds="auto").fit(X, Y)
    assert as_list.learning_curves_["rounds"].max() <= 12
    auto = search(spaces="auto", rounds=8, n_iter=3).fit(X, Y)
    assert "learning_rate" in auto.search_spaces_
    assert "max_iter" not in auto.search_spaces_


@pytest.mark.parametrize(
    "values",
    [randint(3, 13), Integer(3, 12), (3, 12, "log-uniform"), np.array([12, 3])],
)
def test_the_largest_value_of_each_notation_is_the_limit(values):
    spaces = {**RATE, "max_iter": values}
    fitted = search(spaces=spaces, rounds="auto", n_iter=1).fit(X, Y)
    assert fitted.trials_[0].folds[0].extras["max_rounds"] == 12


@pytest.mark.parametrize(
    ("estimator", "params", "message"),
    [
        (SVC(), {"spaces": {"C": (1, 2)}}, "rounds=20: SVC provides no scores after"),
        (None, {"spaces": {"max_iter": (2, 9)}}, "search_spaces, which has no other"),
        (None, {"rounds": 0}, "'rounds' parameter"),
        (None, {"rounds": True}, "rounds must be an int, 'auto' or None"),
        (None, {"rounds": "many"}, "'rounds' parameter"),
    ],
)
def test_what_cannot_be_is_refused_before_any_fit(estimator, params, message):
    with pytest.raises(ValueError, match=message):
        search(estimator, **params).fit(X, Y)


def log_likelihood(estimator, X, y):
    proba = estimator.predict_proba(X)[:, 1]
    return np.mean(np.log(np.where(y == 1, proba, 1 - proba)))


def pruning_search(**params):
    spaces = {"learning_rate": (0.05, 0.5, "log-uniform"), "max_leaf_nodes": (2, 8)}
    spaces["l2_regularization"] = (1e-3, 1e6, "log-uniform")
    given = {"rounds": 64, "n_iter": 14, "scoring": log_likelihood, "racing": True}
    given |= {"surrogate": "random", "initial_points": None, "pre_dispatch": 1}
    return search(spaces=spaces, **given | params)


@pytest.fixture(scope="module")
def pruning():
    return pruning_search().fit(X, Y)


def test_a_trial_without_a_chance_is_pruned_after_its_first_rounds(pruning):
    fitted = pruning
    pruned = [t for t in fitted.trials_ if t.state == TrialState.PRUNED]
    at_once = [t for t in pruned if t.rounds is None]
    assert at_once and all(fitted.cv_results_["rounds"][t.number] == 0 for t in at_once)
    first = {t.number: t.folds[t.number % 3].extras for t in pruned}
    assert all(len(first[t.number]["curves"]["score"]) < 42 for t in at_once)
    results = fitted.cv_results_
    whole = [t.score for t in complete_rows(fitted)]
    for trial in pruned:
        assert trial.noise > 0.0
        assert trial.score < max(whole)
        assert np.isnan(results["mean_test_score"][trial.number])
        assert results["state"][trial.number] == "pruned"
        last = trial.folds[(trial.number - 1) % 3]
        assert "curves" in first[trial.number]
        assert "curves" not in last.extras and not last.is_fitted
    assert fitted.trials_[fitted.best_index_].state == TrialState.COMPLETE


def curves_of(fold):
    return fold.extras.get("curves")


def same_trials(one, other):
    for name in ("params", "rounds", "state"):
        found = [getattr(trial, name) for trial in one.trials_]
        assert found == [getattr(trial, name) for trial in other.trials_]
    for a, b in zip(one.trials_, other.trials_, strict=True):
        assert [curves_of(f) for f in a.folds] == [curves_of(f) for f in b.folds]
        np.testing.assert_array_equal(a.score, b.score)
    assert one.best_params_ == other.best_params_


def test_a_journal_goes_on_where_it_was(tmp_path, pruning):
    path = tmp_path / "run.journal"
    pruning_search(journal=path).set_params(n_iter=7).fit(X, Y)
    resumed = pruning_search(journal=path).fit(X, Y)
    same_trials(resumed, pruning)
    assert resumed.learning_curves_.equals(pruning.learning_curves_)
    # Each fit in a process of its own.
    limited = search(trial_limits={"time": 60.0}, n_iter=2).fit(X, Y)
    same_trials(limited, search(n_iter=2).fit(X, Y))


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (MultiStageSearchCV, {"n_iter": 8}),
        (HyperTuneSearchCV, {"n_iter": 3, "complexity": {"learning_rate": 1}}),
    ],
)
def test_searches_on_samples_count_rounds_too(kind, more):
    fitted = search(kind=kind, **more).fit(X, Y)
    rounds = fitted.cv_results_["rounds"][fitted.best_index_]
    assert fitted.best_params_["max_iter"] == rounds > 0


@pytest.mark.parametrize("looks_at", ["attribute", "other rows"])
def test_a_scorer_that_needs_more_than_predictions_fails(looks_at):
    def scorer(estimator, X, y):
        if looks_at == "attribute":
            return len(estimator.n_trees_per_iteration_)
        return np.mean(estimator.predict(X[::-1]) == y[::-1])

    with pytest.warns(UserWarning), pytest.warns(match="Scoring failed"):
        fitted = search(scoring=scorer, n_iter=2).fit(X, Y)
    assert np.isnan(fitted.cv_results_["mean_test_score"]).all()
    message = "can only use predictions|can only predict the rows"
    with pytest.raises((AttributeError, ValueError), match=message):
        search(scoring=scorer, n_iter=2, error_score="raise").fit(X, Y)


def test_a_scorer_that_fails_in_later_rounds_fails_for_the_fold():
    def scorer(estimator, X, y):
        if np.max(estimator.predict_proba(X)) > 0.7:
            raise ArithmeticError("too sure")
        return np.mean(estimator.predict(X) == y)

    with pytest.warns(UserWarning, match="too sure"):
        fitted = search(scoring=scorer, n_iter=2, error_score=-5.0).fit(X, Y)
    np.testing.assert_array_equal(fitted.trials_[0].scores["score"], [-5.0] * 3)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_a_function_may_return_the_error_score_in_all_rounds(value):
    def scorer(estimator, X, y):
        return value

    found = search(scoring=scorer, n_iter=2, rounds=3, error_score=value).fit(X, Y)
    plain = search(scoring=scorer, n_iter=2, rounds=None, error_score=value).fit(X, Y)
    for name in ("mean_test_score", "rank_test_score"):
        assert np.array_equal(found.cv_results_[name], plain.cv_results_[name], True)


@pytest.mark.filterwarnings("ignore")
def test_of_several_metrics_one_that_fails_has_the_error_score():
    def failing(y, predicted):
        raise ArithmeticError("never")

    more = {"scoring": {"accuracy": "accuracy", "failing": make_scorer(failing)}}
    more |= {"refit": "accuracy", "n_iter": 2, "error_score": -5.0}
    fitted = search(**more).fit(X, Y)
    assert fitted.best_score_ > 0.8
    assert set(fitted.cv_results_["mean_test_failing"]) == {-5.0}
    spaces = {"learning_rate": [0.1, 0.3], "max_leaf_nodes": [4, 1]}
    fitted = search(spaces=spaces, n_iter=4).fit(X, Y)
    states = {t.params["max_leaf_nodes"]: t.state for t in fitted.trials_}
    assert states == {4: TrialState.COMPLETE, 1: TrialState.FAILED}


@pytest.mark.skipif(not compat.HAS_CALLBACKS, reason="scikit-learn before 1.9")
def test_callbacks_see_each_fit_once():
    from recording_callbacks import Recorder

    def events(**params):
        recorder = Recorder()
        model = boosting(max_iter=5, early_stopping=False)
        search(model, n_iter=3, **params).set_callbacks(recorder).fit(X, Y)
        return [(hook, tuple(path), name) for hook, path, name, _ in recorder.events]

    assert events(rounds=5) == events(rounds=None)


def test_columns_of_a_data_frame_reach_the_model():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :4], columns=list("abcd"))
    frame["e"] = pandas.Categorical(np.where(X[:, 5] > X[:, 5].mean(), "high", "low"))
    scaled = (StandardScaler(), ["a", "b"])
    columns = make_column_transformer(scaled, remainder="passthrough")
    columns.set_output(transform="pandas")
    model = make_pipeline(columns, boosting(categorical_features="from_dtype"))
    spaces = {"histgradientboostingclassifier__learning_rate": (0.02, 0.5)}
    fitted = search(model, spaces, rounds=12).fit(frame, Y)
    check_scores_are_those_of_plain_fits(fitted, frame, Y, CV)
    assert list(fitted.feature_names_in_) == list("abcde")
    assert len(fitted.predict(frame)) == len(Y)


def test_weights_are_routed_to_the_scorer():
    weights = np.random.default_rng(0).uniform(0.1, 5.0, len(Y))
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        model = boosting().set_fit_request(sample_weight=True)
        fitted = search(model, scoring=scorer, n_iter=2, rounds=9)
        fitted.fit(X, Y, sample_weight=weights)
        trial = fitted.trials_[0]
        rounds = rounds_of_folds(fitted, trial)[0]
        plain = boosting(early_stopping=False, max_iter=rounds, **trial.params)
        train, test = next(CV.split(X, Y))
        plain.fit(X[train], Y[train], sample_weight=weights[train])
        expected = plain.score(X[test], Y[test], sample_weight=weights[test])
    assert trial.scores["score"][0] == pytest.approx(expected, rel=1e-12)
