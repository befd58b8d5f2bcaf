"""Runs of MLflow, by a call and by autologging."""

import contextlib
import functools
import math
import sys
import warnings

import every_search
import numpy as np
import pytest
from journal_samples import SPACE, fold, open_journal, record
from mlflow_double import Autologging, Mlflow
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from skbayes import BayesSearchCV, Optimizer, inspection
from skbayes.benchmark import load_nmt
from skbayes.defaults import default_space, models
from skbayes.results import OneStandardError, results_frame
from skbayes.tracking import log_to_mlflow
from skbayes.trial import History, Trial

X, y = load_iris(return_X_y=True)


@pytest.fixture
def mlflow(monkeypatch):
    module = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


@pytest.fixture
def autolog(mlflow, monkeypatch):
    """Return MLflow after a call of `autolog`."""
    mlflow.autologging = Autologging()
    monkeypatch.setitem(sys.modules, mlflow.autologging.__name__, mlflow.autologging)
    return mlflow


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my search.journal"


def only_run(mlflow):
    """Return the only parent, and its children by the numbers of their trials."""
    (parent,) = mlflow.parents
    return parent, mlflow.children(parent)


def test_a_history_becomes_a_run_with_children(mlflow):
    folds = [fold(0.5), fold(math.nan, status="skipped")]
    trials = [
        Trial(0, {"C": 1}, [fold(0.5), fold(0.7)], score=0.6, duration=2.0),
        Trial(1, {"C": 2}, [fold(0.9), fold(0.7)], score=0.8),
        Trial(2, {"C": 3}, folds, score=0.5, state="pruned"),
    ]
    run_id = log_to_mlflow(History(trials))
    parent, children = only_run(mlflow)
    assert parent.info.run_id == run_id and parent.info.status == "FINISHED"
    # The best score so far, by the number of the trial.
    assert mlflow.history[run_id, "best_cv_score"] == [(0, 0.6), (1, 0.8)]
    assert parent.data.tags["best_C"] == "2"
    first, pruned = children[0], children[2]
    assert first.info.run_name == "trial 0" and first.data.params == {"C": "1"}
    assert first.data.metrics["mean_test_score"] == pytest.approx(0.6)
    assert first.data.metrics["std_test_score"] == pytest.approx(0.1)
    assert first.data.metrics["duration"] == 2.0
    assert pruned.data.tags["state"] == "pruned" and pruned.info.status == "FINISHED"
    assert pruned.data.metrics["mean_test_score"] == 0.5


def test_a_search_of_scikit_learn_is_logged_too(mlflow):
    grid = GridSearchCV(DummyClassifier(), {"strategy": ["prior", "uniform"]}, cv=2)
    log_to_mlflow(grid.fit(X, y))
    _, children = only_run(mlflow)
    ranks = [children[i].data.metrics["rank_test_score"] for i in range(2)]
    assert ranks == grid.cv_results_["rank_test_score"].tolist()


def test_trials_in_a_run_are_not_logged_again(mlflow, path):
    with open_journal(path) as journal:
        record(journal, range(2))
        run_id = log_to_mlflow(path)
        record(journal, range(2, 5))
        with mlflow.start_run(run_id=run_id):
            assert log_to_mlflow(path) == run_id
    assert len(mlflow.runs) == 6
    assert sorted(only_run(mlflow)[1]) == list(range(5))


def test_a_journal_is_logged_while_it_grows(mlflow, path, monkeypatch):
    journal = open_journal(path)
    counts = []

    def sleep(seconds):
        assert seconds == 30
        parent, children = only_run(mlflow)
        assert parent.info.status == "RUNNING"
        counts.append(len(children))
        record(journal, [len(counts) - 1])
        if len(counts) == 2:
            journal.close()

    monkeypatch.setattr("skbayes.options.journal.reader.time.sleep", sleep)
    log_to_mlflow(path, refresh=30)
    assert counts == [0, 1]
    parent, children = only_run(mlflow)
    assert len(children) == 2 and parent.info.status == "FINISHED"


def test_with_the_space_values_are_logged_and_not_their_texts(mlflow, path):
    with open_journal(path) as journal:
        record(journal, [0])
    log_to_mlflow(path, search_spaces=SPACE)
    assert only_run(mlflow)[1][0].data.params["clf"] == "SVC()"


def test_names_and_values_are_such_as_mlflow_takes(mlflow):
    folds = [fold(0.5, extras={"costs": {"<lambda>": 3.0}})]
    params = {f"p{i}": "x" * 1000 for i in range(150)}
    log_to_mlflow(History([Trial(0, params, folds, score=0.5)]))
    child = only_run(mlflow)[1][0].data
    assert len(child.params) == 150
    assert {len(text) for text in child.params.values()} == {500}
    assert all(c.isalnum() or c in "_-. /" for name in child.metrics for c in name)


