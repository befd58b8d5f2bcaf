import pickle
import re
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    TfidfVectorizer,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import skbayes.text.counts
from skbayes.text import NGramVectorizer
from skbayes.text.tokens import WORDS

TEXTS = [
    "The film was not very good, not at all.",
    "A good film; the best of 2014 and of 2015!",
    "",
    "Running runs: the runner ran.",
]

# Few letters, so that words repeat; white space and marks of several kinds.
# A lone surrogate is invalid Unicode, but occurs in real data.
ALPHABET = "aAbBé ı\t\n  ,.'0129_İßΣ中\ud800"


# scikit-learn's checks without numeric data; it skips the others for estimators of
# texts.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_feature_names_out_error",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_param_validation",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


def test_the_checks_of_scikit_learn_pass():
    for check in CHECKS:
        getattr(estimator_checks, check)("NGramVectorizer", NGramVectorizer())


def _assert_same(ours, theirs, texts, new):
    """Check that the matrices are equal by name, or that both raise an exception."""
    try:
        expected = theirs.fit_transform(texts)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error)[:20])):
            ours.fit_transform(texts)
        return
    actual = ours.fit_transform(texts)
    names = ours.get_feature_names_out()
    order = np.argsort(names.astype(str))
    assert names[order].tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        actual.toarray()[:, order], expected.toarray(), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        ours.transform(new).toarray()[:, order],
        theirs.transform(new).toarray(),
        rtol=1e-12,
        atol=1e-15,
    )


texts_of = st.lists(st.text(ALPHABET, max_size=25), min_size=1, max_size=6)
ranges = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda r: (r[0], sum(r)))
limits = st.one_of(st.integers(1, 3), st.floats(0.0, 1.0))


@settings(max_examples=60)
@given(
    texts=texts_of,
    new=texts_of,
    weighting=st.sampled_from(["tf", "tf-idf", "binary"]),
    sublinear=st.booleans(),
    min_df=limits,
    max_df=limits,
    shared=st.fixed_dictionaries(
        {
            "ngram_range": ranges,
            "analyzer": st.sampled_from(["word", "char", "char_wb"]),
            "lowercase": st.booleans(),
            "token_pattern": st.sampled_from([WORDS, r"\w+", r"(\w)\w*", r"\S+"]),
            "smooth_idf": st.booleans(),
            "norm": st.sampled_from([None, "l1", "l2"]),
            "stop_words": st.sampled_from([None, ["aa", "ab", "b"], "english"]),
        }
    ),
)
@pytest.mark.filterwarnings("ignore:.*stop_words:UserWarning")
@pytest.mark.filterwarnings("ignore:.*token_pattern:UserWarning")
def test_equals_scikit_learn(texts, new, weighting, sublinear, min_df, max_df, shared):
    ours = NGramVectorizer(
        weighting=weighting,
        sublinear_tf=sublinear,
        min_df=min_df,
        max_df=max_df,
        **shared,
    )
    theirs = TfidfVectorizer(
        use_idf=weighting == "tf-idf",
        binary=weighting == "binary",
        sublinear_tf=sublinear and weighting != "binary",
        min_df=min_df,
        max_df=max_df,
        **shared,
    )
    _assert_same(ours, theirs, texts, new)


def test_many_blocks_count_as_one(monkeypatch):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30)]
    texts = [" ".join(rng.choice(words, size=n)) for n in rng.integers(0, 40, 60)]
    vectorizer = NGramVectorizer(ngram_range=(1, 3), max_gap=1)
    expected = vectorizer.fit_transform(texts)
    monkeypatch.setattr(skbayes.text.counts, "BLOCK", 100)
    counts = clone(vectorizer).fit_transform(texts)
    assert (counts != expected).nnz == 0


def test_long_ngrams_whose_numbers_need_many_bits():
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(0x4E00, 0x9000, 200))) for _ in range(4)]
    texts += texts[:3]
    _assert_same(
        NGramVectorizer(analyzer="char", ngram_range=(1, 8)),
        CountVectorizer(analyzer="char", ngram_range=(1, 8)),
        texts,
        texts[::2],
    )


