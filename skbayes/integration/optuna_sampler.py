"""Sampler for Optuna studies that uses the optimizer of skbayes."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.optimizer import Optimizer, SpaceExhausted
from skbayes.space import Categorical, Integer, Real
from skbayes.space.dimensions import Prior
from skbayes.utils.optional import import_optional

if TYPE_CHECKING:
    import optuna
else:
    optuna = import_optional(
        "optuna", extra="tracking", purpose="skbayes.integration.OptunaSampler"
    )

__all__ = ["OptunaSampler"]

_FLOAT = optuna.distributions.FloatDistribution
_STATES = optuna.trial.TrialState


class OptunaSampler(optuna.samplers.BaseSampler):
    """Sampler for Optuna studies that uses the optimizer of skbayes.

    A :class:`skbayes.Optimizer` proposes the values of those parameters that all
    complete and pruned trials of a study have, with the same ranges. Its surrogate is
    fitted to these trials. All other parameters, and all parameters of the first trial,
    are drawn at random.

    Parameters
    ----------
    surrogate : str or object, default="gp"
        Model of the objective, as for :class:`skbayes.Optimizer`.
    acquisition : str or object, default="ei"
        Acquisition function, as for :class:`skbayes.Optimizer`.
    n_initial_points : int or "auto", default="auto"
        Number of initial trials before the surrogate is used, as for
        :class:`skbayes.Optimizer`.
    seed : int or None, default=None
        Seed of all random numbers. With an int, a study whose trials run one after the
        other is reproducible.

    See Also
    --------
    skbayes.tracking.export_to_optuna : Export a search to an Optuna study.

    Notes
    -----
    The values of `suggest_categorical` have no order, even if they are numbers. Failed
    trials make similar configurations less likely. The score of a pruned trial is its
    last intermediate value. Running trials are pending. Studies can have several
    objectives. After all configurations of a finite space have been tried, values are
    drawn at random.

    Examples
    --------
    >>> import optuna
    >>> from skbayes.integration import OptunaSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=OptunaSampler(seed=0))
    >>> def squared_distance(trial):
    ...     return (trial.suggest_float("x", -5, 5) - 2) ** 2
    >>> study.optimize(squared_distance, n_trials=12)
    >>> study.best_params
    {'x': 1.98244}
    """

    def __init__(
        self,
        surrogate: Any = "gp",
        *,
        acquisition: Any = "ei",
        n_initial_points: int | str = "auto",
        seed: int | None = None,
    ) -> None:
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.n_initial_points = n_initial_points
        self.seed = seed
        self._seed = _first_seed(seed)
        self._independent = optuna.samplers.RandomSampler(seed=self._seed)
        # Detects wrong arguments before the first trial. Every surrogate supports a
        # finite space.
        self._optimizer({"x": optuna.distributions.IntDistribution(0, 1)})

    def reseed_rng(self) -> None:
        """Draw independent values differently in each thread of a study."""
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self, study: optuna.Study, trial: optuna.trial.FrozenTrial
    ) -> dict[str, Any]:
        """Return the distributions that complete and pruned trials of a study share.

        Parameters
        ----------
        study : optuna.study.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial to come.

        Returns
        -------
        search_space : dict of str to BaseDistribution
            Distributions by name, without those that have a single value.
        """
        shared = optuna.search_space.intersection_search_space(
            study.get_trials(deepcopy=False), include_pruned=True
        )
        return {n: d for n, d in shared.items() if not d.single()}

    def sample_relative(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        search_space: dict[str, Any],
    ) -> dict[str, Any]:
        """Propose values of several parameters together.

        Parameters
        ----------
        study : optuna.study.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial to come.
        search_space : dict of str to BaseDistribution
            Distributions by name.

        Returns
        -------
        params : dict of str to object
            Values by name; empty if all configurations of the space were tried.

        Raises
        ------
        ValueError
            If the surrogate does not support several objectives.
        """
        fixed = {n: _value(d, 0) for n, d in search_space.items() if d.single()}
        varying = {n: d for n, d in search_space.items() if n not in fixed}
        if not varying:
            return {}
        optimizer = self._optimizer(varying, study.directions)
        for other in study.get_trials(deepcopy=False):
            if other.number != trial.number:
                _tell(optimizer, other, varying)
        try:
            proposed = optimizer.propose().params
        except SpaceExhausted:
            return {}
        return fixed | {n: _value(d, proposed[n]) for n, d in varying.items()}

    def sample_independent(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        param_name: str,
        param_distribution: Any,
    ) -> Any:
        """Draw the value of one parameter at random.

        Parameters
        ----------
        study : optuna.study.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial to come.
        param_name : str
            Name of the parameter.
        param_distribution : BaseDistribution
            Its distribution.

        Returns
        -------
        value : object
            The value.
        """
        return self._independent.sample_independent(
            study, trial, param_name, param_distribution
        )

    def _optimizer(
        self,
        space: Mapping[str, Any],
        directions: Sequence[Any] = (optuna.study.StudyDirection.MAXIMIZE,),
    ) -> Optimizer:
        return Optimizer(
            {name: _dimension(distribution) for name, distribution in space.items()},
            surrogate=self.surrogate,
            acquisition=self.acquisition,
            n_initial_points=self.n_initial_points,
            direction=[direction.name.lower() for direction in directions],
            random_state=self._seed,
        )


def _first_seed(seed: Any) -> int:
    """Return an integer seed; a random one if `seed` is None."""
    entropy = int(seed) if isinstance(seed, numbers.Integral) else seed
    if entropy is not None and not (isinstance(entropy, int) and entropy >= 0):
        raise ValueError(f"seed must be an integer >= 0 or None, got {seed!r}.")
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def _tell(
    optimizer: Optimizer, trial: optuna.trial.FrozenTrial, space: Mapping[str, Any]
) -> None:
    if not trial.params.keys() >= space.keys():
        return
    # ValueError if the distribution had other values at the time of the trial.
    with contextlib.suppress(ValueError):
        params = {n: _place(d, trial.params[n]) for n, d in space.items()}
        if trial.state == _STATES.RUNNING:
            optimizer.pend(params)
        elif trial.state != _STATES.WAITING:
            optimizer.tell(params, math.nan if trial.values is None else trial.values)


# -- distributions ---------------------------------------------------------------------


def _dimension(distribution: Any) -> Any:
    """Return the dimension of the values of a distribution, or of their indices."""
    if hasattr(distribution, "choices"):
        return Categorical(range(len(distribution.choices)))
    if distribution.step is not None and not distribution.log:
        return Integer(0, _n_steps(distribution))
    kind = Real if isinstance(distribution, _FLOAT) else Integer
    prior: Prior = "log-uniform" if distribution.log else "uniform"
    return kind(distribution.low, distribution.high, prior)


def _n_steps(distribution: Any) -> int:
    return round((distribution.high - distribution.low) / distribution.step)


def _value(distribution: Any, place: Any) -> Any:
    if hasattr(distribution, "choices"):
        return distribution.choices[place]
    if distribution.step is None or distribution.log:
        return place
    if place == _n_steps(distribution):
        return distribution.high
    return distribution.low + place * distribution.step


def _place(distribution: Any, value: Any) -> Any:
    """Return the inverse of `_value`."""
    if hasattr(distribution, "choices"):
        return int(distribution.to_internal_repr(value))
    if distribution.step is None or distribution.log:
        return value
    return round((value - distribution.low) / distribution.step)
