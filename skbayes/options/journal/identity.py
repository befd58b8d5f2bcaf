"""Identity of a search as canonical texts, and its metadata as JSON.

The texts describe values, so that two searches can be compared part by part and the
differences can be named. They are the same in every process: they do not depend on
addresses, hashes of strings, layouts of arrays, or releases of libraries. Estimators
are described by their class and parameters, functions by their qualified name, other
objects by their class and the state that is pickled, and data by their type, shape and
digest. A warning names the values that are not comparable.

An array is hashed by its elements in C order, little-endian. A sparse matrix is hashed
in its sorted CSR form, and a data frame by its columns with their names and dtypes,
without the index. Large arrays are hashed in blocks, and are never copied as a whole.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import scipy.sparse

from skbayes import compat
from skbayes.options.journal.json_space import rows_of
from skbayes.space import Integer, Ordinal, Real, Space
from skbayes.space.dimensions import is_number, native
from skbayes.space.lists import keeps_more_than_parameters, same
from skbayes.trial.settings import refit_choice
from skbayes.utils.optional import warn_user
from skbayes.utils.optuna_study import results_of_study, study_of

# Parameters with separate parts in the description.
_PARTS = frozenset({"cv", "estimator", "scoring", "search_spaces"})

# Parameters of searches for readers of a journal.
_METADATA = ("tradeoff", "cost", "score_range")

# Parameters of estimators that do not change the fit. A cache is a different object in
# each process.
NOT_OF_AN_ESTIMATOR = frozenset({"memory", "n_jobs", "verbose"})

# Maximum length of a list that is described in full.
MAX_ITEMS = 200

# Elements of an array, and Python objects, to hash at a time.
BLOCK, CHUNK = 2**17, 4096

# Types whose values are described by their `repr`.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, range})

# Kinds of NumPy dtypes whose elements are hashed as bytes.
_NUMERIC = frozenset("biufcmM")


# -- searches ---------------------------------------------------------------------


def describe_search(
    kind: type,
    settings: Mapping[str, Any],
    without_effect: Collection[str],
    space: Space,
    X: Any,
    y: Any,
    fit_params: Mapping[str, Any],
    splits: Sequence[tuple[Any, Any]],
) -> dict[str, str]:
    """Describe the parts of a search that determine its trials, by name."""
    params = _values(settings)
    if "warm_start_from" in params:
        params["warm_start_from"] = _known_results(params["warm_start_from"])
    data: dict[str, Any] = {"X": X, "y": y}
    data |= {f"fit_params: {name}": fit_params[name] for name in sorted(fit_params)}
    parts: dict[str, Any] = {
        "search": kind,
        "estimator": params["estimator"],
        "search_spaces": space,
        "constraint": space.constraint,
        "scoring": params.get("scoring"),
        "target_metric": _target_metric(params),
        "splits": _splits(params.get("cv"), splits),
    }
    for name in sorted(params.keys() - without_effect - _PARTS):
        parts[f"settings: {name}"] = params[name]
    describer = Describer()
    identity = {}
    for describer.part, value in (data | parts).items():
        # Lists of data or splits of any length are described by their digest.
        digest = describer.part in {*data, "splits"} and isinstance(value, list | tuple)
        try:
            text = data_text(value, describer) if digest else describer(value)
        except RecursionError:
            text = describer.not_comparable("an object that contains itself")
        identity[describer.part] = text
    describer.warn()
    return identity


def search_metadata(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a search for readers of its journal, as plain JSON."""
    params = _values(settings)
    metadata = {name: _plain(params.get(name)) for name in _METADATA}
    return {
        "search": kind.__name__,
        "scoring": _plain(params.get("scoring")),
        "target_metric": _plain(_target_metric(params)),
        "objectives": {
            name: objective if isinstance(objective, str) else objective[0]
            for name, objective in (params.get("objectives") or {}).items()
        },
        "settings": {n: value for n, value in metadata.items() if value is not None},
        "chooses_train_size": "train_sizes" in params,
    }


