"""Arrays of trials from all sources."""

import dataclasses
import math
import pickle

import drawn_searches as drawn
import numpy as np
import pandas
import pytest
from every_search import small_search
from simple_estimators import AnyNames
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.inspection import SearchRecord, read_record
from skbayes.trial.records import History

X, y = drawn.X, drawn.y


def assert_alike(one, other, leave_out=(), atol=0.0):
    """Check that all arrays have the same numbers."""
    for field in dataclasses.fields(SearchRecord):
        if field.name in {"space", "name", "method", "n_points", "trials", *leave_out}:
            continue
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("scores", "costs"):
            assert a.keys() == b.keys()
            for key in a:
                np.testing.assert_allclose(a[key], b[key])
        elif isinstance(a, np.ndarray) and a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, atol=atol, err_msg=field.name)
        elif isinstance(a, np.ndarray):
            assert a.tolist() == b.tolist(), field.name
        else:
            assert a == b, field.name


@pytest.mark.parametrize("kind", drawn.KINDS)
def test_all_sources_of_a_search_agree(kind):
    search = drawn.search(kind)
    path = search.journal
    record = read_record(search)
    assert len(record) == len(search.trials_)
    assert record.params == search.trials_.params
    np.testing.assert_array_equal(record.score, [t.score for t in search.trials_])
    assert record.name == record.method == type(search).__name__
    if hasattr(search, "best_params_"):
        # The number of rounds is no parameter of a trial.
        best = record.params[record.best]
        assert search.best_params_ | best == search.best_params_
    assert record.n_points == 1
    assert_alike(record, read_record(pickle.loads(pickle.dumps(search))))

    by_journal = read_record(path)
    not_known = {"best", "own_index", "settings"}
    assert_alike(record, by_journal, not_known, atol=1e-6)
    assert by_journal.name == kind
    assert by_journal.method == record.method

    by_history = read_record(search.trials_, metric=None)
    not_known |= {"metric", "directions", "scores", "sign"}
    assert_alike(record, by_history, not_known)


def test_times_are_those_of_the_search():
    search = drawn.search("bayes")
    record = read_record(search)
    assert record.started[0] == 0.0
    assert np.all(np.diff(record.started) > 0)
    assert np.all(record.finished[:-1] <= record.started[1:] + 1e-3)
    assert record.finished[-1] < search.total_time_
    np.testing.assert_allclose(record.finished - record.started, record.duration)
    np.testing.assert_allclose(record.fit_time, search.cv_results_["mean_fit_time"])


def test_means_and_deviations_are_those_of_cv_results():
    search = drawn.search("metrics")
    results = search.cv_results_
    record = read_record(search)
    assert record.metric == "neg_log_loss"
    assert record.label == "log loss (lower is better)"
    np.testing.assert_array_equal(record.shown, -record.score)
    for name in ("neg_log_loss", "accuracy"):
        one = read_record(search, metric=name)
        np.testing.assert_allclose(one.score, results[f"mean_test_{name}"])
        np.testing.assert_allclose(one.std, results[f"std_test_{name}"])
        np.testing.assert_allclose(record.scores[name], one.score)
    # `one` is about accuracy, by which the search did not choose.
    assert one.label == "accuracy (higher is better)"
    assert one.best == int(np.argmax(one.score))
    assert record.best == search.best_index_
    # The column of a single metric is called "score".
    single = BayesSearchCV(SVC(), drawn.C, n_iter=2, cv=3, scoring="f1_macro").fit(X, y)
    by_name = read_record(single, metric="score").score
    np.testing.assert_array_equal(by_name, single.cv_results_["mean_test_score"])


def test_an_objective_to_minimize_is_shown_as_it_is():
    search = drawn.search("pareto")
    record = read_record(search)
    sizes = search.cv_results_["mean_test_model_size"]
    assert record.metric == "model_size"
    np.testing.assert_allclose(record.shown, sizes)
    np.testing.assert_allclose(record.score, -sizes)
    assert record.directions == {"model_size": -1, "accuracy": 1}
    # A history does not name it, but has both its values and what is maximized.
    by_history = read_record(search.trials_)
    assert (by_history.metric, by_history.sign) == ("model_size", -1)
    assert read_record(search, metric="accuracy").sign == 1


def test_only_trials_on_the_most_rows_can_be_compared():
    record = read_record(drawn.search("stages").trials_)
    np.testing.assert_array_equal(record.comparable, record.stage == 1)
    assert record.stage[record.best] == 1
    first = read_record(drawn.search("stages").trials_[:5])
    assert first.comparable.all()


def test_failed_trials_have_no_score():
    search = drawn.search("failures")
    record = read_record(search)
    failed = record.state == "failed"
    assert 0 < failed.sum() < len(record)
    np.testing.assert_array_equal(np.isnan(record.score), failed)
    np.testing.assert_array_equal(np.isnan(record.std), failed)
    assert not np.any(record.comparable & failed)
    record = read_record(drawn.history(None, None))
    assert record.best is None
    assert np.isnan(record.score).all()
    assert read_record(History()).best is None


