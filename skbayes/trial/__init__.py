"""Evaluation of configurations: folds, training subsets, scores, costs and trials."""

from skbayes.trial.measure import model_size, n_features
from skbayes.trial.records import FoldResult, History, Trial

__all__ = ["FoldResult", "History", "Trial", "model_size", "n_features"]
__dir__ = __all__.copy
