"""Callbacks of scikit-learn during a search."""

import io
import pickle
from contextlib import redirect_stdout

import every_search
import joblib
import numpy as np
import pytest
from recording_callbacks import PropagatedRecorder, PropagatedStopper, Recorder, Stopper
from simple_estimators import Sometimes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skbayes import BayesSearchCV, MultiStageSearchCV

callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn has callbacks since 1.9"
)

X, y = load_iris(return_X_y=True)
GRID = {"C": [0.1, 1.0, 10.0]}


def logistic():
    return LogisticRegression(tol=0.1)


def paths(recorder):
    """Return the reported hook, path of tasks, and name of the reporter."""
    return [(hook, tuple(path), name) for hook, path, name, _ in recorder.events]


@pytest.fixture
def recorder():
    return Recorder()


def search_with(*callbacks, model=None, space=None, **params):
    params = {"n_iter": 2, "cv": 2, "random_state": 0, "surrogate": "random", **params}
    search = BayesSearchCV(model or logistic(), space or {"C": (0.1, 1.0)}, **params)
    return search.set_callbacks(*callbacks)


@pytest.mark.parametrize(
    "kind, refit, limits",
    [
        (Recorder, False, {}),
        (PropagatedRecorder, True, {}),
        # Fits with callbacks stay in this process.
        (Recorder, True, {"timeout": "1 h", "n_jobs": 1}),
    ],
)
def test_the_tree_is_that_of_grid_search(kind, refit, limits):
    ours, theirs, model = kind(), kind(), logistic()
    search_with(ours, model=model, space=GRID, n_iter=3, refit=refit, **limits).fit(
        X, y
    )
    GridSearchCV(model, GRID, cv=2, refit=refit).set_callbacks(theirs).fit(X, y)
    names = {"GridSearchCV": "BayesSearchCV"}
    expected = [(*one, names.get(name, name)) for *one, name in paths(theirs)]
    assert paths(ours) == expected
    assert ours.limits == theirs.limits


OPTIONS = [{}, {"n_jobs": 2, "timeout": "1 h"}, {"pruning": True}]
# Each search with one or two of the options.
SAMPLED = [
    (kind, options)
    for i, kind in enumerate(every_search.SEARCHES)
    for j, options in enumerate(OPTIONS)
    if (i + j) % 2 == 0
]
SAMPLED += [(MultiStageSearchCV, {"stages": "auto", "timeout": "1 h"})]


@pytest.mark.parametrize("kind, options", SAMPLED)
@pytest.mark.filterwarnings("ignore")
def test_the_number_of_a_task_is_that_of_the_trial_and_its_split(kind, options):
    recorder, data = Recorder(), every_search.data(kind)
    search = every_search.make(kind, **options, cv=3).set_callbacks(recorder)
    with joblib.parallel_config(backend="threading"):
        search.fit(*data)
    ended = [path for hook, path, _ in paths(recorder) if hook == "end"]
    assert sorted(path[2][1] for path in ended if len(path) == 3) == [
        3 * trial.number + i
        for trial in search.trials_
        for i, fold in enumerate(trial.folds)
        if fold.is_fitted
    ]


def test_a_continued_search_continues_the_numbers(recorder, tmp_path):
    search = search_with(journal=tmp_path / "a.journal").fit(X, y)
    search.set_params(n_iter=4).set_callbacks(recorder).fit(X, y)
    tasks = {path[2][1] for _, path, _ in paths(recorder) if len(path) == 3}
    assert tasks == {4, 5, 6, 7}


