"""The spaces of representations that a search for one looks through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skbayes.space import Choice, Real
from skbayes.text.stopwords import check_stemmer, stop_word_list

__all__ = ["SPACES", "first_points", "merged_space", "text_space"]

#: The spaces that have a name.
SPACES = ("paper", "extended")

Notation = dict[str, Any]

# Orders of n-grams of words: n_min in {1, 2, 3}, n_max in {n_min, ..., 3}.
WORD_RANGES = [(low, high) for low in (1, 2, 3) for high in range(low, 4)]

# And of characters: shorter ones tell little, longer ones are words.
CHARACTER_RANGES = [(1, 3), (2, 3), (2, 4), (3, 4), (2, 5), (3, 5)]


def text_space(
    space: str = "paper",
    *,
    language: str | None = "english",
    stop_words: Any = None,
    vectorizer: str = "vectorizer",
    classifier: str | None = "classifier",
) -> dict[str, Any]:
    """Make a space of representations of texts.

    Parameters
    ----------
    space : {"paper", "extended"}, default="paper"
        "paper": orders of word n-grams up to 3, three weightings, stop words or not, as
        in Table 1 of Yogatama, Kong & Smith (2015). "extended" adds n-grams of
        characters and with gaps, stemming, numbers, limits on document frequencies,
        logarithms of counts, and the length of rows.
    language : str or None, default="english"
        Whose stop words and stems there are to choose, if there are any.
    stop_words : list of str or None, default=None
        Stop words to take in place of those of the language.
    vectorizer : str, default="vectorizer"
        Name of the step of a pipeline that is an
        :class:`~skbayes.text.NGramVectorizer`.
    classifier : str or None, default="classifier"
        Name of the step that is a logistic regression by
        :class:`~skbayes.text.LiblinearClassifier`; None if its settings are not to be
        in the space.

    Returns
    -------
    search_spaces : dict
        For each parameter what it may be.

    Raises
    ------
    ImportError
        If the stop words or the stems of the language need a library that is not
        installed.
    ValueError
        If there is no such space, or neither stop words nor stems of the language.

    Examples
    --------
    >>> from skbayes.text.spaces import text_space
    >>> space = text_space("paper", classifier=None)
    >>> sorted(space)
    ['vectorizer__ngram_range', 'vectorizer__stop_words', 'vectorizer__weighting']
    """
    if space not in SPACES:
        raise ValueError(f"space must be one of {SPACES}, got {space!r}.")
    words, stems = _of_language(space, language, stop_words)
    representation = _paper(words) if space == "paper" else _extended(words, stems)
    found = _renamed(representation, f"{vectorizer}__")
    if classifier is not None:
        found |= _renamed(_logistic(), f"{classifier}__")
    return found


def first_points(
    stemmer: str | None = "english",
    vectorizer: str = "vectorizer",
    classifier: str = "classifier",
) -> list[dict[str, Any]]:
    """List what is worth trying first in the extended space, on any texts.

    It is too wide to be looked through in 30 trials from nowhere.

    Parameters
    ----------
    stemmer : str or None, default="english"
        The language of the stems.
    vectorizer, classifier : str, default="vectorizer", "classifier"
        Names of the steps.

    Returns
    -------
    points : list of dict
        What the paper chose for most tasks; weighted logarithms of counts in rows of
        length 1, of words, of stems, and of characters.

    Examples
    --------
    >>> from skbayes.text.spaces import first_points
    >>> [point["vectorizer__analyzer"] for point in first_points()]
    ['word', 'word', 'word', 'char_wb']
    """
    words = {"analyzer": "word", "ngram_range": (1, 2), "max_gap": 0}
    words |= {"stop_words": None, "stemmer": None}
    weighted = {"weighting": "tf-idf", "sublinear_tf": True, "norm": "l2"}
    representations = [
        ({**words, "weighting": "binary", "norm": None}, 100.0),
        ({**words, **weighted}, 10.0),
        ({**words, **weighted, "stemmer": stemmer}, 10.0),
        ({"analyzer": "char_wb", "ngram_range": (2, 5), **weighted}, 10.0),
    ]
    plain = {"normalize_numbers": False, "min_df": 1, "max_df": 1.0}
    logistic = {"penalty": "l2", "tol": 0.01}
    return [
        _renamed({**plain, **one}, f"{vectorizer}__")
        | _renamed({**logistic, "C": C}, f"{classifier}__")
        for one, C in representations
    ]


def _of_language(space: str, language: Any, stop_words: Any) -> tuple[list, list]:
    """Return what may be left out, and by what rules words may be stemmed."""
    words: list = [None]
    stems: list = [None]
    if stop_words is not None:
        words.append(stop_word_list(stop_words))
    if language is None:
        return words, stems
    refused = []
    try:
        if stop_words is None:
            stop_word_list(language)
            words.append(language)
    except ValueError as error:
        refused.append(error)
    try:
        if space == "extended":
            check_stemmer(language)
            stems.append(language)
    except ValueError as error:
        refused.append(error)
    if refused and len(words) == len(stems) == 1:
        raise ValueError(
            f"language={language!r} is not known; None does without stop words and "
            "stemming, and stop_words takes a list of your own."
        ) from refused[0]
    return words, stems


def _paper(words: list) -> Notation:
    return {
        "ngram_range": WORD_RANGES,
        "weighting": ["tf", "tf-idf", "binary"],
        "stop_words": words,
    }


def _extended(words: list, stems: list) -> Notation:
    # A gap needs two tokens.
    gaps = {"max_gap": [0, 1]}
    of_words = {
        "ngram_range": Choice({r: gaps if r[1] > 1 else {} for r in WORD_RANGES}),
        "stop_words": words,
        "stemmer": stems,
    }
    of_characters = {"ngram_range": CHARACTER_RANGES}
    logarithms = {"sublinear_tf": [False, True]}
    return {
        "analyzer": Choice(
            {"word": of_words, "char": of_characters, "char_wb": of_characters}
        ),
        "normalize_numbers": [False, True],
        "weighting": Choice({"tf": logarithms, "tf-idf": logarithms, "binary": {}}),
        "min_df": [1, 2, 3, 5],
        "max_df": [0.5, 0.7, 0.9, 1.0],
        "norm": [None, "l2"],
    }


def _logistic() -> Notation:
    return {
        "penalty": ["l2", "l1"],
        "C": Real(1e-5, 1e5, "log-uniform"),
        # Up to 1e-3 in Table 1; but every value that the paper chose lies above.
        "tol": Real(1e-5, 1e-1, "log-uniform"),
    }


def _renamed(space: Mapping[str, Any], prefix: str) -> Notation:
    """Put a prefix before all names, to any depth."""
    return {
        prefix + name: _with_sub_spaces(value, lambda sub: _renamed(sub, prefix))
        for name, value in space.items()
    }


def _with_sub_spaces(value: Any, change: Any) -> Any:
    if not isinstance(value, Choice):
        return value
    pairs = zip(value.dimension.values, value.sub_spaces, strict=True)
    return Choice([(option, change(sub)) for option, sub in pairs])


def merged_space(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Change a space where the user wants it otherwise.

    Parameters
    ----------
    base : dict
        A space, each of whose sub-spaces is a dict.
    own : dict
        What the user says about some parameters.

    Returns
    -------
    search_spaces : dict
        `base`, in which each parameter of `own` is what it says there, wherever it
        stood; those that `base` does not have are added. The options of a
        :class:`~skbayes.space.Choice` that a list names keep their sub-spaces.

    Examples
    --------
    >>> from skbayes.text.spaces import merged_space
    >>> merged_space({"a": [1, 2], "b": [3]}, {"a": [1], "c": [4]})
    {'a': [1], 'b': [3], 'c': [4]}
    """
    met: set[str] = set()
    result = _changed(base, own, met)
    return result | {name: value for name, value in own.items() if name not in met}


def _changed(base: Mapping[str, Any], own: Mapping[str, Any], met: set) -> Notation:
    def change(sub: Any) -> Notation:
        return _changed(sub, own, met)

    result = {}
    for name, value in base.items():
        if name in own:
            met.add(name)
            value = _restricted(value, own[name])
        result[name] = _with_sub_spaces(value, change)
    return result


def _restricted(value: Any, own: Any) -> Any:
    if not (isinstance(value, Choice) and isinstance(own, list | tuple)):
        return own
    subs = list(zip(value.dimension.values, value.sub_spaces, strict=True))
    found: list = [next((s for o, s in subs if o == option), {}) for option in own]
    return Choice(list(zip(own, found, strict=True)))
