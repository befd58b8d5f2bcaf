"""Scores of one fold for all types of numbers."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from attacks import odd_scores
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.trial.fold import FoldCall, wrapped_fit
from skbayes.trial.records import FoldResult

# NumPy 1.25 moved it.
ComplexWarning = getattr(np, "exceptions", np).ComplexWarning

X, y = np.zeros((12, 1)), np.arange(12) % 2
WORTH = {"prior": 0.25, "uniform": 0.75}


@pytest.mark.parametrize("kind", odd_scores.CONVERSIONS)
@pytest.mark.filterwarnings("ignore")
def test_scores_of_odd_types_are_taken_as_grid_search_takes_them(kind):
    for several in (False, True):
        # The second search has all trials from the journal.
        twice = odd_scores.equals_grid_twice(kind, several)
        assert twice["held"] == twice["tried"] == 2


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
    # They are removed without a fit and after an error.
    with wrapped_fit(tree, recording("outer", calls)):
        with wrapped_fit(tree, recording("inner", calls)):
            pass
        with pytest.raises(ValueError):
            tree.fit([[np.inf]], [0])
    assert calls == ["outer", "inner", "outer"]
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


def test_fit_and_scoring_share_the_time_of_the_processor():
    call = SimpleNamespace(cpu_seconds=2.0, estimator=None)
    assert FoldCall.measured(call, FoldResult({}, 3.0, 1.0))["cpu_time"] == 1.5
    assert FoldCall.measured(call, FoldResult({}, 0.0, 0.0))["cpu_time"] == 2.0
