"""Rounds of LightGBM, XGBoost and CatBoost."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from watched_rounds import Watch, assert_stages_are_fits, fitted_to

from skbayes.evaluation.rounds.lookup import learner_of, round_params


def lightgbm_model(kind, **params):
    library = pytest.importorskip("lightgbm")
    return getattr(library, f"LGBM{kind}")(
        n_jobs=1, verbose=-1, random_state=0, min_child_samples=5, **params
    )


def xgboost_model(kind, **params):
    library = pytest.importorskip("xgboost")
    return getattr(library, f"XGB{kind}")(n_jobs=1, random_state=0, **params)


def catboost_model(kind, **params):
    library = pytest.importorskip("catboost")
    return getattr(library, f"CatBoost{kind}")(
        thread_count=1, verbose=0, allow_writing_files=False, random_seed=0, **params
    )


MAKERS = {
    "lightgbm": lightgbm_model,
    "xgboost": xgboost_model,
    "catboost": catboost_model,
}
MORE = {
    "lightgbm": [
        ("Regressor", {"objective": "poisson"}),
        ("Regressor", {"objective": "mae", "boosting_type": "goss"}),
        ("Classifier", {"subsample": 0.7, "subsample_freq": 1}),
    ],
    "xgboost": [
        ("Regressor", {"objective": "count:poisson"}),
        ("Classifier", {"subsample": 0.7, "early_stopping_rounds": 3}),
    ],
    "catboost": [("Classifier", {"n_estimators": 5}), ("Regressor", {"eta": 0.3})],
}
CASES = [
    (library, kind, params, n_classes)
    for library in MAKERS
    for kind, params in [("Classifier", {}), ("Regressor", {}), *MORE[library]]
    for n_classes in ((2, 3) if kind == "Classifier" else (0,))
]
CAP = 20


def data(kind, n_classes=3):
    if kind == "Regressor":
        X, y = make_regression(200, 5, noise=5.0, random_state=0)
        return X, np.abs(y) / 50.0
    return make_classification(
        200, 6, n_informative=4, n_classes=n_classes, random_state=0
    )


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("library", "kind", "params", "n_classes"), CASES)
def test_stages_are_those_of_fits_with_fewer_rounds(library, kind, params, n_classes):
    model = MAKERS[library](kind, **params)
    X, y = data(kind, n_classes)
    assert_stages_are_fits(model, CAP, X, y, (1, 7, CAP), 1e-5, 1e-6)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_categories_of_a_data_frame_are_predicted_as_they_were_fitted(library):
    pandas = pytest.importorskip("pandas")
    X, y = data("Classifier", 2)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pandas.Categorical(np.where(X[:, 0] > 0.2, "yes", "no"))
    more = {"enable_categorical": True} if library == "xgboost" else {}
    model = MAKERS[library]("Classifier", **more)
    found = fitted_to(model, 10, frame, y)[-1][0]["predict_proba"]
    expected = clone(model).set_params(n_estimators=10).fit(frame, y)
    np.testing.assert_allclose(found, expected.predict_proba(frame), rtol=1e-5)


def test_the_callbacks_of_a_user_are_called_too():
    model = lightgbm_model("Regressor")
    X, y = data("Regressor")
    called = []
    fitted_to(model, 4, X, y, callbacks=[lambda env: called.append(env.iteration)])
    assert called == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "params",
    [
        {"boosting_type": "dart"},
        {"boosting_type": "rf"},
        {"boosting": "dart"},
        {"application": "poisson"},
        {"linear_tree": True},
    ],
)
def test_lightgbm_of_other_kinds_has_no_rounds(params):
    assert learner_of(lightgbm_model("Regressor", **params)) is None


@pytest.mark.parametrize("name", ["num_iterations", "num_boost_round", "max_iter"])
def test_lightgbm_has_the_name_of_the_rounds_that_the_user_gave(name):
    model = lightgbm_model("Regressor", **{name: 50})
    assert learner_of(model).parameter(model) == name
    assert round_params(model, 12) == {name: 12}
    fitted = clone(model).set_params(**round_params(model, 12)).fit(*data("Regressor"))
    assert fitted.n_estimators_ == 12


@pytest.mark.parametrize("name", ["early_stopping_round", "early_stopping_rounds"])
def test_lightgbm_does_not_stop_by_its_own_rule(name):
    model = lightgbm_model("Regressor", **{name: 2})
    X, y = data("Regressor")
    assert len(fitted_to(model, CAP, X, y)) == CAP
    assert round_params(model, 12) == {name: None, "n_estimators": 12}


def test_xgboost_of_other_kinds_has_no_rounds():
    xgboost = pytest.importorskip("xgboost")
    for booster in ("dart", "gblinear"):
        assert learner_of(xgboost_model("Regressor", booster=booster)) is None
    assert learner_of(xgboost.XGBRFClassifier()) is None
    assert learner_of(xgboost.XGBRFRegressor()) is None
    # Its boosters give labels in place of probabilities.
    assert learner_of(xgboost_model("Classifier", objective="multi:softmax")) is None


def test_catboost_has_a_learning_rate_that_does_not_depend_on_the_rounds():
    model = catboost_model("Regressor")
    assert learner_of(model).settings(model) == {"learning_rate": 0.1}
    model = catboost_model("Regressor", learning_rate=0.3)
    assert learner_of(model).settings(model) == {}


def test_catboost_stops_by_its_own_loss():
    model = catboost_model("Regressor", learning_rate=0.9, depth=6)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    learner = learner_of(model)
    model = clone(model).set_params(iterations=1000)
    # Targets of noise: the loss on other rows grows from the first rounds on.
    watch = Watch(1000, rng.standard_normal((60, 3)), rng.standard_normal(60))
    learner.fit(model, X, rng.standard_normal(60), {}, watch)
    assert model.tree_count_ < 200


def test_labels_that_no_training_row_has_do_not_disturb_catboost():
    model = catboost_model("Classifier")
    X, y = data("Classifier", 2)
    learner = learner_of(model)
    watch = Watch(5, X, np.full(len(y), 7))
    learner.fit(clone(model).set_params(iterations=5), X, y, {}, watch)
    assert len(watch.seen) == 5


def test_no_library_is_imported_to_ask_an_estimator():
    code = (
        "import sys; from sklearn.svm import SVC;"
        "from skbayes.evaluation.rounds.lookup import learner_of;"
        "assert learner_of(SVC()) is None;"
        "print({'lightgbm', 'xgboost', 'catboost'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
