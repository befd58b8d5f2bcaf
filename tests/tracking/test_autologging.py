import sys
import warnings

import every_search
import pytest
from mlflow_double import Autologging, Mlflow
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)


@pytest.fixture
def mlflow(monkeypatch):
    """Return the imported module MLflow after a call of `autolog`."""
    return _import(monkeypatch, Mlflow(), Autologging())


def _import(monkeypatch, mlflow, autologging):
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, autologging.__name__, autologging)
    mlflow.autologging = autologging
    return mlflow


class Watched(DummyClassifier):
    """Estimator that records whether its fits would be logged."""

    def fit(self, X, y):
        autologging = sys.modules["mlflow.utils.autologging_utils"]
        logged.append(not autologging._AUTOLOGGING_GLOBALLY_DISABLED)
        return super().fit(X, y)


logged = []


def search(**more):
    space = {"constant": [0, 1, 2]}
    options = {"n_iter": 3, "cv": 2, "random_state": 0, **more}
    return BayesSearchCV(Watched(strategy="constant"), space, **options)


def test_a_search_is_one_run_and_its_fits_are_none(mlflow):
    logged.clear()
    found = search().fit(X, y)
    assert logged and not any(logged)
    assert not mlflow.autologging._AUTOLOGGING_GLOBALLY_DISABLED
    (parent,) = mlflow.parents
    assert parent.info.status == "FINISHED"
    assert parent.data.params["n_iter"] == "3"
    assert parent.data.params["best_constant"] == str(found.best_params_["constant"])
    assert parent.data.metrics["best_cv_score"] == found.best_score_
    assert parent.data.tags["estimator_name"] == "BayesSearchCV"
    assert [name for name, _ in parent.models] == ["model", "best_estimator"]
    assert parent.texts["cv_results.csv"].startswith("mean_fit_time,")
    children = mlflow.children(parent)
    assert sorted(children) == [0, 1, 2]
    for row, params in enumerate(found.cv_results_["params"]):
        child = children[row].data
        assert child.params["constant"] == str(params["constant"])
        assert child.params["strategy"] == "constant"
        for name in ("mean_test_score", "std_test_score", "rank_test_score"):
            assert child.metrics[name] == found.cv_results_[name][row]
        assert child.tags["estimator_name"] == "Watched"


@pytest.mark.parametrize("kind", every_search.SEARCHES)
def test_every_search_is_logged(mlflow, kind):
    mlflow.autologging.options = {"log_models": False, "max_tuning_runs": None}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?!The search was not logged)")
        found = every_search.make(kind, n_iter=4).fit(*every_search.data(kind))
    (parent,) = mlflow.parents
    assert parent.data.tags["skbayes.search"] == kind.__name__
    # There is no best score of several objectives.
    is_front = kind is every_search.ParetoSearchCV
    assert ("best_cv_score" in parent.data.metrics) != is_front
    assert sorted(mlflow.children(parent)) == [trial.number for trial in found.trials_]


def test_the_options_of_autolog_count(mlflow):
    mlflow.autologging.options = {
        "max_tuning_runs": 1,
        "log_models": False,
        "extra_tags": {"team": "a"},
    }
    found = search().fit(X, y)
    (parent,) = mlflow.parents
    assert list(mlflow.children(parent)) == [found.best_index_]
    assert not parent.models and parent.data.tags["team"] == "a"


def test_the_run_of_the_user_is_the_parent(mlflow):
    with mlflow.start_run() as own:
        search().fit(X, y)
        mlflow.autologging.options = {"exclusive": True}
        search().fit(X, y)
    assert mlflow.parents == [own]
    assert len(mlflow.children(own)) == 3


@pytest.mark.parametrize("state", ["disabled", "within", "off"])
def test_nothing_is_logged_where_mlflow_logs_nothing(mlflow, state):
    mlflow.autologging._AUTOLOGGING_GLOBALLY_DISABLED = state == "disabled"
    mlflow.autologging.within = state == "within"
    mlflow.autologging.options = {"disable": state == "off"}
    search().fit(X, y)
    assert not mlflow.runs
    # Not switched on again within a block that has switched it off.
    assert mlflow.autologging._AUTOLOGGING_GLOBALLY_DISABLED == (state == "disabled")


def test_a_search_that_fails_is_a_run_that_failed(mlflow):
    with pytest.raises(ValueError, match="constant"):
        search(error_score="raise").set_params(search_spaces={"constant": [7, 8]}).fit(
            X, y
        )
    (parent,) = mlflow.parents
    assert parent.info.status == "FAILED"
    assert not mlflow.autologging._AUTOLOGGING_GLOBALLY_DISABLED


def test_a_server_that_fails_costs_no_search(mlflow):
    def refuse(*args, **kwargs):
        raise OSError("no server")

    mlflow.log_batch = refuse
    with pytest.warns(UserWarning, match=r"not logged completely.*no server"):
        found = search().fit(X, y)
    assert hasattr(found, "best_params_")


def test_mlflow_is_not_imported_by_a_search(monkeypatch):
    monkeypatch.delitem(sys.modules, "mlflow.utils.autologging_utils", raising=False)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    search = BayesSearchCV(DummyClassifier(), {"strategy": ["prior", "uniform"]})
    assert len(search.set_params(n_iter=1).fit(X, y).trials_) == 1
    assert sys.modules["mlflow"] is None


def test_of_a_failed_trial_only_what_is_finite_is_logged(mlflow):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = search().set_params(search_spaces={"constant": [0, 7]}).fit(X, y)
    (parent,) = mlflow.parents
    children = mlflow.children(parent)
    failed = [t.number for t in found.trials_ if t.error]
    assert len(failed) == 1
    child = children[failed[0]]
    assert child.info.status == "FAILED" and child.data.tags["state"] == "failed"
    assert "mean_test_score" not in child.data.metrics
    assert "ValueError" in child.data.tags["error"]
