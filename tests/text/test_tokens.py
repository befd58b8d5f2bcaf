import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.text.tokens import (
    WORDS,
    StringArray,
    TokenStream,
    check_texts,
    split_characters,
    split_words,
)

# Lone surrogates too, which are no valid Unicode.
strings = st.lists(st.text(st.characters(exclude_categories=[])))


@given(strings)
def test_string_arrays_give_back_what_they_were_given(texts):
    array = StringArray.of(texts)
    assert list(array) == texts
    assert len(array) == len(texts)
    assert array[:] == texts
    assert array[::-2] == texts[::-2]
    if texts:
        assert array[-1] == texts[-1]
    with pytest.raises(IndexError):
        array[len(texts)]


@given(strings, st.booleans())
def test_words_are_numbered_in_order(texts, lowercase):
    import re

    stream = split_words(texts, WORDS, lowercase)
    assert list(stream.vocabulary) == sorted(set(stream.vocabulary))
    for begin, end, text in zip(
        stream.offsets[:-1], stream.offsets[1:], texts, strict=True
    ):
        words = re.findall(WORDS, text.lower() if lowercase else text)
        assert [stream.vocabulary[i] for i in stream.ids[begin:end]] == words


@given(strings)
def test_characters_are_numbered_in_order(texts):
    stream = split_characters(texts, lowercase=False)
    assert list(stream.vocabulary) == sorted(set(stream.vocabulary))
    assert stream.ids.dtype == np.int32
    for begin, end, text in zip(
        stream.offsets[:-1], stream.offsets[1:], texts, strict=True
    ):
        found = "".join(stream.vocabulary[i] for i in stream.ids[begin:end])
        assert found.split() == text.split()


def test_changed_tokens_are_joined_or_left_out():
    stream = split_words(["aa bb cc", "", "cc dd"], WORDS, True)
    changed = stream.changed([None, "zz", "aa", "zz"])
    assert changed.vocabulary == ["aa", "zz"]
    assert changed.ids.tolist() == [1, 0, 0, 1]
    assert changed.offsets.tolist() == [0, 2, 2, 4]
    # Unknown tokens leave a hole.
    stream = split_words(["aa bb cc"], WORDS, True)
    assert stream.known(["aa", "cc", "dd"]).ids.tolist() == [0, -1, 1]


def test_no_tokens_at_all():
    for stream in (split_words([""], WORDS, True), split_characters([""], True)):
        assert isinstance(stream, TokenStream)
        assert len(stream.ids) == 0
        assert stream.offsets.tolist() == [0, 0]
        assert stream.changed([]).vocabulary == []
        assert len(stream.known(["a"]).ids) == 0


def test_checked_texts_are_plain_strings():
    found = check_texts(np.array(["one", "two"]))
    assert found == ["one", "two"]
    assert {type(text) for text in found} == {str}
    with pytest.raises(TypeError, match=r"dev\[0\] must contain texts, got 1"):
        check_texts([1], "dev[0]")


def test_punctuation_marks_are_words():
    def words(text):
        stream = split_words([text], "unicode-punctuation", True)
        return [stream.vocabulary[i] for i in stream.ids]

    assert words("I can't: 2 stars!!") == [
        *["i", "can", "'", "t", ":", "2", "stars", "!", "!"]
    ]
    # Vowel signs belong to the word, and ideographs are words.
    assert words("अच्छी फिल्म, क।") == ["अच्छी", "फिल्म", ",", "क", "।"]
    assert words("好电影!") == ["好", "电", "影", "!"]


@given(strings)
def test_punctuation_adds_to_the_words(texts):
    def words(pattern):
        stream = split_words(texts, pattern, True)
        return {stream.vocabulary[i] for i in stream.ids}

    assert words("unicode") <= words("unicode-punctuation")
