"""Bayesian hyper-parameter search for scikit-learn.

- `BayesSearchCV` replaces scikit-learn's `GridSearchCV` and `RandomizedSearchCV`.
- `MultiStageSearchCV` evaluates most trials on a part of the training data.
- `HyperTuneSearchCV` uses trials on small samples to speed up the search on all data.
- `TextRepresentationSearchCV` tunes the n-gram representation and the classifier of raw
  texts.
- `ParetoSearchCV` searches for the Pareto front of several objectives.
- `TradeoffSearchCV` maximizes the score minus a multiple of the cost.
- `models` returns pipelines and a search space for a table.
- `default_space` returns the search space of a known estimator.
- `Real`, `Integer`, `Categorical` and `Choice` are dimensions of search spaces.
- `NoImprovement`, `TargetScore` and `ExpectedImprovementBelow` are stopping rules.
- `Optimizer` optimizes any Python function; the searches are based on it.
- `load_history` reads the journal of a search.
"""

import importlib as _importlib
import pathlib as _pathlib
import typing as _typing
import warnings as _warnings

if _typing.TYPE_CHECKING:
    from skbayes.defaults import default_space, models
    from skbayes.hypertune.search import HyperTuneSearchCV
    from skbayes.loop import ExpectedImprovementBelow, NoImprovement, TargetScore
    from skbayes.multi_stage.search import MultiStageSearchCV
    from skbayes.optimizer import Optimizer
    from skbayes.options.journal.reader import load_history
    from skbayes.pareto.search import ParetoSearchCV
    from skbayes.search.bayes import BayesSearchCV
    from skbayes.space import Categorical, Choice, Integer, Real
    from skbayes.text.search import TextRepresentationSearchCV
    from skbayes.tradeoff.search import TradeoffSearchCV

    __version__: str

__all__ = [
    "BayesSearchCV",
    "Categorical",
    "Choice",
    "ExpectedImprovementBelow",
    "HyperTuneSearchCV",
    "Integer",
    "MultiStageSearchCV",
    "NoImprovement",
    "Optimizer",
    "ParetoSearchCV",
    "Real",
    "TargetScore",
    "TextRepresentationSearchCV",
    "TradeoffSearchCV",
    "default_space",
    "load_history",
    "models",
]

# Imported on first use, so that `import skbayes` is fast.
_HOMES = {
    "BayesSearchCV": "skbayes.search.bayes",
    "Categorical": "skbayes.space",
    "Choice": "skbayes.space",
    "ExpectedImprovementBelow": "skbayes.loop",
    "HyperTuneSearchCV": "skbayes.hypertune.search",
    "Integer": "skbayes.space",
    "MultiStageSearchCV": "skbayes.multi_stage.search",
    "NoImprovement": "skbayes.loop",
    "Optimizer": "skbayes.optimizer",
    "ParetoSearchCV": "skbayes.pareto.search",
    "Real": "skbayes.space",
    "TargetScore": "skbayes.loop",
    "TextRepresentationSearchCV": "skbayes.text.search",
    "TradeoffSearchCV": "skbayes.tradeoff.search",
    "default_space": "skbayes.defaults",
    "load_history": "skbayes.options.journal.reader",
    "models": "skbayes.defaults",
}

# Subpackages, which are also imported on first use.
_PACKAGES = (
    *("acquisition", "benchmark", "defaults", "inspection"),
    *("integration", "loop", "results", "search", "space", "surrogates", "text"),
    *("tracking", "trial"),
)


# A folder of the distribution "sklearn-bayes", which has the same import name.
if (_pathlib.Path(__file__).parent / "rvm_ard_models").is_dir():
    _warnings.warn(
        "The package sklearn-bayes is installed in the same folder, because it has the "
        "same import name. Uninstall it and install skbayes again.",
        stacklevel=2,
    )

if not _typing.TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("skbayes")
        if name in _PACKAGES:
            return _importlib.import_module(f"skbayes.{name}")
        if name not in _HOMES:
            text = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(text, name=name)
        value = getattr(_importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
