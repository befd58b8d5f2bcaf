"""Search spaces of text representations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skbayes.space import Choice, Ordinal, Real
from skbayes.text.token_filters import stemmer_of, stop_word_list
from skbayes.utils.optional import tell_once

__all__ = ["SPACES", "first_points", "text_space"]

#: The spaces that have a name.
SPACES = ("extended", "paper")

Notation = dict[str, Any]


_PAPERS_LOGISTIC: Notation = {
    "penalty": ["l2", "l1"],
    "C": Real(1e-5, 1e5, "log-uniform"),
    # Up to 1e-3 in Table 1; but every value that the paper chose lies above.
    "tol": Real(1e-5, 1e-1, "log-uniform"),
}

_LINEAR: Notation = {
    "loss": ["squared_hinge", "logistic"],
    "feature_scaling": ["log-count-ratio", None],
    "C": Real(1e-2, 1e2, "log-uniform"),
}


class _Tree(list):
    """Notations of one parameter, of which one is chosen first: a tree of two levels.

    What is learned of one value then says something of the others on its branch.
    """


# Orders of n-grams of words: n_min in {1, 2, 3}, then n_max in {n_min, ..., 3}.
WORD_RANGES = [[(low, high) for high in range(low, 4)] for low in (1, 2, 3)]

# In the extended space the orders are on one scale.
ORDERED_WORD_RANGES = Ordinal([(1, 1), (1, 2), (1, 3)])
CHARACTER_RANGES = Ordinal([(2, 4), (3, 5), (3, 6)])

# A character costs about 100 bytes in n-grams of 3 to 6 characters: 5 GB.
MOST_CHARACTERS = 50_000_000


def text_space(
    space: str = "extended",
    *,
    language: str | None = "english",
    stop_words: Any = None,
    n_characters: int | None = None,
    changes: Mapping[str, Any] | None = None,
    vectorizer: str = "vectorizer",
    classifier: str | None = "classifier",
) -> list[dict[str, Any]]:
    """Make a space of representations of texts.

    Parameters
    ----------
    space : {"extended", "paper"}, default="extended"
        "paper": orders of word n-grams up to 3, three weightings, stop words or not,
        penalty, strength and tolerance of logistic regression, as in Table 1 of
        Yogatama, Kong & Smith (2015). "extended": n-grams of words up to 3 or of
        characters up to 6; punctuation and stems; logarithms of counts with inverse
        document frequencies or binary weights; the length of rows; log-count ratios as
        factors of the features (Wang & Manning 2012); squared hinge or logistic loss;
        strength.
    language : str or None, default="english"
        Language of the stop words in the paper's space, and of the stems in the
        extended space, where stop words are offered if there are no stems. What needs a
        library that is not installed is left out, and the user is told once.
    stop_words : list of str or None, default=None
        Stop words that may be left out, in either space. In the paper's space they
        replace those of the language.
    n_characters : int or None, default=None
        Number of characters of all texts. Above 50,000,000, the extended space contains
        no n-grams of characters, which would take more than 5 GB of memory, unless
        `changes` contains the analyzer. None: no limit.
    changes : dict or None, default=None
        What a parameter may be instead, wherever it stands in the space; others are
        added. What opens up under an option stays as long as the option is listed.
    vectorizer : str, default="vectorizer"
        Name of the step of a pipeline that is an
        :class:`~skbayes.text.NGramVectorizer`.
    classifier : str or None, default="classifier"
        Name of the step that is a logistic regression by
        :class:`~skbayes.text.LiblinearClassifier`; None if its parameters are not to be
        in the space.

    Returns
    -------
    search_spaces : list of dict
        For each parameter what it may be; in the paper's space, one dict for each
        least order of n-grams.

    Raises
    ------
    ImportError
        If neither stop words nor stems of the language are there, and they need a
        library that is not installed.
    ValueError
        If there is no such space, or neither stop words nor stems of the language.

    Examples
    --------
    >>> from skbayes.text.search_spaces import text_space
    >>> for one in text_space("paper"):
    ...     print(one["vectorizer__ngram_range"])
    [(1, 1), (1, 2), (1, 3)]
    [(2, 2), (2, 3)]
    [(3, 3)]
    >>> changes = {"vectorizer__ngram_range": [(1, 1), (1, 2)]}
    >>> (one,) = text_space("paper", changes=changes, classifier=None)
    >>> one["vectorizer__ngram_range"], one["vectorizer__weighting"]
    ([(1, 1), (1, 2)], ['tf', 'tf-idf', 'binary'])
    """
    if space not in SPACES:
        raise ValueError(f"space must be one of {SPACES}, got {space!r}.")
    words, stems = _of_language(space, language, stop_words)
    large = n_characters is not None and n_characters > MOST_CHARACTERS
    large &= f"{vectorizer}__analyzer" not in (changes or {})
    representation = (
        _paper(words) if space == "paper" else _extended(words, stems, not large)
    )
    found = _renamed(representation, f"{vectorizer}__")
    if classifier is not None:
        learner = _PAPERS_LOGISTIC if space == "paper" else _LINEAR
        found |= _renamed(learner, f"{classifier}__")
    return _alternatives(_merged(found, changes or {}))


def first_points(
    stemmer: str | None = "english",
    vectorizer: str = "vectorizer",
    classifier: str = "classifier",
) -> list[dict[str, Any]]:
    """List initial configurations of the extended space, for any texts.

    Words and pairs of words, characters, stems (of a language), and words up to three
    with punctuation, all with log-count ratios; and words without the ratios. They are
    the first that a greedy choice takes by cross-validation on ten collections of
    texts, with little change if one collection is left out
    (``benchmarks/text_changes.py show``).

    Examples
    --------
    >>> from skbayes.text.search_spaces import first_points
    >>> [point["vectorizer__analyzer"] for point in first_points()]
    ['word', 'char', 'word', 'word', 'word']
    """
    words: Notation = {"analyzer": "word", "token_pattern": "unicode"}
    words |= {"stop_words": None, "stemmer": None}
    marks = {**words, "token_pattern": "unicode-punctuation"}
    weighted = {"weighting": "tf-idf", "norm": "l2"}
    plain = {"weighting": "binary", "norm": None}
    characters = {"analyzer": "char", "ngram_range": (3, 6), **weighted}
    hinge: Notation = {
        "loss": "squared_hinge",
        "feature_scaling": "log-count-ratio",
        "C": 1.0,
    }
    logistic = {**hinge, "loss": "logistic"}
    points = [
        ({**words, "ngram_range": (1, 2), **weighted}, hinge),
        (characters, hinge),
        ({**words, "ngram_range": (1, 2), **weighted, "stemmer": stemmer}, hinge),
        ({**marks, "ngram_range": (1, 3), **plain}, logistic),
        (
            {**words, "ngram_range": (1, 2), **weighted},
            {**logistic, "feature_scaling": None, "C": 10.0},
        ),
    ]
    return [
        _renamed(representation, f"{vectorizer}__")
        | _renamed(learner, f"{classifier}__")
        for representation, learner in points
    ]


def _of_language(space: str, language: Any, stop_words: Any) -> tuple[list, list]:
    """Return what may be left out, and by what rules words may be stemmed."""
    words: list = [None]
    stems: list = [None]
    if stop_words is not None:
        words.append(stop_word_list(stop_words))
    if language is None:
        return words, stems
    refused: list[Exception] = []
    wanted: list[tuple[list, Callable]] = []
    if space == "extended":
        wanted.append((stems, stemmer_of))
    if stop_words is None:
        wanted.append((words, stop_word_list))
    for options, check in wanted:
        try:
            check(language)
            options.append(language)
        except (ImportError, ValueError) as error:
            refused.append(error)
        if len(stems) > 1:  # stop words only where there are no stems
            break
    missing = [error for error in refused if isinstance(error, ImportError)]
    if refused and len(words) == len(stems) == 1:
        if missing:
            raise missing[0]
        raise ValueError(
            f"language={language!r} is not known; None does without stop words and "
            "stemming, and stop_words takes a list of your own."
        ) from refused[0]
    for one in missing:
        tell_once(f"Left out of the space of texts: {one}")
    return words, stems


def _paper(words: list) -> Notation:
    return {
        "ngram_range": _Tree(WORD_RANGES),
        "weighting": ["tf", "tf-idf", "binary"],
        "stop_words": words,
    }


def _extended(words: list, stems: list, characters: bool) -> Notation:
    of_words = {
        "ngram_range": ORDERED_WORD_RANGES,
        "token_pattern": ["unicode", "unicode-punctuation"],
        "stop_words": words,
        "stemmer": stems,
    }
    analyzers: dict[str, Notation] = {"word": of_words}
    if characters:
        of_characters = {"ngram_range": CHARACTER_RANGES}
        analyzers |= {"char": of_characters, "char_wb": of_characters}
    return {
        "analyzer": Choice(analyzers),
        "weighting": ["tf-idf", "binary"],
        "norm": ["l2", None],
    }


def _renamed(space: Mapping[str, Any], prefix: str) -> Notation:
    """Put a prefix before all names, to any depth."""
    return {
        prefix + name: _with_sub_spaces(value, lambda sub: _renamed(sub, prefix))
        for name, value in space.items()
    }


def _with_sub_spaces(value: Any, change: Callable[[Notation], Any]) -> Any:
    """Change the sub-spaces of a notation, if it has any."""
    if isinstance(value, _Tree):
        return _Tree(_with_sub_spaces(part, change) for part in value)
    if not isinstance(value, Choice):
        return value
    pairs = zip(value.dimension.values, value.sub_spaces, strict=True)
    return Choice([(option, change(sub)) for option, sub in pairs])


def _alternatives(space: Notation) -> list[Notation]:
    """Make a dict of each branch of a tree, to any depth."""
    spaces: list[Notation] = [{}]
    for name, value in space.items():
        parts = value if isinstance(value, _Tree) else [value]
        grown = [_with_sub_spaces(part, _alternatives) for part in parts]
        spaces = [{**one, name: part} for one in spaces for part in grown]
    return spaces


def _merged(base: Notation, changes: Mapping[str, Any]) -> Notation:
    """Change parameters wherever they stand in a space, and add new ones."""
    new = dict(changes)

    def changed(space: Notation) -> Notation:
        result = {}
        for name, value in space.items():
            if name in changes:
                new.pop(name, None)
                value = _restricted(value, changes[name])
            result[name] = _with_sub_spaces(value, changed)
        return result

    return changed(base) | new


def _restricted(value: Any, own: Any) -> Any:
    """Return what the user wants, in the shape of what stood there."""
    structured = isinstance(value, _Tree | Choice)
    if not (structured and isinstance(own, list | tuple)):
        return own
    parts = value if isinstance(value, _Tree) else [value]
    kept = [_some_of(part, own) for part in parts]
    known = [option for part in parts for option in _options(part)]
    new = [option for option in own if option not in known]
    kept = [part for part in [*kept, new] if _options(part)]
    return _Tree(kept) if len(kept) > 1 else kept[0]


def _options(part: Any) -> list:
    if isinstance(part, Choice):
        return list(part.dimension.values)
    return part


def _some_of(part: Any, own: Sequence) -> Any:
    """Return the options of a part that the user names, in the user's order."""
    wanted = [option for option in own if option in _options(part)]
    if not isinstance(part, Choice) or not wanted:
        return wanted
    subs = list(zip(part.dimension.values, part.sub_spaces, strict=True))
    return Choice([(w, next(s for o, s in subs if o == w)) for w in wanted])
