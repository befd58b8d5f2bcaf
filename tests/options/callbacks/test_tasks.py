"""Tasks of callbacks on the installed release."""

import pickle

import pytest
from recording_callbacks import Recorder
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV, compat
from skbayes.options.callbacks.tasks import EvaluationTask, TaskTree

X, y = load_iris(return_X_y=True)


def test_releases_without_callbacks_give_the_same_result(monkeypatch):
    search = BayesSearchCV(SVC(), {"C": [1, 2]}, n_iter=2, cv=2, random_state=0)
    expected = clone(search).fit(X, y).best_params_
    monkeypatch.setattr(compat, "HAS_CALLBACKS", False)
    assert search.fit(X, y).best_params_ == expected


@pytest.fixture
def task():
    if not compat.HAS_CALLBACKS:
        pytest.skip("scikit-learn has callbacks since 1.9")
    search = BayesSearchCV(SVC(), {}).set_callbacks(Recorder())
    root = search._init_callback_context(max_subtasks=2)
    middle = root.subcontext("search", max_subtasks=9, sequential_subtasks=False)
    for i in range(9):
        context = middle.subcontext("candidate-split-evaluation", task_id=i)
    return EvaluationTask(search, context)


def test_a_pickled_task_leads_to_its_ancestors_alone(task):
    task.search._callback_fit_ctx = task._context
    again = pickle.loads(pickle.dumps(task))
    assert not hasattr(again.search, "_callback_fit_ctx")
    node = again._context
    assert (node.task_name, node.task_id) == ("candidate-split-evaluation", 8)
    search = node.parent
    assert (search.task_name, search.max_subtasks) == ("search", 9)
    assert list(search._children_map.values()) == [node]
    assert search.parent.task_name == "fit"
    assert search.parent._children_map == {search.task_id: search}
    assert search.parent.parent is None
    # The original is not changed.
    assert len(list(task._context.parent)) == 10


def test_a_trial_that_is_prepared_again_keeps_its_tasks(task):
    # If the timeout aborts all trials, one is recorded in place of the first.
    tree = TaskTree(task.search, X, y, None)
    with tree.fit(), tree.searching(6):
        first, second = (tree.fits_of_trial(number, 3) for number in (0, 1))
        assert tree.fits_of_trial(0, 3) is first
    assert [t._context.task_id for t in first + second] == list(range(6))
