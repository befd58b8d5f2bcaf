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

__all__ = ["PrefixCache", "SharedFit"]

# Methods of a step that are covered while its pipeline is fitted and scored.
COVERED = ("fit_transform", "transform", "__sklearn_clone__", "__getstate__")

# Settings whose steps this process fitted without storing any, by folder of the store.
_UNSHARED_SETTINGS: dict[str, set] = {}

# Seconds of a fit below which loading its output may take longer.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class PrefixCache:
    """Inputs that the fits of a search need to share steps.

    `n_values` counts the values of each searched parameter. If `only_known`, only steps
    of scikit-learn are shared, whose fits take longer than loading their outputs.
    """

    store: PrefixStore | MachineStore
    n_values: Mapping[str, float]
    only_known: bool = False


class _LostStep(BaseException):
    """A fitted step cannot be loaded; not an `Exception`, as the fit has not failed."""


def _lost() -> dict[str, Any]:
    raise _LostStep


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
            runs = list(find_runs(estimator, n_values, self.cache.only_known))
            for path, steps in runs:
                _Run(self, steps, is_outer=path == "").prepare()
        except Exception:  # for example, a value that cannot be hashed
            self.uncover_all()
        fitted = fit(X, y, **fit_params)
        if self.cache.only_known and not self.is_used and settings is not None:
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


class _Measured:
    """Context that measures the time of a step, and detects random draws.

    Numbers may have been drawn from the global generators of other processes. If the
    fit `is_remote`, joblib would use the cluster again, and the step runs here instead.
    Python's generator is then ignored, because Dask draws from it in each worker.
    """

    def __init__(self, is_remote: bool) -> None:
        self._is_remote = is_remote
        self._config = contextlib.ExitStack()
        if is_remote:
            self._config.enter_context(joblib.parallel_config("sequential"))

    def __enter__(self) -> _Measured:
        self._before = self._state()
        self._begin, self._begin_cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception: object) -> None:
        seconds = time.perf_counter() - self._begin
        self.times = seconds, time.process_time() - self._begin_cpu
        has_drawn = self._state() != self._before
        self.has_drawn = has_drawn or joblib.effective_n_jobs(None) != 1
        self._config.close()

    def _state(self) -> bytes:
        of_python = None if self._is_remote else random.getstate()
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


class _Transform:
    """Method `transform` of a fitted step."""

    def __init__(self, run: _Run, i: int, transformer: Any) -> None:
        self._run, self._i, self._transformer = run, i, transformer
        self._state = dict(transformer.__dict__)

    def __call__(self, X: Any, **params: Any) -> Any:
        # A scorer may have fitted the step again. scikit-learn removes an attribute
        # for callbacks after the fit.
        is_as_fitted = all(
            name in COVERED or (name in self._state and value is self._state[name])
            for name, value in self._transformer.__dict__.items()
        )
        return self._run.transform(self._i, self._transformer, X, params, is_as_fitted)


