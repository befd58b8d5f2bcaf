"""Rules K1 … K8: the callbacks of scikit-learn 1.9."""

import io
import pickle

import joblib
import numpy as np
import pytest
from grid_comparison import Sometimes
from recording_callbacks import PropagatedRecorder, PropagatedStopper, Recorder, Stopper
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV, compat

callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn has callbacks since 1.9"
)

X, y = load_iris(return_X_y=True)
GRID = {"C": [0.1, 1.0, 10.0]}
TRIAL = "candidate-evaluation"


def logistic():
    return LogisticRegression(max_iter=500)


def paths(recorder):
    """Return the reported hook, path of tasks, and name of the reporter."""
    return [(hook, tuple(path), name) for hook, path, name, _ in recorder.events]


@pytest.fixture
def recorder():
    return Recorder()


def test_k1_setup_and_teardown_once_each(recorder):
    search = BayesSearchCV(
        logistic(), GRID, n_iter=2, cv=2, random_state=0
    ).set_callbacks(recorder)
    search.fit(X, y)
    hooks = [hook for hook, *_ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown") == 1
    assert hooks[0] == "setup" and hooks[-1] == "teardown"
    assert not hasattr(search, "_callback_fit_ctx")


def test_a_timeout_leaves_fits_with_callbacks_in_this_process(recorder):
    limited = Recorder()
    for callback, timeout in ((recorder, None), (limited, "1 h")):
        search = BayesSearchCV(logistic(), GRID, n_iter=2, cv=2, timeout=timeout)
        search.set_params(random_state=0, n_jobs=1).set_callbacks(callback).fit(X, y)
    assert [one[:2] for one in limited.events] == [one[:2] for one in recorder.events]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("kind", [Recorder, PropagatedRecorder])
def test_k2_the_tree_is_that_of_grid_search_but_for_the_trials(kind, refit):
    ours, theirs = kind(), kind()
    model = logistic()
    BayesSearchCV(
        model, GRID, n_iter=3, cv=2, refit=refit, random_state=0
    ).set_callbacks(ours).fit(X, y)
    GridSearchCV(model, GRID, cv=2, refit=refit).set_callbacks(theirs).fit(X, y)
    renamed = [
        (hook, path, name.replace("GridSearchCV", "BayesSearchCV"))
        for hook, path, name in paths(theirs)
    ]
    fits = [
        (hook, tuple(task for task in path if task[0] != TRIAL), name)
        for hook, path, name in paths(ours)
        if path[-1][0] != TRIAL
    ]
    assert fits == renamed
    assert ours.limits.pop(TRIAL) == 2
    assert ours.limits.pop("search") == 3
    assert theirs.limits.pop("search") == 3 * 2
    assert ours.limits == theirs.limits


def test_k2_the_tree_in_words(recorder):
    BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=2, cv=2, random_state=0
    ).set_callbacks(recorder).fit(X, y)
    tasks = [path for hook, path, _ in paths(recorder) if hook == "begin"]
    search = ("fit", 0), ("search", 0)
    first, second = ((*search, (TRIAL, number)) for number in range(2))
    assert tasks == [
        (("fit", 0),),
        search,
        first,
        *[(*first, ("candidate-split-evaluation", i)) for i in (0, 1)],
        second,
        *[(*second, ("candidate-split-evaluation", i)) for i in (2, 3)],
        (("fit", 0), ("refit-with-best-params", 1)),
    ]
    ended = [path[-1] for hook, path, _ in paths(recorder) if hook == "end"]
    assert ended.index((TRIAL, 0)) < ended.index(("candidate-split-evaluation", 2))
    assert recorder.limits["search"] == 2
    assert recorder.limits[TRIAL] == 2
    assert recorder.limits["fit"] == 2


@pytest.mark.parametrize("where", ["evaluation", "all", "refit"])
def test_k3_begin_and_end_are_paired_also_on_errors(where, recorder):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise RuntimeError("cannot be fitted")
            return super().fit(X, y)

    inner = FailsOnAll() if where == "refit" else Sometimes(bad="fit")
    search = BayesSearchCV(
        inner,
        {"quality": [1, 2]},
        cv=2,
        error_score="raise" if where == "evaluation" else np.nan,
        random_state=0,
    )
    with pytest.raises((RuntimeError, ValueError), match="fit"):
        search.set_callbacks(recorder).fit(X, y)
    begun = sorted(path for hook, path, _ in paths(recorder) if hook == "begin")
    ended = sorted(path for hook, path, _ in paths(recorder) if hook == "end")
    assert begun == ended
    assert recorder.events[-1][0] == "teardown"


def test_k3_every_hook_gets_the_search_itself(recorder):
    search = BayesSearchCV(
        logistic(), GRID, n_iter=2, cv=2, random_state=0
    ).set_callbacks(recorder)
    search.fit(X, y)
    assert all(estimator is search for *_, estimator in recorder.events)


