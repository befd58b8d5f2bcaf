"""Process that runs fits, without a process."""

import multiprocessing
import os
import pickle
import struct
import threading
from types import SimpleNamespace

import cloudpickle
import pytest

from skbayes.evaluation import fit_process
from skbayes.evaluation.fit_process import BEGUN, HEADER, MARK, FitRequest, Messages
from skbayes.evaluation.fit_server import _settings
from skbayes.evaluation.fold import FoldOutcome

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
    messages = SimpleNamespace(send=EVENTS.append)
    handle = SimpleNamespace(load=lambda: None)
    outcomes = [FoldOutcome(seconds=7.0)]
    monkeypatch.setattr(fit_process, "run_folds", lambda *args: outcomes)
    return fit_process._Server(messages, handle)


def test_the_parameters_are_loaded_before_the_fit_begins(server):
    server.answer(FitRequest(pickle.dumps(Imports()), _settings()))
    *begun, reply = EVENTS
    # unpickling returned None, so that no fit ran
    assert begun == ["unpickled", BEGUN]
    assert pickle.loads(reply)[0] == FoldOutcome()


def test_a_backend_that_cannot_be_unpickled_is_omitted(server):
    class Broken:
        def __reduce__(self):
            return int, ("no client",)

    settings = _settings()
    settings.joblib = cloudpickle.dumps({"backend": Broken()})
    server.answer(FitRequest(pickle.dumps("fold"), settings))
    assert EVENTS[0] == BEGUN
    assert pickle.loads(EVENTS[1])[0].seconds == 7.0


# --- messages ------------------------------------------------------------------------


@pytest.fixture
def ends():
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        yield Messages(ours), Messages(theirs)


def test_messages_of_any_size_arrive_in_order(ends):
    ours, theirs = ends
    contents = [b"", BEGUN, b"x" * 5_000_000]

    def send():
        for content in contents:
            theirs.send(content)

    thread = threading.Thread(target=send)
    thread.start()
    assert [ours.receive() for _ in contents] == contents
    thread.join()
    assert not ours.arrived(0.0) and not ours.is_arriving
    theirs.connection.close()
    with pytest.raises(EOFError):
        ours.receive()


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows keep messages apart")
@pytest.mark.parametrize(
    "content",
    [
        b"\n",
        bytes(64),
        struct.pack("!i", 1000) + b"x",
        struct.pack("!i", 3),
        b"\xff" * 64,
    ],
)
def test_other_bytes_are_not_waited_for(content, ends):
    ours, theirs = ends
    os.write(theirs.connection.fileno(), content)
    with pytest.raises(EOFError):
        ours.arrived(60)
    with pytest.raises(EOFError):
        ours.receive()


@pytest.mark.skipif(os.name != "posix", reason="pipes of Windows keep messages apart")
def test_an_incomplete_message_is_not_waited_for(ends):
    ours, theirs = ends
    for content in (MARK[:3], MARK[3:], HEADER.pack(MARK, 9)[len(MARK) :], b"begun"):
        os.write(theirs.connection.fileno(), content)
        assert not ours.arrived(60)
    assert ours.is_arriving
    os.write(theirs.connection.fileno(), b" now")
    assert ours.arrived(60) and ours.receive() == b"begun now"
