"""Store of fitted transformers and their outputs, in a folder that processes share."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skbayes.evaluation import prefix_files
from skbayes.utils.process_tree import is_running

__all__ = ["PrefixStore", "temporary_store"]

_PREFIX = "skbayes-prefixes-"


@dataclass(frozen=True)
class PrefixStore:
    """Files of pickles, of which the least recently used are removed for new ones.

    What cannot be written or read is computed again by the caller: a full disk, a
    file that is gone, or one that is damaged costs time only.

    Parameters
    ----------
    folder : str
        Where the files are.
    limit : float
        Bytes that all files together take at most.
    """

    folder: str
    limit: float

    def has(self, key: str) -> bool:
        """Tell whether something is stored under a key."""
        return os.path.exists(os.path.join(self.folder, key))

    def load(self, key: str, mapped: bool = True) -> Any:
        """Return a copy of what is stored under a key; None if there is nothing.

        If `mapped`, large arrays are pages of the file that is kept open for them.
        """
        path = Path(self.folder) / key
        try:
            with open(path, "rb") as file:
                stored = prefix_files.read(file, mapped)
            os.utime(path)
        except Exception:
            return None
        return stored

    def save(self, key: str, value: Any) -> None:
        """Store a value, unless it cannot be written or is larger than the limit."""
        draft = Path(self.folder) / f"draft-{uuid.uuid4().hex}"
        try:
            with open(draft, "wb") as file:
                prefix_files.write(file, value)
            if self._make_room(draft.stat().st_size):
                os.replace(draft, Path(self.folder) / key)
        except Exception:
            pass
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    def _make_room(self, size: int) -> bool:
        """Remove the least recently used files; tell whether the new one has room."""
        if size > self.limit:
            return False
        files = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if not entry.name.startswith("draft-"):
                    status = entry.stat()
                    files.append((status.st_mtime_ns, status.st_size, entry.path))
        total = size + sum(one[1] for one in files)
        for _, freed, path in sorted(files):
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= freed
        return total <= self.limit


@contextlib.contextmanager
def temporary_store(place: str | None, limit: float) -> Iterator[PrefixStore | None]:
    """Make a store that is removed at the end; None where no folder can be made.

    Folders that a killed process left behind are removed first.
    """
    place = place or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
    place = os.path.expanduser(place)
    pid = os.getpid()
    try:
        os.makedirs(place, exist_ok=True)
        _remove_abandoned(place)
        folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{pid}-", dir=place)
    except OSError:
        yield None
        return
    try:
        yield PrefixStore(folder, limit)
    finally:
        # A process that a fit forked leaves the folder to the search.
        if os.getpid() == pid:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(place: str) -> None:
    """Remove the folders of processes of this user that are no more."""
    for path in Path(place).glob(f"{_PREFIX}*-*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not is_running(int(owner)):
            shutil.rmtree(path, ignore_errors=True)
