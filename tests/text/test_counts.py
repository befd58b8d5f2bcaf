import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skbayes.text.counts import count_ngrams, match_ngrams, patterns
from skbayes.text.tokens import TokenStream

documents = st.lists(st.lists(st.integers(-1, 3), max_size=8), min_size=1, max_size=5)


def _stream(docs):
    ids = np.array(sum(docs, []), dtype=np.int32)
    offsets = np.cumsum([0, *map(len, docs)])
    return TokenStream(ids, offsets, list("abcd"))


def _count(stream, pattern):
    prefix, grams = stream.ids, np.empty((0, 0), dtype=np.int32)
    for n in range(1, len(pattern) + 1):
        table, prefix = count_ngrams(stream, pattern[:n], prefix, grams)
        grams = table.grams
    return table, prefix


@given(docs=documents, pattern=st.sampled_from(patterns(1, 4, 2)))
def test_counts_are_those_of_the_definition(docs, pattern):
    table, numbers = _count(_stream(docs), pattern)
    expected = []
    for doc in docs:
        grams = [
            tuple(doc[p + step] for step in pattern)
            for p in range(len(doc) - pattern[-1])
        ]
        expected.append(Counter(gram for gram in grams if -1 not in gram))
    assert [tuple(gram) for gram in table.grams] == sorted(set().union(*expected))
    for row, counts in enumerate(expected):
        part = table.rows(slice(row, row + 1))
        indices, found = part.indices, part.counts
        assert indices.tolist() == sorted(indices)
        assert {
            tuple(table.grams[i]): c for i, c in zip(indices, found, strict=True)
        } == counts
    assert len(numbers) == sum(map(len, docs))


@given(docs=documents)
def test_numbers_say_what_begins_where(docs):
    stream = _stream(docs)
    table, numbers = _count(stream, (0, 1))
    for p, number in enumerate(numbers):
        if number >= 0:
            assert table.grams[number].tolist() == stream.ids[p : p + 2].tolist()


grams_of_two = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


@given(grams_of_two, grams_of_two)
def test_matches_are_found(grams, known):
    def as_array(some):
        return np.array(sorted(some), dtype=np.int32).reshape(-1, 2)

    places = match_ngrams(as_array(grams), as_array(known))
    expected = {gram: place for place, gram in enumerate(sorted(known))}
    assert places.tolist() == [expected.get(gram, -1) for gram in sorted(grams)]


def test_patterns_are_all_there_are():
    for n, max_gap in itertools.product(range(1, 5), range(4)):
        places = itertools.combinations(range(n + max_gap), n)
        expected = {p for p in places if p[0] == 0}
        found = patterns(n, n, max_gap)
        assert set(found) == expected
        assert len(found) == len(expected)
        assert found[0] == tuple(range(n))


def test_rows_in_any_order():
    table, _ = _count(_stream([[0, 1], [], [1, 1, 2], [3]]), (0,))
    rows = np.array([2, 0, 0, 3, 1])
    taken = table.rows(rows)
    for i, row in enumerate(rows):
        one = table.rows(slice(row, row + 1))
        part = slice(taken.indptr[i], taken.indptr[i + 1])
        assert taken.indices[part].tolist() == one.indices.tolist()
        assert taken.counts[part].tolist() == one.counts.tolist()


def test_values_are_repeated_by_integers_of_numpys_size(monkeypatch):
    """NumPy on 32 bits refuses counts of 64 bits."""
    repeat = np.repeat

    def strict(values, counts):
        assert counts.dtype == np.int32
        return repeat(values, counts)

    monkeypatch.setattr(np, "intp", np.int32)
    monkeypatch.setattr(np, "repeat", strict)
    table, _ = _count(_stream([[0, 1, 0], [1, 2]]), (0, 1))
    assert list(table.rows(np.array([1, 0])).counts) == [1, 1, 1]
