"""Counts of n-grams in documents, computed once for each kind, and shared by fits.

Symbols:

- ``pattern``: positions of the tokens of an n-gram relative to its first one. (0,) are
  single words, (0, 1) are pairs of neighbors, and (0, 2) are pairs with any one token
  between them.
- ``prefix``: number of the n-gram without its last token. An n-gram is the pair of its
  prefix and its last token, which fits into one int64 at any length.
- ``p``: position in the stream of tokens of the first token of an n-gram.

Each n-gram and its position are packed into one int64, and these numbers are sorted
once to count n-grams: NumPy sorts numbers several times faster than it computes their
order.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skbayes.text.tokens import (
    StringArray,
    TokenStream,
    offsets_among,
    split_characters,
    split_words,
    stemmer_of,
)

if TYPE_CHECKING:
    from skbayes.trial.shared_store import PrefixStore

# Number of tokens that are counted at a time; it limits the memory for counting.
BLOCK = 2**23

Pattern = tuple[int, ...]
Array = npt.NDArray
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class CountTable:
    """Counts of all n-grams of one pattern.

    `indices` (n_entries,) are numbers of n-grams, sorted within each document, which
    starts at `indptr` (n_documents + 1,), and `counts` (n_entries,) their occurrences.
    `grams` (n_grams, n) are the tokens of each n-gram, in lexicographic order.
    """

    indptr: Array
    indices: Array
    counts: Array
    grams: Array

    def rows(self, rows: Array | slice) -> CountTable:
        """Select documents; a slice of them is not copied."""
        entries: Array | slice
        if isinstance(rows, slice):
            indptr = np.asarray(self.indptr[rows.start : rows.stop + 1])
            entries = slice(int(indptr[0]), int(indptr[-1]))
            indptr = indptr - indptr[0]
        else:
            begins = np.asarray(self.indptr)[rows]
            lengths = np.asarray(self.indptr)[rows + 1] - begins
            indptr = np.zeros(len(rows) + 1, dtype=np.int64)
            np.cumsum(lengths, out=indptr[1:])
            entries = np.arange(indptr[-1]) + _repeat(begins - indptr[:-1], lengths)
        return CountTable(
            indptr, self.indices[entries], self.counts[entries], self.grams
        )

    def columns(self, chosen: Array) -> sparse.csr_matrix:
        """Select the columns of some n-grams, in order."""
        place = np.full(len(self.grams), -1, dtype=np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        return self.mapped(place, len(chosen))

    def mapped(self, place: Array, n_columns: int) -> sparse.csr_matrix:
        """Move each n-gram to the column `place`, or drop it if `place` is -1."""
        indptr, columns, counts = self.indptr, place[self.indices], self.counts
        is_selected = columns >= 0
        if not is_selected.all():
            indptr = offsets_among(is_selected, indptr)
            columns, counts = columns[is_selected], counts[is_selected]
        shape = (len(indptr) - 1, n_columns)
        return sparse.csr_matrix((counts, columns, indptr), shape=shape)


def patterns(low: int, high: int, max_gap: int = 0) -> list[Pattern]:
    """Return the patterns by number of tokens, those without a gap first."""
    ordered: list[Pattern] = []
    for n in range(low, high + 1):
        rests = combinations(range(1, n + max_gap), n - 1)
        ordered += sorted(((0, *rest) for rest in rests), key=lambda p: (p[-1], p))
    return ordered


def count_ngrams(
    stream: TokenStream,
    pattern: Pattern,
    prefix: Array,
    prefix_grams: Array,
    segments: Array | None = None,
    whole: bool = False,
) -> tuple[CountTable, Array]:
    """Count the n-grams of one pattern, which are the relative positions of tokens.

    `prefix` (n_tokens,) is the number of the n-gram of ``pattern[:-1]`` that starts at
    each position, or -1, and `prefix_grams` (n_prefixes, n - 1) are their tokens.
    N-grams are counted within `segments`, by default the documents; with `whole`, they
    are whole segments. Returns the counts and the next `prefix`.
    """
    segments = stream.offsets if segments is None else segments
    numbers = np.full(len(stream.ids), -1, dtype=np.int32)
    blocks = []
    for first, last in _blocks(stream.offsets):
        begin, end = int(stream.offsets[first]), int(stream.offsets[last])
        positions = _starts(begin, end, segments, pattern[-1], whole)
        keys = _keys(stream, pattern, prefix, positions)
        is_ngram = keys >= 0
        if not is_ngram.all():
            keys, positions = keys[is_ngram], positions[is_ngram]
        documents = _repeat(
            np.arange(last - first, dtype=np.int32),
            np.diff(stream.offsets[first : last + 1]),
        )
        unique, numbers[positions], counts = _count(
            keys, positions, documents, begin, last - first
        )
        blocks.append((unique, counts, positions))
    keys, merged = _merge(blocks, numbers)
    width = max(len(stream.vocabulary), 1)
    # The number of an n-gram of one token is the token.
    last_token = (keys % width).astype(np.int32)[:, None]
    grams = last_token
    if len(pattern) > 1:
        grams = np.hstack([prefix_grams[keys // width], last_token])
    table = CountTable(
        indptr=merged.indptr.astype(np.int64),
        indices=merged.indices.astype(np.int32, copy=False),
        counts=merged.data,
        grams=grams,
    )
    return table, numbers


def _blocks(offsets: Array) -> list[tuple[int, int]]:
    """Split the documents into blocks of about the same number of tokens."""
    n = len(offsets) - 1
    cuts = [0]
    while cuts[-1] < n:
        limit = offsets[cuts[-1]] + BLOCK
        following = int(np.searchsorted(offsets, limit, side="right")) - 1
        cuts.append(min(max(following, cuts[-1] + 1), n))
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def _starts(begin: int, end: int, segments: Array, span: int, whole: bool) -> Array:
    """Return positions from begin to end at which an n-gram fits into a segment."""
    first, last = np.searchsorted(segments, [begin, end])
    edges = segments[first : last + 1]
    lengths = np.diff(edges)
    if whole:
        return edges[:-1][lengths == span + 1]
    if span == 0:
        return np.arange(begin, end)
    ends = _repeat(edges[1:], lengths)
    return np.flatnonzero(np.arange(begin, end) + span < ends) + begin


def _repeat(values: Array, counts: Array) -> Array:
    """Repeat values; NumPy on 32 bits, as in browsers, refuses 64-bit counts."""
    return np.repeat(values, counts.astype(np.intp))


def _keys(
    stream: TokenStream, pattern: Pattern, prefix: Array, positions: Array
) -> Array:
    """Combine prefix and last token of the n-gram at each position, -1 for none."""
    last = stream.ids[positions + pattern[-1]].astype(np.int64)
    if len(pattern) == 1:
        return last
    before = prefix[positions]
    keys = before * np.int64(len(stream.vocabulary)) + last
    keys[(before < 0) | (last < 0)] = -1
    return keys


def _count(
    keys: Array, positions: Array, documents: Array, begin: int, n_documents: int
) -> tuple[Array, Array, sparse.csr_matrix]:
    """Return sorted unique keys, the place of each n-gram in them, and counts."""
    bits = max(len(documents), 1).bit_length()
    local = positions - begin
    if not len(keys) or int(keys.max()).bit_length() + bits < 64:
        packed = (keys << bits) | local
        packed.sort()
        local = packed & ((1 << bits) - 1)
        packed >>= bits
        keys = packed
    else:
        order = np.argsort(keys, kind="stable")
        keys, local = keys[order], local[order]
    new_key = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new_key[1:])
    ranks = np.cumsum(new_key, dtype=np.int32) - 1
    document = documents[local]
    # Positions are sorted within each key, and therefore the documents are too.
    new_pair = new_key.copy()
    new_pair[1:] |= document[1:] != document[:-1]
    starts = np.flatnonzero(new_pair)
    counts = np.empty(len(starts), dtype=np.int32)
    np.subtract(starts[1:], starts[:-1], out=counts[:-1], casting="same_kind")
    counts[-1:] = len(keys) - starts[-1:]
    different = keys[new_key]
    columns = np.flatnonzero(new_key[starts])
    by_column = sparse.csc_matrix(
        (counts, document[starts], np.append(columns, len(starts))),
        shape=(n_documents, len(different)),
    )
    numbers = np.empty(len(documents), dtype=np.int32)
    numbers[local] = ranks
    return different, numbers[positions - begin], by_column.tocsr()


def _merge(
    blocks: list[tuple[Array, sparse.csr_matrix, Array]], numbers: Array
) -> tuple[Array, sparse.csr_matrix]:
    """Join blocks and renumber their n-grams; `numbers` is changed in place."""
    if len(blocks) == 1:
        return blocks[0][0], blocks[0][1]
    different = np.unique(np.concatenate([keys for keys, _, _ in blocks]))
    rows = []
    for keys, counts, positions in blocks:
        place = np.searchsorted(different, keys).astype(np.int32)
        counts.indices = place[counts.indices]
        counts.resize(counts.shape[0], len(different))
        numbers[positions] = place[numbers[positions]]
        rows.append(counts)
    return different, sparse.vstack(rows, format="csr")


def match_ngrams(grams: Array, vocabulary: Array) -> Array:
    """Return the row of `vocabulary` (k, n) for each row of `grams` (m, n), or -1.

    Both are in lexicographic order.
    """
    if not len(grams) or not len(vocabulary):
        return np.full(len(grams), -1)
    width = int(max(grams.max(), vocabulary.max())) + 1
    ranks = np.zeros(len(vocabulary), dtype=np.int64)
    places = np.zeros(len(grams), dtype=np.int64)
    for column in range(grams.shape[1]):
        keys = ranks * width + vocabulary[:, column]
        new = np.append(True, keys[1:] != keys[:-1])
        prefixes = keys[new]
        ranks = np.cumsum(new) - 1
        sought = places * width + grams[:, column]
        place = np.minimum(np.searchsorted(prefixes, sought), len(prefixes) - 1)
        # N-grams that are already missing have sought < 0, which equals no prefix.
        places = np.where(prefixes[place] == sought, place, -1)
    return places


# -- counts that fits share -----------------------------------------------------------


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
        store: PrefixStore | None = None,
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
        if self._store is not None:
            key = hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
            return self._store.arrays(key, make)
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

    def _count(self, kind: NgramSpec) -> dict[str, Array]:
        all_tokens = stream = self.stream(kind.spec)
        if self.tokens is not None:
            stream = stream.renumbered(self.tokens)
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

    def _split(self, spec: TokenizerSpec) -> dict[str, Array]:
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


def _words(stream: TokenStream) -> Array:
    """Return the starts of the words, each of which is padded with spaces."""
    space = stream.vocabulary.index(" ") if " " in stream.vocabulary else -2
    spaces = np.flatnonzero(stream.ids == space)
    return np.append(spaces[::2], len(stream.ids))


class CountedTexts(Sequence):
    """Documents of `counts`, a sequence of str that NGramVectorizer need not count."""

    def __init__(self, counts: Counts, rows: slice | Array | None = None) -> None:
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


def _as_slice(rows: Array) -> slice | Array:
    """Convert consecutive rows to a slice, which avoids copies."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


@contextlib.contextmanager
def counted_texts(
    texts: Sequence[str],
    store: PrefixStore | None,
    limit: float = math.inf,
) -> Iterator[CountedTexts]:
    """Share the counts of documents in a store if there is one, otherwise in memory."""
    counts = Counts(StringArray.of(texts), store=store, limit=limit)
    yield CountedTexts(counts)
    for reference in counts.dependents:
        if (dependent := reference()) is not None:
            dependent.detach()
