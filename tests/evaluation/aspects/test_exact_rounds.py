"""Rounds that cannot be scored exactly are refused before any fit."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from watched_rounds import booster

from skbayes import BayesSearchCV
from skbayes.space import Choice

CV = KFold(2)
XR, YR = make_regression(60, 5, noise=20.0, random_state=0)
YR = np.abs(YR) / 30.0 + 0.1
XC, YC = make_classification(80, 6, n_informative=4, flip_y=0.15, random_state=0)


def lightgbm(kind="Classifier", **params):
    return lambda: booster("LGBM", kind, **params)


def xgboost(kind="Classifier", **params):
    return lambda: booster("XGB", kind, **params)


def catboost(kind="Classifier", **params):
    return lambda: booster("CatBoost", kind, **params)


def logged(model):
    """Return a model of a subclass that fits the logarithm of the targets."""
    base = type(model)

    class Logged(base):
        def fit(self, X, y, **params):
            return super().fit(X, np.log1p(y), **params)

        def predict(self, X):
            return np.expm1(super().predict(X))

    return Logged(**model.get_params())


def search(model, spaces=None, **params):
    """Return a search with a single configuration, unless there are spaces."""
    if spaces is None:
        own = model.get_params()
        name = next(
            n for n in sorted(own, reverse=True) if "n_jobs" in n or "verb" in n
        )
        spaces, params["n_iter"] = {name: [own[name]]}, 1
    given = {"n_iter": 2, "cv": CV, "rounds": 10, "random_state": 0, "refit": False}
    return BayesSearchCV(model, spaces, **{**given, **params})


class OwnPipeline(Pipeline):
    def predict(self, X):
        return super().predict(X) + 1.0


class OwnScore(RandomForestRegressor):
    def score(self, X, y):
        return 7.0


class OwnHook(HistGradientBoostingRegressor):
    def _raw_predict(self, X, n_threads=None):
        return 2.0 * super()._raw_predict(X, n_threads)


class OwnPass(SGDRegressor):
    def fit(self, X, y):
        return super().fit(X, np.log1p(y))


class Fewer(GradientBoostingRegressor):
    def __init__(self, verbose=0):
        super().__init__(verbose=verbose)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: logged(GradientBoostingRegressor()),
         "Logged replaces 'fit' of GradientBoostingRegressor"),
        (lambda: logged(RandomForestRegressor()), "Logged replaces .fit. of Random"),
        (lambda: logged(lightgbm("Regressor")()), "Logged replaces 'fit' of LGBM"),
        (lambda: logged(xgboost("Regressor")()), "Logged replaces 'fit' of XGB"),
        (lambda: make_pipeline(StandardScaler(), logged(AdaBoostRegressor())),
         "Logged replaces 'fit' of AdaBoostRegressor"),
        (lambda: OwnPipeline([("forest", RandomForestRegressor())]),
         "OwnPipeline replaces 'predict' of Pipeline"),
        (lambda: OwnScore(), "OwnScore replaces 'score' of RandomForestRegressor"),
        (lambda: OwnHook(), "OwnHook replaces '_raw_predict' of HistGradientBoosting"),
        (lambda: OwnPass(), "OwnPass replaces 'fit' of BaseSGDRegressor"),
        (lambda: Fewer(), "Fewer has no parameter 'n_estimators'"),
        (lambda: TransformedTargetRegressor(RandomForestRegressor()),
         "TransformedTargetRegressor provides no scores"),
        (lightgbm(pred_early_stop=True), "LGBMClassifier has pred_early_stop=True"),
        (lightgbm(raw_score=True), "LGBMClassifier has raw_score=True"),
        (lightgbm(objective="regression"), "LGBMClassifier has objective='regression'"),
        (lightgbm("Regressor", objective=lambda y, p: (p - y, p)),
         "LGBMRegressor has a custom objective"),
        (lightgbm(boosting="dart"), "LGBMClassifier has boosting='dart'"),
        (lightgbm(boosting_type="rf"), "LGBMClassifier has boosting_type='rf'"),
        (lightgbm(application="poisson"), "LGBMClassifier has application='poisson'"),
        (lightgbm(linear_tree=True), "LGBMClassifier has linear_tree=True"),
        (xgboost(booster="dart"), "XGBClassifier has booster='dart'"),
        (xgboost(booster="gblinear"), "XGBClassifier has booster='gblinear'"),
        # Its boosters give labels in place of probabilities.
        (xgboost(objective="multi:softmax"), "XGBClassifier has objective='multi:soft"),
        (catboost(langevin=True), "CatBoostClassifier has langevin=True"),
    ],
)  # fmt: skip
def test_other_scores_are_refused_by_name_before_any_fit(make, reason):
    model = make()
    X, y = (XC, YC) if is_classifier(model) else (XR, YR)
    for rounds in (10, "auto"):
        with pytest.raises(ValueError, match=f"rounds={rounds!r}: {reason}"):
            search(model, rounds=rounds).fit(X, y)


def early_stopping():
    callback = pytest.importorskip("lightgbm").early_stopping(3, verbose=False)
    return {"callbacks": [callback], "eval_set": [(XC[:30], 1 - YC[:30])]}


@pytest.mark.parametrize(
    ("make", "fit_params", "name"),
    [
        (lightgbm(), early_stopping, "callbacks"),
        (lightgbm(), lambda: {"init_model": lightgbm()().fit(XC, YC)}, "init_model"),
        (xgboost(), lambda: {"xgb_model": xgboost()().fit(XC, YC)}, "xgb_model"),
        (catboost(), lambda: {"eval_set": (XC, YC)}, "eval_set"),
        (lambda: GradientBoostingClassifier(), lambda: {"monitor": print}, "monitor"),
    ],
)
def test_arguments_of_fit_that_change_the_rounds_are_refused(make, fit_params, name):
    model, given = make(), fit_params()
    message = f"{name} cannot be combined with rounds"
    with pytest.raises(ValueError, match=f"fit: {message}"):
        search(model).fit(XC, YC, **given)
    given = {f"last__{key}": value for key, value in given.items()}
    with pytest.raises(ValueError, match=f"fit: last__{message}"):
        search(Pipeline([("last", model)])).fit(XC, YC, **given)


def test_callbacks_of_xgboost_that_stop_a_fit_are_refused():
    callbacks = pytest.importorskip("xgboost").callback
    model = xgboost(callbacks=[callbacks.EarlyStopping(rounds=2)])()
    with pytest.raises(ValueError, match="callbacks with EarlyStopping"):
        search(model).fit(XC, YC)


class Other(GradientBoostingClassifier):
    def predict_proba(self, X):
        return 0.5 + 0.0 * super().predict_proba(X)


def models():
    """Return models with rounds, and two whose rounds are dimensions."""
    forest, logistic = RandomForestClassifier(), LogisticRegression(solver="liblinear")
    return {
        "last": Choice([
            (HistGradientBoostingClassifier(random_state=0),
             {"last__learning_rate": (0.1, 1.0), "last__max_iter": (2, 9)}),
            (forest, {"last__max_depth": [2, 3], "last__n_estimators": [3, 7]}),
            (Other(random_state=0), {"last__n_estimators": [31, 32]}),
            (logistic, {"last__max_iter": [500]}),
        ])
    }  # fmt: skip


def test_of_several_models_each_has_its_own_rounds_or_is_fitted_as_usual():
    fitted = search(
        Pipeline([("last", Other())]), models(), rounds="auto", n_iter=12,
        scoring="neg_log_loss", initial_points=None, surrogate="random",
    ).fit(XC, YC)  # fmt: skip
    caps = {"HistGradientBoostingClassifier": 9, "RandomForestClassifier": 7}
    seen = set()
    for trial in fitted.trials_:
        kind = type(trial.params["last"]).__name__
        seen.add(kind)
        assert (trial.rounds is None) == (kind not in caps)
        if kind in caps:
            assert trial.folds[0].extras["max_rounds"] == caps[kind]
            assert not {"last__n_estimators", "last__max_iter"} & trial.params.keys()
        if kind == "Other":
            assert trial.params["last__n_estimators"] in (31, 32)
            assert trial.score == pytest.approx(np.log(0.5))
    assert len(seen) == 4


def test_a_number_of_rounds_is_for_all_models():
    with pytest.raises(ValueError, match="rounds=5: Other replaces 'predict_proba'"):
        search(Pipeline([("last", Other())]), models(), rounds=5).fit(XC, YC)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_value_of_the_search_space_without_rounds_is_fitted_as_usual():
    model = lightgbm(n_estimators=4)()
    spaces = {"boosting_type": ["dart", "gbdt"], "num_leaves": [3]}
    fitted = search(model, spaces, scoring="neg_log_loss").fit(XC, YC)
    for trial in fitted.trials_:
        is_dart = trial.params["boosting_type"] == "dart"
        assert (trial.rounds is None) == is_dart
        if is_dart:
            plain = clone(model).set_params(**trial.params)
            expected = cross_val_score(plain, XC, YC, cv=CV, scoring="neg_log_loss")
            np.testing.assert_allclose(trial.scores["score"], expected, rtol=1e-9)