def _plain(value: Any) -> Any:
    """Return a name, a number or a pair of numbers; None for any other value."""
    if isinstance(value, list | tuple) and len(value) == 2:
        value = list(map(native, value))
        return value if all(map(is_number, value)) else None
    value = native(value)
    return value if isinstance(value, str) or is_number(value) else None


def _splits(cv: Any, splits: Sequence[tuple[Any, Any]]) -> Any:
    """Return the splits if `cv` repeats them, else their number and options."""
    shuffles = hasattr(cv, "random_state") and getattr(cv, "shuffle", True)
    is_seeded = not shuffles or isinstance(cv.random_state, int | np.integer)
    if isinstance(cv, Iterator) or not is_seeded:
        options = {**getattr(cv, "__dict__", {}), "random_state": None}
        return [str(len(splits)), type(cv), options]
    return [(rows_of(train), rows_of(test)) for train, test in splits]


def _target_metric(params: Mapping[str, Any]) -> Any:
    scoring, refit = params.get("scoring"), params.get("refit")
    if scoring is None or isinstance(scoring, str):
        return None
    metric = None
    if isinstance(refit, str | Mapping):
        metric = refit_choice(refit, scoring).metric
    if metric is None and isinstance(scoring, list | tuple | dict):
        return next(iter(scoring), None)
    return metric


def _known_results(source: Any) -> Any:
    """Return the results of a warm start without times, which differ between runs."""
    study = study_of(source)
    if study is not None:
        # A study that is loaded again is a different object.
        sign, results = results_of_study(study)
        return sign, [(params, score, state) for params, score, _, state in results]
    results = getattr(source, "cv_results_", source)
    if not isinstance(results, Mapping):
        return results
    return {name: results[name] for name in results if "_time" not in str(name)}


# -- values -----------------------------------------------------------------------


def _qualified(definition: Any) -> str:
    """Return the name of a class or function with the public parts of its module."""
    module = getattr(definition, "__module__", None) or ""
    parts = [part for part in module.split(".") if part[:1] != "_" or part[:2] == "__"]
    return ".".join([*filter(None, parts), definition.__qualname__])


def _values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a search, without a scorer that objectives determine."""
    values = dict(settings)
    return values if values.get("objectives") is None else {**values, "scoring": None}


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that differ from the defaults, which releases change."""
    params = estimator.get_params(deep=False)
    defaults: dict[str, Any] = {}
    if type(estimator).__module__.startswith("sklearn."):
        signature = inspect.signature(type(estimator)).parameters
        defaults = {name: parameter.default for name, parameter in signature.items()}
    return {
        name: params[name]
        for name in params.keys() - NOT_OF_AN_ESTIMATOR
        if name not in defaults or not same(native(params[name]), defaults[name])
    }