@pytest.mark.parametrize(
    "source, refresh, error, message",
    [
        ("nowhere.journal", None, FileNotFoundError, "there is no file"),
        ("nowhere.journal", 0, ValueError, "refresh must be a positive number, got 0"),
        ("nowhere.journal", True, TypeError, "refresh must be a number of"),
        (History(), 30, TypeError, "refresh needs the path of the journal"),
        (3, None, TypeError, "expected a fitted search"),
        (GridSearchCV(DummyClassifier(), {}), None, ValueError, "not fitted"),
    ],
)
def test_mistakes_are_errors_before_a_run(mlflow, source, refresh, error, message):
    with pytest.raises(error, match=message):
        log_to_mlflow(source, refresh=refresh)
    assert not mlflow.runs


def test_without_mlflow_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"needs mlflow.*skbayes\[tracking\]"):
        log_to_mlflow(History())


# -- autologging ---------------------------------------------------------------------


def search(values=(0, 1, 2), **params):
    dummy = DummyClassifier(strategy="constant")
    space = {"constant": [*values]}
    return every_search.small_search(dummy, space, n_iter=3, **params)


def test_a_search_is_one_run_and_its_fits_are_none(autolog, seen):
    fitted = search().fit(X, y)
    assert not seen
    assert not autolog.autologging._AUTOLOGGING_GLOBALLY_DISABLED
    parent, children = only_run(autolog)
    assert parent.info.status == "FINISHED"
    assert parent.data.params["n_iter"] == "3"
    assert parent.data.params["best_constant"] == str(fitted.best_params_["constant"])
    assert parent.data.metrics["best_cv_score"] == fitted.best_score_
    assert parent.data.tags["estimator_name"] == "BayesSearchCV"
    names = ["signature"], ["registered_model_name", "signature"]
    models = [(name, sorted(options)) for name, options in parent.models]
    assert models == [("model", names[1]), ("best_estimator", names[0])]
    assert parent.data.metrics["training_score"] == 1.0
    assert parent.content == (X, y, None)
    assert parent.texts["cv_results.csv"].startswith("mean_fit_time,")
    assert sorted(children) == [0, 1, 2]
    for row, params in enumerate(fitted.cv_results_["params"]):
        child = children[row].data
        assert child.params["constant"] == str(params["constant"])
        assert child.params["strategy"] == "constant"
        for name in ("mean_test_score", "std_test_score", "rank_test_score"):
            assert child.metrics[name] == fitted.cv_results_[name][row]
        assert child.tags["estimator_name"] == "DummyClassifier"


@pytest.fixture
def seen(autolog, monkeypatch):
    """Return the names of scikit-learn's classes whose fits MLflow would log."""
    names = []

    def watched(fit):
        @functools.wraps(fit)
        def call(self, *args, **params):
            if not autolog.autologging._AUTOLOGGING_GLOBALLY_DISABLED:
                names.append(type(self).__name__)
            return fit(self, *args, **params)

        return call

    for _, kind in all_estimators():
        # Metrics fit these classes, and MLflow does not patch their modules.
        if kind.__module__.split(".")[1] not in ("preprocessing", "model_selection"):
            monkeypatch.setattr(kind, "fit", watched(kind.fit), raising=False)
    return names


@pytest.mark.parametrize("kind", every_search.SEARCHES)
def test_every_search_is_logged(autolog, seen, kind):
    autolog.autologging.options = {"log_models": False, "max_tuning_runs": None}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?!The search was not logged)")
        search = every_search.make(kind, n_iter=4, constraints={"accuracy": ">= 0.1"})
        if kind is not every_search.ParetoSearchCV:
            search.set_params(scoring="accuracy")
        fitted = search.fit(*every_search.data(kind))
    assert not seen
    parent, children = only_run(autolog)
    assert parent.data.tags["skbayes.search"] == kind.__name__
    # There is no best score of several objectives.
    is_front = kind is every_search.ParetoSearchCV
    assert ("best_cv_score" in parent.data.metrics) != is_front
    assert sorted(children) == [t.number for t in fitted.trials_]


def test_the_options_of_autolog_count(autolog):
    options = {"max_tuning_runs": 1, "log_models": False, "extra_tags": {"team": "a"}}
    autolog.autologging.options = options
    weights = np.ones(len(y))
    fitted = search().fit(X, y, sample_weight=weights)
    parent, children = only_run(autolog)
    assert list(children) == [fitted.best_index_]
    assert not parent.models and parent.data.tags["team"] == "a"
    # Training metrics have the weights of the fit.
    assert parent.content[2] is weights


