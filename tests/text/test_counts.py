import pickle
import shutil

import numpy as np
import pytest

from skbayes.text import NGramVectorizer
from skbayes.text.counts import CountedTexts, Counts, count_ngrams, counted_texts
from skbayes.text.tokens import TokenStream
from skbayes.trial.shared_store import PrefixStore

TEXTS = [f"w{i % 7} and w{i % 5}, w{i % 3} of 20{i:02}" for i in range(40)]


@pytest.fixture
def store(tmp_path):
    return PrefixStore(str(tmp_path), 10**8)


@pytest.fixture
def counted(store):
    with counted_texts(TEXTS, store) as counted:
        yield counted


def test_counted_texts_are_a_sequence(counted):
    assert len(counted) == 40 and counted.shape == (40,)
    assert list(counted) == TEXTS
    assert counted[3] == TEXTS[3] and counted[-1] == TEXTS[-1]
    assert list(counted[5:8]) == TEXTS[5:8]
    subset = counted[np.array([3, 1, 7])]
    assert isinstance(subset, CountedTexts)
    assert list(subset) == [TEXTS[i] for i in (3, 1, 7)]
    assert list(subset[[2, 0]]) == [TEXTS[7], TEXTS[3]]
    assert list(counted[np.arange(40) < 2]) == TEXTS[:2]
    assert list(counted[[]]) == []


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize(
    "rows", [slice(0, 25), np.arange(0, 40, 3), np.array([9, 2, 2])], ids=str
)
def test_cut_out_is_what_counting_gives(counted, analyzer, rows):
    """The counts are bit for bit equal, in the same columns, without other texts."""
    vectorizer = NGramVectorizer(
        analyzer=analyzer,
        ngram_range=(2, 4),
        weighting="tf-idf",
        stop_words=["and"],
        stemmer="english",
        normalize_numbers=True,
        max_gap=1,
        min_df=2,
        norm="l2",
    )
    texts = [TEXTS[i] for i in np.arange(40)[rows]]
    matrix = vectorizer.fit_transform(counted[rows])
    others = vectorizer.transform(counted[30:])
    names = vectorizer.get_feature_names_out()
    vectorizer.fit(texts)
    assert names.tolist() == vectorizer.get_feature_names_out().tolist()
    for one, expected in (
        (matrix, vectorizer.transform(texts)),
        (others, vectorizer.transform(TEXTS[30:])),
    ):
        assert one.shape == expected.shape
        assert np.array_equal(one.toarray(), expected.toarray())


def test_fitted_on_counts_it_takes_other_texts(counted):
    vectorizer = NGramVectorizer(ngram_range=(1, 2))
    expected = NGramVectorizer(ngram_range=(1, 2)).fit(TEXTS[:9]).transform(TEXTS)
    assert (vectorizer.fit(counted[:9]).transform(TEXTS) != expected).nnz == 0
    assert (vectorizer.transform(counted) != expected).nnz == 0


def test_fitted_vectorizers_outlive_the_counts(store, tmp_path):
    with counted_texts(TEXTS, store) as counted:
        vectorizer = NGramVectorizer().fit(counted[:9])
        pickled = pickle.dumps(NGramVectorizer().fit(counted[:9]))
    shutil.rmtree(tmp_path)
    expected = NGramVectorizer().fit(TEXTS[:9]).transform(TEXTS)
    for one in (vectorizer, pickle.loads(pickled)):
        assert (one.transform(TEXTS) != expected).nnz == 0


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_counts_are_made_once_and_do_not_travel(where, store, tmp_path, monkeypatch):
    calls = []
    count = Counts._count
    monkeypatch.setattr(
        Counts, "_count", lambda self, kind: calls.append(kind) or count(self, kind)
    )
    with counted_texts(TEXTS, None if where == "memory" else store) as counted:
        size = len(pickle.dumps(counted))
        NGramVectorizer(analyzer="char", ngram_range=(1, 5)).fit(counted)
        n_bytes = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert n_bytes > 10 * size if where == "folder" else n_bytes == 0
        again = pickle.loads(pickle.dumps(counted))
        assert len(pickle.dumps(again)) == size
        assert list(again[:3]) == TEXTS[:3]
        calls.clear()
        for rows in (slice(0, 9), slice(9, 30)):
            NGramVectorizer(ngram_range=(1, 2)).fit(counted[rows])
    assert len(calls) == 2


def test_counts_beyond_the_memory_limit_are_not_cached():
    with counted_texts(TEXTS, None, limit=5000) as counted:
        fitted = NGramVectorizer(analyzer="char", ngram_range=(1, 3)).fit(counted)
        in_memory = counted.counts._in_memory.values()
        n_bytes = sum(array.nbytes for one in in_memory for array in one.values())
        assert 0 < n_bytes <= 5000
    names = NGramVectorizer(analyzer="char", ngram_range=(1, 3)).fit(TEXTS)
    assert fitted.vocabulary_ == names.vocabulary_


def test_values_are_repeated_by_integers_of_numpys_size(monkeypatch):
    """NumPy on 32 bits refuses counts of 64 bits."""
    repeat = np.repeat

    def strict(values, counts):
        assert counts.dtype == np.int32
        return repeat(values, counts)

    monkeypatch.setattr(np, "intp", np.int32)
    monkeypatch.setattr(np, "repeat", strict)
    ids = np.array([0, 1, 0, 1, 2], dtype=np.int32)
    stream = TokenStream(ids, np.array([0, 3, 5]), list("abc"))
    table, _ = count_ngrams(stream, (0, 1), ids, np.arange(3, dtype=np.int32)[:, None])
    assert list(table.rows(np.array([1, 0])).counts) == [1, 1, 1]
