"""Sharing of the first steps of a pipeline among the trials of a search.

Steps whose results depend on few searched settings are fitted once per fold, sample and
setting. During a fit, an object takes the place of the pipeline's `memory`. It stores
the results of these steps, or loads those of an earlier trial.
"""

from __future__ import annotations

import functools
import io
import math
import operator
import pickle
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np

from skbayes.options.shared_steps.steps import Step, leading_steps
from skbayes.trial import temporary_files
from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect, FoldCall, wrapped_fit
from skbayes.trial.records import FoldResult
from skbayes.trial.shared_store import PrefixStore

if TYPE_CHECKING:
    from skbayes.space import Space

# Minimum seconds of a fit whose output is stored; loading it may take longer otherwise.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class _Results:
    """Results of the first steps of a pipeline for a fold, and times of the steps.

    `output` are the transformed training rows, and `test_output` the transformed test
    rows, as the content of a file. If the fitted steps themselves are needed, `fitted`
    contains them instead.
    """

    output: Any = None
    test_output: bytes = b""
    fitted: tuple = ()
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    cpu_seconds: float = 0.0


class SharedFit:
    """Memory of a pipeline during one fit, which shares the first steps.

    If the fit `is_lazy`, its steps are only used to transform the test rows. Results
    are not stored if a step has drawn random numbers. `test_seconds` is the time of the
    fit for transforming the test rows.
    """

    # scikit-learn does not clone the steps for a memory without a location.
    location = None

    def __init__(
        self, call: FoldCall, store: PrefixStore, steps: list[Step], is_lazy: bool
    ) -> None:
        self._call, self._store, self._is_lazy = call, store, is_lazy
        self._steps, fold = steps, call.fold
        self._keys = [
            str(joblib.hash((fold.index, fold.sample, is_lazy, place, settings)))
            for place, step in enumerate(steps)
            for settings in [settings_of(fold.params, step.names)]
        ]
        self._fitted: list[Any] = []
        self._has_drawn = self.is_used = False
        self._n_loaded, self.loaded = self._load()
        self._last, self._n_tested = self.loaded, self._n_loaded
        self.test_seconds = 0.0

    def __reduce__(self) -> tuple:
        # A copy of the estimator has no memory.
        return type(None), ()

    def _load(self) -> tuple[int, _Results]:
        """Return the number of steps whose results are stored, and the results."""
        for place in reversed(range(len(self._steps))):
            if self._can_be_stored(place):
                results = self._store.load(self._keys[place])
                if results is not None:
                    self.is_used = True
                    return place + 1, results
        return 0, _Results()

    def _can_be_stored(self, place: int) -> bool:
        """Return whether results may be stored: the next step has more parameters."""
        names = [step.names for step in self._steps[place : place + 2]]
        return len(set(names)) == len(names)

    def cache(self, function: Callable, **options: Any) -> Callable:
        """Return a function that fits and transforms a step, or loads its results."""
        return functools.partial(self._fit_step, function)

    def _fit_step(
        self, function: Callable, transformer: Any, X: Any, y: Any, **params: Any
    ) -> tuple[Any, Any]:
        place = len(self._fitted)
        if place == len(self._steps):
            return function(transformer, X, y, **params)
        if place < self._n_loaded:
            is_last, fitted = place == self._n_loaded - 1, transformer
            if not self._is_lazy:
                fitted = self.loaded.fitted[place]
            self._fitted.append(fitted)
            if is_last and self._is_lazy:
                self._replace_transforms()
            return self.loaded.output if is_last else X, fitted
        state, begin, cpu = _random_state(), time.perf_counter(), time.process_time()
        X, fitted = function(transformer, X, y, **params)
        self._last = replace(
            self._last,
            fit_seconds=self._last.fit_seconds + time.perf_counter() - begin,
            cpu_seconds=self._last.cpu_seconds + time.process_time() - cpu,
        )
        self._has_drawn |= _random_state() != state
        self._fitted.append(fitted)
        is_slow = self._last.fit_seconds > LEAST_SECONDS
        if is_slow and not self._has_drawn and self._can_be_stored(place):
            self._save(self._keys[place], X)
        return X, fitted

    def _save(self, key: str, output: Any) -> None:
        """Store the results of the steps that are fitted."""
        results = replace(self._last, output=output, fitted=tuple(self._fitted))
        if self._is_lazy:
            begin = time.perf_counter()
            try:
                test_output = self._transformed_test_rows()
            except Exception:  # the scorer will raise it, too
                return
            seconds = time.perf_counter() - begin
            self.test_seconds += seconds
            score_seconds = results.score_seconds + seconds
            results = replace(
                results, fitted=(), test_output=test_output, score_seconds=score_seconds
            )
        if self._store.save(key, results):
            self.is_used = True
            self._last, self._n_tested = results, len(self._fitted)
            if self._is_lazy:
                self._replace_transforms()

    def _transformed_test_rows(self) -> bytes:
        if self._last.test_output:
            rows = _loaded(self._last.test_output)
        else:
            rows = self._call.test_set()[0]
        for fitted in self._fitted[self._n_tested :]:
            rows = fitted.transform(rows)
        file = io.BytesIO()
        temporary_files.write(file, rows, exact=True)
        return file.getvalue()

    def _replace_transforms(self) -> None:
        """Make the last shared step return the stored test rows, and others nothing."""
        *earlier, last = self._fitted
        for step in earlier:
            step.transform = _identity
        last.transform = functools.partial(_loaded, self._last.test_output)


