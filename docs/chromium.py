"""Control of Chromium through its debugging pipe, with the standard library only."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: The first of these that is installed; None if there is none.
BINARY = next(filter(None, map(shutil.which, NAMES)), None)

#: Seconds to wait for the answer of a page.
PATIENCE = 600.0


class Page:
    """Page of the browser with its content and errors."""

    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression):
        params = {"expression": expression, "returnByValue": True}
        answer = self.call("Runtime.evaluate", **params)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _events(self, *methods):
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] in methods
        ]

    @property
    def complaints(self):
        """Messages on the console, exceptions, and blocked requests."""
        messages = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return self._events(*messages, "Log.entryAdded")

    @property
    def requests(self):
        """Addresses of all requests."""
        sent = self._events("Network.requestWillBeSent")
        return [params["request"]["url"] for params in sent]


class Browser:
    """Headless browser, for use in a with statement."""

    def __enter__(self):
        self._cleanup = contextlib.ExitStack()
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        folder = self._cleanup.enter_context(temporary)
        arguments = ["--headless", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments += ["--no-first-run", "--remote-debugging-pipe"]
        arguments += [f"--user-data-dir={folder}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        # It reads from 3 and writes to 4.
        pipes = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", pipes, "sh", BINARY, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._out = self._process.stdin.fileno()
        self._in = self._process.stdout.fileno()
        self._number, self._rest, self.events = 0, b"", []
        return self

    def __exit__(self, *exception):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._cleanup.close()

    def call(self, method, session=None, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _receive(self, deadline):
        while b"\0" not in self._rest:
            patience = max(deadline - time.monotonic(), 0.0)
            assert select.select([self._in], [], [], patience)[0], "no answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, path, width=1280, height=900, dark=False):
        """Open a file in a window of some size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, session["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1}
        page.call("Emulation.setDeviceMetricsOverride", **screen, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=path.as_uri())
        deadline = time.monotonic() + PATIENCE
        while page.evaluate("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.05)
        return page
