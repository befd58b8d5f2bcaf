"""Ask for a configuration, tell its score: the search without any estimator.

Symbols: ``k`` is the number of configurations told or pending when one is asked for.
Proposal k is a pure function of the space, the settings, what was told or learnt from
an earlier search, what is pending, the seed and k: it has a random generator of its
own, and what the surrogate keeps from one proposal to the next it would compute again
just so.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.acquisition.maximize import sobol
from skbayes.acquisition.proposer import Known
from skbayes.acquisition.strategy import make_strategy
from skbayes.arguments import (
    check_acquisition,
    check_cost,
    check_initial_points,
    check_n_initial_points,
    check_noise,
    check_random_state,
    check_score,
    check_surrogate,
)
from skbayes.blas import one_blas_thread
from skbayes.candidates import Candidates, SpaceExhausted, key_of
from skbayes.costs import CostModel
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.by_name import n_options_of

__all__ = ["Optimizer", "SpaceExhausted"]

Params = dict[str, Any]


@dataclass
class _Observations:
    """Encoded configurations, their scores (NaN: failed) and the scores' variances."""

    rows: list[FloatArray] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)

    def add(self, row: FloatArray, score: float, noise: float) -> None:
        self.rows.append(row)
        self.scores.append(score)
        # A failure is taken for the worst score, of which nothing is uncertain.
        self.noise.append(0.0 if math.isnan(score) else noise)


