"""Properties that all search estimators share."""

import copy
import functools
import itertools
import pickle
import warnings

import every_search
import joblib
import numpy as np
import pytest
from endings import kill_after
from every_search import SEARCHES, data, make
from grid_comparison import assert_same_tables
from simple_estimators import n_leaves
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import skbayes
from skbayes import (
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.inspection import ConvergenceDisplay
from skbayes.trial.records import FoldStatus, TrialState

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*has no name"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

every_kind = pytest.mark.parametrize("kind", SEARCHES)
fitted = functools.cache(every_search.fitted)


def assert_same_search(search, expected):
    """Check that two fitted searches have the same trials and next proposals."""
    for name in ("params", "score", "state", "fidelity"):
        values = [getattr(trial, name) for trial in search.trials_]
        assert values == [getattr(trial, name) for trial in expected.trials_]
    # Rounding may depend on the number of threads of linear algebra.
    improvements, others = (
        np.array([trial.expected_improvement for trial in s.trials_], dtype=float)
        for s in (search, expected)
    )
    np.testing.assert_allclose(improvements, others, rtol=1e-9)
    assert_same_tables(search.cv_results_, expected.cv_results_)
    for name in ("best_index_", "best_params_", "small_optima_"):
        assert getattr(search, name, None) == getattr(expected, name, None)
    assert _next(search) == _next(expected)


@every_kind
@pytest.mark.filterwarnings("ignore")
def test_the_trials_of_a_journal_count_before_the_time(kind, tmp_path, fits_here):
    search = every_search.make(kind, n_iter=8, journal=tmp_path / "journal")
    first = copy.deepcopy(search).fit(*every_search.data(kind))
    again = search.set_params(timeout=1e-3).fit(*every_search.data(kind))
    assert [t.params for t in again.trials_] == [t.params for t in first.trials_]
    fewer = search.set_params(timeout=None, n_iter=3).fit(*every_search.data(kind))
    assert [t.params for t in fewer.trials_] == [t.params for t in first.trials_[:3]]


def _next(search):
    """Return the proposals of a copy of the optimizer."""
    return copy.deepcopy(search.optimizer_).ask()


LEARNERS = {
    "classifier": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}),
    "regressor": (Ridge(), {"alpha": [0.1, 1.0]}),
}
# Arguments with which the few rows of the checks suffice; costs that are no times.
ARGUMENTS = {
    HyperTuneSearchCV: {"search_spaces": {"max_depth": (1, 2)}, "n_iter": 3}
    | {"n_subsets": 1, "n_small_iter": 2, "error_score": np.nan},
    MultiStageSearchCV: {"stages": (0.5, 1.0)},
    ParetoSearchCV: {"objectives": {"accuracy": "max", "n_features": "min"}},
    TextRepresentationSearchCV: {
        "estimator": LogisticRegression(max_iter=50),
        "search_spaces": {"classifier__C": [0.1, 1.0]},
        "space": None,
    },
    TradeoffSearchCV: {"train_sizes": [1.0], "cost": "n_features"},
}


def _search_to_check(kind, learner):
    names = ("estimator", "search_spaces")
    params = dict(zip(names, LEARNERS[learner], strict=True)) | ARGUMENTS.get(kind, {})
    if learner == "regressor":
        params["score_range"] = (-1e9, 1.0)
    n_iter = 2 if kind is MultiStageSearchCV else 1
    return kind(**{"n_iter": n_iter, "cv": 2, "error_score": "raise", **params})


