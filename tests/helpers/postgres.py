"""PostgreSQL server in a temporary folder, where one is installed."""

import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

__all__ = ["missing", "server"]

FOLDERS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
PATH = os.pathsep.join([os.environ.get("PATH", ""), *reversed(FOLDERS)])


def _program(name):
    return shutil.which(name, path=PATH)


def _user():
    """Return the user who runs the server, which refuses to run as root."""
    import pwd  # not on Windows

    if os.geteuid():
        return pwd.getpwuid(os.geteuid()).pw_name
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def missing():
    """Return the reason why no server can be started, or an empty string."""
    if sys.platform == "win32":
        return "the server is started on POSIX systems only"
    if not (_program("initdb") and _program("postgres")):
        return "no PostgreSQL server is installed"
    return "" if _user() else "PostgreSQL does not run as root"


@contextlib.contextmanager
def server():
    """Start a server without a password, and yield the URL of its superuser."""
    user = _user()
    run = {"user": user} if os.geteuid() == 0 else {}
    run |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    run |= {"stderr": subprocess.DEVNULL, "cwd": "/"}
    # The path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="skbayes-pg", dir="/tmp") as folder:
        shutil.chown(folder, user)
        data = os.path.join(folder, "data")
        options = ["-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([_program("initdb"), "-D", data, *options], check=True, **run)
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", folder]
        process = subprocess.Popen([_program("postgres"), "-D", data, *options], **run)
        try:
            socket = os.path.join(folder, ".s.PGSQL.5432.lock")
            pid = os.path.join(data, "postmaster.pid")
            for _ in range(600):
                if os.path.exists(socket) and "ready" in _text(pid):
                    break
                time.sleep(0.05)
            yield f"postgresql://owner@/postgres?host={folder}"
        finally:
            process.terminate()
            process.wait()


def _text(path):
    with contextlib.suppress(OSError), open(path) as file:
        return file.read()
    return ""
