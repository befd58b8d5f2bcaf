"""Measurements of fits: scores, costs, and outcomes with constraints.

Objectives, costs and constraints use the same names of quantities. A quantity is a
metric of the search, a scorer, or a measure of the fitted estimator.
"""

from __future__ import annotations

import inspect
import io
import math
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import FunctionType, MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.trial.outputs import (
    StagedClassifier,
    StagedEstimator,
    StagedRegressor,
    classifier_outputs,
)
from skbayes.utils.optional import warn_user

# Number of rows on which a metric is checked; more if there are more classes.
MAX_SAMPLE = 1000
# Approximate number of bytes per array in a pickle in addition to its data.
ARRAY_HEADER = 40
# Classes of estimators that use no features, whatever `n_features_in_` is.
WITHOUT_FEATURES = (DummyClassifier, DummyRegressor, compat.ConstantPredictor)

BoolArray = NDArray[np.bool_]


def model_size(estimator: Any) -> int:
    """Measure the size of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.

    Returns
    -------
    size : int
        Approximate size in bytes of its pickle with protocol 5.

    Raises
    ------
    Exception
        Any exception that pickling raises.

    Notes
    -----
    The actual size of a pickle depends on the process that fitted the estimator: one
    object that is referenced twice takes less space than two equal objects. This
    function returns a size that does not depend on the process. Equal strings and equal
    data types of arrays count once. Arrays count by the size of their data, and classes
    and functions by the length of their names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skbayes.trial import model_size
    >>> X, y = load_iris(return_X_y=True)
    >>> for n_trees in (10, 100):
    ...     forest = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    ...     print(f"{model_size(forest) / 1e3:.1f} kB")
    19.7 kB
    186.2 kB
    """
    return _Sizer().size(estimator)


