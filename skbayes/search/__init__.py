"""The searches: scikit-learn estimators that tune another one."""

from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.hypertune import HyperTuneSearchCV
from skbayes.search.pareto import ParetoSearchCV
from skbayes.search.text import TextRepresentationSearchCV

__all__ = [
    "BaseBayesSearchCV",
    "BayesSearchCV",
    "HyperTuneSearchCV",
    "ParetoSearchCV",
    "TextRepresentationSearchCV",
]
