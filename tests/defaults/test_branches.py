"""Learned priors of searches among models: each class has its own."""

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
from skbayes.defaults.learned_prior import learned_prior, model_branches
from skbayes.defaults.parts import own_values, parts_of
from skbayes.space import Choice, Space
from skbayes.space.portfolio import BranchPortfolio

SLOPES = {"LogisticRegression": -1.0, "SVC": 2.0, "DecisionTreeClassifier": 0.5}
NAMES = {"DecisionTreeClassifier": "max_depth"}
KNOWN = {
    kind: {
        "portfolio": [{}, {NAMES.get(kind, "C"): 3}, {NAMES.get(kind, "C"): 9}],
        "regrets": [[50], [20], [40]],
        "densities": {
            NAMES.get(kind, "C"): {
                "scale": "log",
                "at": [1.0, 10.0],
                "log_density": [0.0, slope],
            }
        },
    }
    for kind, slope in SLOPES.items()
}
C = (1.0, 10.0, "log-uniform")
MODELS = [LogisticRegression(), SVC(), RandomForestClassifier()]
NOTATIONS = {
    "list of dicts": [{"clf": [model], "clf__C": C} for model in MODELS[:2]]
    + [{"clf": [MODELS[2]], "clf__max_depth": (1, 10)}],
    "choice": {
        "clf": Choice(
            [(model, {"clf__C": C}) for model in MODELS[:2]]
            + [(MODELS[2], {"clf__max_depth": (1, 10)})]
        )
    },
    "step": {"clf": MODELS[:2], "clf__C": C},
    "own model is implied": [
        {"clf__C": C},
        {"clf": [MODELS[1]], "clf__C": C},
        {"clf": [MODELS[2]], "clf__max_depth": (1, 10)},
    ],
}


def pipeline(model=MODELS[0]):
    return Pipeline([("scale", StandardScaler()), ("clf", model)])


def prior_of(estimator, notation, known=KNOWN):
    space = Space.from_notation(notation)
    parts = parts_of(estimator, DataFacts())
    with mock.patch.object(learned_priors, "library", lambda: known):
        return learned_prior(parts, space, own_values(estimator))


def model_of(params, own="LogisticRegression"):
    return type(params["clf"]).__name__ if "clf" in params else own


def samples(space, n=60):
    X = space.from_uniform(np.random.default_rng(0).random((n, space.n_columns)))
    return X, space.decode(X)


@pytest.mark.parametrize("own", MODELS[:2], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_density_belongs_to_the_branch_of_its_class(notation, own):
    prior = prior_of(pipeline(own), NOTATIONS[notation])
    X, params = samples(prior.space)
    logs = prior.log_density(X)
    kinds = np.array([model_of(one, type(own).__name__) for one in params])
    assert len(set(kinds)) >= 2
    C = np.array([one.get("clf__C", 1.0) for one in params])
    for kind in set(kinds):
        offset = (logs - SLOPES.get(kind, 0.0) * np.log10(C))[kinds == kind]
        np.testing.assert_allclose(offset, offset[0], atol=1e-4)
        assert (offset[0] == 0.0) == (kind == "RandomForestClassifier")


@pytest.mark.parametrize("notation", NOTATIONS)
def test_centered_log_densities_have_the_mean_zero_in_each_branch(notation):
    prior = prior_of(pipeline(), NOTATIONS[notation])
    X = prior.sample(6000, np.random.default_rng(1))
    kinds = np.array([model_of(one) for one in prior.space.decode(X)])
    logs, plain = prior.centered_log_density(X), prior.log_density(X)
    for kind in set(kinds):
        assert abs(np.mean(logs[kinds == kind])) < 0.02
        # Within a branch, only a constant is subtracted.
        assert np.ptp((plain - logs)[kinds == kind]) < 1e-9


@pytest.mark.parametrize("notation", NOTATIONS)
def test_each_option_begins_with_the_portfolio_of_its_class(notation):
    prior = prior_of(pipeline(), NOTATIONS[notation])
    portfolio, space = prior.portfolio, prior.space
    X, kinds = np.empty((0, space.n_columns)), []
    for _ in range(portfolio.n_first):
        place = portfolio.choose(X, np.zeros(len(X)), range(len(portfolio.rows)))
        (params,) = space.decode(portfolio.rows[[place]])
        kinds.append(model_of(params))
        if kinds[-1] in SLOPES and kinds.count(kinds[-1]) == 1:
            assert params["clf__C"] == pytest.approx(3.0, rel=1e-3)
        X = np.vstack([X, portfolio.rows[[place]]])
    n_models = 2 if notation == "step" else 3
    assert len(set(kinds[:n_models])) == n_models
    assert len(kinds) >= n_models


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
        space = Space.from_notation(notation)
        parts = parts_of(svc, DataFacts())
        assert model_branches(parts, space, own_values(svc)) == []
        prior = prior_of(svc, notation)
        assert prior is None or not isinstance(prior.portfolio, BranchPortfolio)


def test_models_within_models():
    trees = [DecisionTreeClassifier(max_depth=depth) for depth in (1, 2)]
    depth = {"clf__estimator__max_depth": (1, 10)}
    inner = Choice([(trees[0], depth), (trees[1], {}), (SVC(), {})])
    boosted = AdaBoostClassifier(random_state=0)
    notation = {
        "scale": [StandardScaler(), "passthrough"],
        "clf": Choice(
            [
                (boosted, {"clf__estimator": inner, "clf__n_estimators": (10, 99)}),
                (LogisticRegression(), {"clf__C": C}),
                (DecisionTreeClassifier(), {"clf__max_depth": (1, 10)}),
            ]
        ),
    }
    prior = prior_of(pipeline(), notation)
    X = np.empty((0, prior.space.n_columns))
    rows = prior.portfolio.rows
    for _ in range(prior.portfolio.n_first):
        place = prior.portfolio.choose(X, np.zeros(len(X)), range(len(rows)))
        if place is None:
            break
        X = np.vstack([X, rows[[place]]])
    tried = prior.space.decode(X)
    assert {type(one["clf"]).__name__ for one in tried} == {
        *("AdaBoostClassifier", "LogisticRegression", "DecisionTreeClassifier")
    }
    nested = [one["clf__estimator"] for one in tried if "clf__estimator" in one]
    assert {repr(one) for one in nested} == {*map(repr, trees), "SVC()"}
    # The estimator's own values of the other steps.
    assert all(repr(one["scale"]) == "StandardScaler()" for one in tried)
    X, params = samples(prior.space, 300)
    logs = prior.log_density(X)
    depths = [
        one.get("clf__estimator__max_depth", one.get("clf__max_depth"))
        for one in params
    ]
    expected = [
        -np.log10(one["clf__C"]) if "clf__C" in one else 0.5 * np.log10(depth or 1)
        for one, depth in zip(params, depths, strict=True)
    ]
    for name in ("clf__C", "clf__max_depth", "clf__estimator__max_depth"):
        own = [k for k, one in enumerate(params) if name in one]
        offset = logs[own] - np.array(expected)[own]
        np.testing.assert_allclose(offset, offset[0], atol=1e-4)


def test_a_constraint_may_exclude_the_values_of_a_model():
    space = Space.from_notation(
        NOTATIONS["choice"],
        lambda one: model_of(one) == "SVC" or one.get("clf__max_depth", 0) > 4,
    )
    prior = prior_of(pipeline(), space)
    kinds = {model_of(one) for one in space.decode(prior.portfolio.rows)}
    assert kinds == {"SVC", "RandomForestClassifier"}
    assert np.all(space.allowed(prior.portfolio.rows))
