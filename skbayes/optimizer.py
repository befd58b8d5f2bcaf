"""Ask for a configuration, tell its score: the search without any estimator.

Symbols: ``k`` is the number of configurations told or pending when one is asked for.
Proposal k is a pure function of the space, the settings, what was told, what is
pending, the seed and k: it has a random generator of its own, and what the surrogate
keeps from one proposal to the next it would compute again just so.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from skbayes.acquisition.maximize import maximize_over, maximize_search, sobol
from skbayes.acquisition.proposer import ModelProposer
from skbayes.blas import one_blas_thread
from skbayes.candidates import Candidates, SpaceExhausted, key_of
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess

__all__ = ["Optimizer", "SpaceExhausted"]

Params = dict[str, Any]

ACQUISITIONS: dict[str, type[Acquisition]] = {
    "ei": ExpectedImprovement,
    "pi": ProbabilityOfImprovement,
    "ucb": UpperConfidenceBound,
}
SURROGATES = ("gp",)

# The best configurations so far around which the acquisition is searched closely.
N_INCUMBENTS = 5


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
    acquisition : {"ei", "pi", "ucb"} or Acquisition, default="ei"
        What a proposal maximises: expected improvement, probability of improvement,
        upper confidence bound, or an instance.
    n_initial_points : int or "auto", default="auto"
        Configurations told or proposed before the model decides; `initial_points`
        count. The first is the middle of all ranges with the first option of each
        list that is not numeric, the others are spread evenly (scrambled Sobol). 0:
        the model decides as soon as one score is known. "auto": 3.
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
        self.surrogate = _check_surrogate(surrogate)
        self.acquisition = _check_acquisition(acquisition)
        self._n_initial = _check_n_initial(n_initial_points)
        self._seed = _draw_seed(random_state)
        self._model = self._make_model()
        self._told: list[FloatArray] = []
        self._told_params: list[Params] = []
        self._scores: list[float] = []
        self._pending: dict[bytes, FloatArray] = {}
        self._candidates = Candidates(self.space)
        self._queue = self._check_initial(initial_points)
        self._design = self._draw_design()

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
        with one_blas_thread():
            try:
                for _ in range(int(n)):
                    params.append(self._next())
                    self._set_pending(params[-1])
            except SpaceExhausted:
                if not params:
                    raise
            except BaseException:
                # Nobody will ever tell what was never returned.
                for one in params:
                    self._withdraw(one)
                raise
        return params

    def _set_pending(self, params: Params) -> None:
        row = self.space.encode([params])[0]
        self._pending[key_of(row)] = row
        self._candidates.add(row)

    def _withdraw(self, params: Params) -> None:
        row = self.space.encode([params])[0]
        self._pending.pop(key_of(row), None)
        self._candidates.discard(row)

    def tell(self, params: Mapping[str, Any], score: float) -> None:
        """Learn the score of a configuration.

        Parameters
        ----------
        params : dict
            A configuration of the space, asked for or not; it may be told again.
        score : float
            Its score, greater is better. NaN (or an infinity) says that it failed:
            the model then takes it for as bad as the worst score known.

        Raises
        ------
        TypeError
            If `score` is not a number.
        ValueError
            If `params` is not a configuration of the space.
        """
        if not isinstance(score, numbers.Real):
            raise TypeError(f"score must be a number, got {score!r}.")
        row = self.space.encode([params])[0]
        self._pending.pop(key_of(row), None)
        self._candidates.add(row)
        self._told.append(row)
        self._told_params.append(self.space.own(params))
        self._scores.append(_finite(score))

    # -- looking at it ------------------------------------------------------------

    @property
    def n_told(self) -> int:
        """Number of scores told."""
        return len(self._scores)

    @property
    def n_cells(self) -> float:
        """Number of configurations that can be proposed, ``math.inf`` if infinite.

        Those that the constraint rejects do not count in a space of up to 20,000; in
        a larger one they do.
        """
        return self._candidates.n_cells

    @property
    def best_params(self) -> Params:
        """Configuration with the best score told; ValueError if there is none."""
        if not np.any(np.isfinite(self._scores)):
            raise ValueError("No score has been told yet.")
        return dict(self._told_params[int(np.nanargmax(self._scores))])

    # -- proposals ----------------------------------------------------------------

    def _next(self) -> Params:
        """Return the next configuration: the user's first, then our own."""
        for params in self._queue:
            if not self._candidates.is_known(self.space.encode([params])[0]):
                return params
        return self.space.decode(self._best_row()[None, :])[0]

    def _best_row(self) -> FloatArray:
        k = len(self._scores) + len(self._pending)
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(k,)))
        if k >= self._n_initial and np.any(np.isfinite(self._scores)):
            ranked = self._rank(rng)
            if len(ranked):
                return ranked[0]
        elif k < len(self._design) and self._candidates.admit(self._design[[k]])[0]:
            return self._design[k]
        return self._candidates.draw(rng)[0]

    def _rank(self, rng: np.random.Generator) -> FloatArray:
        """Return new and allowed rows, the best by the acquisition first."""
        X, y = np.array(self._told), self._outputs()
        surrogate = self._model.fit(X, y)
        incumbents = X[np.argsort(-y, kind="stable")[:N_INCUMBENTS]]
        if self._pending:
            pending = np.array(list(self._pending.values()))
            surrogate = surrogate.condition(pending)
            X = np.vstack([X, pending])
        # The best score is partly luck where scores are noisy, as those of a few folds
        # are; the best of what the model makes of the scores is not. What is pending
        # counts as if it were told, or all would be asked for around the same place.
        best_f = np.max(surrogate.predict(X)[0], axis=1, keepdims=True)
        proposer = ModelProposer(surrogate, self.acquisition, best_f)
        if self._candidates.listed:
            return maximize_over(proposer, self._candidates.remaining())
        return maximize_search(
            proposer, self.space, incumbents, self._candidates.admit, rng
        )

    def _outputs(self) -> FloatArray:
        """Scores with failures set to the worst."""
        scores = np.array(self._scores)
        return np.where(np.isnan(scores), np.nanmin(scores), scores)

    def _make_model(self) -> Any:
        """Return a surrogate of our own, which knows the columns of the space."""
        if self.surrogate == "gp":
            return GaussianProcess(n_options=self._n_options(), random_state=self._seed)
        model = copy.deepcopy(self.surrogate)
        if isinstance(model, GaussianProcess) and model.n_options is None:
            model.n_options = self._n_options()
        return model

    def _n_options(self) -> list[int]:
        return [
            int(column.dimension.n_values) if column.dimension.is_categorical else 0
            for column in self.space.columns
        ]

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

    def _check_initial(
        self, initial_points: Sequence[Mapping[str, Any]] | None
    ) -> list[Params]:
        if initial_points is None:
            return []
        if isinstance(initial_points, Mapping | str):
            raise TypeError(
                f"initial_points must be a list of dicts, got {initial_points!r}."
            )
        points = []
        for place, params in enumerate(initial_points):
            try:
                point = self.space.own(params)
            except ValueError as error:
                raise ValueError(f"initial_points[{place}]: {error}") from error
            if not self.space.allows(point):
                raise ValueError(
                    f"initial_points[{place}]: not allowed by the constraint: "
                    f"{point!r}."
                )
            points.append(point)
        return points


