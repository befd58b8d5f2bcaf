"""Rounds together with each other option of a search, and with all of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from counting_steps import sharing
from round_outcomes import (
    last_row,
    likelihood_and_accuracy,
    loss,
    n_fitted_trees,
    n_trees_by_scorer,
    rounds_of_folds,
)
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from skbayes import BayesSearchCV, ParetoSearchCV, TradeoffSearchCV, load_history
from skbayes.evaluation.rounds.lookup import learner_of, round_params
from skbayes.evaluation.trial import TrialState
from skbayes.results import known_results
from skbayes.space import Choice, Space

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::5, :6], Y[::5]
CV = StratifiedKFold(3, shuffle=True, random_state=0)
SPLITS = list(CV.split(X, Y))
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, len(Y))
BOOSTING = HistGradientBoostingClassifier(
    random_state=0, min_samples_leaf=5, max_leaf_nodes=4
)
FOREST = RandomForestClassifier(random_state=0, max_leaf_nodes=8)
RATE = {"model__learning_rate": (0.05, 0.6, "log-uniform")}
MODELS = {
    "boosting": (BOOSTING, RATE),
    "forest": (FOREST, {"model__max_features": (0.2, 1.0)}),
}
OPTIONS = {
    "metric": {"constraints": {"likelihood": ">= -3.0"}},
    "scorer": {"constraints": {"recall": ">= 0.5", "auc": ("roc_auc", ">= 0.5")}},
    "measure": {"constraints": {"trees": (n_fitted_trees, "<= 9")}},
    "racing": {"racing": 0.3},
    "estimators": {"return_folds": "estimators"},
    "oof": {"return_folds": "predict_proba"},
    "jobs": {"n_jobs": 2},
    "journal": {"journal": True},
    "training scores": {"return_train_score": True},
    "weights": {"sample_weight": True},
    "names": {"scoring": ["neg_log_loss", "accuracy"], "refit": "neg_log_loss"},
    "callable refit": {"refit": last_row},
    "pickle": {"pickle": True},
}
# A callable may choose a trial that was pruned, and there are two kinds of metrics.
TOGETHER = [
    tuple(name for name in OPTIONS if name not in left_out)
    for left_out in (
        {"names", "callable refit"},
        {"metric", "callable refit"},
        {"names", "racing"},
        {"metric", "racing"},
    )
]


def make(kind="boosting", **more):
    model, space = MODELS[kind]
    pipeline = Pipeline([("pca", PCA(4, random_state=0)), ("model", model)])
    given = {"n_iter": 3, "cv": CV, "random_state": 0, "rounds": 9, "pre_dispatch": 1}
    given["initial_points"] = 3
    given |= {"scoring": likelihood_and_accuracy, "refit": "likelihood"}
    return BayesSearchCV(pipeline, space, **given | more)


def run(kind, names, path):
    """Fit a search with some options."""
    more = {}
    for name in names:
        option = dict(OPTIONS[name])
        if "constraints" in more and "constraints" in option:
            option["constraints"] = more["constraints"] | option["constraints"]
        if "return_folds" in more and "return_folds" in option:
            option["return_folds"] = [more["return_folds"], option["return_folds"]]
        more |= option
    weights = {"model__sample_weight": WEIGHTS} if more.pop("sample_weight", 0) else {}
    pickled, journal = more.pop("pickle", False), more.pop("journal", False)
    if journal:
        make(kind, **more, journal=path).set_params(n_iter=2).fit(X, Y, **weights)
        more["journal"] = path
    search = make(kind, **more).fit(X, Y, **weights)
    return (pickle.loads(pickle.dumps(search)) if pickled else search), weights


def plain_fit(fitted, trial, rounds, split, weights):
    model = clone(fitted.estimator).set_params(**trial.params)
    model.set_params(**round_params(model, rounds))
    train, _ = SPLITS[split]
    cut = {name: value[train] for name, value in weights.items()}
    return model.fit(X[train], Y[train], **cut)


def check(fitted, weights):
    """Check all that must hold with rounds, on the best trial."""
    best = fitted.trials_[fitted.best_index_]
    row = fitted.cv_results_["params"][fitted.best_index_]
    model = fitted.estimator[-1]
    name = f"model__{learner_of(model).parameter(model)}"
    assert fitted.best_params_ == row
    assert row.items() >= {**best.params, name: best.rounds}.items()
    assert fitted.cv_results_[f"param_{name}"][fitted.best_index_] == best.rounds
    assert name not in best.params and name not in fitted.search_spaces_
    expected = clone(fitted.estimator).set_params(**row).fit(X, Y, **weights)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    for split, rounds in enumerate(rounds_of_folds(fitted, best)):
        plain = plain_fit(fitted, best, rounds, split, weights)
        check_fold(fitted, best, split, plain)
    constraints = fitted.constraints
    if constraints:
        column = fitted.cv_results_["feasible"]
        assert best.feasible or callable(fitted.refit) or not any(column)
        assert [trial.feasible for trial in fitted.trials_] == list(column)
        assert all(np.isfinite(trial.violation) for trial in complete(fitted))


def check_fold(fitted, best, split, plain):
    """Check scores, outcomes and kept fits by a fit with the rounds of the fold."""
    _, test = SPLITS[split]
    fold = best.folds[split]
    scores = likelihood_and_accuracy(plain, X[test], Y[test])
    scores["neg_log_loss"] = scores["likelihood"]
    for name, score in fold.test_scores.items():
        assert score == pytest.approx(scores[name], rel=1e-9)
    proba = plain.predict_proba(X[test])
    scores["recall"] = get_scorer("recall")(plain, X[test], Y[test])
    scores["auc"] = roc_auc_score(Y[test], proba[:, 1])
    for name, outcome in fold.extras.get("outcomes", {}).items():
        if name == "trees":
            # Measures are those of the complete fit.
            assert n_fitted_trees(plain) <= outcome <= fitted.rounds
        else:
            assert outcome == pytest.approx(scores[name], rel=1e-9)
    if "estimators" in (fitted.return_folds or ()):
        kept = fitted.fold_estimators_[split]
        np.testing.assert_array_equal(kept.predict_proba(X[test]), proba)
    if "predict_proba" in (fitted.return_folds or ()):
        np.testing.assert_array_equal(fitted.oof_predictions_[test], proba)


def complete(fitted):
    return [t for t in fitted.trials_ if t.state == TrialState.COMPLETE]


KINDS = [*MODELS]


@pytest.mark.parametrize("place", range(len(OPTIONS)), ids=list(OPTIONS))
def test_rounds_with_each_option(place, tmp_path):
    check(*run(KINDS[place % 2], ([*OPTIONS][place],), tmp_path / "run.journal"))


@pytest.mark.parametrize("place", range(4))
def test_rounds_with_all_options_that_can_be_combined(place, tmp_path):
    check(*run(KINDS[place % 2], TOGETHER[place], tmp_path / "run.journal"))


def test_workers_shared_steps_and_resumed_journals_give_equal_outcomes(tmp_path):
    names = ("metric", "scorer", "estimators")
    with sharing(False):
        expected, _ = run("boosting", names, None)
    path = tmp_path / "run.journal"
    for more in ((), ("jobs",), ("journal",)):
        with sharing():
            found, _ = run("boosting", (*names, *more), path)
        for one, other in zip(found.trials_, expected.trials_, strict=True):
            assert one.outcomes == other.outcomes
            for key in ("params", "rounds", "score", "violation"):
                assert getattr(one, key) == getattr(other, key)
        if not more:
            assert any(trial.shared_time > 0.0 for trial in found.trials_)
    frame = load_history(path)
    assert len(frame) == 3


def test_a_constraint_on_a_scorer_decides_by_the_chosen_rounds():
    given = {"scoring": "neg_log_loss", "refit": True, "surrogate": "random"}
    plain = make(**given).fit(X, Y)
    search = make(**given, constraints={"roc_auc": ">= 0.5"}).fit(X, Y)
    limit = np.median([trial.outcomes["roc_auc"] for trial in search.trials_])
    search.set_params(constraints={"roc_auc": f">= {limit}"}).fit(X, Y)
    feasible = search.cv_results_["feasible"]
    assert sum(feasible) == 2
    found = search.cv_results_["mean_constraint_roc_auc"]
    np.testing.assert_array_equal(np.asarray(found) >= limit, feasible)
    first, other = plain.trials_[0], search.trials_[0]
    assert (first.rounds, first.score) == (other.rounds, other.score)
    best = search.trials_[search.best_index_]
    assert best.score == max(t.score for t in search.trials_ if t.feasible)


def test_a_scorer_that_needs_more_than_predictions_is_evaluated_after_the_fit():
    fitted = make(constraints={"trees": (n_trees_by_scorer, "<= 99")}).fit(X, Y)
    by_measure = make(constraints={"trees": (n_fitted_trees, "<= 99")}).fit(X, Y)
    for one, other in zip(fitted.trials_, by_measure.trials_, strict=True):
        assert one.outcomes["trees"] == other.outcomes["trees"] >= one.rounds
    # The same holds if errors are raised.
    make(constraints={"trees": (n_trees_by_scorer, "<= 9")}, error_score="raise")


def test_a_scorer_of_constraints_that_fails_is_unknown():
    def failing(estimator, X, y):
        raise ArithmeticError("never")

    search = make(constraints={"failing": (failing, ">= 0")}, n_iter=2)
    with pytest.warns(UserWarning), pytest.warns(match="'failing' of constraints fai"):
        search.fit(X, Y)
    assert all(trial.violation == np.inf for trial in search.trials_)
    with pytest.raises(ArithmeticError, match="never"):
        search.set_params(error_score="raise").fit(X, Y)


def test_models_without_rounds_keep_their_outcomes():
    linear = LogisticRegression(solver="liblinear")
    space = {"model": Choice([(BOOSTING, RATE), (linear, {"model__C": (0.1, 9.0)})])}
    limits = {"recall": ">= 0.1", "fit_time": "<= 99"}
    search = make(n_iter=6, initial_points=6, constraints=limits)
    search.set_params(search_spaces=space, return_folds="estimators").fit(X, Y)
    rounds = [trial.rounds for trial in search.trials_]
    assert None in rounds and any(rounds)
    for trial, row in zip(search.trials_, search.cv_results_["params"], strict=True):
        assert trial.feasible
        assert ("model__max_iter" in row) == (trial.rounds is not None)


BARE = (BOOSTING, {"learning_rate": (0.05, 0.6, "log-uniform")})
GIVEN = {"cv": CV, "random_state": 0, "pre_dispatch": 1, "rounds": 9}


@pytest.mark.parametrize(
    ("objectives", "guide"),
    [
        ({"fit_time": "min", "neg_log_loss": "max", "recall": "max"}, "neg_log_loss"),
        ({"trees": ("min", n_fitted_trees), "loss": ("min", loss)}, "loss"),
    ],
    ids=["maximum", "minimum"],
)
def test_the_first_scorer_of_several_objectives_chooses_the_rounds(objectives, guide):
    more = {"n_jobs": 2} if guide == "loss" else {"return_train_score": True}
    fitted = ParetoSearchCV(*BARE, objectives, n_iter=3, **GIVEN, **more).fit(X, Y)
    sign = -1.0 if guide == "loss" else 1.0
    for trial in fitted.trials_:
        assert all({*fold.test_scores} == {*objectives} for fold in trial.folds)
        curves = [sign * np.array(f.extras["curves"][guide]) for f in trial.folds]
        assert trial.rounds == 1 + np.argmax(np.mean(curves, axis=0))
        for split, fold in enumerate(trial.folds):
            others = np.mean([c for k, c in enumerate(curves) if k != split], axis=0)
            place = np.argmax(others)
            assert fold.test_scores[guide] == sign * curves[split][place]
    point = fitted.select(guide, X, Y)
    assert point.best_estimator_.n_iter_ == point.best_params_["max_iter"]


@pytest.mark.parametrize("cost", ["model_size", "fit_time"])
def test_the_cost_of_a_trial_is_that_of_its_fits(cost):
    more = {"train_sizes": (0.5, 1.0), "n_iter": 5, "return_folds": "estimators"}
    more |= {"cost": cost, "constraints": {"recall": ">= 0.1"}}
    fitted = TradeoffSearchCV(*BARE, **GIVEN, **more).fit(X, Y)
    best = fitted.trials_[fitted.best_index_]
    assert np.isfinite(fitted.cv_results_["cost"]).all()
    for fold in best.folds:
        if cost == "fit_time":  # without the time of the scores
            assert fold.extras["costs"][cost] == fold.fit_time
    for (_, test), model, fold in zip(
        SPLITS, fitted.fold_estimators_, best.folds, strict=True
    ):
        assert model.score(X[test], Y[test]) == fold.test_scores["score"]
    assert fitted.best_params_ == fitted.cv_results_["params"][fitted.best_index_]
    chosen = fitted.select(0.0, X, Y)
    assert chosen.best_estimator_.n_iter_ == chosen.best_params_["max_iter"]


def test_another_choice_is_refitted_by_passes_over_the_data():
    model = SGDClassifier(random_state=0)
    space, goals = {"alpha": (1e-5, 1e-1)}, {"accuracy": "max", "recall": "max"}
    search = ParetoSearchCV(model, space, goals, n_iter=3, **GIVEN)
    fitted = search.fit(X, Y).select("recall", X, Y)
    params = {n: fitted.best_params_[n] for n in ("alpha", "max_iter")}
    by_hand = clone(model).set_params(**params)
    for _ in range(params["max_iter"]):
        by_hand.partial_fit(X, Y, classes=[0, 1])
    np.testing.assert_array_equal(fitted.best_estimator_.coef_, by_hand.coef_)


def sources(fitted):
    yield fitted
    yield fitted.cv_results_
    yield {n: v for n, v in fitted.cv_results_.items() if n != "params"}
    yield pd.DataFrame(fitted.cv_results_)
    yield fitted.results_frame()


def test_all_results_of_a_search_with_rounds_start_another_one():
    given = {"scoring": "neg_log_loss", "refit": True}
    fitted = make(**given).fit(X, Y)
    space = Space.from_notation(fitted.search_spaces_)
    expected = [(t.params, pytest.approx(t.score), None) for t in fitted.trials_]
    for source in sources(fitted):
        assert known_results(source, space) == expected
    again = make(**given, warm_start_from=fitted, n_iter=1).fit(X, Y)
    assert again.trials_[0].params == fitted.trials_[fitted.best_index_].params
    # The number of rounds is known to a search for it.
    wider = Space.from_notation({**RATE, "model__max_iter": (1, 16)})
    known = known_results(fitted.cv_results_, wider)
    found = [one["model__max_iter"] for one, _, _ in known]
    assert found == list(fitted.cv_results_["rounds"])


def test_a_parameter_that_rounds_did_not_set_is_not_ignored():
    fitted = make().fit(X, Y)
    frame = fitted.results_frame()
    assert frame["param_model__max_iter"].tolist() == frame["rounds"].tolist()
    assert not any("max_iter" in n for n in fitted.optimizer_.space.parameter_names)
    space = Space.from_notation({"model__max_leaf_nodes": (2, 8)})
    for source in sources(fitted):
        with pytest.warns(UserWarning, match="3 of 3 known"):
            assert known_results(source, space, "likelihood") == []
