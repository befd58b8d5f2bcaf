"""Scores of one fold for all types of numbers."""

import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.evaluation.fold import wrapped_fit

# NumPy 1.25 moved it.
ComplexWarning = getattr(np, "exceptions", np).ComplexWarning

X, y = np.zeros((12, 1)), np.arange(12) % 2
WORTH = {"prior": 0.25, "uniform": 0.75}


class Scorer:
    """Scorer that returns one or two numbers of a type."""

    def __init__(self, kind, several):
        self.kind, self.several = kind, several

    def __call__(self, estimator, X, y):
        score = self.kind(WORTH[estimator.strategy])
        return {"a": score, "b": score} if self.several else score


@pytest.mark.parametrize(
    "kind, several",
    [
        (np.longdouble, False),
        (Decimal, True),
        (Fraction, False),
        (complex, True),
        (np.clongdouble, False),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_scores_of_odd_types_are_taken_as_grid_search_takes_them(
    kind, several, tmp_path
):
    arguments = DummyClassifier(), {"strategy": ["prior", "uniform"]}
    options = {
        "scoring": Scorer(kind, several),
        "cv": 2,
        "refit": "a" if several else True,
        "return_train_score": True,
        "error_score": np.longdouble(0),
    }
    ours = {**options, "n_iter": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComplexWarning)
        expected = GridSearchCV(*arguments, **options).fit(X, y)
        found = [BayesSearchCV(*arguments, **ours).fit(X, y)]
        # The second one has all trials from the journal.
        for _ in range(2):
            search = BayesSearchCV(*arguments, **ours, journal=tmp_path / "journal")
            found.append(search.fit(X, y))
    name = "a" if several else "score"
    for search in found:
        assert search.best_params_ == {"strategy": "uniform"}
        for part in ("mean_test", "split1_test", "mean_train", "rank_test"):
            theirs = expected.cv_results_[f"{part}_{name}"]
            column = search.cv_results_[f"{part}_{name}"]
            assert column.dtype == theirs.dtype
            np.testing.assert_array_equal(np.sort(column), np.sort(theirs))


def test_an_imaginary_part_is_dropped_with_a_warning():
    def scorer(estimator, X, y):
        return complex(WORTH[estimator.strategy], 1.0)

    search = BayesSearchCV(
        DummyClassifier(), {"strategy": ["prior"]}, scoring=scorer, cv=2, n_iter=1
    )
    with pytest.warns(ComplexWarning):
        search.fit(X, y)
    assert search.best_score_ == 0.25


# -- wrappers of fit -------------------------------------------------------------------


def recording(name, calls, model=None):
    def wrapper(fit, X, y=None, **params):
        calls.append(name)
        if model is not None:
            assert "fit" not in vars(model)
            pickle.dumps(model)
        return fit(X, y, **params)

    return wrapper


def test_wrappers_of_fit_are_called_from_the_outer_to_the_inner_one():
    calls, tree = [], DecisionTreeClassifier()
    with wrapped_fit(tree, recording("outer", calls, tree)):
        with wrapped_fit(tree, recording("inner", calls)):
            assert tree.fit([[0], [1]], [0, 1], sample_weight=[1, 2]) is tree
        # Each wrapper is called by one fit.
        tree.fit([[0], [1]], [0, 1])
    assert calls == ["outer", "inner"]
    assert "fit" not in vars(tree)


@pytest.mark.parametrize("first", [True, False])
def test_a_wrapper_of_fit_can_wrap_the_fit_again(first):
    calls, tree = [], DecisionTreeClassifier()

    def again(fit, X, y=None, **params):
        with wrapped_fit(tree, recording("again", calls)):
            return fit(X, y, **params)

    wrappers = [again, recording("other", calls)]
    outer, inner = wrappers if first else wrappers[::-1]
    with wrapped_fit(tree, outer), wrapped_fit(tree, inner):
        tree.fit([[0], [1]], [0, 1])
    assert calls == ["other", "again"]


def test_wrappers_of_fit_are_removed_without_a_fit_and_after_an_error():
    tree = DecisionTreeClassifier()
    with wrapped_fit(tree, recording("outer", calls := [])):
        with wrapped_fit(tree, recording("inner", calls)):
            pass
        with pytest.raises(ValueError):
            tree.fit([[np.inf]], [0])
    assert calls == ["outer"]
    assert "fit" not in vars(tree)
