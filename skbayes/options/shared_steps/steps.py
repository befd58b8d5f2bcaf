"""First steps of a pipeline with the same result in several trials of a search."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skbayes import compat

# Maximum number of distinct settings for which a step is shared.
MAX_SETTINGS = 32

# Parameters of a pipeline that change how its steps are fitted.
STRUCTURE = ("memory", "transform_input")

# Packages whose types are allowed, and allowed functions of NumPy: those that restore
# arrays, and the pooling of FeatureAgglomeration.
TYPES_OF = ("builtins", "functools", "numpy", "scipy")
OF_NUMPY = ("_frombuffer", "_reconstruct", "scalar", "mean")


@dataclass(frozen=True)
class Step:
    """Step of a pipeline, and the searched parameters that determine its result.

    `names` also includes the parameters of earlier steps.
    """

    transformer: Any
    names: frozenset[str]


def leading_steps(estimator: Pipeline, n_values: Mapping[str, float]) -> list[Step]:
    """Return the first steps of a pipeline that can be shared.

    There are none if a part has ``copy=False`` or ``copy_X=False``, because it would
    change its input, and the training rows would be scored with other values.
    """
    params = estimator.get_params(deep=True)
    writes = any(
        value is False and name.rpartition("__")[2].startswith("copy")
        for name, value in params.items()
    )
    is_set = any(params.get(name) is not None for name in STRUCTURE)
    if writes or is_set or not n_values.keys().isdisjoint(("steps", *STRUCTURE)):
        return []
    steps: list[Step] = []
    names: frozenset[str] = frozenset()
    for name, transformer in estimator.steps[:-1]:
        names |= {full for full in n_values if f"{full}__".startswith(f"{name}__")}
        if math.prod(n_values[full] for full in names) > MAX_SETTINGS:
            break
        if isinstance(transformer, str | None):  # "passthrough"
            continue
        if not (_is_known(transformer) and _is_repeatable(transformer)):
            break
        steps.append(Step(transformer, names))
    return steps


def _is_repeatable(transformer: Any) -> bool:
    """Return whether all random numbers that a step draws can be observed.

    The state of NumPy's generator is observed in the process of the fit.
    """
    params = transformer.get_params(deep=True)
    parts = [transformer, *(v for v in params.values() if hasattr(v, "get_params"))]

    def values(name: str) -> list[Any]:
        return [v for path, v in params.items() if path.rpartition("__")[2] == name]

    # With it, IterativeImputer draws in `transform`.
    if any(values("sample_posterior")) or any(map(compat.has_callbacks, parts)):
        return False
    is_seeded = all(value is not None for value in values("random_state"))
    return is_seeded or all(value in (None, 1) for value in values("n_jobs"))


class _KnownCode(pickle.Unpickler):
    """Unpickler that refuses code of other packages, and generators of NumPy."""

    def find_class(self, module: str, name: str) -> Any:
        value = super().find_class(module, name)
        package = module.partition(".")[0]
        is_type = isinstance(value, type) and package in TYPES_OF
        is_of_numpy = isinstance(value, np.ufunc) or (
            package == "numpy" and name in OF_NUMPY
        )
        if package == "sklearn" or is_type or is_of_numpy:
            return value
        raise pickle.UnpicklingError(f"{module}.{name} is no known code")


def _is_known(transformer: Any) -> bool:
    """Return whether a step consists of code of scikit-learn, NumPy and SciPy."""
    try:
        _KnownCode(io.BytesIO(pickle.dumps(transformer))).load()
    except Exception:  # what cannot be pickled has unknown code, such as a closure
        return False
    return True
