"""Web server of a running search."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV, watch
from skbayes.journal.journal import Journal
from skbayes.space import Space
from skbayes.watch import Pages, main, make_server

SPACE = {"C": (0.1, 10.0)}


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """Journal of a search that has ended."""
    path = tmp_path_factory.mktemp("watch") / "search.journal"
    X, y = load_iris(return_X_y=True)
    BayesSearchCV(SVC(), SPACE, n_iter=3, cv=2, journal=path, random_state=0).fit(X, y)
    return str(path)


@pytest.fixture
def serve():
    """Start a server of a journal; return a function that sends it requests."""
    servers = []

    def start(path, **options):
        server = make_server(path, port=0, **options)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()

        def request(method="GET", target="/", host=None):
            connection = http.client.HTTPConnection(*server.server_address, timeout=60)
            headers = {} if host is None else {"Host": host}
            connection.request(method, target, headers=headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer, body

        request.address = server.server_address
        return request

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_connection_without_a_request_is_closed(serve, journal, monkeypatch):
    monkeypatch.setattr(watch._Handler, "timeout", 0.05)
    with socket.create_connection(serve(journal).address, timeout=60) as connection:
        connection.sendall(b"GET / HT")
        assert connection.recv(1) == b""


def test_the_page_is_the_report(serve, journal):
    request = serve(journal)
    assert request.address[0] == "127.0.0.1"  # only loopback by default
    answer, page = request()
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "search.journal" in page and "<table" in page
    assert 'http-equiv="refresh"' not in page  # the search has ended
    answer, body = request("HEAD")
    assert answer.status == 200 and body == ""
    assert int(answer.headers["Content-Length"]) == len(page.encode())


def test_nothing_else_is_served_and_no_other_names_of_this_machine(serve, journal):
    request = serve(journal)
    for target in ("/favicon.ico", "/../search.journal", "/?x"):
        assert request(target=target)[0].status == 404
    assert request("POST")[0].status == 501
    for host in ("localhost", "localhost:8470", "127.0.0.1:1", "[::1]:8470", "[::1]"):
        assert request(host=host)[0].status == 200
    for host in ("example.org", "example.org:8470", "127.0.0.1.example.org"):
        assert request(host=host)[0].status == 403


def test_a_journal_that_does_not_exist_yet(serve, tmp_path):
    path = str(tmp_path / "<later>.journal")
    request = serve(path, refresh=0.01)
    answer, page = request()
    assert answer.status == 503
    assert "does not exist yet" in page and 'http-equiv="refresh"' in page
    assert "&lt;later&gt;" in page and "<later>" not in page
    with _recorded(path):
        time.sleep(0.02)
        answer, page = request()
    assert answer.status == 200


def test_a_damaged_file_is_reported(serve, tmp_path):
    path = tmp_path / "text.journal"
    path.write_text("not a journal")
    answer, page = serve(str(path))()
    assert answer.status == 500
    assert "text.journal" in page


def _recorded(path):
    """Open a journal, as a search does, and propose a trial."""
    journal = Journal(
        path,
        space=Space.from_notation(SPACE),
        identity={},
        seed=0,
        n_points=1,
        splits=[],
    )
    journal.record_proposal(0, {"C": 1.5}, None)
    return journal


def test_the_page_follows_a_running_search(tmp_path):
    path = str(tmp_path / "search.journal")
    pages = Pages(path, refresh=0.01)
    with _recorded(path) as journal:
        status, first = pages.get()
        assert status == 200
        assert 'http-equiv="refresh" content="1"' in first
        assert "1 running. The search is running." in first
        journal.record_proposal(1, {"C": 2.5}, None)
        time.sleep(0.02)
        assert "2 running" in pages.get()[1]
    ended = pages.get()[1]
    assert 'http-equiv="refresh"' not in ended
    assert "The search is running." not in ended


def test_the_report_is_not_rendered_again_in_vain(journal, monkeypatch):
    pages = Pages(journal)
    first = pages.get()
    monkeypatch.setattr(pages, "_render", None)
    assert pages.get() is not None and pages.get() == first


@pytest.mark.skipif(os.name != "posix", reason="interrupts as POSIX does")
def test_command(journal):
    """The command prints its address, answers, and ends with Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "skbayes.watch", journal, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # Programs in the background of a shell ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        line = process.stdout.readline()
        url = line.split(": ")[-1].split(" ")[0]
        assert url.startswith("http://127.0.0.1:"), line
        port = int(url.rstrip("/").rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        response = connection.getresponse()
        assert response.status == 200 and response.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0 and errors == ""


@pytest.mark.parametrize(
    "options, words",
    [
        (["--refresh", "0"], "--refresh must be positive"),
        (["--refresh", "inf"], "--refresh must be positive"),
        (["--refresh", "nan"], "--refresh must be positive"),
        (["--port", "99999999"], "cannot listen"),
        (["--host", "256.0.0.1"], "cannot listen"),
    ],
)
def test_wrong_options(journal, options, words, capsys):
    with pytest.raises(SystemExit):
        main([journal, *options])
    assert words in capsys.readouterr().err


def test_a_port_that_is_taken(journal, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit):
            main([journal, "--port", str(taken.getsockname()[1])])
    assert "Choose another --port" in capsys.readouterr().err
