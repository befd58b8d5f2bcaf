"""Interface to the C library LIBLINEAR with NumPy arrays.

The package liblinear-official provides the library and its structures. Its own Python
wrapper is not used: it converts data row by row, and it enables printing for all
threads by default. If the package is not installed, scikit-learn's copy of the library
is used. The copy is older and cannot exclude the intercept from the penalty.

The library has two global states per process: the random number generator of its
coordinate descent solvers, which is `rand` of C, and the print function. Therefore,
fits that draw random numbers run one at a time, each with its own seed. Printed
messages are collected by thread, because only they contain the number of iterations.
scikit-learn's copy has another generator, which is seeded by every fit. All its fits
run one at a time.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skbayes.compat.private_names import set_verbosity_wrap, train_wrap
from skbayes.utils.optional import import_optional, log_once

_RNG_LOCK = threading.Lock()
_OUTPUT = threading.local()


def _renew_lock() -> None:
    global _RNG_LOCK
    _RNG_LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A child process must not wait for a fit in its parent.
    os.register_at_fork(after_in_child=_renew_lock)


class Trained(NamedTuple):
    """Result of a training run.

    `weights` (n_rows, n_weights) have one row per class, or one for two classes (that
    of the larger code), except with the solver of Crammer and Singer. The weight of the
    bias is in the last column. `n_iter` is the maximum over the binary problems.
    """

    weights: npt.NDArray[np.float64]
    n_iter: int
    converged: bool


# Nodes (column from 1, value) and addresses of the rows, for liblinear-official.
Rows = tuple[npt.NDArray[Any], npt.NDArray[np.uintp]]


def lay_out(X: sparse.csr_matrix, bias: float) -> Rows | None:
    """Convert finite data; add a constant feature `bias` unless it is negative.

    scikit-learn's copy of the library converts them itself.
    """
    if X.shape[1] >= np.iinfo(np.int32).max:
        raise ValueError(f"LIBLINEAR does not support {X.shape[1]} features.")
    if not _is_installed():
        return None
    dtype = np.dtype(import_library("LiblinearClassifier").feature_node)
    n_samples, n_features = X.shape
    extra = 2 if bias >= 0 else 1
    starts = X.indptr.astype(np.int64) + extra * np.arange(n_samples + 1)
    nodes = np.empty(X.nnz + extra * n_samples, dtype=dtype)
    is_nonzero = np.ones(len(nodes), dtype=bool)
    for place in range(1, extra + 1):
        is_nonzero[starts[1:] - place] = False
    column, value = nodes["index"], nodes["value"]
    column[is_nonzero] = X.indices + 1
    value[is_nonzero] = X.data
    if bias >= 0:
        column[starts[1:] - 2] = n_features + 1
        value[starts[1:] - 2] = bias
    column[starts[1:] - 1] = -1
    addresses = nodes.ctypes.data + starts[:-1] * dtype.itemsize
    return nodes, np.ascontiguousarray(addresses, dtype=np.uintp)


class Problem(NamedTuple):
    """Samples and options of a classifier or of its binary problems."""

    X: sparse.csr_matrix
    rows: Rows | None  # None if each binary problem has its own
    bias: float
    codes: npt.NDArray[Any]  # classes from 0, each of which occurs
    class_weight: npt.NDArray[np.float64]  # factors of C
    total: npt.NDArray[np.int64] | None  # presence of features, if they are scaled
    solver: int  # LIBLINEAR's number
    C: float
    tol: float
    regularize_bias: bool  # False requires liblinear-official, and a bias of 1

    def solved(self, seed: int | None, code: int | None = None) -> Trained:
        """Separate one class from the rest, or all classes if `code` is None."""
        if code is None:
            return self.train(seed)
        rest = 1.0 if len(self.class_weight) > 2 else self.class_weight[0]
        X, positive = self.X, self.codes == code
        ratios = np.ones(X.shape[1])
        if self.total is not None:
            ratios = _log_count_ratios(X, positive, self.total)
            values = X.data * ratios[X.indices]
            X = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
        weights = np.array([rest, self.class_weight[code]])
        codes = positive.astype(np.int64)
        found = self._replace(X=X, codes=codes, class_weight=weights).train(seed)
        found.weights[:, : X.shape[1]] *= ratios
        return found

    def train(self, seed: int | None) -> Trained:
        """Train a linear classifier, or raise a ValueError if the library refuses.

        Without a `seed`, fits by liblinear-official can run in parallel.
        """
        rows = self.rows or lay_out(self.X, self.bias)
        if rows is None:
            return _train_by_scikit_learn(self, seed)
        structures = import_library("LiblinearClassifier")
        library = structures.liblinear
        n_classes = len(self.class_weight)
        # With -1 and 1, the library uses 1 as the positive class, in any order.
        classes = np.array([-1, 1]) if n_classes == 2 else np.arange(n_classes)
        labels = classes[self.codes].astype(np.float64)

        problem = structures.problem.__new__(structures.problem)
        problem.l = self.X.shape[0]
        problem.n = self.X.shape[1] + (self.bias >= 0)
        problem.y = labels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        problem.x = ctypes.cast(
            rows[1].ctypes.data,
            ctypes.POINTER(ctypes.POINTER(structures.feature_node)),
        )
        problem.bias = self.bias

        # The constructor is not called, because it enables printing for all threads.
        parameter = structures.parameter.__new__(structures.parameter)
        parameter.set_to_default_values()
        parameter.solver_type = self.solver
        parameter.eps = self.tol
        parameter.C = self.C
        parameter.regularize_bias = int(self.regularize_bias)
        parameter.nr_weight = n_classes
        parameter.weight_label = (ctypes.c_int * n_classes)(*map(int, classes))
        weights = map(float, self.class_weight)
        parameter.weight = (ctypes.c_double * n_classes)(*weights)

        arguments = (ctypes.byref(problem), ctypes.byref(parameter))
        refusal = library.check_parameter(*arguments)
        if refusal:
            raise ValueError(f"LIBLINEAR refuses these parameters: {refusal.decode()}.")
        coef, messages = _run(library, problem, parameter, seed)
        del labels, rows  # the library has read them until here
        return Trained(coef, *_read(messages))


def _log_count_ratios(
    X: sparse.csr_matrix, positive: npt.NDArray[np.bool_], total: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return r (n_features,) in equation 2 of Wang & Manning (2012), with alpha = 1.

    `X` has sorted rows and binary features that occur in `total` samples; `positive`
    (n_samples,) marks one class.
    """
    count = presence(X[positive])
    p, q = 1.0 + count, 1.0 + total - count
    return np.log(p / p.sum()) - np.log(q / q.sum())


