"""One small search of each kind, without imports of optional dependencies."""

import functools
import pickle
import warnings

from simple_estimators import n_leaves
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)

SEARCHES = (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)

X, y = load_iris(return_X_y=True)
TEXTS = [f"a {word} film, number {k}" for k in range(20) for word in ("good", "bad")]
LABELS = [0, 1] * 20
SPACE = {"max_depth": [1, 2, 3], "min_samples_leaf": (1, 20)}
TEXT_SPACE = {
    "vectorizer__ngram_range": [(1, 1), (1, 2)],
    "classifier__C": (0.01, 100.0, "log-uniform"),
}


OF_CLASS = {
    MultiStageSearchCV: {"stages": (0.3, 1.0)},
    HyperTuneSearchCV: {"complexity": {"max_depth": 1}, "n_subsets": 2},
    ParetoSearchCV: {"objectives": {"accuracy": "max", "leaves": ("min", n_leaves)}},
    TradeoffSearchCV: {"cost": n_leaves},
    TextRepresentationSearchCV: {
        "estimator": LogisticRegression(),
        "search_spaces": TEXT_SPACE,
        "space": None,
        "stages": (0.5, 1.0),
    },
}


def make(kind, **params):
    """Return an unfitted search of a class."""
    arguments = {"search_spaces": SPACE, "n_iter": 8, "cv": 2, "random_state": 0}
    arguments["estimator"] = DecisionTreeClassifier(random_state=0)
    return kind(**{**arguments, **OF_CLASS.get(kind, {}), **params})


def data(kind):
    """Return the data for a search of this class."""
    return (TEXTS, LABELS) if kind is TextRepresentationSearchCV else (X, y)


@functools.cache
def _pickled(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.dumps(make(kind).fit(*data(kind)))


def fitted(kind):
    """Return a fitted search, of which each caller has a copy."""
    return pickle.loads(_pickled(kind))


def small_search(estimator, spaces, **params):
    """Return a BayesSearchCV of two trials on two splits."""
    arguments = {"n_iter": 2, "cv": 2, "random_state": 0, **params}
    return BayesSearchCV(estimator, spaces, **arguments)
