"""N-gram features of documents, and linear classifiers for sparse data."""

from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer

__all__ = ["LiblinearClassifier", "NGramVectorizer"]
__dir__ = __all__.copy
