"""Rules K1 … K8: the callbacks of scikit-learn 1.9."""

import io
import pickle
from contextlib import redirect_stdout

import joblib
import numpy as np
import pytest
from recording_callbacks import (
    TRIAL,
    AtTrial,
    PropagatedRecorder,
    PropagatedStopper,
    Recorder,
    Stopper,
)
from simple_estimators import Sometimes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skbayes import BayesSearchCV, compat

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


def search_with(*callbacks, model=None, space=None, **more):
    more = {"n_iter": 2, "cv": 2, "random_state": 0, "surrogate": "random", **more}
    search = BayesSearchCV(model or logistic(), space or {"C": (0.1, 1.0)}, **more)
    return search.set_callbacks(*callbacks)


def test_a_timeout_leaves_fits_with_callbacks_in_this_process(recorder):
    limited = Recorder()
    search_with(recorder).fit(X, y)
    search_with(limited, timeout="1 h", n_jobs=1).fit(X, y)
    assert [one[:2] for one in limited.events] == [one[:2] for one in recorder.events]


@pytest.mark.parametrize("kind, refit", [(Recorder, False), (PropagatedRecorder, True)])
def test_k2_the_tree_is_that_of_grid_search_but_for_the_trials(kind, refit):
    ours, theirs, model = kind(), kind(), logistic()
    search_with(ours, model=model, space=GRID, n_iter=3, refit=refit).fit(X, y)
    GridSearchCV(model, GRID, cv=2, refit=refit).set_callbacks(theirs).fit(X, y)
    fits = [
        (hook, tuple(task for task in path if task[0] != TRIAL), name)
        for hook, path, name in paths(ours)
        if path[-1][0] != TRIAL
    ]
    names = {"GridSearchCV": "BayesSearchCV"}
    assert fits == [(*one, names.get(name, name)) for *one, name in paths(theirs)]
    assert ours.limits.pop(TRIAL) == 2
    assert ours.limits.pop("search") == 3
    assert theirs.limits.pop("search") == 3 * 2
    assert ours.limits == theirs.limits


def test_k1_k2_k3_the_tree_in_words(recorder):
    weights = np.linspace(1, 2, 150)
    search = search_with(recorder).fit(X, y, sample_weight=weights)
    tasks = [path for hook, path, _ in paths(recorder) if hook == "begin"]
    root = ("fit", 0), ("search", 0)
    first, second = ((*root, (TRIAL, number)) for number in range(2))
    assert tasks == [
        (("fit", 0),),
        root,
        first,
        *((*first, ("candidate-split-evaluation", i)) for i in (0, 1)),
        second,
        *((*second, ("candidate-split-evaluation", i)) for i in (2, 3)),
        (("fit", 0), ("refit-with-best-params", 1)),
    ]
    ended = [path[-1] for hook, path, _ in paths(recorder) if hook == "end"]
    assert ended.index((TRIAL, 0)) < ended.index(("candidate-split-evaluation", 2))
    assert {recorder.limits[name] for name in ("search", TRIAL, "fit")} == {2}
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
def test_k3_begin_and_end_are_paired_also_on_errors(where, recorder):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise RuntimeError("cannot be fitted")
            return super().fit(X, y)

    inner = FailsOnAll() if where == "refit" else Sometimes(bad="fit")
    error_score = "raise" if where == "evaluation" else np.nan
    given = {"space": {"quality": [1, 2]}, "error_score": error_score}
    with pytest.raises((RuntimeError, ValueError), match="fit"):
        search_with(recorder, model=inner, **given).fit(X, y)
    begun = sorted(path for hook, path, _ in paths(recorder) if hook == "begin")
    ended = sorted(path for hook, path, _ in paths(recorder) if hook == "end")
    assert begun == ended
    assert recorder.events[-1][0] == "teardown"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_k4_contexts_sent_to_workers_are_trimmed(n_jobs, monkeypatch):
    search = search_with(Recorder(), n_iter=6, n_jobs=n_jobs)
    sizes = []
    plain = compat.EvaluationTask.__getstate__

    def measured(task):
        state = plain(task)
        sizes.append(len(pickle.dumps(state)))
        node = state["_context"]
        assert list(node) == [node]
        assert list(node.parent) == [node.parent, node]
        assert node.parent.parent.parent.parent is None
        assert not hasattr(state["search"], "_callback_fit_ctx")
        assert hasattr(search, "_callback_fit_ctx")
        return state

    monkeypatch.setattr(compat.EvaluationTask, "__getstate__", measured)
    search.fit(X, y)
    assert len(sizes) == (12 if n_jobs else 0)
    # The size does not grow with the number of tasks.
    assert not sizes or max(sizes) < 1.2 * min(sizes)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_k5_propagated_callbacks_reach_the_inner_estimator(n_jobs):
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
def test_progress_bar_works_unmodified(n_jobs):
    pytest.importorskip("rich")
    search, out = search_with(callback.ProgressBar(), n_jobs=n_jobs), io.StringIO()
    with redirect_stdout(out):
        search.fit(X, y)
    assert "BayesSearchCV - fit" in out.getvalue()
    assert "search" in out.getvalue()
    pickle.loads(pickle.dumps(search)).predict(X)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scoring_monitor_works_unmodified(n_jobs):
    def logged(cls, **extra):
        monitor = callback.ScoringMonitor(scoring="accuracy")
        inner = LogisticRegression(max_iter=500).set_callbacks(monitor)
        search = cls(inner, {"tol": [1e-2, 1e-3]}, cv=2, n_jobs=n_jobs, **extra)
        search.fit(X, y)
        return monitor.get_logs(select="all")

    ours, theirs = logged(BayesSearchCV, n_iter=2), logged(GridSearchCV)
    assert len(ours) == len(theirs) == 1
    assert len(ours[0].data) == len(theirs[0].data)
    assert len(ours[0].data) >= 5


@pytest.mark.parametrize(
    "backend, stopper, n_trials",
    [
        ("sequential", Stopper(0), 1),
        ("threading", Stopper(5), 3),
        ("loky", PropagatedStopper(5), 3),
        ("sequential", PropagatedStopper(0), 1),
        ("sequential", AtTrial(2), 3),
        ("loky", AtTrial(2), 3),
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
