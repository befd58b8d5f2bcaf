import sys

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skbayes.text import NGramVectorizer
from skbayes.text.token_filters import stemmer_of, stop_word_list


def test_lists_of_english_of_ones_own_and_of_unknown_languages():
    assert set(stop_word_list("english")) == ENGLISH_STOP_WORDS
    assert stop_word_list({"b", "a"}) == ("a", "b")
    assert stop_word_list(None) == ()
    with pytest.raises(ValueError, match="no stemmer for the language 'klingon'"):
        stemmer_of("klingon")
    with pytest.raises(ValueError, match="no list for the language 'klingon'"):
        stop_word_list("klingon")


@pytest.mark.parametrize("language, word", [("german", "und"), ("russian", "не")])
def test_other_languages(language, word):
    assert word in stop_word_list(language)
    assert stemmer_of("german").stemWords(["haus"]) == ["haus"]


@pytest.mark.parametrize("module", ["stop_words", "snowballstemmer"])
def test_what_is_not_installed(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    arguments = {"stop_words": {"stop_words": "german"}}.get(
        module, {"stemmer": "german"}
    )
    with pytest.raises(ImportError, match=r'pip install "skbayes\[text\]"'):
        NGramVectorizer(**arguments).fit(["ein Text"])
