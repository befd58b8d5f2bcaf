"""Interface to the C library LIBLINEAR with NumPy arrays.

The package liblinear-official provides the library and its structures. Its own Python
wrapper is not used: it converts data row by row, and it enables printing for all
threads by default. If the package is not installed, scikit-learn's copy of the library
is used, by its classes. The copy is older and cannot exclude the intercept from the
penalty.

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

from skbayes.utils.autologging import without_autologging
from skbayes.utils.optional import import_optional, log_once

_RNG_LOCK = threading.Lock()
_OUTPUT = threading.local()

# Limits of scikit-learn's copy: iterations, which liblinear-official limits itself, and
# nonzeros, because the indices have 32 bits.
MAX_ITER, MAX_NONZEROS = 1000, np.iinfo(np.int32).max


def _renew_lock() -> None:
    global _RNG_LOCK
    _RNG_LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    # A child process must not wait for a fit in its parent.
    os.register_at_fork(after_in_child=_renew_lock)


class Solver(NamedTuple):
    """Solver of LIBLINEAR."""

    number: int
    name: str
    tol: float  # the library's default
    draws: bool  # whether it visits coordinates in random order


#: Solvers by penalty, loss, and whether they solve the dual problem.
SOLVERS = {
    ("l2", "logistic", False): Solver(0, "L2R_LR", 0.01, False),
    ("l2", "squared_hinge", True): Solver(1, "L2R_L2LOSS_SVC_DUAL", 0.1, True),
    ("l2", "squared_hinge", False): Solver(2, "L2R_L2LOSS_SVC", 0.01, False),
    ("l2", "hinge", True): Solver(3, "L2R_L1LOSS_SVC_DUAL", 0.1, True),
    ("l1", "squared_hinge", False): Solver(5, "L1R_L2LOSS_SVC", 0.01, True),
    ("l1", "logistic", False): Solver(6, "L1R_LR", 0.01, True),
    ("l2", "logistic", True): Solver(7, "L2R_LR_DUAL", 0.1, True),
}


class Trained(NamedTuple):
    """Result of a training run; the weight of the bias is the last one."""

    weights: npt.NDArray[np.float64]
    n_iter: int
    converged: bool


# Nodes (column from 1, value) and addresses of the rows, for liblinear-official.
Rows = tuple[npt.NDArray[Any], npt.NDArray[np.uintp]]


def lay_out(X: sparse.csr_matrix, bias: float) -> Rows:
    """Convert finite data; add a constant feature `bias` unless it is negative."""
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
    """Samples and options of a classifier, which solves binary problems."""

    X: sparse.csr_matrix
    rows: Rows | None  # None if the rows differ between binary problems
    bias: float
    codes: npt.NDArray[Any]  # classes from 0, each of which occurs
    class_weight: npt.NDArray[np.float64]  # factors of C
    total: npt.NDArray[np.int64] | None  # presence of features, if they are scaled
    kind: tuple[str, str, bool]  # penalty, loss, and whether the problem is dual
    C: float
    tol: float
    regularize_bias: bool  # False requires liblinear-official, and a bias of 1

    def solved(self, seed: int | None, code: int) -> Trained:
        """Separate one class from the rest.

        Without a `seed`, fits by liblinear-official can run in parallel.
        """
        X, positive = self.X, self.codes == code
        ratios = np.ones(X.shape[1])
        if self.total is not None:
            ratios = _log_count_ratios(X, positive, self.total)
            values = X.data * ratios[X.indices]
            X = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
        rest = 1.0 if len(self.class_weight) > 2 else float(self.class_weight[0])
        factors = {-1: rest, 1: float(self.class_weight[code])}
        train = _train if is_installed() else _train_by_scikit_learn
        trained = train(self, X, np.where(positive, 1.0, -1.0), factors, seed)
        trained.weights[: X.shape[1]] *= ratios
        return trained


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


def _train(
    task: Problem,
    X: sparse.csr_matrix,
    labels: npt.NDArray[np.float64],
    factors: dict[int, float],
    seed: int | None,
) -> Trained:
    """Separate the labels -1 and 1, or raise a ValueError if the library refuses."""
    structures = import_library("LiblinearClassifier")
    library = structures.liblinear
    rows = task.rows or lay_out(X, task.bias)
    problem = structures.problem.__new__(structures.problem)
    problem.l, problem.n = X.shape[0], X.shape[1] + (task.bias >= 0)
    problem.y = labels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    problem.x = ctypes.cast(
        rows[1].ctypes.data, ctypes.POINTER(ctypes.POINTER(structures.feature_node))
    )
    problem.bias = task.bias
    # The constructor is not called, because it enables printing for all threads.
    parameter = structures.parameter.__new__(structures.parameter)
    parameter.set_to_default_values()
    parameter.solver_type = SOLVERS[task.kind].number
    parameter.eps, parameter.C = task.tol, task.C
    parameter.regularize_bias = int(task.regularize_bias)
    parameter.nr_weight = 2
    parameter.weight_label = (ctypes.c_int * 2)(*factors)
    parameter.weight = (ctypes.c_double * 2)(*factors.values())
    arguments = (ctypes.byref(problem), ctypes.byref(parameter))
    if refusal := library.check_parameter(*arguments):
        raise ValueError(f"LIBLINEAR refuses these parameters: {refusal.decode()}.")
    # Set the function each time: other users of the package may have changed it.
    library.set_print_string_function(_collector())
    _OUTPUT.messages = messages = list[bytes]()
    try:
        if seed is None:
            model = library.train(*arguments)
        else:
            with _RNG_LOCK:
                _c_runtime().srand(ctypes.c_uint(seed))
                model = library.train(*arguments)
    finally:
        del _OUTPUT.messages
    del labels, rows  # the library has read them until here
    weights = np.ctypeslib.as_array(model.contents.w, shape=(problem.n,)).copy()
    library.free_and_destroy_model(ctypes.byref(model))
    return Trained(weights, *_read(b"".join(messages).decode()))


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


def _train_by_scikit_learn(
    task: Problem,
    X: sparse.csr_matrix,
    labels: npt.NDArray[np.float64],
    factors: dict[int, float],
    seed: int | None,
) -> Trained:
    """Separate the labels -1 and 1; the classes warn if they do not converge."""
    # Imported here, because the import takes long.
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if X.nnz > MAX_NONZEROS:
        raise ValueError(
            f"scikit-learn's copy of LIBLINEAR does not support {X.nnz} nonzeros."
        )
    penalty, loss, dual = task.kind
    scaling = task.bias if task.bias > 0.0 else 1.0
    options: dict[str, Any] = {
        **{"dual": dual, "C": task.C, "tol": task.tol, "class_weight": factors},
        **{"fit_intercept": task.bias >= 0.0, "intercept_scaling": scaling},
        **{"max_iter": MAX_ITER, "random_state": seed or 0},
    }
    if loss != "logistic":
        model = LinearSVC(penalty=penalty, loss=loss, **options)
    elif LogisticRegression().l1_ratio is None:  # before scikit-learn 1.8
        model = LogisticRegression(penalty=penalty, solver="liblinear", **options)
    else:
        ratio = float(penalty == "l1")
        model = LogisticRegression(l1_ratio=ratio, solver="liblinear", **options)
    # These solvers do not accept long indices.
    indices, starts = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    with _RNG_LOCK:
        rows = sparse.csr_matrix((X.data, indices, starts), shape=X.shape)
        with without_autologging():
            model.fit(rows, labels)
    weights = np.append(model.coef_, model.intercept_ / scaling)
    return Trained(weights, int(np.max(model.n_iter_)), True)


def import_library(purpose: str) -> Any:
    """Import liblinear-official, or raise an ImportError that names the purpose."""
    return import_optional("liblinear.liblinear", extra="text", purpose=purpose)


def library_name() -> str:
    """Return the package that provides LIBLINEAR; log once if it is scikit-learn."""
    if is_installed():
        return "liblinear-official"
    log_once(
        "LiblinearClassifier uses scikit-learn's copy of LIBLINEAR, because "
        "liblinear-official is not installed. Both give about the same results; "
        'pip install "skbayes[text]" installs it, and needs a C++ compiler.'
    )
    return "scikit-learn"


@functools.cache
def is_installed() -> bool:
    return importlib.util.find_spec("liblinear") is not None


@functools.cache
def _c_runtime() -> Any:
    """Return the C library that contains `rand`."""
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    return ctypes.CDLL(None)
