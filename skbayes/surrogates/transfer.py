"""Surrogates that use scores of other data, or of other fidelities.

Ranking-weighted Gaussian process ensemble, Feurer, Letham & Bakshy (2018), "Scalable
meta-learning for Bayesian optimization", with the bootstrap weights of their later
implementation.

Symbols (n scores of the current search, D columns, k sources, B bootstrap samples):

- source: configurations and scores of an earlier search on other data. Its scores are
  replaced by normal quantiles of their ranks, because scores on other data have another
  unit.
- ``X``, ``y``, ``fidelities``: m configurations, their scores at other fidelities, and
  these fidelities.
- ``z_i(x)``: mean of the process of source i at x, in these units.
- ``w``: (k + 1,) weights of the sources, and of the surrogate of the current search.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import (
    Surrogate,
    known_means,
    posterior_of_mean,
    predict,
    standardize,
)
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.registry import capability, make_surrogate

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates

# A source with fewer scores is ignored.
MIN_SCORES = 3

# With fewer scores of the current search, there is no ranking, and all sources have the
# same weight.
MIN_RANKED = 2

# Maximum number of scores of a source that are used: one half are the best ones.
MAX_POINTS = 200

N_BOOTSTRAP = 256

# A source is excluded if its median loss exceeds this quantile of the losses of the
# current search's surrogate. Otherwise, many sources that are each the best by chance
# would reduce the weight of this surrogate (Feurer et al., "weight dilution"; they use
# 0.95).
DILUTION_QUANTILE = 0.2

# Number of cross-validation folds for surrogates without leave-one-out predictions.
N_FOLDS = 5


@dataclass(frozen=True)
class Source:
    """Results of an earlier search on other data.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations, encoded by the space of the new search; NaN where a parameter is
        inactive or unknown.
    y : ndarray of shape (n,)
        Scores of the configurations, finite; greater is better, unless they are passed
        to an optimizer that minimizes.
    """

    X: FloatArray
    y: FloatArray

    @property
    def known(self) -> np.ndarray:
        """Mask of the columns in which the source has values, shape (D,), bool."""
        return ~np.all(np.isnan(self.X), axis=0)


class SourceModel:
    """Gaussian process of a source, in the columns in which it has values."""

    def __init__(self, source: Source, n_options: list[int]) -> None:
        self.known = source.known
        rows = _learned_rows(source.y)
        X, y = source.X[rows], source.y[rows]
        z = ndtri((rankdata(y) - 0.5) / len(y))
        self._process = GaussianProcess(n_options=n_options, n_samples=0).fit(X, z)

    def predict(
        self, X: FloatArray, gradient: bool = False
    ) -> tuple[FloatArray, FloatArray | None]:
        """Predict means (m,), and with `gradient` their derivatives (m, D)."""
        X = np.where(self.known, X, np.nan)
        if not gradient:
            return self._process.predict(X)[0][0], None
        mean, _, d_mean, _ = self._process.predict(X, gradient=True)
        return mean[0], np.where(np.isnan(X), 0.0, d_mean[0])


def _learned_rows(y: FloatArray) -> np.ndarray:
    """Return the indices of the scores that are used."""
    if len(y) <= MAX_POINTS:
        return np.arange(len(y))
    best, others = np.split(np.argsort(-y, kind="stable"), [MAX_POINTS // 2])
    places = np.linspace(0, len(others) - 1, MAX_POINTS - len(best)).astype(int)
    return np.sort(np.concatenate([best, others[places]]))


class TransferSurrogate(Surrogate):
    """Weighted mean of a surrogate and the Gaussian processes of earlier searches.

    The weight of an earlier search depends on how well its ranking agrees with the
    observed scores. The standard deviation is that of the surrogate alone. It is
    therefore small near observed and pending configurations.

    Parameters
    ----------
    surrogate : str or object
        Surrogate of the current search, as a name, such as "gp", or as an object. It
        must predict scores.
    sources : sequence of Source
        Earlier searches, each with at least three scores.
    random_state : int, default=0
        Seed of the bootstrap, and of a surrogate that is given by name.

    Attributes
    ----------
    weights_ : ndarray of shape (k + 1,)
        Weights of the k sources and of the surrogate of the current search, with sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.space import Space
    >>> from skbayes.space.candidates import Candidates
    >>> from skbayes.surrogates import Source, TransferSurrogate
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
        """Create the surrogate and the models of the sources for a space."""
        n_options = candidates.space.n_options
        self.models = [SourceModel(source, n_options) for source in self.sources]
        self._target = make_surrogate(self.surrogate, candidates, self.random_state)

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> TransferSurrogate:
        """Fit the surrogate to the current search, and compute the weights."""
        more = {} if noise is None else {"noise": noise}
        _, self._offset, self._unit = standardize(y, winsorize=True)
        self._target = self._target.fit(X, y, **more)
        k = len(self.models)
        if len(y) < MIN_RANKED:
            self.weights_ = np.append(np.full(k, 1.0 / k), 0.0)
            return self
        sources = np.array([model.predict(X)[0] for model in self.models])
        left_out = self._predict_each(X, y, more)
        rng = np.random.default_rng((self.random_state, len(y)))
        self.weights_ = ranking_weights(sources, left_out, y, rng)
        return self

    def _predict_each(self, X: FloatArray, y: FloatArray, more: Any) -> FloatArray:
        """Predict each score from the other scores."""
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

    def condition(self, X: FloatArray) -> TransferSurrogate:  # noqa: D102
        model = copy.copy(self)
        model._target = self._target.condition(X)
        return model

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Predict the mean of the score, and the surrogate's standard deviation."""
        weight_of_target = self.weights_[-1]
        mean, sd, *slopes = predict(self._target, X, gradient)
        prior, d_prior = np.zeros(len(X)), np.zeros(X.shape)
        for weight, model in zip(self.weights_, self.models, strict=False):
            if weight > 0.0:
                z, d_z = model.predict(X, gradient)
                prior += weight * z
                if d_z is not None:
                    d_prior += weight * d_z
        mean = (
            weight_of_target * mean
            + (1.0 - weight_of_target) * self._offset
            + self._unit * prior
        )
        if not gradient:
            return mean, sd
        return mean, sd, weight_of_target * slopes[0] + self._unit * d_prior, slopes[1]


