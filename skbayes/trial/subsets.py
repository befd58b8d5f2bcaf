"""Nested subsets of the training rows of each split, for trials on a part of them.

Symbols, for one split: ``n`` is the number of training rows. The *rank* of a row, from
0 to n - 1, determines the subsets that contain it: a subset of m rows consists of those
with rank < m. Smaller subsets are therefore contained in larger ones, and one array of
ranks per split is sufficient for all sizes. The test rows are always complete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from skbayes import compat
from skbayes.utils.random_streams import Stream, make_generator


@dataclass(frozen=True)
class Sample:
    """Sample of the rows of each training set.

    `train_size` is a fraction in (0, 1] of each training set, or a number of rows. For
    a fraction, there are at least `min_rows`, but at most half of the smallest training
    set. `subset` is the number of one of several independent subsets.
    """

    train_size: float | int = 1.0
    subset: int = 0
    min_rows: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all training rows are used, regardless of their number."""
        return not isinstance(self.train_size, int) and self.train_size == 1.0


# Sample of the trials of most searches.
ALL_ROWS = Sample()


@dataclass(frozen=True)
class Subsets:
    """Training subsets of a search, from ranks (n,) of training rows.

    `needed` are the smallest possible sizes, by subset and split. `stratified` subsets
    contain each class.
    """

    ranks: Mapping[int, Sequence[np.ndarray]]
    sizes: tuple[int, ...]
    needed: Mapping[int, Sequence[int]]
    stratified: bool

    @classmethod
    def draw(
        cls,
        splits: Sequence[tuple[Any, Any]],
        samples: Sequence[Sample],
        *,
        labels: Any = None,
        groups: Any = None,
        seed: int = 0,
    ) -> Subsets:
        """Draw the subsets for some samples.

        With the `labels` of a classifier, each subset contains at least one row of each
        class, and is otherwise stratified. Rows of one of the `groups` are together.
        """
        rows = [np.asarray(train) for train, _ in splits]
        sizes = tuple(map(len, rows))
        partial = [sample for sample in samples if not sample.is_whole]
        classes = _classes(labels)
        units = None if groups is None else np.unique(groups, return_inverse=True)[1]
        ranks: dict[int, list[np.ndarray]] = {}
        needed: dict[int, list[int]] = {}
        for subset in sorted({sample.subset for sample in partial}):
            ranks[subset], needed[subset] = [], []
            for split, train in enumerate(rows):
                strata = None if classes is None else classes[train]
                parts = None if units is None else units[train]
                rng = make_generator(seed, Stream.SUBSET, subset, split)
                ranks[subset].append(_ranks(strata, parts, len(train), rng))
                needed[subset].append(_smallest_size(ranks[subset][-1], strata))
        return cls(ranks, sizes, needed, classes is not None)

    def rows(self, split: int, train: Any, sample: Sample) -> Any:
        """Return the rows to train on, in the order of the training set."""
        if sample.is_whole:
            return train
        n_rows = _n_rows(self._size(sample), self.sizes[split])
        if n_rows >= self.sizes[split]:
            return train
        ranks = self.ranks[sample.subset][split]
        return np.asarray(train)[ranks < n_rows]

    def fraction(self, sample: Sample) -> float:
        """Return the requested fraction of training rows, averaged over the splits."""
        size = self._size(sample)
        if not isinstance(size, int):
            return float(size)
        return float(np.mean([min(1.0, size / n) for n in self.sizes]))

    def _size(self, sample: Sample) -> float | int:
        """Return the training size, as a number of rows if a fraction is too small."""
        size, smallest = sample.train_size, min(self.sizes)
        least = min(sample.min_rows, smallest // 2)
        too_few = not isinstance(size, int) and size * smallest < least
        return least if too_few else size

    def is_large_enough(self, sample: Sample) -> bool:
        """Return whether a sample contains each class, or a whole group."""
        if sample.is_whole:
            return True
        n_rows = [_n_rows(self._size(sample), n) for n in self.sizes]
        needed = self.needed[sample.subset]
        return all(m >= least for m, least in zip(n_rows, needed, strict=True))

    def check(self, sample: Sample, parameter: str) -> None:
        """Raise ValueError if a sample is too small, or larger than all sets."""
        if sample.is_whole:
            return
        size, needed = self._size(sample), self.needed[sample.subset]
        counted = isinstance(size, int)
        if counted and size > max(self.sizes):
            raise ValueError(
                f"{parameter}: {size} rows are more than any training set has; the "
                f"largest has {max(self.sizes)}."
            )
        if self.is_large_enough(sample):
            return
        n_rows = [_n_rows(size, n) for n in self.sizes]
        if counted:
            smallest = str(max(needed))
        else:
            pairs = zip(needed, self.sizes, strict=True)
            share = max((least - 0.5) / n for least, n in pairs)
            share = min(1.0, math.ceil(share * 1e4) / 1e4)
            smallest = f"{share:g} ({max(needed)} rows)"
        purpose = "one row of each class" if self.stratified else "one whole group"
        raise ValueError(
            f"{parameter}: {size!r} ({min(n_rows)} rows) is too small. A training set "
            f"must contain {purpose}. Use at least {smallest}."
        )


def check_train_size(size: Any, parameter: str) -> float | int:
    """Return a training size as a plain float or int."""
    is_number = isinstance(size, Real) and not isinstance(size, bool)
    if not is_number:
        raise TypeError(
            f"{parameter} must be fractions (float) or numbers of rows (int), got "
            f"{size!r}."
        )
    if isinstance(size, int | np.integer):
        if size < 1:
            raise ValueError(
                f"{parameter}: a number of rows must be at least 1, got {size!r}."
            )
        return int(size)
    if not 0.0 < size <= 1.0:
        raise ValueError(
            f"{parameter}: a fraction must be in (0, 1], got {size!r}; a number of "
            "rows must be an int."
        )
    return float(size)


def _n_rows(size: float | int, n: int) -> int:
    return min(size, n) if isinstance(size, int) else max(1, math.floor(size * n + 0.5))


def _classes(labels: Any) -> np.ndarray | None:
    labels = compat.to_host(labels)
    if labels is None or type_of_target(labels) not in ("binary", "multiclass"):
        return None
    return np.unique(column_or_1d(labels), return_inverse=True)[1]


def _ranks(
    classes: np.ndarray | None,
    units: np.ndarray | None,
    n: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return random ranks of the rows of a training set."""
    if units is None:
        order = _interleaved(np.zeros(n, int) if classes is None else classes, rng)
        ranks = np.empty(n, dtype=np.int32)
        ranks[order] = np.arange(n, dtype=np.int32)
        return ranks
    units = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(units)
    # The class of a group is the class of most of its rows.
    majority = np.zeros(len(sizes), dtype=int)
    if classes is not None:
        counts = np.zeros((len(sizes), classes.max(initial=0) + 1), dtype=int)
        np.add.at(counts, (units, classes), 1)
        majority = counts.argmax(axis=1)
    order = _interleaved(majority, rng)
    begins = np.empty(len(sizes), dtype=np.int32)
    begins[order] = np.cumsum(sizes[order]) - sizes[order]
    # A group is included if at least half of it fits.
    return (begins + sizes.astype(np.int32) // 2)[units]


def _interleaved(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order that starts with one row per class, then stratified."""
    shuffled = rng.permutation(len(classes))
    labels = classes[shuffled]
    by_class = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    first = np.cumsum(counts) - counts
    within = np.empty(len(labels), dtype=int)
    within[by_class] = np.arange(len(labels)) - first[labels[by_class]]
    keys = np.where(within == 0, 0.0, (within + 0.5) / counts[labels])
    return shuffled[np.argsort(keys, kind="stable")]


def _smallest_size(ranks: np.ndarray, classes: np.ndarray | None) -> int:
    """Return the minimum size of a subset with all classes, or with one whole group."""
    if classes is None:
        return 1 + int(ranks.min()) if len(ranks) else 1
    firsts = np.full(classes.max(initial=0) + 1, -1, dtype=np.int64)
    order = np.argsort(-ranks, kind="stable")
    firsts[classes[order]] = ranks[order]
    return int(firsts.max()) + 1
