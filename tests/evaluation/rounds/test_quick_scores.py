"""Scores without the checks of each call equal those of scikit-learn's scorers."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import get_scorer, log_loss, make_scorer

from skbayes import BayesSearchCV
from skbayes.evaluation.rounds.quick_scores import quick_score
from skbayes.evaluation.rounds.staged import classifier_outputs, stage_of

NAMES = ("neg_log_loss", "accuracy")


def labels_and_stages(n_classes, as_text=False, dtype=np.float64):
    rng = np.random.default_rng(n_classes)
    classes = np.arange(n_classes)
    if as_text:
        classes = np.unique(np.char.add("c", classes.astype(str)))
    y = classes[np.r_[np.arange(n_classes), rng.integers(n_classes, size=157)]]
    X, model = np.zeros((len(y), 1)), GradientBoostingClassifier()
    stages = []
    for scale in np.geomspace(1e-3, 5.0, 20):
        # Small parameters give probabilities of 0 and 1.
        proba = rng.dirichlet(np.full(n_classes, scale), len(y)).astype(dtype)
        stages.append(stage_of(model, X, classifier_outputs(classes, proba), classes))
    return X, y, stages


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 26])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_text", [False, True])
def test_scores_are_those_of_the_scorer(name, n_classes, dtype, as_text):
    X, y, stages = labels_and_stages(n_classes, as_text, dtype)
    scorer = get_scorer(name)
    quick = quick_score(scorer, y, stages[0], scorer(stages[0], X, y))
    assert [quick(one) for one in stages] == [scorer(one, X, y) for one in stages]


def own_log_loss(y_true, y_proba):
    return log_loss(y_true, y_proba)


@pytest.mark.parametrize(
    "scorer",
    [
        get_scorer("roc_auc_ovr"),
        make_scorer(own_log_loss, response_method="predict_proba"),
        make_scorer(log_loss, response_method="predict_proba", normalize=False),
        lambda estimator, X, y: 0.5,
    ],
)
def test_other_scorers_are_called_each_time(scorer):
    X, y, stages = labels_and_stages(3)
    assert quick_score(scorer, y, stages[0], scorer(stages[0], X, y)) is None


def test_another_result_of_the_scorer_is_not_replaced():
    _, y, stages = labels_and_stages(3)
    assert quick_score(get_scorer("accuracy"), y, stages[0], math.pi) is None


@pytest.mark.parametrize("name", NAMES)
def test_searches_are_the_same_without_it(name, monkeypatch):
    X, y = make_classification(120, n_informative=4, n_classes=3, random_state=0)
    search = BayesSearchCV(
        GradientBoostingClassifier(random_state=0),
        {"learning_rate": (0.05, 1.0)},
        n_iter=7,
        cv=3,
        rounds=20,
        scoring=name,
        random_state=0,
    )
    quick = search.fit(X, y).cv_results_["mean_test_score"]
    monkeypatch.setattr(
        "skbayes.evaluation.rounds.watched_fit.quick_score", lambda *args: None
    )
    np.testing.assert_array_equal(
        quick, search.fit(X, y).cv_results_["mean_test_score"]
    )
