"""Temporary folder of a search, which is removed even if the process is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from skbayes import compat
from skbayes.utils.process_tree import is_running

__all__ = ["TemporaryFolder", "place_of_folders"]


def place_of_folders(given: str | None) -> str:
    """Return the folder for temporary folders, as in joblib."""
    place = given or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
    return os.path.expanduser(place)


class TemporaryFolder:
    """Folder whose name is a prefix, the id of this process, and a random part.

    Folders of the same prefix whose processes no longer exist are removed first.

    Parameters
    ----------
    place : str
        Folder that contains it, which is created if it is missing.
    prefix : str
        Start of the name.
    """

    def __init__(self, place: str, prefix: str) -> None:
        self._pid = os.getpid()
        os.makedirs(place, exist_ok=True)
        for path in Path(place).glob(f"{prefix}*-*"):
            owner = path.name.removeprefix(prefix).partition("-")[0]
            if owner.isdigit() and not is_running(int(owner)):
                shutil.rmtree(path, ignore_errors=True)
        self.path = tempfile.mkdtemp(prefix=f"{prefix}{self._pid}-", dir=place)
        compat.guard_folder(self.path)

    def remove(self) -> bool:
        """Remove the folder; return False if this process was forked by a fit."""
        if os.getpid() != self._pid:
            return False
        shutil.rmtree(self.path, ignore_errors=True)
        compat.release_folder(self.path)
        return True
