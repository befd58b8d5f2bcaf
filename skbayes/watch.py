"""Web server that shows the report of a running search.

``python -m skbayes.watch search.journal`` serves the report of a search with
``journal="search.journal"`` at ``http://127.0.0.1:8470``. The browser reloads the page
until the search ends. Ctrl-C stops the server. The journal is only read.
"""

from __future__ import annotations

import argparse
import functools
import html
import ipaddress
import math
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from skbayes.inspection.report import render_history
from skbayes.journal.database import is_url
from skbayes.journal.lock import is_held, status_of

PORT = 8470
REFRESH = 10.0  # seconds

# Seconds after which a connection without data is closed.
SOCKET_TIMEOUT = 30.0


class Pages:
    """Rendered pages of a journal, at most every `refresh` seconds while it grows."""

    def __init__(self, path: str, refresh: float = REFRESH) -> None:
        self.path = path
        self.refresh = refresh
        self._lock = threading.Lock()
        self._status, self._page = 503, ""
        self._state: tuple[object, ...] = ()
        self._rendered = 0.0

    def get(self) -> tuple[int, str]:
        """Return the status code and the current page."""
        # Two browsers cause one rendering.
        with self._lock:
            runs, state = self._check_journal()
            fresh = time.monotonic() < self._rendered + self.refresh and runs
            if not self._page or (state != self._state and not fresh):
                self._status, self._page = self._render(runs)
                self._state, self._rendered = state, time.monotonic()
            return self._status, self._page

    def _check_journal(self) -> tuple[bool, tuple[object, ...]]:
        try:
            runs, version = is_held(self.path), status_of(self.path)
        except (OSError, ValueError):
            runs, version = False, None
        return runs, (runs, version)

    def _render(self, runs: bool) -> tuple[int, str]:
        if not os.path.exists(self.path):
            return 503, self._message("The journal does not exist yet.")
        try:
            title, refresh = os.path.basename(self.path), self.refresh if runs else None
            return 200, render_history(self.path, title=title, refresh=refresh)
        except (OSError, ValueError) as error:
            return 500, self._message(str(error))

    def _message(self, text: str) -> str:
        return (
            f'<!doctype html><meta charset="utf-8">'
            f'<meta http-equiv="refresh" content="{max(1, round(self.refresh))}">'
            f"<title>skbayes</title><h1>{html.escape(self.path)}</h1>"
            f"<p>{html.escape(text)}</p>"
        )


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for the page, and no others."""

    timeout = SOCKET_TIMEOUT

    def __init__(self, pages: Pages, local: bool, *args: object) -> None:
        self.pages, self.local = pages, local
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Send the page."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers of the page."""
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def _answer(self, with_body: bool) -> None:
        if self.local and not _is_local(self.headers.get("Host", "")):
            # DNS rebinding: the name of another site resolves to this machine.
            self.send_error(403)
            return
        if self.path != "/":
            self.send_error(404)
            return
        status, page = self.pages.get()
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _is_local(host: str) -> bool:
    """Return whether a host, with or without a port, is a name of this machine."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    name = name.strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    # On Windows, two servers would share a port without an error.
    allow_reuse_address = sys.platform != "win32"


def make_server(
    path: str, host: str = "127.0.0.1", port: int = PORT, refresh: float = REFRESH
) -> ThreadingHTTPServer:
    """Return a bound server of the report of a journal; port 0 chooses a free one."""
    handler = functools.partial(_Handler, Pages(path, refresh), _is_local(host))
    return _Server((host, port), handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the report of a journal until Ctrl-C; return the exit status."""
    text = "Serve the report of a running search on this machine."
    parser = argparse.ArgumentParser("python -m skbayes.watch", description=text)
    parser.add_argument("journal", help="journal of the search")
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=int, default=PORT, help="default: %(default)s")
    text = "interval at which the page is updated, in seconds; default: %(default)s"
    parser.add_argument("--refresh", type=float, default=REFRESH, help=text)
    text = "open the page in a browser"
    parser.add_argument("--open", action="store_true", help=text)
    options = parser.parse_args(arguments)
    if not 0.0 < options.refresh < math.inf:
        parser.error("--refresh must be positive and finite")
    if is_url(options.journal):
        parser.error("the journal must be a file, not the URL of a database")
    try:
        server = make_server(
            options.journal, options.host, options.port, options.refresh
        )
    except (OSError, OverflowError) as error:
        parser.error(
            f"cannot listen on {options.host}:{options.port}: {error}. "
            "Choose another --port; 0 takes a free one."
        )
    with server:
        url = f"http://{options.host}:{server.server_port}/"
        missing = not os.path.exists(options.journal)
        text = "\nThe journal does not exist yet." if missing else ""
        print(f"Report of {options.journal}: {url} (Ctrl-C stops the server){text}")
        sys.stdout.flush()
        if options.open:
            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
