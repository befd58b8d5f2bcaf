"""Use of private names of scikit-learn and joblib, and differences between releases.

The functions check the features of a release by signature or attribute, never by its
version number, so that later releases are supported. `private_names` looks up the
names.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial, wraps
from numbers import Real
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import sklearn
from sklearn import get_config
from sklearn.metrics import check_scoring

import skbayes
from skbayes.compat.private_names import (
    HAS_CALLBACKS,
    MISSING,
    BaseSearchCV,
    ConstantPredictor,
    HasMethods,
    Interval,
    InvalidParameterError,
    LinearClassifierMixin,
    RealNotInt,
    ShutdownExecutorError,
    _fit_context,
    _StrOptions,
    check_fit_params,
    check_multimetric_refit,
    eval_expr,
    fit_and_score,
    format_results,
    report_failures,
    resolve_scorers,
    route_fit_params,
    safe_split,
    select_best_index,
    validate_parameter_constraints,
)

# Names of other modules that can be imported from this one.
__all__ = [
    "HAS_CALLBACKS",
    "BaseSearchCV",
    "ConstantPredictor",
    "DocumentationLink",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "LinearClassifierMixin",
    "RealNotInt",
    "ShutdownExecutorError",
    "check_fit_params",
    "check_multimetric_refit",
    "eval_expr",
    "fit_and_score",
    "format_results",
    "has_callbacks",
    "report_failures",
    "resolve_scorers",
    "route_fit_params",
    "safe_split",
    "select_best_index",
]

_FIT_AND_SCORE_PARAMETERS = frozenset(inspect.signature(fit_and_score).parameters)

_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Return scikit-learn's decorator of `fit`, which validates parameters.

    If the release lacks a private name, `fit` raises an ImportError.
    """
    if MISSING:
        return _refused
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def _refused(method: _Method) -> _Method:
    """Return a method that raises an error with the missing names."""

    def fit(*args: Any, **kwargs: Any) -> Any:
        raise ImportError(
            f"skbayes needs private names that scikit-learn {sklearn.__version__} with "
            f"joblib {joblib.__version__} does not have: {', '.join(MISSING)}. Install "
            "a newer release of skbayes, or an older one of these packages."
        )

    return cast(_Method, wraps(method)(fit))


class StrOptions(_StrOptions):
    """Constraint of scikit-learn, with sorted options in its message."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


# --- steps of BaseSearchCV.fit --------------------------------------------------------


def is_multimetric_scorer(scorers: Any) -> bool:
    """Return whether several named metrics are computed together."""
    return isinstance(getattr(scorers, "_scorers", None), dict)


def covered_scorer(scorers: Any, score: Callable[..., Any]) -> Any:
    """Wrap `score`, in the class of multi-metric scorers if `scorers` is one."""
    if not is_multimetric_scorer(scorers):
        return score
    kind = type(scorers)
    covered = copy.copy(scorers)
    calls = {"__call__": lambda self, *args, **kwargs: score(*args, **kwargs)}
    covered.__class__ = type(kind.__name__, (kind,), calls)
    return covered


def response_methods(scorer: Any) -> tuple[str, ...]:
    """Return the methods that a scorer can call, by preference; empty if unknown."""
    methods = getattr(scorer, "_response_method", ())
    return (methods,) if isinstance(methods, str) else tuple(methods or ())


def joint_scorer(estimator: Any, scorers: Mapping[str, Any], raises: bool) -> Any:
    """Return a scorer of several metrics, some of which may be functions.

    Without metadata routing, scikit-learn passes weights to the metrics that accept
    them. It asks each metric by a method that functions do not have.
    """
    joint = check_scoring(estimator, scorers, raise_exc=raises)
    for name, scorer in joint._scorers.items():
        if not {"_accept_sample_weight", "get_metadata_routing"} & {*dir(scorer)}:
            joint._scorers[name] = function = partial(scorer)
            accepts: Any = partial(_accepts_weights, scorer)
            function._accept_sample_weight = accepts  # type: ignore[attr-defined]
    return joint


def _accepts_weights(scorer: Callable[..., Any]) -> bool:
    check = getattr(scorer, "_accept_sample_weight", None)
    return check() if check else "sample_weight" in inspect.signature(scorer).parameters


def raising_scorer(scorers: Any) -> Any:
    """Return a scorer that raises the exceptions of all of its metrics."""
    if not is_multimetric_scorer(scorers):
        return scorers
    raising = copy.copy(scorers)
    raising._raise_exc = True
    return raising


def public_scorers(scorers: Any) -> Any:
    """Return the value of `scorer_`: a dict for several metrics, else the scorer."""
    return scorers._scorers if is_multimetric_scorer(scorers) else scorers


def is_in_cross_validation() -> bool:
    """Return whether scikit-learn's cross-validation called this code."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        if frame.f_code.co_name in ("_fit_and_score", "_fit_and_predict"):
            if frame.f_globals.get("__name__", "").startswith("sklearn."):
                return True
        frame = frame.f_back
    return False


