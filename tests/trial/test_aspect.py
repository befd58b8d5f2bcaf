"""Aspects of trials: the list, and the example of the contributing guide."""

import inspect
import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from peak_memory import PeakMemory
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, ParetoSearchCV, TradeoffSearchCV
from skbayes.trial import option_table
from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect, run_folds
from skbayes.trial.option_table import OPTIONS, Option
from skbayes.trial.pruning import Pruning
from skbayes.trial.records import FoldResult, History, Trial

X, y = load_iris(return_X_y=True)
SPACE = {"max_depth": (1, 8), "min_samples_leaf": (1, 9)}
_WORKER = """
import pickle, sys
from sklearn.model_selection import GridSearchCV  # imported in workers of any search
before = set(sys.modules)
import skbayes.trial.fold
assert not {"sklearn.ensemble", "sklearn.decomposition"} & (set(sys.modules) - before)
pickle.load(sys.stdin.buffer)
print(*sys.modules)
"""


def search(**params):
    tree = DecisionTreeClassifier(random_state=0)
    options = {"n_iter": 4, "cv": 3, "random_state": 0, **params}
    return BayesSearchCV(tree, SPACE, **options)


@pytest.fixture
def with_peak_memory(monkeypatch):
    """Add the aspect to the list, as a contributor would by one line."""
    added = Option("peak_memory:PeakMemory", {"peak_memory": ["boolean"]})
    monkeypatch.setattr(option_table, "OPTIONS", (*OPTIONS, added))

    class Search(BayesSearchCV):
        """Search with the lines that the parameter adds, in a subclass."""

        _parameter_constraints = BayesSearchCV._parameter_constraints | added.parameters
        _without_effect = BayesSearchCV._without_effect | {"peak_memory"}

        def __init__(
            self, estimator, search_spaces="auto", *, peak_memory=False, **kwargs
        ):
            super().__init__(estimator, search_spaces, **kwargs)
            self.peak_memory = peak_memory

    monkeypatch.setitem(globals(), "BayesSearchCV", Search)
    Search.__qualname__ = "BayesSearchCV"  # can be pickled
    return Search


@pytest.mark.parametrize(
    "params",
    [
        {"n_jobs": 2, "pruning": True, "return_folds": "predict"},
        {
            "constraints": {"n_features": "<= 4"},
            "scoring": ["accuracy", "f1_macro"],
            "refit": "accuracy",
        },
    ],
    ids=str,
)
def test_a_new_aspect_adds_a_column_and_does_not_change_the_trials(
    with_peak_memory, params, tmp_path
):
    params = {**params, "journal": tmp_path / "run.journal"}
    first = search(peak_memory=True, n_iter=2, **params).fit(X, y)
    measured = search(peak_memory=True, **params).fit(X, y)
    plain = search(**{**params, "journal": None}).fit(X, y)
    column = measured.cv_results_["mean_peak_memory"]
    assert len(column) == 4
    assert np.all(np.asarray(column) > 0)
    # The journal keeps what it measured.
    np.testing.assert_array_equal(column[:2], first.cv_results_["mean_peak_memory"])
    assert "mean_peak_memory" not in plain.cv_results_
    for name in ("params", "score"):
        values = [[getattr(t, name) for t in s.trials_] for s in (measured, plain)]
        assert values[0] == values[1]


def test_the_column_of_a_new_aspect_is_nan_without_a_fit():
    trial = Trial(0, {}, [FoldResult(status="skipped")], math.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        columns = PeakMemory(None, None, None).columns(History([trial]))
    assert math.isnan(*columns["mean_peak_memory"])


def test_a_new_aspect_adds_a_parameter(with_peak_memory):
    assert with_peak_memory(None, peak_memory=True).get_params()["peak_memory"]
    assert not search().peak_memory
    with pytest.raises(ValueError, match="'peak_memory' parameter"):
        search(peak_memory=2).fit(X, y)


def test_an_aspect_refuses_parameters_before_any_fit(monkeypatch):
    prepared = []

    def prepare(self, spaces, routed):
        prepared.append(self.settings.pruning)
        if self.settings.return_train_score:
            raise ValueError("pruning and training scores cannot be combined")
        return spaces

    monkeypatch.setattr(Pruning, "prepare", prepare)
    with pytest.raises(ValueError, match="pruning and training scores cannot"):
        search(pruning=True, return_train_score=True).fit(X, y)
    search(pruning=0.1).fit(X, y)
    search(pruning=False, return_train_score=True).fit(X, y)
    assert prepared == [True, 0.1]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, []),
        ({"constraints": lambda params: True, "trial_limits": {"time": None}}, []),
        (
            {"pruning": True, "constraints": {"n_features": "<= 4"}, "timeout": 60},
            ["constraints", "pruning", "limits"],
        ),
    ],
)
def test_aspects_that_are_on_are_made_once(monkeypatch, params, expected):
    names, init = [], Aspect.__init__

    def recorded(self, *args):
        names.append(self.name)
        init(self, *args)

    monkeypatch.setattr(Aspect, "__init__", recorded)
    search(**params).fit(X, y)
    assert names == expected


