"""Validation of the arguments and data of a search, before its first fit."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils import get_tags, indexable

from skbayes import compat
from skbayes.search.parameters import EXPECTED, SearchParameters
from skbayes.space import Space
from skbayes.trial.fold import n_rows
from skbayes.trial.measure import check_metrics_suit
from skbayes.trial.settings import RULES, Settings
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_user

# Maximum number of configurations on which a constraint is tried before the first fit.
MAX_CHECKED = 20
# Usual names of the first argument of metrics that compare labels.
LABELS = frozenset({"y", "y_true", "y_test", "true", "target", "targets", "labels"})
# Metrics of the method `score` of regressors and classifiers.
DEFAULTS = ("r2", "accuracy")
# Parameters of estimators that contain other estimators.
INNER = frozenset({"estimator", "estimators", "final_estimator", "regressor"})
# Parameters with lists of names and estimators.
PARTS = frozenset({"steps", "transformers", "transformer_list", "estimators"})


def check_arguments(search: SearchParameters, settings: Settings) -> None:
    """Raise an error for classes instead of objects, and for unknown metrics."""
    check_instances(settings.estimator, "estimator")
    check_instances(settings.cv, "cv")
    if search.n_jobs == 0:
        raise ValueError(
            "n_jobs must be the number of fits at the same time, or -1 for all "
            "processors, got 0."
        )
    n_iter, in_flight = settings.n_iter, search.pre_dispatch
    _check_pre_dispatch(in_flight)
    if n_iter is None and search.timeout is None and not settings.stoppers:
        raise ValueError("n_iter=None requires timeout or stopper to end the search.")
    counts = list(np.ravel(n_iter)) if n_iter is not None else [np.inf]
    is_valid = all(isinstance(n, Integral) for n in counts)
    if not isinstance(in_flight, str) and is_valid and in_flight > sum(counts):
        warn_user(
            f"pre_dispatch={in_flight} is more than n_iter={n_iter}: all "
            "trials are proposed before a score is known, so the surrogate is never "
            "used. pre_dispatch is the number of trials that run at the same time."
        )
    for metric in _metrics(settings.scoring):
        check_metric_name(metric, "scoring")
        _check_scorer(metric)
    if callable(refit := settings.refit.value):
        check_instances(refit, "refit")
        check_call("refit", refit, "cv_results_")
    for criterion in settings.stoppers:
        check_call("stopper", criterion, "the trials so far")
    if isinstance(settings.cv, list | tuple):
        for split in settings.cv:
            if not isinstance(split, list | tuple | np.ndarray) or len(split) != 2:
                raise ValueError(
                    "cv: each split must be a pair of training rows and test rows, got "
                    f"{split!r}."
                )


def _check_pre_dispatch(value: Any) -> None:
    """Raise ValueError for a string that joblib cannot evaluate."""
    if not isinstance(value, str) or value == "all" or compat.eval_expr is None:
        return
    try:
        amount = int(compat.eval_expr(value.replace("n_jobs", "2")))
    except Exception:
        amount = 0
    if amount < 1:
        raise ValueError(
            f"pre_dispatch must be {EXPECTED['pre_dispatch']}, got {value!r}."
        )


def _check_scorer(metric: Any) -> None:
    """Raise TypeError for a function of true and predicted labels."""
    if not inspect.isroutine(metric) and not isinstance(metric, functools.partial):
        return
    try:
        names = list(inspect.signature(metric).parameters)
    except ValueError:  # a function in C without a signature
        return
    name = getattr(metric, "__name__", repr(metric))
    of_library = str(getattr(metric, "__module__", "")).startswith("sklearn.metrics.")
    if names[:1] != ["estimator"] and (of_library or names[:1] and names[0] in LABELS):
        raise TypeError(
            f"scoring: {name} compares labels and does not accept an estimator; write "
            f"make_scorer({name}) or the name of a metric."
        )


def check_call(name: str, function: Any, *arguments: str, remedy: str = "") -> None:
    """Raise TypeError for a callable that does not accept the arguments.

    In `remedy`, braces stand for its name.
    """
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # a function in C without a signature
        pass
    except TypeError as error:
        called = getattr(function, "__name__", repr(function))
        accepts = " and".join(", ".join(arguments).rsplit(",", 1))
        raise TypeError(
            f"{name}: {called} must accept {accepts} ({error}).{remedy.format(called)}"
        ) from error


def check_instances(estimator: Any, name: str) -> None:
    """Raise TypeError for a class in place of an estimator or of one of its parts."""
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} must be an object, got the class {estimator.__name__}; write "
            f"{estimator.__name__}() with its parameters."
        )
    if not hasattr(estimator, "get_params"):
        return
    for parameter, value in estimator.get_params(deep=False).items():
        if parameter in INNER - PARTS:
            check_instances(value, f"{name}.{parameter}")
        if parameter in PARTS and isinstance(value, list | tuple):
            for part in value:
                # A tuple of a name, the part, and perhaps columns.
                if isinstance(part, tuple) and len(part) > 1:
                    check_instances(part[1], f"{name}.{parameter}[{part[0]!r}]")


def check_metric_name(metric: Any, parameter: str) -> None:
    """Raise ValueError if a metric is a string that scikit-learn does not know."""
    names = get_scorer_names()
    if isinstance(metric, str) and metric not in names:
        raise ValueError(
            f"{parameter}: {metric!r} is not the name of a metric."
            f"{did_you_mean(metric, names)} sklearn.metrics.get_scorer_names() lists "
            "them."
        )


def _check_metric_of_refit(settings: Settings, rules: Sequence[str]) -> None:
    """Check a `refit` that names a metric; warn if the search has another one."""
    refit, scoring = settings.refit.value, settings.scoring
    if _is_several(scoring):
        hint = did_you_mean(refit, [*rules, *scoring])
        # Other wrong names are left to scikit-learn.
        if refit not in scoring and hint:
            raise ValueError(
                "For multi-metric scoring, the parameter refit must be set to a scorer "
                f"key, a rule or a callable, got {refit!r}.{hint}"
            )
    elif refit in _names_of_single(settings):
        return
    elif refit in get_scorer_names():
        warn_user(
            f"refit={refit!r} is not the metric of the search, and has no effect. To "
            f"choose by this metric, write scoring={refit!r}."
        )
    # A callable may return several metrics, whose names are not known yet.
    elif did_you_mean(refit, rules) or not callable(scoring) or _is_scorer(scoring):
        raise ValueError(
            f"refit must be True, False, a callable, one of {rules}, or one of several "
            f"metrics, got {refit!r}.{did_you_mean(refit, rules)}"
        )


def check_refit(settings: Settings) -> None:
    """Raise ValueError for an unknown rule."""
    choice, rules = settings.refit, sorted(RULES)
    refit = choice.value
    if choice.rule is not None and choice.metric is not None:
        several = _is_several(settings.scoring)
        metrics = settings.scoring if several else _names_of_single(settings)
        if choice.metric not in metrics:
            raise ValueError(
                f"refit: {choice.metric!r} is not a metric of the search."
                f"{did_you_mean(str(choice.metric), map(str, metrics))}"
            )
    if isinstance(refit, Mapping) and choice.rule is None:
        names, rule = ", ".join(map(repr, rules)), refit.get("rule")
        if "rule" not in refit:
            raise ValueError(
                f"refit: a dict must have a 'rule', which must be one of {names}, "
                f"got {dict(refit)!r}."
            )
        hint = did_you_mean(str(rule), rules)
        raise ValueError(f"refit['rule'] must be one of {names}, got {rule!r}.{hint}")
    if isinstance(refit, str) and choice.rule is None:
        _check_metric_of_refit(settings, rules)


def _names_of_single(settings: Settings) -> list[Any]:
    """Return the names by which `refit` can mean the only metric."""
    if callable(settings.scoring):  # the metric of a scorer can have any name
        return ["score", *get_scorer_names()]
    # Whether the space makes it a classifier is not known yet.
    return ["score", *([settings.scoring] if settings.scoring else DEFAULTS)]


def _is_several(scoring: Any) -> bool:
    return isinstance(scoring, list | tuple | set | Mapping)


def _is_scorer(scoring: Any) -> bool:
    """Return whether a callable is a scorer of :mod:`sklearn.metrics`."""
    return type(scoring).__module__.startswith("sklearn.")


def _metrics(scoring: Any) -> list[Any]:
    if isinstance(scoring, Mapping):
        return list(scoring.values())
    return list(scoring) if isinstance(scoring, list | tuple | set) else [scoring]


def check_stoppers(stopper: Any) -> list[Callable]:
    """Return the stopping criteria as a list."""
    value = [] if stopper is None else stopper
    stoppers = list(value) if isinstance(value, list | tuple) else [value]
    for criterion in stoppers:
        if callable(criterion) and not isinstance(criterion, type):
            continue
        name = getattr(criterion, "__name__", "")
        advice = (
            f"the class {name}; write {name}(...) with its parameters."
            if isinstance(criterion, type)
            else f"{criterion!r}; skbayes.loop.stopping has ready-made ones, such as "
            "NoImprovement(10)."
        )
        raise TypeError(
            f"stopper must be a callable or a list of callables, got {advice}"
        )
    return stoppers


def check_fit_names(estimator: Any, params: Mapping[str, Any]) -> None:
    """Raise TypeError for callbacks as arguments of `fit` that do not exist."""
    parameters = inspect.signature(estimator.fit).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in {"callback", "callbacks"} & params.keys():
        if name not in parameters and not open_ended:
            raise TypeError(
                f"fit: {type(estimator).__name__} takes no {name!r}. Pass a "
                "function that can end the search as its parameter stopper=.... With "
                "scikit-learn 1.9 or later, set callbacks before fit with "
                "search.set_callbacks(...)."
            )


def check_data(scoring: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Check the data; return them in an indexable form."""
    if X is None:
        raise ValueError("X is None; call fit(X, y) with the rows to learn from.")
    try:
        X, y = indexable(X, y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X and y: {error}") from error
    is_column = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "biuf"
    if is_column and np.ndim(y) == 2:
        raise ValueError(
            "X has one dimension and y has two; swap them, as in fit(X, y)."
        )
    if not n_rows(X):
        raise ValueError(
            "X has no rows; call fit(X, y) with at least one row per fold."
        )
    if y is not None:
        for metric in filter(callable, _metrics(scoring)):
            remedy = " If it compares true and predicted labels, write make_scorer({})."
            check_call("scoring", metric, "an estimator", "X", "y", remedy=remedy)
    return X, y


def check_target(models: Sequence[Any], scoring: Any, y: Any) -> None:
    """Check the target for the estimators of the trials, and the metrics on it."""
    kinds = [_kind(model) for model in models]
    if y is None:
        for model, (_, needs_y) in zip(models, kinds, strict=True):
            if needs_y:
                raise ValueError(
                    f"{type(model).__name__} requires y to be passed, but the "
                    "target y is None; call fit(X, y)."
                )
        return
    if any(kind == "classifier" for kind, _ in kinds):
        _check_labels(y)
    labels = {f"scoring={n!r}": n for n in _metrics(scoring) if isinstance(n, str)}
    if labels:
        check_metrics_suit(models, labels, y)


def _check_labels(y: Any) -> None:
    try:
        labels = np.asarray(compat.to_host(y))
    except Exception:  # left to the estimator
        return
    if labels.dtype.kind not in "Of" or labels.ndim != 1:
        return
    # Missing values differ from themselves, or are None, or cannot be compared.
    missing = [i for i, label in enumerate(labels) if _is_missing(label)]
    if missing:
        rows = "row" if len(missing) == 1 else "rows"
        shown = ", ".join(map(str, missing[:5])) + ", …" * (len(missing) > 5)
        raise ValueError(
            f"y contains missing labels (NaN or None) in {rows} {shown}. Remove these "
            "rows from X and y."
        )


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA, or arrays
        return np.ndim(label) == 0


def check_lengths(X: Any, params: Mapping[str, Any]) -> None:
    """Check that there is one sample weight per row, and one group."""
    for name, values in params.items():
        is_by_row = name == "groups" or name.rpartition("__")[2] == "sample_weight"
        if is_by_row and np.ndim(values) > 0 and n_rows(values) != n_rows(X):
            raise ValueError(
                f"{name} must have one value for each of the {n_rows(X)} rows of X, "
                f"got {n_rows(values)} values."
            )


def _kind(estimator: Any) -> tuple[str | None, bool]:
    """Return the type of an estimator, and whether it requires y."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tags = get_tags(estimator)
    except Exception:  # an object without tags
        return None, False
    kind = tags.estimator_type
    # The tags of a pipeline contain its type, but not whether it requires y.
    supervised = kind in ("classifier", "regressor")
    return kind, supervised or bool(tags.target_tags.required)


def check_constraint(space: Space) -> None:
    """Call the rule of the configurations on each kind of configuration."""
    if space.constraint is not None:
        sample = space.covering_sample()
        for candidate in sample[:: math.ceil(len(sample) / MAX_CHECKED)]:
            space.allows(candidate)