def test_every_hook_receives_the_search_and_the_weights(recorder):
    weights = np.linspace(1, 2, 150)
    search = search_with(recorder).fit(X, y, sample_weight=weights)
    hooks = [hook for hook, *_ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown") == 1
    assert hooks[0] == "setup" and hooks[-1] == "teardown"
    assert not hasattr(search, "_callback_fit_ctx")
    # Every hook receives the search itself, and the tasks contain the weights.
    assert all(estimator is search for *_, estimator in recorder.events)
    assert {len(w) for w in recorder.weights["candidate-split-evaluation"]} == {75}
    for w in recorder.weights["refit-with-best-params"] + recorder.weights["fit"]:
        np.testing.assert_array_equal(w, weights)
    assert clone(search)._skl_callbacks[0] is recorder


@pytest.mark.parametrize("where", ["evaluation", "all", "refit"])
def test_begin_and_end_are_paired_also_on_errors(where, recorder):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise RuntimeError("cannot be fitted")
            return super().fit(X, y)

    inner = FailsOnAll() if where == "refit" else Sometimes(bad="fit")
    error_score = "raise" if where == "evaluation" else np.nan
    params = {"space": {"quality": [1, 2]}, "error_score": error_score}
    with pytest.raises((RuntimeError, ValueError), match="fit"):
        search_with(recorder, model=inner, **params).fit(X, y)
    begun = sorted(path for hook, path, _ in paths(recorder) if hook == "begin")
    ended = sorted(path for hook, path, _ in paths(recorder) if hook == "end")
    assert begun == ended
    assert recorder.events[-1][0] == "teardown"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_propagated_callbacks_reach_the_inner_estimator(n_jobs):
    recorder = PropagatedRecorder()
    search = search_with(recorder, n_jobs=n_jobs).fit(X, y)
    names = {name for _, _, name, _ in recorder.events}
    if n_jobs is None:
        assert names == {"BayesSearchCV", "LogisticRegression"}
    hooks = [hook for hook, *_ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown") == 1
    assert not hasattr(search.best_estimator_, "_skl_callbacks")
    assert not hasattr(search.best_estimator_, "_parent_callback_ctx")
    # An estimator without support warns as in GridSearchCV.
    other = search_with(recorder, model=Sometimes(), space={"quality": [1, 2]})
    with pytest.warns(UserWarning, match="does not support"):
        other.fit(X, y)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_progress_bar_of_scikit_learn_shows_the_search(n_jobs):
    pytest.importorskip("rich")
    search, out = search_with(callback.ProgressBar(), n_jobs=n_jobs), io.StringIO()
    with redirect_stdout(out):
        search.fit(X, y)
    assert "BayesSearchCV - fit" in out.getvalue()
    assert "search" in out.getvalue()
    pickle.loads(pickle.dumps(search)).predict(X)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_scoring_monitor_logs_as_in_grid_search(n_jobs):
    def logged(cls, **extra):
        monitor = callback.ScoringMonitor(scoring="accuracy")
        inner = LogisticRegression(max_iter=5).set_callbacks(monitor)
        search = cls(inner, {"C": [0.1, 0.5, 1.0, 5.0]}, cv=3, n_jobs=n_jobs, **extra)
        (log,) = monitored(search.fit(X, y)).get_logs(select="all")
        return log.data_as_pandas

    def monitored(search):
        return search.estimator._skl_callbacks[0]

    # The candidate and the split as in the example of scikit-learn.
    for log in (logged(BayesSearchCV), logged(GridSearchCV)):
        steps = log[log.task_id_path.map(lambda path: path[1] == 0 and len(path) > 3)]
        candidates = steps.task_id_path.map(lambda path: divmod(path[2], 3))
        assert sorted(set(candidates)) == [(k, i) for k in range(4) for i in range(3)]


@pytest.mark.parametrize(
    "backend, stopper, n_trials",
    [
        ("sequential", Stopper(0), 1),
        ("threading", Stopper(5), 3),
        ("loky", PropagatedStopper(5), 3),
        ("sequential", PropagatedStopper(0), 1),
    ],
)
def test_a_hook_that_returns_true_ends_the_search(backend, stopper, n_trials):
    search = search_with(stopper, n_iter=6, pre_dispatch=1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        search.fit(X, y)
    assert search.stop_reason_ == "callback"
    assert len(search.trials_) == search.optimizer_.n_told == n_trials
    assert search.predict(X).shape == (150,)
    # The trials belong to the search that continues.
    whole = clone(search).set_callbacks().fit(X, y)
    params = search.cv_results_["params"]
    assert whole.cv_results_["params"][:n_trials] == params


def test_nested_in_an_outer_search_the_tasks_hang_in_one_tree():
    recorder = PropagatedRecorder()
    outer = GridSearchCV(search_with(), {"cv": [2]}, cv=2, refit=False)
    outer.set_callbacks(recorder).fit(X, y)
    assert max(len(path) for _, path, _, _ in recorder.events) >= 5
    assert {path[0] for _, path, _, _ in recorder.events} == {("fit", 0)}
