"""Rounds of iterative estimators, scored during one fit: the parameter `rounds`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes import compat
from skbayes.evaluation.aspect import Aspect, FoldAspect, Parameter
from skbayes.evaluation.fold import (
    FoldCall,
    FoldOutcome,
    Outcomes,
    has_status,
    wrapped_fit,
)
from skbayes.evaluation.learning_curves import (
    CurveScores,
    FoldCurveRace,
    Guide,
    choose_by_others,
    choose_rounds,
    round_grid,
)
from skbayes.evaluation.racing import FoldScores, Race
from skbayes.evaluation.rounds.lookup import (
    RoundLimits,
    final_model,
    learner_of,
    round_params,
    take_rounds_out,
)
from skbayes.evaluation.rounds.watched_fit import WatchedFit
from skbayes.evaluation.trial import FoldResult, FoldStatus, History, Trial, TrialState
from skbayes.space.dimensions import FloatArray

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun


class _FoldRounds(FoldAspect):
    """Scores of a fit after each round.

    The part of a fold is a tuple: the number of rounds, if it is below the limit of the
    search, the race with the learning curves of complete trials, and its risk.
    """

    def __init__(self, limits: RoundLimits) -> None:
        self.limits = limits

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Observe the fit, and replace the scorer by the recorded scores."""
        part = call.fold.parts.get(self.name, ())
        watched = WatchedFit(call, self.limits, *part)
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
        if watched.curves and fold.fit_error is None and not watched.has_failed:
            names = ("curves", "train_curves")
            fold.extras |= dict(zip(names, watched.curves, strict=False))
            fold.extras["max_rounds"] = watched.max_rounds
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
        if watched.has_no_chance:
            outcome.status = FoldStatus.STOPPED


