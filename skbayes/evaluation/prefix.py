"""Sharing of the first steps of pipelines among the trials of a search.

A step whose result depends on few searched settings is fitted once per fold, fidelity
and setting. Later trials load its fitted state and its output from a store. The steps
are not replaced. During a fit, instance attributes cover their methods `fit_transform`
and `transform`, which scikit-learn's pipelines call.

Symbols: the *settings* of a step are the values of the searched parameters that it
depends on, including those of earlier steps. A *run* is a sequence of shared steps of
one pipeline. A *segment* is a part of a run whose steps depend on the same parameters.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import pickle
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone

from skbayes.evaluation.fold import wrapped_fit
from skbayes.evaluation.prefix_steps import Step, find_runs, is_estimator
from skbayes.evaluation.prefix_store import MachineStore, PrefixStore, Turn

# Seconds and processor seconds.
Times = tuple[float, float]

# Methods of a step that are covered while its pipeline is fitted and scored.
COVERED = ("fit_transform", "transform", "__sklearn_clone__", "__getstate__")

# Settings whose steps this process fitted without storing any, by folder of the store.
_UNSHARED_SETTINGS: dict[str, set] = {}

# Seconds of a fit below which loading its output may take longer.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class PrefixCache:
    """Inputs that the fits of a search need to share steps.

    `n_values` counts the values of each searched parameter.
    """

    store: PrefixStore | MachineStore
    n_values: Mapping[str, float]


class _LostStep(BaseException):
    """A fitted step cannot be loaded; not an `Exception`, as the fit has not failed."""


@dataclass
class SharedFit:
    """One fit with shared steps, and the seconds that these saved.

    `fold` identifies the fold and its rows. `expected_test` returns the test rows as
    the estimator will receive them; it is None if it receives none. Unless someone
    `looks_inside`, a fitted step is only loaded to transform rows for which no output
    is stored. Steps after a step that `has_drawn` are not stored. If a step `is_lost`,
    the fit must be repeated without shared steps. It has `waited` for other processes
    that fitted the same steps; its `turns` to fit segments end with it.
    """

    cache: PrefixCache
    params: Mapping[str, Any]
    fold: tuple
    expected_test: Callable[[], Any] | None
    looks_inside: bool
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    cpu_seconds: float = 0.0
    is_lost: bool = False
    has_drawn: bool = False
    is_used: bool = False
    waited: float = 0.0
    turns: list[Turn] = field(default_factory=list)
    _covered: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = self.cache.store.here()
        self.is_remote = self.store is not self.cache.store

    @contextlib.contextmanager
    def sharing(self, estimator: Any) -> Iterator[None]:
        """Share the steps of a pipeline that is fitted and scored in this context.

        Its parameters may be set in the context, before `fit`. The steps are therefore
        only known in `fit`.
        """
        try:
            with wrapped_fit(estimator, functools.partial(self.fit, estimator)):
                yield
        except _LostStep:
            self.is_lost = True
        finally:
            for turn in self.turns:
                turn.give_up()
            self.uncover_all()

    def fit(
        self,
        estimator: Any,
        fit: Callable[..., Any],
        X: Any,
        y: Any = None,
        **fit_params: Any,
    ) -> Any:
        """Fit the estimator while its shared steps are covered."""
        n_values = {
            name: self.cache.n_values.get(name, math.inf) for name in self.params
        }
        settings, unshared = self._settings(n_values), self._unshared_settings()
        if settings in unshared:
            return fit(X, y, **fit_params)
        try:
            runs = list(find_runs(estimator, n_values))
            for path, steps in runs:
                _Run(self, steps, is_outer=path == "").prepare()
        except Exception:  # for example, a value that cannot be hashed
            self.uncover_all()
        fitted = fit(X, y, **fit_params)
        if not self.is_used and settings is not None:
            unshared.add(settings)
        return fitted

    def _settings(self, n_values: Mapping[str, float]) -> tuple | None:
        """Return all that shared steps may depend on; None if it cannot be hashed."""
        some = [
            (name, self.params[name]) for name, n in n_values.items() if n < math.inf
        ]
        settings = (self.fold[1:], *some)
        try:
            hash(settings)
        except TypeError:
            return None
        return settings

    def _unshared_settings(self) -> set:
        """Return the settings of this search of which no step is stored."""
        folder = self.store.folder
        if folder not in _UNSHARED_SETTINGS:
            _UNSHARED_SETTINGS.clear()
        return _UNSHARED_SETTINGS.setdefault(folder, set())

    def key(self, step: Step) -> str:
        """Return the key of a step with its settings, on this fold."""
        values = sorted((name, self.params[name]) for name in step.names)
        return str(joblib.hash((self.fold, step.path, values)))

    def cover(self, transformer: Any, methods: Mapping[str, Callable]) -> None:
        """Cover methods of one transformer."""
        transformer.__dict__.update(methods)
        self._covered.append(transformer)

    def uncover_all(self) -> None:
        """Restore the methods of all transformers."""
        for transformer in self._covered:
            uncover(transformer)
        self._covered.clear()

    def measured(
        self, method: Callable, /, *args: Any, **params: Any
    ) -> tuple[Any, Times]:
        """Call a method of a step; return its result and times, and note random draws.

        Numbers may have been drawn from the global generators of other processes. If
        the fit `is_remote`, joblib would use the cluster again, and the step runs here
        instead.
        """
        with contextlib.ExitStack() as stack:
            if self.is_remote:
                stack.enter_context(joblib.parallel_config("sequential"))
            before = self._random_state()
            begin, begin_cpu = time.perf_counter(), time.process_time()
            result = method(*args, **params)
            times = time.perf_counter() - begin, time.process_time() - begin_cpu
            has_drawn = self._random_state() != before
            self.has_drawn |= has_drawn or joblib.effective_n_jobs(None) != 1
        return result, times

    def _random_state(self) -> bytes:
        # Dask draws from Python's generator in each worker.
        of_python = None if self.is_remote else random.getstate()
        return pickle.dumps((np.random.get_state(legacy=False), of_python))


def uncover(transformer: Any) -> None:
    """Restore the methods of a transformer."""
    for name in COVERED:
        transformer.__dict__.pop(name, None)


class _NotLoaded:
    """Placeholder for the output of a step that the next step does not need."""


def _are_same(X: Any, other: Callable[[], Any]) -> bool:
    """Return whether rows are known to equal those that a function returns."""
    try:
        return _same(X, other())
    except Exception:  # elements that cannot be compared
        return False


def _plain_state(transformer: Any) -> Any:
    """Return the state without covered methods, for copies and pickles of a step."""
    own = transformer.__dict__
    covers = {name: own.pop(name) for name in COVERED if name in own}
    try:
        state = transformer.__getstate__()
        return dict(state) if state is own else state
    finally:
        own.update(covers)


class _Segment:
    """Shared steps of a pipeline up to `end` that depend on the same parameters.

    Their fitted states and the output of the last one are stored under `key`.
    """

    def __init__(self, fit: SharedFit, begin: int, steps: Sequence[Step]) -> None:
        self.begin, self.end = begin, begin + len(steps) - 1
        self.key, self.store = fit.key(steps[-1]), fit.store
        self._states: list[dict[str, Any]] | None = None

    def has_states(self, is_lazy: bool) -> bool:
        """Return whether the states are available; load them unless `is_lazy`."""
        return self.store.has(f"{self.key}-states") if is_lazy else self._load()

    def _load(self) -> bool:
        if self._states is None:
            # A fitted estimator that is kept would keep files open.
            self._states = self.store.load(f"{self.key}-states", mapped=False)
        return self._states is not None

    def state(self, i: int) -> dict[str, Any]:
        """Return the state of the i-th step of the pipeline."""
        if not self._load():
            raise _LostStep
        assert self._states is not None
        return self._states[i - self.begin]


class _Run:
    """Consecutive shared steps of one pipeline during one fit.

    Only steps of the outer pipeline receive the test rows as they are, and can be
    loaded lazily: others receive selections of columns, and composites access their
    fitted parts.
    """

    def __init__(self, fit: SharedFit, steps: Sequence[Step], is_outer: bool) -> None:
        self._fit, self._steps, self._is_outer = fit, steps, is_outer
        self._is_lazy = is_outer and not fit.looks_inside
        self._turn = Turn()
        fit.turns.append(self._turn)
        # Segment of each step.
        self._segments: list[_Segment] = []
        for _, group in itertools.groupby(steps, lambda step: step.names):
            some = list(group)
            segment = _Segment(fit, len(self._segments), some)
            self._segments += [segment] * len(some)
        # Number of the first steps that an earlier fit fitted, times of the steps, and
        # output of the last of them.
        self._n_stored = 0
        self._times: list[Times] = []
        self._output: Any = None
        # States of the steps of a segment that are fitted in this fit.
        self._fitted: list[dict[str, Any]] = []
        self._unloaded: set[int] = set()
        # Last returned output of the test rows, with the index of its step; times of
        # the steps that produced it; output of a later step, if it is already known.
        self._last_output: tuple[int, Any] = (-1, None)
        self._test_times: list[Times] = []
        self._later_output: tuple[int, Any] | None = None

    def prepare(self) -> None:
        """Load the stored results of the first steps, and cover all steps."""
        segments = list(dict.fromkeys(self._segments))
        known = itertools.takewhile(lambda one: one.has_states(self._is_lazy), segments)
        for segment in reversed(list(known)):
            if self._load_output(segment):
                break
        for i, step in enumerate(self._steps):
            self._cover(i, step.transformer)

    def _load_output(self, segment: _Segment) -> bool:
        """Load the output of a segment if it is stored; the steps are then restored."""
        stored = segment.store.load(f"{segment.key}-output")
        if stored is None:
            return False
        self._output, self._times = stored
        self._n_stored = segment.end + 1
        return True

    def _cover(self, i: int, transformer: Any) -> None:
        fit_transform = functools.partial(self._fit_transform, i, transformer)
        copy = functools.partial(self._clone, i, transformer)
        methods = {"fit_transform": fit_transform, "__sklearn_clone__": copy}
        self._fit.cover(transformer, methods)

    def _clone(self, i: int, transformer: Any) -> Any:
        uncover(transformer)
        copy = clone(transformer)
        self._cover(i, transformer)
        self._cover(i, copy)
        return copy

    def _fit_transform(
        self, i: int, transformer: Any, /, X: Any, y: Any = None, **params: Any
    ) -> Any:
        segment, fit = self._segments[i], self._fit
        if i >= self._n_stored and i == segment.begin and not fit.has_drawn:
            self._await_turn(segment)
        if i < self._n_stored:
            return self._restore(i, transformer)
        uncover(transformer)
        output, times = fit.measured(transformer.fit_transform, X, y, **params)
        for part in filter(is_estimator, transformer.get_params(deep=True).values()):
            uncover(part)
        self._fitted.append(dict(transformer.__dict__))
        self._times.append(times)
        if i == segment.end:
            store, key = segment.store, segment.key
            if not fit.has_drawn and self._pays():
                fit.is_used = True
                store.save(f"{key}-states", self._fitted)
                store.save(f"{key}-output", (output, self._times))
            if not store.has(f"{key}-output"):
                store.give_up(key)
            self._fitted = []
            self._turn.end()
        self._cover_transform(i, transformer)
        return output

    def _await_turn(self, segment: _Segment) -> None:
        """Wait while another process fits a segment; load its results."""
        begin = time.perf_counter()
        self._turn.begin(segment.store, segment.key)
        self._fit.waited += time.perf_counter() - begin
        if segment.has_states(self._is_lazy) and self._load_output(segment):
            self._turn.end()

    def _pays(self) -> bool:
        """Return whether fitting the steps took longer than loading their output."""
        seconds = sum(seconds for seconds, _ in self._times)
        return seconds > LEAST_SECONDS

    def _restore(self, i: int, transformer: Any) -> Any:
        uncover(transformer)
        self._fit.is_used = True
        self._unloaded.add(i)
        if not self._is_lazy:
            self._load_state(i, transformer)
        seconds, cpu_seconds = self._times[i]
        self._fit.fit_seconds += seconds
        self._fit.cpu_seconds += cpu_seconds
        self._cover_transform(i, transformer)
        if i < self._n_stored - 1:
            return _NotLoaded()
        output, self._output = self._output, None
        return output

    def _load_state(self, i: int, transformer: Any) -> None:
        if i in self._unloaded:
            transformer.__dict__.update(self._segments[i].state(i))
            self._unloaded.remove(i)

    def _cover_transform(self, i: int, transformer: Any) -> None:
        if not self._is_outer:
            return
        fitted = dict(transformer.__dict__)
        transform = functools.partial(self._transform, i, transformer, fitted)
        state = functools.partial(_plain_state, transformer)
        self._fit.cover(transformer, {"transform": transform, "__getstate__": state})

    def _own_transform(self, i: int, transformer: Any, /, X: Any, **params: Any) -> Any:
        self._load_state(i, transformer)
        return type(transformer).transform(transformer, X, **params)

    def _transform(
        self, i: int, transformer: Any, fitted: Mapping, /, X: Any, **params: Any
    ) -> Any:
        """Transform rows; use the stored output for the test rows.

        A scorer may have changed the state of the step, which was `fitted` at first.
        """
        # scikit-learn removes an attribute for callbacks after the fit.
        is_as_fitted = all(
            name in COVERED or (name in fitted and value is fitted[name])
            for name, value in transformer.__dict__.items()
        )
        if params or not is_as_fitted or not self._is_test(i, X):
            return self._own_transform(i, transformer, X, **params)
        if i == 0:
            self._test_times = []
            self._later_output = self._load_later_output() if self._is_lazy else None
        if self._later_output is not None and i <= self._later_output[0]:
            end, output = self._later_output
            output = output if i == end else _NotLoaded()
        else:
            output = self._transform_test(i, transformer, X)
        self._last_output = i, output
        return output

    def _is_test(self, i: int, X: Any) -> bool:
        """Return whether rows are the test rows, or the previous step's output."""
        if i == 0:
            expected = self._fit.expected_test
            return expected is None or _are_same(X, expected)
        if self._last_output[0] != i - 1 or X is not self._last_output[1]:
            return False
        # A scorer may have modified them in place.
        return self._is_lazy or _are_same(X, lambda: self._load_test(i - 1)[0])

    def _test_key(self, i: int) -> str:
        return f"{self._segments[i].key}-{i}-test"

    def _load_test(self, i: int) -> Any:
        return self._fit.store.load(self._test_key(i))

    def _load_later_output(self) -> tuple[int, Any] | None:
        for segment in reversed(list(dict.fromkeys(self._segments))):
            stored = self._load_test(segment.end)
            if stored is not None:
                output, self._test_times = stored
                self._save_test_times(self._test_times)
                return segment.end, output
        return None

    def _save_test_times(self, times: Sequence[Times]) -> None:
        for seconds, cpu_seconds in times:
            self._fit.score_seconds += seconds
            self._fit.cpu_seconds += cpu_seconds

    def _transform_test(self, i: int, transformer: Any, X: Any) -> Any:
        # If only the last output is accessed, the others are not needed.
        is_stored = not self._is_lazy or i == self._segments[i].end
        stored = self._load_test(i) if is_stored else None
        if stored is not None:
            output, self._test_times = stored
            self._save_test_times(self._test_times[i : i + 1])
            return output
        output, times = self._fit.measured(self._own_transform, i, transformer, X)
        self._test_times.append(times)
        if is_stored and not self._fit.has_drawn and self._pays():
            self._fit.store.save(self._test_key(i), (output, self._test_times))
        return output


def _same(X: Any, other: Any) -> bool:
    if type(X) is not type(other):
        return False
    if isinstance(X, np.ndarray):
        return _same_arrays(X, other)
    if sparse.issparse(X):
        if X.format not in ("csr", "csc") or X.shape != other.shape:
            return False
        parts = ("data", "indices", "indptr")
        return all(_same_arrays(getattr(X, p), getattr(other, p)) for p in parts)
    if isinstance(X, list):
        return bool(X == other)
    equals = getattr(X, "equals", None)
    return bool(equals(other)) if callable(equals) else False


def _same_arrays(array: np.ndarray, other: np.ndarray) -> bool:
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    return bool(np.array_equal(array, other, equal_nan=array.dtype.kind in "fc"))