class Describer:
    """Describer of any values by texts that are the same in every process.

    It lists the values that are not comparable, each in a `part` of the search.
    """

    def __init__(self) -> None:
        self.part = "value"
        self._not_comparable: list[str] = []

    def warn(self) -> None:
        """Warn once about all values that are not comparable."""
        if self._not_comparable:
            listed = ", ".join(dict.fromkeys(self._not_comparable))
            warn_user(
                f"journal: not comparable, and assumed to be unchanged: {listed}. Use "
                "another file name if they have changed."
            )

    def not_comparable(self, name: str) -> str:
        """Note that a value is not compared, and return its text."""
        self._not_comparable.append(f"{name} in {self.part}")
        return f"{name} (not comparable)"

    def __call__(self, value: Any) -> str:
        """Return the text of a value."""
        value = native(value)
        if value is None or type(value) in _PLAIN:
            return repr(value)
        if isinstance(value, type):
            return _qualified(value)
        if is_data(value):
            return data_text(value, self)
        if isinstance(value, Space):
            return self._branch(value, value.tree)
        if isinstance(value, list | tuple | AbstractSet | Mapping):
            return self._collection(value)
        if hasattr(value, "get_params"):
            return self._estimator(value)
        if hasattr(value, "ppf"):
            return self._distribution(value)
        if isinstance(value, np.ufunc):  # without a qualified name before NumPy 2.2
            return f"ufunc {value.__name__}"
        owner = getattr(value, "__self__", None)
        is_method = owner is not None and not isinstance(owner, types.ModuleType)
        if callable(value) and hasattr(value, "__qualname__") and not is_method:
            return self._function(value)
        return self._object(value)

    def _collection(self, value: Any) -> str:
        """Describe a collection; the items of sets and mappings are sorted."""
        if len(value) > MAX_ITEMS and isinstance(value, list | tuple):
            return data_text(value, self)
        name = ""
        if type(value) not in (list, tuple, dict, set, frozenset):
            name = _qualified(type(value))
        if isinstance(value, Mapping):
            items = sorted(f"{self(key)}: {self(value[key])}" for key in value)
            return f"{name}{{{', '.join(items)}}}"
        if isinstance(value, AbstractSet):
            return f"{name}{{{', '.join(sorted(map(self, value)))}}}"
        begin, end = "[]" if isinstance(value, list) else "()"
        return f"{name}{begin}{', '.join(map(self, value))}{end}"

    def _branch(self, space: Space, tree: Sequence[tuple[int, list]]) -> str:
        entries = []
        for place, options in tree:
            opened = " or ".join(self._branch(space, option) for option in options)
            name, dimension = space.columns[place].name, space.columns[place].dimension
            text = f"{name!r}: {self._dimension(dimension)}"
            text += f" opens {opened}" * bool(options)
            entries.append(f"either {opened}" if name is None else text)
        return f"{{{', '.join(entries)}}}"

    def _dimension(self, dimension: Any) -> str:
        if isinstance(dimension, Real | Integer):
            return repr(dimension)
        if not hasattr(dimension, "values"):
            return self(getattr(dimension, "distribution", dimension))
        scale = f" ({dimension.scale})" if isinstance(dimension, Ordinal) else ""
        return f"{type(dimension).__name__}{scale} {self(list(dimension.values))}"

    def _call(
        self, name: str, values: Iterable[Any], named: Mapping[str, Any] | None = None
    ) -> str:
        parts = [self(value) for value in values]
        parts += [
            f"{key}={self(value)}" for key, value in sorted((named or {}).items())
        ]
        return f"{name}({', '.join(parts)})"

    def _function(self, function: Any) -> str:
        """Describe a function by its name."""
        name = _qualified(function)
        # The name of a function does not depend on its closure.
        has_closure = "<locals>" in name and getattr(function, "__closure__", None)
        is_named = not has_closure and not name.endswith("<lambda>")
        return name if is_named else self.not_comparable(name)

    def _estimator(self, estimator: Any) -> str:
        name = _qualified(type(estimator))
        if keeps_more_than_parameters(estimator):
            return self.not_comparable(name)
        return self._call(name, (), _parameters(estimator))

    def _distribution(self, frozen: Any) -> str:
        kind = type(getattr(frozen, "dist", None))
        # Other distributions may contain data, such as rv_histogram.
        if kind.__module__.startswith("scipy.stats") and kind.__name__[-4:] == "_gen":
            return self._call(frozen.dist.name, frozen.args, frozen.kwds)
        return self.not_comparable("a distribution")

    def _object(self, value: Any) -> str:
        """Describe any other object by its class and the contents of its pickle."""
        name = _qualified(type(value))
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # it cannot be pickled
            return self.not_comparable(name)
        if isinstance(reduced, str):
            return f"{name} {reduced}"
        # The class itself is among the arguments of copyreg.__newobj__.
        values = [argument for argument in reduced[1] if argument is not type(value)]
        state = [list(x) if isinstance(x, Iterator) else x for x in reduced[2:]]
        return self._call(name, values + [part for part in state if part is not None])