class Rounds(Aspect):
    """Number of rounds that is best for a trial, from the curves of its folds.

    Parameters
    ----------
    rounds : int, "auto" or None, default=None
        Maximum number of rounds of the estimator, or of the last step of a pipeline:
        boosting iterations, trees of a forest, or epochs. Each fit is scored on its
        test rows after each of the first 20 rounds, then in steps of 10%. The number
        of rounds of a trial is the one with the best mean score over the splits. Each
        split is scored at the number that is best for the other splits. A fit stops
        early if its score has not improved for many rounds. The number of rounds is not
        a dimension of the search space; an entry for it is removed from
        ``search_spaces_``. The rows of ``cv_results_`` contain the chosen number as a
        parameter. Costs are those of the complete fits.

        "auto" uses the largest value of that entry. If there is none, it uses 1000 for
        gradient boosting, 300 for forests, 200 for AdaBoost, and `max_iter` of the
        estimator for epochs. With None, the number of rounds is treated like any other
        parameter. See :ref:`rounds`.

    Attributes
    ----------
    learning_curves_ : DataFrame or dict
        Scores after each round, if `rounds` is set. The columns are `trial`, `split`,
        `rounds`, ``test_<metric>`` and, with `return_train_score`, ``train_<metric>``.
        Without pandas, a dict of arrays.
    """

    name = "rounds"
    parameters = (
        Parameter(
            "rounds",
            [
                compat.Interval(Integral, 1, None, closed="left"),
                compat.StrOptions({"auto"}),
                None,
            ],
            default=None,
        ),
    )

    def __init__(self, run: SearchRun) -> None:
        super().__init__(run)
        self.limits: RoundLimits = run.notes[self.name]
        # Curves and scores of complete trials by split, by the training rows and the
        # maximum number of rounds.
        self._known: dict[tuple, list[tuple[list[FloatArray], FloatArray]]] = {}

    @classmethod
    def prepare(
        cls, search: Any, spaces: Any, objective: Any, y: Any, fit_params: Any
    ) -> tuple[Any, RoundLimits]:
        """Return the space without the numbers of rounds, and their limits."""
        return take_rounds_out(search, spaces, objective.guide, fit_params)

    @classmethod
    @contextlib.contextmanager
    def refitting(cls, estimator: Any) -> Iterator[None]:
        """Fit an estimator with the number of rounds of its parameter."""
        model, _ = final_model(estimator)
        learner = learner_of(model)
        if learner is None:
            yield
            return

        def refit(fit: Any, X: Any, y: Any = None, **params: Any) -> Any:
            learner.refit(model, X, y, params)
            return model

        with wrapped_fit(model, refit):
            yield

    def fold_aspect(self) -> FoldAspect:
        """Return the part that scores a fit after each round."""
        return _FoldRounds(self.limits)

    def begin(self, plan: Evaluation) -> None:
        """Make the race for the first fold, if trials are pruned."""
        plan.notes[self.name] = None
        if self.run.racing_risk is None or plan.refusal is not None:
            return
        cap = self.limits.cap_with(self.run.estimator, plan.params)
        share = self.run.train_fraction(plan.fidelity)
        known = self._known.get((cap, share, plan.fidelity.subset), [])
        # The score of a fold without any others is the best one of its curve.
        places = plan.places
        curves = [curves[places[0]] for curves, _ in known]
        first = [float(np.max(curve)) for curve in curves]
        rows = [scores[places] for _, scores in known]
        race = Race(rows, [np.array([s]) for s in first])
        plan.notes[self.name] = FoldCurveRace(curves, first, race)

    def for_fold(
        self, plan: Evaluation, index: int, earlier: Outcomes
    ) -> tuple[int | None, FoldCurveRace | None, float]:
        """Limit the rounds to those of the shortest previous fold."""
        lengths = [_last_round(outcome.result) for outcome in earlier]
        shortest = min(filter(None, lengths), default=None)
        race = None if earlier else plan.notes[self.name]
        return shortest, race, self.run.racing_risk or 0.0

    def folds_at_a_time(self, n_workers: int) -> float:
        """Let folds depend on earlier ones if they run one after the other anyway."""
        return 1 if n_workers == 1 else math.inf

    def verdict(self, plan: Evaluation, earlier: Outcomes) -> TrialState | None:
        """Prune a trial if a fit was stopped because the trial has no chance."""
        stopped = has_status(earlier, FoldStatus.STOPPED)
        return TrialState.PRUNED if stopped else None

    def set_scores(
        self, folds: Sequence[FoldResult], missing: float = math.nan
    ) -> None:
        """Score each fold at the number of rounds that the others choose."""
        _score_at_rounds(folds, self.run.objective.guide, missing)

    def comparable(self, trial: Trial, scores: FoldScores) -> FoldScores:
        """Remember the curves of the folds, and add them to the scores."""
        if trial.rounds is None:
            return scores
        watched, curves = _watched(trial.folds, self.run.objective.guide)
        if len(watched) < len(trial.folds):
            return scores
        if np.isfinite(curves).all():
            cap = watched[0].extras["max_rounds"]
            key = (cap, trial.train_fraction, trial.subset)
            self._known.setdefault(key, []).append((curves, scores.scores))
        return CurveScores(scores.scores, curves)

    def stopped(
        self, plan: Evaluation, outcomes: Outcomes
    ) -> tuple[FoldResult, float, float | None] | None:
        """Predict the score from the first rounds of the first fold."""
        if not has_status(outcomes, FoldStatus.STOPPED):
            return None
        (fold,) = (outcome.result for outcome in outcomes if outcome.result is not None)
        curve = self.run.objective.guide.curve(fold.extras.get("curves"))
        assert curve is not None
        score, noise = plan.notes[self.name].estimate(curve)
        return fold, score, noise

    def conclude(
        self, plan: Evaluation, folds: Sequence[FoldResult], state: TrialState
    ) -> dict[str, Any]:
        """Choose the number of rounds; a missing score becomes the error score."""
        fitted = [fold for fold in folds if fold.is_fitted]
        guide, missing = self.run.objective.guide, self.run.options.missing_score
        return {"rounds": _score_at_rounds(fitted, guide, missing)}

    def row_params(self, trial: Trial, split: int | None = None) -> dict[str, Any]:
        """Return the parameters that set the number of rounds, if it was chosen."""
        rounds = trial.rounds
        if split is not None:
            watched, curves = _watched(trial.folds, self.run.objective.guide)
            places = [fold is trial.folds[split] for fold in watched]
            if any(places):
                chosen = choose_by_others(curves)[places.index(True)]
                rounds = _rounds_at(watched[0], chosen)
        if rounds is None:
            return {}
        return round_params(self.run.estimator, rounds, trial.params)

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return the numbers of rounds; 0 if none was chosen."""
        return {"rounds": [trial.rounds or 0 for trial in history]}

    def attributes(self, history: History) -> dict[str, Any]:
        """Return the curves of all folds, with one row per number of rounds."""
        columns: dict[str, list[Any]] = {}
        for trial in history:
            for split, fold in enumerate(trial.folds):
                for name, values in _curve_columns(trial.number, split, fold).items():
                    columns.setdefault(name, []).append(np.asarray(values))
        joined = {name: np.concatenate(parts) for name, parts in columns.items()}
        return {"learning_curves_": joined}


# -- curves of folds -------------------------------------------------------------------


def _watched(
    folds: Sequence[FoldResult], guide: Guide
) -> tuple[list[FoldResult], list[FloatArray]]:
    """Return the folds with curves, and their guiding curves; NaN is minus infinity."""
    watched = [fold for fold in folds if fold.extras.get("curves")]
    curves = [guide.curve(fold.extras["curves"]) for fold in watched]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(watched):
        return [], []
    return watched, [np.where(np.isnan(curve), -np.inf, curve) for curve in known]


def _rounds_at(fold: FoldResult, place: int) -> int:
    return int(round_grid(fold.extras["max_rounds"])[place])


def _last_round(fold: FoldResult | None) -> int | None:
    """Return the last round of a fold's curves; None if it has no curves."""
    if fold is None or not fold.extras.get("curves"):
        return None
    return _rounds_at(fold, min(map(len, fold.extras["curves"].values())) - 1)


