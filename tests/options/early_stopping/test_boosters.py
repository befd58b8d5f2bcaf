"""Scores after each round: exact for each accepted class, or refused by name."""

import numpy as np
import pytest
from boosted_fits import round_params
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV
from skbayes.options.early_stopping.lookup import booster_of
from skbayes.trial.learning_curves import has_stalled, round_grid

COMMON = {
    "LGBM": {"n_jobs": 1, "verbose": -1, "min_child_samples": 5},
    "XGB": {"n_jobs": 1, "max_depth": 2},
    "CatBoost": {
        "thread_count": 1, "verbose": 0, "allow_writing_files": False, "depth": 2,
    },
}  # fmt: skip
LIBRARIES = {"LGBM": "lightgbm", "XGB": "xgboost", "CatBoost": "catboost"}
X, YR = make_regression(80, 5, noise=5.0, random_state=0)
YR = np.abs(YR) / 50.0 + 0.1
XC, Y3 = make_classification(80, 5, n_informative=3, n_classes=3, random_state=0)


def of(name, **params):
    """Return a function that makes an estimator of a library, which may be missing."""

    def make():
        prefix = name.removesuffix("Classifier").removesuffix("Regressor")
        library = pytest.importorskip(LIBRARIES[prefix])
        return getattr(library, name)(**{**COMMON[prefix], **params})

    return make


def sk(kind, **params):
    return lambda: kind(random_state=0, **params)


class Named(GradientBoostingRegressor):
    """Another name, and a further method."""

    def helper(self):
        return 1


EXACT = [
    of("LGBMClassifier", subsample=0.7, subsample_freq=1, n_iter_no_change=2),
    of("LGBMClassifier", sigmoid=2.0, class_weight="balanced", num_iterations=7),
    of("LGBMRegressor", objective="tweedie"),
    of("LGBMRegressor", objective="mae", boosting_type="goss"),
    of("XGBClassifier", subsample=0.7, early_stopping_rounds=3, num_parallel_tree=2),
    of("XGBRegressor", objective="reg:gamma", base_score=0.3),
    of("CatBoostClassifier"),
    of("CatBoostRegressor", loss_function="Poisson", eta=0.3),
    of("CatBoostRegressor", objective="Tweedie:variance_power=1.5"),
    sk(GradientBoostingClassifier, subsample=0.7, warm_start=True),
    sk(GradientBoostingClassifier, loss="exponential"),
    sk(GradientBoostingRegressor, init=Ridge(), loss="huber", n_iter_no_change=2),
    sk(HistGradientBoostingClassifier, max_features=0.5, early_stopping=True),
    sk(HistGradientBoostingRegressor, loss="poisson"),
    sk(Named),
]


class Watch:
    """Callback that records the outputs for some rows, up to some rounds."""

    def __init__(self, cap, X, y, end=None):
        self.X, self.y = X[::2], y[::2]
        self.grid, self.end, self.seen = round_grid(cap), end, {}

    def __call__(self, n_rounds, outputs):
        self.seen[n_rounds] = {name: of() for name, of in outputs().items()}
        return n_rounds == self.end

    def is_stalled(self, curve):
        return False


def seen(model, cap, X, y, end=None, **params):
    watch, model = Watch(cap, X, y, end), clone(model)
    booster_of(model).fit(
        model.set_params(**round_params(model, cap)), X, y, params, watch
    )
    return watch.seen


