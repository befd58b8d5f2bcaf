"""Transfer of the data of a search to its fits, once for all fits.

joblib pickles the arguments of another process again for every trial. Here, the data
are written once. Large arrays are stored in one file, which the workers map into
memory, so that the machine has one copy for any number of workers.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import cloudpickle
import numpy as np

from skbayes import compat
from skbayes.evaluation.prefix_store import remove_abandoned
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.utils.process_tree import machine_name

__all__ = ["DataHandle", "DataTransfer", "Inputs", "PortableHandle", "transfer_data"]

# Alignment of arrays in bytes, for efficient access by the processor.
ALIGNMENT = 64


@dataclass(frozen=True)
class Inputs:
    """Inputs that all fits of a search share.

    Parameters
    ----------
    X, y : array-like
        The data; `y` may be None.
    splits : list of (train, test)
        Index arrays.
    fit_params, score_params : dict
        Arguments of the estimator's `fit` and of the scorer.
    subsets : Subsets or None
        Training subsets, if some trials use a part of the rows.
    outcome_params : dict
        Arguments of the scorers of constrained outcomes.
    """

    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    subsets: Subsets | None = None
    outcome_params: dict[str, Any] = field(default_factory=dict)

    def split(self, index: int, fidelity: Fidelity = FULL_DATA) -> tuple[Any, Any]:
        """Return the training and test rows of one fold of a trial."""
        train, test = self.splits[index]
        if self.subsets is None:
            return train, test
        return self.subsets.rows(index, train, fidelity), test


class DataHandle(Protocol):
    """Handle that is sent with a fit instead of the inputs."""

    def load(self) -> Inputs:
        """Return the inputs, in the process of the fit."""

    def stopped(self) -> bool:
        """Whether to skip fits that have not started."""

    def room(self) -> AbstractContextManager:
        """Return a context in which a fit runs, after waiting until it may run."""

    def portable(self) -> PortableHandle | None:
        """Return the handle for another process of this machine, if available."""


class PortableHandle(Protocol):
    """Handle for another process of this machine."""

    @property
    def key(self) -> str:
        """Name of the data, which is the same for all handles of the data."""

    @property
    def n_shared(self) -> int:
        """Bytes of files that the process maps into memory."""

    def load(self) -> Inputs:
        """Return the inputs, in the process of the fit."""

    def is_gone(self) -> bool | None:
        """Whether the search has ended; None if this cannot be determined."""


class DataTransfer:
    """Transfer of the inputs to the fits; a context manager that cleans up at exit.

    Parameters
    ----------
    handle : object
        Object to send with each fit: a :class:`DataHandle`, or an object that is
        converted to one during the transfer.

    Attributes
    ----------
    transport : str
        Method of the transfer, as in :func:`transfer_data`.
    """

    transport = "value"

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def __enter__(self) -> DataTransfer:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the transferred data."""

    def stop(self) -> None:
        """Request that fits that have not started are skipped, if supported."""

    def renew(self) -> None:
        """Transfer the inputs again if a worker was lost; replaces `handle`."""

    def restore(self) -> None:
        """Restore files that another program has removed."""


class _Here:
    """Handle that contains the inputs."""

    n_shared = 0

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self.key = uuid.uuid4().hex

    def load(self) -> Inputs:
        return self._inputs

    def stopped(self) -> bool:
        return False

    def portable(self) -> PortableHandle | None:
        return self

    def is_gone(self) -> bool | None:
        return None

    def room(self) -> AbstractContextManager:
        return contextlib.nullcontext()


class _Heard(_Here):
    """Handle that contains the inputs in the memory of the search."""

    def __init__(
        self, inputs: Inputs, n_slots: int, on_disk: PortableHandle | None = None
    ) -> None:
        super().__init__(inputs)
        self.stop = threading.Event()
        # Each trial in flight has enough threads for all slots.
        self._slots = threading.BoundedSemaphore(n_slots)
        self._on_disk = on_disk

    def portable(self) -> PortableHandle | None:
        return self._on_disk

    def room(self) -> AbstractContextManager:
        return self._slots

    def stopped(self) -> bool:
        return self.stop.is_set()


class _InMemory(DataTransfer):
    """Transfer to fits that run in the process of the search."""

    def __init__(self, inputs: Inputs, n_slots: int) -> None:
        super().__init__(_Heard(inputs, n_slots))

    def stop(self) -> None:
        self.handle.stop.set()


# Inputs that this process loaded last, and their memory map, by folder.
_loaded: dict[str, tuple[Inputs, mmap.mmap | None]] = {}


