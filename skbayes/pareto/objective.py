"""Objectives of ParetoSearchCV: several scores and costs.

Symbols: ``Y`` of shape (n_trials, n_objectives) contains the mean objectives. Those
that are minimized are negated, so that all columns are maximized.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes import compat
from skbayes.space.dimensions import FloatArray
from skbayes.trial.learning_curves import Guide
from skbayes.trial.measure import COSTS, Measure, parse_measurement
from skbayes.trial.option_table import require
from skbayes.trial.records import Trial, TrialState
from skbayes.utils.ranking import is_nondominated


class Objectives:
    """Objectives of a search, by name: "max" or "min", or a tuple with the quantity.

    The quantity is the name of a scorer or a cost, a scorer, or a callable of the
    fitted estimator. `signs` (n_objectives,) are 1 for "max" and -1 for "min".
    """

    separate_costs = False

    def __init__(self, objectives: Any) -> None:
        if not isinstance(objectives, Mapping):
            raise TypeError(
                f"objectives must be a dict such as {_as_dict(objectives)}, got "
                f"{objectives!r}."
            )
        if len(objectives) < 2:
            raise ValueError(
                "objectives must contain two or more objectives, got "
                f"{dict(objectives)!r}. For one objective, use BayesSearchCV."
            )
        self.names = list(objectives)
        self.scorers: dict[str, Any] = {}
        self.measures: dict[str, Measure] = {}
        directions = [self._add(name, objectives[name]) for name in self.names]
        self.signs = np.where(np.array(directions) == "max", 1.0, -1.0)
        if self.measures:
            require("costs")
        if not self.scorers:
            raise ValueError(
                "objectives must contain at least one scorer, such as 'accuracy', got "
                f"{self.names!r}, which are all costs."
            )

    def _add(self, name: Any, value: Any) -> str:
        """Add the scorer or measure of an objective; return "max" or "min"."""
        if not isinstance(name, str):
            raise TypeError(f"objectives: names must be strings, got {name!r}.")
        is_pair = isinstance(value, tuple | list) and len(value) == 2
        direction, quantity = value if is_pair else (value, name)
        if not isinstance(direction, str) or direction not in ("max", "min"):
            raise ValueError(
                f"objectives[{name!r}] must be 'max', 'min', or a tuple of one of them "
                f"and a scorer, a cost or a callable, got {value!r}."
            )
        parsed = parse_measurement(quantity)
        if parsed is None and isinstance(quantity, str):
            raise ValueError(
                f"objectives[{name!r}]: {quantity!r} is neither one of the costs "
                f"{[*COSTS]} nor the name of a scorer; pass a callable as "
                f"{{{name!r}: ({direction!r}, callable)}}."
            )
        if parsed is None:
            raise TypeError(
                f"objectives[{name!r}]: {quantity!r} must be a callable of the fitted "
                "estimator, or a scorer: a callable of estimator, X and y."
            )
        kind, measurement = parsed
        if kind == "scorer" and isinstance(quantity, str) and direction == "min":
            raise ValueError(
                f"objectives[{name!r}]: greater values of the scorer {quantity!r} "
                "are better, as for all scorers of scikit-learn. Use 'max'."
            )
        (self.scorers if kind == "scorer" else self.measures)[name] = measurement
        return direction

    def multi_scorer(self, estimator: Any, raise_exc: bool) -> Any:
        """Return a scorer that computes all scores at once."""
        return compat.joint_scorer(estimator, self.scorers, raise_exc)

    @property
    def name(self) -> str:
        """Name of the first objective, used where only one metric is supported."""
        return self.names[0]

    @property
    def metrics(self) -> list[str]:
        """Names of the test scores, in the order of their measurement."""
        return [*self.scorers, *self.measures]

    def learn(self, scores: Mapping[str, float]) -> None:
        """Do nothing, since the metrics are known."""

    @property
    def guide(self) -> Guide:
        """First objective that is a scorer, which chooses the number of rounds."""
        i = next(i for i, name in enumerate(self.names) if name in self.scorers)
        return Guide(self.names[i], float(self.signs[i]))

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the first objective from the scores of a fold; greater is better."""
        return float(self.signs[0] * scores[self.name])

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the mean objectives of a trial over the fitted folds."""
        folds = [fold.test_scores for fold in trial.folds if fold.is_fitted]
        if trial.state == TrialState.FAILED or not folds:
            return [math.nan] * len(self.names)
        means = [np.mean([scores[name] for scores in folds]) for name in self.names]
        return [float(y) for y in self.signs * means]

    def best_known(self, observations: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the configurations on the front of (params, scores, noise) tuples."""
        if not observations:
            return []
        front = is_nondominated(np.array([scores for _, scores, *_ in observations]))
        return [observations[place][0] for place in np.flatnonzero(front).tolist()]

    def of_results(
        self, results: Mapping[str, Any], trials: Sequence[Trial]
    ) -> FloatArray:
        """Return the mean objectives of all trials."""
        means = [results[f"mean_test_{name}"] for name in self.names]
        Y = self.signs * np.column_stack(means)
        complete = np.array([trial.state == TrialState.COMPLETE for trial in trials])
        Y[~(complete & np.all(np.isfinite(Y), axis=1))] = np.nan
        return Y


def _as_dict(names: Any) -> dict[str, str]:
    if not isinstance(names, list | tuple | set) or len(names) < 2:
        names = ["accuracy", "score_time"]
    return {str(name): "min" if name in COSTS else "max" for name in names}
