"""Process that runs fits, without a process."""

import pickle
from types import SimpleNamespace

import cloudpickle
import pytest

from skbayes.options.limits import fit_process
from skbayes.options.limits.fit_process import FitRequest, Settings, answer
from skbayes.trial.records import FoldResult

EVENTS = []


def note(event):
    EVENTS.append(event)


class Imports:
    """Object that is unpickled by a call, as if it imported a module."""

    def __reduce__(self):
        return note, ("unpickled",)


@pytest.fixture
def answers(monkeypatch):
    """Return a function that answers a request with a fold and settings."""
    EVENTS.clear()
    connection = SimpleNamespace(send_bytes=lambda b: note(pickle.loads(b)))
    handle = SimpleNamespace(load=lambda: None)
    results = [FoldResult(transient={"seconds": 7.0})]
    monkeypatch.setattr(fit_process, "run_folds", lambda *args: results)

    def answer_to(fold, settings):
        answer(connection, FitRequest(handle, pickle.dumps(fold), settings))
        return EVENTS

    return answer_to


def test_the_parameters_are_loaded_before_the_fit_begins(answers):
    # Unpickling returns None, so that no fit runs.
    assert answers(Imports(), Settings.of_this_thread(1)) == ["unpickled", None]


def test_a_backend_that_cannot_be_unpickled_is_omitted(answers):
    class Broken:
        def __reduce__(self):
            return int, ("no client",)

    broken = Settings.of_this_thread(2)
    broken.joblib = cloudpickle.dumps({"backend": Broken()})
    begun, result = answers("fold", broken)
    assert begun is None and result.transient["seconds"] == 7.0
