"""Cache of the n-gram counts of documents, shared by all fits."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbayes.text.counts import CountTable, Pattern, count_ngrams
from skbayes.text.tokens import (
    StringArray,
    TokenStream,
    split_characters,
    split_words,
    stemmer_of,
)

if TYPE_CHECKING:
    from skbayes.evaluation.prefix_store import MachineStore, PrefixStore

Arrays = Mapping[str, npt.NDArray]


class TokenizerSpec(NamedTuple):
    """Options that determine the tokens of a document."""

    analyzer: str
    lowercase: bool
    token_pattern: str
    stop_words: tuple[str, ...]
    normalize_numbers: bool
    stemmer: str | None

    @property
    def plain(self) -> TokenizerSpec:
        """The same options without those that change individual tokens."""
        return self._replace(stop_words=(), normalize_numbers=False, stemmer=None)


class NgramSpec(NamedTuple):
    """Kind of n-grams that are counted together."""

    spec: TokenizerSpec
    pattern: Pattern
    whole: bool = False


class Counts:
    """N-gram counts of documents, computed for each kind of n-grams at first use.

    They are restricted to `tokens`, and kept in a `store` on this machine, or up to
    `limit` bytes in memory.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tokens: Sequence[str] | None = None,
        store: PrefixStore | MachineStore | None = None,
        limit: float = math.inf,
    ) -> None:
        self.texts = texts
        self.tokens = tokens
        self._store = store
        self._limit = limit
        self._in_memory: dict[str, Arrays] = {}
        # Objects whose `detach` is called before the counts are removed.
        self.dependents: list[weakref.ref] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "dependents": [], "_in_memory": {}}

    def _shared(self, spec: NamedTuple, make: Callable[[], Arrays]) -> Arrays:
        name = repr(tuple(spec))
        store = None if self._store is None else self._store.here()
        if store is not None and store.is_here:
            key = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
            return store.arrays(key, make)
        if name in self._in_memory:
            return self._in_memory[name]
        arrays = make()
        if sum(map(_size, [arrays, *self._in_memory.values()])) <= self._limit:
            self._in_memory[name] = arrays
        return arrays

    def table(self, kind: NgramSpec) -> CountTable:
        """Return the counts of a kind of n-grams."""
        arrays = self._counted(kind)
        return CountTable(**{name: arrays[name] for name in CountTable.__annotations__})

    def _counted(self, kind: NgramSpec) -> Arrays:
        return self._shared(kind, lambda: self._count(kind))

    def _count(self, kind: NgramSpec) -> dict[str, npt.NDArray]:
        all_tokens = stream = self.stream(kind.spec)
        if self.tokens is not None:
            stream = stream.known(self.tokens)
        prefix, prefix_grams = stream.ids, np.empty((0, 0), dtype=np.int32)
        if len(kind.pattern) > 1:
            before = self._counted(NgramSpec(kind.spec, kind.pattern[:-1]))
            prefix, prefix_grams = before["numbers"], before["grams"]
        segments = None
        if kind.spec.analyzer == "char_wb":
            segments = _words(all_tokens)
        table, numbers = count_ngrams(
            stream, kind.pattern, prefix, prefix_grams, segments, kind.whole
        )
        return {**vars(table), "numbers": numbers}

    def stream(self, spec: TokenizerSpec) -> TokenStream:
        """Return the tokens of all documents."""
        arrays = self._shared(spec, lambda: self._split(spec))
        vocabulary = StringArray(arrays["data"], arrays["places"])
        return TokenStream(arrays["ids"], arrays["offsets"], vocabulary)

    def _split(self, spec: TokenizerSpec) -> dict[str, npt.NDArray]:
        if spec != spec.plain:
            stream = _changed(self.stream(spec.plain), spec)
        elif spec.analyzer == "word":
            stream = split_words(self.texts, spec.token_pattern, spec.lowercase)
        else:
            padded = spec.analyzer == "char_wb"
            stream = split_characters(self.texts, spec.lowercase, padded)
        strings = StringArray.of(stream.vocabulary)
        return {
            "ids": stream.ids,
            "offsets": stream.offsets,
            "data": strings.data,
            "places": strings.offsets,
        }


def _size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def _changed(stream: TokenStream, spec: TokenizerSpec) -> TokenStream:
    """Apply the options that change individual tokens, in scikit-learn's order."""
    tokens = results = list(stream.vocabulary)
    if spec.normalize_numbers:
        results = [re.sub(r"\d", "0", token) for token in results]
    if spec.stemmer is not None:
        results = stemmer_of(spec.stemmer).stemWords(results)
    stop_words = set(spec.stop_words)
    pairs = zip(tokens, results, strict=True)
    return stream.changed([None if old in stop_words else new for old, new in pairs])


def _words(stream: TokenStream) -> npt.NDArray:
    """Return the starts of the words, each of which is padded with spaces."""
    space = stream.vocabulary.index(" ") if " " in stream.vocabulary else -2
    spaces = np.flatnonzero(stream.ids == space)
    return np.append(spaces[::2], len(stream.ids))


class CountedTexts(Sequence):
    """Documents of `counts`, a sequence of str that NGramVectorizer need not count."""

    def __init__(self, counts: Counts, rows: slice | npt.NDArray | None = None) -> None:
        self.counts = counts
        self.rows = slice(0, len(counts.texts)) if rows is None else rows

    @property
    def shape(self) -> tuple[int]:
        """Shape of a one-dimensional array of the documents."""
        return (len(self),)

    def __len__(self) -> int:
        if isinstance(self.rows, slice):
            return self.rows.stop - self.rows.start
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        # scikit-learn's indexing of arrays adds an Ellipsis.
        if isinstance(key, tuple):
            key = key[0]
        if isinstance(self.rows, slice):
            rows = np.arange(self.rows.start, self.rows.stop)[key]
        else:
            rows = self.rows[key]
        if np.ndim(rows) == 0:
            return self.counts.texts[int(rows)]
        return CountedTexts(self.counts, _as_slice(rows))

    def __iter__(self) -> Iterator[str]:
        if isinstance(self.rows, slice) and len(self) == len(self.counts.texts):
            return iter(self.counts.texts)
        return (self[i] for i in range(len(self)))


def _as_slice(rows: npt.NDArray) -> slice | npt.NDArray:
    """Convert consecutive rows to a slice, which avoids copies."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


@contextlib.contextmanager
def counted_texts(
    texts: Sequence[str],
    store: PrefixStore | MachineStore | None,
    limit: float = math.inf,
) -> Iterator[CountedTexts]:
    """Share the counts of documents in a store if there is one, otherwise in memory."""
    counts = Counts(StringArray.of(texts), store=store, limit=limit)
    yield CountedTexts(counts)
    for reference in counts.dependents:
        if (dependent := reference()) is not None:
            dependent.detach()
