"""Pipeline steps with the same result in several trials of a search.

Symbols: a *run* is a sequence of shared steps of one pipeline. `names` are the searched
parameters that a step depends on, including those of earlier steps.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import special
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from skbayes import compat

# Maximum number of distinct settings for which a step is shared.
MAX_SETTINGS = 32

# Placeholders of missing steps.
NO_STEP = (None, "passthrough", "drop")

# Parts of a composite.
PARTS = {
    Pipeline: "steps",
    ColumnTransformer: "transformers",
    FeatureUnion: "transformer_list",
}

# Parameters of composites that change how their parts are fitted.
STRUCTURE = ("memory", "transform_input", "n_jobs")

# Types of parameters that are plain data.
PLAIN = (bool, int, float, complex, str, bytes, slice, range)

# Functions that are not ufuncs, for FeatureAgglomeration.
POOLING = (np.mean, np.median, np.max, np.min, np.sum)


@dataclass(frozen=True)
class Step:
    """Step of a pipeline, whose result depends on the searched `names`."""

    path: str
    transformer: Any
    names: frozenset[str]


# Pipeline, columns or union, and steps of it.
Run = tuple[Any, list[Step]]


def find_runs(estimator: Any, n_values: Mapping[str, float]) -> Iterator[Run]:
    """Yield the runs of an estimator that can be shared, with their composite.

    There are none if a part has ``copy=False`` or ``copy_X=False``. It would write into
    its input, and the training rows would be scored with other values.
    """
    writes = any(
        value is False and name.rpartition("__")[2].startswith("copy")
        for name, value in estimator.get_params(deep=True).items()
    )
    if not writes:
        yield from _Finder(n_values).runs_in(estimator, "", frozenset())


@dataclass(frozen=True)
class _Finder:
    """Finder of steps with the same result in all trials with a setting."""

    n_values: Mapping[str, float]

    def runs_in(
        self, estimator: Any, path: str, names: frozenset[str]
    ) -> Iterator[Run]:
        """Yield the runs of a part, whose input depends on `names`."""
        kind = type(estimator)
        if kind not in PARTS:
            return
        is_set = any(getattr(estimator, n, None) not in (None, 1) for n in STRUCTURE)
        structure = {full_name(path, name) for name in (PARTS[kind], *STRUCTURE)}
        if is_set or structure & self.n_values.keys():
            return
        plan: list[Step] = []
        parts = getattr(estimator, PARTS[kind])
        for i, (name, part, *_) in enumerate(parts):
            at = full_name(path, name)
            is_last = kind is Pipeline and i == len(parts) - 1
            step = None if is_last else self._shareable(part, at, names)
            if step is None or step.names != names:
                # In the first fit of a setting, parts with fewer dependencies are
                # shared. A part also depends on its replacement.
                inner = names | ({at} & self.n_values.keys())
                yield from self.runs_in(part, at, inner)
            if kind is not Pipeline:
                if step is not None:
                    yield estimator, [step]
            elif isinstance(part, str | None) and part in NO_STEP:
                names |= self._touching(at)
            elif step is None:
                break
            else:
                plan.append(step)
                names = step.names
        if plan:
            yield estimator, plan

    def _shareable(self, part: Any, path: str, names: frozenset[str]) -> Step | None:
        """Return the step if its result is the same in all trials with a setting."""
        names = names | self._touching(path)
        n_settings = math.prod(self.n_values[name] for name in names)
        is_shareable = n_settings <= MAX_SETTINGS and _is_known_step(part)
        return Step(path, part, names) if is_shareable else None

    def _touching(self, path: str) -> frozenset[str]:
        return frozenset(
            name for name in self.n_values if f"{name}__".startswith(f"{path}__")
        )


def full_name(path: str, name: str) -> str:
    """Return the full name of a parameter at `path`; "" is the estimator."""
    return f"{path}__{name}" if path else name


def _is_known_step(transformer: Any) -> bool:
    """Return whether a step is silent, deterministic and made of known code.

    It draws only from a seed or, in this process, from NumPy's generator.
    """
    needed = ("get_params", "fit_transform", "transform")
    if not all(hasattr(transformer, name) for name in needed):
        return False
    params = transformer.get_params(deep=True)
    parts = [transformer, *filter(_is_estimator, params.values())]
    if not _is_known(transformer) or any(map(compat.has_callbacks, parts)):
        return False

    def values(name: str) -> list[Any]:
        return [v for path, v in params.items() if path.rpartition("__")[2] == name]

    is_seeded = all(value is not None for value in values("random_state"))
    is_alone = all(value in (None, 1) for value in values("n_jobs"))
    if any(values("verbose")) or not (is_seeded or is_alone):
        return False
    return all(map(_draws_no_numbers, parts))


def _is_known(value: Any) -> bool:
    """Return whether a value is plain, or of scikit-learn or NumPy, not a subclass."""
    kind = type(value)
    if value is None or kind in PLAIN or isinstance(value, np.generic | np.dtype):
        return True
    if kind in (list, tuple, set, frozenset):
        return all(map(_is_known, value))
    if kind is dict:
        return all(map(_is_known, value.values()))
    if kind is np.ndarray:
        return value.dtype.kind != "O" or all(map(_is_known, value.ravel()))
    if any(value is function for function in POOLING):
        return True
    if isinstance(value, np.ufunc):
        name = value.__name__
        return value in (getattr(np, name, None), getattr(special, name, None))
    if isinstance(value, type):
        return value in (*PLAIN, object) or issubclass(value, np.generic)
    if kind is functools.partial:
        return _is_known((value.func, value.args, value.keywords))
    if isinstance(value, types.FunctionType):
        return _is_of_sklearn(value)
    if not _is_of_sklearn(kind):
        return False
    if _is_estimator(value):
        return _is_known(value.get_params(deep=False))
    return _is_known(getattr(value, "__dict__", None))


def _is_of_sklearn(kind: Any) -> bool:
    return str(kind.__module__).partition(".")[0] == "sklearn"


def _is_estimator(value: Any) -> bool:
    """Return whether a value is an instance with parameters."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def _draws_no_numbers(part: Any) -> bool:
    """Return whether an estimator draws no numbers, or the same ones in each fit."""
    params = part.get_params(deep=False)
    if any(map(_draws_anew, params.values())):
        return False
    if params.get("sample_posterior"):  # IterativeImputer draws in `transform`
        return False
    if "random_state" not in params:
        return not get_tags(part).non_deterministic
    return isinstance(params["random_state"], Integral | None)


def _draws_anew(value: Any) -> bool:
    """Return whether a parameter is a source of new random numbers."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return True
    if inspect.isroutine(value) or isinstance(value, functools.partial):
        try:
            default = inspect.signature(value).parameters["random_state"].default
        except (KeyError, ValueError):  # some compiled functions have no signature
            return False
        return not isinstance(default, Integral)
    if hasattr(value, "get_params") or not hasattr(value, "random_state"):
        return False
    shuffles = getattr(value, "shuffle", True)
    return shuffles and not isinstance(value.random_state, Integral)