def test_k3_tasks_carry_the_weights(recorder):
    weights = np.linspace(1, 2, 150)
    search = BayesSearchCV(
        logistic(), GRID, n_iter=2, cv=2, random_state=0
    ).set_callbacks(recorder)
    search.fit(X, y, sample_weight=weights)
    assert {len(w) for w in recorder.weights["candidate-split-evaluation"]} == {75}
    for w in recorder.weights["refit-with-best-params"] + recorder.weights["fit"]:
        np.testing.assert_array_equal(w, weights)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_k4_contexts_sent_to_workers_are_trimmed(n_jobs):
    search = BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=6, cv=2, n_jobs=n_jobs, random_state=0
    ).set_callbacks(Recorder())
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

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compat.EvaluationTask, "__getstate__", measured)
        search.fit(X, y)
    assert len(sizes) == (12 if n_jobs else 0)
    # As many tasks as there were: each is as small as the first.
    assert not sizes or max(sizes) < 1.2 * min(sizes)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_k5_propagated_callbacks_reach_the_inner_estimator(n_jobs):
    recorder = PropagatedRecorder()
    search = BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=2, cv=2, n_jobs=n_jobs, random_state=0
    ).set_callbacks(recorder)
    search.fit(X, y)
    names = {name for _, _, name, _ in recorder.events}
    if n_jobs is None:
        assert names == {"BayesSearchCV", "LogisticRegression"}
    hooks = [hook for hook, *_ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown") == 1
    assert not hasattr(search.best_estimator_, "_skl_callbacks")
    assert not hasattr(search.best_estimator_, "_parent_callback_ctx")


def test_k5_propagated_to_an_estimator_without_support_warns_as_in_grid_search():
    search = BayesSearchCV(
        Sometimes(), {"quality": [1, 2]}, n_iter=2, cv=2, random_state=0
    )
    search.set_callbacks(PropagatedRecorder())
    with pytest.warns(UserWarning, match="does not support"):
        search.fit(X, y)


def test_k7_clone_keeps_callbacks_and_pickling_works(recorder):
    search = BayesSearchCV(logistic(), GRID, n_iter=2, cv=2).set_callbacks(recorder)
    assert clone(search)._skl_callbacks[0] is recorder
    bar = callback.ProgressBar()
    search.set_callbacks(bar)
    pickle.loads(pickle.dumps(search))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_bar_works_unmodified(n_jobs):
    rich = pytest.importorskip("rich")
    assert rich
    search = BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=3, cv=2, n_jobs=n_jobs, random_state=0
    )
    with pytest.MonkeyPatch.context() as patch:
        out = io.StringIO()
        patch.setattr("sys.stdout", out)
        search.set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "BayesSearchCV - fit" in out.getvalue()
    assert "search" in out.getvalue()
    pickle.loads(pickle.dumps(search)).predict(X)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scoring_monitor_works_unmodified(n_jobs):
    def logged(cls, **extra):
        monitor = callback.ScoringMonitor(scoring="accuracy")
        inner = LogisticRegression(max_iter=500, C=1.0).set_callbacks(monitor)
        search = cls(inner, {"tol": [1e-2, 1e-3]}, cv=2, n_jobs=n_jobs, **extra)
        search.fit(X, y)
        return monitor.get_logs(select="all")

    ours, theirs = logged(BayesSearchCV, n_iter=2), logged(GridSearchCV)
    assert len(ours) == len(theirs) == 1
    assert len(ours[0].data) == len(theirs[0].data)
    assert len(ours[0].data) >= 5


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
@pytest.mark.parametrize("task", [0, 5])
@pytest.mark.parametrize("kind", [Stopper, PropagatedStopper])
def test_a_hook_that_returns_true_ends_the_search(backend, task, kind):
    search = BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=6, cv=2, random_state=0, pre_dispatch=1
    ).set_callbacks(kind(task))
    with joblib.parallel_config(backend=backend, n_jobs=2):
        search.fit(X, y)
    assert search.stop_reason_ == "callback"
    assert len(search.trials_) == task // 2 + 1
    assert search.optimizer_.n_told == len(search.trials_)
    assert len(search.cv_results_["params"]) == len(search.trials_)
    assert search.predict(X).shape == (150,)
    # The trials are those of the search that goes on.
    whole = clone(search).set_callbacks().fit(X, y)
    assert (
        whole.cv_results_["params"][: len(search.trials_)]
        == (search.cv_results_["params"])
    )


def test_a_hook_that_returns_true_elsewhere_does_not_end_the_search():
    class AtOtherTasks(Stopper):
        def on_fit_task_end(self, estimator, context):
            return context.task_name not in ("candidate-split-evaluation", TRIAL)

    search = BayesSearchCV(logistic(), GRID, n_iter=3, cv=2, random_state=0)
    search.set_callbacks(AtOtherTasks(0)).fit(X, y)
    assert search.stop_reason_ == "exhausted"


@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_a_hook_that_returns_true_at_a_trial_ends_the_search(backend):
    class AtTrial(Stopper):
        def on_fit_task_end(self, estimator, context):
            return context.task_name == TRIAL and context.task_id == self.task

    search = BayesSearchCV(
        logistic(), {"C": (0.1, 1.0)}, n_iter=6, cv=2, random_state=0, pre_dispatch=1
    ).set_callbacks(AtTrial(2))
    with joblib.parallel_config(backend=backend, n_jobs=2):
        search.fit(X, y)
    assert search.stop_reason_ == "callback"
    assert len(search.trials_) == 3


def test_nested_in_an_outer_search_the_tasks_hang_in_one_tree():
    recorder = PropagatedRecorder()
    inner = BayesSearchCV(logistic(), GRID, n_iter=2, cv=2, random_state=0)
    outer = GridSearchCV(inner, {"cv": [2]}, cv=2, refit=False)
    outer.set_callbacks(recorder).fit(X, y)
    depths = {len(path) for _, path, _, _ in recorder.events}
    assert max(depths) >= 5
    roots = {path[0] for _, path, _, _ in recorder.events}
    assert roots == {("fit", 0)}


def test_transformers_too(recorder):
    search = BayesSearchCV(
        StandardScaler(),
        {"with_mean": [True, False]},
        scoring=lambda e, X, y: 0.0,
        random_state=0,
    )
    search.set_callbacks(recorder).fit(X, y)
    assert recorder.events
