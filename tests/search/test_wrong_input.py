"""Wrong arguments and data: errors that name the remedy, before the first fit."""

import copy
import inspect
import re

import numpy as np
import pandas as pd
import pytest
from every_search import SEARCHES, data, make
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.defaults import models
from skbayes.space import Choice, Real, Space

X, y = load_iris(return_X_y=True)
SPACE = {"C": (0.1, 10.0)}
STEPS = make_pipeline(StandardScaler(), SVC())


def own(truth, predicted):
    """Return a metric of labels under any names."""
    return 1.0


def labels(y_true, y_pred, beta=1):
    """Return a metric of labels that could be called with three arguments."""
    return 1.0


def two(estimator, X):
    """Return a score without labels."""
    return 1.0


def scored(estimator, X, y):
    """Return a score."""
    return 1.0


class Copying(LogisticRegression):
    """Classifier that returns copies of its parameters, as those of CatBoost."""

    def __init__(self, names=(), C=1.0):
        super().__init__(C=C)
        self.names = names

    def get_params(self, deep=True):
        return copy.deepcopy(super().get_params(deep))


LISTED = Copying(names=["a", "b"])
AS_TUPLE = r"Write a tuple: Copying\(names=\('a', 'b'\)\)"


def no_argument():
    return 0


# Parameters for which True has a meaning.
SWITCHES = {"refit", "pruning", "verbose", "return_train_score"}
SWITCHES |= {"multi_fidelity", "all_tradeoffs"}


def search_of(estimator=None, space=SPACE, kind=BayesSearchCV, **more):
    estimator = SVC() if estimator is None else estimator
    return kind(estimator, space, **{"n_iter": 3, "cv": 2, "random_state": 0, **more})


