"""Pytest plugin that replaces the two searches of scikit-learn by another search.

Loaded with ``-p drop_in_plugin`` before scikit-learn's own test modules are imported,
it replaces GridSearchCV and RandomizedSearchCV in `sklearn.model_selection`. It selects
the tests that construct one of the two, and writes their outcomes to the file in the
environment variable ``DROP_IN_REPORT``.

Without the variable ``DROP_IN_SEARCH``, the plugin has no effect.

If ``DROP_IN_REWORD`` is set, the tests in `REWORDED` run with some words changed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import operator
import os
import sys
import textwrap

import pytest
import sklearn.model_selection as model_selection
from forked import forked_workers
from sklearn.model_selection import ParameterGrid
from sklearn.model_selection import _search as search_module

NAMES = ("GridSearchCV", "RandomizedSearchCV")

# Tests that pass for this search except for a number or a name, with the text to
# replace and the replacement. `_reword` raises an error if a release no longer contains
# the text.
REWORDED = {
    # A value that is repeated three times is fitted once on each of the five splits.
    "test_grid_search_classifier_all_fits_fail": [
        ("All the 15 fits failed.+15 fits", "All the 5 fits failed.+5 fits")
    ],
    "test_callable_multimetric_clf_all_fits_fail": [
        ("All the 15 fits failed", "All the 5 fits failed")
    ],
    # Nearly equal values have equal scores on equal folds, as equal values have.
    "test_grid_search_cv_splits_consistency": [
        ("[0.1, 0.1, 0.2, 0.2]", "[0.1, 0.1 + 1e-12, 0.2, 0.2 + 1e-12]")
    ],
    # Compares the attributes of scikit-learn's search, without the additional ones.
    "test_custom_run_search": [("in dir(gscv)", "in dir(mycv)")],
    # Asks for a score that 13 of 27 configurations reach: 8 are tried, not 5.
    "test_multi_core_gridsearch_and_early_stopping": [("n_iter=5", "n_iter=8")],
}

_constructed: set[str] = set()
_current: list[str] = []


def _grid_size(grid) -> int:
    """Return the size of a parameter grid; 10 for wrong notations."""
    try:
        return max(1, len(ParameterGrid(grid)))
    except (TypeError, ValueError):
        return 10


# --- what takes the place -------------------------------------------------------------


def _install(original: type, spaces: str, **methods) -> type:
    """Replace a search by BayesSearchCV with its name and constructor.

    The constructor has the parameters of the original. The space is the parameter
    `spaces`, and the other parameters of BayesSearchCV keep their defaults.
    """
    signature = inspect.signature(original.__init__)
    accepted = inspect.signature(BayesSearchCV).parameters

    @functools.wraps(original.__init__)
    def init(self, *args, **kwargs):
        if _current:
            _constructed.add(_current[0])
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        del bound.arguments["self"]
        setattr(self, spaces, bound.arguments[spaces])
        shared = {n: value for n, value in bound.arguments.items() if n in accepted}
        BayesSearchCV.__init__(self, **shared)

    members = {
        **methods,
        "search_spaces": _derived(operator.attrgetter(spaces)),
        "_parameter_constraints": {
            **BayesSearchCV._parameter_constraints,
            spaces: [dict, list],
        },
        "__init__": init,
        "__module__": __name__,
    }
    cls = type(original.__name__, (BayesSearchCV,), members)
    for module in (sys.modules[__name__], model_selection, search_module):
        setattr(module, cls.__name__, cls)
    return cls


def _derived(value) -> property:
    """Return a property that the constructor of the base class does not set."""
    return property(value, lambda self, default: None)


# Replace them at import, because joblib's workers must find the classes here, too.
ADAPTERS: tuple[type, ...] = ()
if os.environ.get("DROP_IN_SEARCH"):
    from skbayes import BayesSearchCV

    size = _derived(lambda self: _grid_size(self.param_grid))
    ADAPTERS = (
        _install(model_selection.GridSearchCV, "param_grid", n_iter=size),
        _install(model_selection.RandomizedSearchCV, "param_distributions"),
    )


@pytest.fixture(scope="session", autouse=True)
def joblib_forks():
    """Let one process, which has imported this module, fork those of joblib."""
    with forked_workers(__name__, "skbayes.trial.fold", "skbayes.trial.backend"):
        yield


# --- which tests ----------------------------------------------------------------------


# Names, attributes, and arguments, which name the fixtures of a test.
MENTIONS = ((ast.Name, "id"), (ast.Attribute, "attr"), (ast.arg, "arg"))


@functools.cache
def _tests_that_mention(path: str) -> frozenset[str]:
    """Return the top-level names of the module that lead to one of the two classes."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    mentions: dict[str, set[str]] = {}
    for node in tree.body:
        inner = [*ast.walk(node)]
        names = {
            getattr(n, key) for n in inner for kind, key in MENTIONS if type(n) is kind
        }
        if isinstance(node, ast.Assign):
            stored = [n for t in node.targets for n in ast.walk(t)]
            targets = [n.id for n in stored if isinstance(n, ast.Name)]
        else:
            targets = [node.name] if hasattr(node, "name") else []
        for target in targets:
            mentions.setdefault(target, set()).update(names)
    reached = set(NAMES)
    while users := {t for t, names in mentions.items() if names & reached} - reached:
        reached |= users
    return frozenset(reached)


def pytest_collection_modifyitems(config, items):
    """Select the tests whose code leads to one of the two classes."""
    keep, drop = [], []
    for item in items:
        name = getattr(item, "originalname", item.name)
        cls = getattr(item, "cls", None)
        mentioned = _tests_that_mention(str(item.path))
        (keep if {name, cls and cls.__name__} & mentioned else drop).append(item)
    items[:] = keep
    config.hook.pytest_deselected(items=drop)
    if os.environ.get("DROP_IN_REWORD"):
        for item in items:
            _reword(item, REWORDED.get(getattr(item, "originalname", item.name), []))


def _reword(item, changes):
    """Replace a function without decorators by a test with other words."""
    if not changes:
        return
    source = textwrap.dedent(inspect.getsource(item.obj))
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(f"{item.name} does not have {old!r} once")
        source = source.replace(old, new)
    names: dict = {}
    exec(compile(source, str(item.path), "exec"), item.obj.__globals__, names)
    item.obj = names[item.obj.__name__]


def _is_or_holds_adapter(value) -> bool:
    if isinstance(value, type):
        return issubclass(value, ADAPTERS)
    return isinstance(value, ADAPTERS) or getattr(value, "func", None) in ADAPTERS


# --- what became of them --------------------------------------------------------------

_outcomes: dict[str, str] = {}


def pytest_runtest_setup(item):
    """Record which test is running, and whether it gets one of the two classes."""
    _current[:] = [item.nodeid]
    callspec = getattr(item, "callspec", None)
    if callspec and any(map(_is_or_holds_adapter, callspec.params.values())):
        _constructed.add(item.nodeid)


def pytest_runtest_logreport(report):
    """Record the worst outcome of the phases of a test."""
    if report.when == "call" or report.outcome != "passed":
        if _outcomes.get(report.nodeid) != "failed":
            expected = hasattr(report, "wasxfail")
            _outcomes[report.nodeid] = "skipped" if expected else report.outcome


def pytest_sessionfinish(session):
    """Write the outcomes of the tests that have constructed one of the two classes."""
    path = os.environ.get("DROP_IN_REPORT")
    if path:
        chosen = {k: v for k, v in _outcomes.items() if k in _constructed}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(chosen, file, indent=1)
