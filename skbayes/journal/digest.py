"""Digests of data, independent of the container and of the memory layout.

The digest of an array is that of its elements in C order, little-endian. The digest of
a sparse matrix is that of its sorted CSR form, and the digest of a data frame that of
its columns with names and dtypes, without the index. The digest of text is that of its
UTF-8 bytes. Large arrays are hashed in place, or in blocks if they must be rearranged,
and are never copied as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from skbayes.utils.to_host import to_host

__all__ = ["Digest", "is_data"]

# Bytes to rearrange at a time; a block fits into the processor's caches.
BLOCK = 2**20

# Number of Python objects to hash at a time.
CHUNK = 4096

# Kinds of NumPy types whose elements are hashed as bytes.
_NUMERIC = frozenset("biufcmM")

# Maximum number of columns named in the description of a frame; all names are hashed.
MAX_COLUMNS = 30


def is_data(value: Any) -> bool:
    """Return whether a value is an array, a sparse matrix, or a frame or column."""
    if isinstance(value, type | np.generic):
        return False
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return True
    if _library(value) in ("pandas", "polars"):
        return hasattr(value, "to_numpy") and hasattr(value, "shape")
    return hasattr(value, "__array__") and hasattr(value, "shape")


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


class Digest:
    """Digest of data; `describe` returns a text for any object among the elements."""

    def __init__(self, describe: Callable[[Any], str]) -> None:
        self._describe = describe
        self._hash = hashlib.blake2b(digest_size=16)

    def text(self, data: Any) -> str:
        """Describe data in one line, with their digest."""
        return f"{self._add(data)}, blake2b {self._hash.hexdigest()}"

    def _add(self, data: Any) -> str:
        """Add data to the hash; return a description of their type."""
        if isinstance(data, list | tuple):
            self._add_list(data)
            return f"{type(data).__name__} of {len(data)} items"
        if scipy.sparse.issparse(data):
            self._add_sparse(data)
            return f"sparse matrix of {data.dtype.name} with shape {data.shape}"
        library = _library(data)
        if library in ("pandas", "polars"):
            if hasattr(data, "columns"):
                return self._add_frame(data, library)
            self._add_column(data)
            name = type(data).__name__
            return f"{library}.{name} of {data.dtype} with {len(data)} items"
        array = to_host(data)
        if not isinstance(array, np.ma.MaskedArray):
            array = np.asarray(array)
        self._add_array(array)
        return f"array of {_name(array.dtype)} with shape {array.shape}"

    def _tag(self, *facts: Any) -> None:
        """Hash the format of the bytes that follow."""
        self._hash.update(repr(facts).encode() + b"\n")

    # -- arrays -------------------------------------------------------------------

    def _add_array(self, array: np.ndarray) -> None:
        self._tag("array", _name(array.dtype), array.shape)
        if isinstance(array, np.ma.MaskedArray):
            self._add_bytes(np.ma.getmaskarray(array))
            array = array.filled()
        if array.dtype.names is not None:
            for name in array.dtype.names:
                self._add_array(array[name])
        elif array.dtype.kind in _NUMERIC:
            self._add_bytes(array)
        else:
            flat = array.ravel()
            self._add_objects(flat[i : i + CHUNK].tolist() for i in _steps(flat))

    def _add_bytes(self, array: np.ndarray) -> None:
        little = array.dtype.newbyteorder("<")
        if array.flags.c_contiguous and array.dtype == little:
            self._hash.update(array.reshape(-1).view(np.uint8).data)
            return
        # Successive rows are in C order for any layout.
        rows = np.atleast_1d(array)
        bytes_per_row = max(rows[:1].nbytes, 1)
        step = max(BLOCK // bytes_per_row, 1)
        for i in range(0, len(rows), step):
            block = np.ascontiguousarray(rows[i : i + step], dtype=little)
            self._hash.update(block.reshape(-1).view(np.uint8).data)

    def _add_sparse(self, matrix: Any) -> None:
        csr = matrix.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy() if csr is matrix else csr
            csr.sum_duplicates()
        self._tag("sparse", csr.shape)
        for part in (csr.indptr, csr.indices):
            # Indices have 32 or 64 bits.
            for i in range(0, len(part), BLOCK):
                self._add_bytes(part[i : i + BLOCK].astype(np.int64))
        self._add_array(csr.data)

    # -- objects ------------------------------------------------------------------

    def _add_list(self, items: Sequence[Any]) -> None:
        array = _numbers(items)
        if array is not None:
            self._add_array(array)
        else:
            self._add_objects(items[i : i + CHUNK] for i in _steps(items))

    def _add_objects(self, chunks: Iterator[Sequence[Any]]) -> None:
        for chunk in chunks:
            strings = all(type(item) is str for item in chunk)
            texts = chunk if strings else [self._describe(item) for item in chunk]
            self._tag("strings" if strings else "objects", len(texts))
            self._add_bytes(np.array([len(text) for text in texts], dtype=np.int64))
            self._hash.update("".join(texts).encode("utf-8", "surrogatepass"))

    # -- data frames --------------------------------------------------------------

    def _add_frame(self, frame: Any, library: str) -> str:
        names = [self._describe(name) for name in frame.columns]
        dtypes = [str(dtype) for dtype in frame.dtypes]
        self._tag("frame", names, dtypes, frame.shape)
        numeric = [_is_numeric(dtype) for dtype in frame.dtypes]
        if all(numeric) and len(set(dtypes)) == 1 and library == "pandas":
            self._add_bytes(frame.to_numpy())
        else:
            for j in range(frame.shape[1]):
                column = frame.iloc[:, j] if library == "pandas" else frame[:, j]
                self._add_column(column)
        shown = ", ".join(map("{}: {}".format, names, dtypes))
        if len(names) > MAX_COLUMNS:
            shown = f"{len(names)} columns"
        return f"{library}.DataFrame with {len(frame)} rows of ({shown})"

    def _add_column(self, column: Any) -> None:
        if _library(column) == "polars":
            self._add_polars(column)
            return
        dtype = str(column.dtype)
        self._tag("column", dtype)
        if _is_numeric(column.dtype):
            self._add_array(column.to_numpy())
        elif dtype == "category":
            categorical = getattr(column, "cat", column)
            self._add_array(np.asarray(categorical.codes))
            self._add_list(categorical.categories.tolist())
        else:
            rows = getattr(column, "iloc", column)
            self._add_objects(
                list(rows[i : i + CHUNK].tolist()) for i in _steps(column)
            )

    def _add_polars(self, column: Any) -> None:
        self._tag("column", str(column.dtype), column.null_count())
        if column.dtype.is_temporal():
            column = column.to_physical()
        if column.dtype.is_numeric() and not column.null_count():
            self._add_array(column.to_numpy())
        else:
            self._add_objects(column.slice(i, CHUNK).to_list() for i in _steps(column))


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in _NUMERIC


def _name(dtype: np.dtype) -> str:
    """Return the name of a type, without the byte order and the length of texts."""
    if dtype.names is not None:
        fields = ", ".join(f"{name}: {_name(dtype[name])}" for name in dtype.names)
        return f"({fields})"
    if dtype.kind in _NUMERIC:
        return dtype.newbyteorder("=").name
    return {"U": "str", "S": "bytes", "T": "str"}.get(dtype.kind, "object")


def _steps(items: Any) -> range:
    return range(0, len(items), CHUNK)


def _numbers(items: Sequence[Any]) -> np.ndarray | None:
    """Return a list of numbers, or of lists of numbers, as an array."""
    if not len(items) or not isinstance(items[0], int | float | list | tuple):
        return None
    try:
        array = np.asarray(items)
    except (ValueError, OverflowError):  # rows of different lengths
        return None
    return array if array.dtype.kind in "biuf" else None
