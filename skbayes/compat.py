"""Functions that use private names of scikit-learn and joblib, or depend on releases.

The functions check the features of a release by signature or attribute, never by its
version number, so that later releases are supported. `utils.private_names` looks up the
names. Other modules only use LIBLINEAR from there.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from functools import partial, wraps
from multiprocessing.pool import ApplyResult
from numbers import Real
from types import MappingProxyType
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import sklearn
from sklearn import get_config
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel

from skbayes.utils.private_names import (
    HAS_CALLBACKS,
    MISSING,
    TASK_PENDING,
    BaseSearchCV,
    HasMethods,
    Interval,
    InvalidParameterError,
    LinearClassifierMixin,
    RealNotInt,
    ShutdownExecutorError,
    _fit_context,
    _joblib_state,
    _StrOptions,
    check_fit_params,
    check_multimetric_refit,
    default_parallel_config,
    fit_and_score,
    format_results,
    get_active_backend,
    get_reusable_executor,
    report_failures,
    resolve_scorers,
    resource_tracker,
    route_fit_params,
    safe_split,
    select_best_index,
    validate_parameter_constraints,
)

# Names of other modules that are used as those of this one.
__all__ = [
    "HAS_CALLBACKS",
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "LinearClassifierMixin",
    "RealNotInt",
    "ShutdownExecutorError",
    "check_fit_params",
    "check_multimetric_refit",
    "fit_and_score",
    "format_results",
    "report_failures",
    "resolve_scorers",
    "route_fit_params",
    "safe_split",
    "select_best_index",
]

_FIT_AND_SCORE_PARAMETERS = frozenset(inspect.signature(fit_and_score).parameters)

# Seconds between checks whether a fit has finished, as in joblib.
LONGEST_WAIT = 0.01

_POOL_LOCK = threading.RLock()

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
    asked = getattr(scorer, "_accept_sample_weight", None)
    return asked() if asked else "sample_weight" in inspect.signature(scorer).parameters


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
        or get_config().get("skip_parameter_validation")
    ):
        return None
    constraint, given = {name: constraints[name]}, {name: value}
    try:
        validate_parameter_constraints(constraint, given, kind.__name__)
    except InvalidParameterError as error:
        return error
    return None


def check_parameters(
    search: BaseSearchCV, accepted: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Check values that the constructor of a subclass does not accept, but may set."""
    if get_config().get("skip_parameter_validation"):
        return
    set_inside = values.keys() - search.get_params(deep=False)
    validate_parameter_constraints(
        dict(accepted),
        {name: values[name] for name in set_inside},
        type(search).__name__,
    )


def number_types(estimator: Any, name: str) -> set[Any]:
    """Return the types of a parameter, by its constraints or its default value."""
    constraints = getattr(estimator, "_parameter_constraints", None)
    if isinstance(constraints, dict) and name in constraints:
        given = constraints[name] if isinstance(constraints[name], list) else []
        return {getattr(kind, "type", kind) for kind in given}
    parameter = inspect.signature(type(estimator).__init__).parameters.get(name)
    return {Real} if type(getattr(parameter, "default", None)) is float else set()


def check_input(search: BaseSearchCV, X: Any, y: Any, split_params: dict) -> None:
    """Run the input check of the scikit-learn release, if it has one."""
    if hasattr(search, "_check_input_parameters"):
        search._check_input_parameters(X=X, y=y, split_params=split_params)


