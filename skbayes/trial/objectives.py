"""Objectives of a search: its metric, with a cost, or several scores and costs.

Symbols: ``Y`` of shape (n_trials, n_objectives) contains the mean objectives. Those
that are minimized are negated, so that all columns are maximized.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.metrics import get_scorer_names

from skbayes import compat
from skbayes.space.dimensions import is_number
from skbayes.trial.costs import parse_cost, trial_cost
from skbayes.trial.learning_curves import Guide
from skbayes.trial.measure import COSTS, Measure, parse_measurement
from skbayes.trial.options import refit_choice
from skbayes.trial.records import Trial, TrialState
from skbayes.utils.ranking import best_first, is_nondominated

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray


class Objective(Protocol):
    """Objective of the trials: what guides a search, from the scores of its folds.

    With a callable `scoring`, its metrics are known after the first fit.
    """

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Costs that are measured for each fit, by name."""

    @property
    def separate_costs(self) -> bool:
        """Whether the costs are not test scores."""

    @property
    def name(self) -> str | None:
        """Name of the metric that guides the search, as soon as it is known."""

    @property
    def metrics(self) -> list[str]:
        """Names of the test scores, as soon as they are known."""

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics from the scores of a fold."""

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the scores of a fold; greater is better."""

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best configurations of (params, scores, noise) tuples."""


class GuidingMetric:
    """Metric that guides the search, read from the scores of one fold.

    With a callable `scoring`, the names of the metrics are checked after the first fit,
    since they are not available earlier.

    `name` is "score" if there is only one, and None while it is not known. `metrics`
    are the names of all metrics. A ValueError is raised if a rule of `refit` chooses by
    another metric.
    """

    measures: Mapping[str, Any] = {}
    separate_costs = False

    def __init__(self, settings: Mapping[str, Any], scorers: Any) -> None:
        self._refit = refit_choice(settings["refit"], settings["scoring"]).plain
        self._error_score = settings["error_score"]
        self.name: str | None = None
        self.metrics: list[str] = []
        if compat.is_multimetric_scorer(scorers):
            self._resolve(list(compat.public_scorers(scorers)))
        elif not callable(settings["scoring"]):
            self._resolve(["score"])

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics of a callable `scoring` from the scores of a fold."""
        if self.metrics or not scores:
            return
        refit = self._refit
        if list(scores) != ["score"]:
            compat.check_multimetric_refit(SimpleNamespace(refit=refit), scores)
        elif isinstance(refit, str) and refit not in ("score", *get_scorer_names()):
            raise ValueError(
                f"refit must be True, False, 'ensemble', 'corrected' or a callable if "
                f"scoring returns a single number, got {refit!r}."
            )
        self._resolve(list(scores))

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the test scores of a fold."""
        if not scores:
            return float(self._error_score)
        assert self.name is not None
        return float(scores[self.name])

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""
        return Guide(self.name)

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""
        return trial.score

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""
        order = best_first([score for _, score, *_ in known])
        return [known[place][0] for place in order[:1]]

    def _resolve(self, names: list[str]) -> None:
        refit = self._refit
        # The metric by which a rule of :mod:`skbayes.results` chooses.
        metric = getattr(refit, "metric", None)
        if isinstance(metric, str) and metric not in names:
            raise ValueError(
                f"refit={refit!r} chooses by the metric {metric!r}, which is not among "
                f"those of scoring: {names}"
            )
        by_refit = refit if isinstance(refit, str) and refit in names else None
        self.name = by_refit or metric or names[0]
        self.metrics = names


class ScoreAndCost(GuidingMetric):
    """Score on the unit scale, and the negated cost of a trial."""

    separate_costs = True

    def __init__(self, settings: Mapping[str, Any], scorers: Any) -> None:
        self.cost, measure = parse_cost(settings["cost"])
        self.measures = {self.cost: measure}
        self._is_unit = settings["score_range"] is None
        self._low, self._high = _bounds(settings["score_range"])
        super().__init__(settings, scorers)
        error_score = settings["error_score"]
        if not (isinstance(error_score, str) or np.isnan(error_score)):
            try:
                self.on_unit_scale(float(error_score))
            except ValueError as error:
                raise ValueError(f"error_score: {error}") from None

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the observation of a trial for the optimizer."""
        return [self.on_unit_scale(trial.score), -trial_cost(trial, self.cost)]

    def on_unit_scale(self, score: float) -> float:
        """Return a score relative to `score_range`; ValueError if it is required."""
        if self._is_unit and not np.isnan(score) and not 0 <= score <= 1:
            raise ValueError(
                f"A score of {score:.4g} is not between 0 and 1, so it cannot be "
                "compared with costs. Set score_range=(low, high), the scores that "
                "correspond to 0 and 1."
            )
        return (score - self._low) / (self._high - self._low)


def _bounds(score_range: Any) -> tuple[float, float]:
    """Return the scores that correspond to 0 and 1."""
    if score_range is None:
        return 0.0, 1.0
    bounds = list(score_range)
    if len(bounds) != 2 or not all(is_number(b) and np.isfinite(b) for b in bounds):
        raise ValueError(f"score_range must be a pair of numbers, got {score_range!r}.")
    if not bounds[0] < bounds[1]:
        raise ValueError(
            f"score_range must be (low, high) with low < high, got {score_range!r}."
        )
    return float(bounds[0]), float(bounds[1])


class Objectives:
    """Objectives of a search: "max" or "min" by name, or this and the quantity.

    The quantity is the name of a scorer or a cost, a scorer, or a callable of the
    fitted estimator. The `signs` (n_objectives,) are 1 for maximized ones, else -1.
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
        directions = [self._take(name, objectives[name]) for name in self.names]
        self.signs = np.where(np.array(directions) == "max", 1.0, -1.0)
        if not self.scorers:
            raise ValueError(
                "objectives must contain at least one scorer, such as 'accuracy', got "
                f"{self.names!r}, which are all costs."
            )

    def _take(self, name: Any, given: Any) -> str:
        if not isinstance(name, str):
            raise TypeError(f"objectives: names must be strings, got {name!r}.")
        is_pair = isinstance(given, tuple | list) and len(given) == 2
        direction, meant = given if is_pair else (given, name)
        if not isinstance(direction, str) or direction not in ("max", "min"):
            raise ValueError(
                f"objectives[{name!r}] must be 'max', 'min', or a tuple of that and a "
                f"scorer, a cost or a callable, got {given!r}."
            )
        found = parse_measurement(meant)
        if found is None and isinstance(meant, str):
            raise ValueError(
                f"objectives[{name!r}]: {meant!r} is neither one of the costs "
                f"{[*COSTS]} nor the name of a scorer; give a callable by "
                f"{{{name!r}: ({direction!r}, callable)}}."
            )
        if found is None:
            raise TypeError(
                f"objectives[{name!r}]: {meant!r} must be a callable of the fitted "
                "estimator, or a scorer: a callable of estimator, X and y."
            )
        kind, measurement = found
        if kind == "scorer" and isinstance(meant, str) and direction == "min":
            raise ValueError(
                f"objectives[{name!r}]: greater values of the scorer {meant!r} "
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

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the configurations on the front of (params, scores, noise) tuples."""
        if not known:
            return []
        front = is_nondominated(np.array([scores for _, scores, *_ in known]))
        return [known[place][0] for place in np.flatnonzero(front).tolist()]

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