def refused_value(estimator: Any, name: str, value: Any) -> Exception | None:
    """Return the error for an invalid value of a parameter, or None."""
    kind = type(estimator)
    constraints = getattr(estimator, "_parameter_constraints", None)
    if (
        # A third-party subclass does not have to validate inherited constraints.
        not kind.__module__.startswith(("sklearn.", "skbayes."))
        or not isinstance(constraints, dict)
        or name not in constraints
    ):
        return None
    return invalid_value(kind.__name__, name, value, constraints[name])


def invalid_value(
    caller: str, name: str, value: Any, accepted: Any
) -> InvalidParameterError | None:
    """Return the error for a value that is not among the accepted ones, or None."""
    if get_config().get("skip_parameter_validation"):
        return None
    try:
        if isinstance(value, Real) and accepted != "no_validation":
            float(value)  # for Python, durations of NumPy are integers
        validate_parameter_constraints({name: accepted}, {name: value}, caller)
    except InvalidParameterError as error:
        return error
    except (TypeError, OverflowError) as error:
        return InvalidParameterError(f"{caller}: {name!r} is not possible: {error}.")
    return None


def listed_strings(estimator: Any, name: str) -> list[str]:
    """Return the strings that an estimator of scikit-learn declares for a parameter."""
    accepted = estimator._parameter_constraints[name]
    listed = [option for one in accepted for option in getattr(one, "options", ())]
    return [option for option in listed if isinstance(option, str)]


def number_types(estimator: Any, name: str) -> set[Any]:
    """Return the types of a parameter, by its constraints or its default value."""
    constraints = getattr(estimator, "_parameter_constraints", None)
    if isinstance(constraints, dict) and name in constraints:
        declared = constraints[name] if isinstance(constraints[name], list) else []
        return {getattr(kind, "type", kind) for kind in declared}
    parameter = inspect.signature(type(estimator).__init__).parameters.get(name)
    return {Real} if type(getattr(parameter, "default", None)) is float else set()


def check_input(search: BaseSearchCV, X: Any, y: Any, split_params: dict) -> None:
    """Run the input check of the scikit-learn release, if it has one."""
    if hasattr(search, "_check_input_parameters"):
        search._check_input_parameters(X=X, y=y, split_params=split_params)


def fit_and_score_arguments(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that this release supports; 1.9 added two of them."""
    return {k: v for k, v in arguments.items() if k in _FIT_AND_SCORE_PARAMETERS}


def to_host(data: Any) -> Any:
    """Return an array of another library as a NumPy array, if it can be copied.

    `numpy.asarray` refuses arrays on other devices. Other data are unchanged.
    """
    if isinstance(data, np.ndarray) or not hasattr(data, "__dlpack__"):
        return data
    try:
        return np.from_dlpack(data, device="cpu")
    except (BufferError, RuntimeError, TypeError, ValueError):
        return data  # NumPy before 2.1 has no argument `device`


def has_callbacks(estimator: Any) -> bool:
    """Return whether an estimator has callbacks of scikit-learn."""
    callbacks = getattr(estimator, "__dict__", {}).get("_skl_callbacks", ())
    return HAS_CALLBACKS and bool(callbacks)


class DocumentationLink:
    """Mixin for estimators whose diagram links to the API reference.

    Diagrams of scikit-learn 1.8 and later also show the text of each parameter.
    """

    _doc_link_module = "skbayes"
    _doc_link_template = "https://skbayes.github.io/skbayes/dev/generated/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        kind = type(self)
        package, part, *_ = kind.__module__.split(".")
        module = package if kind.__name__ in skbayes.__all__ else f"{package}.{part}"
        return {"name": f"{module}.{kind.__name__}"}
