"""Tasks of a search in the tree that scikit-learn reports to callbacks."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from skbayes.compat import BaseSearchCV
from skbayes.trial.aspect import Tasks

# Attributes of an estimator during its fit, which are large and not used in a worker.
_FIT_TIME_ATTRIBUTES = (
    "_callback_fit_ctx",
    "_parent_callback_ctx",
    "_skl_callbacks_to_teardown",
)


def _without_fit_state(search: BaseSearchCV) -> BaseSearchCV:
    """Return a shallow copy of `search` without its context and earlier results."""
    copied = copy.copy(search)
    copied.__dict__ = {
        name: value
        for name, value in vars(search).items()
        if name not in _FIT_TIME_ATTRIBUTES and not name.endswith("_")
    } | dict.fromkeys(getattr(search, "_not_sent", ()))
    return copied


def _trimmed(context: Any) -> Any:
    """Return a copy of `context` whose tree only contains its ancestors."""
    node = top = copy.copy(context)
    node._children_map = {}
    while top.parent is not None:
        child, top = top, copy.copy(top.parent)
        child.parent, top._children_map = top, {child.task_id: child}
    return node


class _Children(dict):
    """Children of a task by id; watchers observe tasks that replace a child."""

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

    def __init__(self, search: BaseSearchCV, context: Any) -> None:
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


class TaskTree(Tasks):
    """Tasks of one `fit`, reported to callbacks in the same way as by GridSearchCV.

    The tree is: fit → "search" → one "candidate-split-evaluation" per fit, and fit →
    "refit-with-best-params". The fit of split ``i`` of trial ``k`` has the number
    ``k * n_splits + i``. Each begin has an end, also after an exception.
    """

    is_observed = True

    def __init__(self, search: BaseSearchCV, X: Any, y: Any, sample_weight: Any):
        self._search = search
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._root: Any = None
        self._fits: Any = None
        # Tasks of the fits, by number of the trial.
        self._tasks: dict[int, list[EvaluationTask]] = {}

    @contextlib.contextmanager
    def fit(self) -> Iterator[None]:
        """Report the whole fit, which is the root task."""
        search: Any = self._search
        n_children = 1 + (search.refit is not False)
        self._root = search._init_callback_context(max_subtasks=n_children)
        with self._task(self._root, **self._data):
            yield

    @contextlib.contextmanager
    def searching(self, max_fits: float) -> Iterator[None]:
        """Report the search, with infinite `max_fits` if there is no maximum."""
        if self._root is not None:
            max_subtasks = max_fits if np.isfinite(max_fits) else None
            self._fits = self._root.subcontext(
                task_name="search", max_subtasks=max_subtasks, sequential_subtasks=False
            )
            # Set the attribute here instead of in the fits, which may run in threads.
            self._fits._children_map = _Children()
        with self._task(self._fits):
            yield

    def fits_of_trial(self, number: int, n_splits: int) -> list[EvaluationTask]:
        """Return the tasks of the fits of a trial; first called in the main thread."""
        if number not in self._tasks:
            self._tasks[number] = [
                EvaluationTask(
                    self._search,
                    self._fits.subcontext(
                        task_name="candidate-split-evaluation",
                        task_id=number * n_splits + i,
                    ),
                )
                for i in range(n_splits)
            ]
        return self._tasks[number]

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
