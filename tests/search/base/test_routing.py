"""Rules M1 … M4: metadata routing."""

import numpy as np
import pytest
import sklearn
from grid_comparison import assert_same_results, fit_both
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
GROUPS = np.arange(150) % 6
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
GRID = {"C": [0.1, 1.0]}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Consumer(ClassifierMixin, BaseEstimator):
    """Estimator that records the metadata of its `fit` and `score`."""

    log: list = []

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y, sample_weight=None, note=None):
        type(self).log.append(("fit", sample_weight is not None, note))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None, note=None):
        type(self).log.append(("score", sample_weight is not None, note))
        return float(self.C)


@pytest.fixture
def consumer():
    Consumer.log = []
    return Consumer()


def test_m1_the_router_maps_fit_to_estimator_scorer_and_splitter(routing):
    model = LogisticRegression().set_fit_request(sample_weight=True)
    arguments = {
        "scoring": make_scorer(accuracy_score).set_score_request(sample_weight=True),
        "cv": GroupKFold(3),
    }
    ours = BayesSearchCV(model, GRID, **arguments).get_metadata_routing()
    theirs = GridSearchCV(model, GRID, **arguments).get_metadata_routing()
    for name, pair in theirs._route_mappings.items():
        assert repr(ours._route_mappings[name].mapping) == repr(pair.mapping)
    assert set(ours._route_mappings) == {"estimator", "scorer", "splitter"}


def test_m2_unrequested_metadata_is_refused(routing, consumer):
    search = BayesSearchCV(consumer, GRID, n_iter=2, cv=2, random_state=0)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        search.fit(X, y, sample_weight=WEIGHTS)
    assert Consumer.log == []


def test_m2_each_consumer_gets_only_what_it_asked_for(routing, consumer):
    consumer.set_fit_request(sample_weight=True, note=False)
    consumer.set_score_request(note=True, sample_weight=False)
    search = BayesSearchCV(consumer, GRID, n_iter=2, cv=GroupKFold(3), random_state=0)
    search.fit(X, y, sample_weight=WEIGHTS, note="n", groups=GROUPS)
    fits = [entry for entry in Consumer.log if entry[0] == "fit"]
    scores = [entry for entry in Consumer.log if entry[0] == "score"]
    assert len(fits) == 7 and set(fits) == {("fit", True, None)}
    assert len(scores) == 6 and set(scores) == {("score", False, "n")}
    search.score(X, y, note="m")
    assert Consumer.log[-1] == ("score", False, "m")


def test_m2_same_results_as_grid_search(routing):
    model = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        LogisticRegression(max_iter=500).set_fit_request(sample_weight=True),
    )
    ours, theirs = fit_both(
        model,
        {"logisticregression__C": [0.01, 0.1, 1.0]},
        X,
        y,
        cv=GroupKFold(3),
        scoring=make_scorer(accuracy_score).set_score_request(sample_weight=True),
        fit_params={"sample_weight": WEIGHTS, "groups": GROUPS},
    )
    assert_same_results(ours, theirs)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_m3_nested_in_cross_validate(routing, n_jobs):
    def nested(cls, **extra):
        model = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = cls(model, GRID, cv=GroupKFold(2), scoring=scorer, **extra)
        return cross_validate(
            search,
            X,
            y,
            cv=GroupKFold(3),
            scoring=scorer,
            params={"sample_weight": WEIGHTS, "groups": GROUPS},
            n_jobs=n_jobs,
            error_score="raise",
        )["test_score"]

    np.testing.assert_array_equal(nested(BayesSearchCV, n_iter=2), nested(GridSearchCV))


def test_m3_nested_without_metadata(routing):
    search = BayesSearchCV(LogisticRegression(max_iter=500), GRID, n_iter=2, cv=2)
    scores = cross_validate(search, X, y, cv=3, error_score="raise")["test_score"]
    assert np.isfinite(scores).all()


def test_m4_score_takes_no_metadata_when_routing_is_off():
    search = BayesSearchCV(
        LogisticRegression(max_iter=500), GRID, n_iter=2, cv=2, random_state=0
    )
    search.fit(X, y)
    with pytest.raises(ValueError, match="only supported if"):
        search.score(X, y, sample_weight=WEIGHTS)


def test_routing_holds_in_workers(routing, consumer):
    model = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    search = BayesSearchCV(model, GRID, n_iter=2, cv=3, scoring=scorer, random_state=0)
    alone = clone(search).fit(X, y, sample_weight=WEIGHTS)
    pair = clone(search).set_params(n_jobs=2).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(
        alone.cv_results_["mean_test_score"], pair.cv_results_["mean_test_score"]
    )
    assert np.isfinite(pair.cv_results_["mean_test_score"]).all()
