"""Evaluation of configurations: folds, training subsets, scores, costs and trials."""

from skbayes.trial.measure import model_size, n_features
from skbayes.trial.records import Fidelity, FoldResult, History, Trial

__all__ = ["Fidelity", "FoldResult", "History", "Trial", "model_size", "n_features"]
__dir__ = __all__.copy
