"""Tasks of Ray as a backend of joblib, on a double of Ray."""

import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from types import SimpleNamespace

import joblib
import pytest
from joblib.parallel import MultiprocessingBackend
from sklearn.utils.parallel import delayed

from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.ray_tasks import RayTasks


class Task:
    """Remote function of Ray, which runs in the thread that gets its result."""

    def __init__(self, function, options=None):
        self.function, self.given = function, options

    def options(self, **options):
        return Task(self.function, options)

    def remote(self, *arguments):
        return lambda: (self.given, self.function(*arguments))


@pytest.fixture
def used(monkeypatch):
    """Replace Ray; yield the options of its tasks."""
    options = []

    def get(call):
        given, result = call()
        options.append(given)
        return result

    double = SimpleNamespace(remote=Task, get=get, WORKER_MODE=1)
    double.context = SimpleNamespace(worker=SimpleNamespace(mode=0))
    double.get_runtime_context = lambda: double.context
    monkeypatch.setitem(sys.modules, "ray", double)
    return options


def parallel(threads, calls, options=None, n_jobs=2):
    backend = RayTasks(threads, options or {}, threading.Event())
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        return joblib.Parallel(batch_size=1)(calls)


def test_each_call_is_a_task_with_the_options_that_tasks_have(used):
    calls = [joblib.delayed(pow)(2, i) for i in range(6)]
    with ThreadPoolExecutor(2) as threads:
        given = {"num_gpus": 1, "max_restarts": 3}
        assert parallel(threads, calls, given) == [1, 2, 4, 8, 16, 32]
    assert used == [{"num_cpus": 1, "num_gpus": 1, "max_retries": 0}] * 6


def test_the_fits_of_a_search_in_a_task_need_no_free_processor(used, monkeypatch):
    within = SimpleNamespace(worker=SimpleNamespace(mode=1))
    monkeypatch.setattr(sys.modules["ray"], "context", within)
    with ThreadPoolExecutor(2) as threads:
        parallel(threads, [joblib.delayed(int)("1")])
        parallel(threads, [joblib.delayed(int)("1")], {"num_cpus": 2})
    assert [options["num_cpus"] for options in used] == [0, 2]


def test_ray_receives_one_function(used, monkeypatch):
    functions = []
    monkeypatch.setattr(
        sys.modules["ray"], "remote", lambda f: functions.append(f) or Task(f)
    )
    with ThreadPoolExecutor(2) as threads:
        parallel(threads, [joblib.delayed(pow)(2, i) for i in range(6)])
    assert len(functions) == 1


def test_errors_are_those_of_the_calls(used):
    calls = [joblib.delayed(int)(text) for text in ("1", "one", "2")]
    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(ValueError, match="'one'"):
            parallel(threads, calls)
        # The backend can be used again.
        assert parallel(threads, [joblib.delayed(int)("1")]) == [1]


def test_several_trials_use_no_more_workers_than_one(used):
    lock, running, most = threading.Lock(), [], []

    def fit():
        with lock:
            running.append(None)
            most.append(len(running))
        time.sleep(0.02)
        with lock:
            running.pop()

    with ThreadPoolExecutor(2) as threads, ThreadPoolExecutor(3) as trials:
        calls = [joblib.delayed(fit)() for _ in range(5)]
        list(trials.map(lambda _: parallel(threads, calls), range(3)))
    assert len(most) == 15 and max(most) <= 2


def test_an_interrupted_search_starts_no_further_task(used):
    name = {"__module__": "ray.joblib"}
    with joblib.parallel_config(type("Named", (MultiprocessingBackend,), name)()):
        around = ExecutionContext(2, "2*n_jobs")
    running, begun, waits = TrialExecutor(around, 2, 4), [], threading.Event()

    def fit():
        begun.append(None)
        waits.wait(600.0)

    with pytest.raises(KeyboardInterrupt), running:
        running.start(0, lambda parallel: parallel([delayed(fit)()] * 4))
        while len(begun) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt
    waits.set()
    (ended,) = running.finished(600.0).values()
    assert isinstance(ended.exception(), CancelledError) and len(begun) == 2
