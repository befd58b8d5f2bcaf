"""Sharing of the first steps of pipelines among the trials of a search.

A step whose result depends on few searched settings is fitted once per fold, sample and
setting. During a fit, a stand-in takes its place in the pipeline. The stand-in stores
the fitted step and its outputs, or loads the results of an earlier trial.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import pickle
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from skbayes.trial.aspect import Aspect, FoldAspect
from skbayes.trial.fold import FoldCall, wrapped_fit
from skbayes.trial.prefix_steps import PARTS, Step, find_runs
from skbayes.trial.prefix_store import MachineStore, PrefixStore
from skbayes.trial.records import FoldResult

if TYPE_CHECKING:
    from skbayes.trial.plan import Plan

# Seconds of a fit below which loading its output may take longer.
LEAST_SECONDS = 1e-3

# Attributes of a step that pipelines read, and that a fit does not change.
UNFITTED = (
    *("get_params", "get_metadata_routing", "__sklearn_tags__"),
    *("_estimator_type", "_more_tags", "_get_tags"),  # before scikit-learn 1.7
)

# Seconds and processor seconds.
Times = tuple[float, float]


@dataclass
class SharedFit:
    """One fit with shared steps, and the seconds that these saved.

    `fold` identifies the fold and its rows. If the fit `is_lazy`, its steps are only
    used to transform the test rows. Steps after a step that `has_drawn` are not stored.
    The fit has `waited` for others that fitted the same steps.
    """

    store: PrefixStore
    fold: tuple
    params: Mapping[str, Any]
    is_remote: bool
    is_lazy: bool
    is_running: bool = True
    is_used: bool = False
    has_drawn: bool = False
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    cpu_seconds: float = 0.0
    waited: float = 0.0

    def settings(self, names: Iterable[str]) -> list[tuple[str, Any]]:
        """Return the values of searched parameters."""
        return [(name, self.params[name]) for name in sorted(names)]

    def load(self, key: str) -> tuple[Any, Times] | None:
        """Return a stored output with the times of its steps, which are saved."""
        stored: tuple[Any, Times] | None = self.store.load(key)
        if stored is not None:
            seconds, cpu_seconds = stored[1]
            if key.endswith("-test"):
                self.score_seconds += seconds
            else:
                self.fit_seconds += seconds
            self.cpu_seconds += cpu_seconds
            self.is_used = True
        return stored

    def measured(
        self, before: Times, method: Callable, /, *data: Any, **params: Any
    ) -> tuple[Any, Times]:
        """Call a method; return its result, and its times with those `before`.

        Random draws are noted. Numbers may have been drawn from the global generators
        of other processes. If the fit `is_remote`, joblib would use the cluster again,
        and the step runs here instead.
        """
        with contextlib.ExitStack() as stack:
            if self.is_remote:
                stack.enter_context(joblib.parallel_config("sequential"))
            state = self._random_state()
            begin, begin_cpu = time.perf_counter(), time.process_time()
            result = method(*data, **params)
            seconds = before[0] + time.perf_counter() - begin
            times = seconds, before[1] + time.process_time() - begin_cpu
            is_parallel = joblib.effective_n_jobs(None) != 1
            self.has_drawn |= is_parallel or self._random_state() != state
        return result, times

    def _random_state(self) -> bytes:
        # Dask draws from Python's generator in each worker.
        of_python = None if self.is_remote else random.getstate()
        return pickle.dumps((np.random.get_state(legacy=False), of_python))

    def save(self, key: str, value: Any, times: Times) -> None:
        """Store a value, if nothing was drawn and loading it is faster."""
        if not self.has_drawn and times[0] > LEAST_SECONDS:
            self.is_used = True
            self.store.save(key, value)


class SharedStep:
    """Stand-in for a step during one fit.

    The steps of one run pass their input on to the last one, which needs the earlier
    ones only if its output is not stored. A copy or pickle contains the step instead.
    """

    def __init__(
        self, fit: SharedFit, step: Step, is_lazy: bool, before: SharedStep | None
    ) -> None:
        self._fit, self._is_lazy, self._before = fit, is_lazy, before
        self._key = joblib.hash((fit.fold, step.path, fit.settings(step.names)))
        self.original, self._names = step.transformer, step.names
        # Whether the output is stored, and whether other steps of the run follow.
        self._is_stored, self._is_followed = True, False
        if before is not None:
            before._is_followed = True
            before._is_stored = before._names != self._names
        self._fit_params: dict[str, Any] = {}
        self._transform_params: dict[str, Any] = {}
        self._rows: tuple = ()
        self._fitted: Any = None

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Return the output of the last step of a run; other steps return `X`."""
        self._rows, self._fit_params = (X, y), params
        return X if self._is_followed else self._fitted_output()[0]

    def transform(self, X: Any, **params: Any) -> Any:
        """Transform rows; lazy fits pass the test rows."""
        self._transform_params = params
        if not self._is_lazy:
            return self.fitted.transform(X, **params)
        return X if self._is_followed else self._test_output(X)[0]

    def _fitted_output(self) -> tuple[Any, Times]:
        """Return the output of the training rows, and the times of the run up to it."""
        if not self._is_stored:
            return self._fit_step()
        key, store = f"{self._key}-output", self._fit.store
        if (found := self._fit.load(key)) is None:
            begin = time.perf_counter()
            with store.turn(key):
                self._fit.waited += time.perf_counter() - begin
                found = self._fit.load(key) or self._fit_step()
        return found

    def _fit_step(self) -> tuple[Any, Times]:
        fit, (X, y), times = self._fit, self._rows, (0.0, 0.0)
        if self._before is not None:
            X, times = self._before._fitted_output()
        fitted = clone(self.original)
        found = fit.measured(times, fitted.fit_transform, X, y, **self._fit_params)
        self._fitted = fitted
        fit.save(f"{self._key}-fitted", fitted, found[1])
        if self._is_stored:
            fit.save(f"{self._key}-output", found, found[1])
        return found

    def _test_output(self, X: Any) -> tuple[Any, Times]:
        key, times = f"{self._key}-test", (0.0, 0.0)
        if self._is_stored and (found := self._fit.load(key)) is not None:
            return found
        if self._before is not None:
            X, times = self._before._test_output(X)
        transform, params = self.fitted.transform, self._transform_params
        found = self._fit.measured(times, transform, X, **params)
        if self._is_stored:
            self._fit.save(key, found, found[1])
        return found

    @property
    def fitted(self) -> Any:
        """Fitted step, loaded or fitted if necessary; before the fit, the original."""
        if self._fitted is None and self._rows:
            # A fitted estimator that is kept would keep files open.
            self._fitted = self._fit.store.load(f"{self._key}-fitted", mapped=False)
            if self._fitted is None:
                self._fit_step()
        return self._fitted if self._rows else self.original

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in UNFITTED:
            raise AttributeError(name)
        return getattr(self.original if name in UNFITTED else self.fitted, name)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self._rows)

    def __sklearn_clone__(self) -> Any:
        # During the fit, a ColumnTransformer fits clones of its parts.
        return self if self._fit.is_running else clone(self.original)

    def __reduce__(self) -> tuple:
        return _same, (self.fitted,)


