"""Rounds of boosting, scored during one fit: the parameter `early_stopping`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes import compat
from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome, Outcomes, wrapped_fit
from skbayes.evaluation.learning_curves import (
    choose_by_others,
    choose_rounds,
    round_grid,
)
from skbayes.evaluation.rounds.lookup import RoundLimits, round_params, take_rounds_out
from skbayes.evaluation.rounds.watched_fit import WatchedFit
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState
from skbayes.space.dimensions import FloatArray

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.objectives import Objective


class _FoldRounds(FoldAspect):
    """Scores of a fit after each round.

    The part of a fold is a number of rounds below the limit of the search, if any.
    """

    def __init__(self, limits: RoundLimits) -> None:
        self.limits = limits

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Observe the fit, and replace the scorer by the recorded scores."""
        cap = call.fold.parts.get(self.name, self.limits.cap)
        watched = WatchedFit(call, self.limits, cap)
        call.state[self.name] = watched
        call.options["scorer"] = watched.scorer
        with wrapped_fit(call.estimator, watched.fit):
            yield

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the learning curves, and subtract their time from the fit time."""
        fold, watched = outcome.result, call.state[self.name]
        assert fold is not None and isinstance(watched, WatchedFit)
        fold.fit_time = max(0.0, fold.fit_time - watched.seconds)
        fold.score_time += watched.seconds
        # Aspects that follow measure these times.
        call.result |= {"fit_time": fold.fit_time, "score_time": fold.score_time}
        if not watched.curves or fold.fit_error is not None or watched.has_failed:
            return
        names = ("curves", "train_curves")
        fold.extras |= dict(zip(names, watched.curves, strict=False))
        fold.extras["max_rounds"] = self.limits.cap
        # A score that equals the error score has no name, unless it has a curve.
        last = {name: curve[-1] for name, curve in watched.curves[0].items()}
        fold.test_scores = fold.test_scores or last
        # Scorers that need more than predictions are evaluated after the fit.
        known = {
            name: curve
            for name, curve in watched.outcome_curves.items()
            if not all(map(math.isnan, curve))
        }
        if known:
            fold.extras["outcome_curves"] = known


class EarlyStopping(Aspect):
    """Number of rounds that is best for a trial, from the curves of its folds."""

    name = "early_stopping"
    extras = {"curves": dict, "train_curves": dict, "outcome_curves": dict}
    parameters = {
        "early_stopping": [
            compat.Interval(Integral, 1, None, closed="left"),
            compat.StrOptions({"auto"}),
            None,
        ]
    }

    @classmethod
    def prepare(
        cls,
        settings: Mapping[str, Any],
        spaces: Any,
        objective: Objective,
        y: Any,
        fit_params: Mapping[str, Any],
    ) -> tuple[Any, RoundLimits]:
        """Return the space without the numbers of rounds, and their limits."""
        return take_rounds_out(settings, spaces, objective.guide, fit_params)

    def fold_aspect(self) -> FoldAspect:
        """Return the part that scores a fit after each round."""
        return _FoldRounds(self.run.notes[self.name])

    def for_fold(self, plan: Evaluation, index: int, earlier: Outcomes) -> int | None:
        """Limit the rounds to those of the shortest previous fold."""
        results = [outcome.result for outcome in earlier if outcome.result is not None]
        watched, curves = self._watched(results)
        shortest = min(map(len, curves), default=0)
        return _rounds_at(watched[0], shortest - 1) if shortest else None

    def folds_at_a_time(self, n_workers: int) -> float:
        """Let folds depend on earlier ones if they run one after the other anyway."""
        return 1 if n_workers == 1 else math.inf

    def set_scores(
        self, folds: Sequence[FoldResult], missing: float = math.nan
    ) -> None:
        """Score each fold at the number of rounds that the others choose.

        The choice therefore causes no bias.
        """
        watched, curves = self._watched(folds)
        places = choose_by_others(curves) if curves else []
        for fold, place in zip(watched, places, strict=True):
            extras = fold.extras
            # Costs have no curves.
            scores = _scores_at(extras["curves"], place, missing)
            fold.test_scores = fold.test_scores | scores
            if (train := extras.get("train_curves")) is not None:
                costs = fold.train_scores or {}
                fold.train_scores = costs | _scores_at(train, place, missing)
            fold.extras = extras | {"rounds": _rounds_at(fold, place)}
            if "outcome_curves" in extras:
                outcomes = _scores_at(extras["outcome_curves"], place, math.nan)
                fold.extras["outcomes"] = extras["outcomes"] | outcomes

    def conclude(
        self, plan: Evaluation, folds: Sequence[FoldResult], state: TrialState
    ) -> dict[str, Any]:
        """Choose the number of rounds; a missing score becomes the error score."""
        fitted = [fold for fold in folds if fold.is_fitted]
        self.set_scores(fitted, self.run.options.missing_score)
        watched, curves = self._watched(fitted)
        if not curves:
            return {}
        return {"rounds": _rounds_at(watched[0], choose_rounds(curves))}

    def row_params(self, trial: Trial, split: int | None = None) -> dict[str, Any]:
        """Return the parameters that set the number of rounds, if it was chosen."""
        rounds = trial.rounds
        if split is not None:
            rounds = trial.folds[split].extras.get("rounds", rounds)
        if rounds is None:
            return {}
        return round_params(self.run.estimator, rounds, trial.params)

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return the numbers of rounds; 0 if none was chosen."""
        return {"rounds": [trial.rounds or 0 for trial in history]}

    def attributes(self, history: History) -> dict[str, Any]:
        """Return the curves of all folds, up to the end of the shortest of a trial."""
        columns: dict[str, list[Any]] = {}
        for trial in history:
            for name, values in _curve_columns(trial):
                columns.setdefault(name, []).append(np.asarray(values))
        joined = {name: np.concatenate(parts) for name, parts in columns.items()}
        return {"learning_curves_": joined}

    def _watched(
        self, folds: Sequence[FoldResult]
    ) -> tuple[list[FoldResult], list[FloatArray]]:
        """Return the folds with curves, and their guiding curves.

        NaN is minus infinity. Without the guiding metric, no fold is returned.
        """
        guide = self.run.objective.guide
        watched = [fold for fold in folds if "curves" in fold.extras]
        curves = [guide.curve(fold.extras["curves"]) for fold in watched]
        known = [curve for curve in curves if curve is not None]
        if len(known) < len(watched):
            return [], []
        return watched, [np.where(np.isnan(curve), -np.inf, curve) for curve in known]


def _rounds_at(fold: FoldResult, place: int) -> int:
    return int(round_grid(fold.extras["max_rounds"])[place])


def _scores_at(
    curves: Mapping[str, Sequence[float]], place: int, missing: float
) -> dict[str, float]:
    return {
        name: missing if math.isnan(curve[place]) else curve[place]
        for name, curve in curves.items()
    }


def _curve_columns(trial: Trial) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the columns of `learning_curves_`, by their names."""
    tests = {
        split: fold.extras["curves"]
        for split, fold in enumerate(trial.folds)
        if "curves" in fold.extras
    }
    n = min(
        (len(curve) for test in tests.values() for curve in test.values()), default=0
    )
    for split, test in tests.items():
        extras = trial.folds[split].extras
        yield "trial", [trial.number] * n
        yield "split", [split] * n
        yield "rounds", round_grid(extras["max_rounds"])[:n]
        for kind, curves in (("test", test), ("train", extras.get("train_curves", {}))):
            for metric, curve in curves.items():
                yield f"{kind}_{metric}", curve[:n]
