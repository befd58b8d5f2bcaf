"""Searches: estimators that tune the hyper-parameters of another estimator."""

from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.combination import EnsembleResult
from skbayes.search.ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from skbayes.search.hypertune import HyperTuneSearchCV
from skbayes.search.multi_stage import MultiStageSearchCV
from skbayes.search.pareto import ParetoSearchCV
from skbayes.search.text import TextRepresentationSearchCV
from skbayes.search.tradeoff import TradeoffSearchCV

__all__ = [
    "BaseBayesSearchCV",
    "BayesSearchCV",
    "EnsembleResult",
    "HyperTuneSearchCV",
    "MultiStageSearchCV",
    "ParetoSearchCV",
    "TextRepresentationSearchCV",
    "TradeoffSearchCV",
    "WeightedEnsembleClassifier",
    "WeightedEnsembleRegressor",
]


def __dir__() -> list[str]:
    return sorted(__all__)
