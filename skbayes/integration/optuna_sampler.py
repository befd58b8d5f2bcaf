"""Sampler for Optuna studies that uses the optimizer of skbayes."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.optimizer import Optimizer, SpaceExhausted
from skbayes.space import Categorical, Choice, Integer, Real
from skbayes.space.dimensions import Prior
from skbayes.utils.optional import import_optional

if TYPE_CHECKING:
    import optuna
else:
    optuna = import_optional(
        "optuna", extra="tracking", purpose="skbayes.integration.OptunaSampler"
    )

_FLOAT = optuna.distributions.FloatDistribution
_STATES = optuna.trial.TrialState
# Maximum number of values of a parameter on which others may depend.
_MAX_OPTIONS = 32


class OptunaSampler(optuna.samplers.BaseSampler):
    """Sampler for Optuna studies that uses the optimizer of skbayes.

    A :class:`skbayes.Optimizer` proposes the values of all parameters that earlier
    trials of a study have. Conditions are inferred from these trials: a parameter that
    occurs only with some values of a categorical or integer parameter is a conditional
    parameter of these values. Its surrogate is fitted to the trials. Parameters whose
    presence depends on anything else, new parameters, and all parameters of the first
    trial are drawn at random.

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
        self._optimizer({"x": [0, 1]})

    def reseed_rng(self) -> None:
        """Draw independent values differently in each thread of a study."""
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self, study: optuna.Study, trial: optuna.trial.FrozenTrial
    ) -> dict[str, Any]:
        """Return the distributions of the parameters of complete and pruned trials.

        Ranges of a parameter that differ between trials are joined. Parameters with
        other differences between their distributions, or with a single value, are left
        out.
        """
        distributions: dict[str, list[Any]] = {}
        for finished in _evaluated(study.get_trials(deepcopy=False)):
            for name, distribution in finished.distributions.items():
                distributions.setdefault(name, []).append(distribution)
        joined = {name: _union(distributions[name]) for name in sorted(distributions)}
        return {n: d for n, d in joined.items() if d is not None and not d.single()}

    def sample_relative(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        search_space: dict[str, Any],
    ) -> dict[str, Any]:
        """Propose values of several parameters together.

        The result is empty if all configurations of the space were tried. A ValueError
        is raised if the surrogate does not support several objectives.
        """
        fixed = {n: _value(d, 0) for n, d in search_space.items() if d.single()}
        varying = {n: d for n, d in search_space.items() if n not in fixed}
        if not varying:
            return {}
        trials = study.get_trials(deepcopy=False)
        rows = {other.number: _places(other, varying) for other in trials}
        evaluated = [rows[other.number] for other in _evaluated(trials)]
        space = _conditional_space(varying, [row for row in evaluated if row])
        optimizer = self._optimizer(space, study.directions)
        for other in trials:
            if other.number != trial.number:
                _tell(optimizer, other, rows[other.number])
        try:
            proposed = optimizer.propose().params
        except SpaceExhausted:
            return {}
        return fixed | {n: _value(varying[n], place) for n, place in proposed.items()}

    def sample_independent(
        self,
        study: optuna.Study,
        trial: optuna.trial.FrozenTrial,
        param_name: str,
        param_distribution: Any,
    ) -> Any:
        """Draw the value of one parameter at random."""
        return self._independent.sample_independent(
            study, trial, param_name, param_distribution
        )

    def _optimizer(
        self,
        space: Mapping[str, Any],
        directions: Sequence[Any] = (optuna.study.StudyDirection.MAXIMIZE,),
    ) -> Optimizer:
        return Optimizer(
            space,
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


def _evaluated(
    trials: Sequence[optuna.trial.FrozenTrial],
) -> list[optuna.trial.FrozenTrial]:
    """Return the complete trials, or the pruned ones if there are none.

    A pruned trial may lack parameters that it would have suggested later.
    """
    complete = [trial for trial in trials if trial.state == _STATES.COMPLETE]
    return complete or [trial for trial in trials if trial.state == _STATES.PRUNED]


def _tell(
    optimizer: Optimizer, trial: optuna.trial.FrozenTrial, row: Mapping[str, Any]
) -> None:
    names = optimizer.space.parameter_names
    params = {name: place for name, place in row.items() if name in names}
    # ValueError if the trial does not belong to the search space.
    with contextlib.suppress(ValueError):
        if trial.state == _STATES.RUNNING:
            optimizer.pend(params)
        elif trial.state != _STATES.WAITING:
            optimizer.tell(params, math.nan if trial.values is None else trial.values)


# -- conditions ------------------------------------------------------------------------


def _conditional_space(
    distributions: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a search space that contains the places of the parameters of all trials.

    Parameters without a place in any row are unconditional. Parameters whose presence
    does not depend on choices alone are left out.
    """
    names = list(distributions)
    while True:
        unseen = [name for name in names if not any(name in row for row in rows)]
        present = [name for name in names if name not in unseen]
        space, unexplained = _branch(distributions, present, rows)
        if not unexplained:
            return space | {name: _dimension(distributions[name]) for name in unseen}
        names = [name for name in names if name not in unexplained]


def _branch(
    distributions: Mapping[str, Any],
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, Any], set[str]]:
    """Return the search space of a branch, and the names that do not fit into a tree.

    `names` are parameters that occur in `rows`, the trials of the branch.
    Parameters that all of these trials have are unconditional. The parent of any other
    parameter is the choice that best separates the trials with and without the
    parameter, by the Gini impurity.
    """
    space = {
        name: _dimension(distributions[name])
        for name in names
        if all(name in row for row in rows)
    }
    children: dict[str, list[str]] = {}
    unexplained = set()
    for name in names:
        if name in space:
            continue
        purest = _impurity(name, [rows])
        parent = None
        for choice in space:
            options = _options(distributions[choice])
            if len(options) > 1:
                impurity = _impurity(name, [_with(rows, choice, o) for o in options])
                if impurity < purest:
                    purest, parent = impurity, choice
        if parent is None:
            unexplained.add(name)
        else:
            children.setdefault(parent, []).append(name)
    for parent, conditional in children.items():
        branches = []
        for option in _options(distributions[parent]):
            chosen = _with(rows, parent, option)
            occurring = [n for n in conditional if any(n in row for row in chosen)]
            sub_space, further = _branch(distributions, occurring, chosen)
            branches.append((option, sub_space))
            unexplained |= further
        space[parent] = Choice(branches)
    return space, unexplained


def _with(
    rows: Sequence[Mapping[str, Any]], name: str, place: Any
) -> list[Mapping[str, Any]]:
    return [row for row in rows if row[name] == place]


def _impurity(name: str, groups: Sequence[Sequence[Mapping[str, Any]]]) -> float:
    """Return the impurity of groups of trials: those with and those without `name`."""
    total = 0.0
    for group in groups:
        n_present = sum(name in row for row in group)
        total += n_present * (len(group) - n_present) / max(len(group), 1)
    return total


# -- distributions ---------------------------------------------------------------------


def _union(distributions: Sequence[Any]) -> Any:
    """Return a distribution that joins several, or None if they cannot be joined."""
    first = distributions[0]
    if all(distribution == first for distribution in distributions):
        return first
    kinds = {
        (type(d), getattr(d, "log", None), getattr(d, "step", None))
        for d in distributions
    }
    kind, log, step = kinds.pop()
    if kinds or log is None:
        return None
    low = min(d.low for d in distributions)
    # The values of a grid with another offset lie between the values of the first grid.
    if step is not None and any((d.low - low) % step for d in distributions):
        return None
    return kind(low, max(d.high for d in distributions), log=log, step=step)


def _options(distribution: Any) -> range:
    """Return the places of a choice, which may have conditional parameters."""
    if hasattr(distribution, "choices"):
        return range(len(distribution.choices))
    if distribution.step is None or distribution.log:
        return range(0)
    n_options = _n_steps(distribution) + 1
    return range(n_options if n_options <= _MAX_OPTIONS else 0)


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


def _places(
    trial: optuna.trial.FrozenTrial, distributions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the places of the values of a trial, without those out of range."""
    places = {}
    for name, distribution in distributions.items():
        # A ValueError means that the distribution differed at the time of the trial.
        with contextlib.suppress(KeyError, ValueError):
            places[name] = _place(distribution, trial.params[name])
    return places


def _place(distribution: Any, value: Any) -> Any:
    """Return the inverse of `_value`."""
    if hasattr(distribution, "choices"):
        return int(distribution.to_internal_repr(value))
    if distribution.step is None or distribution.log:
        return value
    return round((value - distribution.low) / distribution.step)
