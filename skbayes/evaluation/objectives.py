"""Objectives of a search: scores and costs that are measured for each fit.

Symbols: ``Y`` of shape (n_trials, n_objectives) contains the mean objectives. Those
that are minimized are negated, so that all columns are maximized.
"""

from __future__ import annotations

import inspect
import io
import math
import pickle
import time
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names

from skbayes.evaluation.trial import Trial, TrialState

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray

__all__ = [
    "COSTS",
    "Measure",
    "PREDICT_TIME",
    "Objectives",
    "accepts",
    "measure_of",
    "model_size",
    "n_features",
    "predict_time",
]

# Called with a fitted estimator and the result of its fit.
Measure = Callable[[Any, dict[str, Any]], float]

# Approximate number of bytes per array in a pickle in addition to its data.
ARRAY_HEADER = 40

# -- costs ----------------------------------------------------------------------------


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
    >>> from skbayes.evaluation import model_size
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
        elif isinstance(obj, type | types.FunctionType):
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
        The fitted estimator. For a pipeline, the features of its last step are counted,
        so that features removed by earlier steps are excluded. For a search, its best
        estimator is used.

    Returns
    -------
    n_features : int
        Number of columns with a nonzero coefficient (``coef_``) for any class or
        output. For estimators without coefficients, the number of columns with a
        nonzero importance (``feature_importances_``). Without either attribute,
        ``n_features_in_``.

    Raises
    ------
    ValueError
        If the estimator has none of these attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Lasso
    >>> from skbayes.evaluation import n_features
    >>> n_features(Lasso(0.1).fit(*load_iris(return_X_y=True)))
    1
    """
    estimator = _last_step(estimator)
    for name in ("coef_", "feature_importances_"):
        weights = getattr(estimator, name, None)
        if weights is not None:
            weights = weights.toarray() if hasattr(weights, "toarray") else weights
            return int(np.any(np.atleast_2d(weights) != 0, axis=0).sum())
    if not hasattr(estimator, "n_features_in_"):
        raise ValueError(
            f"n_features: {type(estimator).__name__} has none of coef_, "
            "feature_importances_ and n_features_in_."
        )
    return int(estimator.n_features_in_)


def _last_step(estimator: Any) -> Any:
    """Return the estimator that makes the final prediction."""
    while True:
        if hasattr(estimator, "steps") and estimator.steps[-1][1] != "passthrough":
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "regressor_"):
            estimator = estimator.regressor_
        else:
            return estimator


@dataclass(frozen=True)
class _Recorded:
    """Measure that reads a time from the result of a fit."""

    name: str

    def __call__(self, estimator: Any, result: dict[str, Any]) -> float:
        return result[self.name]


@dataclass(frozen=True)
class _OfEstimator:
    """Measure that calls a function of the fitted estimator."""

    function: Callable[[Any], float]

    def __call__(self, estimator: Any, result: dict[str, Any]) -> float:
        return self.function(estimator)


#: Measures of a fit, by name.
COSTS: dict[str, Callable[[Any, dict], float]] = {
    "fit_time": _Recorded("fit_time"),
    "score_time": _Recorded("score_time"),
    "cpu_time": _Recorded("cpu_time"),
    "model_size": _OfEstimator(model_size),
    "n_features": _OfEstimator(n_features),
}


#: Cost that is measured on the test rows, by :func:`predict_time`.
PREDICT_TIME = "predict_time"

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


def _predict_time_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Return the time of `predict` in the form of a scorer."""
    return predict_time(estimator, X)


def measure_of(cost: str | Callable[[Any], float]) -> Callable[[Any, dict], float]:
    """Return the measure of a cost."""
    return COSTS[cost] if isinstance(cost, str) else _OfEstimator(cost)


# -- objectives -----------------------------------------------------------------------