@dataclass(frozen=True)
class _OnDisk:
    """Handle for fits in other processes of this machine."""

    folder: str
    places: tuple[tuple[int, int, bool], ...]

    def load(self) -> Inputs:
        if self.folder not in _loaded:
            _loaded.clear()
            _loaded[self.folder] = self._read()
        return _loaded[self.folder][0]

    def _read(self) -> tuple[Inputs, mmap.mmap | None]:
        head = (Path(self.folder) / "head").read_bytes()
        mapped, view = None, memoryview(b"")
        # An empty file cannot be mapped.
        if any(end for _, end, _ in self.places):
            with open(Path(self.folder) / "arrays", "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            view = memoryview(mapped)
        arrays = [view[begin:end] for begin, end, _ in self.places]
        # As in joblib, small arrays are writable.
        buffers = [
            array if shared else bytearray(array)
            for array, (_, _, shared) in zip(arrays, self.places, strict=True)
        ]
        return pickle.loads(head, buffers=buffers), mapped

    @property
    def key(self) -> str:
        return self.folder

    @property
    def n_shared(self) -> int:
        return sum(end - begin for begin, end, shared in self.places if shared)

    def portable(self) -> PortableHandle | None:
        return self

    def is_gone(self) -> bool | None:
        return not os.path.exists(self.folder)

    def stopped(self) -> bool:
        return os.path.exists(os.path.join(self.folder, "stop"))

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Release the mapped pages; the file remains in the system's cache.

        They would otherwise count as memory of this process. loky replaces a worker
        that has grown by 300 MB between two fits, because it assumes a memory leak.
        """
        _, mapped = _loaded.get(self.folder, (None, None))
        if mapped is not None and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


class _Pickler(cloudpickle.Pickler):
    """Pickler that stores arrays separately which NumPy would copy into the pickle."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in (np.ndarray, np.memmap) and not obj.dtype.hasobject:
            # Strided arrays, and memory maps as their base arrays.
            array = obj.view(np.ndarray)
            plain = array.flags.c_contiguous or array.flags.f_contiguous
            array = array if plain else np.ascontiguousarray(array)
            return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(obj)


class _Folder(DataTransfer):
    """Transfer by a temporary folder, which is removed at the end."""

    def __init__(
        self, inputs: Inputs, temp_folder: str | None, max_nbytes: float
    ) -> None:
        place = temp_folder or os.environ.get("JOBLIB_TEMP_FOLDER")
        place = os.path.expanduser(place or tempfile.gettempdir())
        self._inputs, self._max_nbytes = inputs, max_nbytes
        self._pid = os.getpid()
        try:
            os.makedirs(place, exist_ok=True)
            prefix = f"skbayes-data-{machine_name()}-"
            remove_abandoned(place, prefix)
            self._folder = tempfile.mkdtemp(prefix=f"{prefix}{self._pid}-", dir=place)
            compat.guard_folder(self._folder)
            try:
                super().__init__(_OnDisk(self._folder, self._write()))
            except BaseException:
                self._remove()
                raise
        except OSError as error:
            raise OSError(
                error.errno,
                f"the data of the search could not be written into the temporary "
                f"folder ({error.strerror}); choose another one by temp_folder of "
                "joblib.parallel_config",
                place,
            ) from error

    def _write(self) -> tuple[tuple[int, int, bool], ...]:
        buffers: list[pickle.PickleBuffer] = []
        with self._replaced("head") as file:
            pickler = _Pickler(file, protocol=5, buffer_callback=buffers.append)
            pickler.dump(self._inputs)
        places = []
        with self._replaced("arrays") as file:
            for buffer in buffers:
                raw = buffer.raw()
                file.write(bytes(-file.tell() % ALIGNMENT))
                begin = file.tell()
                file.write(raw)
                shared = raw.nbytes > self._max_nbytes
                places.append((begin, begin + raw.nbytes, shared))
        return tuple(places)

    @contextlib.contextmanager
    def _replaced(self, name: str) -> Iterator[Any]:
        """Write a new file; workers that have mapped an old one keep it."""
        draft = Path(self._folder) / f"{name}-draft"
        with open(draft, "wb") as file:
            yield file
        os.replace(draft, Path(self._folder) / name)

    def _remove(self) -> None:
        # A process that was forked by a fit must not remove the folder.
        if os.getpid() != self._pid:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        compat.release_folder(self._folder)

    def __exit__(self, *exception: object) -> None:
        self._remove()

    def stop(self) -> None:
        # If the disk is full, fits that have not started are run.
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            (Path(self._folder) / "stop").touch()

    def renew(self) -> None:
        self.restore()

    def restore(self) -> None:
        files = [Path(self._folder, name) for name in ("head", "arrays")]
        if not all(file.exists() for file in files):
            # If this fails, workers that have loaded the data can continue.
            with contextlib.suppress(OSError):
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                self._write()


class _Copied(_Folder):
    """Transfer that keeps the inputs in memory, with a copy for other processes."""

    def __init__(
        self, inputs: Inputs, n_slots: int, temp_folder: str | None, max_nbytes: float
    ) -> None:
        super().__init__(inputs, temp_folder, max_nbytes)
        self.handle = _Heard(inputs, n_slots, self.handle)

    def stop(self) -> None:
        self.handle.stop.set()


class _Scattered(DataTransfer):
    """Transfer to the workers of a Dask cluster."""

    def __init__(self, inputs: Inputs, client: Any) -> None:
        self._client, self._inputs = client, inputs
        self.renew()

    def renew(self) -> None:
        # Dask replaces a future among the arguments of a task by its value. The data
        # are not hashed, because this takes longer than sending them.
        self.handle = self._client.scatter(
            _Here(self._inputs), broadcast=True, hash=False
        )

    def __exit__(self, *exception: object) -> None:
        self.handle.release()


def transfer_data(
    inputs: Inputs,
    transport: str,
    *,
    n_slots: int = 1,
    client: Any = None,
    temp_folder: str | None = None,
    max_nbytes: float = 1e6,
) -> DataTransfer:
    """Transfer the inputs to the fits, until the context exits.

    The transports are:

    - "memory": fits run in this process;
    - "disk": fits run in other processes of this machine, which map arrays of more than
      `max_nbytes` into memory;
    - "copy": both of these;
    - "scatter": fits run in the Dask cluster of `client`;
    - "value": fits run elsewhere, and the inputs are sent with every fit.
    """
    if transport == "disk":
        transfer: DataTransfer = _Folder(inputs, temp_folder, max_nbytes)
    elif transport == "copy":
        transfer = _Copied(inputs, n_slots, temp_folder, max_nbytes)
    elif transport == "scatter":
        transfer = _Scattered(inputs, client)
    elif transport == "memory":
        transfer = _InMemory(inputs, n_slots)
    else:
        transfer = DataTransfer(_Here(inputs))
    transfer.transport = transport
    return transfer