def ranking_weights(
    sources: FloatArray, left_out: FloatArray, y: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Compute the weights (k + 1,) of models from their rankings of bootstrap samples.

    The weight of a model is the share of bootstrap samples that it ranks best. The last
    one is that of the surrogate of the current search. `sources` (k, n) are predictions
    of the sources, and `left_out` (n,) those of each score from the others.
    """
    order = np.sign(y[:, None] - y)
    guesses = [np.sign(prediction[:, None] - prediction) for prediction in sources]
    # Feurer et al., equation 4: leave-one-out predictions against the observed scores.
    guesses.append(np.sign(left_out[:, None] - y))
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


class MultiFidelity(Surrogate):
    """Surrogate with the fidelity of a score as an additional input.

    Each fit also uses the scores `y` (m,) of the configurations `X` (m, D) at other
    `fidelities` (m,) in [0, 1], for example on smaller training sets. Scores are
    observed and predicted at the target `fidelity`. The surrogate's hyper-parameters of
    the fidelity, such as its length scale, determine the influence of scores at other
    fidelities. The surrogate is copied. Its attribute `n_options` must be that of the D
    columns, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GaussianProcess
    >>> from skbayes.surrogates.transfer import MultiFidelity
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> cheap = np.sin(6 * X[:, 0])
    >>> model = MultiFidelity(GaussianProcess(n_samples=0), X, cheap, np.full(9, 0.5))
    >>> known = np.linspace(0, 1, 4)[:, None]
    >>> model = model.fit(known, np.sin(6 * known[:, 0]) + 0.1)
    >>> mean, sd = model.predict(X)
    >>> (mean - cheap).round(1)
    array([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]])
    """

    def __init__(
        self,
        surrogate: Any,
        X: FloatArray,
        y: FloatArray,
        fidelities: FloatArray,
        fidelity: float = 1.0,
    ) -> None:
        self.surrogate = copy.deepcopy(surrogate)
        self._earlier = np.column_stack([X, fidelities])
        self._y = np.asarray(y, dtype=np.float64)
        self.fidelity = fidelity
        if getattr(self.surrogate, "n_options", None) is not None:
            self.surrogate.n_options = [*self.surrogate.n_options, 0]
        self.has_gradients = capability(self.surrogate, "has_gradients")
        self.takes_noise = capability(self.surrogate, "takes_noise")

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> MultiFidelity:
        """Fit the surrogate to scores, together with those at other fidelities."""
        more = {}
        if noise is not None:
            more["noise"] = np.concatenate([noise, np.zeros(len(self._y))])
        # Scores at the target fidelity first: with many scores, a Gaussian process
        # learns its hyper-parameters from the first ones.
        self.surrogate = self.surrogate.fit(
            np.vstack([self._widened(X), self._earlier]),
            np.concatenate([y, self._y]),
            **more,
        )
        return self

    def condition(self, X: FloatArray) -> MultiFidelity:
        """Return a surrogate conditioned on pending configurations `X`."""
        model = copy.copy(self)
        model.surrogate = self.surrogate.condition(self._widened(X))
        return model

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Predict the mean and standard deviation at the target fidelity."""
        mean, sd, *derivatives = predict(self.surrogate, self._widened(X), gradient)
        return mean, sd, *(derivative[..., :-1] for derivative in derivatives)

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean at known configurations of the target fidelity."""
        return known_means(self.surrogate, self._widened(X))

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores."""
        return posterior_of_mean(self.surrogate, self._widened(X), weights)

    def _widened(self, X: FloatArray) -> FloatArray:
        return np.column_stack([X, np.full(len(X), self.fidelity)])
