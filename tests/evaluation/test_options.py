"""Meaning of the values of `refit`."""

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from skbayes import BayesSearchCV
from skbayes.evaluation.options import RefitChoice, refit_choice
from skbayes.results import OneStandardError


@pytest.mark.parametrize(
    ("refit", "metrics", "expected"),
    [
        (True, (), RefitChoice()),
        (False, ("f1",), RefitChoice()),
        ("f1", ("f1", "recall"), RefitChoice(metric="f1")),
        ("ensemble", ("f1",), RefitChoice("ensemble")),
        ("ensemble", {"ensemble": None}, RefitChoice(metric="ensemble")),
        ("ensemble", None, RefitChoice("ensemble")),
        ("ensemble", max, RefitChoice("ensemble")),
        (OneStandardError(metric="f1"), (), RefitChoice(metric="f1")),
        (
            {"rule": "ensemble", "metric": "f1", "max_members": 3},
            (),
            RefitChoice("ensemble", "f1", {"max_members": 3}),
        ),
    ],
)
def test_meaning_of_refit(refit, metrics, expected):
    assert refit_choice(refit, metrics) == expected


@pytest.mark.parametrize(
    ("refit", "text"),
    [
        ({"max_members": 3}, "must be one of .*'ensemble'"),
        ({"rule": "esemble"}, "got 'esemble'"),
        ({"rule": "ensemble", "max_member": 3}, "Did you mean 'max_members'"),
    ],
)
def test_a_wrong_dict_is_an_error_before_any_fit(refit, text):
    X, y = load_iris(return_X_y=True)
    search = BayesSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, refit=refit)
    with pytest.raises(ValueError, match=text):
        search.fit(X, y)
