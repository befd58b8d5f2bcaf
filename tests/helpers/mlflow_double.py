"""In-memory substitute for the part of MLflow that a search uses."""

import contextlib
import itertools
import types


class Run:
    """Run with its data in the format of MLflow."""

    def __init__(self, run_id, tags, name=None):
        self.info = types.SimpleNamespace(
            run_id=run_id, experiment_id="0", status="RUNNING", run_name=name
        )
        self.data = types.SimpleNamespace(tags=dict(tags), params={}, metrics={})
        self.texts = {}
        self.models = []


class Mlflow(types.ModuleType):
    """Substitute for the module `mlflow` and its clients."""

    def __init__(self):
        super().__init__("mlflow")
        self.runs = {}
        self.active = None
        self.history = {}
        entities = dict.fromkeys(("Metric", "Param", "RunTag"), lambda *args: args)
        self.entities = types.SimpleNamespace(**entities)
        self.models = types.SimpleNamespace(infer_signature=lambda X, y: (X, y))
        utils = types.SimpleNamespace(_log_estimator_content=self._log_content)
        self.sklearn = types.SimpleNamespace(log_model=self._log_model, utils=utils)
        self._ids = itertools.count()

    # -- runs -----------------------------------------------------------------------

    def active_run(self):
        return self.active

    @contextlib.contextmanager
    def start_run(self, run_id=None, tags=()):
        run = self._make(tags) if run_id is None else self.runs[run_id]
        self.active = run
        try:
            yield run
        except BaseException:
            run.info.status = "FAILED"
            raise
        else:
            run.info.status = "FINISHED"
        finally:
            self.active = None

    def _make(self, tags, name=None):
        run = Run(f"run{next(self._ids)}", tags, name)
        self.runs[run.info.run_id] = run
        return run

    def search_runs(self, experiment_ids, filter_string, output_format):
        parent = filter_string.split("'")[1]
        return [run for run in self.runs.values() if parent_of(run) == parent]

    def log_text(self, text, file):
        self.active.texts[file] = text

    def _log_model(self, model, name, serialization_format, **options):
        self.active.models.append((name, options))

    def _log_content(self, client, estimator, run_id, prefix, *data, pos_label):
        run = self.runs[run_id]
        client.queue.append(lambda: run.data.metrics.update({f"{prefix}score": 1.0}))
        run.content = data

    # -- clients --------------------------------------------------------------------

    def MlflowClient(self):
        return self

    def create_run(self, experiment_id, start_time, run_name, tags):
        return self._make(tags, run_name)

    def log_batch(self, run_id, metrics=(), params=(), tags=()):
        assert len(params) <= 100
        run = self.runs[run_id]
        for key, value, _, step in metrics:
            run.data.metrics[key] = value
            self.history.setdefault((run_id, key), []).append((step, value))
        for key, value in params:
            assert run.data.params.setdefault(key, value) == value
        run.data.tags.update(tags)

    def set_terminated(self, run_id, status, end_time):
        self.runs[run_id].info.status = status

    # -- what it has ----------------------------------------------------------------

    @property
    def parents(self):
        return [run for run in self.runs.values() if parent_of(run) is None]

    def children(self, run):
        """Return the children of a run, by the number of the trial."""
        runs = self.search_runs(["0"], f"'{run.info.run_id}'", "list")
        return {int(child.data.tags["skbayes.trial"]): child for child in runs}


def parent_of(run):
    return run.data.tags.get("mlflow.parentRunId")


class Autologging(types.ModuleType):
    """Substitute for `mlflow.utils.autologging_utils` with options of `autolog`."""

    def __init__(self, **options):
        super().__init__("mlflow.utils.autologging_utils")
        self.options = options
        self.within = False
        self._AUTOLOGGING_GLOBALLY_DISABLED = False

    def get_autologging_config(self, flavor, name, default):
        assert flavor == "sklearn"
        return self.options.get(name, default)

    def autologging_is_disabled(self, flavor):
        return self.get_autologging_config(flavor, "disable", False)

    def _has_active_training_session(self):
        return self.within

    class MlflowAutologgingQueueingClient:
        """Substitute for the client that sends what it was given when it is flushed."""

        def __init__(self):
            self.queue = []

        def flush(self):
            for log in self.queue:
                log()

    @contextlib.contextmanager
    def disable_autologging(self):
        # As in MLflow, the end of the inner of two blocks ends both.
        self._AUTOLOGGING_GLOBALLY_DISABLED = True
        try:
            yield
        finally:
            self._AUTOLOGGING_GLOBALLY_DISABLED = False