@settings(max_examples=40)
@given(texts=texts_of, new=texts_of, n=st.integers(1, 4), max_gap=st.integers(0, 3))
@example(texts=["a c"], new=["a", "c b"], n=2, max_gap=0)  # ends by an unknown word
@example(texts=["a b"], new=["a c b"], n=2, max_gap=1)  # a pattern of no known n-gram
def test_gaps_against_the_definition(texts, new, n, max_gap):
    """The reference is every choice of n words with at most max_gap skipped."""
    expected = []
    for text in texts + new:
        words = re.findall(r"\w+", text.lower())
        places = combinations(range(len(words)), n)
        fits = [p for p in places if p[-1] - p[0] - (n - 1) <= max_gap]
        grams = [
            "".join(" " + "* " * (b - a - 1) + words[b] for a, b in pairwise((-1, *p)))
            for p in fits
        ]
        expected.append(Counter(gram.lstrip(" *") for gram in grams))
    vectorizer = NGramVectorizer(
        ngram_range=(n, n), max_gap=max_gap, token_pattern=r"\w+"
    )
    if not any(expected[: len(texts)]):
        with pytest.raises(ValueError, match="empty vocabulary"):
            vectorizer.fit(texts)
        return
    matrix = vectorizer.fit(texts).transform(texts + new)
    assert (vectorizer.fit_transform(texts) != matrix[: len(texts)]).nnz == 0
    names = vectorizer.get_feature_names_out()
    assert set(names) == set().union(*expected[: len(texts)])
    for row, counts in zip(matrix.toarray(), expected, strict=True):
        in_texts = {name: counts[name] for name in names if name in counts}
        assert {names[i]: row[i] for i in np.flatnonzero(row)} == in_texts


def test_stems_are_counted_together():
    vectorizer = NGramVectorizer(stemmer="english", stop_words=["the"])
    matrix = vectorizer.fit_transform(["the runner runs", "running"])
    names = vectorizer.get_feature_names_out().tolist()
    assert names == ["run", "runner"]
    assert matrix.toarray().tolist() == [[1, 1], [1, 0]]
    # A word is known if its stem is known.
    assert vectorizer.transform(["runs running"]).toarray().tolist() == [[2, 0]]


@pytest.mark.parametrize(
    "module, argument", [("stop_words", "stop_words"), ("snowballstemmer", "stemmer")]
)
def test_missing_packages_are_named(module, argument, hide):
    hide(module)
    with pytest.raises(ImportError, match=r'pip install "skbayes\[text\]"'):
        NGramVectorizer(**{argument: "german"}).fit(["ein Text"])


@pytest.mark.parametrize(
    "options, texts, names",
    [
        ({"normalize_numbers": True}, ["1999 2001", "b2b"], "0000 b0b"),
        ({"normalize_numbers": True, "analyzer": "char"}, ["12", "b"], "0 b"),
        # Stop words and stems of languages.
        (
            {"stop_words": "english", "token_pattern": r"\S+"},
            [" ".join(["film", *ENGLISH_STOP_WORDS])],
            "film",
        ),
        (
            {"stop_words": "german", "stemmer": "german"},
            ["Ein Haus und viele Häuser"],
            "haus viel",
        ),
        # Words of all scripts.
        ({"token_pattern": "unicode"}, ["हिन्दी में", "日本の本"], "हिन्दी में の 日 本"),
        (
            {"token_pattern": "unicode"},
            ["Ελληνικά Wörter, слово", "a naïve e\u0301te\u0301"],
            "e\u0301te\u0301 naïve wörter ελληνικά слово",
        ),
    ],
)
def test_names_of_the_words(options, texts, names):
    vectorizer = NGramVectorizer(**options).fit(texts)
    assert sorted(vectorizer.get_feature_names_out()) == sorted(names.split())


@pytest.mark.parametrize(
    "text, words",
    [
        ("I can't: 2 stars!!", "i can ' t : 2 stars ! !"),
        # Vowel signs belong to the word, and ideographs are words.
        ("अच्छी फिल्म, क।", "अच्छी फिल्म , क ।"),
        ("好电影!", "好 电 影 !"),
    ],
)
def test_punctuation_marks_are_words(text, words):
    vectorizer = NGramVectorizer(token_pattern="unicode-punctuation")
    n = len(words.split())
    vectorizer.set_params(ngram_range=(n, n)).fit([text])
    assert vectorizer.get_feature_names_out().tolist() == [words]