def settings_of(params: Mapping[str, Any], names: Any) -> list[tuple[str, Any]]:
    """Return the values of some parameters, in a fixed order."""
    return [(name, params[name]) for name in sorted(names)]


def _random_state() -> bytes:
    return pickle.dumps(np.random.get_state())


def _identity(X: Any) -> Any:
    return X


def _loaded(content: bytes, X: Any = None) -> Any:
    """Return a copy of the stored rows, because the next step may write into it."""
    return temporary_files.read(memoryview(content), math.inf)


def _data_of(call: FoldCall) -> tuple:
    """Return the data that determine the result of a step, apart from the settings."""
    return call.train, call.test, call.options.get("fit_params")


class _FoldSteps(FoldAspect):
    """Fits of pipelines whose first steps are fitted once for equal parameters."""

    affects_errors = False

    def __init__(self, store: PrefixStore, n_values: Mapping[str, float]) -> None:
        self.store, self.n_values = store, n_values
        # Settings for which this process stored no step, for example fast steps.
        self._unshared: set[str] = set()

    def around(self, call: FoldCall) -> AbstractContextManager[Any]:
        """Share steps; the parameters of the pipeline are known when it is fitted."""
        shared_fit = functools.partial(self._fit, call, _data_of(call))
        return wrapped_fit(call.estimator, shared_fit)

    def _fit(
        self, call: FoldCall, data: tuple, fit: Callable, *rows: Any, **params: Any
    ) -> Any:
        """Fit the pipeline with another memory."""
        # Another aspect may have replaced the pipeline. Parallel steps draw random
        # numbers in other processes.
        is_changed = any(map(operator.is_not, _data_of(call), data))
        if is_changed or joblib.effective_n_jobs(None) != 1:
            return fit(*rows, **params)
        n_values = {n: self.n_values.get(n, math.inf) for n in call.fold.params}
        finite = [name for name, n in n_values.items() if n < math.inf]
        try:
            settings = settings_of(call.fold.params, finite)
            key = str(joblib.hash((call.fold.sample, settings)))
            is_unshared = key in self._unshared
            steps = [] if is_unshared else leading_steps(call.estimator, n_values)
            shared = SharedFit(call, self.store, steps, self._is_lazy(call))
        except Exception:  # for example, a value without a pickle
            return fit(*rows, **params)
        if steps:
            call.state[self.name] = call.estimator.memory = shared
        try:
            fitted = fit(*rows, **params)
        finally:
            if steps:
                call.estimator.memory = None
        if not shared.is_used:
            self._unshared.add(key)
        return fitted

    def _is_lazy(self, call: FoldCall) -> bool:
        """Return whether the steps only transform the test rows, without arguments."""
        job = call.job
        needs_steps = any(aspect.needs_estimator for aspect in job.aspects)
        has_arguments = call.options["return_train_score"] or job.score_params
        return not (needs_steps or has_arguments or call.reads_steps)

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Add the time of shared steps, so that the times of all trials include it."""
        shared = call.state.get(self.name)
        if shared is None:
            return result.with_extras(shared_time=0.0)
        loaded, test_seconds = shared.loaded, shared.test_seconds
        call.cpu_seconds += loaded.cpu_seconds
        result = replace(
            result,
            fit_time=result.fit_time + loaded.fit_seconds - test_seconds,
            score_time=result.score_time + loaded.score_seconds + test_seconds,
        )
        return result.with_extras(shared_time=loaded.fit_seconds + loaded.score_seconds)


class SharedSteps(Aspect):
    """First steps of pipelines that are fitted once for equal parameters."""

    name = "shared_steps"
    needs_store = True

    def begin_search(self, space: Space, store: PrefixStore | None) -> None:
        """Make the part of the workers, if there is a store."""
        self._part = None if store is None else _FoldSteps(store, space.n_values)

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that shares the steps of a fit."""
        return self._part
