"""Private names of scikit-learn and joblib, looked up individually.

If a release lacks a name, skbayes can still be imported, and `fit` raises an
ImportError that contains the name. Only `skbayes.compat` imports these names.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
from concurrent.futures import BrokenExecutor
from numbers import Real
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

#: Names that this environment does not have, and that every `fit` needs.
MISSING: list[str] = []

#: Lookups of all names: a module or class, and the name in it.
LOOKED_UP: list[tuple[Any, str]] = []


class _Missing:
    """Placeholder of a missing name, which can be called and subclassed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


def _private(
    owner: Any, name: str, substitute: Any = _Missing, is_needed: bool = True
) -> Any:
    """Return a private name of a module or class, or its substitute."""
    LOOKED_UP.append((owner, name))
    try:
        container = importlib.import_module(owner) if isinstance(owner, str) else owner
        return operator.attrgetter(name)(container)
    except (ImportError, AttributeError):
        if is_needed:
            owner = owner if isinstance(owner, str) else owner.__name__
            MISSING.append(f"{owner}.{name}")
        return substitute


def _ancestor(kind: type, name: str, substitute: type) -> Any:
    """Return a private base class of a public class, or its substitute."""
    for base in kind.__mro__:
        if base.__name__ == name:
            return base
    MISSING.append(name)
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
    BaseSearchCV = _ancestor(GridSearchCV, "BaseSearchCV", GridSearchCV)

LinearClassifierMixin = _ancestor(
    LogisticRegression, "LinearClassifierMixin", ClassifierMixin
)

# -- of scikit-learn: fits and scores
_VALIDATION = "sklearn.model_selection._validation"
#: Fits on one training set and scores on its test set, as GridSearchCV does.
fit_and_score = _private(_VALIDATION, "_fit_and_score")
#: Warns about failed fits, or raises ValueError if all fits failed.
report_failures = _private(_VALIDATION, "_warn_or_raise_about_fit_failures")
#: Selects rows of the data, and also columns of a precomputed kernel.
safe_split = _private("sklearn.utils.metaestimators", "_safe_split")
#: Makes fit parameters with one entry per sample indexable, or selects their rows.
check_fit_params = _private("sklearn.utils.validation", "_check_method_params")

# -- of scikit-learn: the steps of BaseSearchCV.fit
#: Returns the scorer of a search and the metric that `refit` selects by.
resolve_scorers = _private(BaseSearchCV, "_get_scorers")
#: Splits fit parameters of a search among estimator, scorer and splitter.
route_fit_params = _private(BaseSearchCV, "_get_routed_params_for_fit")
#: Raises ValueError if `refit` of a search is not valid for the metrics of its scores.
check_multimetric_refit = _private(BaseSearchCV, "_check_refit_for_multimetric")
#: Builds `cv_results_` of a search, (search, params, n_splits, results, more_results).
format_results = _private(BaseSearchCV, "_format_results")
#: Returns the row of the results that a refit chooses by a metric.
select_best_index = _private(BaseSearchCV, "_select_best_index")

# -- of scikit-learn: checks of the arguments of constructors
_CONSTRAINTS = "sklearn.utils._param_validation"
_fit_context = _private("sklearn.base", "_fit_context")
HasMethods = _private(_CONSTRAINTS, "HasMethods")
Interval = _private(_CONSTRAINTS, "Interval")
_StrOptions = _private(_CONSTRAINTS, "StrOptions")
RealNotInt = _private(_CONSTRAINTS, "RealNotInt", Real)
InvalidParameterError = _private(_CONSTRAINTS, "InvalidParameterError")
validate_parameter_constraints = _private(
    _CONSTRAINTS, "validate_parameter_constraints"
)

# -- of scikit-learn: model of a class that all or no training rows have
ConstantPredictor = _private(
    "sklearn.multiclass", "_ConstantPredictor", is_needed=False
)

# -- of joblib
_LOKY = "joblib.externals.loky"
#: Whether the system can start processes, which loky needs; browsers cannot.
_HAS_PROCESSES = importlib.util.find_spec("_multiprocessing") is not None
get_reusable_executor = _private(
    _LOKY, "get_reusable_executor", is_needed=_HAS_PROCESSES
)
ShutdownExecutorError = _private(
    f"{_LOKY}.process_executor", "ShutdownExecutorError", BrokenExecutor, False
)
resource_tracker = _private(
    f"{_LOKY}.backend",
    "resource_tracker",
    SimpleNamespace(register=_do_nothing, unregister=_do_nothing),
    _HAS_PROCESSES,
)
#: Computes the value of `pre_dispatch` for a number of jobs.
eval_expr = _private("joblib.parallel", "eval_expr", None, False)
TASK_PENDING = _private("joblib.parallel", "TASK_PENDING", None, False)
default_parallel_config = _private("joblib.parallel", "default_parallel_config")
_joblib_state = _private("joblib.parallel", "_backend")
get_active_backend = _private("joblib.parallel", "get_active_backend")

#: Whether this scikit-learn release has the callback API (since 1.9).
HAS_CALLBACKS = {"caller", "callback_ctx"} <= {
    *inspect.signature(fit_and_score).parameters
}
_private(BaseSearchCV, "_init_callback_context", is_needed=HAS_CALLBACKS)
