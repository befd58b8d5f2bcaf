"""Temporary files of a search: pickled values whose arrays are mapped into memory.

A file consists of sizes, the pickle, and the data of the arrays. The pages of a mapped
array are read on access. All processes share them until one of them writes to its copy.
"""

from __future__ import annotations

import io
import os
import pickle
import shutil
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt

from skbayes.compat import workers
from skbayes.utils.process_tree import is_running, machine_name

# Sizes of the pickle and of the list of arrays.
SIZES = struct.Struct("<QQ")

# Alignment of arrays in bytes, for efficient access by the processor.
ALIGNMENT = 64

# Maximum memory that a strided array may span, as a multiple of its own size.
MAX_SPAN = 8


class _Pickler(cloudpickle.Pickler):
    """Pickler that stores arrays separately, including strided arrays.

    If `exact`, it preserves their memory layout, which affects rounding, or raises
    TypeError. Otherwise, strided arrays become contiguous.
    """

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer], exact: bool):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._exact = exact

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.dtype) and obj.kind in "biufc" and not obj.metadata:
            # NumPy's own object: with an equal one, `asarray` makes another array.
            return np.dtype, (obj.str,)
        if not isinstance(obj, np.ndarray):
            return super().reducer_override(obj)
        kind = type(obj)
        is_plain = kind in (np.ndarray, np.memmap)
        if self._exact and not is_plain and kind.__reduce__ is np.ndarray.__reduce__:
            if vars(obj):
                raise TypeError(f"the attributes of {kind.__name__} are not pickled")
        is_contiguous = obj.flags.c_contiguous or obj.flags.f_contiguous
        if obj.dtype.hasobject or not (is_plain or (self._exact and not is_contiguous)):
            return super().reducer_override(obj)
        if self._exact and not is_contiguous:
            return _restore_strided, _strided(obj)
        array = obj.view(np.ndarray) if is_contiguous else np.ascontiguousarray(obj)
        return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def _strided(array: npt.NDArray) -> tuple[Any, ...]:
    """Reduce a strided array to a copy of the memory that it spans."""
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    offset = -sum(step for step in steps if step < 0)
    n_bytes = offset + sum(step for step in steps if step > 0) + array.itemsize
    if type(array) is not np.ndarray or n_bytes > MAX_SPAN * array.nbytes:
        raise TypeError("the memory layout of an array cannot be preserved")
    memory = np.zeros(n_bytes, np.uint8)
    layout = (array.shape, array.dtype, offset, array.strides)
    np.ndarray(layout[0], layout[1], memory.data, *layout[2:])[...] = array
    return memory, *layout, array.flags.writeable


def _restore_strided(
    memory: npt.NDArray,
    shape: tuple[int, ...],
    dtype: Any,
    offset: int,
    strides: tuple[int, ...],
    writeable: bool,
) -> npt.NDArray:
    array: npt.NDArray = np.ndarray(shape, dtype, memory.data, offset, strides)
    array.flags.writeable = writeable
    return array


def write(file: Any, value: Any, exact: bool = False) -> list[int]:
    """Write a value to an empty file; return the sizes of its arrays in bytes.

    With `exact`, arrays whose memory layout cannot be preserved raise TypeError.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    _Pickler(head, buffers, exact).dump(value)
    raws = [buffer.raw() for buffer in buffers]
    table = pickle.dumps([(raw.nbytes, raw.readonly) for raw in raws])
    file.write(SIZES.pack(head.tell(), len(table)))
    file.write(head.getbuffer())
    file.write(table)
    end = SIZES.size + head.tell() + len(table)
    for raw in raws:
        file.write(bytes(-end % ALIGNMENT))
        file.write(raw)
        end += -end % ALIGNMENT + raw.nbytes
    return [raw.nbytes for raw in raws]


def read(view: memoryview, least: float) -> Any:
    """Return the value in the content of a file.

    Arrays of more than `least` bytes use the memory of the content, others a copy.
    """
    n_head, n_table = SIZES.unpack(view[: SIZES.size])
    head, body = view[SIZES.size :][:n_head], view[SIZES.size + n_head :]
    arrays: Sequence[tuple[int, bool]] = pickle.loads(body[:n_table])
    end, buffers = SIZES.size + n_head + n_table, []
    for n_bytes, readonly in arrays:
        begin = end + -end % ALIGNMENT
        end = begin + n_bytes
        part: Any = view[begin:end]
        if n_bytes <= least:
            part = bytearray(part)
        buffers.append(memoryview(part).toreadonly() if readonly else part)
    return pickle.loads(head, buffers=buffers)


def place_of_folders(folder: str | None) -> str:
    """Return the folder for temporary folders, as in joblib."""
    place = folder or os.environ.get("JOBLIB_TEMP_FOLDER") or tempfile.gettempdir()
    return os.path.expanduser(place)


class TemporaryFolder:
    """Folder in `place` that is removed even if this process is killed.

    Its name is `prefix`, the machine, the id of this process, and a random part.
    Folders of the same prefix whose processes no longer exist are removed first.
    """

    def __init__(self, place: str, prefix: str) -> None:
        self._pid = os.getpid()
        prefix = f"{prefix}-{machine_name()}-"
        os.makedirs(place, exist_ok=True)
        _remove_orphans(place, prefix)
        self.path = tempfile.mkdtemp(prefix=f"{prefix}{self._pid}-", dir=place)
        workers.guard_folder(self.path)

    def remove(self) -> bool:
        """Remove the folder; return False if this process was forked by a fit."""
        if os.getpid() != self._pid:
            return False
        shutil.rmtree(self.path, ignore_errors=True)
        # Windows keeps files that workers have mapped until these end.
        if not os.path.exists(self.path):
            workers.release_folder(self.path)
        return True


def _remove_orphans(place: str, prefix: str) -> None:
    """Remove the folders whose processes no longer exist."""
    for path in Path(place).glob(f"{prefix}*-*"):
        owner = path.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not is_running(int(owner)):
            shutil.rmtree(path, ignore_errors=True)
