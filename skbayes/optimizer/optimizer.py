"""Bayesian optimizer of any function, with an ask-and-tell interface.

Symbols: ``k`` is the number of configurations that are observed or pending when the
next one is proposed. Proposal k is a pure function of the space, the parameters, the
observations (also those of an earlier search), the pending configurations, the seed,
and k. Each proposal has its own random generator. The surrogate may keep results from
one proposal to the next, but only results that it would compute again identically.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from skbayes.acquisition.improvement import Acquisition
from skbayes.acquisition.observations import Observations
from skbayes.acquisition.proposers import ModelProposer, Proposer, SamplingProposer
from skbayes.acquisition.terms import LogTerm, prior_terms
from skbayes.optimizer import optional_parts
from skbayes.optimizer.checks import check_direction
from skbayes.optimizer.initial_design import (
    check_initial_points,
    check_n_initial_points,
    default_n_initial_points,
    draw_design,
    next_of_portfolio,
)
from skbayes.optimizer.observed_trials import ObservedTrials
from skbayes.space.candidates import Configuration, SpaceExhausted
from skbayes.space.dimensions import FloatArray, key_of
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.space.space import Space
from skbayes.surrogates.registry import capability, check_surrogate, make_surrogate
from skbayes.utils.blas import one_blas_thread
from skbayes.utils.pickled_version import PickledVersion
from skbayes.utils.random_streams import Stream, check_random_state, make_generator

if TYPE_CHECKING:
    from skbayes.optimizer.cost_models import LimitTerms

Params = dict[str, Any]


class Optimizer(ObservedTrials, PickledVersion):
    """Bayesian optimizer with an ask-and-tell interface.

    :meth:`ask` proposes a configuration, and :meth:`tell` passes its score back. The
    optimizer needs no estimator and no data, so it can optimize any Python function.

    For several objectives, pass a list of scores. The optimizer fits one independent
    surrogate for each objective, and maximizes the expected improvement of the
    hypervolume that the Pareto front dominates. Objectives that are minimized and never
    negative, such as times, are modeled by their logarithm. The same applies to negated
    times that are maximized.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space
        Search space, in any notation of :meth:`skbayes.space.Space.from_notation`.
    surrogate : str or object, default="gp"
        Model of the scores:

        - "gp": a Gaussian process. It is "gp-additive" if the space is finite and has
          at most 20,000 configurations, and "gp-warped" otherwise.
        - "gp-warped": a Gaussian process with a Matérn-5/2 kernel and a learned warping
          of each range.
        - "gp-additive": a Gaussian process with a Matérn-3/2 kernel, half of which is
          for pairs of hyper-parameters.
        - "gp-matern52", "gp-matern32", "gp-rbf": a Gaussian process with one kernel of
          all hyper-parameters together.
        - "graph": a Gaussian field on the graph of all configurations of a finite
          space.
        - "trees": an ensemble of randomized trees. It requires LightGBM.
        - "tpe": the tree-structured Parzen estimator.
        - "random", "sobol": no model; random or quasi-random search.

        An instance of a class of :mod:`skbayes.surrogates` is also accepted, and so is
        any object with ``fit(X, y)``, ``predict(X, gradient)`` and ``condition(X)``.
        For scores with `noise`, the object needs ``fit(X, y, noise)``.
    acquisition : {"ei", "ei-per-second", "pi", "ucb", "eif"} or object, default="ei"
        Acquisition function, which each proposal maximizes: expected improvement,
        expected improvement per unit of the expected cost (see :attr:`cost_budget`),
        probability of improvement, upper confidence bound, or, for the surrogate
        "graph", expected influence. An instance of a class of
        :mod:`skbayes.acquisition` is also accepted. The surrogates "tpe", "random" and
        "sobol" accept only "ei" and "ei-per-second"; the latter two ignore it. With
        several objectives, keep the default "ei", which stands for the expected
        improvement of the hypervolume.
    n_initial_points : int or "auto", default="auto"
        Number of configurations before the surrogate chooses the proposals. This number
        includes the configurations passed to :meth:`tell` or :meth:`learn`, pending
        ones and `initial_points`. The first initial configuration is the middle of all
        ranges, with the first option of each list that is not numeric. The others are a
        Latin hypercube, which spreads them over each range and over the options of each
        list. With 0, the surrogate chooses as soon as one score is known. The number
        does not limit the first configurations of the portfolio of `prior`.

        "auto" is 8 for "tpe", 3 for "eif", and 0 for "random" and "sobol". For the
        other surrogates, it is the number of coefficients of a linear model, at least 3
        and at most 8. This number is 1, plus 1 for each range or list of numbers, plus
        1 for each option after the first of every other list.
    initial_points : list of dict, default=None
        Configurations to propose first.
    constraint : callable, default=None
        Function ``constraint(params) -> bool``. Configurations for which it returns
        False are never proposed.
    direction : {"maximize", "minimize"} or list of them, default="maximize"
        Whether greater or smaller scores are better. A list has one direction for each
        objective. All methods take and return scores as the function computes them.
        Only the surrogate is fitted to negated scores if they are minimized.
    n_objectives : int or None, default=None
        Number of scores of each configuration. None means the length of `direction` if
        it is a list, or else the number of scores in the first call of :meth:`tell` or
        :meth:`learn`.
    prior : OptimumPrior or None, default=None
        Prior density of the best configuration. After n scores, the acquisition
        function is multiplied by this density to the power 5 / n (πBO, Hvarfner et al.
        2022). The power decreases, down to 0, if scores are better where the density is
        lower. The first initial configuration is the center of the prior. The prior has
        no effect with the surrogates "random" and "sobol". None means no prior.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness. Pass an int for reproducible proposals.

    Attributes
    ----------
    space : Space
        Search space.
    last_expected_improvement : float or None
        Expected improvement of the last proposal over the best score, in units of the
        score, for any acquisition function. With several objectives, it is the expected
        gain in hypervolume, as a share of the box between the reference point and the
        best value of each objective. None if the proposal was not chosen by a model of
        the score.

    Raises
    ------
    ImportError
        If the surrogate needs a library that is not installed.
    TypeError, ValueError
        If an argument is invalid, or if surrogate, acquisition function and space are
        incompatible. The message names the argument or the hyper-parameter.

    See Also
    --------
    skbayes.BayesSearchCV : Search for an estimator's hyper-parameters.

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> optimizer = Optimizer({"x": (-5.0, 5.0), "power": [2, 4]}, random_state=0)
    >>> for _ in range(15):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, -abs(params["x"] - 1) ** params["power"])
    >>> optimizer.best_params
    {'power': 4, 'x': 0.982056}

    Minimization of a loss:

    >>> optimizer = Optimizer({"x": (-5.0, 5.0)}, direction="minimize", random_state=0)
    >>> for _ in range(12):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, (params["x"] - 1) ** 2)
    >>> round(optimizer.best_params["x"], 1)
    1.0
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
        direction: str | Sequence[str] = "maximize",
        n_objectives: int | None = None,
        prior: OptimumPrior | None = None,
        random_state: Any = None,
    ) -> None:
        space = Space.from_notation(search_spaces, constraint)
        self.surrogate = check_surrogate(surrogate)
        self.acquisition = _check_acquisition(acquisition)
        super().__init__(space, check_random_state(random_state))
        self._proposer: Any = self._make_proposer(self.surrogate)
        self._signs, n = check_direction(direction, n_objectives)
        if n is not None:
            self._set_n_objectives(n)
        auto = self._proposer.n_initial_points
        if auto is None:
            auto = default_n_initial_points(space)
        self._n_initial = check_n_initial_points(n_initial_points, auto)
        self._n_initial_is_auto = n_initial_points == "auto"
        self._queue = self._checked_points(initial_points)
        self.prior = _check_prior(prior, space)
        # A proposer without initial points, such as random search, uses no portfolio.
        self._portfolio = self.prior.portfolio if self.prior and auto > 0 else None
        if self._portfolio is not None and self._n_initial_is_auto:
            self._n_initial = self._portfolio.n_first
        rng = make_generator(self._seed, Stream.DESIGN)
        self._design = draw_design(self.space, self._n_initial, rng, self.prior)
        self.last_expected_improvement: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return a state of built-in types and public classes."""
        queue = [configuration.params for configuration in self._queue]
        return {**super().__getstate__(), "_queue": queue}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._queue = self._checked_points(state["_queue"])
        self._proposer = self._make_proposer(self.surrogate)
        if self._n_objectives is not None:
            self._set_n_objectives(self._n_objectives)

    # -- ask and tell -------------------------------------------------------------

    @overload
    def ask(self) -> Params: ...

    @overload
    def ask(self, n: int) -> list[Params]: ...

    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Propose one or several configurations.

        Parameters
        ----------
        n : int or None, default=None
            Number of configurations. Each is chosen while the previous ones are
            pending. None returns a single configuration instead of a list.

        Returns
        -------
        params : dict or list of dict
            A configuration that is neither observed nor pending, with its keys sorted
            by name. With `n`, a list of `n` different configurations, or of all that
            are left in the space.

        Raises
        ------
        ValueError
            If `n` is not a positive integer, or the constraint raises an exception.
        SpaceExhausted
            If no new configuration is left.
        """
        if n is None:
            return self.propose().params
        if not isinstance(n, numbers.Integral) or n < 1:
            raise ValueError(f"n must be an integer >= 1 or None, got {n!r}.")
        proposed: list[Configuration] = []
        try:
            for _ in range(int(n)):
                proposed.append(self.propose())
        except SpaceExhausted:
            if not proposed:
                raise
        except BaseException:
            # These configurations are not returned, so they are not observed.
            for configuration in proposed:
                self._withdraw(configuration.row)
            raise
        return [configuration.params for configuration in proposed]

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Propose one configuration as :meth:`ask`, with its encoding.

        The other methods accept it in place of a dict, and then do not encode it again.
        The maximum cost of the trial, `max_cost` > 0, limits this proposal like
        :attr:`cost_limit`. None means no further limit.
        """
        with one_blas_thread():
            configuration, improvement = self._next(max_cost)
        self.pend(configuration)
        self.last_expected_improvement = improvement
        return configuration

    def _make_proposer(self, surrogate: Any, n_objectives: int = 1) -> Proposer:
        """Make a proposer from a surrogate, a name or an object."""
        _check_pair(surrogate, self.acquisition, n_objectives)
        models = [
            make_surrogate(surrogate, self._candidates, self._seed + j)
            for j in range(n_objectives)
        ]
        if not capability(surrogate, "predicts_scores"):
            return SamplingProposer(models[0])
        if self.acquisition.needs_graph:
            return optional_parts.proposer_on_graph(models[0], self.acquisition)
        if n_objectives > 1:
            return optional_parts.proposer_of_front(models)
        return ModelProposer(models[0], self.acquisition)

    def _set_n_objectives(self, n: int) -> None:
        if n > 1:
            self._proposer = self._make_proposer(self.surrogate, n)
        super()._set_n_objectives(n)

    # -- pending, queued and earlier configurations -------------------------------

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Add a configuration to the queue of configurations to propose first.

        The queue initially contains `initial_points`. The configuration is skipped if
        it is already observed or pending when its turn comes. A ValueError is raised if
        it is not a configuration of the space, or the constraint forbids it.
        """
        self._queue += self._checked_points([params])

    def exclude(self, params: Mapping[str, Any]) -> None:
        """Do not propose a configuration, unless it is in the queue.

        A ValueError is raised if it is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        if all(key_of(row) != key_of(queued.row) for queued in self._queue):
            self._candidates.add(row)

    def _checked_points(self, points: Any) -> list[Configuration]:
        checked = check_initial_points(points, self.space)
        return [Configuration.of(self.space, params) for params in checked]

    def predict(self, params: Sequence[Mapping[str, Any]]) -> tuple[FloatArray, ...]:
        """Predict the scores of configurations of the space, observed or not.

        Return means and standard deviations of shape (n,), over all samples of the
        surrogate's hyper-parameters. A ValueError is raised if no score is known,
        `surrogate` does not predict scores, or one of `params` is not a configuration
        of the space.
        """
        X = self.space.encode(list(params))
        with one_blas_thread():
            means, sds = self.fitted_surrogate().predict(X)
        mean = means.mean(axis=0)
        sd = np.sqrt(np.mean(sds**2 + (means - mean) ** 2, axis=0))
        return self._signed([mean])[0], sd

    def fitted_surrogate(self) -> Any:
        """Return the surrogate, fitted to all observations.

        It is conditioned on the pending configurations. Its configurations are encoded
        by :attr:`space`. It predicts negated scores if they are minimized. A ValueError
        is raised if no score is known, `surrogate` does not predict scores, or there
        are several objectives.
        """
        # Omit the constraints, because all observations may violate them.
        observations = dataclasses.replace(self._observations(), slacks=None)
        if not np.any(np.isfinite(observations.scores)):
            raise ValueError("No score is known yet; pass one to tell.")
        with one_blas_thread():
            proposer = self._proposer.fit(observations)
        if proposer.surrogate is None:
            raise ValueError(f"surrogate: {self.surrogate!r} does not predict scores.")
        return proposer.surrogate

    # -- proposals ----------------------------------------------------------------

    def _limits(self, max_cost: float | None) -> LimitTerms | None:
        """Return the terms of limits and costs; None if there is neither."""
        limits = [cost for cost in (max_cost, self.cost_limit) if cost is not None]
        if not (limits or self.acquisition.per_cost or self._any_aborted):
            return None
        limit = min(limits, default=None)
        models = self._cost_model, self._aborted_trials
        return optional_parts.limit_terms(*models, limit, self.cost_budget)

    def _next(self, max_cost: float | None) -> tuple[Configuration, float | None]:
        """Return the next configuration and its expected improvement.

        Queued configurations come first, unless they are expected to cost too much.
        """
        for queued in self._queue:
            if self._candidates.is_known(queued.row):
                continue
            if max_cost is None or (self.expected_cost(queued) or 0.0) <= max_cost:
                return Configuration(dict(queued.params), queued.row), None
        row, improvement = self._best_row(self._limits(max_cost))
        params = self.space.decode(row[None, :])[0]
        # Encode the parameters again, because a resumed search has no other encoding.
        return Configuration(params, self.space.encode([params])[0]), improvement

    def _best_row(self, limits: LimitTerms | None) -> tuple[FloatArray, float | None]:
        """Return the next encoded configuration and its expected improvement."""
        pending = list(self._pending.values())
        if self._portfolio is not None:
            past = self._learned, self._observed, pending
            first = next_of_portfolio(self._portfolio, *past, self._candidates, limits)
            if first is not None:
                return first, None
        k = len(self._observed) + len(pending)
        rng = make_generator(self._seed, Stream.PROPOSAL, k)
        observations = self._observations()
        is_initial = len(self._learned) + k < self._n_initial
        if is_initial or not self._has_scores(observations):
            design = self._design[k : k + 1]
            if len(design) and not self._candidates.filter_new(design)[0]:
                design = design[:0]
            return self._pick(design, limits, rng), None
        if observations.slacks is None:
            proposer = self._proposer.fit(observations)
        else:
            proposer, observations = optional_parts.fit_constrained(
                self._proposer, self._constraint_models, observations
            )
        terms = [*proposer.terms, *self._terms(observations, limits)]
        proposer = proposer.with_terms(terms)
        ranked = proposer.rank(self._candidates, observations.incumbents, rng)
        row = self._pick(ranked, limits if self._proposer.needs_scores else None, rng)
        improvement = proposer.expected_improvement(row) if len(ranked) else None
        if improvement is not None:
            for term in proposer.terms:
                if term.is_feasibility:
                    improvement *= math.exp(float(term.value(row[None, :])[0]))
        return row, improvement

    def _pick(
        self, X: FloatArray, limits: LimitTerms | None, rng: np.random.Generator
    ) -> FloatArray:
        """Return the first of ranked rows, or a new one, that the limits allow."""
        if limits is not None and limits.of_limits():
            return limits.first_likely(X, self._candidates, rng)
        return X[0] if len(X) else self._candidates.draw(rng)[0]

    def _terms(
        self, observations: Observations, limits: LimitTerms | None
    ) -> list[LogTerm]:
        """Return the terms that are added to the log of the acquisition function."""
        if not self._proposer.needs_scores:
            return []
        terms = [] if limits is None else limits.terms(self.acquisition.per_cost)
        if self.prior is not None:
            terms = [*prior_terms(self.prior, observations), *terms]
        return terms

    def _has_scores(self, observations: Observations) -> bool:
        if not self._proposer.needs_scores:
            return True
        # The surrogate of each objective needs at least one score.
        return bool(np.all(np.any(np.isfinite(observations.scores), axis=0)))


def _check_prior(prior: Any, space: Space) -> OptimumPrior | None:
    """Return the prior over the best configuration, for the space."""
    if prior is None:
        return None
    if not isinstance(prior, OptimumPrior):
        raise TypeError(f"prior must be an OptimumPrior or None, got {prior!r}.")
    try:
        return prior.for_space(space)
    except ValueError as error:
        raise ValueError(f"prior: {error}") from error


# -- surrogate and acquisition function -----------------------------------------------


def _check_acquisition(acquisition: Any) -> Acquisition:
    """Return the acquisition function of a name or an instance."""
    if isinstance(acquisition, Acquisition):
        return acquisition
    if isinstance(acquisition, str) and acquisition in optional_parts.ACQUISITIONS:
        return optional_parts.acquisition_of(acquisition)
    raise ValueError(
        f"acquisition must be one of {sorted(optional_parts.ACQUISITIONS)} or an "
        f"Acquisition, got {acquisition!r}."
    )


def _check_pair(surrogate: Any, acquisition: Any, n_objectives: int) -> None:
    """Raise a ValueError if surrogate and acquisition function are incompatible."""
    is_model = capability(surrogate, "predicts_scores")
    shown = repr(surrogate) if isinstance(surrogate, str) else type(surrogate).__name__
    if not is_model and not acquisition.is_improvement:
        raise ValueError(
            f"acquisition {type(acquisition).__name__} cannot be used with surrogate "
            f"{shown}, which does not predict scores; use the default 'ei'."
        )
    if acquisition.needs_graph and not capability(surrogate, "has_graph"):
        raise ValueError(
            "acquisition 'eif', expected influence, is defined on a graph of all "
            f"configurations: it needs surrogate='graph', got {shown}."
        )
    if n_objectives == 1:
        return
    takes_one_score = not is_model or acquisition.needs_graph
    if takes_one_score and capability(surrogate, "needs_scores"):
        raise ValueError(
            f"surrogate={surrogate!r} supports one objective only; with several, use "
            "a surrogate that predicts means and standard deviations, such as 'gp', or "
            "one that needs no scores, such as 'random'."
        )
    if not acquisition.is_improvement:
        raise ValueError(
            "acquisition must be 'ei' with several objectives, for the expected "
            f"improvement of the hypervolume; {type(acquisition).__name__} supports "
            "one objective only."
        )
