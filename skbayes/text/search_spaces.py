"""Search spaces of text representations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skbayes.defaults.catalog import DataFacts
from skbayes.defaults.default import apply_changes
from skbayes.defaults.parts import renamed
from skbayes.space import Choice, Ordinal, Real, Space
from skbayes.text.tokens import stemmer_of, stop_word_list
from skbayes.utils.optional import log_once

__all__ = ["text_space"]

#: Names of the predefined spaces.
SPACES = ("extended", "paper")

Notation = dict[str, Any]


_PAPERS_LOGISTIC: Notation = {
    "penalty": ["l2", "l1"],
    "C": Real(1e-5, 1e5, "log-uniform"),
    # In Table 1 up to 1e-3, although every value chosen in the paper is larger.
    "tol": Real(1e-5, 1e-1, "log-uniform"),
}

_LINEAR: Notation = {
    "loss": ["squared_hinge", "logistic"],
    "feature_scaling": ["log-count-ratio", None],
    "C": Real(1e-2, 1e2, "log-uniform"),
}


# N-gram ranges of words: n_min in {1, 2, 3}, then n_max in {n_min, ..., 3}. Each list
# is a branch of the space, whose values have similar scores.
WORD_RANGES = [[(low, high) for high in range(low, 4)] for low in (1, 2, 3)]

# In the extended space, the ranges are ordered.
ORDERED_WORD_RANGES = Ordinal([(1, 1), (1, 2), (1, 3)])
CHARACTER_RANGES = Ordinal([(2, 4), (3, 5), (3, 6)])

# N-grams of 3 to 6 characters take about 100 bytes per character: 5 GB.
MAX_CHARACTERS = 50_000_000


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
    """Create a search space of text representations.

    Parameters
    ----------
    space : {"extended", "paper"}, default="extended"
        The predefined space.

        - "paper" is the space in Table 1 of Yogatama, Kong and Smith (2015). It
          contains n-grams of up to 3 words, three weightings, stop words kept or
          removed, and the penalty, strength and tolerance of logistic regression.
        - "extended" contains n-grams of up to 3 words or 6 characters, punctuation,
          stemming, tf-idf or binary weights, and normalization of rows. For the
          classifier, it contains log-count ratios as factors of the features (Wang and
          Manning 2012), squared hinge or logistic loss, and the regularization
          strength.
    language : str or None, default="english"
        Language of the stop words in the "paper" space and of the stemmer in the
        "extended" space. The "extended" space contains stop words of the language only
        if there is no stemmer for it. Options that need a package that is not installed
        are omitted, which is logged once.
    stop_words : list of str or None, default=None
        Stop words that the search may remove, in both spaces. In the "paper" space,
        they replace the stop words of the language.
    n_characters : int or None, default=None
        Total number of characters of all documents. Above 50,000,000, the "extended"
        space contains no n-grams of characters, because they would take more than 5 GB
        of memory. They are kept if `changes` contains the analyzer. None means no
        limit.
    changes : dict or None, default=None
        Replacements of entries of the space, by parameter name, at all levels of the
        space. New names are added. Parameters that exist only under an option are kept
        as long as the option is listed.
    vectorizer : str, default="vectorizer"
        Name of the pipeline step that is an :class:`~skbayes.text.NGramVectorizer`.
    classifier : str or None, default="classifier"
        Name of the pipeline step that is a :class:`~skbayes.text.LiblinearClassifier`.
        If None, the space does not contain the parameters of a classifier.

    Returns
    -------
    search_spaces : list of dict
        Search spaces with the possible values of each parameter. The "paper" space
        consists of one dict per minimum n-gram length.

    Raises
    ------
    ImportError
        If there are neither stop words nor a stemmer for the language because a package
        is not installed.
    ValueError
        If the name of the space is invalid, or if there are neither stop words nor a
        stemmer for the language.

    Examples
    --------
    >>> from skbayes.text.search_spaces import text_space
    >>> for space in text_space("paper"):
    ...     print(space["vectorizer__ngram_range"])
    [(1, 1), (1, 2), (1, 3)]
    [(2, 2), (2, 3)]
    [(3, 3)]
    >>> changes = {"vectorizer__ngram_range": [(1, 1), (1, 2)]}
    >>> (space,) = text_space("paper", changes=changes, classifier=None)
    >>> space["vectorizer__ngram_range"], space["vectorizer__weighting"]
    ([(1, 1), (1, 2)], ['tf', 'tf-idf', 'binary'])
    """
    if space not in SPACES:
        raise ValueError(f"space must be one of {SPACES}, got {space!r}.")
    words, stems = _language_options(space, language, stop_words)
    changes = dict(changes or {})
    if space == "paper":
        learner = _PAPERS_LOGISTIC
        ranges = _branches(changes.pop(f"{vectorizer}__ngram_range", None))
        weighted = {"weighting": ["tf", "tf-idf", "binary"], "stop_words": words}
        branches = [{"ngram_range": branch} | weighted for branch in ranges]
    else:
        learner = _LINEAR
        large = n_characters is not None and n_characters > MAX_CHARACTERS
        large &= f"{vectorizer}__analyzer" not in changes
        branches = [_extended(words, stems, not large)]
    spaces = [_renamed(branch, f"{vectorizer}__") for branch in branches]
    if classifier is not None:
        spaces = [part | _renamed(learner, f"{classifier}__") for part in spaces]
    return [apply_changes(part, changes, DataFacts()) for part in spaces]


def first_points(
    stemmer: str | None = "english",
    vectorizer: str = "vectorizer",
    classifier: str = "classifier",
) -> list[dict[str, Any]]:
    """Return the initial configurations of the extended space.

    They use words and pairs of words, characters, stemmed words, and up to three words
    with punctuation, all with log-count ratios. The last configuration uses words
    without the ratios. A greedy selection by cross-validation on ten text datasets
    chose them in this order. Without one dataset, the selection is nearly the same.
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