def _failed_checks(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(search, on_fail=None)
    # Few checks apply to estimators of texts.
    assert len(results) > (40 if get_tags(search).input_tags.two_d_array else 0)
    return {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}


@functools.cache
def _failed_by_grid_search(learner):
    search = GridSearchCV(*LEARNERS[learner], cv=2, error_score="raise")
    return set(_failed_checks(search))


@pytest.mark.parametrize(
    "kind, learner",
    [*((kind, "classifier") for kind in SEARCHES), (TradeoffSearchCV, "regressor")],
)
def test_no_estimator_check_fails_that_grid_search_passes(kind, learner):
    failed = _failed_checks(_search_to_check(kind, learner))
    # The checks of the other search take long.
    assert not failed or set(failed) <= _failed_by_grid_search(learner), failed


def _pickled(search):
    return pickle.loads(pickle.dumps(search))


@every_kind
def test_a_copy_after_fit_is_the_same(kind):
    search = fitted(kind)
    for again in (_pickled(search), copy.deepcopy(search)):
        assert vars(again).keys() == vars(search).keys()
        assert_same_search(again, search)
        X = data(kind)[0]
        np.testing.assert_array_equal(again.predict(X), search.predict(X))


@pytest.mark.filterwarnings("ignore")
@every_kind
def test_a_second_fit_is_that_of_a_new_search(kind):
    search = _pickled(fitted(kind)).fit(*data(kind))
    assert_same_search(search, fitted(kind))
    assert vars(search).keys() == vars(fitted(kind)).keys()


LOADS = """
import pickle, sys
for search, X in pickle.load(open(sys.argv[1], "rb")):
    print(search.predict(X).tolist(), search.optimizer_.ask())
"""


def test_pickles_load_in_a_new_process(tmp_path, start):
    path = tmp_path / "searches.pickle"
    path.write_bytes(pickle.dumps([(fitted(k), data(k)[0]) for k in SEARCHES]))
    program = start(LOADS, path)
    assert program.wait() == 0
    assert program.text().splitlines() == [
        f"{fitted(kind).predict(data(kind)[0]).tolist()} {_next(fitted(kind))}"
        for kind in SEARCHES
    ]


@pytest.mark.parametrize(
    "kind, backend", [*zip(SEARCHES, itertools.cycle(["loky", "threading"]))]
)
def test_workers_make_the_same_trials(kind, backend):
    search = _pickled(make(kind, n_jobs=2, pre_dispatch=fitted(kind).n_points_))
    with joblib.parallel_config(backend):
        search.fit(*data(kind))
    assert_same_search(search, fitted(kind))


@every_kind
def test_a_killed_search_ends_as_the_uninterrupted_one(kind, tmp_path):
    journal, whole = tmp_path / "journal", fitted(kind)
    for n_done in (2, 7):
        kill_after(n_done, make(kind, journal=journal), *data(kind))
        assert n_done <= len(skbayes.load_history(journal)) < len(whole.trials_)
    assert_same_search(make(kind, journal=journal).fit(*data(kind)), whole)
    assert len(skbayes.load_history(journal)) == len(whole.trials_)


@every_kind
def test_a_search_survives_skops(kind):
    skops = pytest.importorskip("skops.io", reason="needs skops")
    search, (X, y) = fitted(kind), data(kind)
    stored = skops.dumps(make_pipeline(search))
    types = skops.get_untrusted_types(data=stored)
    ours = skops.loads(stored, trusted=types)[-1]
    assert_same_search(ours, search)
    assert ours.trials_ == search.trials_
    assert (ours.predict(X) == search.predict(X)).all()
    assert "Best configuration" in ours._repr_html_()
    ConvergenceDisplay.from_search(ours)
    # Skops stores enumerations as plain strings.
    for part in (*ours.trials_, *ours.trials_.folds):
        assert type(getattr(part, "state", FoldStatus.FITTED)) is not str
        assert type(getattr(part, "status", TrialState.FAILED)) is not str
    assert ours.optimizer_.ask() == search.optimizer_.ask()
    # The other types are the same for GridSearchCV, or of the user.
    foreign = [name for name in types if not name.startswith("skbayes.")]
    of_tests = f"{n_leaves.__module__}.n_leaves"
    assert all(name.startswith("sklearn.") or name == of_tests for name in foreign)
    of_package = set(types).difference(foreign)
    assert len(of_package) <= 16 and not any("._" in name for name in of_package)
    if kind is every_search.BayesSearchCV:
        public = "BayesSearchCV ExpectedImprovement Fidelity FoldResult History Integer"
        public += " Optimizer OptimumPrior Ordinal Portfolio Space Trial"
        assert {name.rpartition(".")[2] for name in of_package} == set(public.split())
    assert len(clone(ours).set_params(n_iter=3).fit(X, y).trials_) <= 3