# CatBoost has other defaults from 200 iterations on.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("make", EXACT)
def test_predictions_after_a_round_are_those_of_a_fit_with_as_many(make):
    model = make()
    cap = 210 if type(model).__module__.startswith("catboost") else 40
    rtol = 1e-9 if type(model).__module__.startswith(("sklearn", __name__)) else 1e-5
    several = is_classifier(model) and getattr(model, "loss", None) != "exponential"
    cases = [(XC, Y3), (XC, Y3 > 0)] if several else [(XC, Y3 > 0)]
    for features, y in cases if is_classifier(model) else [(X, YR)]:
        weights = {"sample_weight": np.linspace(0.5, 2.0, len(y))}
        stages = seen(model, cap, features, y, **weights)
        assert list(stages) == list(range(1, cap + 1))
        for n in (1, 12, cap):
            plain = clone(model).set_params(**round_params(model, n))
            plain.fit(features, y, **weights)
            assert "predict" in stages[n]
            for name in {*stages[n]} & {*dir(plain)}:
                with np.errstate(divide="ignore"):
                    expected = np.asarray(getattr(plain, name)(features[::2]))
                predicted = np.asarray(stages[n][name]).reshape(expected.shape)
                np.testing.assert_allclose(predicted, expected, rtol=rtol, atol=1e-6)
        assert max(seen(model, 40, features, y, end=5)) == 5


@pytest.mark.parametrize(
    "kind", [GradientBoostingClassifier, HistGradientBoostingClassifier]
)
def test_classes_of_equal_probability_are_those_of_the_estimator(kind):
    # The feature does not depend on the classes, which are equally frequent.
    X, y = np.tile([[0.0], [0.0], [1.0], [1.0]], (20, 1)), np.tile([0, 1], 40)
    model = kind(random_state=0)
    expected = clone(model).set_params(**round_params(model, 3)).fit(X, y).predict(X)
    np.testing.assert_array_equal(seen(model, 3, X, y)[3]["predict"], expected[::2])


def test_categories_of_a_data_frame_are_predicted_as_they_were_fitted():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(XC, columns=list("abcde"))
    frame["f"] = pandas.Categorical(np.where(XC[:, 0] > 0.2, "yes", "no"))
    for make in (of("LGBMClassifier"), of("XGBClassifier", enable_categorical=True)):
        proba = seen(make(), 10, frame, Y3)[10]["predict_proba"]
        plain = make().set_params(n_estimators=10).fit(frame, Y3)
        np.testing.assert_allclose(proba, plain.predict_proba(frame[::2]), rtol=1e-5)


def test_catboost_stops_by_its_own_loss():
    model = of("CatBoostRegressor", learning_rate=0.9, iterations=1000)()
    noise = np.random.default_rng(0).standard_normal((2, 80))
    watch = Watch(1000, X, noise[0])
    watch.is_stalled = lambda curve: has_stalled(curve, watch.grid)
    booster_of(model).fit(model, X, noise[1], {}, watch)
    assert model.tree_count_ < 200
    # Labels that no training row has do not disturb the classifier.
    assert len(seen(of("CatBoostClassifier")(), 5, XC, np.where(Y3 > 0, 7, 8))) == 5


# -- refusals --------------------------------------------------------------------------


def logged(make):
    """Return a model of a subclass that fits the logarithm of the targets."""
    model = make()

    class Logged(type(model)):
        def fit(self, X, y, **params):
            return super().fit(X, np.log1p(y), **params)

    return Logged(**model.get_params())


class OwnPipeline(Pipeline):
    def predict(self, X):
        return super().predict(X) + 1.0


class OwnScore(GradientBoostingRegressor):
    def score(self, X, y):
        return 7.0


class OwnHook(HistGradientBoostingRegressor):
    def _raw_predict(self, X, n_threads=None):
        return 2.0 * super()._raw_predict(X, n_threads)


class Added(GradientBoostingRegressor):
    def predict_proba(self, X):
        return X


class Fewer(GradientBoostingRegressor):
    def __init__(self, verbose=0):
        super().__init__(verbose=verbose)


def stopping():
    callbacks = pytest.importorskip("xgboost").callback
    return of("XGBClassifier", callbacks=[callbacks.EarlyStopping(rounds=2)])()


