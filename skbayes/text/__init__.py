"""N-gram features of documents, and linear classifiers for sparse data."""

from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer

__all__ = ["LiblinearClassifier", "NGramVectorizer"]


def __dir__() -> list[str]:
    return sorted(__all__)