def test_workers_do_not_import_the_search():
    """Sixteen workers on two cores otherwise spend seconds on imports."""
    tasks = []

    def recorded(handle, folds):
        tasks.append(pickle.dumps((handle.load(), folds)))
        return run_folds(handle, folds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbayes.trial.backend.run_folds", recorded)
        search(pruning=True, constraints={"n_features": "<= 4"}).fit(X, y)
    assert tasks
    process = subprocess.run(
        [sys.executable, "-c", _WORKER], input=tasks[0], capture_output=True, check=True
    )
    loaded = process.stdout.decode().split()
    assert "skbayes.trial.fold" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("skbayes.")}
    assert rooms == {"compat", "options", "trial", "utils"}
    assert "skbayes.trial.evaluator" not in loaded


@pytest.mark.parametrize(
    ("base", "name", "method", "message"),
    [
        (Aspect, "colums", lambda self, history: {}, r"colums\(self, history\) is no"),
        (Aspect, "prepared", classmethod(lambda cls: None), r"prepared\(cls\) is no"),
        (
            Aspect,
            "observe",
            lambda self, history: {},
            r"Aspect.* observe\(self, trial\)",
        ),
        (FoldAspect, "close", lambda self: None, r"FoldAspect\. Its hooks are around"),
    ],
)
def test_methods_that_would_never_be_called_are_refused(base, name, method, message):
    with pytest.raises(TypeError, match=message):
        type("Own", (base,), {name: method})


def _option(module):
    *_, folder, name = module.split(".")
    return folder if name == "aspect" else name


@pytest.mark.skipif("SKBAYES_WITHOUT" in os.environ, reason="an option is removed")
def test_the_guide_lists_who_implements_each_hook():
    """A hook with one implementer may be a plain function instead."""
    expected = []
    for base in (Aspect, FoldAspect):
        modules = [sys.modules[option.kind().__module__] for option in OPTIONS]
        for hook in vars(base):
            names = [
                f"``{_option(module.__name__)}``"
                for module in modules
                for kind in vars(module).values()
                if inspect.isclass(kind) and kind.__module__ == module.__name__
                if issubclass(kind, base) and hook in vars(kind)
            ]
            if not hook.startswith("_") and callable(getattr(base, hook)):
                expected += [
                    f"   * - ``{base.__name__}.{hook}``",
                    f"     - {', '.join(names)}",
                ]
    guide = Path(__file__).parents[2] / "docs/contributing.rst"
    lines = guide.read_text(encoding="utf-8").splitlines()
    begin = lines.index("   * - ``Aspect.prepare``")
    assert lines[begin : begin + len(expected)] == expected
    assert not lines[begin + len(expected)]


def test_names_of_aspects_and_parameters_are_unique():
    names = [option.kind().name for option in OPTIONS]
    parameters = [name for option in OPTIONS for name in option.parameters]
    assert len(set(names)) == len(names)
    assert len(set(parameters)) == len(parameters)


@pytest.mark.parametrize(
    "kind, params",
    [
        (TradeoffSearchCV, {"tradeoff": 0.1}),
        (ParetoSearchCV, {"objectives": {"accuracy": "max", "fit_time": "min"}}),
    ],
)
def test_costs_are_refused_without_their_option(kind, params, monkeypatch, svc_fits):
    monkeypatch.setattr(option_table, "OPTIONS", ())
    with pytest.raises(ImportError, match=r"skbayes\.options\.costs"):
        kind(SVC(), {"C": [1, 2]}, **params).fit(X, y)
    assert not svc_fits
