"""Searches: estimators that tune the hyper-parameters of another estimator."""

from typing import TYPE_CHECKING

from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.hypertune.search import HyperTuneSearchCV
    from skbayes.multi_stage.search import MultiStageSearchCV
    from skbayes.options.ensembles.combination import EnsembleResult
    from skbayes.options.ensembles.weighted import (
        WeightedEnsembleClassifier,
        WeightedEnsembleRegressor,
    )
    from skbayes.pareto.search import ParetoSearchCV
    from skbayes.search.base import BaseBayesSearchCV
    from skbayes.search.bayes import BayesSearchCV
    from skbayes.text.search import TextRepresentationSearchCV
    from skbayes.tradeoff.search import TradeoffSearchCV

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
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    __getattr__ = attributes_of(
        __name__,
        {
            "BaseBayesSearchCV": "skbayes.search.base",
            "BayesSearchCV": "skbayes.search.bayes",
            "EnsembleResult": "skbayes.options.ensembles.combination",
            "HyperTuneSearchCV": "skbayes.hypertune.search",
            "MultiStageSearchCV": "skbayes.multi_stage.search",
            "ParetoSearchCV": "skbayes.pareto.search",
            "TextRepresentationSearchCV": "skbayes.text.search",
            "TradeoffSearchCV": "skbayes.tradeoff.search",
            "WeightedEnsembleClassifier": "skbayes.options.ensembles.weighted",
            "WeightedEnsembleRegressor": "skbayes.options.ensembles.weighted",
        },
    )
