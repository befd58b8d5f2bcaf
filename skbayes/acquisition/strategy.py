"""From what is known to what ranks the configurations that are to be had."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from skbayes.acquisition.base import Known, ModelProposer, Strategy
from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    FloatArray,
)
from skbayes.acquisition.influence import ExpectedInfluence, InfluenceStrategy
from skbayes.acquisition.random_search import RandomStrategy, SobolStrategy
from skbayes.acquisition.tpe import TPEStrategy
from skbayes.space.candidates import Candidates
from skbayes.surrogates.graph_field import GraphField
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.registry import make_surrogate

__all__ = ["ModelStrategy", "learn", "make_strategy"]

# Surrogates that rank configurations, if at all, by something else than scores.
UNMODELLED = ("random", "sobol", "tpe")


def learn(model: Any, known: Known, y: FloatArray | None = None) -> tuple[Any, Any]:
    """Fit a surrogate to what is known and condition it on what is pending.

    Parameters
    ----------
    model : object
        The surrogate.
    known : Known
        What is known.
    y : ndarray of shape (n,), default=None
        Scores to learn, all finite. None: ``known.y``.

    Returns
    -------
    surrogate : object
        The surrogate that knows all of it.
    best_f : ndarray of shape (S, 1)
        The best that it believes of what is known or pending.
    """
    # A surrogate need not know of noise unless there is some.
    noise = {"noise": known.noise} if np.any(known.noise) else {}
    surrogate = model.fit(known.X, known.y if y is None else y, **noise)
    X = known.X
    if len(known.pending):
        surrogate = surrogate.condition(known.pending)
        X = np.vstack([X, known.pending])
    # The best score is partly luck where scores are noisy, as those of a few folds
    # are; the best of what the model makes of the scores is not. What is pending
    # counts as if it were told, or all would be asked for around the same place.
    return surrogate, np.max(surrogate.predict(X)[0], axis=1, keepdims=True)


class ModelStrategy:
    """A surrogate and an acquisition function of its predictions.

    Parameters
    ----------
    surrogate : object
        ``fit``, ``predict`` and ``condition``.
    acquisition : Acquisition
        Utility of a prediction.
    """

    n_initial_points = None
    needs_scores = True

    def __init__(self, surrogate: Any, acquisition: Acquisition) -> None:
        self.surrogate = surrogate
        self.acquisition = acquisition

    def proposer(self, known: Known) -> ModelProposer:
        """Learn from what is known.

        Parameters
        ----------
        known : Known
            What is known; at least one score.

        Returns
        -------
        proposer : ModelProposer
            What ranks candidates.
        """
        surrogate, best_f = learn(self.surrogate, known)
        return ModelProposer(surrogate, self.acquisition, best_f)


def make_strategy(
    surrogate: Any,
    acquisition: Acquisition | ExpectedInfluence,
    candidates: Candidates,
    seed: int,
) -> Strategy:
    """Put a surrogate and an acquisition together.

    Parameters
    ----------
    surrogate : str or object
        Checked by :func:`skbayes.optimizer.validation.check_surrogate`.
    acquisition : Acquisition or ExpectedInfluence
        Made by :func:`skbayes.optimizer.validation.check_acquisition`.
    candidates : Candidates
        The configurations among which it will choose.
    seed : int
        Source of randomness.

    Returns
    -------
    strategy : Strategy
        What makes proposers.

    Raises
    ------
    ImportError
        If the surrogate needs a library that is not installed.
    ValueError
        If the two do not go together, or not with this space.
    """
    if isinstance(surrogate, ParzenEstimator) or surrogate in UNMODELLED:
        if not isinstance(acquisition, ExpectedImprovement):
            raise ValueError(
                f"acquisition {type(acquisition).__name__} cannot be used with "
                f"surrogate {_named(surrogate)}, which does not predict scores: leave "
                "it at 'ei'."
            )
        return _unmodeled(surrogate, candidates, seed)
    if not isinstance(acquisition, ExpectedInfluence):
        return ModelStrategy(make_surrogate(surrogate, candidates, seed), acquisition)
    if not (isinstance(surrogate, GraphField) or surrogate == "graph"):
        raise ValueError(
            "acquisition 'eif', expected influence, is defined on a graph of all "
            f"configurations: it needs surrogate='graph', got {_named(surrogate)}."
        )
    field = make_surrogate(surrogate, candidates, seed)
    return InfluenceStrategy(field.graph, acquisition)


def _unmodeled(surrogate: Any, candidates: Candidates, seed: int) -> Strategy:
    if surrogate == "random":
        return RandomStrategy()
    if surrogate == "sobol":
        return SobolStrategy(seed)
    estimator = ParzenEstimator() if surrogate == "tpe" else copy.copy(surrogate)
    return TPEStrategy(estimator, candidates.space)


def _named(surrogate: Any) -> str:
    return repr(surrogate) if isinstance(surrogate, str) else type(surrogate).__name__
