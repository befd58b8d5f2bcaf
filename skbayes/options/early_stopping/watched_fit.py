"""Fit of an estimator that is scored after each round."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.options.early_stopping.lookup import RoundLimits, booster_of, last_step
from skbayes.trial.fast_metrics import fast_score
from skbayes.trial.fold import PREDICTING, FoldCall, scored, wrapped_fit
from skbayes.trial.learning_curves import has_stalled, round_grid
from skbayes.trial.outputs import RoundOutputs, StagedClassifier, StagedRegressor


class WatchedFit:
    """Fit of a fold that is scored after each round of the `grid`, up to the `cap`.

    The grid of the trial ends at `max_rounds`, which is at least the cap. The fit stops
    if the guiding metric does not improve, unless its name is not known yet. The
    `curves` are scores of the test rows by metric, and empty if the estimator has no
    rounds. `seconds` is the time of predictions and scores.
    """

    def __init__(
        self, call: FoldCall, limits: RoundLimits, max_rounds: int, cap: int
    ) -> None:
        self._full_grid, self.grid = round_grid(max_rounds), round_grid(cap)
        self._call, self._limits = call, limits
        self._scored_rounds = frozenset(self.grid.tolist())
        self._scorer = call.job.options["scorer"]
        self._error: Exception | None = None
        self._last: Any = None
        self.curves: dict[str, list[float]] = {}
        self.seconds = 0.0

    def fit(self, fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the estimator while its last step is scored after each round."""
        model, _ = last_step(self._call.estimator)
        booster = booster_of(model)
        if booster is None:
            return fit(X, y, **params)
        name = booster.parameter(model)
        model.set_params(**booster.settings(model), **{name: int(self.grid[-1])})

        def fit_model(fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
            begin = time.perf_counter()
            self._classes = np.unique(y) if is_classifier(model) else None
            call = self._call
            rows, self.y = call.test_set()
            score_params = call.job.score_params
            self._params = compat.check_fit_params(call.job.X, score_params, call.test)
            self._formula = self._fast_score()
            self._test_rows, self.X = rows, _features(call.estimator, rows)
            self.seconds += time.perf_counter() - begin
            booster.fit(model, X, y, params, self)
            return model

        with wrapped_fit(model, fit_model):
            return fit(X, y, **params)

    def __call__(self, n_rounds: int, outputs: RoundOutputs) -> bool:
        """Score the outputs after a round; return whether to stop the fit."""
        if n_rounds not in self._scored_rounds:
            return False
        begin = time.perf_counter()
        try:
            self._observe(outputs)
        except Exception as error:
            self._error = error
            return True
        finally:
            self.seconds += time.perf_counter() - begin
        curve = self._limits.guide.curve(self.curves)
        return curve is not None and self.is_stalled(curve)

    def is_stalled(self, curve: np.ndarray) -> bool:
        """Return whether a curve has stalled, unless a score is missing."""
        return bool(np.isfinite(curve).all()) and has_stalled(curve, self._full_grid)

    def _fast_score(self) -> Any:
        """Return a fast formula of the metric for outputs after a round, or None."""
        if self.y is None or self._params or type(self._scorer) not in PREDICTING:
            return None
        metric = self._limits.metrics[self._classes is not None]
        return fast_score(metric, self.y, self._classes)

    def _score_of(self, estimator: Any) -> Any:
        """Return the score after a round."""
        if self._formula is not None:
            score = self._formula(estimator.outputs)
            if math.isfinite(score):  # otherwise, the scorer raises its own error
                return score
        return scored(self._scorer, estimator, estimator.X, self.y, self._params)

    def _observe(self, outputs: RoundOutputs) -> None:
        kind = StagedRegressor if self._classes is None else StagedClassifier
        estimator = kind(self._test_rows, outputs(), self._classes)
        self._last = self._score_of(estimator)
        is_dict = isinstance(self._last, dict)
        for name, score in (self._last if is_dict else {"score": self._last}).items():
            self.curves.setdefault(name, []).append(_as_number(score))

    @property
    def has_failed(self) -> bool:
        """Whether the scorer raised an exception."""
        return self._error is not None

    @property
    def scorer(self) -> Any:
        """Scorer that returns the scores after the last round, if there are rounds."""
        return compat.covered_scorer(self._scorer, self._score)

    def _score(self, estimator: Any, *args: Any, **params: Any) -> Any:
        if self._error is not None:
            raise self._error
        return self._last if self.curves else self._scorer(estimator, *args, **params)


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


def _as_number(score: Any) -> float:
    """Return a score as a number, or NaN."""
    try:
        return math.nan if isinstance(score, str) else float(score)
    except (TypeError, ValueError):
        return math.nan
