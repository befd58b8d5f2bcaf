"""Digests of data, independent of the container and of the memory layout.

The digest of an array is that of its elements in C order, little-endian. The digest of
a sparse matrix is that of its sorted CSR form, and the digest of a data frame that of
its columns with names and dtypes, without the index. The digest of text is that of its
UTF-8 bytes. Large arrays are hashed in blocks, and are never copied as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from skbayes import compat

# Elements of an array, and Python objects, to hash at a time.
BLOCK, CHUNK = 2**17, 4096

# Kinds of NumPy types whose elements are hashed as bytes.
_NUMERIC = frozenset("biufcmM")

# Maximum number of columns named in the description of a frame; all names are hashed.
MAX_COLUMNS = 30


def is_data(value: Any) -> bool:
    """Return whether a value is an array, a sparse matrix, or a frame or column."""
    if isinstance(value, type | np.generic):
        return False
    arrays = hasattr(value, "__array__") or hasattr(value, "to_numpy")
    return scipy.sparse.issparse(value) or (arrays and hasattr(value, "shape"))


def data_text(data: Any, describe: Callable[[Any], str]) -> str:
    """Describe data in one line, with their digest; `describe` is for their objects."""
    digest = _Digest(describe)
    return f"{digest.add(data)}, blake2b {digest.hash.hexdigest()}"


def _library(value: Any) -> str:
    """Return the name of the library of frames that a value belongs to, or ""."""
    name = type(value).__module__.partition(".")[0]
    return name if name in ("pandas", "polars") else ""


class _Digest:
    """Hash of data, and of the format of the bytes of each part."""

    def __init__(self, describe: Callable[[Any], str]) -> None:
        self._describe = describe
        self.hash = hashlib.blake2b(digest_size=16)

    def add(self, data: Any) -> str:
        """Add data to the hash; return a description of their type."""
        library = _library(data)
        if isinstance(data, list | tuple):
            self._add_list(data)
            return f"{type(data).__name__} of {len(data)} items"
        if scipy.sparse.issparse(data):
            self._add_sparse(data)
            return f"sparse matrix of {data.dtype.name} with shape {data.shape}"
        if library and hasattr(data, "columns"):
            return self._add_frame(data, library)
        if library:
            self._add_column(data)
            name = f"{library}.{type(data).__name__}"
            return f"{name} of {data.dtype} with {len(data)} items"
        array = compat.to_host(data)
        if not isinstance(array, np.ma.MaskedArray):
            array = np.asarray(array)
        self._add_array(array)
        return f"array of {_name(array.dtype)} with shape {array.shape}"

    def _tag(self, *facts: Any) -> None:
        self.hash.update(repr(facts).encode() + b"\n")

    def _add_array(self, array: np.ndarray) -> None:
        self._tag("array", _name(array.dtype), array.shape)
        if isinstance(array, np.ma.MaskedArray):
            self._add_bytes(np.ma.getmaskarray(array))
            array = array.filled()
        if array.dtype.kind in _NUMERIC:
            self._add_bytes(array)
        else:
            self._add_objects(array.ravel())

    def _add_bytes(self, array: np.ndarray, dtype: Any = None) -> None:
        """Hash the elements in C order, little-endian, for any layout."""
        dtype = np.dtype(dtype or array.dtype).newbyteorder("<")
        blocks = np.nditer(
            array,
            flags=["external_loop", "buffered", "zerosize_ok"],
            op_flags=["readonly"],
            op_dtypes=dtype,
            order="C",
            buffersize=BLOCK,
        )
        for block in blocks:
            self.hash.update(np.ascontiguousarray(block).view(np.uint8).data)

    def _add_sparse(self, matrix: Any) -> None:
        csr = matrix.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        self._tag("sparse", csr.shape)
        # Indices have 32 or 64 bits.
        self._add_bytes(csr.indptr, np.int64)
        self._add_bytes(csr.indices, np.int64)
        self._add_array(csr.data)

    def _add_list(self, items: Sequence[Any]) -> None:
        array = None
        if len(items) and isinstance(items[0], int | float | list | tuple):
            try:
                array = np.asarray(items)
            except (ValueError, OverflowError):  # rows of different lengths
                pass
        if array is not None and array.dtype.kind in "biuf":
            self._add_array(array)
        else:
            self._add_objects(items)

    def _add_objects(self, items: Any) -> None:
        for i in range(0, len(items), CHUNK):
            chunk = items[i : i + CHUNK]
            chunk = chunk.tolist() if hasattr(chunk, "tolist") else list(chunk)
            strings = all(type(item) is str for item in chunk)
            texts = chunk if strings else [self._describe(item) for item in chunk]
            self._tag("strings" if strings else "objects", len(texts))
            self._add_bytes(np.array([len(text) for text in texts], dtype=np.int64))
            self.hash.update("".join(texts).encode("utf-8", "surrogatepass"))

    def _add_frame(self, frame: Any, library: str) -> str:
        names = [self._describe(name) for name in frame.columns]
        dtypes = [str(dtype) for dtype in frame.dtypes]
        self._tag("frame", names, dtypes, frame.shape)
        columns = frame.iloc if library == "pandas" else frame
        for j in range(frame.shape[1]):
            self._add_column(columns[:, j])
        shown = ", ".join(map("{}: {}".format, names, dtypes))
        shown = shown if len(names) <= MAX_COLUMNS else f"{len(names)} columns"
        return f"{library}.DataFrame with {len(frame)} rows of ({shown})"

    def _add_column(self, column: Any) -> None:
        dtype = column.dtype
        self._tag("column", str(dtype))
        if _library(column) == "polars":
            self._tag(column.null_count())
            self._add_array(column.to_numpy())
        elif isinstance(dtype, np.dtype) and dtype.kind in _NUMERIC:
            self._add_array(column.to_numpy())
        elif str(dtype) == "category":
            categorical = getattr(column, "cat", column)
            self._add_array(np.asarray(categorical.codes))
            self._add_list(categorical.categories.tolist())
        else:
            self._add_objects(column.tolist())


def _name(dtype: np.dtype) -> str:
    """Return the name of a type, without the byte order and the length of texts."""
    if dtype.kind in _NUMERIC:
        return dtype.newbyteorder("=").name
    return {"U": "str", "S": "bytes", "T": "str", "O": "object"}.get(
        dtype.kind, str(dtype)
    )