# -- data -------------------------------------------------------------------------


def is_data(value: Any) -> bool:
    """Return whether a value is an array, a sparse matrix, or a frame or column."""
    if isinstance(value, type | np.generic):
        return False
    arrays = hasattr(value, "__array__") or hasattr(value, "to_numpy")
    return scipy.sparse.issparse(value) or (arrays and hasattr(value, "shape"))


def data_text(data: Any, describe: Callable[[Any], str]) -> str:
    """Describe data in one line, with their digest; `describe` is for their objects."""
    if isinstance(data, list | tuple):
        name = f"{type(data).__name__} of {len(data)} items"
    elif hasattr(data, "columns"):
        name = f"data frame with shape {data.shape}"
    elif hasattr(data, "to_numpy"):
        name = f"column of {data.dtype} with {len(data)} items"
    elif scipy.sparse.issparse(data):
        name = f"sparse matrix of {data.dtype.name} with shape {data.shape}"
    else:
        data = compat.to_host(data)
        if not isinstance(data, np.ma.MaskedArray):
            data = np.asarray(data)
        name = f"array of {_type_name(data.dtype)} with shape {data.shape}"
    digest = hashlib.blake2b(digest_size=16)
    for piece in _pieces(data, describe):
        is_block = isinstance(piece, bytes)
        digest.update(piece if is_block else f"{piece!r}\n".encode())
    return f"{name}, blake2b {digest.hexdigest()}"


def _pieces(data: Any, describe: Callable[[Any], str]) -> Iterator[Any]:
    """Yield the elements of data as bytes, and the format of the bytes."""
    if isinstance(data, list | tuple):
        for i in range(0, len(data), CHUNK):
            yield [describe(item) for item in data[i : i + CHUNK]]
    elif scipy.sparse.issparse(data):
        csr = data.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        yield "sparse", csr.shape
        # Indices have 32 or 64 bits.
        places = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
        for part in (*places, csr.data):
            yield from _pieces(part, describe)
    elif hasattr(data, "columns"):
        yield "frame", [describe(name) for name in data.columns], data.shape
        columns = getattr(data, "iloc", data)
        for j in range(data.shape[1]):
            yield from _pieces(columns[:, j], describe)
    elif hasattr(data, "to_numpy"):
        # Missing integers of polars become NaN.
        n_missing = data.null_count() if hasattr(data, "null_count") else 0
        yield "column", str(data.dtype), n_missing
        categories: Any = getattr(data.dtype, "categories", None)
        if hasattr(categories, "tolist"):
            yield from _pieces(categories.tolist(), describe)
        yield from _pieces(np.asarray(data.to_numpy()), describe)
    else:
        yield "array", _type_name(data.dtype), data.shape
        if isinstance(data, np.ma.MaskedArray):
            yield from _blocks(np.ma.getmaskarray(data))
            data = data.filled()
        if data.dtype.kind in _NUMERIC:
            yield from _blocks(data)
        else:
            items = data.ravel()
            for i in range(0, len(items), CHUNK):
                yield from _pieces(items[i : i + CHUNK].tolist(), describe)


def _blocks(array: np.ndarray) -> Iterator[bytes]:
    """Yield the elements in C order, little-endian, for any layout."""
    dtype = array.dtype.newbyteorder("<")
    array = np.atleast_1d(array)
    n_rows = max(BLOCK * len(array) // max(array.size, 1), 1)
    for start in range(0, len(array), n_rows):
        block = array[start : start + n_rows]
        yield block.astype(dtype, copy=False).tobytes()


def _type_name(dtype: Any) -> str:
    """Return the name of a type, without the byte order and the length of texts."""
    if dtype.kind in _NUMERIC:
        return dtype.newbyteorder("=").name
    names = {"U": "str", "S": "bytes", "T": "str", "O": "object"}
    return names.get(dtype.kind, str(dtype))
