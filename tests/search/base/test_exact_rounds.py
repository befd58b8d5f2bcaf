"""Rounds are scored as fits with fewer rounds are, or refused before any fit."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV
from skbayes.evaluation.rounds.learners import replaced
from skbayes.evaluation.rounds.lookup import learner_of, round_params
from skbayes.space import Choice

CV = KFold(2)
XR, YR = make_regression(60, 5, noise=20.0, random_state=0)
YR = np.abs(YR) / 30.0 + 0.1
XC, YC = make_classification(80, 6, n_informative=4, flip_y=0.15, random_state=0)
SIGNS = [1, 0, 0, 0, -1, 0]


def booster(library, name, **params):
    common = {"lightgbm": {"n_jobs": 1, "verbose": -1, "min_child_samples": 5},
              "xgboost": {"n_jobs": 1},
              "catboost": {"thread_count": 1, "verbose": 0, "random_seed": 0,
                           "allow_writing_files": False}}  # fmt: skip
    kind = getattr(pytest.importorskip(library), name)
    return kind(**{**common[library], **params})


def lightgbm(name="Classifier", **params):
    return lambda: booster("lightgbm", f"LGBM{name}", **params)


def xgboost(name="Classifier", **params):
    return lambda: booster("xgboost", f"XGB{name}", **params)


def catboost(name="Classifier", **params):
    return lambda: booster("catboost", f"CatBoost{name}", **params)


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


def check_exact(model, fit_params):
    X, y = (XC, YC) if is_classifier(model) else (XR, YR)
    scoring = "neg_log_loss" if is_classifier(model) else "r2"
    fitted = search(model, scoring=scoring, error_score="raise").fit(X, y, **fit_params)
    (trial,) = fitted.trials_
    curves = [fold.extras["curves"]["score"] for fold in trial.folds]
    length = min(map(len, curves))
    for i, split in enumerate(CV.split(X, y)):
        # All first 20 points of the grid are rounds. Of two folds, the other chooses.
        rounds = 1 + int(np.argmax(curves[1 - i][:length]))
        plain = clone(model).set_params(**round_params(model, rounds))
        [expected] = cross_val_score(
            plain, X, y, cv=[split], scoring=scoring, params=fit_params
        )
        assert trial.scores["score"][i] == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientBoostingRegressor(init=Ridge(), loss="huber", random_state=0),
        lambda: GradientBoostingClassifier(warm_start=True, random_state=0),
        lambda: HistGradientBoostingClassifier(
            monotonic_cst=SIGNS, class_weight="balanced", early_stopping=True,
            warm_start=True, random_state=0,
        ),
        lambda: HistGradientBoostingRegressor(loss="poisson", random_state=0),
        lambda: RandomForestClassifier(monotonic_cst=SIGNS, random_state=0),
        lambda: ExtraTreesRegressor(bootstrap=True, oob_score=False, random_state=0),
        lightgbm(boosting_type="goss"),
        lightgbm(num_iterations=7, n_iter_no_change=2, class_weight="balanced"),
        lightgbm(sigmoid=2.0, pred_early_stop=False),
        lightgbm("Regressor", objective="tweedie"),
        xgboost(num_parallel_tree=2, subsample=0.5, early_stopping_rounds=2),
        xgboost("Regressor", objective="reg:gamma", base_score=0.3),
        catboost("Regressor", loss_function="Poisson"),
        catboost("Regressor", objective="Tweedie:variance_power=1.5"),
    ],
)  # fmt: skip
def test_scores_are_those_of_fits_with_the_rounds(make):
    check_exact(make(), {})


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("make", "names", "of_rows"),
    [
        (lightgbm(), {"init_score": 1.0}, len(YC)),
        (xgboost("Regressor"), {"base_margin": 1.0}, len(YR)),
    ],
)
def test_initial_scores_of_training_rows_are_part_of_fits(make, names, of_rows):
    check_exact(make(), {n: np.linspace(0, v, of_rows) for n, v in names.items()})


def test_samplers_of_a_pipeline_do_not_change_the_scored_rows():
    pipeline = pytest.importorskip("imblearn.pipeline")
    sampling = pytest.importorskip("imblearn.under_sampling")
    sampler = sampling.RandomUnderSampler(random_state=0)
    model = HistGradientBoostingClassifier(random_state=0, min_samples_leaf=5)
    check_exact(pipeline.make_pipeline(sampler, model), {})


# -- what cannot be scored exactly -----------------------------------------------------


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
        (xgboost(booster="dart"), "XGBClassifier has booster='dart'"),
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


# -- among other models ----------------------------------------------------------------


class Other(GradientBoostingClassifier):
    def predict_proba(self, X):
        return 0.5 + 0.0 * super().predict_proba(X)


def models():
    """Return a choice of a model with rounds, and two whose rounds are dimensions."""
    logistic = LogisticRegression(solver="liblinear")
    return {
        "last": Choice([
            (AdaBoostClassifier(random_state=0),
             {"last__learning_rate": (0.1, 1.0), "last__n_estimators": (2, 9)}),
            (Other(random_state=0), {"last__n_estimators": [31, 32]}),
            (logistic, {"last__max_iter": [500]}),
        ])
    }  # fmt: skip


def test_a_model_among_others_is_fitted_as_usual():
    fitted = search(
        Pipeline([("last", Other())]), models(), rounds="auto", n_iter=9,
        scoring="neg_log_loss", initial_points=None, surrogate="random",
    ).fit(XC, YC)  # fmt: skip
    seen = set()
    for trial in fitted.trials_:
        kind = type(trial.params["last"]).__name__
        seen.add(kind)
        assert (trial.rounds is None) == (kind != "AdaBoostClassifier")
        if kind == "AdaBoostClassifier":
            assert trial.folds[0].extras["max_rounds"] == 9
            assert "last__n_estimators" not in trial.params
        if kind == "Other":
            assert trial.params["last__n_estimators"] in (31, 32)
            assert trial.score == pytest.approx(np.log(0.5))
    assert len(seen) == 3


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


# -- the decision ----------------------------------------------------------------------


def test_a_subclass_that_replaces_nothing_has_rounds():
    class Named(GradientBoostingRegressor):
        """Another name, other defaults, and a further method."""

        def __init__(self, n_estimators=7, n_iter_no_change=None):
            super().__init__(
                n_estimators=n_estimators, n_iter_no_change=n_iter_no_change
            )

        def get_params(self, deep=True):
            return super().get_params(deep)

        def helper(self):
            return 1

    assert replaced(Named, GradientBoostingRegressor) is None
    assert learner_of(Named()) is not None


def test_a_method_from_a_mixin_and_a_new_method_of_scorers_count():
    class Mixin:
        def predict(self, X):
            return X

    class Mixed(Mixin, GradientBoostingRegressor):
        pass

    class Added(GradientBoostingRegressor):
        def predict_proba(self, X):
            return X

    class Hidden(GradientBoostingRegressor):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    found = [replaced(one, GradientBoostingRegressor) for one in (Mixed, Added, Hidden)]
    assert found == ["predict", "predict_proba", "__getattribute__"]