class _States:
    """Fitted states of the steps of a segment, loaded at first use."""

    def __init__(self, store: PrefixStore, key: str) -> None:
        self._store, self._key = store, f"{key}-states"
        self._loaded: list[dict[str, Any]] | None = None

    def are_stored(self, is_lazy: bool) -> bool:
        """Return whether the states are available; load them unless `is_lazy`."""
        return self._store.has(self._key) if is_lazy else self._load()

    def _load(self) -> bool:
        if self._loaded is None:
            # A fitted estimator that is kept would keep files open.
            self._loaded = self._store.load(self._key, mapped=False)
        return self._loaded is not None

    def __getitem__(self, i: int) -> dict[str, Any]:
        if not self._load():
            raise _LostStep
        assert self._loaded is not None
        return self._loaded[i]


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
        ends = [
            i
            for i, step in enumerate(steps)
            if i == len(steps) - 1 or steps[i + 1].names != step.names
        ]
        self._keys: list[str] = []
        for begin, end in zip([0, *(e + 1 for e in ends[:-1])], ends, strict=True):
            self._keys += [fit.key(steps[end])] * (end + 1 - begin)
        self._ends = ends
        # Results of an earlier fit: states and times of the first steps, and the output
        # of the last of them.
        self._states: list[Callable[[], dict[str, Any]]] = []
        self._times: list[tuple[float, float]] = []
        self._output: Any = None
        # States of the steps of a segment that are fitted in this fit.
        self._fitted: list[dict[str, Any]] = []
        self._unloaded: dict[int, Callable[[], dict[str, Any]]] = {}
        # Last returned output of the test rows, with the index of its step; times of
        # the steps that produced it; output of a later step, if it is already known.
        self._last_output: tuple[int, Any] = (-1, None)
        self._test_times: list[tuple[float, float]] = []
        self._later_output: tuple[int, Any] | None = None

    def prepare(self) -> None:
        """Load the stored results of the first steps, and cover all steps."""
        store = self._fit.store
        segments: list[_States] = []
        for end in self._ends:
            states = _States(store, self._keys[end])
            if not states.are_stored(self._is_lazy):
                break
            segments.append(states)
        while segments:
            end = self._ends[len(segments) - 1]
            stored = store.load(f"{self._keys[end]}-output")
            if stored is not None:
                self._output, self._times = stored
                break
            segments.pop()
        begin = 0
        for end, states in zip(self._ends, segments, strict=False):
            self._states += [
                functools.partial(states.__getitem__, i) for i in range(end + 1 - begin)
            ]
            begin = end + 1
        for i, step in enumerate(self._steps):
            self._cover(i, step.transformer)

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
        self, i: int, transformer: Any, X: Any, y: Any = None, **params: Any
    ) -> Any:
        if i >= len(self._states) and (i == 0 or i - 1 in self._ends):
            self._await_turn(i)
        if i < len(self._states):
            return self._restore(i, transformer)
        uncover(transformer)
        with _Measured(self._fit.is_remote) as measured:
            output = transformer.fit_transform(X, y, **params)
        self._fit.has_drawn |= measured.has_drawn
        for part in filter(is_estimator, transformer.get_params(deep=True).values()):
            uncover(part)
        self._fitted.append(dict(transformer.__dict__))
        self._times.append(measured.times)
        if i in self._ends:
            store = self._fit.store
            if not self._fit.has_drawn and self._pays():
                self._fit.is_used = True
                store.save(f"{self._keys[i]}-states", self._fitted)
                store.save(f"{self._keys[i]}-output", (output, self._times))
            if not store.has(f"{self._keys[i]}-output"):
                store.give_up(self._keys[i])
            self._fitted = []
            self._turn.end()
        self._cover_transform(i, transformer)
        return output

    def _await_turn(self, i: int) -> None:
        """Wait while another process fits the segment of a step; load its results."""
        if self._fit.has_drawn:
            return
        begin, store, key = time.perf_counter(), self._fit.store, self._keys[i]
        self._turn.begin(store, key)
        self._fit.waited += time.perf_counter() - begin
        states = _States(store, key)
        if not states.are_stored(self._is_lazy):
            return
        stored = store.load(f"{key}-output")
        if stored is None:
            return
        self._output, self._times = stored
        # The steps before it were fitted or restored.
        self._states += [_lost] * (i - len(self._states))
        end = next(end for end in self._ends if end >= i)
        self._states += [
            functools.partial(states.__getitem__, j) for j in range(end + 1 - i)
        ]
        self._turn.end()

    def _pays(self) -> bool:
        """Return whether fitting the steps took longer than loading their output."""
        seconds = sum(seconds for seconds, _ in self._times)
        return seconds > LEAST_SECONDS or not self._fit.cache.only_known

    def _restore(self, i: int, transformer: Any) -> Any:
        uncover(transformer)
        self._fit.is_used = True
        if self._is_lazy:
            self._unloaded[i] = self._states[i]
        else:
            transformer.__dict__.update(self._states[i]())
        seconds, cpu_seconds = self._times[i]
        self._fit.fit_seconds += seconds
        self._fit.cpu_seconds += cpu_seconds
        self._cover_transform(i, transformer)
        if i < len(self._states) - 1:
            return _NotLoaded()
        output, self._output = self._output, None
        return output

    def _cover_transform(self, i: int, transformer: Any) -> None:
        if not self._is_outer:
            return
        state = functools.partial(_plain_state, transformer)
        transform = _Transform(self, i, transformer)
        self._fit.cover(transformer, {"transform": transform, "__getstate__": state})

    def _transform(self, i: int, transformer: Any, X: Any, **params: Any) -> Any:
        if i in self._unloaded:
            transformer.__dict__.update(self._unloaded.pop(i)())
        return type(transformer).transform(transformer, X, **params)

    def transform(
        self,
        i: int,
        transformer: Any,
        X: Any,
        params: Mapping[str, Any],
        is_as_fitted: bool,
    ) -> Any:
        """Transform rows; use the stored output for the test rows."""
        if params or not is_as_fitted or not self._is_test(i, X):
            return self._transform(i, transformer, X, **params)
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

    def _load_test(self, i: int) -> Any:
        return self._fit.store.load(f"{self._keys[i]}-{i}-test")

    def _load_later_output(self) -> tuple[int, Any] | None:
        for end in reversed(self._ends):
            stored = self._load_test(end)
            if stored is not None:
                output, self._test_times = stored
                self._save_test_times(self._test_times)
                return end, output
        return None

    def _save_test_times(self, times: Sequence[tuple[float, float]]) -> None:
        for seconds, cpu_seconds in times:
            self._fit.score_seconds += seconds
            self._fit.cpu_seconds += cpu_seconds

    def _transform_test(self, i: int, transformer: Any, X: Any) -> Any:
        # If only the last output is accessed, the others are not needed.
        is_stored = not self._is_lazy or i in self._ends
        stored = self._load_test(i) if is_stored else None
        if stored is not None:
            output, self._test_times = stored
            self._save_test_times(self._test_times[i : i + 1])
            return output
        with _Measured(self._fit.is_remote) as measured:
            output = self._transform(i, transformer, X)
        self._test_times.append(measured.times)
        self._fit.has_drawn |= measured.has_drawn
        if is_stored and not self._fit.has_drawn and self._pays():
            key = f"{self._keys[i]}-{i}-test"
            self._fit.store.save(key, (output, self._test_times))
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
