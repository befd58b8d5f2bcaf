"""Aspects of trials: the list, and the example of the contributing guide."""

import pickle
import subprocess
import sys

import numpy as np
import peak_memory
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.evaluation import aspects
from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import run_fold

X, y = load_iris(return_X_y=True)
SPACE = {"max_depth": (1, 8), "min_samples_leaf": (1, 9)}
_WORKER = """
import pickle, sys
pickle.load(sys.stdin.buffer)
print(*sys.modules)
"""
NAME = "skbayes.evaluation.aspects.peak_memory"


def search(**more):
    tree = DecisionTreeClassifier(random_state=0)
    return BayesSearchCV(tree, SPACE, n_iter=4, cv=3, random_state=0, **more)


@pytest.fixture
def with_peak_memory(monkeypatch):
    """Add the aspect to the list, as a contributor would by one line."""
    entry = ("peak_memory.PeakMemory", lambda run: True)
    monkeypatch.setattr(aspects, "_ASPECTS", (*aspects._ASPECTS, entry))
    monkeypatch.setitem(sys.modules, NAME, peak_memory)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"n_jobs": 2},
        {"racing": True},
        {"constraints": {"n_features": "<= 4"}},
        {"return_oof": "predict"},
        {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy"},
    ],
    ids=str,
)
def test_a_new_aspect_adds_a_column(with_peak_memory, more):
    column = search(**more).fit(X, y).cv_results_["mean_peak_memory"]
    assert len(column) == 4
    assert np.all(np.asarray(column) > 0)


def test_a_new_aspect_does_not_change_the_trials(with_peak_memory, monkeypatch):
    found = search().fit(X, y)
    monkeypatch.undo()
    plain = search().fit(X, y)
    assert "mean_peak_memory" not in plain.cv_results_
    assert [t.params for t in found.trials_] == [t.params for t in plain.trials_]
    assert [t.score for t in found.trials_] == [t.score for t in plain.trials_]


def test_a_journal_keeps_what_a_new_aspect_measured(with_peak_memory, tmp_path):
    path = tmp_path / "run.journal"
    first = search(journal=path).set_params(n_iter=2).fit(X, y)
    again = search(journal=path).fit(X, y)
    column = "mean_peak_memory"
    np.testing.assert_array_equal(
        again.cv_results_[column][:2], first.cv_results_[column]
    )


def test_an_aspect_that_is_off_is_not_in_the_list(monkeypatch):
    listed = []
    original = aspects.aspects_of

    def recorded(run):
        listed.append([aspect.name for aspect in original(run)])
        return original(run)

    monkeypatch.setattr("skbayes.evaluation.evaluator.aspects_of", recorded)
    BayesSearchCV(SVC(), {"C": (0.1, 1.0)}, n_iter=1, cv=2).fit(X, y)
    assert {tuple(names) for names in listed} == {()}
    listed.clear()
    search(racing=True, constraints={"n_features": "<= 4"}).fit(X, y)
    assert {tuple(names) for names in listed} == {("constraints", "racing")}


def test_workers_do_not_import_the_search():
    """Sixteen workers on two cores otherwise spend seconds on imports."""
    tasks = []

    def recorded(handle, task, fold):
        tasks.append(pickle.dumps((task, fold)))
        return run_fold(handle, task, fold)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbayes.evaluation.evaluator.run_fold", recorded)
        search(racing=True, constraints={"n_features": "<= 4"}).fit(X, y)
    assert tasks
    done = subprocess.run(
        [sys.executable, "-c", _WORKER], input=tasks[0], capture_output=True, check=True
    )
    loaded = done.stdout.decode().split()
    assert "skbayes.evaluation.fold" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("skbayes.")}
    assert rooms == {"compat", "evaluation", "utils"}
    assert "skbayes.evaluation.evaluator" not in loaded


def test_hooks_have_no_effect_by_default():
    aspect, of_fold = Aspect(None), FoldAspect()
    assert aspect.fold_aspect() is None
    assert aspect.for_fold(None, 0, []) is None
    assert not aspect.is_over(None, [])
    assert aspect.stopped(None, []) is None
    for hook in (aspect.conclude(None, [], "complete"), aspect.observation(None)):
        assert hook == {}
    assert aspect.columns([]) == {}
    with of_fold.around(None):
        assert not of_fold.looks_inside(None)
    pickle.loads(pickle.dumps(of_fold))
