import math
import sys

import pytest
from journal_samples import SPACE, fold, open_journal, record, trial_of
from mlflow_double import Mlflow
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from skbayes import load_history
from skbayes.evaluation import History, Trial
from skbayes.journal import reader
from skbayes.tracking import log_to_mlflow

X, y = load_iris(return_X_y=True)


@pytest.fixture
def mlflow(monkeypatch):
    module = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my search.journal"


def test_a_history_becomes_a_run_with_children(mlflow):
    trials = [
        Trial(0, {"C": 1}, [fold(0.5), fold(0.7)], score=0.6, duration=2.0),
        Trial(1, {"C": 2}, [fold(0.9), fold(0.7)], score=0.8),
        Trial(2, {"C": 3}, [fold(0.5), fold(0.5)], score=0.5),
    ]
    run_id = log_to_mlflow(History(trials))
    (parent,) = mlflow.parents
    assert parent.info.run_id == run_id and parent.info.status == "FINISHED"
    # The best score so far, by the number of the trial.
    assert mlflow.history[run_id, "best_cv_score"] == [(0, 0.6), (1, 0.8)]
    assert parent.data.tags["best_C"] == "2"
    child = mlflow.children(parent)[0]
    assert child.info.run_name == "trial 0" and child.data.params == {"C": "1"}
    assert child.data.metrics["mean_test_score"] == pytest.approx(0.6)
    assert child.data.metrics["std_test_score"] == pytest.approx(0.1)
    assert child.data.metrics["duration"] == 2.0


def test_a_search_of_scikit_learn_is_logged_too(mlflow):
    grid = GridSearchCV(DummyClassifier(), {"strategy": ["prior", "uniform"]}, cv=2)
    log_to_mlflow(grid.fit(X, y))
    (parent,) = mlflow.parents
    children = mlflow.children(parent)
    ranks = [children[i].data.metrics["rank_test_score"] for i in range(2)]
    assert ranks == grid.cv_results_["rank_test_score"].tolist()


@pytest.mark.parametrize("read", [str, load_history])
def test_what_a_run_has_is_not_logged_again(mlflow, path, read):
    with open_journal(path) as journal:
        record(journal, range(2))
        run_id = log_to_mlflow(read(path))
        record(journal, range(2, 5))
        with mlflow.start_run(run_id=run_id):
            assert log_to_mlflow(read(path)) == run_id
    (parent,) = mlflow.parents
    assert len(mlflow.runs) == 6
    assert sorted(mlflow.children(parent)) == list(range(5))


def test_a_journal_is_logged_while_it_grows(mlflow, path, monkeypatch):
    journal = open_journal(path)
    seen = []

    def sleep(seconds):
        assert seconds == 30
        (parent,) = mlflow.parents
        assert parent.info.status == "RUNNING"
        seen.append(len(mlflow.children(parent)))
        record(journal, [len(seen) - 1])
        if len(seen) == 2:
            journal.close()

    monkeypatch.setattr(reader.time, "sleep", sleep)
    log_to_mlflow(path, refresh=30)
    assert seen == [0, 1]
    (parent,) = mlflow.parents
    assert len(mlflow.children(parent)) == 2 and parent.info.status == "FINISHED"


def test_with_the_space_values_are_logged_and_not_their_texts(mlflow, path):
    with open_journal(path) as journal:
        record(journal, [0])
    log_to_mlflow(path, search_spaces=SPACE)
    (parent,) = mlflow.parents
    assert mlflow.children(parent)[0].data.params["clf"] == "SVC()"


def test_names_and_values_are_such_as_mlflow_takes(mlflow):
    folds = [fold(0.5, extras={"costs": {"<lambda>": 3.0}})]
    params = {f"p{i}": "x" * 1000 for i in range(150)}
    log_to_mlflow(History([Trial(0, params, folds, score=0.5)]))
    (parent,) = mlflow.parents
    child = mlflow.children(parent)[0].data
    assert len(child.params) == 150
    assert {len(text) for text in child.params.values()} == {500}
    assert all(c.isalnum() or c in "_-. /" for name in child.metrics for c in name)


def test_pruned_trials_say_so(mlflow):
    trial = trial_of(
        0, state="pruned", folds=[fold(0.5), fold(math.nan, status="skipped")]
    )
    log_to_mlflow(History([trial]))
    (parent,) = mlflow.parents
    child = mlflow.children(parent)[0]
    assert child.data.tags["state"] == "pruned" and child.info.status == "FINISHED"
    assert child.data.metrics["mean_test_score"] == 0.5


@pytest.mark.parametrize(
    "source, refresh, error, message",
    [
        ("nowhere.journal", None, FileNotFoundError, "there is no file"),
        ("nowhere.journal", 0, ValueError, "refresh must be a positive number, got 0"),
        ("nowhere.journal", True, TypeError, "refresh must be a number of"),
        (History(), 30, TypeError, "refresh needs the path of the journal"),
        (3, None, TypeError, "source must be a fitted search"),
        (GridSearchCV(DummyClassifier(), {}), None, ValueError, "not fitted"),
    ],
)
def test_mistakes_are_found_before_there_is_a_run(
    mlflow, source, refresh, error, message
):
    with pytest.raises(error, match=message):
        log_to_mlflow(source, refresh=refresh)
    assert not mlflow.runs


def test_without_mlflow_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"needs mlflow.*skbayes\[tracking\]"):
        log_to_mlflow(History())
