"""Evaluation of configurations: folds, training subsets, scores, costs and trials."""

from skbayes.evaluation.measure import model_size, n_features
from skbayes.evaluation.trial import FoldResult, History, Trial

__all__ = ["FoldResult", "History", "Trial", "model_size", "n_features"]
__dir__ = __all__.copy
