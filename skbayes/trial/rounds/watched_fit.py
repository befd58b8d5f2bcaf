"""Fit of an estimator that is scored after each round."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.trial.fast_metrics import fast_score
from skbayes.trial.fold import PREDICTING, FoldCall, scored, wrapped_fit
from skbayes.trial.learning_curves import has_stalled, round_grid
from skbayes.trial.rounds.lookup import RoundLimits, booster_of, final_model
from skbayes.trial.rounds.outputs import RoundOutputs, StagedClassifier, StagedRegressor

# Rows that a fit is scored on, their targets, and keyword arguments of the scorer.
ScoredRows = tuple[Any, Any, dict[str, Any]]


class WatchedFit:
    """Fit of a fold that is scored after each round of the `grid`, up to the `cap`.

    The grid of the trial ends at `max_rounds`, the cap or more. The fit stops if the
    guiding metric does not improve, unless its name is not known yet. The `curves` are
    scores by metric of the test rows and, if they are scored, of the training rows;
    `outcome_curves` are outcomes of other aspects. There are none if the estimator has
    no rounds. `seconds` is the time of predictions and scores.
    """

    def __init__(
        self, call: FoldCall, limits: RoundLimits, max_rounds: int, cap: int
    ) -> None:
        self._full_grid, self.grid = round_grid(max_rounds), round_grid(cap)
        self._call, self._limits = call, limits
        self._asked = frozenset(self.grid.tolist())
        self._scorer = call.job.options["scorer"]
        self._n_returned = 0
        self._error: Exception | None = None
        self._last: list[Any] = []
        self.curves: list[dict[str, list[float]]] = []
        self.outcome_curves: dict[str, list[float]] = {}
        self.seconds = 0.0

    def fit(self, fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the estimator while its last step is scored after each round."""
        model, _ = final_model(self._call.estimator)
        booster = booster_of(model)
        if booster is None:
            return fit(X, y, **params)
        name = booster.parameter(model)
        model.set_params(**booster.settings(model), **{name: int(self.grid[-1])})

        def fit_model(fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
            begin = time.perf_counter()
            self._classes = np.unique(y) if is_classifier(model) else None
            self._rows = self._scored_rows()
            self.labels = [y for _, y, _ in self._rows]
            self._fast = [self._fast_score(*rows[1:]) for rows in self._rows]
            self.sets = [_features(self._call.estimator, X) for X, *_ in self._rows]
            self.seconds += time.perf_counter() - begin
            booster.fit(model, X, y, params, self)
            return model

        with wrapped_fit(model, fit_model):
            return fit(X, y, **params)

    def __call__(self, n_rounds: int, by_set: Sequence[RoundOutputs]) -> bool:
        """Score the outputs for each set of rows; return whether to stop the fit."""
        if n_rounds not in self._asked:
            return False
        begin = time.perf_counter()
        try:
            self._observe(by_set)
        except Exception as error:
            self._error = error
            return True
        finally:
            self.seconds += time.perf_counter() - begin
        curve = self._limits.guide.curve(self.curves[0])
        return curve is not None and self.is_stalled(curve)

    def is_stalled(self, curve: np.ndarray) -> bool:
        """Return whether a curve has stalled, unless a score is missing."""
        return bool(np.isfinite(curve).all()) and has_stalled(curve, self._full_grid)

    def _scored_rows(self) -> list[ScoredRows]:
        """Return the rows that the fit is scored on, selected as in scikit-learn."""
        call = self._call
        sets = [(call.test, call.train)]
        if call.options["return_train_score"]:
            sets.append((call.train, None))
        job = call.job
        found = []
        for rows, others in sets:
            params = compat.check_fit_params(job.X, job.score_params, rows)
            found.append((*call.selected(rows, others), params))
        return found

    def _fast_score(self, y: Any, params: dict[str, Any]) -> Any:
        """Return a fast formula of the metric for outputs after a round, or None."""
        if y is None or params or type(self._scorer) not in PREDICTING:
            return None
        metric = self._limits.metrics[self._classes is not None]
        return fast_score(metric, y, self._classes)

    def _score_of(self, place: int, estimator: Any) -> Any:
        """Return the score after a round for a set of rows."""
        if (fast := self._fast[place]) is not None:
            score = fast(estimator.outputs)
            if math.isfinite(score):  # otherwise, the scorer raises its own error
                return score
        return scored(self._scorer, estimator, *self._rows[place])

    def _observe(self, by_set: Sequence[RoundOutputs]) -> None:
        kind = StagedRegressor if self._classes is None else StagedClassifier
        estimators = [
            kind(X, outputs(), self._classes)
            for (X, *_), outputs in zip(self._rows, by_set, strict=True)
        ]
        self._last = [self._score_of(i, model) for i, model in enumerate(estimators)]
        self.curves = self.curves or [{} for _ in self._rows]
        for curves, scores in zip(self.curves, self._last, strict=True):
            _append(curves, scores if isinstance(scores, dict) else {"score": scores})
        X, y, _ = self._rows[0]
        for aspect in self._call.job.aspects:
            outcomes = aspect.after_round(self._call, estimators[0], X, y)
            _append(self.outcome_curves, outcomes)

    @property
    def has_failed(self) -> bool:
        """Whether the scorer raised an exception."""
        return self._error is not None

    @property
    def scorer(self) -> Any:
        """Scorer that returns the recorded scores."""
        return compat.covered_scorer(self._scorer, self._score)

    def _score(self, estimator: Any, *args: Any, **params: Any) -> Any:
        """Return the scores after the last round; the test rows come first."""
        if self._error is not None:
            raise self._error
        if not self._last:
            return self._scorer(estimator, *args, **params)
        self._n_returned += 1
        return self._last[self._n_returned - 1]


def _features(estimator: Any, X: Any) -> Any:
    """Return rows as input of the last step of a pipeline."""
    while isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            # Samplers of imbalanced-learn only change the rows of fits.
            is_skipped = step is None or isinstance(step, str)
            if not is_skipped and not hasattr(step, "fit_resample"):
                X = step.transform(X)
        estimator = estimator.steps[-1][1]
    return X


def _append(curves: dict[str, list[float]], scores: dict[str, Any]) -> None:
    """Append scores to curves by metric, with NaN for scores that are not numbers."""
    for name, score in scores.items():
        try:
            number = math.nan if isinstance(score, str) else float(score)
        except (TypeError, ValueError):
            number = math.nan
        curves.setdefault(name, []).append(number)