REFUSED = [
    (lambda: logged(of("LGBMRegressor")), "Logged replaces 'fit' of LGBMRegressor"),
    (lambda: logged(of("XGBRegressor")), "Logged replaces 'fit' of XGBRegressor"),
    (lambda: make_pipeline(StandardScaler(), logged(GradientBoostingRegressor)),
     "Logged replaces 'fit' of GradientBoostingRegressor"),
    (lambda: OwnPipeline([("model", GradientBoostingRegressor())]),
     "OwnPipeline replaces 'predict' of Pipeline"),
    (OwnScore, "OwnScore replaces 'score' of GradientBoostingRegressor"),
    (OwnHook, "OwnHook replaces '_raw_predict' of HistGradientBoosting"),
    (Added, "Added replaces 'predict_proba' of GradientBoostingRegressor"),
    (Fewer, "Fewer has no parameter 'n_estimators'"),
    (lambda: TransformedTargetRegressor(GradientBoostingRegressor()),
     "TransformedTargetRegressor provides no scores"),
    (RandomForestClassifier, "RandomForestClassifier provides no scores"),
    (MLPClassifier, "MLPClassifier provides no scores"),
    (of("LGBMClassifier", pred_early_stop=True), "LGBMClassifier has pred_early_stop"),
    (of("LGBMClassifier", objective="regression"), "LGBMClassifier has objective='reg"),
    (of("LGBMRegressor", objective=lambda y, p: (p - y, p)),
     "LGBMRegressor has a custom objective"),
    (of("LGBMClassifier", boosting="dart"), "LGBMClassifier has boosting='dart'"),
    (of("LGBMClassifier", boosting_type="rf"), "LGBMClassifier has boosting_type='rf'"),
    (of("LGBMClassifier", linear_tree=True), "LGBMClassifier has linear_tree=True"),
    (of("XGBClassifier", booster="dart"), "XGBClassifier has booster='dart'"),
    (of("XGBClassifier", objective="multi:softmax"), "XGBClassifier has objective='mu"),
    (stopping, "XGBClassifier has callbacks with EarlyStopping"),
    (lambda: pytest.importorskip("xgboost").XGBRFClassifier(), "XGBRFClassifier provi"),
    (of("CatBoostClassifier", langevin=True), "CatBoostClassifier has langevin=True"),
    (of("CatBoostClassifier", loss_function="MultiLogloss"),
     "CatBoostClassifier has loss_function='MultiLogloss', a loss of several outputs"),
    *((of("CatBoostRegressor", **{name: loss}), f"CatBoostRegressor has {name}='{loss}")
      for name in ("loss_function", "objective")
      for loss in ("MultiRMSE", "MultiRMSEWithMissingValues", "RMSEWithUncertainty",
                   "MultiQuantile:alpha=0.2,0.8")),
]  # fmt: skip


def search(model, rounds=10, **params):
    name = next(name for name in sorted(model.get_params()) if "verb" in name)
    return BayesSearchCV(model, {name: [0, 1]}, early_stopping=rounds, **params)


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_other_scores_are_refused_by_name_before_any_fit(make, reason):
    for rounds in (10, "auto"):
        with pytest.raises(ValueError, match=f"early_stopping={rounds!r}: {reason}"):
            search(make(), rounds).fit(X, YR > 1.0)


def early_stopping():
    callback = pytest.importorskip("lightgbm").early_stopping(3, verbose=False)
    return {"callbacks": [callback]}


@pytest.mark.parametrize(
    ("make", "make_argument"),
    [
        (of("LGBMClassifier"), early_stopping),
        (of("LGBMClassifier"), lambda: {"init_model": "model.txt"}),
        (of("XGBClassifier"), lambda: {"xgb_model": "model.json"}),
        (of("CatBoostClassifier"), lambda: {"eval_set": (X, YR > 1.0)}),
        (GradientBoostingClassifier, lambda: {"monitor": print}),
    ],
)
def test_arguments_of_fit_that_change_the_rounds_are_refused(make, make_argument):
    ((name, value),) = make_argument().items()
    for model, prefix in ((make(), ""), (Pipeline([("last", make())]), "last__")):
        message = f"fit: {prefix}{name} cannot be combined with early_stopping"
        with pytest.raises(ValueError, match=message):
            search(model).fit(X, YR > 1.0, **{f"{prefix}{name}": value})
