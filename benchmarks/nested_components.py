"""Equality of the first components in fits with few and with more components.

    python benchmarks/nested_components.py --save

Each transformer is fitted with 11 components and with fewer, on random tables of seven
shapes. The script compares the first components of the larger fit with those of the
smaller fit: the fitted arrays, the output for the training rows, and the output for
other rows. It prints the number of pairs, the number of pairs that are bit for bit
equal, and the greatest difference. SelectKBest has no components to slice; only its
fitted arrays are compared.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import HERE
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest

RESULTS = HERE / "results" / "waste" / "nested_components.json"
SHAPES = [(200, 20), (500, 60), (300, 300), (1000, 100), (150, 400), (997, 33)]
SHAPES += [(600, 257)]
FEWER, MORE = (2, 3, 5, 8, 9, 10), 11
MAKERS: dict[str, Callable[[int], Any]] = {
    "PCA, full": lambda k: PCA(k, svd_solver="full"),
    "PCA, covariance_eigh": lambda k: PCA(k, svd_solver="covariance_eigh"),
    "PCA, arpack": lambda k: PCA(k, svd_solver="arpack", random_state=0),
    "PCA, randomized": lambda k: PCA(k, svd_solver="randomized", random_state=0),
    "TruncatedSVD, arpack": lambda k: TruncatedSVD(
        k, algorithm="arpack", random_state=0
    ),
    "TruncatedSVD, randomized": lambda k: TruncatedSVD(k, random_state=0),
    "KernelPCA, dense": lambda k: KernelPCA(k, kernel="cosine", eigen_solver="dense"),
    "IncrementalPCA": lambda k: IncrementalPCA(k, batch_size=100),
    "LinearDiscriminantAnalysis": lambda k: LinearDiscriminantAnalysis(n_components=k),
    "SelectKBest": lambda k: SelectKBest(k=k),
}


def tables(shape: tuple[int, int], seed: int) -> tuple[Any, Any, Any]:
    """Return training rows, their classes, and other rows."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(shape[1], shape[1]))
    X = rng.normal(size=(shape[0] * 4 // 3, shape[1])) @ mixing
    return X[: shape[0]], rng.integers(0, 12, shape[0]), X[shape[0] :]


def difference(more: Any, fewer: Any) -> float:
    """Return the greatest difference in the part that both arrays have."""
    part = more[tuple(slice(0, n) for n in fewer.shape)]
    return float(np.max(np.abs(part - fewer), initial=0.0))


def fitted_arrays(transformer: Any) -> dict[str, Any]:
    """Return the fitted floats.

    The attribute ``noise_variance_`` is omitted, because it is the mean of the
    remaining variances.
    """
    return {
        name: np.asarray(value)
        for name, value in vars(transformer).items()
        if name.endswith("_") and name != "noise_variance_"
        and isinstance(value, float | np.ndarray)
        and np.asarray(value).dtype.kind == "f"
    }  # fmt: skip


def differences(make: Callable[[int], Any], k: int, data: Any) -> dict[str, float]:
    """Compare two fits on one table."""
    X, y, others = data
    more, fewer = make(MORE), make(k)
    outputs = [one.fit_transform(X, y) for one in (more, fewer)]
    expected, found = fitted_arrays(more), fitted_arrays(fewer)
    measured = {
        "fitted arrays": max(difference(expected[name], found[name]) for name in found)
    }
    if not isinstance(fewer, SelectKBest):
        measured["training rows"] = difference(*outputs)
        measured["other rows"] = difference(
            more.transform(others), fewer.transform(others)
        )
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = [tables(shape, seed) for seed, shape in enumerate(SHAPES)]
    results: dict[str, Any] = {}
    for name, make in MAKERS.items():
        pairs = [differences(make, k, one) for one in data for k in FEWER]
        results[name] = {
            what: {
                "pairs": len(pairs),
                "equal": sum(pair[what] == 0.0 for pair in pairs),
                "greatest": max(pair[what] for pair in pairs),
            }
            for what in pairs[0]
        }
        for what, found in results[name].items():
            counts = f"{found['equal']:3d} of {found['pairs']} equal"
            print(
                f"{name:28s} {what:14s} {counts}  {found['greatest']:.0e}", flush=True
            )
    if args.save:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