@pytest.mark.parametrize(
    "search, message",
    [
        # Classes without brackets.
        (
            search_of(make_pipeline(ColumnTransformer([("a", StandardScaler, [0])]))),
            r"transformers\['a'\] .* write StandardScaler\(\)",
        ),
        (
            search_of(make_pipeline(StandardScaler, SVC()), "auto"),
            r"StandardScaler\(\)",
        ),
        (search_of(make_pipeline(StandardScaler(), SVC)), r"estimator.steps.* SVC\(\)"),
        (search_of(OneVsRestClassifier(SVC)), r"estimator.estimator .* SVC\(\)"),
        (search_of(StackingClassifier([("a", SVC)])), r"estimators\['a'\] .* SVC\(\)"),
        (search_of(SVC), r"estimator must be .* SVC\(\)"),
        (search_of(STEPS, {"svc": [SVC(), LinearSVC]}), r"'svc' .* LinearSVC\(\)"),
        (search_of(STEPS, {"svc": Choice({SVC: {}})}), r"'svc' .* SVC\(\)"),
        (
            search_of(STEPS, {"standardscaler": ["passthrough", StandardScaler]}),
            r"'standardscaler' .* StandardScaler\(\)",
        ),
        (search_of(STEPS, {"svc": [SVC(), LISTED]}), AS_TUPLE),
        # Metrics of labels.
        (search_of(scoring=own), r"scoring: own .* make_scorer\(own\)"),
        (search_of(scoring=labels), r"scoring: labels .* make_scorer\(labels\)"),
        (search_of(scoring={"a": own}, refit="a"), r"make_scorer\(own\)"),
        (search_of(scoring=two), r"scoring: two must accept an estimator, X and y"),
        # Metrics that need a method of an inner estimator.
        (
            search_of(OneVsOneClassifier(SVC()), "auto", scoring="roc_auc_ovr"),
            "scoring.*predict_proba.*OneVsOneClassifier",
        ),
        (
            search_of(OneVsRestClassifier(SVC()), "auto", scoring="neg_log_loss"),
            r"CalibratedClassifierCV\(OneVsRestClassifier\(...\)",
        ),
        # Values described without classes of Python.
        (search_of(trial_limits=10), r"'trial_limits' .*{'time': '5 min'"),
        (search_of(constraints="recall>=.7"), r"'constraints' .*{'recall': '>= 0.7'}"),
        (search_of(kind=MultiStageSearchCV, stages=0.3), r"'stages' .*\(0.3, 1.0\)"),
        (search_of(kind=MultiStageSearchCV, n_iter="9"), r"'n_iter' .*\(30, 10\)"),
        (search_of(n_jobs=0), "n_jobs must be .* -1 for all"),
        (search_of(n_jobs=1.5), "'n_jobs' .* -1 for all"),
        *(
            (search_of(pre_dispatch=text), "pre_dispatch must be .*'2\\*n_jobs'")
            for text in ("", "two", "2G", "2*njobs", "0", "-1", "n_jobs/0", "None")
        ),
        # Callables with other arguments.
        (search_of(refit=no_argument), "refit: no_argument must accept cv_results_"),
        (search_of(refit=SVC), r"refit must be an object.* SVC\(\)"),
        (search_of(stopper=[no_argument]), "stopper: no_argument must accept the tri"),
        (
            make(TradeoffSearchCV, cost=no_argument),
            "cost: no_argument must accept a fitted estimator",
        ),
        # Values of a wrong type in lists and dicts.
        *(
            (
                make(ParetoSearchCV, refit={"accuracy": weight}),
                "refit must be .* weights",
            )
            for weight in ("a", True, [1], None)
        ),
        (
            search_of(refit={"rul": "ensemble"}),
            "refit: a dict must have a 'rule'",
        ),
        (
            search_of(refit={"rule": "ensemble", "metric": "acuracy"}),
            "refit: 'acuracy' is not a metric of the search. Did you mean 'accuracy'",
        ),
        (search_of(scoring=["accuracy", None]), "scoring: The list"),
        (search_of(scoring=[]), "scoring: The list"),
        (search_of(constraints=[None]), "constraints must be"),
        (search_of(return_folds=[3]), "return_folds must contain"),
        (search_of(return_folds="fit"), "return_folds must contain"),
        (search_of(warm_start_from=""), "warm_start_from: "),
        (search_of(warm_start_from={1: 2}), "warm_start_from: "),
        (search_of(kind=MultiStageSearchCV, n_iter=(5, "5")), "n_iter"),
        (search_of(kind=MultiStageSearchCV, n_iter=(5, None)), "n_iter"),
        *((make(kind, initial_points=[None]), "initial_points: ") for kind in SEARCHES),
        *(
            (search_of(cv=cv), "cv: ")
            for cv in ([5], [None], b"x", {1}, [("a", "b")], [([0, 1], [2, 300])])
        ),
        (search_of(cv=[([], [1])]), "cv: .* numbers of rows below 150"),
        # Arguments in the wrong order.
        (BayesSearchCV(SPACE, SVC()), r"BayesSearchCV\(estimator, search_spaces\)"),
        (BayesSearchCV(models(X, y)), r"^Unpack .*BayesSearchCV\(\*models\(X, y\)"),
        # Rules of the refit.
        (search_of(refit="ensembel"), "refit .*'ensembel'. Did you mean 'ensemble'"),
        (search_of(refit="Ensemble"), "Did you mean 'ensemble'"),
        (search_of(refit="corected"), "Did you mean 'corrected'"),
        (search_of(refit={"rule": "ensembel"}), "refit.* Did you mean 'ensemble'"),
        (search_of(scoring=scored, refit="Corrected"), "Did you mean 'corrected'"),
        (
            search_of(scoring=["accuracy", "f1_macro"], refit="ensembel"),
            "Did you mean 'ensemble'",
        ),
        (
            search_of(kind=MultiStageSearchCV, refit="ensembel"),
            "Did you mean 'ensemble'",
        ),
    ],
)
def test_wrong_arguments(search, message, no_trials):
    with pytest.raises(
        (TypeError, ValueError, AttributeError), match=message
    ) as caught:
        search.fit(*data(type(search)))
    assert not re.search("instance of|numpy|collections", str(caught.value))


@pytest.mark.parametrize(
    "given, message",
    [
        ((None, y), "X is None; call fit"),
        ((None,), "X is None; call fit"),
        ((X[:0], y[:0]), "X has no rows"),
        (([], []), "X has no rows"),
        ((pd.DataFrame(X)[:0], y[:0]), "X has no rows"),
        ((3, y), "^X and y: "),
        (("data.csv", y), "^X and y: "),
        ((y, X), r"exchanged; call fit\(X, y\)"),
    ],
)
def test_wrong_data(given, message, no_trials):
    with pytest.raises((TypeError, ValueError), match=message):
        search_of().fit(*given)


@pytest.mark.parametrize(
    "estimator, scoring",
    [
        (BaggingClassifier(SVC()), "neg_log_loss"),
        (OneVsOneClassifier(SVC()), "accuracy"),
        (OneVsRestClassifier(LogisticRegression()), "neg_log_loss"),
        (CalibratedClassifierCV(SVC()), "neg_log_loss"),
        (SVC(), scored),
        (SVC(), lambda estimator, X, y: 1.0),
    ],
)
def test_right_metrics(estimator, scoring, no_trials):
    with pytest.raises(NameError):
        search_of(estimator, "auto", scoring=scoring).fit(X, y)


