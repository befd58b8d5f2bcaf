"""Attributes in addition to those of GridSearchCV, and log messages."""

import logging

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.results.correction import corrected_best_score

X, y = load_iris(return_X_y=True)
SPACE = {"C": (1e-2, 1e2, "log-uniform"), "kernel": ["rbf", "linear"]}


def make(**kwargs):
    return BayesSearchCV(SVC(), SPACE, n_iter=6, cv=3, random_state=0, **kwargs)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_results_frame(library):
    pytest.importorskip(library)
    search = make().fit(X, y)
    frame = search.results_frame(library)
    assert len(frame) == 6
    assert list(frame["param_C"]) == [p["C"] for p in search.cv_results_["params"]]
    np.testing.assert_array_equal(
        frame["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    best_first = search.results_frame(library, sort_by="score")
    assert next(iter(best_first["mean_test_score"])) == search.best_score_
    with pytest.raises(NotFittedError):
        make().results_frame(library)


def test_the_corrected_score_goes_with_the_best_score():
    search = make().fit(X, y)
    assert search.best_score_corrected_ == corrected_best_score(
        search.cv_results_, search.best_index_, 3
    )
    assert search.best_score_corrected_ <= search.best_score_
    several = make(scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, y)
    assert several.best_score_corrected_ == corrected_best_score(
        several.cv_results_, several.best_index_, 3, "f1_macro"
    )
    chosen = make(refit=lambda results: 0).fit(X, y)
    assert not hasattr(chosen, "best_score_corrected_")


def test_the_logger_tells_of_each_trial(caplog, capsys):
    with caplog.at_level(logging.DEBUG, logger="skbayes"):
        make().fit(X, y)
    messages = [record.getMessage() for record in caplog.records]
    told = [message for message in messages if " finished: complete" in message]
    started = [message for message in messages if " started: " in message]
    numbers = [f"trial {number} " for number in range(6)]
    for lines in (told, started):
        assert [line[: len(numbers[0])] for line in lines] == numbers
    assert capsys.readouterr() == ("", "")