def test_the_run_of_the_user_is_the_parent(autolog):
    with autolog.start_run() as parent:
        search().fit(X, y)
        autolog.autologging.options = {"exclusive": True}
        search().fit(X, y)
    assert autolog.parents == [parent]
    assert len(autolog.children(parent)) == 3


@pytest.mark.parametrize("state", ["disabled", "within", "off"])
def test_searches_are_not_logged_where_mlflow_logs_nothing(autolog, state):
    autolog.autologging._AUTOLOGGING_GLOBALLY_DISABLED = state == "disabled"
    autolog.autologging.within = state == "within"
    autolog.autologging.options = {"disable": state == "off"}
    search().fit(X, y)
    assert not autolog.runs
    # It is not turned on again within a block that turned it off.
    assert autolog.autologging._AUTOLOGGING_GLOBALLY_DISABLED == (state == "disabled")


def test_a_search_that_fails_is_a_run_that_failed(autolog):
    with pytest.raises(ValueError, match="constant"):
        search([7, 8], error_score="raise").fit(X, y)
    (parent,) = autolog.parents
    assert parent.info.status == "FAILED"
    assert not autolog.autologging._AUTOLOGGING_GLOBALLY_DISABLED


def test_a_server_that_fails_costs_no_search(autolog):
    def refuse(*args, **kwargs):
        raise OSError("no server")

    autolog.log_batch = refuse
    with pytest.warns(UserWarning, match=r"not logged completely.*no server"):
        fitted = search().fit(X, y)
    assert hasattr(fitted, "best_params_")


def test_mlflow_is_not_imported_by_a_search(monkeypatch):
    monkeypatch.delitem(sys.modules, "mlflow.utils.autologging_utils", raising=False)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    search = BayesSearchCV(DummyClassifier(), {"strategy": ["prior", "uniform"]})
    assert len(search.set_params(n_iter=1).fit(X, y).trials_) == 1
    assert sys.modules["mlflow"] is None


def test_only_finite_values_of_a_failed_trial_are_logged(autolog):
    with warnings.catch_warnings(action="ignore"):
        fitted = search([0, 7]).fit(X, y)
    (failed,) = [t.number for t in fitted.trials_ if t.error]
    child = only_run(autolog)[1][failed]
    assert child.info.status == "FAILED" and child.data.tags["state"] == "failed"
    assert "mean_test_score" not in child.data.metrics
    assert "ValueError" in child.data.tags["error"]


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy"},
        {"scoring": "accuracy", "search_spaces": None},
        {"scoring": "accuracy", "refit": False},
        {"scoring": "accuracy", "refit": "ensemble", "cv": 3},
        {"scoring": "accuracy", "refit": OneStandardError("max_depth")},
        {"scoring": "accuracy", "return_folds": ["predict", "estimators"]},
        {"scoring": "accuracy", "pruning": True, "verbose": 1},
    ],
    ids=str,
)
def test_a_fit_is_one_run_with_any_option(autolog, seen, options):
    search = every_search.make(BayesSearchCV, n_iter=4, **options)
    search.fit(X, y)
    parent, children = only_run(autolog)
    assert set(parent.data.metrics) == {"best_cv_score", "training_score"}
    assert len(children) == 4
    assert not seen


READERS = [
    getattr(inspection, name).from_search
    for name in inspection.__all__
    if name.endswith("Display")
] + [inspection.advice, inspection.importance, inspection.read_record]


@pytest.mark.parametrize("kind", every_search.SEARCHES)
@pytest.mark.filterwarnings("ignore")
def test_readers_of_a_search_start_no_run(autolog, seen, kind, tmp_path, monkeypatch):
    # The tests of reports draw these figures.
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **options: None)
    fitted, data = every_search.fitted(kind), every_search.data(kind)
    autolog.runs.clear()
    for read in READERS:
        # A display may refuse the search.
        with contextlib.suppress(ValueError):
            read(fitted)
    fitted.score(*data)
    fitted.predict(data[0])
    fitted.report(tmp_path / "report.html")
    fitted._repr_html_()
    results_frame(fitted.cv_results_)
    if hasattr(fitted, "select"):
        fitted.select(fitted.refit if fitted.refit is not True else 0.1, *data)
    assert not seen and not autolog.runs


def test_other_public_functions_are_no_runs(autolog, seen):
    from skbayes.search import WeightedEnsembleClassifier

    members = [DecisionTreeClassifier(max_depth=d) for d in (1, 2)]
    WeightedEnsembleClassifier(members).fit(X, y).predict(X)
    models(X, y)
    default_space(members[0])
    inspection.importance(load_nmt("ja-en"))
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for _ in range(12):
        params = optimizer.ask()
        optimizer.tell(params, params["x"])
    assert not seen and not autolog.runs