class Objectives:
    """Objectives of a search, as specified by the user.

    Parameters
    ----------
    objectives : dict of str to str or tuple
        "max" or "min" by name of the objective, or a tuple of this direction and the
        quantity. The quantity is the name of a scorer or a cost, a scorer, or a
        callable of the fitted estimator.

    Attributes
    ----------
    names : list of str
        Names of the objectives, in order.
    signs : ndarray of shape (n_objectives,)
        1 for objectives that are maximized, -1 for the others.
    scorers : dict
        Scorers by name.
    measures : dict
        Measures of the fits by name, see :func:`skbayes.evaluation.fold.run_fold`.

    Raises
    ------
    TypeError, ValueError
        If the objectives are invalid; the message contains the name of the objective.
    """

    separate_costs = False

    def __init__(self, objectives: Any) -> None:
        if not isinstance(objectives, Mapping):
            raise TypeError(
                f"objectives must be a dict such as {_as_dict(objectives)}, got "
                f"{objectives!r}."
            )
        if len(objectives) < 2:
            raise ValueError(
                "objectives must contain two or more objectives, got "
                f"{dict(objectives)!r}. For one objective, use BayesSearchCV."
            )
        self.names = list(objectives)
        self.scorers: dict[str, Any] = {}
        self.measures: dict[str, Callable[[Any, dict], float]] = {}
        directions = [self._take(name, objectives[name]) for name in self.names]
        self.signs = np.where(np.array(directions) == "max", 1.0, -1.0)
        if all(scorer is _predict_time_scorer for scorer in self.scorers.values()):
            raise ValueError(
                "objectives must contain at least one scorer, such as 'accuracy', got "
                f"{self.names!r}, which are all costs."
            )

    def _take(self, name: Any, given: Any) -> str:
        """Add one objective to the scorers or measures, and return its direction."""
        if not isinstance(name, str):
            raise TypeError(f"objectives: names must be strings, got {name!r}.")
        direction, meant = given if _is_pair(given) else (given, name)
        if not isinstance(direction, str) or direction not in ("max", "min"):
            raise ValueError(
                f"objectives[{name!r}] must be 'max', 'min', or a tuple of that and a "
                f"scorer, a cost or a callable, got {given!r}."
            )
        if isinstance(meant, str):
            if meant in COSTS:
                self.measures[name] = measure_of(meant)
            elif meant == PREDICT_TIME:
                self.scorers[name] = _predict_time_scorer
            elif meant in get_scorer_names():
                if direction == "min":
                    raise ValueError(
                        f"objectives[{name!r}]: greater values of the scorer {meant!r} "
                        "are better, as for all scorers of scikit-learn. Use 'max'."
                    )
                self.scorers[name] = meant
            else:
                raise ValueError(
                    f"objectives[{name!r}]: {meant!r} is neither one of the costs "
                    f"{[*COSTS, PREDICT_TIME]} nor the name of a scorer; give a "
                    f"callable by {{{name!r}: ({direction!r}, callable)}}."
                )
        elif accepts(meant, 3):
            self.scorers[name] = meant
        elif accepts(meant, 1):
            self.measures[name] = measure_of(meant)
        else:
            raise TypeError(
                f"objectives[{name!r}]: {meant!r} must be a callable of the fitted "
                "estimator, or a scorer: a callable of estimator, X and y."
            )
        return direction

    def multi_scorer(self, estimator: Any, raise_exc: bool) -> Any:
        """Return a scorer that computes all scores at once."""
        return check_scoring(estimator, self.scorers, raise_exc=raise_exc)

    @property
    def name(self) -> str:
        """Name of the first objective, used where only one metric is supported."""
        return self.names[0]

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the first objective from the scores of a fold; greater is better."""
        return float(self.signs[0] * scores[self.name])

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the mean objectives of a trial over the fitted folds."""
        folds = [fold.test_scores for fold in trial.folds if not fold.skipped]
        if trial.state == TrialState.FAILED or not folds:
            return [math.nan] * len(self.names)
        means = [np.mean([scores[name] for scores in folds]) for name in self.names]
        return [float(y) for y in self.signs * means]

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the configurations on the front of (params, scores, noise) tuples."""
        if not known:
            return []
        # Imported late, because workers import this module.
        from skbayes.acquisition.hypervolume import is_nondominated

        front = is_nondominated(np.array([scores for _, scores, _ in known]))
        return [one[0] for one, on_it in zip(known, front, strict=True) if on_it]

    def of_results(
        self, results: Mapping[str, Any], trials: Sequence[Trial]
    ) -> FloatArray:
        """Return the mean objectives of all trials."""
        means = [results[f"mean_test_{name}"] for name in self.names]
        Y = self.signs * np.column_stack(means)
        complete = np.array([trial.state == TrialState.COMPLETE for trial in trials])
        Y[~(complete & np.all(np.isfinite(Y), axis=1))] = np.nan
        return Y


def _as_dict(names: Any) -> dict[str, str]:
    """Return an example of a dict of objectives for a list of names."""
    if not isinstance(names, list | tuple | set) or len(names) < 2:
        names = ["accuracy", "score_time"]
    costs = {*COSTS, PREDICT_TIME}
    return {str(name): "min" if name in costs else "max" for name in names}


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2


def accepts(function: Any, n: int) -> bool:
    """Whether something can be called with `n` arguments."""
    try:
        inspect.signature(function).bind(*[None] * n)
    except (TypeError, ValueError):
        return False
    return True
