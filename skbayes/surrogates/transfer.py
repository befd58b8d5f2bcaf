"""Surrogate that uses the rankings of earlier searches on other data.

Ranking-weighted Gaussian process ensemble, Feurer, Letham & Bakshy (2018), "Scalable
meta-learning for Bayesian optimization", with the weights by bootstrap of their later
implementation.

Symbols (n scores of the search itself, D columns, k sources, B bootstrap samples):

- source: configurations and scores of an earlier search on other data. Its scores are
  replaced by normal quantiles of their ranks, as other data have another unit.
- ``z_i(x)``: what the process of source i expects at x, in these units.
- ``w``: (k + 1,) weights of the sources, and of the model of the search itself.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Surrogate
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.registry import capability, make_surrogate
from skbayes.surrogates.scaling import standardize

__all__ = ["Source", "SourceModel", "TransferSurrogate", "ranking_weights"]

# A source with fewer scores is ignored.
MIN_SCORES = 3

# With fewer scores of the search itself there is no ranking, and all sources have the
# same weight.
MIN_RANKED = 2

# Of a source at most so many scores are learned from: the best half, and others.
MAX_POINTS = 200

N_BOOTSTRAP = 256

# A source is left out if its median loss exceeds this quantile of the losses of the
# search's own model: many sources that are each the best by chance would leave it
# little weight (Feurer et al., "weight dilution"; they have 0.95).
DILUTION_QUANTILE = 0.2

# A model that cannot predict each score from the others is fitted so many times.
N_FOLDS = 5


@dataclass(frozen=True)
class Source:
    """Results of an earlier search on other data.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations, encoded by the space of the search to come; NaN where a
        parameter is inactive or unknown.
    y : ndarray of shape (n,)
        Scores of the configurations, finite; greater is better.
    """

    X: FloatArray
    y: FloatArray

    @property
    def known(self) -> np.ndarray:
        """Which columns the source has values in, shape (D,), bool."""
        return ~np.all(np.isnan(self.X), axis=0)


class SourceModel:
    """Gaussian process of a source, in the columns that the source knows."""

    def __init__(self, source: Source, n_options: list[int]) -> None:
        self.known = source.known
        rows = _learned_rows(source.y)
        X, y = source.X[rows], source.y[rows]
        z = ndtri((rankdata(y) - 0.5) / len(y))
        self._process = GaussianProcess(n_options=n_options, n_samples=0).fit(X, z)

    def predict(
        self, X: FloatArray, gradient: bool = False
    ) -> tuple[FloatArray, FloatArray | None]:
        """Predict means (m,), with `gradient` also their derivatives (m, D)."""
        X = np.where(self.known, X, np.nan)
        if not gradient:
            return self._process.predict(X)[0][0], None
        mean, _, d_mean, _ = self._process.predict(X, gradient=True)
        return mean[0], np.where(np.isnan(X), 0.0, d_mean[0])


def _learned_rows(y: FloatArray) -> np.ndarray:
    """Places of the scores that are learned from."""
    if len(y) <= MAX_POINTS:
        return np.arange(len(y))
    best, others = np.split(np.argsort(-y, kind="stable"), [MAX_POINTS // 2])
    places = np.linspace(0, len(others) - 1, MAX_POINTS - len(best)).astype(int)
    return np.sort(np.concatenate([best, others[places]]))


class TransferSurrogate(Surrogate):
    """Weighted mean of a surrogate and of the Gaussian processes of sources.

    The standard deviation is that of the surrogate alone, so that it is small near
    configurations that were told or are pending.

    Parameters
    ----------
    surrogate : str or object
        The model of the search itself, by name, such as "gp", or as an object. It must
        predict scores.
    sources : sequence of Source
        Earlier searches, each with at least three scores.
    random_state : int, default=0
        Seed of the bootstrap, and of a surrogate that is given by name.

    Attributes
    ----------
    weights_ : ndarray of shape (k + 1,)
        Weights of the sources, and of the model of the search itself; they sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.space import Space
    >>> from skbayes.space.candidates import Candidates
    >>> from skbayes.surrogates.transfer import Source, TransferSurrogate
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> sources = [Source(X, -np.square(X[:, 0] - 0.7))]
    >>> model = TransferSurrogate("gp", sources)
    >>> model.prepare(Candidates(Space.from_notation({"x": (0.0, 1.0)})))
    >>> mean, sd = model.fit(X[[0]], np.array([0.5])).predict(X)
    >>> int(np.argmax(mean[0]))
    6
    """

    def __init__(
        self, surrogate: Any, sources: Sequence[Source], random_state: int = 0
    ) -> None:
        self.surrogate = surrogate
        self.sources = sources
        self.random_state = random_state
        self.has_gradients = bool(capability(surrogate, "has_gradients"))
        self.takes_noise = bool(capability(surrogate, "takes_noise"))

    def prepare(self, candidates: Candidates) -> None:
        """Make the models for a space."""
        n_options = candidates.space.n_options
        self.models = [SourceModel(source, n_options) for source in self.sources]
        self._target = make_surrogate(self.surrogate, candidates, self.random_state)

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> TransferSurrogate:
        """Learn from the scores of the search itself, and weigh the sources by them."""
        more = {} if noise is None else {"noise": noise}
        _, self._offset, self._unit = standardize(y, winsorize=True)
        self._target = self._target.fit(X, y, **more)
        k = len(self.models)
        if len(y) < MIN_RANKED:
            self.weights_ = np.append(np.full(k, 1.0 / k), 0.0)
            return self
        sources = np.array([model.predict(X)[0] for model in self.models])
        own = self._predict_each(X, y, more)
        rng = np.random.default_rng((self.random_state, len(y)))
        self.weights_ = ranking_weights(sources, own, y, rng)
        return self

    def _predict_each(self, X: FloatArray, y: FloatArray, more: Any) -> FloatArray:
        """Predict each score from the others."""
        if hasattr(self._target, "leave_one_out"):
            return np.mean(self._target.leave_one_out()[0], axis=0)
        predicted = np.empty(len(y))
        n_folds = min(N_FOLDS, len(y))
        for fold in range(n_folds):
            test = np.arange(len(y)) % n_folds == fold
            kept = {name: value[~test] for name, value in more.items()}
            model = copy.deepcopy(self._target).fit(X[~test], y[~test], **kept)
            predicted[test] = np.mean(model.predict(X[test])[0], axis=0)
        return predicted

    def condition(self, X: FloatArray) -> TransferSurrogate:
        """Model that also knows that `X` will be observed."""
        model = copy.copy(self)
        model._target = self._target.condition(X)
        return model

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Mean and standard deviation of the score; the latter of the search's own."""
        own = self.weights_[-1]
        mean, sd, *slopes = self._target.predict(
            X, **({"gradient": True} if gradient else {})
        )
        prior, d_prior = np.zeros(len(X)), np.zeros(X.shape)
        for weight, model in zip(self.weights_, self.models, strict=False):
            if weight > 0.0:
                z, d_z = model.predict(X, gradient)
                prior += weight * z
                if d_z is not None:
                    d_prior += weight * d_z
        mean = own * mean + (1.0 - own) * self._offset + self._unit * prior
        if not gradient:
            return mean, sd
        return mean, sd, own * slopes[0] + self._unit * d_prior, slopes[1]


