import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.text.tokens import (
    StringArray,
    check_texts,
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
