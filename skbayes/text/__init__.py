"""Learners for text, and for other data with many sparse features."""

from skbayes.text.liblinear import LiblinearClassifier

__all__ = ["LiblinearClassifier"]
