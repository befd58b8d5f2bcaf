"""Ensembles with weights as estimators of scikit-learn."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from skbayes.search import WeightedEnsembleClassifier, WeightedEnsembleRegressor

X, y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[y]
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
MEMBERS = [TREE, KNeighborsClassifier()]


@pytest.mark.parametrize(
    "estimator",
    [
        WeightedEnsembleClassifier([LogisticRegression(), LogisticRegression(C=0.1)]),
        WeightedEnsembleRegressor([Ridge(), LinearRegression()], weights=[1, 2]),
    ],
    ids=["classifier", "regressor"],
)
@pytest.mark.filterwarnings("ignore")
def test_ensembles_pass_the_checks_of_scikit_learn(estimator):
    check_estimator(estimator)


def test_probabilities_equal_those_of_a_voting_classifier():
    ours = WeightedEnsembleClassifier(MEMBERS, [1, 3]).fit(X, NAMES)
    named = [(str(k), model) for k, model in enumerate(MEMBERS)]
    theirs = VotingClassifier(named, voting="soft", weights=[1, 3]).fit(X, NAMES)
    expected = theirs.predict_proba(X)
    np.testing.assert_allclose(ours.predict_proba(X), expected, atol=1e-6)
    assert set(ours.classes_) == set(NAMES)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict(X), ours.predict(X))
    assert not hasattr(clone(ours), "estimators_")


def test_predictions_equal_those_of_a_voting_regressor():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    members = [LinearRegression(), KNeighborsRegressor()]
    weights = np.linspace(1, 2, len(y))
    ours = WeightedEnsembleRegressor(members[:1] * 2, [1, 3])
    ours.fit(X, y, sample_weight=weights)
    alone = LinearRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(X), alone.predict(X))
    assert ours.feature_names_in_.tolist() == X.columns.tolist()
    named = [(str(k), model) for k, model in enumerate(members)]
    ours = WeightedEnsembleRegressor(members, [1, 3]).fit(X, y)
    theirs = VotingRegressor(named, weights=[1, 3]).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_fits_of_splits_are_averaged():
    cv = KFold(2, shuffle=True, random_state=0)
    members = [*MEMBERS, MEMBERS[1]]
    ensemble = WeightedEnsembleClassifier(members, [1, 3, 2], cv=cv).fit(X, y)
    np.testing.assert_allclose(ensemble.weights_, [1 / 6, 1 / 2, 1 / 3])
    (first, _), (second, _) = cv.split(X)
    parts = [
        weight * clone(model).fit(X[rows], y[rows]).predict_proba(X)
        for model, weight, rows in zip(
            members, ensemble.weights_, (first, second, first), strict=True
        )
    ]
    np.testing.assert_allclose(ensemble.predict_proba(X), sum(parts), atol=1e-12)
    assert cross_val_score(ensemble, X, y).mean() > 0.9


def test_a_class_that_a_split_does_not_have_gets_probability_zero():
    cv = [(np.arange(100), np.arange(100, 150)), (np.arange(150), np.arange(3))]
    ensemble = WeightedEnsembleClassifier(MEMBERS[:1] * 2, cv=cv).fit(X, y)
    first, second = ensemble.estimators_
    expected = np.column_stack([first.predict_proba(X), np.zeros(len(X))])
    expected = (expected + second.predict_proba(X)) / 2
    np.testing.assert_allclose(ensemble.predict_proba(X), expected, atol=1e-6)


def test_members_without_probabilities_average_decision_values():
    ensemble = WeightedEnsembleClassifier([LinearSVC(C=1), LinearSVC(C=9)]).fit(X, y)
    values = [model.decision_function(X) for model in ensemble.estimators_]
    np.testing.assert_allclose(ensemble.decision_function(X), np.mean(values, axis=0))
    assert not hasattr(ensemble, "predict_proba")
    assert ensemble.score(X, y) > 0.9
    # A class that a split does not have gets the smallest value of the others.
    rows = np.arange(150)
    alone = WeightedEnsembleClassifier([LinearSVC()], cv=[(rows[50:], rows)]).fit(X, y)
    fitted = alone.estimators_[0].decision_function(X)
    expected = np.column_stack([-np.abs(fitted), -fitted, fitted])
    np.testing.assert_array_equal(alone.decision_function(X), expected)
    with pytest.raises(ValueError, match="must all have the same"):
        WeightedEnsembleClassifier([LinearSVC(), MEMBERS[0]]).fit(X, y)


def test_several_labels_and_targets_are_averaged():
    X, Y = make_multilabel_classification(random_state=0)
    ensemble = WeightedEnsembleClassifier(MEMBERS).fit(X, Y)
    parts = [
        np.column_stack([p[:, 1] for p in model.predict_proba(X)])
        for model in ensemble.estimators_
    ]
    expected = np.mean(parts, axis=0)
    # As its members, the ensemble returns a list of an array per label.
    proba, logarithms = ensemble.predict_proba(X), ensemble.predict_log_proba(X)
    assert [p.shape for p in proba] == [(100, 2)] * 5
    for place, p in enumerate(proba):
        np.testing.assert_allclose(p[:, 1], expected[:, place], atol=1e-6)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(logarithms[place]), p)
    np.testing.assert_array_equal(ensemble.predict(X), expected > 0.5)
    arrays = [OneVsRestClassifier(LogisticRegression())]
    one_array = WeightedEnsembleClassifier(arrays).fit(X, Y)
    assert one_array.predict_proba(X).shape == (100, 5)
    numbers = WeightedEnsembleRegressor([DecisionTreeRegressor()]).fit(X, Y)
    assert numbers.predict(X).shape == Y.shape


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("model", [TREE, LogisticRegression(max_iter=1000)])
def test_scorers_accept_two_labels(model, metric):
    X, Y = make_multilabel_classification(n_classes=2, random_state=0)
    model = model if model is TREE else MultiOutputClassifier(model)
    ensemble = WeightedEnsembleClassifier([model]).fit(X, Y)
    score = get_scorer(metric)
    expected = score(clone(model).fit(X, Y), X, Y)
    assert score(ensemble, X, Y) == pytest.approx(expected)


def test_labels_other_than_0_and_1_are_refused():
    X, Y = make_multilabel_classification(n_classes=2, random_state=0)
    with pytest.raises(ValueError, match=r"each is 0 or 1, got \[1, 2\]"):
        WeightedEnsembleClassifier(MEMBERS).fit(X, Y + 1)
    sparse = WeightedEnsembleClassifier([OneVsRestClassifier(TREE)])
    dense = clone(sparse).fit(X, Y.astype(bool))
    sparse.fit(X, csr_matrix(Y))
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X))


@pytest.mark.parametrize(
    "arguments",
    [
        {"estimators": []},
        *({"weights": w} for w in ([1], [-1, 2], [0, 0], [np.nan, 1])),
    ],
)
def test_wrong_members_and_weights_are_refused(arguments):
    ensemble = WeightedEnsembleClassifier(**{"estimators": MEMBERS, **arguments})
    with pytest.raises(ValueError, match="estimators must not be empty, and weights"):
        ensemble.fit(X, y)
