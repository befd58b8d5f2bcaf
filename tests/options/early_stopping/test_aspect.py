"""Searches that find the number of rounds within one fit per fold."""

import pickle

import numpy as np
import pytest
from boosted_fits import round_params
from scipy.stats import randint
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import (
    BayesSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TradeoffSearchCV,
    compat,
)
from skbayes.options.early_stopping import lookup, watched_fit
from skbayes.space import Categorical, Choice, Integer, Ordinal, Space
from skbayes.trial.records import TrialState

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::5, :6], Y[::5]
CV = StratifiedKFold(3, shuffle=True, random_state=0)
SPLITS = list(CV.split(X, Y))
RATE = {"learning_rate": (0.05, 0.6, "log-uniform")}
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, len(Y))


def boosting(**params):
    return HistGradientBoostingClassifier(
        random_state=0, min_samples_leaf=5, max_leaf_nodes=4, **params
    )


def search(estimator=None, spaces=RATE, kind=BayesSearchCV, **params):
    arguments = {"n_iter": 3, "cv": CV, "random_state": 0, "early_stopping": 9} | params
    return kind(boosting() if estimator is None else estimator, spaces, **arguments)


def complete(fitted):
    return [t for t in fitted.trials_ if t.state == TrialState.COMPLETE]


def n_fitted_trees(estimator):
    """Return the number of trees of a model, or of the last step of a pipeline."""
    return len(getattr(estimator, "steps", [(None, estimator)])[-1][1]._predictors)


def rounds_of_folds(fitted, trial):
    """Return the number of rounds of each fold that is best for the other folds."""
    frame = fitted.learning_curves_
    table = frame[frame["trial"] == trial.number].pivot(
        index="rounds", columns="split", values=f"test_{fitted.target_metric_}"
    )
    table = table.dropna()
    assert trial.rounds == table.mean(axis=1).idxmax()
    return [table.drop(columns=i).mean(axis=1).idxmax() for i in table.columns]


def log_likelihood(estimator, X, y):
    proba = estimator.predict_proba(X)[:, 1]
    return np.mean(np.log(np.where(y == 1, proba, 1 - proba)))


