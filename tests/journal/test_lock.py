"""Locks and addresses of journals on other systems, simulated."""

import os
from pathlib import PurePosixPath, PureWindowsPath

from skbayes.journal import lock


def test_a_lock_is_removed_where_open_files_remain(tmp_path, monkeypatch):
    path = str(tmp_path / "search.journal")
    unlink, is_open = os.unlink, []

    def of_windows(name):
        if is_open:
            raise PermissionError
        unlink(name)

    class Held:
        def close(self):
            is_open.clear()
            connection.close()

    monkeypatch.setattr(os, "unlink", of_windows)
    for keeps in (False, True):
        monkeypatch.setattr(lock, "_KEEPS_OPEN_FILES", keeps)
        connection = lock.acquire_lock(path)
        is_open.append(True)
        lock.release_lock(path, Held())
        assert os.path.exists(path + "-lock") is not keeps
        # A file that remains does not prevent the next search.
    lock.release_lock(path, lock.acquire_lock(path))


def test_addresses_of_files():
    for path, address in {
        PurePosixPath("/a b/c?"): "file:///a%20b/c%3F",
        PureWindowsPath(r"C:\a b\c"): "file:///C:/a%20b/c",
        PureWindowsPath(r"\\host\share\c"): "file:////host/share/c",
    }.items():
        assert lock._uri(path) == address
