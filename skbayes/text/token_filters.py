"""Filters of tokens: stop words and stemming."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skbayes.utils.optional import import_optional


def stop_word_list(stop_words: Any) -> tuple[str, ...]:
    """Return the stop words of a language (English in lowercase), or the given list."""
    if stop_words is None:
        return ()
    if isinstance(stop_words, str):
        return _words_of(stop_words)
    if not isinstance(stop_words, Iterable):
        raise TypeError(
            f"stop_words must be a language, a list of words or None, got "
            f"{stop_words!r}."
        )
    words = list(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words must be strings, got {word!r} among them.")
    return tuple(sorted(set(words)))


def _words_of(language: str) -> tuple[str, ...]:
    if language == "english":
        return tuple(sorted(ENGLISH_STOP_WORDS))
    library = import_optional(
        "stop_words",
        extra="text",
        purpose=f"the list of stop words of {language!r}",
        instead=", or pass the words themselves",
    )
    known = library.AVAILABLE_LANGUAGES
    if language not in known:
        raise ValueError(
            f"stop_words: there is no list for the language {language!r}. Pass the "
            f"words themselves, or one of {', '.join(sorted(known))}."
        )
    return tuple(sorted(set(library.get_stop_words(language))))


def stemmer_of(language: str) -> Any:
    """Return the stemmer of a language; raise ImportError or ValueError if none."""
    snowballstemmer = import_optional(
        "snowballstemmer", extra="text", purpose="stemming"
    )
    known = snowballstemmer.algorithms()
    if language not in known:
        raise ValueError(
            f"stemmer: there is no stemmer for the language {language!r}. Choose one "
            f"of {', '.join(known)}."
        )
    return snowballstemmer.stemmer(language)
