"""Rounds of LightGBM, XGBoost and CatBoost."""

import sys
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC
from watched_rounds import (
    LIBRARIES,
    Watch,
    assert_stages_are_fits,
    booster,
    data_for,
    fitted_to,
)

from skbayes.evaluation.rounds import boosters
from skbayes.evaluation.rounds.lookup import learner_of, round_params

CASES = [
    *[(prefix, "Classifier", {}) for prefix in LIBRARIES],
    *[(prefix, "Regressor", {}) for prefix in LIBRARIES],
    ("LGBM", "Regressor", {"objective": "poisson"}),
    ("LGBM", "Regressor", {"objective": "tweedie"}),
    ("LGBM", "Regressor", {"objective": "mae", "boosting_type": "goss"}),
    ("LGBM", "Classifier", {"subsample": 0.7, "subsample_freq": 1}),
    ("LGBM", "Classifier", {"num_iterations": 7, "n_iter_no_change": 2}),
    ("LGBM", "Classifier", {"sigmoid": 2.0, "class_weight": "balanced"}),
    ("LGBM", "Classifier", {"boosting_type": "goss", "pred_early_stop": False}),
    ("XGB", "Regressor", {"objective": "count:poisson"}),
    ("XGB", "Regressor", {"objective": "reg:gamma", "base_score": 0.3}),
    ("XGB", "Classifier", {"subsample": 0.7, "early_stopping_rounds": 3}),
    ("XGB", "Classifier", {"num_parallel_tree": 2, "subsample": 0.5}),
    ("CatBoost", "Classifier", {"n_estimators": 5}),
    ("CatBoost", "Regressor", {"eta": 0.3}),
    ("CatBoost", "Regressor", {"loss_function": "Poisson"}),
    ("CatBoost", "Regressor", {"objective": "Tweedie:variance_power=1.5"}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("prefix", "kind", "params"), CASES)
def test_stages_are_those_of_fits_with_fewer_rounds(prefix, kind, params):
    for n_classes in (2, 3) if kind == "Classifier" else (0,):
        model = booster(prefix, kind, **params)
        assert_stages_are_fits(model, n_classes, 1e-5, 1e-6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("prefix", "kind", "name"),
    [("LGBM", "Classifier", "init_score"), ("XGB", "Regressor", "base_margin")],
)
def test_initial_scores_of_training_rows_are_part_of_fits(prefix, kind, name):
    model = booster(prefix, kind)
    initial = {name: np.linspace(0.0, 1.0, len(data_for(model)[0]))}
    assert_stages_are_fits(model, 2, 1e-5, 1e-6, **initial)


@pytest.mark.parametrize("prefix", ["LGBM", "XGB"])
def test_categories_of_a_data_frame_are_predicted_as_they_were_fitted(prefix):
    pandas = pytest.importorskip("pandas")
    more = {"enable_categorical": True} if prefix == "XGB" else {}
    model = booster(prefix, **more)
    X, y = data_for(model, 2)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pandas.Categorical(np.where(X[:, 0] > 0.2, "yes", "no"))
    found = fitted_to(model, 10, frame, y)[-1][0]["predict_proba"]
    expected = clone(model).set_params(n_estimators=10).fit(frame, y)
    np.testing.assert_allclose(found, expected.predict_proba(frame), rtol=1e-5)


def test_the_callbacks_of_a_user_are_called_too():
    model, called = booster("LGBM", "Regressor"), []
    callbacks = [lambda env: called.append(env.iteration)]
    fitted_to(model, 4, *data_for(model), callbacks=callbacks)
    assert called == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["num_iterations", "num_boost_round", "max_iter"])
def test_lightgbm_has_the_name_of_the_rounds_that_the_user_gave(name):
    model = booster("LGBM", "Regressor", **{name: 50})
    assert round_params(model, 12) == {name: 12}
    fitted = clone(model).set_params(**round_params(model, 12)).fit(*data_for(model))
    assert fitted.n_estimators_ == 12


@pytest.mark.parametrize("name", ["early_stopping_round", "early_stopping_rounds"])
def test_lightgbm_does_not_stop_by_its_own_rule(name):
    model = booster("LGBM", "Regressor", **{name: 2})
    assert len(fitted_to(model, 20, *data_for(model))) == 20
    assert round_params(model, 12) == {name: None, "n_estimators": 12}


def test_forests_of_xgboost_have_no_rounds():
    xgboost = pytest.importorskip("xgboost")
    assert learner_of(xgboost.XGBRFClassifier()) is None
    assert learner_of(xgboost.XGBRFRegressor()) is None


def test_catboost_has_a_learning_rate_that_does_not_depend_on_the_rounds():
    model = booster("CatBoost", "Regressor")
    assert learner_of(model).settings(model) == {"learning_rate": 0.1}
    model = booster("CatBoost", "Regressor", learning_rate=0.3)
    assert learner_of(model).settings(model) == {}


def test_catboost_stops_by_its_own_loss():
    model = booster("CatBoost", "Regressor", learning_rate=0.9, iterations=1000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    # Targets of noise: the loss on other rows grows from the first rounds on.
    watch = Watch(1000, rng.standard_normal((60, 3)), rng.standard_normal(60))
    learner_of(model).fit(model, X, rng.standard_normal(60), {}, watch)
    assert model.tree_count_ < 200


def test_labels_that_no_training_row_has_do_not_disturb_catboost():
    model = booster("CatBoost", iterations=5)
    X, y = data_for(model, 2)
    watch = Watch(5, X, np.full(len(y), 7))
    learner_of(model).fit(model, X, y, {}, watch)
    assert len(watch.seen) == 5


def test_no_library_is_imported_to_ask_an_estimator(monkeypatch):
    looked_for = []
    finder = SimpleNamespace(find_spec=lambda name, *_: looked_for.append(name))
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    for library in LIBRARIES.values():
        monkeypatch.delitem(sys.modules, library, raising=False)
    run_path(boosters.__file__)
    assert learner_of(SVC()) is None
    assert not {*looked_for} & {*LIBRARIES.values()}