class Optimizer:
    """Propose configurations, learn from their scores; maximises.

    It knows no estimator and no data: use it for any Python function.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space
        What may be chosen, in any notation of
        :meth:`skbayes.space.Space.from_notation`.
    surrogate : {"gp"} or object, default="gp"
        Model of the score: "gp" for :class:`skbayes.surrogates.GaussianProcess`, or an
        instance with ``fit(X, y)``, ``predict(X, gradient)`` and ``condition(X)``.
        For scores told with `noise` it takes ``fit(X, y, noise)``.
    acquisition : {"ei", "pi", "ucb"} or Acquisition, default="ei"
        What a proposal maximises: expected improvement, probability of improvement,
        upper confidence bound, or an instance.
    n_initial_points : int or "auto", default="auto"
        Configurations told, learnt or proposed before the model decides;
        `initial_points` count. The first is the middle of all ranges with the first
        option of each list that is not numeric, the others are spread evenly
        (scrambled Sobol). 0: the model decides as soon as one score is known.
        "auto": 3.
    initial_points : list of dict, default=None
        Configurations to propose first.
    constraint : callable, default=None
        ``constraint(params) -> bool``; configurations for which it is False are never
        proposed.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness; an int makes proposals reproducible.

    Attributes
    ----------
    space : Space
        The space.
    last_expected_improvement : float or None
        How much better than the best score the last proposal was expected to be, in
        units of the score, on average and counting what is worse as 0; whatever the
        acquisition. None if the model did not make the proposal.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong; the message names it, or the parameter of the space.

    See Also
    --------
    skbayes.BayesSearchCV : Search for an estimator's hyper-parameters.

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> optimizer = Optimizer({"x": (-5.0, 5.0), "power": [2, 4]}, random_state=0)
    >>> for _ in range(15):
    ...     (params,) = optimizer.ask()
    ...     optimizer.tell(params, -abs(params["x"] - 1) ** params["power"])
    >>> abs(optimizer.best_params["x"] - 1) < 0.5
    True
    """

    def __init__(
        self,
        search_spaces: Any,
        *,
        surrogate: Any = "gp",
        acquisition: Any = "ei",
        n_initial_points: int | str = "auto",
        initial_points: Sequence[Mapping[str, Any]] | None = None,
        constraint: Callable[[Params], bool] | None = None,
        random_state: Any = None,
    ) -> None:
        self.space = Space.from_notation(search_spaces, constraint)
        self.surrogate = check_surrogate(surrogate)
        self.acquisition = check_acquisition(acquisition)
        self._seed = check_random_state(random_state)
        self._costs = CostModel(n_options_of(self.space))
        self._told, self._learnt = _Observations(), _Observations()
        # Told and comparable: neither failed nor cut short.
        self._eligible: list[tuple[float, Params]] = []
        self._pending: dict[bytes, FloatArray] = {}
        self._candidates = Candidates(self.space)
        self._strategy = make_strategy(
            self.surrogate, self.acquisition, self._candidates, self._seed
        )
        self._n_initial = check_n_initial_points(
            n_initial_points, self._strategy.n_initial_points
        )
        self._queue = check_initial_points(initial_points, self.space)
        self._design = self._draw_design()
        self.last_expected_improvement: float | None = None

    # -- the two calls ------------------------------------------------------------

    def ask(self, n: int = 1) -> list[Params]:
        """Propose configurations.

        Parameters
        ----------
        n : int, default=1
            How many. Each is chosen with the others pending.

        Returns
        -------
        params : list of dict
            Configurations that were neither told nor asked for before, at most `n`:
            fewer where the space has no more. Keys are sorted by name.

        Raises
        ------
        ValueError
            If `n` is not a positive integer, or the constraint raises an exception.
        SpaceExhausted
            If no new configuration is left.
        """
        if not isinstance(n, numbers.Integral) or n < 1:
            raise ValueError(f"n must be an integer >= 1, got {n!r}.")
        params: list[Params] = []
        improvement: float | None = None
        with one_blas_thread():
            try:
                for _ in range(int(n)):
                    one, improvement = self._next()
                    params.append(one)
                    self.pend(one)
            except SpaceExhausted:
                if not params:
                    raise
            except BaseException:
                # Nobody will ever tell what was never returned.
                for one in params:
                    self._withdraw(self.space.encode([one])[0])
                raise
        self.last_expected_improvement = improvement
        return params

    def tell(
        self,
        params: Mapping[str, Any],
        score: float,
        *,
        cost: float | None = None,
        noise: float | None = None,
        censored: bool = False,
    ) -> None:
        """Learn the score of a configuration.

        Parameters
        ----------
        params : dict
            A configuration of the space, asked for or not; it may be told again.
        score : float
            Its score, greater is better. NaN (or an infinity) says that it failed:
            the model then takes it for as bad as the worst score known.
        cost : float, default=None
            What it cost to find out, > 0, in seconds or any other unit; see
            :meth:`expected_cost`.
        noise : float, default=None
            Known variance of `score`, in squared units of it, on top of the noise
            that all scores share and that is learnt: for scores that are less certain
            than others. None: 0.
        censored : bool, default=False
            Whether the trial was cut short, so that it would have cost more than
            `cost`. Its score may be NaN, or what is known by then, with its `noise`;
            it is not eligible for :attr:`best_params`.

        Raises
        ------
        TypeError
            If `score`, `cost` or `noise` is not a number, or `censored` no bool.
        ValueError
            If `params` is not a configuration of the space, a number is out of range,
            `censored` comes without a cost, or `noise` is told to an optimiser whose
            `surrogate` cannot take it.
        """
        value, cost = check_score(score), check_cost(cost, censored)
        variance = check_noise(noise, self.surrogate)
        row, own = self.space.encode([params])[0], self.space.own(params)
        self._pending.pop(key_of(row), None)
        self._candidates.add(row)
        self._told.add(row, value, variance)
        if not (censored or math.isnan(value)):
            self._eligible.append((value, own))
        if cost is not None:
            self._costs.add(row, cost, censored)

    # -- besides ------------------------------------------------------------------

    def pend(self, params: Mapping[str, Any]) -> None:
        """Take a configuration as asked for, as if :meth:`ask` had just returned it.

        To continue an interrupted run: tell what was told and pend what was asked
        for, each in the order of old, and the proposals that follow are the same.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = self.space.encode([params])[0]
        self._pending[key_of(row)] = row
        self._candidates.add(row)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Propose a configuration as soon as those of `initial_points` are known.

        Parameters
        ----------
        params : dict
            A configuration of the space; it is not proposed if it is known by then.

        Raises
        ------
        ValueError
            If it is not a configuration of the space, or the constraint forbids it.
        """
        self._queue += check_initial_points([params], self.space)

    def forget(self, params: Mapping[str, Any]) -> None:
        """Give up a configuration that was asked for and will never be told.

        Parameters
        ----------
        params : dict
            A pending configuration. It may be asked for again, unless it was told
            before.

        Raises
        ------
        ValueError
            If it is not pending, or no configuration of the space.
        """
        row = self.space.encode([params])[0]
        if key_of(row) not in self._pending:
            raise ValueError(f"params: {dict(params)!r} is not pending.")
        self._withdraw(row)

    def _withdraw(self, row: FloatArray) -> None:
        key = key_of(row)
        self._pending.pop(key, None)
        if key not in map(key_of, self._told.rows):
            self._candidates.discard(row)

    def learn(
        self, params: Mapping[str, Any], score: float, noise: float | None = None
    ) -> None:
        """Take knowledge from an earlier search, at any time.

        The model sees it, and it counts as one of `n_initial_points`. Otherwise the
        configuration is as new as before: it may be asked for, and it is in neither
        :attr:`n_told` nor :attr:`best_params`.

        Parameters
        ----------
        params : dict
            A configuration of the space.
        score : float
            The score it had, NaN if it failed.
        noise : float, default=None
            Known variance of `score` as an estimate of what would be told here, as in
            :meth:`tell`: greater than 0 where the earlier search was not quite the
            same.

        Raises
        ------
        TypeError
            If `score` or `noise` is not a number.
        ValueError
            If `params` is not a configuration of the space, or `noise` is negative or
            told to an optimiser whose `surrogate` cannot take it.
        """
        value, variance = check_score(score), check_noise(noise, self.surrogate)
        self._learnt.add(self.space.encode([params])[0], value, variance)

    def expected_cost(self, params: Mapping[str, Any]) -> float | None:
        """Cost that is to be expected of a configuration.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Returns
        -------
        cost : float or None
            Its median, by a model of all costs told; None if there are none. See
            :class:`skbayes.costs.CostModel`.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = self.space.encode([params])[0]
        with one_blas_thread():
            return self._costs.expected(row)

    # -- looking at it ------------------------------------------------------------

    @property
    def n_told(self) -> int:
        """Number of scores told."""
        return len(self._told.scores)

    @property
    def n_cells(self) -> float:
        """Number of configurations that can be proposed, ``math.inf`` if infinite.

        Those that the constraint rejects do not count in a space of up to 20,000; in
        a larger one they do.
        """
        return self._candidates.n_cells

    @property
    def best_params(self) -> Params:
        """Configuration with the best score told; ValueError if there is none.

        Failed and censored trials do not count.
        """
        if not self._eligible:
            raise ValueError("No score has been told yet.")
        return dict(max(self._eligible, key=lambda trial: trial[0])[1])

    # -- proposals ----------------------------------------------------------------

    def _next(self) -> tuple[Params, float | None]:
        """Return the next configuration and the improvement the model expects of it.

        The user's configurations come first, then our own.
        """
        for params in self._queue:
            if not self._candidates.is_known(self.space.encode([params])[0]):
                return params, None
        row, improvement = self._best_row()
        return self.space.decode(row[None, :])[0], improvement

    def _best_row(self) -> tuple[FloatArray, float | None]:
        k = len(self._told.scores) + len(self._pending)
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(k,)))
        n_known = len(self._learnt.scores) + k
        if n_known >= self._n_initial and self._can_decide():
            known = self._known()
            proposer = self._strategy.proposer(known)
            ranked = proposer.rank(self._candidates, known.incumbents, rng)
            if len(ranked):
                return ranked[0], proposer.expected_improvement(ranked[0])
        elif k < len(self._design) and self._candidates.admit(self._design[[k]])[0]:
            return self._design[k], None
        return self._candidates.draw(rng)[0], None

    def _can_decide(self) -> bool:
        scores = self._learnt.scores + self._told.scores
        return not self._strategy.needs_scores or bool(np.any(np.isfinite(scores)))

    def _known(self) -> Known:
        nothing = np.empty((0, self.space.n_columns))
        return Known(
            X=np.vstack([nothing, *self._learnt.rows, *self._told.rows]),
            scores=np.array(self._learnt.scores + self._told.scores),
            noise=np.array(self._learnt.noise + self._told.noise),
            pending=np.vstack([nothing, *self._pending.values()]),
        )

    # -- the beginning ------------------------------------------------------------

    def _draw_design(self) -> FloatArray:
        """Rows for the time before the model: the centre, then a Sobol sequence.

        Ranges are written around what is expected to be good, and the usual option is
        named first: the middle of all ranges with the first of all options is a far
        better guess than a random one.
        """
        rng = np.random.default_rng(np.random.SeedSequence(self._seed))
        centre = np.where(self.space.categorical, 0.0, 0.5)[None, :]
        log2_n = max(self._n_initial, 1).bit_length()
        others = sobol(self.space.n_columns, log2_n, rng)
        return self.space.from_uniform(np.vstack([centre, others]))
