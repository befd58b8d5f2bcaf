"""Greedy selection of the members of an ensemble."""

import itertools
from collections import Counter

import numpy as np
import pytest
from every_search import small_search
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import BayesSearchCV
from skbayes.options.ensembles.combination import FoldScorer, select

TARGET = np.random.default_rng(0).normal(size=60)


def score_of(n, seed, bias=0.0):
    """Return the candidates, the best one first, and the score of their averages."""
    rng = np.random.default_rng(seed)
    outputs = TARGET + bias + (0.2 + rng.random(n))[:, None] * rng.normal(size=(n, 60))

    def score(members):
        return -float(np.mean((np.mean(outputs[members], axis=0) - TARGET) ** 2))

    return sorted(range(n), key=lambda k: -score([k])), score


@settings(max_examples=25)
@given(n=st.integers(1, 12), most=st.integers(1, 10), seed=st.integers(0, 10**6))
def test_the_ensemble_is_the_best_of_a_greedy_path(n, most, seed):
    candidates, score = score_of(n, seed)
    chosen = select(score, candidates, most, lambda members: True)
    assert chosen[0] == candidates[0]
    assert len(chosen) <= most
    assert score(chosen) >= score(candidates[:1])
    # Each member is the best addition to those before it.
    for size in range(1, len(chosen)):
        options = [score([*chosen[:size], k]) for k in candidates]
        assert score(chosen[: size + 1]) == max(options)


@pytest.mark.parametrize("seed", range(5))
def test_two_candidates_equal_an_exhaustive_search(seed):
    candidates, score = score_of(2, seed)
    chosen = select(score, candidates, 8, lambda members: True)
    mixtures = [
        [candidates[0]] * a + [candidates[1]] * b
        for a, b in itertools.product(range(1, 9), range(8))
        if a + b <= 8
    ]
    # The loss is convex: greedy steps reach the best mixture of their own size.
    same_size = [score(mixture) for mixture in mixtures if len(mixture) == len(chosen)]
    assert score(chosen) == pytest.approx(max(same_size))


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 3), banned=st.integers(1, 11))
def test_limits_hold_for_all_members(seed, most, banned):
    candidates, score = score_of(12, seed)

    def is_allowed(members):
        return (
            max(Counter(members).values()) <= most and candidates[banned] not in members
        )

    chosen = select(score, candidates, 10, is_allowed)
    assert is_allowed(chosen)
    assert select(score, candidates, 10, lambda members: False) == candidates[:1]


def test_a_step_that_is_worse_may_lead_to_a_better_ensemble():
    scores = {1: 0.5, 2: 0.4, 3: 0.9, 4: 0.9}
    members = select(lambda m: scores[len(m)], [7, 8], 4, lambda members: True)
    assert members == [7, 7, 7]


CLASSES = ["accuracy", "balanced_accuracy", "neg_log_loss"]
TREE, RIDGE = DecisionTreeClassifier(random_state=0), RidgeClassifier()
REGRESSION = [f"neg_{k}_error" for k in ("mean_squared", "mean_absolute")]
REGRESSION += ["neg_root_mean_squared_error", "r2", None]
USUAL = [
    *((TREE, load_breast_cancer, name) for name in [*CLASSES, "roc_auc", "f1", None]),
    *((TREE, load_iris, name) for name in CLASSES),
    # It has decision values and no probabilities.
    *((RIDGE, load_breast_cancer, name) for name in ("accuracy", "roc_auc", "f1")),
    *((DecisionTreeRegressor(random_state=0), load_diabetes, k) for k in REGRESSION),
]


@pytest.mark.parametrize(("model", "load", "scoring"), USUAL)
def test_fast_formulas_of_usual_metrics_equal_the_scorers(
    model, load, scoring, monkeypatch
):
    X, y = (part[::5] for part in load(return_X_y=True))
    space = {"max_depth": (1, 20), "min_samples_leaf": (1, 40)}
    space = {"alpha": (1e-3, 1e6, "log-uniform")} if model is RIDGE else space
    search = BayesSearchCV(model, space, n_iter=3, random_state=0)
    search.set_params(cv=3, surrogate="random", scoring=scoring, refit="ensemble")
    compared, fast = [], FoldScorer.fast_score

    def both(scorer, fold, values):
        assert scorer._formula is not None
        score, exact = fast(scorer, fold, values), scorer(fold, values)
        compared.append(score)
        np.testing.assert_allclose(score, exact, rtol=1e-12, atol=1e-14)
        return score

    monkeypatch.setattr(FoldScorer, "fast_score", both)
    search.fit(X, y)
    assert compared


def search_of_trees(scoring):
    params = {"n_iter": 4, "surrogate": "random", "refit": "ensemble", "cv": 3}
    tree = DecisionTreeClassifier(random_state=0)
    return small_search(tree, {"max_depth": (1, 8)}, scoring=scoring, **params)


def test_metrics_may_ask_for_the_parameters_of_the_model():
    def accuracy(model, X, y):
        assert repr(model)
        return model.score(X, y) - 0.01 * len(model.get_params().get("missing", ""))

    X, y = load_iris(return_X_y=True)
    search = search_of_trees(accuracy).fit(X, y)
    plain = search_of_trees("accuracy").fit(X, y)
    assert search.ensemble_.weights == plain.ensemble_.weights


def test_a_score_that_fails_on_a_split_is_the_error_score():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(len(y))
    # There is no flower of the second class in the first test set.
    cv = [(rows, rows[y != 1]), (rows, rows[1::2])]
    search = search_of_trees("neg_log_loss").set_params(error_score=-5.0, cv=cv)
    with pytest.warns(UserWarning, match="Scoring failed"):
        search.fit(X, y)
    assert search.cv_results_["split0_test_score"].tolist() == [-5.0] * 4
    assert search.ensemble_.best_score == search.best_score_
