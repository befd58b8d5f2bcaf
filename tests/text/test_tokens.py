import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.text.tokens import StringArray, check_texts, split_words

# Lone surrogates too, which are no valid Unicode.
strings = st.lists(st.text(st.characters(exclude_categories=[])))


@given(strings)
def test_string_arrays_return_their_strings(texts):
    array = StringArray.of(texts)
    assert list(array) == texts
    assert len(array) == len(texts)
    assert array[:] == texts
    assert array[::-2] == texts[::-2]
    if texts:
        assert array[-1] == texts[-1]
    with pytest.raises(IndexError):
        array[len(texts)]


@given(strings)
def test_punctuation_adds_to_the_words(texts):
    def words(pattern):
        stream = split_words(texts, pattern, True)
        return {stream.vocabulary[i] for i in stream.ids}

    assert words("unicode") <= words("unicode-punctuation")


def test_texts_of_numpy_become_plain_strings():
    assert {type(text) for text in check_texts(np.array(["one", "two"]))} == {str}