def _score_at_rounds(
    folds: Sequence[FoldResult], guide: Guide, missing: float
) -> int | None:
    """Choose the number of rounds of a trial, or None, and set the scores of its folds.

    A fold is scored where the others are best, so that the choice causes no bias.
    """
    _cut([fold for fold in folds if fold.extras.get("curves")])
    watched, curves = _watched(folds, guide)
    if not watched:
        return None
    for fold, place in zip(watched, choose_by_others(curves), strict=True):
        extras = fold.extras
        # Costs have no curves.
        fold.test_scores |= _scores_at(extras["curves"], place, missing)
        if (train := extras.get("train_curves")) is not None:
            costs = fold.train_scores or {}
            fold.train_scores = costs | _scores_at(train, place, missing)
        for name, curve in extras.get("outcome_curves", {}).items():
            extras["outcomes"][name] = curve[place]
    return _rounds_at(watched[0], choose_rounds(curves))


def _cut(folds: Sequence[FoldResult]) -> None:
    """Cut all curves to the length of the shortest one."""
    kinds = ("curves", "train_curves", "outcome_curves")
    tables = [fold.extras.get(kind, {}) for fold in folds for kind in kinds]
    lengths = (len(curve) for table in tables for curve in table.values())
    length = min(lengths, default=0)
    for table in tables:
        table |= {name: curve[:length] for name, curve in table.items()}


def _scores_at(
    curves: dict[str, list[float]], place: int, missing: float
) -> dict[str, float]:
    return {
        name: missing if math.isnan(curve[place]) else curve[place]
        for name, curve in curves.items()
    }


def _curve_columns(number: int, split: int, fold: FoldResult) -> dict[str, Any]:
    """Return the columns of one fold; none without curves."""
    test, train = fold.extras.get("curves"), fold.extras.get("train_curves")
    if not test:
        return {}
    n_points = min(map(len, test.values()))
    columns = {
        "trial": [number] * n_points,
        "split": [split] * n_points,
        "rounds": round_grid(fold.extras["max_rounds"])[:n_points],
    }
    for kind, curves in (("test", test), ("train", train or {})):
        for metric, curve in curves.items():
            columns[f"{kind}_{metric}"] = curve[:n_points]
    return columns