def presence(X: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """Count the samples in which each feature is not 0."""
    nonzero = X.data != 0
    indices = X.indices if nonzero.all() else X.indices[nonzero]
    return np.bincount(indices, minlength=X.shape[1])


def _run(
    library: Any, problem: Any, parameter: Any, seed: int | None
) -> tuple[npt.NDArray[np.float64], str]:
    """Return the weights, one row per class, and the printed messages."""
    messages: list[bytes] = []
    _OUTPUT.messages = messages
    # Set it each time: other users of the package may have changed it.
    library.set_print_string_function(_collector())
    arguments = (ctypes.byref(problem), ctypes.byref(parameter))
    try:
        if seed is None:
            model = library.train(*arguments)
        else:
            with _RNG_LOCK:
                _c_runtime().srand(ctypes.c_uint(seed))
                model = library.train(*arguments)
    finally:
        del _OUTPUT.messages
    try:
        content = model.contents
        n_classes = content.nr_class
        n_rows = 1 if n_classes == 2 and parameter.solver_type != 4 else n_classes
        weights = np.ctypeslib.as_array(content.w, shape=(problem.n, n_rows)).T
        order = np.argsort(content.label[:n_classes]) if n_rows > 1 else [0]
        return np.ascontiguousarray(weights[order]), b"".join(messages).decode()
    finally:
        library.free_and_destroy_model(ctypes.byref(model))


_DESCENT = re.compile(r"optimization finished, #iter = (\d+)")
_NEWTON = re.compile(r"iter +(\d+) f ")


def _read(messages: str) -> tuple[int, bool]:
    """Return the number of iterations, and whether the solver converged."""
    counts = [int(n) for n in _DESCENT.findall(messages) + _NEWTON.findall(messages)]
    # Some of the dual solvers switch to a primal one.
    stopped = messages.count("reaching max number of") - messages.count("Switching to")
    # Reaching the limit of an inner loop is not a failure.
    stopped -= messages.count("reaching max number of inner iterations")
    return max(counts, default=0), stopped <= 0


def _collect(message: bytes) -> None:
    messages = getattr(_OUTPUT, "messages", None)
    if messages is not None:
        messages.append(message)


@functools.cache
def _collector() -> Any:
    """Return the print function for C; some systems cannot make one."""
    return ctypes.CFUNCTYPE(None, ctypes.c_char_p)(_collect)


# Iteration limits of scikit-learn's copy; 1000 for other solvers. The limits are those
# of liblinear-official, except for the dual of the hinge loss (1000 instead of 300).
_MAX_ITER = {1: 300, 4: 100_000, 6: 100, 7: 300}
# Solvers that continue at a tenth of the tolerance if a dual solver has not converged,
# as in liblinear-official.
_PRIMAL_OF = {1: 2, 7: 0}


def _train_by_scikit_learn(given: Problem, seed: int | None) -> Trained:
    """Train without scikit-learn's classifiers.

    They issue warnings if ``max_iter`` is too small, which cannot be caught by thread.
    Since 1.8, ``LogisticRegression`` only supports two classes.
    """
    if train_wrap is None:
        raise ImportError(
            "This release of scikit-learn has no LIBLINEAR that skbayes can call; "
            'pip install "skbayes[text]" installs the library itself.'
        )
    X, solver, tol = given.X, given.solver, given.tol
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(
            f"scikit-learn's copy of LIBLINEAR does not support {X.nnz} nonzeros."
        )
    X = sparse.csr_matrix(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )
    labels, sample_weight = given.codes.astype(np.float64), np.ones(X.shape[0])
    bias, C, class_weight = given.bias, given.C, given.class_weight
    n_iter = 0
    while True:
        most = _MAX_ITER.get(solver, 1000)
        # The tube of 0.1 is only used for regression.
        options = (tol, bias, C, class_weight, most, seed or 0, 0.1, sample_weight)
        with _RNG_LOCK:
            set_verbosity_wrap(0)
            weights, counts = train_wrap(X, labels, True, solver, *options)
        # Only the first count of the joint problem of Crammer and Singer (4) is valid.
        n = int(counts[0] if solver == 4 else max(counts))
        n_iter = max(n_iter, n)
        if n < most or solver not in _PRIMAL_OF:
            return Trained(weights, n_iter, n < most)
        solver, tol = _PRIMAL_OF[solver], tol / 10


def import_library(purpose: str) -> Any:
    """Import liblinear-official, or raise an ImportError that names the purpose."""
    return import_optional("liblinear.liblinear", extra="text", purpose=purpose)


def library_name() -> str:
    """Return the package that provides LIBLINEAR; log once if it is scikit-learn."""
    if _is_installed():
        return "liblinear-official"
    log_once(
        "LiblinearClassifier uses scikit-learn's copy of LIBLINEAR, because "
        "liblinear-official is not installed. Both give about the same results; "
        'pip install "skbayes[text]" installs it, and needs a C++ compiler.'
    )
    return "scikit-learn"


@functools.cache
def _is_installed() -> bool:
    return importlib.util.find_spec("liblinear") is not None


@functools.cache
def _c_runtime() -> Any:
    """Return the C library that contains `rand`."""
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    return ctypes.CDLL(None)
