"""Fit of an estimator that is scored after each round."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.evaluation.fold import wrapped_fit
from skbayes.evaluation.learning_curves import (
    FoldCurveRace,
    Guide,
    check_rounds,
    has_stalled,
    round_grid,
)
from skbayes.evaluation.prefix_steps import full_name
from skbayes.evaluation.rounds.boosters import BOOSTERS
from skbayes.evaluation.rounds.learners import (
    SKLEARN_LEARNERS,
    LearnerWithRounds,
    base_of,
    replaced,
)
from skbayes.evaluation.rounds.staged import Outputs, stage_of

__all__ = [
    "RoundLimits",
    "ScoredRows",
    "final_model",
    "learner_of",
    "objection_to",
    "refit_by_rounds",
    "round_params",
    "watched_fit",
]


@dataclass(frozen=True)
class RoundLimits:
    """Limits of the number of rounds.

    Parameters
    ----------
    cap : int or None
        Maximum number of rounds. None means that of `caps`, or else the default of the
        estimator.
    caps : dict of str to int
        Maximum number of rounds by parameter name, from the search space.
    guide : Guide
        Metric that stops a fit if it does not improve. If there are several metrics and
        its name is not known, fits are not stopped.
    """

    cap: int | None = None
    caps: Mapping[str, int] = field(default_factory=dict)
    guide: Guide = Guide()

    def cap_of(self, learner: LearnerWithRounds, model: Any, path: str) -> int:
        """Return the maximum number of rounds of a model at `path` of a pipeline."""
        if self.cap is not None:
            return self.cap
        name = full_name(path, learner.parameter(model))
        return self.caps.get(name) or learner.cap_of(model)


@dataclass(frozen=True)
class ScoredRows:
    """Rows that a fit is scored on, with keyword arguments of the scorer."""

    X: Any
    y: Any
    params: dict[str, Any]


def learner_of(model: Any) -> LearnerWithRounds | None:
    """Return the kind of an estimator with rounds; None if it has no rounds."""
    learner = _kind_of(model)
    return None if learner is None or learner.objection(model) else learner


def objection_to(model: Any) -> str | None:
    """Return the reason why an estimator has no scores after its rounds, or None."""
    model, _ = final_model(model)
    if isinstance(model, Pipeline):
        return f"{type(model).__name__} replaces {_replaced_in(model)!r} of Pipeline"
    learner = _kind_of(model)
    return None if learner is None else learner.objection(model)


def _kind_of(model: Any) -> LearnerWithRounds | None:
    learners = (*BOOSTERS, *SKLEARN_LEARNERS)
    return next((learner for learner in learners if learner.is_kind_of(model)), None)


def _replaced_in(pipeline: Pipeline) -> str | None:
    """Return the name of a method of pipelines that a subclass replaces, if any."""
    libraries = ("imblearn", "sklearn")
    bases = (base_of(pipeline, library, ("Pipeline",)) for library in libraries)
    return replaced(type(pipeline), next(filter(None, bases)))


def final_model(estimator: Any) -> tuple[Any, str]:
    """Return the last step of a pipeline that replaces no methods, and its path."""
    path = ""
    while isinstance(estimator, Pipeline) and _replaced_in(estimator) is None:
        name, estimator = estimator.steps[-1]
        path = full_name(path, name)
    return estimator, path


def round_params(estimator: Any, rounds: int) -> dict[str, Any]:
    """Return the parameters for a number of rounds that are not set already."""
    model, path = final_model(estimator)
    learner = learner_of(model)
    assert learner is not None
    own = model.get_params(deep=False)
    settings = {
        name: value
        for name, value in learner.settings(model).items()
        if name not in own or own[name] is not value
    }
    params = {**settings, learner.parameter(model): rounds}
    return {full_name(path, name): value for name, value in params.items()}


@contextlib.contextmanager
def refit_by_rounds(estimator: Any, limits: RoundLimits | None) -> Iterator[None]:
    """Fit an estimator in this context with the number of rounds of its parameter."""
    model, _ = final_model(estimator)
    learner = None if limits is None else learner_of(model)
    if learner is None:
        yield
        return

    def refit(fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
        learner.refit(model, X, y, params)
        return model

    with wrapped_fit(model, refit):
        yield


@contextlib.contextmanager
def watched_fit(
    estimator: Any,
    limits: RoundLimits,
    scorer: Any,
    rows: Callable[[], Sequence[ScoredRows]],
    cap: int | None = None,
    race: FoldCurveRace | None = None,
    risk: float = 0.0,
    outcomes: Callable[[Any, Any, Any], dict[str, Any]] | None = None,
) -> Iterator[WatchedFit]:
    """Score an estimator after each round while it is fitted once in this context.

    `rows` returns the test rows and, if they are scored, the training rows. `cap` is a
    number of rounds below that in `limits`. The fit stops if its probability in the
    `race` is below `risk`. ``outcomes(estimator, X, y)`` returns further scores.
    """
    watched = WatchedFit(limits, scorer, rows, cap, race, risk, outcomes)
    with wrapped_fit(estimator, functools.partial(watched.fit, estimator)):
        yield watched


class WatchedFit:
    """Fit whose scores are recorded after each round of the grid.

    The `curves` are those of the test rows and, if they are scored, of the training
    rows, by metric. `max_rounds` is 0 if the fit has no rounds. `seconds` is the time
    of predictions and scores.
    """

    def __init__(
        self,
        limits: RoundLimits,
        scorer: Any,
        rows: Callable[[], Sequence[ScoredRows]],
        cap: int | None = None,
        race: FoldCurveRace | None = None,
        risk: float = 0.0,
        outcomes: Callable[[Any, Any, Any], dict[str, Any]] | None = None,
    ) -> None:
        self._limits, self._scorer, self._rows, self._cap = limits, scorer, rows, cap
        self._race, self._risk, self._outcomes = race, risk, outcomes
        self._checks: frozenset[int] = frozenset()
        self._n_scored = 0
        self._error: Exception | None = None
        self._last: list[Any] = []
        self.curves: list[dict[str, list[float]]] = []
        self.outcome_curves: dict[str, list[float]] = {}
        self.max_rounds = 0
        self.seconds = 0.0
        self.has_no_chance = False
        self._grid = round_grid(1)

    # -- the fit ----------------------------------------------------------------------

    def fit(self, estimator: Any, fit: Any, X: Any, y: Any = None, **params) -> Any:
        """Fit the estimator while its last step is scored after each round."""
        model, path = final_model(estimator)
        learner = learner_of(model)
        if learner is None:
            return fit(X, y, **params)
        self.max_rounds = cap = self._limits.cap_of(learner, model, path)
        self._grid = round_grid(cap)
        if self._race is not None and self._race.ready:
            self._checks = frozenset(check_rounds(cap).tolist())
        cap = cap if self._cap is None else min(cap, self._cap)
        settings = {**learner.settings(model), learner.parameter(model): cap}
        model.set_params(**settings)
        by_rounds = functools.partial(self._fit_model, estimator, learner, cap)
        with wrapped_fit(model, by_rounds):
            return fit(X, y, **params)

    def _fit_model(
        self,
        estimator: Any,
        learner: LearnerWithRounds,
        cap: int,
        fit: Any,
        X: Any,
        y: Any = None,
        **params: Any,
    ) -> Any:
        model, _ = final_model(estimator)
        classes = np.unique(y) if is_classifier(model) else None
        watch = _Watch(self, model, cap, self._watched_rows(estimator), classes)
        learner.fit(model, X, y, params, watch)
        return model

    def _watched_rows(self, estimator: Any) -> list[tuple[ScoredRows, Any]]:
        """Return the scored rows, with their features as input of the model."""
        begin = time.perf_counter()
        found = [(rows, _features(estimator, rows.X)) for rows in self._rows()]
        self.seconds += time.perf_counter() - begin
        return found

    # -- the scores -------------------------------------------------------------------

    def observe(self, stages: Sequence[Any], rows: Sequence[ScoredRows]) -> None:
        """Score the current estimators, one per set of rows."""
        self._last = [
            self._scorer(stage, *_arguments(scored), **scored.params)
            for stage, scored in zip(stages, rows, strict=True)
        ]
        if not self.curves:
            self.curves = [{} for _ in rows]
        for curves, scores in zip(self.curves, self._last, strict=True):
            _append(curves, _by_metric(scores))
        if self._outcomes is not None:
            outcomes = self._outcomes(stages[0], rows[0].X, rows[0].y)
            _append(self.outcome_curves, _by_metric(outcomes))

    def has_ended(self) -> bool:
        """Return whether to stop the fit."""
        curve = self._limits.guide.curve(self.curves[0])
        if curve is None or not np.isfinite(curve).all():
            return False
        if int(self._grid[len(curve) - 1]) in self._checks:
            assert self._race is not None
            self.has_no_chance = self._race.chance(curve) < self._risk
        return self.has_no_chance or self.is_stalled(curve)

    def is_stalled(self, curve: np.ndarray) -> bool:
        """Return whether a curve has stalled, given the maximum number of rounds."""
        return has_stalled(curve, self._grid)

    def fail(self, error: Exception) -> None:
        """Store an exception of the scorer."""
        self._error = error

    @property
    def has_failed(self) -> bool:
        """Whether the scorer raised an exception."""
        return self._error is not None

    @property
    def scorer(self) -> Any:
        """Scorer that returns the recorded scores."""
        return compat.covered_scorer(self._scorer, self._score)

    def _score(self, estimator: Any, *args: Any, **params: Any) -> Any:
        """Return the scores after the last round, first those of the test rows."""
        if self._error is not None:
            raise self._error
        if not self._last:
            return self._scorer(estimator, *args, **params)
        self._n_scored += 1
        return self._last[self._n_scored - 1]


class _Watch:
    """Observer that scores one fit."""

    def __init__(
        self,
        fit: WatchedFit,
        model: Any,
        cap: int,
        rows: Sequence[tuple[ScoredRows, Any]],
        classes: Any,
    ) -> None:
        self.grid = round_grid(cap)
        self.sets = [features for _, features in rows]
        self._rows = [scored for scored, _ in rows]
        self.labels = [scored.y for scored in self._rows]
        self._fit, self._model, self._classes = fit, model, classes

    def __call__(self, outputs: Sequence[Outputs]) -> bool:
        begin = time.perf_counter()
        try:
            stages = [
                stage_of(self._model, scored.X, predictions, self._classes)
                for scored, predictions in zip(self._rows, outputs, strict=True)
            ]
            self._fit.observe(stages, self._rows)
        except Exception as error:
            self._fit.fail(error)
            return True
        finally:
            self._fit.seconds += time.perf_counter() - begin
        return self._fit.has_ended()

    def is_stalled(self, curve: np.ndarray) -> bool:
        return self._fit.is_stalled(curve)


def _features(estimator: Any, X: Any) -> Any:
    while isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            # Samplers of imbalanced-learn only change the rows of fits.
            is_skipped = step is None or isinstance(step, str)
            if not is_skipped and not hasattr(step, "fit_resample"):
                X = step.transform(X)
        estimator = estimator.steps[-1][1]
    return X


def _arguments(rows: ScoredRows) -> tuple[Any, ...]:
    return (rows.X,) if rows.y is None else (rows.X, rows.y)


def _append(curves: dict[str, list[float]], scores: dict[str, float]) -> None:
    for name, score in scores.items():
        curves.setdefault(name, []).append(score)


def _by_metric(scores: Any) -> dict[str, float]:
    """Return scores by metric, with NaN for scores that are not numbers."""
    named = scores if isinstance(scores, dict) else {"score": scores}
    return {name: _number(score) for name, score in named.items()}


def _number(score: Any) -> float:
    try:
        return math.nan if isinstance(score, str) else float(score)
    except (TypeError, ValueError):
        return math.nan