def _same(value: Any) -> Any:
    return value


def _with_parts(composite: Any, replace: Callable, fitted: str = "") -> None:
    """Replace the parts of a composite, in the attribute with the suffix `fitted`."""
    name = PARTS[type(composite)] + fitted
    parts = [(name, replace(part), *at) for name, part, *at in getattr(composite, name)]
    setattr(composite, name, parts)


def share(fit: SharedFit, estimator: Any, n_values: Mapping[str, float]) -> None:
    """Put stand-ins in the place of steps whose results depend on few settings."""
    runs = list(find_runs(estimator, n_values))
    stand_ins: dict[int, SharedStep] = {}
    for composite, steps in runs:
        before = None
        # Only steps of the outer pipeline receive the test rows as they are.
        is_lazy = fit.is_lazy and composite is estimator
        for step in steps:
            before = SharedStep(fit, step, is_lazy, before)
            stand_ins[id(step.transformer)] = before
    for composite, _ in runs:
        _with_parts(composite, lambda part: stand_ins.get(id(part), part))


def without_stand_ins(part: Any, is_fitted: bool = True) -> Any:
    """Return a part of an estimator with the steps themselves."""
    if isinstance(part, SharedStep):
        part = part.fitted if is_fitted else part.original
    kind = type(part)
    if kind in PARTS:
        plain = functools.partial(without_stand_ins, is_fitted=is_fitted)
        template = functools.partial(without_stand_ins, is_fitted=False)
        _with_parts(part, template if kind is ColumnTransformer else plain)
        if hasattr(part, "transformers_"):
            _with_parts(part, plain, "_")
    return part


