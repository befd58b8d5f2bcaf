"""Scores of one fold for all types of numbers."""

import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from skbayes import BayesSearchCV

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


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    "kind",
    [np.longdouble, Decimal, Fraction, complex, np.complex64, np.clongdouble],
    ids=lambda kind: kind.__name__,
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


_WORKER = """
import sys
from sklearn.model_selection import GridSearchCV  # imported in workers of any search
before = set(sys.modules)
import skbayes.evaluation.fold
print(*sorted(set(sys.modules) - before))
"""


def test_workers_import_little():
    """Sixteen workers on two cores otherwise spend seconds on imports."""
    done = subprocess.run(
        [sys.executable, "-c", _WORKER], capture_output=True, text=True, check=True
    )
    new = done.stdout.split()
    rooms = {name.split(".")[1] for name in new if name.startswith("skbayes.")}
    assert rooms == {"compat", "evaluation", "utils"}
    assert not {"sklearn.ensemble", "sklearn.decomposition"}.intersection(new)
