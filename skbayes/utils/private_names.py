"""Private names of scikit-learn and joblib, looked up individually.

If a release lacks a name, a substitute replaces it, and a single warning lists the
features that do not work. The import never fails. Only `skbayes.compat` imports these
names.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import multiprocessing
import operator
import warnings
from concurrent.futures import BrokenExecutor
from numbers import Real
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import joblib
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skbayes.utils import substitutes

#: Features that are missing in this environment, by missing private name.
LOST: dict[str, str] = {}

#: Lookups of all names: a module or class, and the name in it.
LOOKED_UP: list[tuple[Any, str]] = []


def _private(owner: Any, name: str, substitute: Any, lost: str = "") -> Any:
    """Return a private name of a module or class, or a substitute for it.

    `lost` describes the feature that does not work with the substitute, if any.
    """
    LOOKED_UP.append((owner, name))
    try:
        found = importlib.import_module(owner) if isinstance(owner, str) else owner
        return operator.attrgetter(name)(found)
    except (ImportError, AttributeError):
        if lost:
            LOST[f"{owner if isinstance(owner, str) else owner.__name__}.{name}"] = lost
        return substitute


def _ancestor(kind: type, name: str, substitute: type, lost: str) -> Any:
    """Return a private base class of a public class, or a substitute for it."""
    for base in kind.__mro__:
        if base.__name__ == name:
            return base
    LOST[name] = lost
    return substitute


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    pass


# mypy takes this for True. For mypy, the classes of scikit-learn are of type Any, and a
# class that derives from one of them would have every attribute.
MYPY = False

if TYPE_CHECKING:

    class _SearchMethods:
        """Public methods of the base class, for type checkers and editors."""

        @property
        def classes_(self) -> Any: ...
        @property
        def n_features_in_(self) -> int: ...
        def decision_function(self, X: Any) -> Any: ...
        def get_metadata_routing(self) -> Any: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def inverse_transform(self, X: Any) -> Any: ...
        def predict(self, X: Any) -> Any: ...
        def predict_log_proba(self, X: Any) -> Any: ...
        def predict_proba(self, X: Any) -> Any: ...
        def score(self, X: Any, y: Any = None, **params: Any) -> float: ...
        def score_samples(self, X: Any) -> Any: ...
        def set_params(self, **params: Any) -> Self: ...
        def transform(self, X: Any) -> Any: ...

    if MYPY:

        class BaseSearchCV(_SearchMethods):
            """Base class for mypy."""

    else:

        class BaseSearchCV(_SearchMethods, BaseEstimator):
            """Base class for others."""

else:
    BaseSearchCV = _ancestor(
        GridSearchCV, "BaseSearchCV", GridSearchCV, "the base class of searches"
    )
LinearClassifierMixin = _ancestor(
    LogisticRegression,
    "LinearClassifierMixin",
    ClassifierMixin,
    "LiblinearClassifier.predict",
)

# -- of scikit-learn: fits and scores
_VALIDATION = "sklearn.model_selection._validation"
#: Fits on one training set and scores on its test set, as GridSearchCV does.
fit_and_score = _private(
    _VALIDATION,
    "_fit_and_score",
    substitutes.fit_and_score,
    "callbacks, and the messages of verbose > 1",
)
#: Warns about failed fits, or raises ValueError if all fits failed.
report_failures = _private(
    _VALIDATION, "_warn_or_raise_about_fit_failures", substitutes.report_failures
)
#: Selects rows of the data, and also columns of a precomputed kernel.
safe_split = _private(
    "sklearn.utils.metaestimators",
    "_safe_split",
    substitutes.safe_split,
    "the checks of precomputed kernels",
)
#: Makes fit parameters with one entry per sample indexable, or selects their rows.
check_fit_params = _private(
    "sklearn.utils.validation",
    "_check_method_params",
    substitutes.check_fit_params,
    "the conversion of fit parameters",
)

# -- of scikit-learn: the steps of BaseSearchCV.fit
#: Returns the scorer of a search and the metric that `refit` selects by.
resolve_scorers = _private(
    BaseSearchCV,
    "_get_scorers",
    substitutes.resolve_scorers,
    "GridSearchCV's checks of scoring",
)
#: Splits fit parameters of a search among estimator, scorer and splitter.
route_fit_params = _private(
    BaseSearchCV,
    "_get_routed_params_for_fit",
    substitutes.route_fit_params,
    "sample weights in the scores, unless metadata routing is enabled",
)
#: Raises ValueError if `refit` of a search is not valid for the metrics of its scores.
check_multimetric_refit = _private(
    BaseSearchCV, "_check_refit_for_multimetric", substitutes.check_multimetric_refit
)
#: Builds `cv_results_` of a search, (search, params, n_splits, results, more_results).
format_results = _private(
    BaseSearchCV,
    "_format_results",
    substitutes.format_results,
    "the types of the columns of parameters in cv_results_",
)
#: Returns the row of the results that a refit chooses by a metric.
select_best_index = _private(
    BaseSearchCV, "_select_best_index", substitutes.select_best_index
)

# -- of scikit-learn: checks of the arguments of constructors
_CONSTRAINTS = "sklearn.utils._param_validation"
_UNCHECKED = "checks of arguments"
_fit_context = _private(
    "sklearn.base", "_fit_context", substitutes.fit_context, _UNCHECKED
)
HasMethods = _private(_CONSTRAINTS, "HasMethods", substitutes.AnyValue, _UNCHECKED)
Interval = _private(_CONSTRAINTS, "Interval", substitutes.AnyValue, _UNCHECKED)
_StrOptions = _private(_CONSTRAINTS, "StrOptions", substitutes.AnyValue, _UNCHECKED)
RealNotInt = _private(_CONSTRAINTS, "RealNotInt", Real, _UNCHECKED)
InvalidParameterError = _private(_CONSTRAINTS, "InvalidParameterError", ValueError)
validate_parameter_constraints = _private(
    _CONSTRAINTS, "validate_parameter_constraints", _do_nothing, _UNCHECKED
)

# -- of scikit-learn: its copy of LIBLINEAR
_NO_LIBLINEAR = "LiblinearClassifier without liblinear-official"
_WRAPPER = "sklearn.svm._liblinear"
set_verbosity_wrap = _private(_WRAPPER, "set_verbosity_wrap", _do_nothing)
train_wrap = _private(_WRAPPER, "train_wrap", None, _NO_LIBLINEAR)

# -- of joblib
_LOKY = "joblib.externals.loky"
#: Whether the system can start processes, which loky needs; browsers cannot.
_HAS_PROCESSES = importlib.util.find_spec("_multiprocessing") is not None
_SETTINGS = "settings of joblib.parallel_config other than the backend"
get_reusable_executor = _private(
    _LOKY,
    "get_reusable_executor",
    None,
    "an immediate end of workers" if _HAS_PROCESSES else "",
)
ShutdownExecutorError = _private(
    f"{_LOKY}.process_executor", "ShutdownExecutorError", BrokenExecutor
)
resource_tracker = _private(
    f"{_LOKY}.backend",
    "resource_tracker",
    SimpleNamespace(register=_do_nothing, unregister=_do_nothing),
    "the removal of temporary files after a process is killed"
    if _HAS_PROCESSES
    else "",
)
TASK_PENDING = _private("joblib.parallel", "TASK_PENDING", None)
default_parallel_config = _private(
    "joblib.parallel", "default_parallel_config", None, _SETTINGS
)
_joblib_state = _private("joblib.parallel", "_backend", None, _SETTINGS)
get_active_backend = _private(
    "joblib.parallel", "get_active_backend", lambda: (joblib.Parallel()._backend, None)
)

_FIT_AND_SCORE_PARAMETERS = frozenset(inspect.signature(fit_and_score).parameters)
_TAKES_CALLBACKS = {"caller", "callback_ctx"} <= _FIT_AND_SCORE_PARAMETERS
_init_callback_context = _private(
    BaseSearchCV,
    "_init_callback_context",
    None,
    "callbacks" if _TAKES_CALLBACKS else "",
)

#: Whether this scikit-learn release has the callback API (since 1.9).
HAS_CALLBACKS = _TAKES_CALLBACKS and _init_callback_context is not None


def _warn_of_losses() -> None:
    """Issue one warning about missing features, except in worker processes."""
    if not LOST or multiprocessing.current_process().name != "MainProcess":
        return
    lost = "; ".join(dict.fromkeys(LOST.values()))
    warnings.warn(
        f"skbayes works without some features here: {lost}. It uses private names that "
        f"scikit-learn {sklearn.__version__} with joblib {joblib.__version__} does not "
        f"have: {', '.join(LOST)}. A newer release of skbayes may support these "
        "versions.",
        UserWarning,
        stacklevel=2,
    )


_warn_of_losses()
