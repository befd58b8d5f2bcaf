"""Texts as n-grams, and learners for them and other data with many sparse features."""

from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer

__all__ = ["LiblinearClassifier", "NGramVectorizer"]


def __dir__() -> list[str]:
    return sorted(__all__)