def fit_and_score_arguments(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that this release supports; 1.9 added two of them."""
    return {k: v for k, v in arguments.items() if k in _FIT_AND_SCORE_PARAMETERS}


# --- callbacks ------------------------------------------------------------------------

# Attributes of an estimator during its fit, which are large and not used in a worker.
_FIT_TIME_ATTRIBUTES = (
    "_callback_fit_ctx",
    "_parent_callback_ctx",
    "_skl_callbacks_to_teardown",
)


def _without_fit_state(search: Any) -> Any:
    """Return a shallow copy of `search` without its context and earlier results."""
    light = copy.copy(search)
    light.__dict__ = {
        name: value
        for name, value in vars(search).items()
        if name not in _FIT_TIME_ATTRIBUTES and not name.endswith("_")
    } | dict.fromkeys(getattr(search, "_not_sent", ()))
    return light


def _trimmed(context: Any) -> Any:
    """Return a copy of `context` whose tree only contains its ancestors."""
    node = top = copy.copy(context)
    node._children_map = {}
    while top.parent is not None:
        child, top = top, copy.copy(top.parent)
        child.parent, top._children_map = top, {child.task_id: child}
    return node


class _Children(dict):
    """Children of a task by id; observes the root of an estimator that replaces one."""

    def __init__(self, children: Mapping = MappingProxyType({})) -> None:
        self.watchers: dict[int, EvaluationTask] = {}
        super().__init__(children)

    def __setitem__(self, task_id: Any, node: Any) -> None:
        super().__setitem__(task_id, node)
        # Unpickling sets the items before the attributes.
        watcher = self.__dict__.get("watchers", {}).get(task_id)
        if watcher is not None:
            node.call_on_fit_task_end = partial(watcher.end_of, node)


class EvaluationTask:
    """Task of one evaluation in the callback tree, which is sent to the worker.

    It records requests to stop, which `_fit_and_score` ignores. Its pickle contains
    trimmed copies, because each context references the whole tree of tasks.
    """

    def __init__(self, search: Any, context: Any) -> None:
        self.search = search
        self._context = context
        self.stop_requested = False

    def __getstate__(self) -> dict[str, Any]:
        return {
            "search": _without_fit_state(self.search),
            "_context": _trimmed(self._context),
            "stop_requested": self.stop_requested,
        }

    def propagate_callback_context(self, sub_estimator: Any) -> Any:
        """Propagate callbacks to the inner estimator."""
        parent = self._context.parent
        if not isinstance(parent._children_map, _Children):
            parent._children_map = _Children(parent._children_map)
        parent._children_map.watchers[self._context.task_id] = self
        return self._context.propagate_callback_context(sub_estimator)

    def call_on_fit_task_begin(self, **kwargs: Any) -> EvaluationTask:
        """Report the beginning of the task."""
        self._context.call_on_fit_task_begin(**kwargs)
        return self

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        """Report the end of the task, and record a request to stop."""
        return self.end_of(self._context, **kwargs)

    def end_of(self, node: Any, **kwargs: Any) -> bool:
        """Report the end of `node`, and record a request to stop."""
        stop = bool(type(node).call_on_fit_task_end(node, **kwargs))
        self.stop_requested |= stop
        return stop


class TaskTree:
    """Tasks of one `fit`, reported to callbacks in the same way as by GridSearchCV.

    The tree is: fit → "search" → one "candidate-evaluation" per trial → one
    "candidate-split-evaluation" per fit, and fit → "refit-with-best-params".
    GridSearchCV has no tasks of trials. Each begin has an end, also after an exception.
    In releases without callbacks, all methods have no effect.
    """

    def __init__(self, search: BaseSearchCV, X: Any, y: Any, sample_weight: Any):
        self._search = search
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._root: Any = None
        self._trials: Any = None
        self._begun: dict[int, Any] = {}

    @property
    def is_observed(self) -> bool:
        """Whether the search or a part of it has callbacks."""
        parts = self._search.get_params(deep=True).values()
        return HAS_CALLBACKS and any(map(has_callbacks, (self._search, *parts)))

    @contextlib.contextmanager
    def fit(self) -> Iterator[None]:
        """Report the whole fit, which is the root task."""
        if HAS_CALLBACKS:
            search: Any = self._search
            n_children = 1 + (search.refit is not False)
            self._root = search._init_callback_context(max_subtasks=n_children)
        with self._task(self._root, **self._data):
            yield

    @contextlib.contextmanager
    def searching(self, max_trials: float) -> Iterator[None]:
        """Report the search, with infinite `max_trials` if there is no maximum."""
        if self._root is not None:
            most = max_trials if np.isfinite(max_trials) else None
            self._trials = self._root.subcontext(
                task_name="search", max_subtasks=most, sequential_subtasks=False
            )
        with self._task(self._trials):
            try:
                yield
            finally:
                for context in self._begun.values():
                    context.call_on_fit_task_end(estimator=self._search)
                self._begun.clear()

    def begin_trial(self, number: int, n_splits: int) -> list[EvaluationTask | None]:
        """Report the beginning of a trial in the main thread; return tasks of fits."""
        if self._trials is None:
            return [None] * n_splits
        trial = self._trials.subcontext(
            task_name="candidate-evaluation",
            task_id=number,
            max_subtasks=n_splits,
            sequential_subtasks=False,
        )
        # Set here instead of in the fits, which may run in threads.
        trial._children_map = _Children()
        self._begun[number] = trial
        trial.call_on_fit_task_begin(estimator=self._search)
        contexts = [
            trial.subcontext(
                task_name="candidate-split-evaluation", task_id=number * n_splits + i
            )
            for i in range(n_splits)
        ]
        return [EvaluationTask(self._search, context) for context in contexts]

    def end_trial(self, trial: Any) -> bool:
        """Report the end of a trial; return whether a callback requested to stop."""
        context = self._begun.pop(trial.number, None)
        if context is None:
            return False
        context.trial = trial
        return bool(context.call_on_fit_task_end(estimator=self._search))

    @contextlib.contextmanager
    def refitting(self, estimator: Any) -> Iterator[None]:
        """Report the refit of `estimator`, and propagate callbacks to it."""
        if self._root is None:
            yield
            return
        context = self._root.subcontext(task_name="refit-with-best-params")
        with context.propagate_callback_context(estimator):
            with self._task(context, **self._data):
                yield

    @contextlib.contextmanager
    def _task(self, context: Any, **data: Any) -> Iterator[None]:
        if context is None:
            yield
            return
        context.call_on_fit_task_begin(estimator=self._search, **data)
        try:
            yield
        finally:
            context.call_on_fit_task_end(estimator=self._search, **data)


def has_callbacks(estimator: Any) -> bool:
    """Return whether an estimator has callbacks."""
    return bool(getattr(estimator, "__dict__", {}).get("_skl_callbacks", ()))


# --- joblib ---------------------------------------------------------------------------


class PromptParallel(Parallel):
    """Parallel call that returns the result of a fit without delay.

    joblib checks for results every 10 ms, which adds 5 to 10 ms to each trial.
    """

    def _wait_retrieval(self) -> bool:
        waiting = super()._wait_retrieval()
        jobs = getattr(self, "_jobs", None)
        if waiting and jobs and not getattr(self, "_aborting", True):
            _await_status(jobs[0])
            if _is_lost(jobs[0], self._backend):
                raise ShutdownExecutorError("What fetches results of workers ended.")
        return waiting


def _await_status(job: Any) -> None:
    """Wait for at most about 10 ms until a job of joblib is not pending."""
    future = getattr(job, "job", None)
    if isinstance(future, Future):
        wait([future], LONGEST_WAIT)
    elif isinstance(future, ApplyResult):
        future.wait(LONGEST_WAIT)
    else:
        return
    # A callback of the future sets the status a moment later.
    for _ in range(10):
        status = getattr(job, "status", None)
        done = future.done() if isinstance(future, Future) else future.ready()
        if TASK_PENDING is None or status != TASK_PENDING or not done:
            return
        time.sleep(1e-4)


def _is_lost(job: Any, backend: Any) -> bool:
    """Return whether the thread of loky or the client of Dask for results has ended."""
    manager = getattr(vars(backend).get("_workers"), "_executor_manager_thread", None)
    # Asked first: before its end, the thread sets the results that it knows.
    has_ended = manager is not None and not manager.is_alive()
    has_ended |= getattr(getattr(backend, "client", None), "status", None) == "closed"
    future = getattr(job, "job", None)
    return has_ended and isinstance(future, Future) and not future.done()


def joblib_settings() -> dict[str, Any]:
    """Return the settings of the active `joblib.parallel_config` contexts."""
    config = getattr(_joblib_state, "config", {})
    return {k: v for k, v in config.items() if v is not default_parallel_config.get(k)}


def active_backend() -> Any:
    """Return the joblib backend that is active in this thread."""
    return get_active_backend()[0]


def own_backend(backend: Any) -> Any:
    """Return a new backend with the same settings; threads that share one lose results.

    It is None if the backend cannot be created.
    """
    # Attributes named like arguments of the constructor are its arguments.
    arguments = {
        name: getattr(backend, name)
        for name, parameter in inspect.signature(type(backend)).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and hasattr(backend, name)
    }
    for more in ("backend_kwargs", "submit_kwargs"):
        arguments |= getattr(backend, more, {})
    try:
        own = type(backend)(**arguments)
    except TypeError:
        return None
    for name in ("nesting_level", "inner_max_num_threads", "wait_for_workers_timeout"):
        if hasattr(backend, name):
            setattr(own, name, getattr(backend, name))
    if hasattr(own, "client"):
        # While the workers of a cluster restart, there may be a single one. joblib then
        # runs fits in the process of the search, even one that has killed a worker.
        own.effective_n_jobs = partial(_at_least_two, own.effective_n_jobs)
    # loky may return a new pool to a second thread before joblib has prepared it. Two
    # threads that shut down a broken pool interfere with each other.
    own.configure = partial(_one_at_a_time, own.configure)
    own.abort_everything = partial(_one_at_a_time, own.abort_everything)
    if shares_processes(own):
        # The name was `apply_async` before joblib 1.5.
        name = "submit" if hasattr(own, "submit") else "apply_async"
        setattr(own, name, partial(_submit_or_fail, own, getattr(own, name)))
    return own


def _one_at_a_time(method: Any, *args: Any, **kwargs: Any) -> Any:
    with _POOL_LOCK:
        return method(*args, **kwargs)


def _submit_or_fail(backend: Any, submit: Any, *args: Any, **kwargs: Any) -> Any:
    """Submit a task to loky, or raise an error if its pool ends while this waits.

    Another thread that replaces a pool holds loky's lock until the callbacks of the old
    pool have run. They wait for the lock of the call of joblib that is in `submit`.
    """
    lock = getattr(backend._workers, "_submit_resize_lock", _POOL_LOCK)
    while not lock.acquire(timeout=LONGEST_WAIT):
        if _has_ended(backend._workers):
            raise ShutdownExecutorError("The pool ended before this task was sent.")
    try:
        return submit(*args, **kwargs)
    finally:
        lock.release()


def _at_least_two(effective_n_jobs: Any, n_jobs: int | None) -> int:
    return max(2, effective_n_jobs(n_jobs))


def owns_processes(backend: Any) -> bool:
    """Return whether each instance of this joblib backend starts new processes."""
    return "MultiprocessingBackend" in (kind.__name__ for kind in type(backend).__mro__)


def shares_processes(backend: Any) -> bool:
    """Return whether all calls in this process share workers, which die together."""
    return type(backend).__name__ == "LokyBackend"


def can_last(backend: Any) -> bool:
    """Return whether one call of joblib can be prepared for several trials."""
    return not hasattr(backend, "client")


def can_serve(parallel: Parallel) -> bool:
    """Return whether the workers, which another call may end, still accept tasks."""
    return not _has_ended(
        getattr(getattr(parallel, "_backend", None), "_workers", None)
    )


def _has_ended(workers: Any) -> bool:
    flags = getattr(workers, "_flags", None)
    return bool(getattr(flags, "broken", None) or getattr(flags, "shutdown", False))


def kill_workers(backend: Any) -> None:
    """Kill the processes that all calls share, as joblib does on Ctrl-C."""
    if shares_processes(backend):
        get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def guard_folder(path: str) -> None:
    """Request the removal of a folder in case this process is killed."""
    resource_tracker.register(path, "folder")


def release_folder(path: str) -> None:
    """Cancel the request for a folder that has been removed."""
    resource_tracker.unregister(path, "folder")


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
