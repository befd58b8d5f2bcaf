"""Fast formulas of metrics equal those of scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import get_scorer, log_loss

from skbayes.trial.fast_metrics import fast_score, name_of_metric
from skbayes.trial.outputs import (
    StagedClassifier,
    StagedRegressor,
    classifier_outputs,
    probabilities,
)

CLASSIFICATION = ("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc", "f1")
REGRESSION = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")
REGRESSION += ("neg_mean_absolute_error",)


def classification(seed, labels, with_decisions):
    rng = np.random.default_rng(seed)
    classes = np.array(labels)
    y = rng.permutation(np.concatenate([classes, rng.choice(classes, 30)]))
    shape = len(y) if len(classes) == 2 else (len(y), len(classes))
    raw = np.round(rng.normal(size=shape), 1)  # with ties
    decisions = raw if with_decisions else None
    return y, classes, classifier_outputs(classes, probabilities(raw), decisions)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    labels=st.sampled_from([[0, 1], [1, 2], ["a", "b"], [0, 1, 2], ["x", "y", "z"]]),
    with_decisions=st.booleans(),
)
def test_scores_of_classifiers_equal_those_of_scikit_learn(
    seed, labels, with_decisions
):
    y, classes, outputs = classification(seed, labels, with_decisions)
    X = np.zeros((len(y), 1))
    model = StagedClassifier(X, outputs, classes)
    for name in CLASSIFICATION:
        fast = fast_score(name, y, classes)
        if name in ("roc_auc", "f1") and (len(labels) > 2 or labels != [0, 1]):
            binary_area = name == "roc_auc" and len(labels) == 2
            assert (fast is not None) == binary_area
        if fast is not None:
            exact = get_scorer(name)(model, X, y)
            assert fast(outputs) == pytest.approx(exact, rel=1e-12)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_scores_of_regressors_equal_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y, predicted = rng.normal(size=(2, 25))
    X = np.zeros((25, 1))
    model = StagedRegressor(X, {"predict": lambda: predicted})
    for name in REGRESSION:
        exact = get_scorer(name)(model, X, y)
        assert fast_score(name, y, None)(model.outputs) == pytest.approx(exact)


def test_sure_probabilities_are_clipped_as_in_scikit_learn():
    y = np.array([0, 1, 1])
    proba = np.eye(2, dtype=np.float32)[y]
    fast = fast_score("neg_log_loss", y, np.array([0, 1]))
    assert fast({"predict_proba": lambda: proba}) == pytest.approx(-log_loss(y, proba))


def test_there_is_no_fast_formula_for_other_targets_and_metrics():
    y, classes, _ = classification(0, [0, 1], True)
    assert fast_score("average_precision", y, classes) is None
    assert fast_score(None, y, classes) is None
    assert fast_score("accuracy", y, np.array([0, 1, 2])) is None
    assert fast_score("r2", np.zeros((5, 2)), None) is None


def test_the_score_is_nan_if_outputs_are_missing_or_nan():
    y, classes, outputs = classification(0, [0, 1], False)
    only_classes = {"predict": outputs["predict"]}
    assert math.isnan(fast_score("neg_log_loss", y, classes)(only_classes))
    unknown = {"predict_proba": lambda: np.full((len(y), 2), np.nan)}
    assert math.isnan(fast_score("neg_log_loss", y, classes)(unknown))
    assert math.isnan(fast_score("r2", y, None)({"predict": lambda: y * np.nan}))
    constant = fast_score("r2", np.ones(5), None)
    assert math.isnan(constant({"predict": lambda: np.zeros(5)}))


@pytest.mark.parametrize(
    ("scoring", "metric", "name"),
    [
        (None, None, "accuracy"),
        ("f1", None, "f1"),
        (["f1", "recall"], "recall", "recall"),
        (["f1", "recall"], None, None),
        ({"a": "f1", "b": max}, "a", "f1"),
        ({"a": "f1", "b": max}, "b", None),
        ({"a": "f1"}, None, None),
        (max, None, None),
    ],
)
def test_the_name_of_a_metric_is_that_of_scikit_learn(scoring, metric, name):
    assert name_of_metric(scoring, metric, True) == name
