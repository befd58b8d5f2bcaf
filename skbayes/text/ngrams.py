"""Vectorizer that represents documents by their n-grams."""

from __future__ import annotations

import contextlib
import weakref
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.text.counts import (
    CountedTexts,
    Counts,
    NgramSpec,
    TokenizerSpec,
    match_ngrams,
    patterns,
)
from skbayes.text.tokens import WORDS, check_texts, stemmer_of, stop_word_list
from skbayes.utils.pickled_version import PickledVersion

# Marks a skipped token in the name of an n-gram.
_GAP = "*"

# Fraction of the documents, or their number.
_DOCUMENTS = [
    compat.Interval(compat.RealNotInt, 0, 1, closed="both"),
    compat.Interval(Integral, 1, None, closed="left"),
]

Array = npt.NDArray


class NGramVectorizer(
    compat.DocumentationLink,
    PickledVersion,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    r"""Convert documents to a sparse matrix of n-gram counts or weights.

    With equal parameters, the columns are the same as for scikit-learn's
    :class:`~sklearn.feature_extraction.text.CountVectorizer` and
    :class:`~sklearn.feature_extraction.text.TfidfVectorizer`, in a different order.
    This vectorizer is several times faster. It also supports stemming and n-grams with
    gaps.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default="word"
        Unit of the n-grams: words, characters, or characters within a word. With
        "char_wb", each word is padded with a space on both sides.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        Minimum and maximum number of tokens in an n-gram.
    weighting : {"tf", "tf-idf", "binary"}, default="tf"
        Value of an n-gram that occurs in a document: its count ("tf"), its count times
        the inverse document frequency ("tf-idf"), or 1 ("binary").
    lowercase : bool, default=True
        Whether to convert the documents to lowercase first.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression that matches a word. If it has a group, the word is the
        content of the group. The default is scikit-learn's. The pattern "unicode"
        extends it to all scripts. Combining marks, such as the vowel signs of Hindi,
        belong to the word, and each Chinese or Japanese character is a word. The
        pattern "unicode-punctuation" also matches words of one letter, and all other
        characters except white space as separate tokens. Only used if `analyzer` is
        "word".
    stop_words : str, list of str or None, default=None
        Words to remove before n-grams are formed: a language such as "english", or a
        list of words. Languages other than English need the package stop-words. Only
        used if `analyzer` is "word".
    normalize_numbers : bool, default=False
        Whether to replace each digit by 0. For example, all years of four digits become
        the same word.
    stemmer : str or None, default=None
        Language of the stemmer, which is applied after stop words are removed. It needs
        the package snowballstemmer. Only used if `analyzer` is "word".
    max_gap : int, default=0
        Maximum total number of words that are skipped within an n-gram. An n-gram with
        a gap is a separate feature: "not * good" is different from "not good". Only
        used if `analyzer` is "word".
    min_df, max_df : int or float, default=1 and 1.0
        Minimum and maximum number of documents (int) or fraction of the documents
        (float) that contain an n-gram. Other n-grams are dropped.
    sublinear_tf : bool, default=False
        Whether to replace each count c by 1 + ln c. It has no effect if `weighting` is
        "binary".
    smooth_idf : bool, default=True
        Whether the inverse document frequency is ln((1 + n) / (1 + df)) + 1 (True) or
        ln(n / df) + 1 (False). Here, n is the number of documents, and df is the number
        of those that contain the n-gram.
    norm : {"l1", "l2"} or None, default=None
        Norm by which each row is divided. None means no normalization.
    dtype : dtype, default=np.float64
        Data type of the matrix.

    Attributes
    ----------
    n_documents_ : int
        Number of documents seen in `fit`.
    n_ngrams_ : int
        Number of columns.
    idf_ : ndarray of shape (n_ngrams,)
        Inverse document frequencies. Only available if `weighting` is "tf-idf".
    vocabulary_ : dict of str to int
        Column of each n-gram. It is computed at each access.

    See Also
    --------
    skbayes.TextRepresentationSearchCV : Search over the parameters of this vectorizer.

    Notes
    -----
    The columns are sorted by the number of tokens, then n-grams without gaps before
    n-grams with gaps, then by the tokens. If you fit the vectorizer on a subset of the
    documents, its columns are a subset of these columns in the same order.

    Examples
    --------
    >>> from skbayes.text import NGramVectorizer
    >>> vectorizer = NGramVectorizer(ngram_range=(1, 2), max_gap=1)
    >>> vectorizer.fit_transform(["not very good", "very good"]).toarray()
    array([[1., 1., 1., 1., 1., 1.],
           [1., 0., 1., 0., 1., 0.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['good', 'not', 'very', 'not very', 'very good', 'not * good']
    """

    _parameter_constraints: dict = {
        "analyzer": [compat.StrOptions({"word", "char", "char_wb"})],
        "ngram_range": [tuple, list],
        "weighting": [compat.StrOptions({"tf", "tf-idf", "binary"})],
        "lowercase": ["boolean"],
        "token_pattern": [str],
        "stop_words": [str, list, tuple, set, frozenset, None],
        "normalize_numbers": ["boolean"],
        "stemmer": [str, None],
        "max_gap": [compat.Interval(Integral, 0, None, closed="left")],
        "min_df": _DOCUMENTS,
        "max_df": _DOCUMENTS,
        "sublinear_tf": ["boolean"],
        "smooth_idf": ["boolean"],
        "norm": [compat.StrOptions({"l1", "l2"}), None],
        "dtype": "no_validation",
    }

    def __init__(
        self,
        *,
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        weighting: str = "tf",
        lowercase: bool = True,
        token_pattern: str = WORDS,
        stop_words: Any = None,
        normalize_numbers: bool = False,
        stemmer: str | None = None,
        max_gap: int = 0,
        min_df: float = 1,
        max_df: float = 1.0,
        sublinear_tf: bool = False,
        smooth_idf: bool = True,
        norm: str | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.weighting = weighting
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.stop_words = stop_words
        self.normalize_numbers = normalize_numbers
        self.stemmer = stemmer
        self.max_gap = max_gap
        self.min_df = min_df
        self.max_df = max_df
        self.sublinear_tf = sublinear_tf
        self.smooth_idf = smooth_idf
        self.norm = norm
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> NGramVectorizer:
        """Learn the n-grams of the documents, as :meth:`fit_transform` does."""
        self.fit_transform(X)
        return self

    @compat.fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the n-grams of the documents and return their matrix.

        Parameters
        ----------
        X : list, array or Series of str
            The documents.
        y : None
            Ignored.

        Returns
        -------
        counts : csr_matrix of shape (n_documents, n_ngrams)
            Counts or weights of the n-grams.

        Raises
        ------
        TypeError, ValueError
            If `X` contains anything but strings, an argument is invalid, or no n-gram
            remains.
        """
        kinds = self._kinds()
        shared = isinstance(X, CountedTexts)
        counted = X if shared else CountedTexts(Counts(check_texts(X)))
        parts, selected, frequencies = [], [], []
        tables = [counted.counts.table(kind).rows(counted.rows) for kind in kinds]
        if not any(len(table.indices) for table in tables):
            raise ValueError(
                "empty vocabulary; perhaps the documents only contain stop words, or "
                "are shorter than the shortest n-gram"
            )
        for table in tables:
            frequency = np.bincount(table.indices, minlength=len(table.grams))
            chosen = np.flatnonzero(self._within_limits(frequency, len(counted)))
            parts.append(table.columns(chosen))
            selected.append(chosen.astype(np.int32))
            frequencies.append(frequency[chosen])
        if not any(map(len, selected)):
            raise ValueError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df."
            )
        self.n_documents_ = len(counted)
        self.n_ngrams_ = sum(map(len, selected))
        self._fitted_kinds = kinds
        self._selected = selected
        self._counts: Counts | None = counted.counts
        if self.weighting == "tf-idf":
            self.idf_ = self._idf(np.concatenate(frequencies))
        elif hasattr(self, "idf_"):
            del self.idf_
        if shared:
            counted.counts.dependents.append(weakref.ref(self))
        else:
            self.detach()
        return self._weighted(parts)

    def transform(self, X: Any) -> Any:
        """Compute the matrix of the n-grams that were seen in `fit`.

        Parameters
        ----------
        X : list, array or Series of str
            The documents. A TypeError or ValueError is raised for anything else.

        Returns
        -------
        counts : csr_matrix of shape (n_documents, n_ngrams)
            Counts or weights of the n-grams.
        """
        check_is_fitted(self)
        if isinstance(X, CountedTexts) and X.counts is self._counts:
            parts = [
                X.counts.table(kind).rows(X.rows).columns(chosen)
                for kind, chosen in zip(self._fitted_kinds, self._selected, strict=True)
            ]
            return self._weighted(parts)
        self.detach()
        texts = check_texts(X)
        counts = Counts(texts, self._tokens)
        parts = []
        for kind, grams in zip(self._fitted_kinds, self._grams, strict=True):
            table = counts.table(kind)
            parts.append(table.mapped(match_ngrams(table.grams, grams), len(grams)))
        return self._weighted(parts)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray:
        """Return the n-gram of each column, as an array of str objects.

        Words are separated by a space, and each skipped word is replaced by "*".
        """
        check_is_fitted(self)
        self.detach()
        names: list[str] = []
        tokens = np.array(self._tokens, dtype=object)
        space = " " if self._fitted_kinds[0].spec.analyzer == "word" else ""
        for kind, grams in zip(self._fitted_kinds, self._grams, strict=True):
            steps = np.diff(kind.pattern) - 1
            columns = [tokens[grams[:, i]] for i in range(grams.shape[1])]
            joined = columns[0]
            for step, column in zip(steps, columns[1:], strict=True):
                joined = joined + space + f"{_GAP} " * int(step) + column
            names.extend(joined)
        return np.array(names, dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Column of each n-gram."""
        names = self.get_feature_names_out()
        return {name: column for column, name in enumerate(names)}

    def detach(self) -> None:
        """Copy the required part of shared counts before they are removed."""
        if getattr(self, "_counts", None) is None:
            return
        counts, self._counts = self._counts, None
        assert counts is not None
        spec = self._fitted_kinds[0].spec
        grams = [
            counts.table(kind).grams[chosen]
            for kind, chosen in zip(self._fitted_kinds, self._selected, strict=True)
        ]
        vocabulary = list(counts.stream(spec).vocabulary)
        used = np.zeros(len(vocabulary), dtype=bool)
        for tokens in grams:
            used[tokens] = True
        number = np.cumsum(used, dtype=np.int32) - 1
        self._tokens = [vocabulary[place] for place in np.flatnonzero(used)]
        self._grams = [number[tokens] for tokens in grams]
        self._selected = []

    def __getstate__(self) -> dict[str, Any]:
        self.detach()
        return super().__getstate__()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # -- arguments ----------------------------------------------------------------

    def _check_packages(self) -> None:
        """Raise ImportError if the words need a package that is not installed."""
        # Other invalid arguments only affect single fits.
        with contextlib.suppress(TypeError, ValueError):
            self._kinds()

    def _kinds(self) -> list[NgramSpec]:
        low, high = self._checked_range()
        counts_only = self.weighting != "tf-idf" and self.norm is None
        counts_only &= not self.sublinear_tf
        if not counts_only and not np.issubdtype(self.dtype, np.floating):
            raise ValueError(
                f"dtype must be a floating type for weights, got {self.dtype!r}; "
                "integers hold plain counts."
            )
        words = self.analyzer == "word"
        if words and self.stemmer is not None:
            stemmer_of(self.stemmer)
        spec = TokenizerSpec(
            self.analyzer,
            bool(self.lowercase),
            self.token_pattern if words else "",
            stop_word_list(self.stop_words) if words else (),
            bool(self.normalize_numbers),
            self.stemmer if words else None,
        )
        max_gap = int(self.max_gap) if words else 0
        kinds = [NgramSpec(spec, pattern) for pattern in patterns(low, high, max_gap)]
        if self.analyzer == "char_wb":
            # Words shorter than the shortest n-gram are counted as a whole.
            shorter = patterns(3, low - 1)
            kinds = [
                NgramSpec(spec, pattern, whole=True) for pattern in shorter
            ] + kinds
        return kinds

    def _checked_range(self) -> tuple[int, int]:
        pair = tuple(self.ngram_range)
        whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in pair)
        if len(pair) != 2 or not whole or not 1 <= pair[0] <= pair[1]:
            raise ValueError(
                "ngram_range must be two integers (min_n, max_n) with 1 <= min_n <= "
                f"max_n, got {self.ngram_range!r}. Invalid value for ngram_range."
            )
        return int(pair[0]), int(pair[1])

    def _within_limits(self, frequency: Array, n_documents: int) -> Array:
        """Return which n-grams are within the limits of document frequency."""
        low, high = (
            limit if isinstance(limit, Integral) else limit * n_documents
            for limit in (self.min_df, self.max_df)
        )
        if high < low:
            raise ValueError(
                "max_df corresponds to < documents than min_df: "
                f"max_df={self.max_df!r}, min_df={self.min_df!r}, {n_documents} "
                "documents."
            )
        return (frequency > 0) & (frequency >= low) & (frequency <= high)

    # -- numbers ------------------------------------------------------------------

    def _idf(self, frequency: Array) -> Array:
        smooth = int(self.smooth_idf)
        n = self.n_documents_
        return np.log((n + smooth) / (frequency + smooth)) + 1.0

    def _weighted(self, parts: list[sparse.csr_matrix]) -> Any:
        matrix = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
        matrix = sparse.csr_matrix(matrix.astype(self.dtype))
        if self.weighting == "binary":
            matrix.data.fill(1)
        elif self.sublinear_tf:
            np.log(matrix.data, out=matrix.data)
            matrix.data += 1
        if self.weighting == "tf-idf":
            matrix.data *= self.idf_.astype(matrix.dtype, copy=False)[matrix.indices]
        if self.norm is not None:
            matrix = normalize(matrix, norm=self.norm, copy=False)
        return matrix
