"""Transfer of the data of a search to where its fits run, once for all fits.

joblib dumps what it hands to another process anew with every trial. Here the data are
written once: the large arrays in them side by side into one file, which the workers map
into memory, so that the machine holds one copy however many of them there are.
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
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets

__all__ = ["DataHandle", "DataTransfer", "Inputs", "PortableHandle", "transfer_data"]

# Arrays begin at multiples of this many bytes, as processors like it.
ALIGNMENT = 64


@dataclass(frozen=True)
class Inputs:
    """What all fits of a search share.

    Parameters
    ----------
    X, y : array-like
        The data; `y` may be None.
    splits : list of (train, test)
        Index arrays.
    fit_params, score_params : dict
        What goes to the estimator's `fit` and to the scorer.
    subsets : Subsets or None
        Parts of the training sets, if some trials are made on less than all.
    outcome_params : dict
        What goes to the scorers of constrained outcomes.
    """

    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    subsets: Subsets | None = None
    outcome_params: dict[str, Any] = field(default_factory=dict)

    def split(self, index: int, fidelity: Fidelity = FULL_DATA) -> tuple[Any, Any]:
        """Return the rows that one fold of a trial is trained and tested on."""
        train, test = self.splits[index]
        if self.subsets is None:
            return train, test
        return self.subsets.rows(index, train, fidelity), test


class DataHandle(Protocol):
    """What is sent along with a fit in place of the inputs themselves."""

    def load(self) -> Inputs:
        """Return the inputs, where the fit runs."""

    def stopped(self) -> bool:
        """Whether fits that have not begun yet are to be skipped."""

    def room(self) -> AbstractContextManager:
        """Wait until a fit may run; it runs in this context."""

    def portable(self) -> PortableHandle | None:
        """Return the handle for another process of this machine, if there is one."""


class PortableHandle(Protocol):
    """Handle for another process of this machine."""

    @property
    def key(self) -> str:
        """Name of the data, the same for all handles that lead to them."""

    @property
    def n_shared(self) -> int:
        """Bytes of files that the process maps into memory."""

    def load(self) -> Inputs:
        """Return the inputs, where the fit runs."""

    def is_gone(self) -> bool | None:
        """Whether the search has ended; None if that cannot be seen."""


class DataTransfer:
    """Inputs on their way to the fits; a context manager that cleans up behind it.

    Parameters
    ----------
    handle : object
        What to send along with each fit: a :class:`DataHandle`, or what becomes one on
        the way.

    Attributes
    ----------
    transport : str
        How it was sent, as :func:`transfer_data` names it.
    """

    transport = "value"

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def __enter__(self) -> DataTransfer:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing is left behind."""

    def stop(self) -> None:
        """Ask for the fits that have not begun to be skipped, where that is heard."""

    def renew(self) -> None:
        """Send again what may have been lost with a worker; changes `handle`."""

    def restore(self) -> None:
        """Put back what another program has removed."""


class _Here:
    """Inputs at hand where the fit runs."""

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
    """The same, in the memory of the search."""

    def __init__(
        self, inputs: Inputs, n_slots: int, on_disk: PortableHandle | None = None
    ) -> None:
        super().__init__(inputs)
        self.stop = threading.Event()
        # Each trial in flight has threads enough for all slots.
        self._slots = threading.BoundedSemaphore(n_slots)
        self._on_disk = on_disk

    def portable(self) -> PortableHandle | None:
        return self._on_disk

    def room(self) -> AbstractContextManager:
        return self._slots

    def stopped(self) -> bool:
        return self.stop.is_set()


class _InMemory(DataTransfer):
    """For fits that run in the memory of the search."""

    def __init__(self, inputs: Inputs, n_slots: int) -> None:
        super().__init__(_Heard(inputs, n_slots))

    def stop(self) -> None:
        self.handle.stop.set()


# What this process loaded last, and where it is mapped, by the folder it came from.
_loaded: dict[str, tuple[Inputs, mmap.mmap | None]] = {}


@dataclass(frozen=True)
class _OnDisk:
    """For fits that run in other processes of this machine."""

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
        # As joblib does it: what is small may be written to.
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
        """Give back the pages that were read; the file stays in the system's cache.

        They would count as this process' own: loky takes it for a leak if a worker has
        grown by 300 MB between two fits, and starts another in its place.
        """
        _, mapped = _loaded.get(self.folder, (None, None))
        if mapped is not None and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


class _Pickler(cloudpickle.Pickler):
    """Keeps arrays out of the pickle that NumPy would copy into it."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in (np.ndarray, np.memmap) and not obj.dtype.hasobject:
            # Strided arrays, and memory maps as what they are made of.
            array = obj.view(np.ndarray)
            plain = array.flags.c_contiguous or array.flags.f_contiguous
            array = array if plain else np.ascontiguousarray(array)
            return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(obj)


class _Folder(DataTransfer):
    """Write inputs into a temporary folder, and remove it at the end."""

    def __init__(
        self, inputs: Inputs, temp_folder: str | None, max_nbytes: float
    ) -> None:
        place = temp_folder or os.environ.get("JOBLIB_TEMP_FOLDER")
        place = os.path.expanduser(place or tempfile.gettempdir())
        self._inputs, self._max_nbytes = inputs, max_nbytes
        self._pid = os.getpid()
        try:
            os.makedirs(place, exist_ok=True)
            self._folder = tempfile.mkdtemp(prefix="skbayes-", dir=place)
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
                f"folder ({error.strerror}); temp_folder of joblib.parallel_config "
                "chooses another",
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
        """Write a new file; one of this name may be mapped by workers, and stays so."""
        draft = Path(self._folder) / f"{name}-draft"
        with open(draft, "wb") as file:
            yield file
        os.replace(draft, Path(self._folder) / name)

    def _remove(self) -> None:
        # A process that a fit forked leaves the folder to the search.
        if os.getpid() != self._pid:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        compat.release_folder(self._folder)

    def __exit__(self, *exception: object) -> None:
        self._remove()

    def stop(self) -> None:
        # If the disk is full, fits that have not begun are run.
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            (Path(self._folder) / "stop").touch()

    def renew(self) -> None:
        self.restore()

    def restore(self) -> None:
        files = [Path(self._folder, name) for name in ("head", "arrays")]
        if not all(file.exists() for file in files):
            # If it fails, the workers that have the data go on.
            with contextlib.suppress(OSError):
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                self._write()


class _Copied(_Folder):
    """Keep inputs in the memory of the search, and a copy for other processes."""

    def __init__(
        self, inputs: Inputs, n_slots: int, temp_folder: str | None, max_nbytes: float
    ) -> None:
        super().__init__(inputs, temp_folder, max_nbytes)
        self.handle = _Heard(inputs, n_slots, self.handle)

    def stop(self) -> None:
        self.handle.stop.set()


class _Scattered(DataTransfer):
    """Hand inputs to the workers of a Dask cluster."""

    def __init__(self, inputs: Inputs, client: Any) -> None:
        self._client, self._inputs = client, inputs
        self.renew()

    def renew(self) -> None:
        # Dask replaces a future among the arguments of a task by its value. No hash of
        # the data: it takes longer than sending them.
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
    """Bring the inputs to where the fits run, until the context is left.

    That is "memory", this process; "disk", other processes of this machine, which map
    arrays of more than `max_nbytes` into memory; "copy", both of these; "scatter", the
    Dask cluster of `client`; or "value", elsewhere, with the inputs sent along with
    every fit.
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
