"""First configurations of searches among models."""

from unittest import mock

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes.defaults import learned_prior as learned_priors
from skbayes.defaults.catalog import DataFacts
from skbayes.defaults.learned_prior import learned_prior
from skbayes.defaults.parts import current_values, parts_of
from skbayes.space import Choice, Space
from skbayes.space.optimum_prior import ModelStarts

SLOPES = {"LogisticRegression": -1.0, "SVC": 2.0, "DecisionTreeClassifier": 0.5}
KNOWLEDGE = {}
for kind, slope in SLOPES.items():
    name = "max_depth" if kind == "DecisionTreeClassifier" else "C"
    density = {"scale": "log", "at": [1.0, 10.0], "log_density": [0.0, slope]}
    KNOWLEDGE[kind] = {
        "portfolio": [{}, {name: 3}, {name: 9}],
        "regrets": [[50], [20], [40]],
        "densities": {name: density},
    }
C = (1.0, 10.0, "log-uniform")
MODELS = [LogisticRegression(), SVC(), RandomForestClassifier()]
OPTIONS = [(model, {"clf__C": C}) for model in MODELS[:2]]
OPTIONS += [(MODELS[2], {"clf__max_depth": (1, 10)})]
ALTERNATIVES = [{"clf": [model], **space} for model, space in OPTIONS]
NOTATIONS = {
    "list of dicts": ALTERNATIVES,
    "choice": {"clf": Choice(OPTIONS)},
    "step": {"clf": MODELS[:2], "clf__C": C},
    "own model is implied": [{"clf__C": C}, *ALTERNATIVES[1:]],
}


def pipeline(model=MODELS[0]):
    return Pipeline([("scale", StandardScaler()), ("clf", model)])


def prior_of(estimator, notation, knowledge=KNOWLEDGE):
    space = Space.from_notation(notation)
    parts = parts_of(estimator, DataFacts())
    with mock.patch.object(learned_priors, "library", lambda: knowledge):
        return learned_prior(parts, space, current_values(estimator))


def model_of(params, default="LogisticRegression"):
    return type(params["clf"]).__name__ if "clf" in params else default


def tried_first(prior):
    """Return the configurations that a search tries before it uses its model."""
    portfolio, X = prior.portfolio, np.empty((0, prior.space.n_columns))
    while True:
        place = portfolio.choose(X, np.zeros(len(X)), range(len(portfolio.rows)))
        if place is None:
            return prior.space.decode(X)
        X = np.vstack([X, portfolio.rows[[place]]])


@pytest.mark.parametrize("model", MODELS[:2], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_each_model_begins_with_the_best_of_its_portfolio(notation, model):
    prior = prior_of(pipeline(model), NOTATIONS[notation])
    first = tried_first(prior)
    kinds = [model_of(params, type(model).__name__) for params in first]
    expected = {"LogisticRegression", "SVC"}
    if notation != "step":
        expected.add("RandomForestClassifier")
    if notation == "own model is implied" and isinstance(model, SVC):
        expected.remove("LogisticRegression")
    assert set(kinds) == expected and len(kinds) == len(expected)
    for kind, params in zip(kinds, first, strict=True):
        if kind in SLOPES:
            assert params["clf__C"] == pytest.approx(3.0, rel=1e-3)
    # Densities would prefer some of the models.
    assert prior.is_flat


@pytest.mark.parametrize("notation", ["choice", "list of dicts"])
def test_a_model_without_a_portfolio_begins_with_its_current_values(notation):
    prior = prior_of(pipeline(), NOTATIONS[notation], {"SVC": KNOWLEDGE["SVC"]})
    first = {model_of(params): params for params in tried_first(prior)}
    assert first["LogisticRegression"]["clf__C"] == 1.0


def test_there_is_no_branch_without_a_choice_among_models():
    svc = make_pipeline(StandardScaler(), PCA(), SVC())
    spaces = [
        {"svc__kernel": Choice({"rbf": {}, "linear": {}})},
        {"standardscaler": [StandardScaler(), MinMaxScaler()]},
        {"pca": [PCA(), "passthrough"]},
        {"svc": [SVC()]},
    ]
    lists = [[{"svc__C": C, "svc__kernel": ["rbf"]}, {"svc__kernel": ["linear"]}]]
    for notation in [{"svc__C": C, **space} for space in spaces] + lists:
        prior = prior_of(svc, notation)
        assert prior is None or not isinstance(prior.portfolio, ModelStarts)


def test_models_within_a_model_have_priors():
    trees = [DecisionTreeClassifier(max_depth=depth) for depth in (1, 2)]
    depth = {"clf__estimator__max_depth": (1, 10)}
    inner = Choice([(trees[0], depth), (trees[1], {}), (SVC(), {})])
    boosted = AdaBoostClassifier(random_state=0)
    options = [
        (boosted, {"clf__estimator": inner, "clf__n_estimators": (10, 99)}),
        (LogisticRegression(), {"clf__C": C}),
        (DecisionTreeClassifier(), {"clf__max_depth": (1, 10)}),
    ]
    notation = {"scale": [StandardScaler(), "passthrough"], "clf": Choice(options)}
    first = tried_first(prior_of(pipeline(), notation))
    assert {type(one["clf"]).__name__ for one in first} == {
        *("AdaBoostClassifier", "LogisticRegression", "DecisionTreeClassifier")
    }
    nested = [one["clf__estimator"] for one in first if "clf__estimator" in one]
    assert {repr(one) for one in nested} == {*map(repr, trees), "SVC()"}
    # The estimator's own values of the other steps.
    assert all(repr(one["scale"]) == "StandardScaler()" for one in first)


def test_a_constraint_may_exclude_the_values_of_a_model():
    space = Space.from_notation(
        NOTATIONS["choice"],
        lambda one: model_of(one) == "SVC" or one.get("clf__max_depth", 0) > 4,
    )
    prior = prior_of(pipeline(), space)
    kinds = {model_of(one) for one in space.decode(prior.portfolio.rows)}
    assert kinds == {"SVC", "RandomForestClassifier"}
    assert np.all(space.allowed(prior.portfolio.rows))