@given(text=st.text(st.characters(max_codepoint=0x2FF, exclude_characters="İ")))
def test_unicode_words_are_scikit_learns_in_plain_scripts(text):
    vocabularies = [
        NGramVectorizer(token_pattern=pattern).fit(["xx " + text]).vocabulary_
        for pattern in ("unicode", WORDS)
    ]
    assert vocabularies[0] == vocabularies[1]


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "frame": lambda texts: pd.Series(texts, index=range(5, 9)).to_frame("texts"),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_texts_in_any_container_give_the_same(container):
    expected = NGramVectorizer().fit_transform(TEXTS)
    vectorizer = NGramVectorizer()
    assert (vectorizer.fit_transform(container(TEXTS)) != expected).nnz == 0
    assert (vectorizer.transform(container(TEXTS)) != expected).nnz == 0


def test_the_matrix_is_sparse_and_has_the_requested_type():
    matrix = NGramVectorizer(dtype=np.float32).fit_transform(TEXTS)
    assert matrix.dtype == np.float32
    assert NGramVectorizer(dtype=int).fit_transform(TEXTS).dtype == int
    with config_context(transform_output="pandas"):
        matrix = make_pipeline(NGramVectorizer()).fit_transform(TEXTS)
    assert sparse.issparse(matrix)


def test_pickles_are_fitted_and_clones_and_second_fits_are_new():
    vectorizer = NGramVectorizer(ngram_range=(1, 2), weighting="tf-idf")
    expected = vectorizer.fit_transform(TEXTS)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(TEXTS) != expected).nnz == 0
    assert again.vocabulary_ == vectorizer.vocabulary_
    with pytest.raises(NotFittedError):
        clone(vectorizer).transform(TEXTS)
    vectorizer.set_params(ngram_range=(1, 1), weighting="tf").fit(["new words"])
    assert vectorizer.get_feature_names_out().tolist() == ["new", "words"]
    assert not hasattr(vectorizer, "idf_")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=repr)
def test_missing_texts_are_refused_with_their_position(missing):
    vectorizer = NGramVectorizer().fit(TEXTS)
    for method in (vectorizer.fit, vectorizer.transform):
        with pytest.raises(ValueError, match="X has a missing value at position 1"):
            method(["some words", missing])


@pytest.mark.parametrize(
    "X, kind, message",
    [
        ("one text", ValueError, "string object received"),
        ([b"bytes"], TypeError, "decode it first"),
        (["some words", 3], TypeError, "got 3 of type int at position 1"),
        ([["some words"]], TypeError, "got .* of type list"),
        (np.array([["some words"]]), ValueError, r"one-dimensional.*\(1, 1\)"),
        (pd.DataFrame({"a": ["b"], "c": ["d"]}), ValueError, "pass the column"),
        ([], ValueError, "at least one text"),
        (3, TypeError, "got int"),
        (["", " ,"], ValueError, "empty vocabulary"),
    ],
)
def test_inputs_other_than_texts_are_refused(X, kind, message):
    with pytest.raises(kind, match=message):
        NGramVectorizer().fit(X)


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        ({"ngram_range": (2, 1)}, ValueError, "ngram_range"),
        ({"ngram_range": (0, 1)}, ValueError, "ngram_range"),
        ({"ngram_range": (1.0, 2)}, ValueError, "ngram_range"),
        ({"weighting": "idf"}, ValueError, "weighting"),
        ({"token_pattern": "("}, ValueError, "token_pattern"),
        ({"token_pattern": "(a)(b)"}, ValueError, "1 capturing group"),
        ({"stop_words": ["a", 1]}, TypeError, "stop_words"),
        ({"stop_words": "klingon"}, ValueError, "no list for the language 'klingon'"),
        ({"stemmer": "klingon"}, ValueError, "no stemmer for the language 'klingon'"),
        ({"min_df": 3, "max_df": 2}, ValueError, "max_df"),
        ({"min_df": 4}, ValueError, "no terms remain"),
        ({"max_gap": -1}, ValueError, "max_gap"),
        ({"weighting": "tf-idf", "dtype": int}, ValueError, "dtype"),
        ({"norm": "l2", "dtype": int}, ValueError, "dtype"),
    ],
)
def test_wrong_arguments_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        NGramVectorizer(**arguments).fit(TEXTS)
