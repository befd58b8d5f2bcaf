"""Greedy selection of the members of an ensemble."""

import itertools

import numpy as np
import pytest
from every_search import small_search
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import BayesSearchCV
from skbayes.search.combination import (
    FoldScorer,
    seats,
    select,
    select_members,
    without_useless,
)

RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=60)
FOLDS = np.array_split(np.arange(60), 5)


def models(n, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return [TARGET + noise * rng.normal(size=60) for _ in range(n)]


class Squares(FoldScorer):
    """Negated mean square error of averages on each fold."""

    def __init__(self, predictions):
        self.predictions = predictions

    def __call__(self, fold, weights):
        total = sum(weights.values())
        mean = sum(w / total * self.predictions[k] for k, w in weights.items())
        rows = FOLDS[fold]
        return -float(np.mean((mean[rows] - TARGET[rows]) ** 2))

    def votes(self, weights):
        return False

    def _fast_scores(self, options, folds):
        return None

    def overall(self, weights):
        return self.mean(weights, range(5))

    def members(self, **options):
        """Select members on all folds."""
        places = range(len(self.predictions))
        order = sorted(places, key=lambda k: -self.overall({k: 1}))
        return order, select_members(self, range(5), order, **options)


@pytest.mark.parametrize("seed", range(3))
def test_counts_sum_to_the_number_of_members(seed):
    scorer = Squares(models(12, seed=seed))
    counts, left_out = select(scorer, 5, range(12), 7)
    assert sum(counts.values()) == 7
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    # The members were not selected on the splits of these scores.
    assert left_out.mean() < scorer.overall(counts) + 1e-12


def test_many_splits_are_left_out_in_groups():
    class Single(Squares):
        def __call__(self, fold, weights):
            total = sum(weights.values())
            mean = sum(w / total * self.predictions[k] for k, w in weights.items())
            return -float((mean[fold] - TARGET[fold]) ** 2)

    bags, scorer = set(), Single(models(4))
    mean = scorer.mean
    scorer.mean = lambda weights, folds: bags.add(tuple(folds)) or mean(weights, folds)
    _, left_out = select(scorer, 60, range(4), 5)
    assert left_out.shape == (60,)
    assert {len(folds) for folds in bags} == {54, 60}


@pytest.mark.parametrize(
    "weights, n, expected",
    [
        ({0: 0.5, 1: 0.3, 2: 0.2}, 10, {0: 5, 1: 3, 2: 2}),
        ({0: 0.5, 1: 0.3, 2: 0.2}, 5, {0: 3, 1: 1, 2: 1}),
        ({0: 0.5, 1: 0.3, 2: 0.2}, 2, {0: 1, 1: 1}),
        ({3: 1 / 3, 1: 1 / 3, 2: 1 / 3}, 2, {1: 1, 2: 1}),
        ({4: 1.0}, 5, {4: 5}),
    ],
)
def test_weights_are_rounded_to_members(weights, n, expected):
    assert seats(weights, n) == expected


@pytest.mark.parametrize("seed", range(5))
def test_two_members_equal_an_exhaustive_search(seed):
    scorer, n_rounds = Squares(models(2, seed=seed)), 8
    _, chosen = scorer.members(n_rounds=n_rounds)
    mixtures = [
        {0: a, 1: b}
        for a, b in itertools.product(range(n_rounds + 1), repeat=2)
        if 1 <= a + b <= n_rounds
    ]
    # The loss is convex: greedy steps reach the best mixture of their own size.
    same_size = [m for m in mixtures if sum(m.values()) == sum(chosen.values())]
    assert scorer.overall(chosen) == pytest.approx(max(map(scorer.overall, same_size)))


def test_the_order_of_candidates_and_copies_do_not_matter():
    predictions = models(8)
    weights, _ = select(Squares(predictions), 5, range(8), 5)
    again = select(Squares(predictions), 5, [5, 3, 7, 1, 0, 2, 4, 6], 5)
    assert again[0] == weights
    # Of equal candidates, the first one is selected.
    copied = [*predictions, *predictions]
    with_copies = select(Squares(copied), 5, range(16), 5)
    assert set(with_copies[0]) <= set(range(8))


@pytest.mark.parametrize("n, n_start", [(3, 1), (8, 2), (12, 3), (40, 5)])
def test_the_selection_begins_with_a_quarter_of_the_candidates(n, n_start):
    scorer = Squares(models(n))
    order, chosen = scorer.members(n_rounds=5)
    assert set(order[:n_start]) <= set(chosen)
    # The average remains if no single step is better.
    worse = [TARGET + 1.0 + k for k in range(n)]
    assert Squares(worse).members(n_rounds=n_start)[1] == dict.fromkeys(
        range(n_start), 1
    )
    costly = scorer.members(n_rounds=n_start, is_allowed=lambda w: len(w) < 3)[1]
    assert costly == dict.fromkeys(order[: min(n_start, 2)], 1)


def test_an_ensemble_that_is_clearly_worse_than_the_best_is_not_selected():
    # Members on the same side of the target cannot improve the best one.
    biased = [TARGET + 1.0 + k for k in range(12)]
    counts, _ = select(Squares(biased), 5, range(12), 5)
    assert set(counts) == {0}

    class Noisy(Squares):
        """The best one has an advantage that is less than a standard error."""

        def __call__(self, fold, weights):
            return -len(weights) * 0.01 + (fold == 0) * 0.03 * len(weights)

    counts, _ = select(Noisy(biased), 5, range(12), 6)
    assert counts == {0: 2, 1: 2, 2: 2}


def test_limits_of_the_members():
    scorer = Squares(models(20))
    order, few = scorer.members(is_allowed=lambda weights: len(weights) <= 3)
    assert len(few) <= 3
    assert scorer.members(is_allowed=lambda weights: False)[1] == {order[0]: 1}
    few, _ = select(scorer, 5, range(20), 9, is_allowed=lambda n: sum(n.values()) < 3)
    assert sum(few.values()) == 2
    # An average that violates a constraint is replaced by a selection that satisfies
    # it.
    kept, _ = select(scorer, 5, range(20), 5, is_allowed=lambda n: order[1] not in n)
    assert len(kept) > 1
    assert order[1] not in kept


def test_members_that_add_less_than_they_cost_are_dropped():
    predictions = [*models(2), *models(1, noise=3.0, seed=5)]
    scorer, folds = Squares(predictions), range(5)
    counts = {0: 50, 1: 50, 2: 1}
    best = max(range(2), key=lambda k: scorer.overall({k: 1}))
    options = {"best": best, "folds": folds, "is_allowed": lambda weights: True}
    large = without_useless(scorer, counts, sizes={0: 1, 1: 1, 2: 500}, **options)
    assert large == {0: 50, 1: 50}
    useful = {0: 1, 1: 1}
    sizes = {0: 1, 1: 1}
    assert without_useless(scorer, useful, sizes=sizes, **options) == useful


CLASSES = ["accuracy", "balanced_accuracy", "neg_log_loss"]
USUAL = [
    *((load_breast_cancer, name) for name in [*CLASSES, "roc_auc", "f1", None]),
    *((load_iris, name) for name in CLASSES),
    *(
        (load_diabetes, f"neg_{name}_error")
        for name in ("mean_squared", "mean_absolute")
    ),
    *((load_diabetes, name) for name in ("neg_root_mean_squared_error", "r2", None)),
]


@pytest.mark.parametrize(("load", "scoring"), USUAL)
def test_fast_formulas_of_usual_metrics_give_the_same_ensemble(
    load, scoring, monkeypatch
):
    X, y = (part[::3] for part in load(return_X_y=True))
    is_regression = load is load_diabetes
    kind = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    search = BayesSearchCV(
        kind(random_state=0),
        {"max_depth": (1, 20), "min_samples_leaf": (1, 40)},
        n_iter=6,
        cv=3,
        surrogate="random",
        scoring=scoring,
        refit="ensemble",
        random_state=0,
    )
    compared, fast_scores = [], FoldScorer._fast_scores

    def fast(scorer, options, folds):
        scores = fast_scores(scorer, options, folds)
        if len(options) > 1:
            exact = [scorer.mean(option, folds) for option in options]
            np.testing.assert_allclose(scores, exact, rtol=1e-12, atol=1e-14)
            compared.append(len(options))
        return scores

    monkeypatch.setattr(FoldScorer, "_fast_scores", fast)
    found = search.fit(X, y).ensemble_
    assert compared
    monkeypatch.setattr(FoldScorer, "_fast_scores", lambda *args: None)
    assert search.fit(X, y).ensemble_.weights == found.weights


def search_of_trees(scoring):
    more = {"n_iter": 4, "surrogate": "random", "refit": "ensemble"}
    tree = DecisionTreeClassifier(random_state=0)
    return small_search(tree, {"max_depth": (1, 8)}, scoring=scoring, **more)


def test_metrics_may_ask_for_the_parameters_of_the_model():
    def accuracy(model, X, y):
        assert repr(model)
        return model.score(X, y) - 0.01 * len(model.get_params().get("missing", ""))

    X, y = load_iris(return_X_y=True)
    search = search_of_trees(accuracy).fit(X, y)
    plain = search_of_trees("accuracy").fit(X, y)
    assert search.ensemble_.weights == plain.ensemble_.weights


def test_a_metric_of_fitted_attributes_leaves_the_best_configuration_alone():
    def small(model, X, y):
        return model.score(X, y) - 0.01 * model.get_depth()

    search = search_of_trees(small)
    with pytest.warns(UserWarning, match="best trial cannot be scored .*'get_depth'"):
        search.fit(*load_iris(return_X_y=True))
    assert search.ensemble_.weights == {search.trials_.best.number: 1.0}
    assert search.ensemble_.best_score == search.best_score_
    assert type(search.best_estimator_) is DecisionTreeClassifier


def test_a_score_that_fails_on_a_split_is_the_error_score():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(len(y))
    # There is no flower of the second class in the first test set.
    cv = [(rows[::2], rows[1::2][y[1::2] != 1]), (rows[::2], rows[1::2])]
    search = search_of_trees("neg_log_loss").set_params(error_score=-5.0, cv=cv)
    with pytest.warns(UserWarning, match="Scoring failed"):
        search.fit(X, y)
    assert search.cv_results_["split0_test_score"].tolist() == [-5.0] * 4
    assert search.ensemble_.best_score == search.best_score_