def _data_of(call: FoldCall) -> tuple:
    """Return the data that determine the result of a step, apart from the settings."""
    return call.train, call.test, call.options.get("fit_params")


class _FoldSteps(FoldAspect):
    """Fits of pipelines whose first steps are fitted once for equal parameters."""

    affects_errors = False

    def __init__(
        self, store: PrefixStore | MachineStore, n_values: Mapping[str, float]
    ) -> None:
        self.store, self.n_values = store, n_values
        # Settings of which this process stored no step, such as those of fast steps.
        self._unshared: set[str] = set()

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Share steps; a step that no later step needs is not even loaded."""
        fold, store = call.fold, self.store.here()
        # Training rows are transformed, too.
        is_lazy = not (call.looks_inside or call.options["return_train_score"])
        identity, is_remote = (fold.index, fold.sample), store is not self.store
        shared = SharedFit(store, identity, fold.params, is_remote, is_lazy)
        call.state[self.name] = shared
        shared_fit = functools.partial(self._fit, call, shared, _data_of(call))
        with wrapped_fit(call.estimator, shared_fit):
            yield
        is_needed = any(aspect.needs_estimator for aspect in call.job.aspects)
        # The steps of a fit that failed are not fitted again.
        without_stand_ins(call.estimator, is_needed and not shared.is_running)

    def _fit(
        self,
        call: FoldCall,
        shared: SharedFit,
        given: tuple,
        fit: Callable,
        *data: Any,
        **more: Any,
    ) -> Any:
        """Fit the pipeline; its parameters are only known now."""
        if any(map(operator.is_not, _data_of(call), given)):
            return fit(*data, **more)  # another aspect has changed what is fitted
        n_values = {n: self.n_values.get(n, math.inf) for n in shared.params}
        few = [name for name, n in n_values.items() if n < math.inf]
        try:
            key = str(joblib.hash((shared.fold[1], shared.settings(few))))
            if key not in self._unshared:
                share(shared, call.estimator, n_values)
        except Exception:  # for example, a value without a pickle
            return fit(*data, **more)
        fitted = fit(*data, **more)
        shared.is_running = False
        if not shared.is_lazy:
            without_stand_ins(call.estimator)
        if not shared.is_used:
            self._unshared.add(key)
        return fitted

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Add the time of shared steps, so that the times of all trials include it."""
        shared = call.state[self.name]
        call.cpu_seconds += shared.cpu_seconds
        result = replace(
            result,
            fit_time=result.fit_time + shared.fit_seconds - shared.waited,
            score_time=result.score_time + shared.score_seconds,
        )
        return result.with_extras(shared_time=shared.fit_seconds + shared.score_seconds)


class SharedSteps(Aspect):
    """First steps of pipelines that are fitted once for equal parameters."""

    name = "shared_steps"

    @classmethod
    def is_on(cls, plan: Plan) -> bool:
        """Return whether there is a store, and no callbacks, which observe all fits."""
        has_store = plan.notes.get(cls.name) is not None
        return has_store and not plan.is_observed

    def fold_aspect(self) -> FoldAspect:
        """Return the part that shares the steps of a fit."""
        return _FoldSteps(self.plan.notes[self.name], self.plan.space.n_values)
