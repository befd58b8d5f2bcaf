"""Pytest plugin that replaces the two searches of scikit-learn by another search.

Loaded with ``-p drop_in_plugin`` before scikit-learn's own test modules are imported,
it replaces GridSearchCV and RandomizedSearchCV in `sklearn.model_selection`. It selects
the tests that construct one of the two, and writes their outcomes to the file in the
environment variable ``DROP_IN_REPORT``.

The variable ``DROP_IN_SEARCH`` is the name of the replacement: "skbayes", "skopt" or
"optuna". With "sklearn", the classes are not replaced, as a check of the method.
Without the variable, the plugin has no effect.

If ``DROP_IN_REWORD`` is set, the tests in `REWORDED` run with some words changed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import textwrap

import numpy as np
import sklearn.model_selection as model_selection
from sklearn.model_selection import ParameterGrid
from sklearn.model_selection import _search as search_module

NAMES = ("GridSearchCV", "RandomizedSearchCV")

# Test modules of scikit-learn, relative to the package, with tests that construct one.
MODULES = (
    "model_selection/tests/test_search.py",
    "decomposition/tests/test_kernel_pca.py",
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_forest.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_weight_boosting.py",
    "feature_extraction/tests/test_text.py",
    "impute/tests/test_impute.py",
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sgd.py",
    "metrics/tests/test_regression.py",
    "metrics/tests/test_score_objects.py",
    "model_selection/tests/test_split.py",
    "model_selection/tests/test_successive_halving.py",
    "model_selection/tests/test_validation.py",
    "neighbors/tests/test_kde.py",
    "tests/test_base.py",
    "tests/test_docstring_parameters.py",
    "tests/test_metaestimators.py",
    "tests/test_metaestimators_metadata_routing.py",
    "tests/test_multiclass.py",
    "tests/test_multioutput.py",
    "utils/_repr_html/tests/test_estimator.py",
    "utils/tests/test_estimator_html_repr.py",
    "utils/tests/test_parallel.py",
    "utils/tests/test_pprint.py",
)

# Tests that hold for this search but for a number or a name: for each what is replaced,
# and by what. `_reword` raises where a release no longer has these words.
REWORDED = {
    # A value that is repeated three times is fitted once on each of the five splits.
    "test_grid_search_classifier_all_fits_fail": [
        ("All the 15 fits failed.+15 fits", "All the 5 fits failed.+5 fits")
    ],
    "test_callable_multimetric_clf_all_fits_fail": [
        ("All the 15 fits failed", "All the 5 fits failed")
    ],
    # Equal folds show in the scores of nearly equal values as in those of equal ones.
    "test_grid_search_cv_splits_consistency": [
        ("[0.1, 0.1, 0.2, 0.2]", "[0.1, 0.1 + 1e-12, 0.2, 0.2 + 1e-12]")
    ],
    # Compares the attributes of scikit-learn's search, not those that ours adds.
    "test_custom_run_search": [("in dir(gscv)", "in dir(mycv)")],
    # Asks for a score that 13 of 27 configurations reach: all are tried, not 5.
    "test_multi_core_gridsearch_and_early_stopping": [("n_iter=5", "n_iter=27")],
}

_constructed: set[str] = set()
_current: list[str] = []


def _note_construction() -> None:
    if _current:
        _constructed.add(_current[0])


def _grid_size(grid) -> int:
    """Return the size of a parameter grid; 10 for wrong notations."""
    try:
        return max(1, len(ParameterGrid(grid)))
    except (TypeError, ValueError):
        return 10


# --- what takes the place -------------------------------------------------------------


def _adapters(base, constraints, spaces_attribute, n_attribute):
    """Return the two classes over `base`, with the constructors of scikit-learn.

    `base` reads its space from `spaces_attribute` and its budget from `n_attribute`.
    """

    class GridSearchCV(base):
        _parameter_constraints = {**constraints, "param_grid": [dict, list]}

        def __init__(
            self,
            estimator,
            param_grid,
            *,
            scoring=None,
            n_jobs=None,
            refit=True,
            cv=None,
            verbose=0,
            pre_dispatch="2*n_jobs",
            error_score=np.nan,
            return_train_score=False,
        ):
            _note_construction()
            for name, value in list(locals().items()):
                if name not in ("self", "__class__"):
                    setattr(self, name, value)

    class RandomizedSearchCV(base):
        _parameter_constraints = {**constraints, "param_distributions": [dict, list]}

        def __init__(
            self,
            estimator,
            param_distributions,
            *,
            n_iter=10,
            scoring=None,
            n_jobs=None,
            refit=True,
            cv=None,
            verbose=0,
            pre_dispatch="2*n_jobs",
            random_state=None,
            error_score=np.nan,
            return_train_score=False,
        ):
            _note_construction()
            for name, value in list(locals().items()):
                if name not in ("self", "__class__"):
                    setattr(self, name, value)

    setattr(GridSearchCV, spaces_attribute, property(lambda self: self.param_grid))
    setattr(GridSearchCV, n_attribute, property(lambda s: _grid_size(s.param_grid)))
    setattr(
        RandomizedSearchCV,
        spaces_attribute,
        property(lambda self: self.param_distributions),
    )
    if n_attribute != "n_iter":
        setattr(RandomizedSearchCV, n_attribute, property(lambda self: self.n_iter))
    return GridSearchCV, RandomizedSearchCV


def _with_defaults(cls: type) -> type:
    """Return a subclass of `cls` with the defaults of its arguments as attributes.

    The constructors of the adapters only set the arguments of scikit-learn.
    """
    base = type("Base", (cls,), {})
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            setattr(base, name, parameter.default)
    return base


def _skbayes():
    from skbayes import BayesSearchCV

    constraints = BayesSearchCV._parameter_constraints
    base = _with_defaults(BayesSearchCV)
    return _adapters(base, constraints, "search_spaces", "n_iter")


def _as_categories(spaces, category):
    """Wrap each list of values, which would have a different meaning in the library."""
    if isinstance(spaces, dict):
        listed = (list, tuple, range, np.ndarray)
        return {
            name: category(list(v)) if isinstance(v, listed) else v
            for name, v in spaces.items()
        }
    return [_as_categories(space, category) for space in spaces]


def _skopt():
    from skopt import BayesSearchCV
    from skopt.space import Categorical

    base = _with_defaults(BayesSearchCV)
    base.search_spaces = property(lambda s: _as_categories(s._spaces, Categorical))
    return _adapters(base, {}, "_spaces", "n_iter")


def _optuna():
    from optuna.distributions import CategoricalDistribution
    from optuna_integration import OptunaSearchCV

    class Base(_with_defaults(OptunaSearchCV)):
        def fit(self, X, y=None, **params):
            # Its own default, and its own notation, while it fits.
            given = {k: vars(self).get(k) for k in ("n_jobs", "param_distributions")}
            self.n_jobs = given["n_jobs"] or 1
            self.param_distributions = _as_categories(
                self._spaces, CategoricalDistribution
            )
            try:
                return super().fit(X, y, **params)
            finally:
                vars(self).update(given)

    grid, randomized = _adapters(Base, {}, "_spaces", "n_trials")
    randomized._spaces = property(lambda self: self.param_distributions)
    return grid, randomized


def _install(kind: str) -> tuple[type, type]:
    if kind == "sklearn":
        pair = model_selection.GridSearchCV, model_selection.RandomizedSearchCV
        for cls in pair:
            cls.__init__ = _noting(cls.__init__)
        return pair
    pair = {"skbayes": _skbayes, "skopt": _skopt, "optuna": _optuna}[kind]()
    for name, cls in zip(NAMES, pair, strict=True):
        cls.__name__ = cls.__qualname__ = name
        cls.__module__ = __name__
        globals()[name] = cls
        setattr(model_selection, name, cls)
        setattr(search_module, name, cls)
    return pair


def _noting(init):
    @functools.wraps(init)
    def wrapper(self, *args, **kwargs):
        _note_construction()
        init(self, *args, **kwargs)

    return wrapper


# At import, because the workers of joblib must find the classes here too.
_kind = os.environ.get("DROP_IN_SEARCH")
ADAPTERS: tuple[type, ...] = _install(_kind) if _kind else ()


# --- which tests ----------------------------------------------------------------------


@functools.cache
def _tests_that_mention(path: str) -> frozenset[str]:
    """Return the top-level names of the module that lead to one of the two classes."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    mentions: dict[str, set[str]] = {}
    for node in tree.body:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        # Fixtures are named by a test's arguments.
        names |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            targets = [node.name]
        elif isinstance(node, ast.Assign):
            targets = [
                n.id
                for t in node.targets
                for n in ast.walk(t)
                if isinstance(n, ast.Name)
            ]
        else:
            continue
        for target in targets:
            mentions.setdefault(target, set()).update(names)
    found = set(NAMES)
    while True:
        more = {t for t, names in mentions.items() if names & found} - found
        if not more:
            return frozenset(found)
        found |= more


def pytest_collection_modifyitems(config, items):
    """Select the tests whose code leads to one of the two classes."""
    keep, drop = [], []
    for item in items:
        name = getattr(item, "originalname", item.name)
        cls = getattr(item, "cls", None)
        wanted = _tests_that_mention(str(item.path))
        (keep if {name, cls and cls.__name__} & wanted else drop).append(item)
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
            outcome = report.outcome
            if hasattr(report, "wasxfail"):
                outcome = "skipped"
            _outcomes[report.nodeid] = outcome


def pytest_sessionfinish(session):
    """Write the outcomes of the tests that have constructed one of the two classes."""
    path = os.environ.get("DROP_IN_REPORT")
    if path:
        chosen = {k: v for k, v in _outcomes.items() if k in _constructed}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(chosen, file, indent=1)