def test_folds_that_were_spared_do_not_count():
    folds = [drawn.fold(0.5), drawn.fold(math.nan, status="skipped", fit_time=math.nan)]
    pruned = drawn.trial(0, 0.4, folds=folds, state="pruned")
    record = read_record(History([pruned, drawn.trial(1, 0.3)]))
    assert record.score.tolist() == [0.4, 0.3]
    assert record.scores["score"].tolist() == [0.5, 0.3]
    assert record.std[0] == 0.0
    assert record.fit_time.tolist() == [0.5, 0.5]
    assert record.comparable.tolist() == [False, True]
    assert record.best == 1


def test_a_journal_of_a_search_that_runs(tmp_path):
    path = tmp_path / "night.db"
    space, params = drawn.running_journal(path, n_done=2, n_running=3)
    record = read_record(path)
    assert record.number.tolist() == [0, 1]
    assert [one.number for one in record.running] == [2, 3, 4]
    assert [one.params for one in record.running] == params[2:5]
    assert all(one.started >= 0 for one in record.running)
    assert record.n_points == 3
    assert record.metric == "neg_root_mean_squared_error"
    assert record.shown.tolist() == [1.0, 0.5]
    assert record.space is None
    assert record.name == "night"
    assert read_record(path, name="mine").name == "mine"
    assert read_record(path, search_spaces=space).space is space


def test_the_space_is_that_of_the_search():
    record = read_record(drawn.search("bayes"))
    assert record.space.encode(record.params).shape == (12, 6)
    # The size of the training set is no parameter of the estimator.
    assert read_record(drawn.search("tradeoff")).space.parameter_names == ["C"]
    history = drawn.search("bayes").trials_
    assert read_record(history).space is None
    space = read_record(history, search_spaces=drawn.SPACES).space
    assert space.parameter_names == record.space.parameter_names


def test_options_that_are_objects_come_back_with_the_space(tmp_path):
    path, space = tmp_path / "journal", {"C": [math.sin, math.cos]}
    search = small_search(AnyNames(C=1), space, journal=path).fit(X, y)
    texts = [one["C"] for one in read_record(path).params]
    assert sorted(texts) == ["cos", "sin"]
    objects = [one["C"] for one in read_record(path, search_spaces=space).params]
    assert objects == [one["C"] for one in search.trials_.params]


def test_searches_of_scikit_learn_are_read():
    grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3, scoring="accuracy").fit(X, y)
    record = read_record(grid)
    np.testing.assert_allclose(record.score, grid.cv_results_["mean_test_score"])
    np.testing.assert_allclose(record.std, grid.cv_results_["std_test_score"])
    np.testing.assert_allclose(record.fit_time, grid.cv_results_["mean_fit_time"])
    assert record.metric == "accuracy"
    assert record.best == grid.best_index_
    assert record.space.parameter_names == ["C"]
    assert np.isnan(record.started).all()

    halving = HalvingGridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3, random_state=0)
    record = read_record(halving.fit(X, y))
    resources = halving.cv_results_["n_resources"]
    np.testing.assert_array_equal(record.stage, halving.cv_results_["iter"])
    np.testing.assert_allclose(record.train_fraction, resources / resources.max())
    assert record.best == halving.best_index_


@pytest.mark.parametrize(
    "direction, better", [("minimize", "lower"), ("maximize", "higher")]
)
def test_a_study_of_optuna_has_its_values_and_direction(direction, better):
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(direction=direction)
    ranges = {"C": optuna.distributions.FloatDistribution(0.0, 9.0)}
    for C, value in ((1.0, 0.25), (2.0, 0.75)):
        fields = {"params": {"C": C}, "distributions": ranges, "value": value}
        study.add_trial(optuna.trial.create_trial(**fields))
    record = read_record(study)
    assert record.params == [{"C": 1.0}, {"C": 2.0}]
    assert record.shown.tolist() == [0.25, 0.75]
    assert record.params[record.best] == study.best_params
    assert record.label == f"score ({better} is better)"


def test_a_record_is_returned_as_it_is():
    record = read_record(drawn.history(0.5))
    assert read_record(record) is record
    assert read_record(record, name="mine").name == "mine"
    with pytest.raises(ValueError, match="metric='other'"):
        read_record(record, metric="other")


@pytest.mark.parametrize(
    ("source", "options", "error", "match"),
    [
        ([1, 2], {}, TypeError, "source: expected a fitted search"),
        (BayesSearchCV(SVC(), {"C": [1]}), {}, NotFittedError, "not fitted"),
        (GridSearchCV(SVC(), {"C": [1]}), {}, NotFittedError, "not fitted"),
        ("missing.journal", {}, FileNotFoundError, "journal"),
        (pandas.DataFrame({"a": [1]}), {}, TypeError, "source: expected a fitted"),
        (None, {"metric": "accuracy"}, ValueError, r"metric must be .* \['score'\]"),
        (None, {"metric": 3}, TypeError, "metric must be a string"),
        (None, {"name": 3}, TypeError, "name must be a string"),
        (None, {"search_spaces": {"C": [1.0]}}, ValueError, "does not have the values"),
    ],
)
def test_wrong_sources_and_arguments(source, options, error, match):
    source = drawn.history(0.5, 0.6) if source is None else source
    with pytest.raises(error, match=match):
        read_record(source, **options)
