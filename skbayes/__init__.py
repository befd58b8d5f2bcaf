"""Bayesian hyper-parameter search for scikit-learn.

- `BayesSearchCV` replaces scikit-learn's `GridSearchCV` and `RandomizedSearchCV`.
- `MultiStageSearchCV` evaluates most trials on a part of the training data.
- `HyperTuneSearchCV` uses trials on small samples to speed up the search on all data.
- `TextRepresentationSearchCV` tunes the n-gram representation and the classifier of raw
  texts.
- `ParetoSearchCV` searches for the Pareto front of several objectives.
- `TradeoffSearchCV` maximizes the score minus a multiple of the cost.
- `Optimizer` optimizes any Python function; the searches are based on it.
- `load_history` reads the journal of a search.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skbayes import acquisition as acquisition
    from skbayes import benchmark as benchmark
    from skbayes import evaluation as evaluation
    from skbayes import inspection as inspection
    from skbayes import integration as integration
    from skbayes import loop as loop
    from skbayes import results as results
    from skbayes import space as space
    from skbayes import spaces as spaces
    from skbayes import surrogates as surrogates
    from skbayes import text as text
    from skbayes import tracking as tracking
    from skbayes.journal.reader import load_history
    from skbayes.optimizer import Optimizer
    from skbayes.search.bayes import BayesSearchCV
    from skbayes.search.ensemble import (
        WeightedEnsembleClassifier,
        WeightedEnsembleRegressor,
    )
    from skbayes.search.hypertune import HyperTuneSearchCV
    from skbayes.search.multi_stage import MultiStageSearchCV
    from skbayes.search.pareto import ParetoSearchCV
    from skbayes.search.text import TextRepresentationSearchCV
    from skbayes.search.tradeoff import TradeoffSearchCV

    __version__: str

__all__ = [
    "BayesSearchCV",
    "HyperTuneSearchCV",
    "MultiStageSearchCV",
    "Optimizer",
    "ParetoSearchCV",
    "TextRepresentationSearchCV",
    "TradeoffSearchCV",
    "WeightedEnsembleClassifier",
    "WeightedEnsembleRegressor",
    "load_history",
]

# Imported on first use, so that `import skbayes` is fast.
_HOMES = {
    "BayesSearchCV": "skbayes.search.bayes",
    "HyperTuneSearchCV": "skbayes.search.hypertune",
    "MultiStageSearchCV": "skbayes.search.multi_stage",
    "Optimizer": "skbayes.optimizer",
    "ParetoSearchCV": "skbayes.search.pareto",
    "TextRepresentationSearchCV": "skbayes.search.text",
    "TradeoffSearchCV": "skbayes.search.tradeoff",
    "WeightedEnsembleClassifier": "skbayes.search.ensemble",
    "WeightedEnsembleRegressor": "skbayes.search.ensemble",
    "load_history": "skbayes.journal.reader",
}

# Subpackages, which are also imported on first use.
_PACKAGES = (
    *("acquisition", "benchmark", "evaluation", "inspection", "integration", "loop"),
    *("results", "space", "spaces", "surrogates", "text", "tracking"),
)


# A folder of the distribution "sklearn-bayes", which has the same import name.
if (Path(__file__).parent / "rvm_ard_models").is_dir():
    warnings.warn(
        "The package sklearn-bayes is installed in the same folder, because it has the "
        "same import name. Uninstall it and install skbayes again.",
        stacklevel=2,
    )

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("skbayes")
        if name in _PACKAGES:
            return importlib.import_module(f"skbayes.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