def _finite(score: numbers.Real) -> float:
    """Return a score as a float, NaN if it is no finite one."""
    try:
        value = float(score)
    except OverflowError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _draw_seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "random_state must be an integer >= 0, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )


def _check_n_initial(n_initial_points: Any) -> int:
    if n_initial_points == "auto":
        return 3
    if isinstance(n_initial_points, numbers.Integral) and int(n_initial_points) >= 0:
        return int(n_initial_points)
    raise ValueError(
        f"n_initial_points must be an integer >= 0 or 'auto', got {n_initial_points!r}."
    )


def _check_acquisition(acquisition: Any) -> Acquisition:
    if isinstance(acquisition, Acquisition):
        return acquisition
    if isinstance(acquisition, str) and acquisition in ACQUISITIONS:
        return ACQUISITIONS[acquisition]()
    raise ValueError(
        f"acquisition must be one of {sorted(ACQUISITIONS)} or an Acquisition, "
        f"got {acquisition!r}."
    )


def _check_surrogate(surrogate: Any) -> Any:
    if isinstance(surrogate, str):
        if surrogate in SURROGATES:
            return surrogate
    elif isinstance(surrogate, type):
        raise ValueError(
            f"surrogate must be an object, got the class {surrogate.__name__}; write "
            f"{surrogate.__name__}() with its parameters."
        )
    elif all(hasattr(surrogate, name) for name in ("fit", "predict", "condition")):
        return surrogate
    raise ValueError(
        f"surrogate must be one of {sorted(SURROGATES)} or an object with fit, predict "
        f"and condition, got {surrogate!r}."
    )
