"""Steps of searches on the installed release."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import skbayes
from skbayes import compat

X, y = load_iris(return_X_y=True)


def release():
    return tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def test_callbacks_exist_since_release_1_9():
    assert compat.HAS_CALLBACKS == (release() >= (1, 9))


def test_private_functions_take_what_we_give_them():
    from sklearn.model_selection import _validation

    accepted = inspect.signature(_validation._fit_and_score).parameters
    assert set(accepted) >= {
        *("estimator", "X", "y", "scorer", "train", "test", "verbose", "parameters"),
        *("fit_params", "score_params", "return_train_score", "return_times"),
        *("return_n_test_samples", "split_progress", "candidate_progress"),
        "error_score",
    }
    report = _validation._warn_or_raise_about_fit_failures
    assert set(inspect.signature(report).parameters) >= {"results", "error_score"}


@pytest.mark.parametrize(
    "method, arguments",
    [
        ("_get_scorers", []),
        ("_get_routed_params_for_fit", ["params"]),
        ("_check_refit_for_multimetric", ["scores"]),
        ("_select_best_index", ["refit", "refit_metric", "results"]),
        ("_format_results", ["candidate_params", "n_splits", "out", "more_results"]),
    ],
)
def test_private_methods_take_what_we_give_them(method, arguments):
    search = GridSearchCV(SVC(), {})
    assert list(inspect.signature(getattr(search, method)).parameters) == arguments


def test_fit_and_score_gets_what_the_release_supports():
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    arguments = compat.fit_and_score_arguments(
        **{"estimator": SVC(), "X": X, "y": y, "scorer": get_scorer("accuracy")},
        **{"train": train, "test": test, "verbose": 0, "parameters": {"C": 2}},
        **{"fit_params": {}, "score_params": {}, "error_score": np.nan},
        **{"caller": None, "callback_ctx": None, "no_release_knows_this": 1},
    )
    result = compat.fit_and_score(**arguments)
    expected = SVC(C=2).fit(X[train], y[train]).score(X[test], y[test])
    assert result["test_scores"] == expected
    assert result["fit_error"] is None


def test_format_results_is_that_of_the_release():
    search = GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(X, y)
    table = search.cv_results_
    out = [
        {
            "test_scores": table[f"split{split}_test_score"][row],
            "fit_time": 1.0,
            "score_time": 2.0,
            "n_test_samples": 75,
            "fit_error": None,
        }
        for row in range(2)
        for split in range(2)
    ]
    again = compat.format_results(search, table["params"], 2, out, {"more": [3, 4]})
    assert set(again) == {*table, "more"}
    for key in set(table) - {"params"}:
        if not key.endswith("_time"):
            np.testing.assert_array_equal(again[key], table[key])
    assert isinstance(again["more"], np.ndarray)
    best = compat.select_best_index(True, "score", again)
    assert best == search.best_index_


def test_scorers_are_seen_for_what_they_are():
    several, metric = compat.resolve_scorers(
        GridSearchCV(SVC(), {}, scoring=["accuracy", "f1_macro"], refit="f1_macro")
    )
    assert compat.is_multimetric_scorer(several)
    assert metric == "f1_macro"
    assert set(compat.public_scorers(several)) == {"accuracy", "f1_macro"}
    one, metric = compat.resolve_scorers(GridSearchCV(SVC(), {}))
    assert not compat.is_multimetric_scorer(one)
    assert metric == "score"
    assert compat.public_scorers(one) is one


def test_routed_parameters_have_the_three_consumers():
    weights = np.ones(150)
    groups = np.arange(150)
    routed = compat.route_fit_params(
        GridSearchCV(LogisticRegression(), {}),
        {"sample_weight": weights, "groups": groups},
    )
    assert routed.splitter.split == {"groups": groups}
    assert routed.estimator.fit == {"sample_weight": weights}
    assert set(routed.scorer.score) == (
        {"sample_weight"} if release() >= (1, 7) else set()
    )


def test_private_names_are_touched_nowhere_else():
    folder = Path(skbayes.__file__).parent
    for path in folder.rglob("*.py"):
        if path.parent.name == "compat":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [*(node.module or "").split("."), *[n.name for n in node.names]]
            elif isinstance(node, ast.Import):
                names = [part for n in node.names for part in n.name.split(".")]
            if names and names[0] in ("sklearn", "joblib", "scipy"):
                private = [name for name in names if name.startswith("_")]
                assert not private, f"{path.name}: {private}"
