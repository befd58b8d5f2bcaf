import html
import re

import drawn_searches as drawn
import pytest
import sklearn
from every_search import small_search
from simple_estimators import AnyNames, Sometimes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skbayes.inspection.html import GAIN, result_html

X, y = load_iris(return_X_y=True)
SPACE = {"C": (0.1, 10.0)}


def _search(space=SPACE, **params):
    return small_search(SVC(), space, **{"n_iter": 3, **params})


@pytest.fixture(scope="module")
def fitted():
    return _search().fit(X, y)


def _cells(search):
    """Return the visible labels of the block, and the text next to them."""
    cells = re.findall(r"<th.*?</th><td.*?</td>", result_html(search), re.DOTALL)
    pairs = [cell.split("</th>") for cell in cells]
    return {_text(label): _text(value) for label, value in pairs}


def _text(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup.replace("<br/>", "\n")))


def test_both_protocols_show_diagram_and_block(fitted):
    page = _search()._repr_html_()
    assert "estimator: SVC" in page and page.endswith(result_html(_search()))
    for page in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert page.count("sk-top-container") >= 1
        assert "best_estimator_: SVC" in page
        assert page.endswith(result_html(fitted))
    assert repr(fitted).startswith("BayesSearchCV(cv=2, estimator=SVC()")
    assert fitted._repr_mimebundle_()["text/plain"] == repr(fitted)
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]


@pytest.mark.parametrize("name", ["a[0](+*", "\x1b[31m", "$x_$", "<script>"])
def test_names_need_not_be_regular_expressions(name):
    search = small_search(AnyNames(**{name: 1}), {name: ["$a$", "<i>", "\x1b"]})
    for one in (search, search.fit(X, y)):
        for page in (one._repr_html_(), one._repr_mimebundle_()["text/html"]):
            assert "\x1b" not in page and "<i>" not in page
            assert html.escape(name.replace("\x1b", "\ufffd")) in page


def test_the_html_block_contains_the_result(fitted):
    cells = _cells(fitted)
    labels = ["Best score", GAIN, "Best configuration", "Advice"]
    assert list(cells) == [*labels, "Search space", "Budget"]
    gain = f"{fitted.best_gain_:.2g} ± {fitted.best_gain_std_:.2g}"
    assert cells[GAIN] == f"{gain}, corrected for the choice of the best trial"
    assert cells["Search space"] == "C: Real(0.1, 10.0)"
    assert cells["Best score"].startswith(f"{fitted.best_score_:.4g} ± ")
    assert cells["Best score"].endswith("over 2 splits")
    assert cells["Best configuration"] == f"C = {fitted.best_params_['C']:.6g}"
    # Without the own values, there is no gain.
    assert GAIN not in _cells(_search(initial_points=None, n_iter=1).fit(X, y))


@pytest.mark.parametrize(
    ("options", "space", "budget"),
    [
        ({}, ["C: Real(0.1, 10.0)"], "3 trials"),
        ({"search_spaces": "auto", "verbose": 1}, ["C: ", "kernel: "], "3 trials"),
        ({"search_spaces": {"auto": True, "C": [1, 2]}}, ["C: Ord"], "3 trials"),
        (
            {"search_spaces": {"C": [1, 2]}, "timeout": "5 min"},
            ["C: Ordinal([1, 2])"],
            "all 2 configurations, or 5 min",
        ),
        ({"n_iter": None, "timeout": 90}, ["C: "], "90 s"),
        ({"n_iter": None, "stopper": len}, ["C: "], "the stopper"),
        # Errors are shown before `fit`.
        ({"search_spaces": {"C": object()}, "n_iter": None}, ["'C' needs"], "none"),
        ({"estimator": Sometimes(), "search_spaces": "auto"}, ["auto"], "3 trials"),
    ],
)
def test_before_the_fit_the_box_shows_space_and_budget(options, space, budget, capsys):
    search = _search().set_params(**options)
    before = repr(search.get_params())
    cells = _cells(search)
    assert list(cells) == ["Search space", "Budget"]
    assert all(text in cells["Search space"] for text in space)
    assert cells["Budget"] == budget
    assert repr(search.get_params()) == before
    assert capsys.readouterr().out == ""


def test_values_are_escaped_and_cut_and_long_spaces_are_folded():
    nasty = "<script>alert('x')</script>" + "a" * 500
    page = result_html(small_search(AnyNames(a=1), {"a": [nasty]}).fit(X, y))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a" * 120 not in page
    # A long space is folded.
    space = {f"p{k}": [1, 2] for k in range(21)}
    page = result_html(small_search(AnyNames(**dict.fromkeys(space, 1)), space))
    assert "<details><summary>21 lines</summary>p0: " in page
    assert "<details>" not in result_html(_search())


def test_the_best_score_is_named_after_its_metric():
    search = _search(scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, y)
    assert "Best f1_macro" in _cells(search)
    unchosen = clone(search).set_params(refit=False).fit(X, y)
    assert not any(label.startswith("Best") for label in _cells(unchosen))
    # A choice by a callable has no score.
    search = _search(refit=lambda results: 1).fit(X, y)
    assert list(_cells(search))[0] == "Best configuration"
    with pytest.warns(UserWarning, match="search_spaces is empty"):
        search = _search({}).fit(X, y)
    assert _cells(search)["Best configuration"] == "those of the estimator"
    # A loss has the sign of the report.
    logistic = LogisticRegression(max_iter=500)
    search = small_search(logistic, SPACE, scoring="neg_log_loss").fit(X, y)
    best = _cells(search)["Best log loss"]
    assert best.startswith(f"{-search.best_score_:.4g} ± ")


def test_the_front_and_the_chosen_configuration_of_several_objectives():
    pareto = drawn.search("pareto")
    cells = _cells(pareto)
    assert cells["Pareto front"] == f"{len(pareto.pareto_params_)} of 6 trials"
    chosen = pareto.cv_results_["mean_test_model_size"][pareto.best_index_]
    assert cells["Chosen: model_size"] == f"{chosen:.4g}"
