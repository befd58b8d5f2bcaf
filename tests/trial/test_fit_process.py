"""Process that runs fits, without a process."""

import pickle
from types import SimpleNamespace

import cloudpickle
import pytest

from skbayes.trial import fit_process
from skbayes.trial.fit_process import BEGUN, FitRequest, Settings
from skbayes.trial.records import FoldResult

EVENTS = []


def note(event):
    EVENTS.append(event)


class Imports:
    """Object that is unpickled by a call, as if it imported a module."""

    def __reduce__(self):
        return note, ("unpickled",)


@pytest.fixture
def server(monkeypatch):
    EVENTS.clear()
    connection = SimpleNamespace(send_bytes=EVENTS.append)
    handle = SimpleNamespace(load=lambda: None)
    results = [FoldResult(kept={"seconds": 7.0})]
    monkeypatch.setattr(fit_process, "run_folds", lambda *args: results)
    return fit_process._Server(connection, handle)


def test_the_parameters_are_loaded_before_the_fit_begins(server):
    server.answer(FitRequest(pickle.dumps(Imports()), Settings.of_this_thread()))
    # Unpickling returned None, so that no fit ran.
    assert EVENTS == ["unpickled", BEGUN]


def test_a_backend_that_cannot_be_unpickled_is_omitted(server):
    class Broken:
        def __reduce__(self):
            return int, ("no client",)

    broken = Settings.of_this_thread()
    broken.joblib = cloudpickle.dumps({"backend": Broken()})
    server.answer(FitRequest(pickle.dumps("fold"), broken))
    assert EVENTS[0] == BEGUN
    assert pickle.loads(EVENTS[1]).kept["seconds"] == 7.0
