import math
from dataclasses import replace

import drawn_searches as drawn
import numpy as np
import pytest
from every_search import small_search
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skbayes.inspection import advice
from skbayes.space import Choice, Space
from skbayes.trial import History

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)


def history(params, scores):
    return History(map(drawn.trial, range(len(params)), scores, params))


def about(space, best, others):
    """Return the advice on trials of which the first is the best."""
    params = [best, *others]
    sentences = advice(
        history(params, -np.arange(len(params), dtype=float)), search_spaces=space
    )
    return [one for one in sentences if " only " not in one]


@pytest.mark.parametrize(
    "dimension, best, wider",
    [
        ((0.01, 100.0, "log-uniform"), 100.0, "up to 1000"),
        ((0.01, 100.0, "log-uniform"), 97.0, "up to 1000"),
        ((0.01, 100.0, "log-uniform"), 0.01, "down to 0.001"),
        ((1.0, 8.0, "log-uniform"), 8.0, "up to 16"),
        ((0.0, 10.0), 10.0, "up to 15"),
        ((2.0, 10.0), 2.0, "down to 1"),
        ((-4.0, 4.0), -4.0, "down to -8"),
        ((1, 100), 100, "up to 150"),
        ((8, 100), 8, "down to 4"),
        ((8, 1024, "log-uniform"), 1024, "up to 10240"),
        ([1, 2, 4, 8], 8, "up to 12"),
        (list(np.arange(2, 6)), 5, "up to 6"),
        # No values exist beyond these ends, or the best value is not at an end.
        (list(np.arange(1, 5)), 1, None),
        ((0.01, 100.0, "log-uniform"), 80.0, None),
        ((0.0, 10.0), 0.0, None),
        ((1, 100), 1, None),
        ((0.1, 1.0), 1.0, None),
        ([1, 2], 2, None),
        (["a", "b", "c"], "a", None),
        (Choice({"a": {}, "b": {}, "c": {}}), "a", None),
    ],
)
def test_a_best_value_at_an_end(dimension, best, wider):
    inner = Space.from_notation({"p": dimension}).decode(np.array([[0.4]]))
    sentences = about({"p": dimension}, {"p": best}, inner)
    if wider is None:
        assert sentences == []
    else:
        assert len(sentences) == 1
        assert sentences[0].startswith(f"The best p, {best:.4g}, is at the ")
        assert sentences[0].endswith(f": try {wider}.")


def test_ends_of_conditional_parameters_and_of_ties():
    space = {"kind": Choice({"a": {"p": (0.0, 2.0)}, "b": {}})}
    assert about(space, {"kind": "b"}, [{"kind": "a", "p": 2.0}]) == []
    # A polynomial has at least degree two.
    for degrees in ([2, 3, 4], (2, 5), (1, 4)):
        others = [{"poly__degree": 3}] * 5
        best = {"poly__degree": degrees[0]}
        assert about({"poly__degree": degrees}, best, others) == []
    # An end is reported if all equally good trials are at this end.
    for other, counts in ((0.7, False), (1.999, True)):
        tied = history([{"p": 2.0}, {"p": other}], [1.0, 1.0])
        sentences = advice(tied, search_spaces={"p": (0.0, 2.0)})
        assert any("try up to 3." in one for one in sentences) == counts


@pytest.mark.parametrize(
    "estimator, name, values, accepted",
    [
        # Shares of samples end below 1, and ccp_alpha does not.
        (TREE, "min_samples_leaf", [0.25, 0.5, 0.99], False),
        (make_pipeline(TREE), "decisiontreeclassifier__ccp_alpha", [0, 0.5, 1.0], True),
    ],
)
def test_no_range_that_the_estimator_refuses(estimator, name, values, accepted):
    search = history([{name: value} for value in values], [0.3, 0.4, 0.9])
    search.estimator = estimator
    sentences = advice(search, search_spaces={name: values})
    assert any("end of its range" in one for one in sentences) == accepted


def test_few_trials_are_few_for_many_parameters():
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
    params = [{"a": k / 20, "b": k / 25, "c": k / 30} for k in range(1, 16)]
    expected = [
        "The search has only 14 trials with a score for 3 hyper-parameters: "
        "importances and partial dependences are unreliable with fewer than 15 trials."
    ]
    # The sentence is the same without the space.
    for spaces in (space, None):
        few = history(params[:14], -np.arange(14.0))
        assert advice(few, search_spaces=spaces) == expected
    assert advice(history(params, -np.arange(15.0)), search_spaces=space) == []
    # A constant is not a parameter, and all trials of a small space are not few.
    params = [{"a": k, "b": "fixed"} for k in (1, 3, 2)]
    (sentence,) = advice(history(params, [1.0, 3.0, 2.0]))
    assert sentence.startswith("The search has only 3 trials with a score for 1 hyper-")
    whole = {"a": [1, 2, 3], "b": ["fixed"]}
    assert advice(history(params, [2.0, 1.0, 3.0]), search_spaces=whole) == []
    assert advice(history(params[:1], [math.nan])) == []


def test_advice_is_printed_and_part_of_both_reports(tmp_path, capsys):
    space = {"C": [1e-6, 1e-5, 1e-4, 1e-3], "fit_intercept": [True]}
    options = {"n_iter": 4, "scoring": "neg_log_loss", "verbose": 1}
    search = small_search(LogisticRegression(), space, **options).fit(X, y)
    (sentence,) = advice(search)
    assert sentence == (
        "The best C, 0.001, is at the upper end of its range, 1e-06 to 0.001: try up "
        "to 0.01."
    )
    assert capsys.readouterr().out.splitlines()[-1] == f"Advice: {sentence}"
    page = search.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert sentence in search._repr_html_() and sentence in page
    assert "Total time" in page
    # Without advice, they do not mention it.
    search = small_search(TREE, {"max_depth": [1, 2]}, verbose=1).fit(X, y)
    assert advice(search) == []
    assert "Advice" not in capsys.readouterr().out + search._repr_html_()


@pytest.mark.parametrize(
    ("gain", "std", "start"),
    [(0.1, 0.04, None), (0.1, 0.05, "No gain"), (-0.1, 0.01, "No gain"),
     (0.0, 0.0, "The estimator's own values"), (math.nan, math.nan, None)],
)  # fmt: skip
def test_a_gain_within_chance_is_no_gain(gain, std, start):
    search = history([{"a": k / 20} for k in range(1, 13)], -np.arange(12.0))
    search.best_gain_, search.best_gain_std_ = gain, std
    search.best_index_, search.own_index_ = int(gain != 0.0), 0
    sentences = advice(search, search_spaces={"a": (0.0, 2.0)})
    assert [one.startswith(start or "-") for one in sentences] == [True] * bool(start)


def test_advice_contains_the_gain_and_cost_of_an_ensemble():
    from skbayes.search import EnsembleResult

    search = small_search(TREE, {"max_depth": [1, 2]}).fit(X, y)
    figures = (-0.15, -0.2, 0.01, 4.0, 3.0)
    search.ensemble_ = EnsembleResult({0: 0.5, 1: 0.5}, *figures)
    (sentence,) = (text for text in advice(search) if "ensemble" in text)
    assert "ensemble of 2 configurations scores -0.15" in sentence
    assert "better by 0.05 ± 0.01" in sentence
    assert "4 times as long, and its size is 3 times" in sentence
    search.ensemble_ = replace(search.ensemble_, reason="no ensemble is better")
    assert any("alone is the final model: no ensemble" in t for t in advice(search))
