"""Callbacks for the tests, in a separate module that workers can import."""

from collections import defaultdict


class Recorder:
    """Callback that records the arguments of its hooks in the process of the search."""

    def __init__(self):
        self.events = []
        self.limits = {}
        self.weights = defaultdict(list)

    def _note(self, hook, estimator, context):
        path, node = [], context
        while node is not None:
            path.insert(0, (node.task_name, node.task_id))
            node = node.parent
        self.limits[context.task_name] = context.max_subtasks
        self.events.append((hook, path, type(estimator).__name__, estimator))

    def __getstate__(self):
        return vars(self) | {"events": [], "limits": {}, "weights": defaultdict(list)}

    def setup(self, estimator, context):
        self._note("setup", estimator, context)

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self._note("begin", estimator, context)
        if metadata:
            self.weights[context.task_name].append(metadata["sample_weight"])

    def on_fit_task_end(self, estimator, context):
        self._note("end", estimator, context)

    def teardown(self, estimator, context):
        self._note("teardown", estimator, context)


class PropagatedRecorder(Recorder):
    """Recorder that is propagated to inner estimators."""

    max_propagation_depth = None


class Stopper(Recorder):
    """Recorder that stops the search after the evaluation with the number `task`."""

    def __init__(self, task):
        super().__init__()
        self.task = task

    def on_fit_task_end(self, estimator, context):
        merged = getattr(context, "source_task_name", None) or context.task_name
        return merged == "candidate-split-evaluation" and context.task_id == self.task


class PropagatedStopper(Stopper):
    """Stopper that is propagated to inner estimators."""

    max_propagation_depth = None
