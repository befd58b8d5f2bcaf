"""Tokens of documents as arrays: unique strings, and their numbers as int32.

A token is a word or, for n-grams of characters, a character. Tokens are numbered in the
order of their strings, so sorting the numbers sorts the strings.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from skbayes.utils.optional import import_optional, warn_user

#: scikit-learn's pattern: words of two or more letters, digits or underscores.
WORDS = r"(?u)\b\w\w+\b"

# Patterns by name, for texts without combining marks and ideographs.
_PATTERNS = {"unicode": WORDS, "unicode-punctuation": r"(?u)\w+|[^\w\s]"}

# As in CountVectorizer, a run of white space counts as one space.
_WHITE_SPACE = re.compile(r"\s\s+")

# Scripts without spaces between words, in which each character is a separate token:
# Chinese characters, Hiragana, Katakana.
_IDEOGRAPHS = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)

# Joiners that occur within words of Indic scripts and of Persian.
_JOINERS = "\u200c\u200d"


class StringArray(Sequence):
    """Strings in UTF-8, `data` of type uint8, that start at `offsets` (n + 1,)."""

    def __init__(self, data: npt.NDArray, offsets: npt.NDArray) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringArray:
        """Encode strings as arrays."""
        # Lone surrogates are invalid Unicode, but they occur in real data.
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        index = range(len(self))[index]
        if isinstance(index, range):
            return [self[i] for i in index]
        piece = self.data[self.offsets[index] : self.offsets[index + 1]]
        return piece.tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        ends = self.offsets.tolist()
        view = self.data.data
        for begin, end in zip(ends[:-1], ends[1:], strict=True):
            yield str(view[begin:end], "utf-8", "surrogatepass")


@dataclass(frozen=True)
class TokenStream:
    """Concatenated tokens of all documents.

    `ids` (n_tokens,) are places in the sorted `vocabulary`, or -1 for a token that no
    n-gram may contain. `offsets` (n_documents + 1,) are the starts of documents.
    """

    ids: npt.NDArray
    offsets: npt.NDArray
    vocabulary: Sequence[Any]

    def changed(self, results: Sequence[str | None]) -> TokenStream:
        """Replace the tokens of the vocabulary, or remove them if replaced by None."""
        vocabulary = sorted({token for token in results if token is not None})
        stream = TokenStream(self.ids, self.offsets, results).renumbered(vocabulary)
        if None not in results:
            return stream
        is_known = stream.ids >= 0
        offsets = offsets_among(is_known, self.offsets)
        return TokenStream(stream.ids[is_known], offsets, vocabulary)

    def renumbered(self, vocabulary: Sequence[str]) -> TokenStream:
        """Renumber by another sorted vocabulary; -1 for tokens that it lacks."""
        number = {token: place for place, token in enumerate(vocabulary)}
        new = [number.get(token, -1) for token in self.vocabulary]
        ids = np.array(new, dtype=np.int32)[self.ids] if new else self.ids
        return TokenStream(ids, self.offsets, vocabulary)


def offsets_among(mask: npt.NDArray, offsets: npt.NDArray) -> npt.NDArray:
    """Return the offsets of segments that keep only the entries in the mask."""
    before = np.zeros(len(mask) + 1, dtype=np.int64)
    np.cumsum(mask, out=before[1:])
    return before[offsets]


def check_texts(texts: Any, name: str = "X") -> list[str]:
    """Convert documents to a list of strings; TypeError or ValueError if impossible."""
    if isinstance(texts, str | bytes):
        # Message of CountVectorizer, which existing tests match.
        raise ValueError(
            f"{name}: Iterable over raw text documents expected, string object "
            "received."
        )
    if hasattr(texts, "columns") and len(texts.columns) == 1:
        # Some tools pass a column of texts as a data frame.
        texts = texts[texts.columns[0]]
    shape = getattr(texts, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise ValueError(
            f"{name} must be one-dimensional with one text per sample, got shape "
            f"{shape}. For a data frame, pass the column that contains the texts."
        )
    if not isinstance(texts, Iterable):
        raise TypeError(
            f"{name} must be a list, an array or a Series of texts, got "
            f"{type(texts).__name__}."
        )
    strings = list(texts)
    if not strings:
        raise ValueError(f"{name} must contain at least one text, got none.")
    if not all(type(text) is str for text in strings):
        strings = [_text(text, place, name) for place, text in enumerate(strings)]
    return strings


def _text(text: Any, place: int, name: str) -> str:
    if isinstance(text, str):
        return str(text)
    # NaN, NaT and pandas' NA are not equal to themselves; NA has no truth value.
    missing = text is None or type(text).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(text, float) and text != text):
        raise ValueError(
            f"{name} has a missing value at position {place} ({text!r}): each sample "
            "needs a text; leave it out, or put an empty string there."
        )
    hint = "; decode it first" if isinstance(text, bytes) else ""
    raise TypeError(
        f"{name} must contain texts, got {text!r} of type {type(text).__name__} at "
        f"position {place}{hint}."
    )


def split_words(texts: Iterable[str], pattern: str, lowercase: bool) -> TokenStream:
    """Find words by a regular expression with at most one group.

    The pattern "unicode" is :data:`WORDS` extended to all scripts. Combining marks such
    as the vowel signs of Hindi belong to a word, and each Chinese or Japanese character
    is a word. The pattern "unicode-punctuation" also matches words of one letter, and
    all other characters except white space as separate tokens.
    """
    find = _finder(pattern)
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    ids = array("i")
    ends = array("q", [0])
    for text in texts:
        ids.extend(map(number.__getitem__, find(text.lower() if lowercase else text)))
        ends.append(len(ids))
    numbers = np.frombuffer(ids, dtype=np.int32) if ids else np.empty(0, dtype=np.int32)
    stream = TokenStream(numbers, np.array(ends, dtype=np.int64), list(number))
    return stream.renumbered(sorted(number))


def _finder(pattern: str) -> Callable[[str], list[str]]:
    if pattern in _PATTERNS:
        simple = re.compile(_PATTERNS[pattern]).findall
        special, full = _all_scripts(pattern)

        # The full pattern is slower, and most texts do not require it.
        def find(text: str) -> list[str]:
            plain = text.isascii() or special.search(text) is None
            return simple(text) if plain else full.findall(text)

        return find
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"token_pattern is not a regular expression: {error}, in {pattern!r}."
        ) from error
    if compiled.groups > 1:
        raise ValueError(
            "More than 1 capturing group in token pattern. Only a single group should "
            f"be captured; token_pattern={pattern!r}."
        )
    return compiled.findall


@functools.cache
def _all_scripts(pattern: str) -> tuple[re.Pattern, re.Pattern]:
    """Return a pattern that finds texts with other scripts, and the full pattern."""
    marks = [
        chr(code)
        for code in range(0x300, min(0x1F000, sys.maxunicode))
        if unicodedata.category(chr(code)).startswith("M")
    ]
    within = "".join(map(re.escape, marks)) + _JOINERS
    letter = rf"[^\W{_IDEOGRAPHS}]"
    word = rf"{letter}(?:[{within}]|{letter})"
    word += r"*|[^\w\s]" if pattern == "unicode-punctuation" else "+"
    return (
        re.compile(f"[{_IDEOGRAPHS}{within}]"),
        re.compile(f"[{_IDEOGRAPHS}]|{word}"),
    )


def split_characters(
    texts: Iterable[str], lowercase: bool, words: bool = False
) -> TokenStream:
    """Split documents, or words padded with spaces; merge white space."""
    codes, ends = [], [0]
    for text in texts:
        text = _WHITE_SPACE.sub(" ", text.lower() if lowercase else text)
        if words:
            text = "".join(f" {word} " for word in text.split())
        encoded = text.encode("utf-32-le", "surrogatepass")
        codes.append(np.frombuffer(encoded, dtype="<u4"))
        ends.append(ends[-1] + len(codes[-1]))
    characters = np.concatenate(codes) if codes else np.empty(0, dtype="<u4")
    del codes
    occurs = np.zeros(sys.maxunicode + 1, dtype=bool)
    occurs[characters] = True
    present = np.flatnonzero(occurs)
    number = np.zeros(sys.maxunicode + 1, dtype=np.int32)
    number[present] = np.arange(len(present))
    vocabulary = list(map(chr, present))
    return TokenStream(number[characters], np.array(ends, dtype=np.int64), vocabulary)


def check_labeled_texts(
    texts: Any, labels: Any, classifies: bool, texts_name: str, labels_name: str
) -> list[str]:
    """Check texts together with their labels."""
    strings = check_texts(texts, texts_name)
    n_empty = sum(not text.strip() for text in strings)
    if n_empty == len(strings):
        raise ValueError(f"{texts_name}: all texts are empty. Pass texts with words.")
    if n_empty:
        first = next(i for i, text in enumerate(strings) if not text.strip())
        warn_user(
            f"{texts_name}: {n_empty} of {len(strings)} texts are empty, the first at "
            f"position {first}; they have no n-grams.",
        )
    if labels is None:
        if classifies:
            raise ValueError(
                f"{labels_name} must be given: the estimator is a classifier, and "
                "requires y to be passed, but the target y is None."
            )
        return strings
    array = np.asarray(labels)
    if array.ndim == 0 or len(array) != len(strings):
        n = "no list" if array.ndim == 0 else f"{len(array)} labels"
        raise ValueError(
            f"{texts_name} and {labels_name} have inconsistent numbers of samples: "
            f"{len(strings)} texts, {n}."
        )
    _check_labels(array, classifies, labels_name)
    return strings


def _check_labels(labels: Any, classifies: bool, name: str) -> None:
    flat = labels.ravel()
    missing = [i for i, label in enumerate(flat) if label is None or label != label]
    if missing:
        place = missing[0]
        raise ValueError(
            f"{name} has a missing value at position {place}; leave it out."
        )
    if classifies and len({*flat.tolist()}) < 2:
        raise ValueError(
            f"{name} has one class only, {flat[:1].tolist()}; a classifier needs two."
        )


# -- stop words and stemming ----------------------------------------------------------


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
    languages = library.AVAILABLE_LANGUAGES
    if language not in languages:
        raise ValueError(
            f"stop_words: there is no list for the language {language!r}. Pass the "
            f"words themselves, or one of {', '.join(sorted(languages))}."
        )
    return tuple(sorted(set(library.get_stop_words(language))))


def stemmer_of(language: str) -> Any:
    """Return the stemmer of a language; raise ImportError or ValueError if none."""
    snowballstemmer = import_optional(
        "snowballstemmer", extra="text", purpose="stemming"
    )
    languages = snowballstemmer.algorithms()
    if language not in languages:
        raise ValueError(
            f"stemmer: there is no stemmer for the language {language!r}. Choose one "
            f"of {', '.join(languages)}."
        )
    return snowballstemmer.stemmer(language)