class _Sizer(pickle.Pickler):
    """Pickler that replaces process-dependent objects and adds up their sizes."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, protocol=5)
        # Keeps references to the arrays, so that their memory is not reused.
        self._counted: dict[Hashable, Any] = {}
        self._n_bytes = 0

    def size(self, obj: Any) -> int:
        self.dump(obj)
        return self._n_bytes + self._file.getbuffer().nbytes

    def persistent_id(self, obj: Any) -> int | None:
        """Count an object once and replace it by 0; return None to pickle it."""
        kind = type(obj)
        if kind in (np.ndarray, np.memmap) and not obj.dtype.hasobject:
            self.persistent_id(obj.dtype)
            place = obj.__array_interface__["data"][0], obj.nbytes
            self._count(place, obj, obj.nbytes + ARRAY_HEADER)
        elif kind is str:
            self._count(obj, obj, len(obj.encode("utf-8", "surrogatepass")))
        elif isinstance(obj, np.dtype):
            self._count(obj, obj, len(repr(obj)))
        elif isinstance(obj, type | FunctionType):
            self._count(obj, obj, len(obj.__module__) + len(obj.__qualname__))
        else:
            return None
        return 0

    def _count(self, key: Hashable, obj: Any, n_bytes: int) -> None:
        if key not in self._counted:
            self._counted[key] = obj
            self._n_bytes += n_bytes


def n_features(estimator: Any) -> int:
    """Count the features that a fitted estimator uses.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.

    Returns
    -------
    n_features : int
        Number of columns with a nonzero coefficient (``coef_``) for any class or
        output. For estimators without coefficients, the number of columns with a
        nonzero importance (``feature_importances_``). For other estimators, see the
        notes.

    Raises
    ------
    ValueError
        If the features of the estimator, or of an estimator inside of it, are unknown.

    Notes
    -----
    For a pipeline, the features of its last step are counted, so that features removed
    by earlier steps are excluded. For a selector, such as `RFE`, the selected features
    that its fitted estimator uses are counted. For an estimator that consists of fitted
    estimators, such as an ensemble, a calibrated classifier, a classifier per class or
    a search, the features that at least one of them uses are counted. For all other
    estimators, ``n_features_in_`` is returned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Lasso
    >>> from skbayes.trial import n_features
    >>> n_features(Lasso(0.1).fit(*load_iris(return_X_y=True)))
    1
    """
    return int(_used_features(estimator).sum())


def _used_features(estimator: Any) -> BoolArray:
    """Return which features a fitted estimator uses.

    They are columns of `X` or, in a pipeline, of the output of the last step that makes
    new columns.
    """
    if hasattr(estimator, "steps"):
        return _features_of_steps([step for _, step in estimator.steps])
    for name in ("coef_", "feature_importances_"):
        weights = getattr(estimator, name, None)
        if weights is not None:
            weights = weights.toarray() if hasattr(weights, "toarray") else weights
            return np.asarray(np.any(np.atleast_2d(weights) != 0, axis=0))
    parts = _fitted_parts(estimator)
    if hasattr(estimator, "get_support"):
        # Selectors with `predict` fit their estimator to the selected features.
        inner = parts if hasattr(estimator, "predict") else []
        return _selected(estimator, *map(_used_features, inner))
    n = int(getattr(estimator, "n_features_in_", 0))
    if not parts and not n:
        raise ValueError(
            f"n_features: {type(estimator).__name__} has none of coef_, "
            "feature_importances_ and n_features_in_. Pass a callable that counts them."
        )
    if not parts:
        return np.full(n, not isinstance(estimator, WITHOUT_FEATURES))
    masks = []
    columns = getattr(estimator, "estimators_features_", [slice(None)] * len(parts))
    for part, places in zip(parts, columns, strict=True):
        used = _used_features(part)
        if getattr(part, "n_features_in_", 0) > n > 0:
            used = used[:n]  # the other columns of a chain are predictions
        if not isinstance(places, slice):
            used = np.isin(np.arange(n), places[used])
        masks.append(used)
    if getattr(estimator, "passthrough", False) is True:
        # The last columns of the final estimator of a stack are the features.
        masks.append(_used_features(estimator.final_estimator_)[-n:])
    union = np.zeros(max(map(len, masks)), dtype=bool)
    for used in masks:
        union[: len(used)] |= used
    return union


def _features_of_steps(steps: Sequence[Any]) -> BoolArray:
    """Return which features the steps of a fitted pipeline use."""
    *transformers, last = [step for step in steps if hasattr(step, "fit")]
    used = _used_features(last)
    for transformer in reversed(transformers):
        if hasattr(transformer, "get_support"):
            used = _selected(transformer, used)
        elif not isinstance(transformer, OneToOneFeatureMixin):
            break
    return used


def _selected(selector: Any, *inner: BoolArray) -> BoolArray:
    """Return the selected features, as far as an inner estimator uses them."""
    used = np.array(selector.get_support())
    for mask in inner:
        if len(mask) == used.sum():
            used[used] = mask
    return used


def _fitted_parts(estimator: Any) -> list[Any]:
    """Return the fitted estimators of which an estimator consists."""
    calibrated = getattr(estimator, "calibrated_classifiers_", [])
    # If there are several estimators, `estimator_` is not fitted.
    several = getattr(estimator, "estimators_", [pair.estimator for pair in calibrated])
    if len(several):
        return list(several)
    names = ("best_estimator_", "regressor_", "estimator_")
    return [getattr(estimator, name) for name in names if hasattr(estimator, name)]


# Calls of `predict` with one row, whose median time is used.
N_CALLS = 7


def predict_time(estimator: Any, X: Any) -> float:
    """Return the seconds that `predict` takes for one row, the median of 7 calls."""
    row = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
    times = []
    for _ in range(N_CALLS):
        begin = time.perf_counter()
        estimator.predict(row)
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


@dataclass(frozen=True)
class Measure:
    """Function of the result of a fit, of its model, or of its model and test rows."""

    function: Callable[..., Any]
    argument: Literal["result", "model", "model and rows"] = "model"

    def __call__(self, result: Mapping[str, Any]) -> Any:
        """Measure a fit; ``result["test_rows"]()`` returns the rows."""
        if self.argument == "result":
            return self.function(result)
        rows = [result["test_rows"]()] if self.argument == "model and rows" else []
        return self.function(result["estimator"], *rows)


#: Measures of a fit, by name.
COSTS: dict[str, Measure] = {
    "fit_time": Measure(itemgetter("fit_time"), "result"),
    "score_time": Measure(itemgetter("score_time"), "result"),
    "cpu_time": Measure(itemgetter("cpu_time"), "result"),
    "model_size": Measure(model_size),
    "n_features": Measure(n_features),
    "predict_time": Measure(predict_time, "model and rows"),
}


def needs_fit(measures: Mapping[str, Measure]) -> bool:
    """Return whether a measure uses the fitted estimator."""
    return any(measure.argument != "result" for measure in measures.values())


def measured(
    measures: Mapping[str, Measure],
    result: Mapping[str, Any],
    subject: str,
    raises: bool,
) -> dict[str, float]:
    """Measure a fit; values are NaN if it failed, or with a warning by measurement."""
    if result["fit_error"] is not None:
        return dict.fromkeys(measures, math.nan)
    values = {}
    for name, measure in measures.items():
        try:
            # An imaginary part is dropped with a warning, as for a score.
            value = np.asarray(measure(result)).astype(np.float64)
            values[name] = float(value.reshape(()))
        except Exception:
            if raises:
                raise
            warn_of_failure(name, subject, traceback.format_exc())
            values[name] = math.nan
    return values


def warn_of_failure(name: str, subject: str, text: str) -> None:
    """Warn of a measurement that failed."""
    warn_user(
        f"Measuring {name!r}{subject} failed. It is NaN for these parameters. Details:"
        f"\n{text}",
    )


def parse_measurement(
    quantity: Any, metrics: Mapping[str, str] = MappingProxyType({})
) -> tuple[Literal["metric", "scorer", "measure"], Any] | None:
    """Return the kind of a quantity, and its key, scorer or measure; None if unknown.

    A name refers to a metric of the search, if `metrics` contains it, to a cost or to a
    scorer. A callable takes the estimator, `X` and `y`, or the estimator alone.
    """
    if isinstance(quantity, str):
        if quantity in metrics:
            return "metric", metrics[quantity]
        if quantity in COSTS:
            return "measure", COSTS[quantity]
        return ("scorer", quantity) if quantity in get_scorer_names() else None
    if isinstance(quantity, type) or not callable(quantity):
        return None
    if hasattr(quantity, "get_metadata_routing") or _accepts(quantity, 3):
        return "scorer", quantity
    return ("measure", Measure(quantity)) if _accepts(quantity, 1) else None


def _accepts(function: Any, n: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * n)
    except (TypeError, ValueError):
        return False
    return True


def check_metrics_suit(models: Sequence[Any], names: Mapping[str, str], y: Any) -> None:
    """Evaluate named metrics on constant predictions; the keys are for messages.

    For other kinds of targets and for models of several kinds, nothing is checked;
    their fits fail if the metric does not suit them.
    """
    classifies = all(map(is_classifier, models))
    if not (classifies or all(map(is_regressor, models))):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = np.asarray(compat.to_host(y))
            if type_of_target(y) not in ("binary", "multiclass", "continuous"):
                return
            if len(y) > MAX_SAMPLE:
                _, first = np.unique(y, return_index=True)
                y = y[np.union1d(first[:MAX_SAMPLE], np.arange(MAX_SAMPLE))]
            X = np.zeros((len(y), 1))
            constant = _constant_model(classifies, X, y)
        except Exception:  # left to the estimator
            return
        for label, name in names.items():
            try:
                get_scorer(name)(constant, X, y)
            except AttributeError as error:
                raise ValueError(
                    f"{label} cannot score {type(models[0]).__name__}: the metric "
                    "requires probabilities or decision values, which regressors do "
                    "not have."
                ) from error
            except ValueError as error:
                raise ValueError(
                    f"{label} is not defined for this y: {error}"
                ) from error


def _constant_model(classifies: bool, X: Any, y: np.ndarray) -> StagedEstimator:
    """Return a model of the shares of the classes or of the mean, without a fit.

    Autologging of MLflow would record the fit of a DummyClassifier.
    """
    if not classifies:
        mean = np.full(len(y), np.mean(y))
        return StagedRegressor(X, {"predict": lambda: mean})
    classes, counts = np.unique(y, return_counts=True)
    proba = np.tile(counts / len(y), (len(y), 1))
    return StagedClassifier(X, classifier_outputs(classes, proba), classes)
