"""Messages of wrong calls, including those in the troubleshooting tables."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.svm import SVC

from skbayes import BayesSearchCV, ParetoSearchCV
from skbayes.loop import NoImprovement

# Mistake, code and message.
ROW = re.compile(
    r"^   \* - (.*\n(?: {7}.*\n)*)"
    r"     - ``(.*\n(?: {7}.*\n)*)"
    r"     - ``(.*\n(?: {7}.*\n)*)",
    re.MULTILINE,
)


def _one_line(text):
    return " ".join(text.split())


PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.rst").read_text("utf-8")
ROWS = [
    [_one_line(part).removesuffix("``") for part in match.groups()]
    for match in ROW.finditer(PAGE)
]


# Calls whose messages need no row on the page, because they name the correct notation.
# Tests of spaces, constraints and journals have those of their arguments.
SELF_EXPLANATORY = """
BayesSearchCV(pipeline, {"svc_C": (0.1, 10.0)}).fit(X, y)
    ValueError: search_spaces names 'svc_C', which Pipeline does not have. Did you
    mean 'svc__C'?

BayesSearchCV(SVC(), {"C": (1.0, 1.0)}).fit(X, y)
    ValueError: Parameter 'C': Real: low must be smaller than high, got low=1.0,
    high=1.0. A single value is written as a list, [1.0].

BayesSearchCV(SVC(), {"C": (0.1, 10.0, "loguniform")}).fit(X, y)
    ValueError: Parameter 'C': Real: prior must be 'uniform' or 'log-uniform', got
    'loguniform'.

BayesSearchCV(SVC(), {"C": (0.1, 10.0, "uniform", "C")}).fit(X, y)
    ValueError: Parameter 'C': a range has no fourth item, got 'C'; write (low,
    high, prior).

BayesSearchCV(SVC(), {"C": ("0.1", "10")}).fit(X, y)
    ValueError: Parameter 'C': ('0.1', '10') is not a range; write its numbers
    without quotes, or a list, ['0.1', '10'], if these are options.

BayesSearchCV(SVC(), {"C": [(0.1, 10.0)]}).fit(X, y)
    ValueError: Parameter 'C': no value is valid. The 'C' parameter of SVC must be a
    float in the range (0.0, inf]. Got (0.1, 10.0) instead. Write a range without a
    list around it.

BayesSearchCV(SVC(), [("C", (0.1, 10.0))]).fit(X, y)
    TypeError: search_spaces must be a dict from parameter names to their possible
    values, or a list of such dicts, got a list with ('C', (0.1, 10.0)).

BayesSearchCV(SVC(), space, constraints=lambda p: p["c"] > 1).fit(X, y)
    ValueError: The constraint raised KeyError('c') …

BayesSearchCV(SVC(), space, initial_points=[{"c": 1.0}]).fit(X, y)
    ValueError: initial_points[0]: Parameter 'C' is missing. Parameter 'c' is not in
    the space. Did you mean 'C'? The configuration: {'c': 1.0}

BayesSearchCV(SVC, space).fit(X, y)
    TypeError: estimator must be an object, got the class SVC; write SVC() with its
    parameters.

BayesSearchCV(space, SVC()).fit(X, y)
    TypeError: BayesSearchCV: the estimator is the first argument, and search_spaces
    the second one; write BayesSearchCV(estimator, search_spaces).

BayesSearchCV(SVC(), space).fit(X)
    ValueError: SVC requires y to be passed, but the target y is None; call fit(X,
    y).

BayesSearchCV(SVC(), space, scoring="acc").fit(X, y)
    ValueError: scoring: 'acc' is not the name of a metric. Did you mean 'accuracy'?
    sklearn.metrics.get_scorer_names() lists them.

BayesSearchCV(SVC(), space, cv=StratifiedKFold).fit(X, y)
    TypeError: cv must be an object, got the class StratifiedKFold; write
    StratifiedKFold() with its parameters.

ParetoSearchCV(SVC(), space).set_params(scoring="accuracy")
    ValueError: ParetoSearchCV has no parameter 'scoring'. It is called 'objectives'
    here.

BayesSearchCV(SVC(), space, n_iter=0).fit(X, y)
    InvalidParameterError: The 'n_iter' parameter of BayesSearchCV must be an int in
    the range [1, inf) or None. Got 0 instead.

BayesSearchCV(SVC(), space, n_jobs="all").fit(X, y)
    InvalidParameterError: The 'n_jobs' parameter of BayesSearchCV must be an int
    such as 2, -1 for all processors, or None. Got 'all' instead.

BayesSearchCV(SVC(), space, pre_dispatch=0).fit(X, y)
    InvalidParameterError: The 'pre_dispatch' parameter of BayesSearchCV must be an
    int of at least 1, or a str such as '2*n_jobs'. Got 0 instead.

BayesSearchCV(SVC(), space, random_state="0").fit(X, y)
    InvalidParameterError: The 'random_state' parameter of BayesSearchCV must be an
    int of at least 0, such as 42, a RandomState, or None. Got '0' instead.

