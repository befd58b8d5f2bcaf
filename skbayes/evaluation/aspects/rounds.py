"""Rounds of iterative estimators, scored during one fit: the parameter `rounds`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from skbayes import compat
from skbayes.evaluation.aspect import Aspect, FoldAspect, Parameter
from skbayes.evaluation.fold import FoldCall, FoldOutcome, has_status
from skbayes.evaluation.learning_curves import FoldCurveRace
from skbayes.evaluation.racing import FoldScores
from skbayes.evaluation.rounds.trial_rounds import (
    CurveScores,
    KnownCurves,
    last_round,
    most_rounds,
    params_with_rounds,
    score_at_rounds,
)
from skbayes.evaluation.rounds.watched_fit import (
    RoundLimits,
    ScoredRows,
    WatchedFit,
    watched_fit,
)
from skbayes.evaluation.trial import FoldResult, FoldStatus, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun

__all__ = ["Rounds"]


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
        scorer, aspects = call.task.options["scorer"], call.task.aspects
        cap, race, risk = call.fold.parts.get(self.name, (None, None, 0.0))

        def outcomes(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for aspect in aspects:
                found |= aspect.after_round(call, estimator, X, y)
            return found

        with watched_fit(
            call.estimator,
            self.limits,
            scorer,
            lambda: _scored_rows(call),
            cap,
            race,
            risk,
            outcomes,
        ) as watched:
            call.state[self.name] = watched
            call.options["scorer"] = watched.scorer
            yield

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the learning curves, and subtract their time from the fit time."""
        fold, watched = outcome.result, call.state[self.name]
        assert fold is not None and isinstance(watched, WatchedFit)
        fold.fit_time = max(0.0, fold.fit_time - watched.seconds)
        fold.score_time += watched.seconds
        times = {"fit_time": fold.fit_time, "score_time": fold.score_time}
        call.result |= times  # aspects that follow measure these
        if watched.curves and fold.fit_error is None and not watched.has_failed:
            names = ("curves", "train_curves")
            fold.extras |= dict(zip(names, watched.curves, strict=False))
            fold.extras["max_rounds"] = watched.max_rounds
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


def _scored_rows(call: FoldCall) -> list[ScoredRows]:
    """Return the rows that the fit is scored on, selected as in scikit-learn."""
    inputs = call.inputs
    sets = [(call.test, call.train)]
    if call.options["return_train_score"]:
        sets.append((call.train, None))
    found = []
    for rows, others in sets:
        X, y = call.selected(rows, others)
        params = compat.check_fit_params(inputs.X, inputs.score_params, rows)
        found.append(ScoredRows(X, y, params))
    return found


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
        assert run.options.rounds is not None
        self.limits: RoundLimits = run.options.rounds
        self._known = KnownCurves()

    def fold_aspect(self) -> FoldAspect:
        """Return the part that scores a fit after each round."""
        return _FoldRounds(self.limits)

    def begin(self, plan: Evaluation) -> None:
        """Make the race for the first fold, if trials are pruned."""
        race: FoldCurveRace | None = None
        if self.run.racing_risk is not None and plan.refusal is None:
            cap = most_rounds(self.run.estimator, plan.params, self.limits)
            share = self.run.train_fraction(plan.fidelity)
            race = self._known.race(cap, share, plan.fidelity.subset)
        plan.notes[self.name] = race

    def for_fold(
        self, plan: Evaluation, index: int, earlier: Sequence[FoldOutcome]
    ) -> tuple[int | None, FoldCurveRace | None, float]:
        """Limit the rounds to those of the shortest previous fold."""
        lengths = [last_round(outcome.result) for outcome in earlier]
        shortest = min((length for length in lengths if length), default=None)
        race, risk = plan.notes[self.name], self.run.racing_risk
        if index > 0 or race is None or risk is None:
            return shortest, None, 0.0
        return shortest, race, risk

    def folds_at_a_time(self, n_workers: int) -> float:
        """Let folds depend on earlier ones if they run one after the other anyway."""
        return 1 if n_workers == 1 else math.inf

    def verdict(
        self, plan: Evaluation, earlier: Sequence[FoldOutcome]
    ) -> TrialState | None:
        """Prune a trial if a fit was stopped because the trial has no chance."""
        stopped = has_status(earlier, FoldStatus.STOPPED)
        return TrialState.PRUNED if stopped else None

    def set_scores(
        self, folds: Sequence[FoldResult], missing: float = math.nan
    ) -> None:
        """Score each fold at the number of rounds that the others choose."""
        score_at_rounds(folds, self.run.objective.guide, missing)

    def comparable(self, trial: Trial, scores: FoldScores) -> FoldScores:
        """Remember the first curve, and add the curves of the folds to the scores."""
        guide = self.run.objective.guide
        if trial.rounds is not None:
            self._known.add(trial, scores.scores, guide)
        return CurveScores.of_trial(trial, scores, guide)

    def stopped(
        self, plan: Evaluation, outcomes: Sequence[FoldOutcome]
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
        return {"rounds": score_at_rounds(fitted, guide, missing)}

    def row_params(self, trial: Trial) -> dict[str, Any]:
        """Return the parameters that set the number of rounds, if it was chosen."""
        return params_with_rounds(self.run.estimator, trial.params, trial.rounds)

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return the numbers of rounds; 0 if none was chosen."""
        return {"rounds": [trial.rounds or 0 for trial in history]}