SIZE_AND_ACCURACY = {"accuracy": "max", "model_size": "min"}
OPTIONS = {
    "alone": {},
    "metrics": {"scoring": ["neg_log_loss", "accuracy"], "refit": "neg_log_loss"},
    "costs": {"constraints": {"fit_time": "<= 60", "trees": (n_fitted_trees, "<= 9")}},
    "pruning": {"pruning": 0.3, "n_iter": 8, "surrogate": "random",
               "initial_points": None, "pre_dispatch": 1},
    "folds": {"return_folds": ["estimators", "predict_proba"]},
    "jobs": {"n_jobs": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_scores_and_outcomes_are_those_of_plain_fits(name, tmp_path):
    model = Pipeline([("pca", PCA(4, random_state=0)), ("model", boosting())])
    params = {"scoring": "neg_log_loss", **OPTIONS[name]}
    spaces = {f"model__{key}": value for key, value in RATE.items()}
    fitted = search(model, spaces, journal=tmp_path / "j", **params)
    fitted = fitted.fit(X, Y, model__sample_weight=WEIGHTS)
    resumed = search(model, spaces, journal=tmp_path / "j", **params)
    resumed = resumed.fit(X, Y, model__sample_weight=WEIGHTS)
    for one in (fitted, pickle.loads(pickle.dumps(resumed))):
        for trial in complete(one):
            for split, rounds in enumerate(rounds_of_folds(one, trial)):
                plain = clone(model).set_params(**trial.params)
                plain.set_params(**round_params(plain, rounds))
                train, _ = SPLITS[split]
                plain.fit(X[train], Y[train], model__sample_weight=WEIGHTS[train])
                check_fold(one, trial, split, plain)
        best, row = one.trials_[one.best_index_], one.best_params_
        assert row["model__max_iter"] == best.rounds and best.state == "complete"
        assert row == one.cv_results_["params"][one.best_index_]
        assert {*best.params} == {*one.search_spaces_} == {*spaces}
        expected = clone(model).set_params(**row)
        expected.fit(X, Y, model__sample_weight=WEIGHTS)
        np.testing.assert_array_equal(one.predict(X), expected.predict(X))
    if name == "pruning":
        pruned = [t for t in fitted.trials_ if t.state == TrialState.PRUNED]
        assert pruned and all(t.noise > 0.0 and t.rounds for t in pruned)


def check_fold(fitted, trial, split, plain):
    """Check scores, outcomes and kept fits by a fit with the rounds of the fold."""
    test, fold = SPLITS[split][1], trial.folds[split]
    scorers = fitted.scorer_ if fitted.multimetric_ else {"score": fitted.scorer_}
    for name, scorer in scorers.items():
        score = scorer(plain, X[test], Y[test])
        assert fold.test_scores[name] == pytest.approx(score, rel=1e-9)
    # Costs describe the complete fit.
    n_trees = fold.extras.get("outcomes", {}).get("trees", 9)
    assert n_fitted_trees(plain) <= n_trees <= fitted.early_stopping
    if fitted.return_folds and trial.number == fitted.best_index_:
        proba = plain.predict_proba(X[test])
        model = fitted.fold_estimators_[split]
        np.testing.assert_array_equal(model.predict_proba(X[test]), proba)
        np.testing.assert_array_equal(fitted.oof_predictions_[test], proba)


@pytest.mark.parametrize("samples", [False, True])
def test_samplers_and_columns_of_a_data_frame_reach_the_scored_rows(samples):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pandas.Categorical(np.where(X[:, 5] > X[:, 5].mean(), "high", "low"))
    last = boosting(categorical_features="from_dtype", early_stopping=False)
    model = make_pipeline(last)
    if samples:
        sampler = pytest.importorskip("imblearn.under_sampling").RandomUnderSampler
        pipeline = pytest.importorskip("imblearn.pipeline")
        model = pipeline.make_pipeline(sampler(random_state=0), last)
    spaces = {"histgradientboostingclassifier__learning_rate": [0.3]}
    fitted = search(model, spaces, n_iter=1).fit(frame, Y)
    (trial,) = fitted.trials_
    for split, rounds in enumerate(rounds_of_folds(fitted, trial)):
        plain = clone(model).set_params(**trial.params)
        plain.set_params(**round_params(plain, rounds))
        expected = cross_validate(plain, frame, Y, cv=[SPLITS[split]])["test_score"]
        assert trial.scores["score"][split] == pytest.approx(expected[0], rel=1e-9)


def test_a_single_split_is_scored_at_its_own_choice_and_fits_stop_early(monkeypatch):
    monkeypatch.setattr(watched_fit, "scored", None)  # a formula is faster
    spaces, cv = {"learning_rate": [0.9]}, ShuffleSplit(1, random_state=0)
    params = {"cv": cv, "n_iter": 1, "scoring": "neg_log_loss", "early_stopping": 300}
    (trial,) = search(spaces=spaces, **params).fit(X, Y).trials_
    curve = trial.folds[0].extras["curves"]["score"]
    assert trial.score == max(curve)
    # The best score is reached early. The patience is a third of the maximum, or 50.
    assert trial.rounds < 50 and len(curve) < 45
    assert trial.folds[0].extras["max_rounds"] == 300


@pytest.mark.parametrize(
    "values", [randint(3, 13), Integer(3, 12), (3, 12, "log-uniform"), Ordinal([12, 3])]
)
def test_the_largest_value_of_each_notation_is_the_limit(values):
    spaces = [{**RATE, "max_iter": values}]
    fitted = search(spaces=spaces, early_stopping="auto", n_iter=1).fit(X, Y)
    assert fitted.trials_[0].folds[0].extras["max_rounds"] == 12
    assert [list(space) for space in fitted.search_spaces_] == [["learning_rate"]]


def test_the_default_space_has_no_number_of_rounds_and_all_stages_choose_it():
    stages = search(spaces="auto", kind=MultiStageSearchCV, n_iter=8).fit(X, Y)
    assert "learning_rate" in stages.search_spaces_
    assert "max_iter" not in stages.search_spaces_
    rounds = stages.cv_results_["rounds"][stages.best_index_]
    assert stages.best_params_["max_iter"] == rounds > 0


HIST, PLAIN = boosting(), GradientBoostingClassifier(random_state=0, max_depth=1)
DEEP = clone(HIST).set_params(max_depth=1)
SIZE = {"last__min_samples_leaf": [5, 9]}
ITER, TREES = {"last__max_iter": [2, 4], **SIZE}, {"last__n_estimators": (3, 6)}


@pytest.mark.parametrize(
    "spaces, limits",
    [
        ({"last": Choice([(HIST, ITER), (PLAIN, TREES)])}, {HIST: 4, PLAIN: 6}),
        ({"last": Categorical([HIST, PLAIN]), **ITER, **TREES}, {HIST: 4, PLAIN: 6}),
        # Without an entry, the limit is the default one.
        ({"last": Choice([(HIST, ITER), (PLAIN, SIZE)])}, {HIST: 4, PLAIN: 8}),
        ([{"last": [HIST], **ITER}, {"last": [DEEP], **SIZE}], {HIST: 4, DEEP: 8}),
        (
            {
                "last": Choice(
                    [
                        (HIST, [SIZE, {**ITER, "last__l2_regularization": (0.1, 1.0)}]),
                        (DEEP, {**SIZE, "last__max_iter": Integer(1, 5)}),
                    ]
                )
            },
            {HIST: {4, 8}, DEEP: 5},
        ),
    ],
)
def test_each_model_has_its_own_limit(spaces, limits, monkeypatch):
    monkeypatch.setattr(lookup, "DEFAULT_CAP", 8)
    params = {"n_iter": 8, "initial_points": None, "early_stopping": "auto"}
    model = Pipeline([("last", PLAIN)])
    fitted = search(model, spaces, surrogate="random", **params).fit(X, Y)
    reached = {
        model: {
            trial.folds[0].extras["max_rounds"]
            for trial in fitted.trials_
            if repr(trial.params["last"]) == repr(model)
        }
        for model in limits
    }
    expected = {m: n if isinstance(n, set) else {n} for m, n in limits.items()}
    assert reached == expected


@pytest.mark.parametrize(
    ("estimator", "params", "message"),
    [
        (
            SVC(),
            {"spaces": {"C": (1.0, 2.0)}},
            "early_stopping=9: SVC provides no scores after",
        ),
        (None, {"spaces": {"max_iter": (2, 9)}}, "search_spaces, which has no other"),
        (None, {"spaces": Space([{"max_iter": (2, 9), **RATE}])}, "which is a Space"),
        (None, {"early_stopping": True}, "an int, 'auto' or None"),
        (None, {"early_stopping": 0}, "'early_stopping' parameter"),
        (None, {"early_stopping": "many"}, "'early_stopping' parameter"),
        (None, {"return_train_score": True}, "return_train_score=True cannot be"),
        *(
            (None, {"constraints": {"a": (name, ">= 0")}, **args}, "constraints.'a'.: ")
            for name, args in [
                ("recall", {}),
                ("accuracy", {"scoring": "accuracy"}),
                ("score", {"scoring": log_likelihood}),
                (log_likelihood, {"kind": TradeoffSearchCV, "early_stopping": "auto"}),
                ("accuracy", {"kind": ParetoSearchCV, "objectives": SIZE_AND_ACCURACY}),
            ]
        ),
    ],
)
def test_impossible_combinations_are_refused_before_any_fit(
    estimator, params, message, no_trials
):
    with pytest.raises(ValueError, match=message):
        search(estimator, **params).fit(X, Y)


class Other(GradientBoostingClassifier):
    def predict_proba(self, X):
        return 0.5 + 0.0 * super().predict_proba(X)


MODELS = {
    "last": Choice([
        (boosting(), {"last__learning_rate": (0.1, 1.0), "last__max_iter": (2, 9)}),
        (RandomForestClassifier(3), {"last__max_depth": [2, 3]}),
        (Other(random_state=0), {"last__n_estimators": [31, 32]}),
        (LogisticRegression(solver="liblinear"), {"last__max_iter": [500]}),
    ])
}  # fmt: skip


def test_models_without_rounds_in_a_choice_are_fitted_as_usual():
    model = Pipeline([("last", Other())])
    params = {"n_iter": 12, "initial_points": None, "surrogate": "random"}
    params |= {"scoring": "neg_log_loss"}
    fitted = search(model, MODELS, early_stopping="auto", **params).fit(X, Y)
    for trial, row in zip(fitted.trials_, fitted.cv_results_["params"], strict=True):
        kind = type(trial.params["last"]).__name__
        assert (trial.rounds is None) == (kind != "HistGradientBoostingClassifier")
        if trial.rounds:
            assert trial.folds[0].extras["max_rounds"] == 9
            assert row["last__max_iter"] == trial.rounds
        if kind == "Other":
            assert trial.params["last__n_estimators"] in (31, 32)
            assert trial.score == pytest.approx(np.log(0.5))
    assert len({type(trial.params["last"]) for trial in fitted.trials_}) == 4
    # A number of rounds is for all models.
    with pytest.raises(
        ValueError, match="early_stopping=5: Other replaces 'predict_proba'"
    ):
        search(model, MODELS, early_stopping=5).fit(X, Y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_value_of_the_search_space_without_rounds_is_fitted_as_usual():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1)
    spaces = {"boosting_type": ["dart", "gbdt"], "num_leaves": [3]}
    fitted = search(model, spaces, n_iter=2).fit(X, Y)
    for trial in fitted.trials_:
        assert (trial.rounds is None) == (trial.params["boosting_type"] == "dart")


@pytest.mark.parametrize("looks_at", ["attribute", "other rows", "late"])
def test_a_scorer_that_needs_more_than_predictions_fails(looks_at):
    def scorer(estimator, X, y):
        if looks_at == "attribute":
            return len(estimator.n_trees_per_iteration_)
        if looks_at == "late" and np.max(estimator.predict_proba(X)) < 0.7:
            return 0.5
        return np.mean(estimator.predict(X[::-1]) == y[::-1])

    with pytest.warns(UserWarning, match="Scoring failed"):
        fitted = search(scoring=scorer, n_iter=2, error_score=-5.0).fit(X, Y)
    np.testing.assert_array_equal(fitted.trials_[0].scores["score"], [-5.0] * 3)
    with pytest.raises((AttributeError, ValueError), match="scoring: .* can only"):
        search(scoring=scorer, n_iter=2, error_score="raise").fit(X, Y)
    # The other metrics have their scores.
    params = {"scoring": {"accuracy": "accuracy", "failing": scorer}, "n_iter": 2}
    with pytest.warns(UserWarning, match="Scoring failed"):
        fitted = search(refit="accuracy", error_score=-5.0, **params).fit(X, Y)
    assert fitted.best_score_ > 0.8
    assert set(fitted.cv_results_["mean_test_failing"]) == {-5.0}


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_a_function_may_return_the_error_score_in_all_rounds(value):
    def scorer(estimator, X, y):
        return value

    params = {"n_iter": 2, "error_score": value, "refit": False}
    stopped = search(scoring=scorer, early_stopping=3, **params).fit(X, Y)
    plain = search(scoring=scorer, early_stopping=None, **params).fit(X, Y)
    for name in ("mean_test_score", "rank_test_score"):
        assert np.array_equal(stopped.cv_results_[name], plain.cv_results_[name], True)


@pytest.mark.skipif(not compat.HAS_CALLBACKS, reason="scikit-learn before 1.9")
def test_callbacks_see_each_fit_once():
    from recording_callbacks import Recorder

    def events(**params):
        recorder = Recorder()
        model = boosting(max_iter=5, early_stopping=False)
        search(model, n_iter=3, **params).set_callbacks(recorder).fit(X, Y)
        return [(hook, tuple(path), name) for hook, path, name, _ in recorder.events]

    assert events(early_stopping=5) == events(early_stopping=None)


def test_weights_are_routed_to_the_scorer():
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = boosting().set_fit_request(sample_weight=True)
        fitted = search(model, scoring=scorer, n_iter=1).fit(
            X, Y, sample_weight=WEIGHTS
        )
        (trial,) = fitted.trials_
        (train, test), rounds = SPLITS[0], rounds_of_folds(fitted, trial)[0]
        plain = boosting(early_stopping=False, max_iter=rounds, **trial.params)
        plain.fit(X[train], Y[train], sample_weight=WEIGHTS[train])
        expected = plain.score(X[test], Y[test], sample_weight=WEIGHTS[test])
    assert trial.scores["score"][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("objective", ["neg_log_loss", "loss"])
def test_the_first_scorer_of_several_objectives_chooses_the_rounds(objective):
    goals = {"trees": ("min", n_fitted_trees), objective: "max", "recall": "max"}
    if objective == "loss":
        goals["loss"] = ("min", lambda model, X, y: -log_likelihood(model, X, y))
    fitted = ParetoSearchCV(
        boosting(),
        RATE,
        goals,
        n_iter=3,
        cv=CV,
        random_state=0,
        early_stopping=9,
        constraints={"trees": "<= 9"},
    ).fit(X, Y)
    sign = -1.0 if objective == "loss" else 1.0
    for trial in fitted.trials_:
        assert all({*fold.test_scores} == {*goals} for fold in trial.folds)
        curves = [sign * np.array(f.extras["curves"][objective]) for f in trial.folds]
        length = min(map(len, curves))
        mean = np.mean([curve[:length] for curve in curves], axis=0)
        assert trial.rounds == 1 + np.argmax(mean)
    point = fitted.select(objective, X, Y)
    assert point.best_estimator_.n_iter_ == point.best_params_["max_iter"]


def test_the_cost_of_a_trial_is_that_of_its_fits():
    params = {"train_sizes": (0.5, 1.0), "n_iter": 5, "cost": "fit_time"}
    fitted = search(kind=TradeoffSearchCV, **params).fit(X, Y)
    for fold in fitted.trials_[fitted.best_index_].folds:
        assert fold.extras["costs"]["fit_time"] == fold.fit_time
    chosen = fitted.select(0.0, X, Y)
    assert chosen.best_estimator_.n_iter_ == chosen.best_params_["max_iter"]


def test_results_of_a_search_with_rounds_start_another_one():
    from skbayes.results import known_results

    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(max_depth=1))
    spaces = {f"gradientboostingclassifier__{key}": v for key, v in RATE.items()}
    fitted = search(model, spaces).fit(X, Y)
    space = Space.from_notation(fitted.search_spaces_)
    expected = [(t.params, pytest.approx(t.score), None) for t in fitted.trials_]
    for source in (fitted, fitted.cv_results_):
        assert known_results(source, space) == expected
    # The number of rounds is known to a search for it; other parameters are missed.
    name = "gradientboostingclassifier__n_estimators"
    wide = Space.from_notation({**spaces, name: (1, 16)})
    for source in (fitted, fitted.cv_results_):
        results = known_results(source, wide)
        assert [one[name] for one, *_ in results] == list(fitted.cv_results_["rounds"])
    other = Space.from_notation({"gradientboostingclassifier__max_depth": (2, 8)})
    with pytest.warns(UserWarning, match="3 of 3 known"):
        assert known_results(fitted, other) == []


def test_a_parameter_that_equals_the_number_of_rounds_is_not_taken_for_it():
    from skbayes.results import known_results

    fitted = search(spaces={"max_leaf_nodes": [9], **RATE}, n_iter=1).fit(X, Y)
    results = fitted.cv_results_ | {"rounds": [9]}
    with pytest.warns(UserWarning, match="1 of 1 known configurations are ignored"):
        assert known_results(results, Space.from_notation(RATE)) == []


def test_trials_have_the_parameters_of_their_fits(tmp_path):
    model = GradientBoostingClassifier(n_iter_no_change=3, random_state=0)
    fitted = search(model, journal=tmp_path / "journal").fit(X, Y)
    again = search(model, journal=tmp_path / "journal").fit(X, Y)
    for trial in (*fitted.trials_, *again.trials_):
        expected = {"n_iter_no_change": None, "n_estimators": trial.rounds}
        assert trial.fitted_params == expected
        for fold in trial.folds:
            rounds = fold.extras["rounds"]
            assert fold.extras["fitted_params"] == expected | {"n_estimators": rounds}
    best = fitted.trials_[fitted.best_index_]
    assert fitted.best_params_ == best.params | best.fitted_params
    assert list(fitted.cv_results_["fitted_params"]) == [
        trial.fitted_params for trial in fitted.trials_
    ]
