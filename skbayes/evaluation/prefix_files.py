"""Files of pickled values whose large arrays are mapped into memory.

A file consists of a header, the pickle, and the data of the arrays. The pages of a
mapped array are read on access. All processes share them until one of them writes to
its copy.
"""

from __future__ import annotations

import functools
import io
import math
import mmap
import os
import pickle
import struct
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import cloudpickle
import numpy as np
import numpy.typing as npt

__all__ = ["read", "write"]

# Sizes of the pickle and of the list of arrays.
SIZES = struct.Struct("<QQ")

# Checksum of the remaining file.
CHECKSUM = struct.Struct("<I")
N_HEADER = CHECKSUM.size + SIZES.size

# Alignment of arrays in bytes.
ALIGNMENT = 64

# Minimum size in bytes of files and arrays that are mapped instead of copied.
MAPPED = 1_000_000

# Maximum memory that a strided array may span, as a multiple of its own size.
MAX_SPAN = 8

# Start, end, and whether the array is read-only.
Place = tuple[int, int, bool]


class _StridedArrayError(TypeError):
    """Array whose memory layout cannot be preserved."""


class _Pickler(cloudpickle.Pickler):
    """Pickler that preserves the memory layout of arrays, which affects rounding."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.ndarray):
            _check_kind(obj)
        if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            flags = obj.flags
            if not (flags.c_contiguous or flags.f_contiguous):
                return _restore_strided, _strided(obj)
        return super().reducer_override(obj)


def _check_kind(array: npt.NDArray) -> None:
    """Raise a TypeError for an array whose attributes a pickle does not contain."""
    kind = type(array)
    is_plain = kind in (np.ndarray, np.memmap)
    if not is_plain and kind.__reduce__ is np.ndarray.__reduce__ and vars(array):
        raise TypeError(f"the attributes of {kind.__name__} are not pickled")


def _strided(array: npt.NDArray) -> tuple[Any, ...]:
    """Reduce a strided array to a copy of the memory that it spans."""
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    offset = -sum(step for step in steps if step < 0)
    n_bytes = offset + sum(step for step in steps if step > 0) + array.itemsize
    if type(array) is not np.ndarray or n_bytes > MAX_SPAN * array.nbytes:
        raise _StridedArrayError
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


def write(file: BinaryIO, value: Any) -> None:
    """Write a value to an empty file."""
    buffers: list[pickle.PickleBuffer] = []
    head = _dumps(value, buffers)
    raws = [buffer.raw() for buffer in buffers]
    sizes = [(raw.nbytes, raw.readonly) for raw in raws]
    table = pickle.dumps(sizes)
    parts: list[Any] = [SIZES.pack(len(head), len(table)), head, table]
    end = N_HEADER + len(head) + len(table)
    for raw, place in zip(raws, _places(end, sizes), strict=True):
        parts += [bytes(place[0] - end), raw]
        end = place[1]
    checksum = functools.reduce(lambda known, part: zlib.crc32(part, known), parts, 0)
    file.write(CHECKSUM.pack(checksum))
    file.writelines(parts)


def _dumps(value: Any, buffers: list[pickle.PickleBuffer]) -> bytes:
    with io.BytesIO() as file:
        pickler = _Pickler(file, protocol=5, buffer_callback=buffers.append)
        pickler.dump(value)
        return file.getvalue()


def _places(end: int, sizes: Sequence[tuple[int, bool]]) -> list[Place]:
    places = []
    for n_bytes, readonly in sizes:
        begin = end + -end % ALIGNMENT
        end = begin + n_bytes
        places.append((begin, end, readonly))
    return places


def read(file: BinaryIO, keep_open: bool = True) -> Any:
    """Return a copy of the value in a file, with arrays mapped if it stays open."""
    is_large = os.fstat(file.fileno()).st_size >= MAPPED
    if keep_open and is_large:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    else:
        view = memoryview(bytearray(file.read()))
    (checksum,) = CHECKSUM.unpack(view[: CHECKSUM.size])
    if zlib.crc32(view[CHECKSUM.size :]) != checksum:
        raise ValueError("The file is damaged.")
    n_head, n_table = SIZES.unpack(view[CHECKSUM.size : N_HEADER])
    head, rest = view[N_HEADER:][:n_head], view[N_HEADER + n_head :]
    places = _places(N_HEADER + n_head + n_table, pickle.loads(rest[:n_table]))
    least = MAPPED if keep_open else math.inf
    return pickle.loads(head, buffers=[_part(view, place, least) for place in places])


def _part(view: memoryview, place: Place, least: float) -> Any:
    """Return the memory of an array, mapped from the file or copied if it is small."""
    begin, end, readonly = place
    part = view[begin:end]
    if end - begin < least:
        return bytes(part) if readonly else bytearray(part)
    return part.toreadonly() if readonly else part
