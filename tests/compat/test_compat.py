"""Steps of searches on the installed release."""

import ast
from pathlib import Path

import numpy as np
import sklearn
from grid_comparison import assert_same_tables
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
    times = {"fit_time": 1.0, "score_time": 2.0, "n_test_samples": 75}
    out = [
        {"test_scores": table[f"split{split}_test_score"][row], "fit_error": None}
        for row in range(2)
        for split in range(2)
    ]
    out = [fold | times for fold in out]
    again = compat.format_results(search, table["params"], 2, out, {"more": [3, 4]})
    assert isinstance(again["more"], np.ndarray)
    tables = ({k: v for k, v in t.items() if k != "more"} for t in (table, again))
    assert_same_tables(*tables)
    assert compat.select_best_index(True, "score", again) == search.best_index_


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
    weights, groups = np.ones(150), np.arange(150)
    routed = compat.route_fit_params(
        GridSearchCV(LogisticRegression(), {}),
        {"sample_weight": weights, "groups": groups},
    )
    assert routed.splitter.split == {"groups": groups}
    assert routed.estimator.fit == {"sample_weight": weights}
    scored = {"sample_weight"} if release() >= (1, 7) else set()
    assert set(routed.scorer.score) == scored


def test_private_names_are_touched_nowhere_else():
    folder = Path(skbayes.__file__).parent
    paths = [p for p in folder.rglob("*.py") if p.parent.name != "compat"]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [part for n in node.names for part in n.name.split(".")]
            names = [*(getattr(node, "module", None) or "").split("."), *names]
            if {"sklearn", "joblib", "scipy"} & {*names[:2]}:
                private = [name for name in names if name.startswith("_")]
                assert not private, f"{path.name}: {private}"
