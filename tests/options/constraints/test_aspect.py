"""Constraints on outcomes in all searches."""

import warnings

import every_search
import numpy as np
import pytest
import sklearn
from endings import kill_after
from every_search import SEARCHES, X, data, make, y
from grid_comparison import HAS_WEIGHTED_SCORES
from group_recall import n_letters, recall_gap
from simple_estimators import n_leaves
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import skbayes
from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.inspection import read_record
from skbayes.results.scores import OneStandardError
from skbayes.tracking import export_to_optuna

pytestmark = pytest.mark.filterwarnings("ignore:.*has no name")

every_kind = pytest.mark.parametrize("kind", SEARCHES)
SPACE = {"max_depth": (1, 12), "min_samples_leaf": (1, 40)}
LEAVES = {"leaves": (n_leaves, "<= 4")}


def limits(kind):
    """Return constraints that some configurations meet, and others violate."""
    if kind is TextRepresentationSearchCV:
        return {"letters": (n_letters, "<= 20"), "n_features": "<= 20"}
    return {"leaves": (n_leaves, "<= 4"), "recall_macro": ">= 0.6"}


def search(kind=BayesSearchCV, **params):
    arguments = {"search_spaces": SPACE, "constraints": LEAVES, "n_iter": 9, "cv": 3}
    return make(kind, **{**arguments, **params})


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Return a fitted search with a journal."""
    return search(journal=tmp_path_factory.mktemp("runs") / "journal").fit(X, y)


def tree_values(params):
    """Return mean score and mean number of leaves of a trial of `search`."""
    scores, leaves = [], []
    for train, test in StratifiedKFold(3).split(X, y):
        tree = DecisionTreeClassifier(random_state=0, **params).fit(X[train], y[train])
        scores.append(tree.score(X[test], y[test]))
        leaves.append(tree.get_n_leaves())
    return np.mean(scores), np.mean(leaves)


def test_columns_and_choice_are_those_of_a_count_by_hand(earlier):
    fitted, results = earlier, earlier.cv_results_
    scores, leaves = np.transpose([tree_values(one) for one in results["params"]])
    np.testing.assert_allclose(results["mean_test_score"], scores)
    np.testing.assert_allclose(results["mean_constraint_leaves"], leaves)
    np.testing.assert_array_equal(results["feasible"], leaves <= 4)
    assert 0 < np.sum(results["feasible"]) < len(leaves)
    expected = int(np.argmax(np.where(leaves <= 4, scores, -np.inf)))
    assert fitted.best_index_ == expected
    assert fitted.best_score_ == scores[expected]
    assert fitted.best_estimator_.get_n_leaves() <= 6
    assert fitted.optimizer_.best_params == fitted.best_params_
    assert fitted.best_score_corrected_ <= fitted.best_score_
    record = read_record(fitted)
    assert record.best == expected
    np.testing.assert_array_equal(record.outcomes["leaves"], leaves)
    assert read_record(results).best == expected
    assert read_record(fitted.trials_).best == expected
    assert "violate constraints" in record.counts
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = export_to_optuna(fitted)
    feasible = [one.user_attrs["feasible"] for one in study.trials]
    assert feasible == [one.feasible for one in fitted.trials_]
    assert study.best_trial.number == fitted.best_index_


def _no_number(tree):
    return np.nan


@pytest.mark.filterwarnings("ignore")
@every_kind
def test_every_search_keeps_its_constraints(kind):
    fitted = make(kind, constraints=limits(kind), n_iter=10).fit(*data(kind))
    results = fitted.cv_results_
    assert results["feasible"].dtype == bool
    for name in limits(kind):
        assert f"mean_constraint_{name}" in results
    last = max(trial.fidelity.stage for trial in fitted.trials_)
    if any(trial.feasible for trial in fitted.trials_ if trial.fidelity.stage == last):
        assert results["feasible"][fitted.best_index_]
    assert all(trial.violation is not None for trial in fitted.trials_)
    # Without constraints, no outcome is measured.
    plain = every_search.fitted(kind)
    assert all(trial.violation is None for trial in plain.trials_)
    assert all("outcomes" not in fold.extras for fold in plain.trials_.folds)
    assert not any("constraint" in name for name in plain.cv_results_)
    # Outcomes that are never measured do not end the search.
    never = {"a": (_no_number, "<= 2")}
    fitted = make(kind, constraints=never, n_iter=6)
    with pytest.warns(UserWarning, match="a is nan"):
        fitted.fit(*data(kind))
    assert not np.any(fitted.cv_results_["feasible"])


@pytest.mark.filterwarnings("ignore")
def test_a_killed_search_ends_as_the_uninterrupted_one(earlier, tmp_path):
    journal = tmp_path / "journal"
    kill_after(6, search(journal=journal), X, y)
    again = search(journal=journal).fit(X, y)
    for name in ("params", "violation"):
        values = [getattr(trial, name) for trial in again.trials_]
        assert values == [getattr(trial, name) for trial in earlier.trials_]
    assert again.best_index_ == earlier.best_index_
    frame = skbayes.load_history(journal)
    assert frame["feasible"].tolist() == [one.feasible for one in earlier.trials_]
    assert read_record(journal).outcomes.keys() == {"leaves"}
    stricter = {"leaves": (n_leaves, "<= 3")}
    with pytest.raises(ValueError, match="constraints"):
        search(journal=journal, constraints=stricter).fit(X, y)


def test_if_no_trial_keeps_the_constraints_the_nearest_is_chosen(capsys):
    constraints = {"leaves": (n_leaves, "<= 1"), "accuracy": ">= 0.1"}
    with pytest.warns(UserWarning) as caught:
        fitted = search(constraints=constraints, n_iter=12).fit(X, y)
    with pytest.warns(UserWarning, match="none of 12 trials"):
        clone(fitted).set_params(verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert "leaves <= 1: no trial satisfies it so far" in printed
    assert "violates constraints" in printed
    strict = clone(fitted)
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="none of 12"):
        warnings.simplefilter("error", UserWarning)
        strict.fit(X, y)
    assert len(strict.trials_) == 12  # the first warning did not end the search
    texts = [str(one.message) for one in caught]
    assert any("the smallest of 10 values is 2." in text for text in texts)
    (chosen,) = [text for text in texts if "none of 12 trials satisfies all" in text]
    leaves = fitted.cv_results_["mean_constraint_leaves"]
    assert leaves[fitted.best_index_] == leaves.min()
    assert f"leaves is {leaves.min():.4g} (must be <= 1)" in chosen
    assert "accuracy" not in chosen
    best = fitted.trials_.best
    assert best.number == fitted.best_index_


def test_small_samples_that_keep_the_constraints_do_not_count():
    params = {"search_spaces": {"max_depth": (4, 9), "min_samples_leaf": [1, 2]}}
    params["constraints"] = {"leaves": (n_leaves, "<= 4")}
    with pytest.warns(UserWarning, match="constraints: none of"):
        fitted = search(HyperTuneSearchCV, n_iter=8, **params).fit(X, y)
    whole = fitted.cv_results_["stage"] == 1
    feasible = fitted.cv_results_["feasible"]
    assert any(feasible[~whole]) and not any(feasible[whole])
    leaves = np.where(whole, fitted.cv_results_["mean_constraint_leaves"], np.inf)
    assert leaves[fitted.best_index_] == min(leaves)
    assert fitted.best_score_corrected_ <= fitted.best_score_


def test_outcomes_are_metrics_measures_and_scorers():
    times = ("fit_time", "cpu_time", "predict_time", "score_time")
    constraints = dict.fromkeys(times, "<= 60") | {
        "recall_macro": ">= 0.1",
        "size": ("model_size", "<= 1e6"),
        "f1_macro": [">= 0.0", "<= 1.0"],
        "n_features": ">= 0",
    }
    scoring = ["accuracy", "recall_macro"]
    params = {"scoring": scoring, "refit": "accuracy", "n_iter": 3}
    fitted = search(constraints=constraints, **params).fit(X, y)
    results = fitted.cv_results_
    names = {n.removeprefix("mean_constraint_") for n in results if "_constraint_" in n}
    assert names == constraints.keys() - {"recall_macro"}
    assert results["feasible"].all()
    outcomes = fitted.trials_[0].outcomes
    assert outcomes["recall_macro"] == results["mean_test_recall_macro"][0]
    assert outcomes["fit_time"] == results["mean_fit_time"][0]
    assert 0.0 < outcomes["predict_time"] < 60.0
    bounds = {"score": ">= 0.1", "accuracy": "<= 1"}
    fitted = search(constraints=bounds, scoring="accuracy", n_iter=2).fit(X, y)
    assert fitted.cv_results_["feasible"].all()


def test_the_only_metric_of_a_callable_is_called_score():
    def leaves(estimator, X, y):
        return -float(estimator.get_n_leaves())

    def two_numbers(estimator, X, y):
        return {"a": estimator.score(X, y), "b": float(estimator.get_n_leaves())}

    fitted = search(scoring=leaves, constraints={"score": ">= -4"}, n_iter=4).fit(X, y)
    feasible = fitted.cv_results_["mean_test_score"] >= -4
    assert fitted.cv_results_["feasible"].tolist() == feasible.tolist()
    wrong = search(scoring=leaves, constraints={"leaves": ">= -4"}, n_iter=2)
    with pytest.warns(UserWarning, match="none of 2 trials satisfies"):
        with pytest.warns(UserWarning, match="Measuring 'leaves' of constraints"):
            wrong.fit(X, y)
    assert not wrong.cv_results_["feasible"].any()
    several = search(scoring=two_numbers, refit="a", constraints={"b": "<= 4"})
    results = several.fit(X, y).cv_results_
    np.testing.assert_array_equal(results["feasible"], results["mean_test_b"] <= 4)


@pytest.mark.parametrize("surrogate", ["gp", "tpe"])
def test_models_and_rules_choose_what_keeps_the_constraints(surrogate):
    params = {"surrogate": surrogate, "n_iter": 24, "initial_points": 6}
    fitted = search(refit=OneStandardError("max_depth"), **params).fit(X, y)
    assert fitted.cv_results_["feasible"][6:].mean() > 0.5
    assert fitted.cv_results_["feasible"][fitted.best_index_]


def test_pruning_prunes_what_surely_violates_a_constraint():
    fitted = search(pruning=True, n_iter=14, cv=5, pre_dispatch=1).fit(X, y)
    pruned = [one for one in fitted.trials_ if one.state == "pruned"]
    broken = [one for one in pruned if one.outcomes["leaves"] > 4]
    assert broken
    first = next(k for k, one in enumerate(fitted.trials_) if one.feasible)
    assert all(one.number > first for one in pruned)
    assert fitted.trials_[fitted.best_index_].state == "complete"
    assert fitted.cv_results_["feasible"][fitted.best_index_]


@pytest.mark.filterwarnings("ignore")
def test_the_next_stage_begins_with_what_keeps_the_constraints():
    fitted = search(MultiStageSearchCV, n_iter=16, n_promoted=2).fit(X, y)
    first = [one for one in fitted.trials_ if one.fidelity.stage == 0]
    best = sorted((one for one in first if one.feasible), key=lambda one: -one.score)
    begun = [one.params for one in fitted.trials_ if one.fidelity.stage == 1][:2]
    assert begun == [one.params for one in best[:2]]
    limit = {"leaves": (n_leaves, "<= 2.5")}
    small = search(HyperTuneSearchCV, n_iter=20, constraints=limit).fit(X, y)
    assert small.cv_results_["stage"][small.best_index_] == 1


def test_fronts_and_curves_have_nothing_that_violates_a_constraint():
    large = [{"max_depth": 12, "min_samples_leaf": 1}]
    limit = {"leaves": "<= 4"}
    front = search(ParetoSearchCV, constraints=limit, initial_points=large).fit(X, y)
    leaves = front.cv_results_["mean_test_leaves"]
    assert front.cv_results_["feasible"].tolist() == (leaves <= 4).tolist()
    assert np.any(leaves > 4)
    rows = vars(front)["pareto_front_"]["trial"]
    assert np.all(leaves[rows] <= 4)
    assert front.select("accuracy", X, y).cv_results_["feasible"][front.best_index_]
    begun = [*large, {"max_depth": 1, "min_samples_leaf": 1}]
    params = {"constraints": {"leaves": "<= 1"}, "initial_points": begun, "n_iter": 2}
    with pytest.warns(UserWarning, match="trial 1, which violates them least, is"):
        search(ParetoSearchCV, **params).fit(X, y)
    tradeoff = search(TradeoffSearchCV, initial_points=large).fit(X, y)
    assert not tradeoff.cv_results_["feasible"].all()
    rows = vars(tradeoff)["tradeoff_curve_"]["trial"]
    assert tradeoff.cv_results_["feasible"][rows].all()
    tradeoff.select(0.0, X, y)
    assert tradeoff.cv_results_["feasible"][tradeoff.best_index_]


def test_a_warm_start_knows_the_outcomes(earlier):
    for source in (earlier, earlier.journal):
        fitted = search(warm_start_from=source, n_iter=1).fit(X, y)
        assert fitted.best_params_ == earlier.best_params_
        learned, observed = fitted.optimizer_._learned, earlier.optimizer_._observed
        assert [t.slacks for t in learned] == [t.slacks for t in observed]
    unknown = search(constraints=None).fit(X, y)
    fitted = search(warm_start_from=unknown, n_iter=2).fit(X, y)
    assert [trial.slacks for trial in fitted.optimizer_._learned] == [[]] * 9


def test_an_outcome_that_cannot_be_measured_is_no_outcome_that_is_kept():
    def fails(tree):
        if tree.max_depth > 6:
            raise RuntimeError("too deep")
        return 1.0

    with pytest.warns(UserWarning, match="Measuring 'a' of constraints failed"):
        fitted = search(constraints={"a": (fails, "<= 2")}).fit(X, y)
    depths = np.array([one["max_depth"] for one in fitted.cv_results_["params"]])
    np.testing.assert_array_equal(fitted.cv_results_["feasible"], depths <= 6)
    with pytest.raises(RuntimeError, match="too deep"):
        search(constraints={"a": (fails, "<= 2")}, error_score="raise").fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scorers_of_outcomes_get_their_metadata(n_jobs):
    labels = (y == 1).astype(int)
    group = np.random.default_rng(0).integers(0, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(recall_gap).set_score_request(group=True)
        limits = {"gap": (scorer, "<= 0.2"), "recall": ">= 0.3"}
        fitted = search(constraints=limits, n_iter=3, n_jobs=n_jobs, pre_dispatch=1)
        assert "constraints" in str(fitted.get_metadata_routing())
        fitted.fit(X, labels, group=group)
        with pytest.raises(TypeError, match="other"):
            clone(fitted).fit(X, labels, other=group)
    expected = []
    for train, test in StratifiedKFold(3).split(X, labels):
        tree = DecisionTreeClassifier(random_state=0, **fitted.trials_[0].params)
        tree.fit(X[train], labels[train])
        predicted = tree.predict(X[test])
        expected.append(recall_gap(labels[test], predicted, group[test]))
    gap = fitted.cv_results_["mean_constraint_gap"][0]
    assert gap == pytest.approx(np.mean(expected))


@pytest.mark.filterwarnings("ignore:constraints", "ignore:The scoring")
@pytest.mark.parametrize("kind", [BayesSearchCV, ParetoSearchCV])
def test_scorers_of_outcomes_get_the_weights_of_the_score(kind):
    def plain_score(model, X, y, sample_weight=None):
        return model.score(X, y, sample_weight=sample_weight)

    def unweighted_score(model, X, y):
        return model.score(X, y)

    weights = np.random.default_rng(0).uniform(0.1, 5.0, len(y))
    limits = {"accuracy": ">= 0.9", "plain": (plain_score, ">= 0.9")}
    limits["unweighted"] = (unweighted_score, ">= 0.9")
    params = {"n_iter": 3, "constraints": limits}
    if kind is ParetoSearchCV:
        objectives = {"score": ("max", plain_score), "also": ("max", unweighted_score)}
        params["objectives"] = {**objectives, "model_size": "min"}
    fitted = search(kind, **params).fit(X, y, sample_weight=weights)
    results = fitted.cv_results_
    scores = [results["mean_test_score"]]
    scores += [results[f"mean_constraint_{name}"] for name in ("accuracy", "plain")]
    np.testing.assert_allclose(scores[1:], scores[:1] * 2)
    plain = results["mean_constraint_unweighted"]
    assert np.all(np.isclose(scores[0], plain) != HAS_WEIGHTED_SCORES)


@pytest.mark.parametrize(
    "constraints, error, match",
    [
        ({"recal": ">= 0.9"}, ValueError, r"constraints\['recal'\].*'recall'"),
        ({"leaf": "<= 5"}, ValueError, r"\['leaf'\]: 'leaf' is not measured"),
        ({"recall": 0.9}, ValueError, r"constraints\['recall'\] must be a bound"),
        ({"recall": []}, ValueError, r"constraints\['recall'\]: the list of bounds"),
        ({"recall": [">= 0.9", "<= 0.8"]}, ValueError, "contradict each other"),
        ({"model_size": "<= -3"}, ValueError, "never negative"),
        ({"a": (n_leaves,)}, ValueError, r"constraints\['a'\] must be a bound, a list"),
        ({"a": (DecisionTreeClassifier, "<= 1")}, TypeError, r"constraints\['a'\]"),
        ({"a": (3, "<= 1")}, TypeError, r"constraints\['a'\]: the outcome must be"),
        ({"a": (lambda a, b, c, d: 1, "<= 1")}, TypeError, "the name of a measure"),
        ({"recall": ">= 0.9"}, ValueError, r"\['recall'\] is not defined for this y"),
        ({3: "<= 1"}, TypeError, "constraints: names must be strings"),
        ([("a", "<= 1")], TypeError, "constraints must be a function of the"),
    ],
)
def test_wrong_constraints_are_refused(constraints, error, match, no_trials):
    with pytest.raises(error, match=match):
        search(constraints=constraints).fit(X, y)