@pytest.mark.parametrize("kind", SEARCHES)
def test_no_error_names_a_class_of_python(kind, no_trials):
    for name in inspect.signature(kind).parameters:
        for wrong in (object(), b"x", True)[: 2 if name in SWITCHES else 3]:
            with pytest.raises(Exception, match=name) as caught:
                make(kind, **{name: wrong}).fit(*data(kind))
            text = str(caught.value)
            assert not re.search("instance of|implementing|numpy.bool", text)


@pytest.mark.parametrize("kind", SEARCHES)
def test_lists_that_cannot_be_cloned(kind, no_trials):
    whole = (
        LISTED,
        make_pipeline(StandardScaler(), LISTED),
        OneVsRestClassifier(LISTED),
    )
    for estimator in whole:
        with pytest.raises(RuntimeError, match=f"Cannot clone .* {AS_TUPLE}"):
            make(kind, estimator=estimator).fit(*data(kind))
    array = Copying(names=np.array(["a", "b"]))
    with pytest.raises(RuntimeError, match=AS_TUPLE):
        make(kind, estimator=array).fit(*data(kind))


def test_options_that_cannot_be_cloned(no_trials):
    warns = pytest.warns(UserWarning, match=f"search_spaces: Cannot .* {AS_TUPLE}")
    with warns, pytest.raises(NameError):
        search_of(Copying(), {"names": [["a", "b"], ("a",)]}).fit(X, y)


@pytest.mark.parametrize("space", [{}, [{}], [{}, {}]])
def test_an_empty_space_is_told(space, no_trials):
    warns = pytest.warns(UserWarning, match="search_spaces is empty.*'auto'")
    with warns, pytest.raises(NameError):
        search_of(space=space).fit(X, y)


def test_log_is_short_for_log_uniform():
    given = Space.from_notation({"C": (0.1, 10.0, "log")})
    assert given.columns[0].dimension.key == Real(0.1, 10.0, "log-uniform").key


@pytest.mark.parametrize("error_score, n_iter", [("raise", 1), (np.nan, 2), (0.0, 5)])
def test_the_column_of_a_string_is_named(error_score, n_iter):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(color="red")
    search = search_of(error_score=error_score, n_iter=n_iter)
    for given, name in ((frame, "'color'"), (frame.to_numpy(object), "4")):
        with pytest.raises(ValueError, match="could not convert string") as caught:
            search.fit(given, y)
        notes = "".join(caught.value.__notes__)
        assert f"strings in column {name}. Encode" in notes


def test_a_callable_that_returns_one_number_has_no_metric_to_name():
    search = search_of(DecisionTreeClassifier(), {"max_depth": [1, 2]}, scoring=scored)
    with pytest.raises(ValueError, match="refit must be .* returns a single number"):
        search.set_params(refit="a").fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        *((None, "accuracy"), (None, "score"), ("f1_macro", "score")),
        *((make_scorer(accuracy_score), "f1"), (scored, "accuracy")),
    ],
)
def test_the_only_metric_can_be_named_as_for_grid_search(scoring, refit):
    space, tree = {"max_depth": [1, 2]}, DecisionTreeClassifier(random_state=0)
    found = [
        kind(tree, space, scoring=scoring, refit=refit, cv=2).fit(X, y).best_params_
        for kind in (BayesSearchCV, GridSearchCV)
    ]
    assert found[0] == found[1]


def first_row(results):
    """Choose a row, as a callable `refit`."""
    return 0


@pytest.mark.parametrize("scoring, refit", [(None, "f1"), ("f1_macro", "accuracy")])
def test_another_metric_as_refit_has_no_effect_as_in_grid_search(scoring, refit):
    search = search_of(scoring=scoring, refit=refit)
    with pytest.warns(match=f"no effect. .* write scoring='{refit}'"):
        search.fit(X, y)
    plain = search_of(scoring=scoring).fit(X, y)
    assert search.best_params_ == plain.best_params_


def test_the_score_of_a_callable_refit_is_that_of_the_guiding_metric():
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    metrics = ["f1_macro", "accuracy"]
    search = search_of(tree, {"max_depth": [1, 2]}, scoring=metrics, refit=first_row)
    search.fit(X, y)
    expected = search.scorer_["f1_macro"](search.best_estimator_, X, y)
    assert search.score(X, y) == expected != search.best_estimator_.score(X, y)


@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_warns_of_a_long_uniform_range(kind):
    more = {"search_spaces": {"ccp_alpha": (1e-5, 0.1)}}
    if kind is TextRepresentationSearchCV:
        more = {"search_spaces": {"classifier__C": (0.01, 1e3)}}
    if kind is HyperTuneSearchCV:
        more["complexity"] = {"ccp_alpha": -1}
    (name,) = more["search_spaces"]
    with pytest.warns(UserWarning, match=f"'{name}': .* 'uniform'\\) to keep it"):
        make(kind, n_iter=3, **more).fit(*data(kind))