BayesSearchCV(SVC(), space, timeout="1 week").fit(X, y)
    ValueError: timeout must be a positive number of seconds, or a string with the
    units s, min, h or d, such as '90 s', '5 min' or '1h30m', got '1 week'.

BayesSearchCV(SVC(), space, surrogate="best").fit(X, y)
    InvalidParameterError: The 'surrogate' parameter of BayesSearchCV must be the name
    of a surrogate such as 'gp', a surrogate object, or a tuple such as ('gp', 'ei').
    Got 'best' instead. The names are 'gp', 'gp-additive', 'gp-matern32', …

BayesSearchCV(SVC(), space, surrogate=("gp", "EI")).fit(X, y)
    ValueError: surrogate: 'EI' is not an acquisition function. It must be one of
    'ei', 'ei-per-second', 'eif', 'pi', 'ucb' or an acquisition object.

BayesSearchCV(SVC(), space, stopper="no improvement").fit(X, y)
    TypeError: stopper must be a callable or a list of callables, got 'no
    improvement'; skbayes.loop.stopping has ready-made ones, such as
    NoImprovement(10).

BayesSearchCV(SVC(), space, stopper=NoImprovement).fit(X, y)
    TypeError: stopper must be a callable or a list of callables, got the class
    NoImprovement; write NoImprovement(...) with its parameters.

BayesSearchCV(boosting, {"n_estimators": (10, 100)}, early_stopping="auto").fit(X, y)
    ValueError: early_stopping='auto' removes n_estimators from search_spaces, which has
    no other parameter. Add one to search_spaces.

search.best_params_
    NotFittedError: This BayesSearchCV instance is not fitted yet. Call 'fit' with X
    and y before using 'best_params_'.

BayesSearchCV(SVC(), space, warm_start_from=search).fit(X, y)
    NotFittedError: warm_start_from: This BayesSearchCV instance is not fitted yet. Call
    'fit' with appropriate arguments before using this estimator.

fitted.best_params
    AttributeError: 'BayesSearchCV' object has no attribute 'best_params'. Did you
    mean 'best_params_'?
"""
MORE_ROWS = [
    [code, _one_line(message)]
    for code, message in re.findall(r"^(\S.*)\n((?: {4}.*\n)+)", SELF_EXPLANATORY, re.M)
]
MORE_NAMES = {
    cls.__name__: cls for cls in (NoImprovement, ParetoSearchCV, StratifiedKFold)
}


@pytest.fixture(scope="module")
def names():
    """Return the names that the page defines first, and those of the other calls."""
    (setup,) = re.findall(r"code-block:: python\n\n((?:(?: {3}.*)?\n)+)", PAGE)
    namespace = dict(MORE_NAMES)
    exec("if True:\n" + setup, namespace)
    return namespace


def _pattern(message):
    """Return a pattern for a message, in which an ellipsis matches anything."""
    return ".*".join(map(re.escape, message.split("…")))


@pytest.mark.parametrize(
    "code, message", [pytest.param(*row, id=words) for words, *row in ROWS] + MORE_ROWS
)
def test_the_message_is_that_of_the_page(
    code, message, names, svc_fits, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as caught:
        exec(code, dict(names))
    # Except for messages of the first of two searches.
    assert bool(svc_fits) == (".fit(X, y); " in code)
    text = _one_line(f"{caught.type.__name__}: {caught.value}")
    assert re.fullmatch(_pattern(message), text), text


def test_all_rows_are_read():
    assert len(ROWS) == PAGE.count("\n   * - ") - PAGE.count("   * - Mistake\n")
    assert len(ROWS) >= 20
    assert len(MORE_ROWS) == SELF_EXPLANATORY.count("\n\n") + 1


def messages(estimator, space, X, y, groups, cv):
    """Return the warnings of a search with one trial."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = BayesSearchCV(estimator, space, n_iter=1, cv=cv, random_state=0)
        search.fit(X, y, groups=groups)
    return "; ".join(str(warning.message) for warning in caught)


GROUPS = np.repeat(np.arange(15), 10)


def test_groups_are_ignored_without_a_splitter_of_groups():
    X, y = np.arange(150.0)[:, None], np.tile([0, 1, 2], 50)
    ignored = "The groups parameter is ignored by StratifiedKFold"
    space = {"C": (0.1, 10.0)}
    assert ignored in messages(SVC(), space, X, y, GROUPS, 3)
    assert not messages(SVC(), space, X, y, GROUPS, StratifiedGroupKFold(3))


@pytest.mark.parametrize(
    "encoder, fails",
    [
        (OneHotEncoder(), True),
        (OrdinalEncoder(), True),
        (OneHotEncoder(handle_unknown="ignore"), False),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), False),
    ],
)
def test_categories_that_a_fold_lacks(encoder, fails):
    X = np.array([["a"] * 150, sorted("abcdefghijklmno" * 10)], dtype=object).T
    text = messages(
        make_pipeline(encoder, LogisticRegression()),
        {"logisticregression__C": [1.0]},
        X,
        np.tile([0, 1], 75),
        GROUPS,
        GroupKFold(3),
    )
    assert ("Scoring failed." in text) == fails, text
    assert ("in column 1 during transform" in text) == fails, text