def _language_options(space: str, language: Any, stop_words: Any) -> tuple[list, list]:
    """Return the options for stop words and stemmers, each of which begins with None.

    An error is raised if neither is available for the language.
    """
    words: list = [None]
    stems: list = [None]
    if stop_words is not None:
        words.append(stop_word_list(stop_words))
    if language is None:
        return words, stems
    refused: list[Exception] = []
    checks: list[tuple[list, Callable]] = []
    if space == "extended":
        checks.append((stems, stemmer_of))
    if stop_words is None:
        checks.append((words, stop_word_list))
    for options, check in checks:
        try:
            check(language)
            options.append(language)
        except (ImportError, ValueError) as error:
            refused.append(error)
        if len(stems) > 1:  # stop words are only used without a stemmer
            break
    missing = [error for error in refused if isinstance(error, ImportError)]
    if refused and len(words) == len(stems) == 1:
        if missing:
            raise missing[0]
        raise ValueError(
            f"language={language!r} is not supported. Pass language=None to search "
            "without stop words and stemming of a language."
        ) from refused[0]
    for reason in missing:
        log_once(f"Omitted from the search space of texts: {reason}")
    return words, stems


def _branches(ranges: Any) -> list:
    """Return the n-gram ranges of each branch; a user's ranges keep their order."""
    if ranges is None:
        return WORD_RANGES
    if not isinstance(ranges, list | tuple):
        return [ranges]
    parts = [[pair for pair in ranges if pair in part] for part in WORD_RANGES]
    parts.append([pair for pair in ranges if pair not in sum(WORD_RANGES, [])])
    return [part for part in parts if part] or [ranges]


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
    return renamed(dict(space), lambda name: prefix + name)


# -- spaces of users -------------------------------------------------------------------


def needs_primal(search_spaces: Any) -> bool:
    """Return whether a space has parameters that the dual problem does not support."""
    if search_spaces is None or isinstance(search_spaces, str):
        return False
    try:
        if isinstance(search_spaces, Mapping):
            search_spaces = without_auto(search_spaces)
        columns = Space.from_notation(search_spaces).columns
    except (TypeError, ValueError):  # reported by the search
        return False
    names = {str(column.name).split("__")[-1] for column in columns}
    return not names.isdisjoint({"penalty", "penalize_intercept"})


def with_steps(space: Mapping[str, Any], pipeline: Any) -> dict[str, Any]:
    """Prepend the step to parameter names that lack it."""
    names = pipeline.get_params(deep=True)
    last_first = [name for name, _ in reversed(pipeline.steps)]

    def full(name: Any) -> Any:
        if not isinstance(name, str) or name in names:
            return name
        guesses = (f"{step}__{name}" for step in last_first)
        return next((guess for guess in guesses if guess in names), name)

    return {full(name): value for name, value in space.items()}


def without_auto(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a predefined space, without the entry "auto"."""
    return {name: value for name, value in space.items() if name != "auto"}
