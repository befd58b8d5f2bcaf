"""Learners with rounds: predictions after each round, and early stopping."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from watched_rounds import assert_stages_are_fits, data_for, fitted_to, with_rounds

from skbayes.evaluation.rounds.boosters import BOOSTERS, LIGHTGBM_STOPPING
from skbayes.evaluation.rounds.learners import SKLEARN_LEARNERS, replaced
from skbayes.evaluation.rounds.lookup import learner_of
from skbayes.results.warm_start import _is_set

CAP = 14
SIGNS = [1, 0, 0, 0, -1, 0]

ENSEMBLES = [
    GradientBoostingClassifier(random_state=0, subsample=0.7, warm_start=True),
    GradientBoostingClassifier(random_state=0, loss="exponential"),
    GradientBoostingRegressor(random_state=0, n_iter_no_change=2),
    GradientBoostingRegressor(random_state=0, init=Ridge(), loss="huber"),
    HistGradientBoostingClassifier(random_state=0, max_features=0.5),
    HistGradientBoostingClassifier(
        random_state=0, class_weight="balanced", early_stopping=True, warm_start=True
    ),
    HistGradientBoostingRegressor(random_state=0),
    HistGradientBoostingRegressor(random_state=0, loss="poisson"),
    AdaBoostClassifier(random_state=0),
    AdaBoostRegressor(random_state=0),
    RandomForestClassifier(random_state=0),
    RandomForestClassifier(random_state=0, class_weight="balanced"),
    RandomForestRegressor(random_state=0),
    ExtraTreesClassifier(random_state=0, min_samples_leaf=5),
    ExtraTreesRegressor(random_state=0, bootstrap=True),
]
# Signs of features require two classes.
BINARY = [
    HistGradientBoostingClassifier(random_state=0, monotonic_cst=SIGNS),
    RandomForestClassifier(random_state=0, monotonic_cst=SIGNS),
]
EPOCHS = [
    SGDClassifier(random_state=0, loss="log_loss"),
    SGDClassifier(random_state=0, class_weight="balanced", early_stopping=True),
    SGDRegressor(random_state=0),
    Perceptron(random_state=0),
    MLPClassifier(hidden_layer_sizes=(4,), random_state=0, early_stopping=True),
    MLPRegressor(hidden_layer_sizes=(4,), random_state=0),
]


def name_of(model):
    return model if isinstance(model, int) else type(model).__name__


def data(model):
    return data_for(model, 2 if getattr(model, "loss", None) == "exponential" else 3)


@pytest.mark.parametrize("model", [*ENSEMBLES, *BINARY], ids=name_of)
def test_stages_are_those_of_fits_with_fewer_rounds(model):
    only_two = model in BINARY or getattr(model, "loss", None) == "exponential"
    for n_classes in (2,) if only_two or not is_classifier(model) else (2, 3):
        assert_stages_are_fits(model, n_classes, cap=CAP)


def test_a_forest_draws_the_trees_of_one_fit_from_a_random_state():
    model = RandomForestRegressor(random_state=np.random.RandomState(0))
    X, y = data(model)
    seen = fitted_to(model, CAP, X, y)
    plain = clone(model).set_params(n_estimators=CAP).fit(X, y)
    np.testing.assert_allclose(seen[-1][0]["predict"], plain.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(max_depth=1, random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ],
    ids=name_of,
)
def test_classes_of_equal_probability_are_those_of_the_estimator(model):
    # The feature says nothing of the classes, which are equally frequent.
    X, y = np.tile([[0.0], [0.0], [1.0], [1.0]], (20, 1)), np.tile([0, 1], 40)
    seen = fitted_to(model, 3, X, y)
    expected = with_rounds(model, 3).fit(X, y).predict(X)
    np.testing.assert_array_equal(seen[-1][0]["predict"], expected)


@pytest.mark.parametrize("model", EPOCHS, ids=name_of)
def test_an_epoch_is_a_pass_of_partial_fit(model):
    X, y = data(model)
    seen = fitted_to(model, 6, X, y)
    by_hand = clone(model)
    if getattr(model, "class_weight", None):
        labels, counts = np.unique(y, return_counts=True)
        weights = len(y) / (len(labels) * counts)
        by_hand.set_params(class_weight=dict(zip(labels, weights, strict=True)))
    if hasattr(model, "early_stopping"):
        by_hand.set_params(early_stopping=False)
    first = {"classes": np.unique(y)} if is_classifier(model) else {}
    for stage in seen:
        by_hand.partial_fit(X, y, **first)
        np.testing.assert_array_equal(stage[0]["predict"], by_hand.predict(X))
    again = clone(model).set_params(max_iter=6, **learner_of(model).settings(model))
    learner_of(model).refit(again, X, y, {})
    np.testing.assert_array_equal(again.predict(X), by_hand.predict(X))
    assert again.get_params()["max_iter"] == 6
    assert len(fitted_to(model, 6, X, y, end=5)) == 5
    if hasattr(model, "class_weight"):
        assert again.class_weight == model.class_weight


@pytest.mark.parametrize(
    "model", [one for one in [*ENSEMBLES, *EPOCHS] if "MLP" not in name_of(one)],
    ids=name_of,
)  # fmt: skip
def test_weights_of_samples_are_used(model):
    X, y = data(model)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    plain = fitted_to(model, 12, X, y)[-1][0]
    weighted = fitted_to(model, 12, X, y, sample_weight=weights)[-1][0]
    names = set(plain) & {"decision_function", "predict_proba"} or {"predict"}
    assert any(not np.array_equal(plain[name], weighted[name]) for name in names)


def test_a_sparse_matrix_and_a_data_frame_give_what_an_array_gives():
    pandas = pytest.importorskip("pandas")
    model = RandomForestClassifier(random_state=0)
    X, y = data(model)
    expected = fitted_to(model, 10, X, y)[-1][0]["predict_proba"]
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    for given in (sparse.csr_matrix(X), frame):
        found = fitted_to(model, 10, given, y)[-1][0]["predict_proba"]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        GaussianNB(),
        BaggingClassifier(),
        MLPClassifier(solver="lbfgs"),
    ],
    ids=name_of,
)
def test_other_estimators_have_no_rounds(model):
    assert learner_of(model) is None


def test_a_forest_with_several_outputs_is_refused():
    X, y = make_regression(40, 3, n_targets=2, random_state=0)
    with pytest.raises(ValueError, match="rounds: the targets must have one column"):
        fitted_to(RandomForestRegressor(random_state=0), 5, X, y)


class Settings:
    """Estimator with some parameters, whose values are 1."""

    def __init__(self, names):
        self.names = names

    def get_params(self, deep=True):
        return dict.fromkeys(self.names, 1)


@pytest.mark.parametrize(
    "learner", [*SKLEARN_LEARNERS, *BOOSTERS], ids=lambda one: type(one).__name__
)
def test_parameters_that_are_set_for_rounds_are_known_to_warm_starts(learner):
    for names in ((), (*LIGHTGBM_STOPPING, "n_iter_no_change")):
        for name, value in learner.settings(Settings(names)).items():
            assert _is_set(f"step__{name}", value, 7)
    assert _is_set(f"step__{learner.parameter(Settings(()))}", 7, 7)
    assert not _is_set("step__max_depth", 6, 7)


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
