"""Texts: n-grams of words and characters, and what learns from them."""

from skbayes.text.ngrams import NGramVectorizer

__all__ = ["NGramVectorizer"]