def ranking_weights(
    sources: FloatArray, own: FloatArray, y: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Weigh models by how often each ranks bootstrap samples of the scores best.

    Parameters
    ----------
    sources : ndarray of shape (k, n)
        Predictions of the sources.
    own : ndarray of shape (n,)
        Prediction of each score from the others, in units of the score.
    y : ndarray of shape (n,)
        Scores.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    weights : ndarray of shape (k + 1,)
        Those of the sources and of the model of the search itself, which sum to 1.
    """
    order = np.sign(y[:, None] - y)
    guesses = [np.sign(one[:, None] - one) for one in sources]
    # Feurer et al., equation 4: a score that was left out against those that were not.
    guesses.append(np.sign(own[:, None] - y))
    misranked = 0.5 * (1.0 - np.array(guesses) * order) * (order != 0.0)
    n = len(y)
    counts = rng.multinomial(n, np.full(n, 1.0 / n), size=N_BOOTSTRAP).astype(float)
    losses = np.einsum("bj,ijk,bk->ib", counts, misranked, counts, optimize=True)
    bound = np.quantile(losses[-1], DILUTION_QUANTILE)
    diluting = np.median(losses, axis=1) > bound
    diluting[-1] = False
    losses[diluting] = np.inf
    best = losses == np.min(losses, axis=0)
    return np.mean(best / np.sum(best, axis=0), axis=1)
