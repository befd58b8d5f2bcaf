"""Rounds of boosting, scored during one fit: the parameter `early_stopping`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from skbayes.options.early_stopping.lookup import (
    RoundLimits,
    check_rounds,
    round_settings,
    without_rounds,
)
from skbayes.options.early_stopping.watched_fit import WatchedFit
from skbayes.trial.aspect import Aspect, Evaluation
from skbayes.trial.fold import FoldAspect, FoldCall, Job, Results, wrapped_fit
from skbayes.trial.learning_curves import (
    choose_rounds,
    guiding_curves,
    rounds_at,
    with_chosen_rounds,
)
from skbayes.trial.records import FoldResult, History, Trial


class _FoldRounds(FoldAspect):
    """Scores of a fit after each round, up to the limits of its trial and its fold."""

    def __init__(self, limits: RoundLimits) -> None:
        self.limits = limits

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Observe the fit, and replace the scorer by the recorded scores."""
        watched = WatchedFit(call, self.limits, *call.fold.parts[self.name])
        call.state[self.name] = watched
        call.options["scorer"] = watched.scorer
        with wrapped_fit(call.estimator, watched.fit):
            yield

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Add the learning curves, and subtract their time from the fit time."""
        watched = call.state[self.name]
        assert isinstance(watched, WatchedFit)
        result = replace(
            result,
            fit_time=max(0.0, result.fit_time - watched.seconds),
            score_time=result.score_time + watched.seconds,
        )
        curves = watched.curves
        if not curves or result.fit_error is not None or watched.has_failed:
            return result
        # A score that equals the error score has no name, unless it has a curve.
        last = {name: curve[-1] for name, curve in curves.items()}
        result = replace(result, test_scores=result.test_scores or last)
        max_rounds, _ = call.fold.parts[self.name]
        return result.with_extras(max_rounds=max_rounds, curves=curves)


class EarlyStopping(Aspect):
    """Best number of rounds of a trial, from the curves of its folds."""

    name = "early_stopping"

    def prepare(self, spaces: Any, routed: Any) -> Any:
        """Return the space without the numbers of rounds."""
        if self.settings.return_train_score:
            raise ValueError(
                "return_train_score=True cannot be combined with early_stopping, which "
                "scores the test rows only. Use return_train_score=False."
            )
        guide, fit_params = self.objective.guide, routed.estimator.fit
        space, limits = without_rounds(self.settings, spaces, guide, fit_params)
        self._limits: RoundLimits = limits
        return space

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Check that the rounds of the estimators can be scored."""
        check_rounds(self.settings.early_stopping, models)

    def fold_aspect(self) -> FoldAspect:
        """Return the part that scores a fit after each round."""
        # The search space may contain large objects.
        return _FoldRounds(replace(self._limits, spaces=None))

    def begin(self, evaluation: Evaluation) -> None:
        """Limit folds by earlier ones, if they run one after the other."""
        if evaluation.backend.n_workers == 1:
            evaluation.limit_groups(1)

    def for_fold(
        self, evaluation: Evaluation, index: int, earlier: Results
    ) -> tuple[int, int]:
        """Limit the rounds to those of the shortest earlier fold."""
        cap = self._limits.of(self.settings.estimator, evaluation.params)
        folds = [*earlier.values()]
        curves = guiding_curves(folds, self.objective.guide)
        shortest = min(map(len, curves.values()), default=0)
        if not shortest:
            return cap, cap
        return cap, rounds_at(folds[next(iter(curves))], shortest - 1)

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Choose the number of rounds of the trial, and of each of its folds.

        A score that is missing at this number becomes the error score.
        """
        guide = self.objective.guide
        curves = guiding_curves(trial.folds, guide)
        if not curves:
            return trial
        missing = self.settings.missing_score
        folds = with_chosen_rounds(trial.folds, guide, missing)
        name, settings = round_settings(self.settings.estimator, trial.params)
        for index in curves:
            fitted = settings | {name: folds[index].extras["rounds"]}
            folds[index] = folds[index].with_extras(fitted_params=fitted)
        # All folds of a trial have the same grid.
        first = folds[next(iter(curves))]
        rounds = rounds_at(first, choose_rounds([*curves.values()]))
        fitted = settings | {name: rounds}
        extras = trial.extras | {"rounds": rounds, "fitted_params": fitted}
        return replace(trial, folds=folds, extras=extras)

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return the numbers of rounds, 0 without a choice, and their parameters."""
        return {
            "rounds": [trial.rounds or 0 for trial in history],
            "fitted_params": [trial.fitted_params for trial in history],
        }
