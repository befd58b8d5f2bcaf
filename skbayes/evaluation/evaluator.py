"""Evaluator of configurations: fits of a trial on all splits, and their results.

The main thread prepares a trial, because callback tasks can only be created there. Any
thread can run the trial. The main thread then creates its result.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skbayes import compat
from skbayes.evaluation.data_transfer import DataTransfer
from skbayes.evaluation.fold import Fold, FoldOutcome, FoldTask, run_fold
from skbayes.evaluation.learning_curves import FoldCurveRace
from skbayes.evaluation.limits import SearchTimeout
from skbayes.evaluation.racing import Race
from skbayes.evaluation.rounds.trial_rounds import (
    FoldScores,
    KnownCurves,
    last_round,
    most_rounds,
    settle_rounds,
)
from skbayes.evaluation.rounds.watched_fit import guiding_curve
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import FULL_DATA, Fidelity
from skbayes.evaluation.trial import FoldResult, Trial, TrialState
from skbayes.evaluation.trial_limits import TrialLimits
from skbayes.utils.did_you_mean import did_you_mean

__all__ = ["CandidateEvaluator", "Evaluation", "check_candidates", "on_full_data"]

logger = logging.getLogger("skbayes")

Params = dict[str, Any]


def check_candidates(estimator: Any, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Set each of `candidates` on a clone, to find invalid names before any fit."""
    clone(estimator)  # errors of the estimator are not errors of the candidates
    for params in candidates:
        error = _refusal(estimator, params)
        if error is None:
            continue
        culprits = [
            name
            for name, value in params.items()
            if _refusal(estimator, {name: value}) is not None
        ]
        names = ", ".join(repr(name) for name in culprits or params)
        guesses = _guesses(estimator, culprits)
        if guesses:
            kind = type(estimator).__name__
            raise ValueError(
                f"search_spaces names {names}, which {kind} does not have.{guesses}"
            ) from error
        raise ValueError(
            f"search_spaces names {names}, which the estimator refuses: {error}"
        ) from error


def _guesses(estimator: Any, culprits: Sequence[str]) -> str:
    """Return suggestions for the names; empty unless all names have one."""
    known = estimator.get_params()
    guesses = [
        did_you_mean(name, known) if name not in known else "" for name in culprits
    ]
    return "".join(guesses) if all(guesses) else ""


def on_full_data(number: int, params: Params) -> tuple[Params, Fidelity]:
    """Assign all training rows to a proposal."""
    return params, FULL_DATA


def _refusal(estimator: Any, params: Mapping[str, Any]) -> Exception | None:
    """Return the exception raised by setting `params` on a clone, or None."""
    try:
        clone(estimator).set_params(**clone(dict(params), safe=False))
    except Exception as error:
        return error
    return None


@dataclass
class Evaluation:
    """Prepared trial, which any thread can run.

    Parameters
    ----------
    number : int
        Number of the trial.
    params : dict
        Configuration of the trial.
    fidelity : Fidelity
        Training rows of the trial.
    folds : callable
        Yields one call of `run_fold` for joblib per split.
    refusal : Exception or None
        Exception that the estimator raises when the parameters are set.
    timeout : float or None
        Running time of folds in seconds after which no further fold is started. The
        folds run in groups with one fold per worker. The running time of a group is
        that of its longest fold.
    should_prune : callable or None
        Returns from the results of the first folds whether to skip the others. The
        folds then run one at a time.
    complete_scores : sequence of FoldScores
        Scores by split of the complete trials at the time of preparation.
    limits : TrialLimits or None
        Limits at which running fits are aborted.
    curve_race : FoldCurveRace or None
        Compares the learning curve of the first fold with those of complete trials.
    counts_rounds : bool
        Whether the folds are scored at the best number of rounds, up to the last round
        of the shortest fold.
    deadline : float or None
        End of the timeout of the search, on the clock `time.monotonic`. It is checked
        between folds if they run one after the other.
    duration : float
        Duration in seconds.
    started : float or None
        Start in seconds since 1970; None before the start.
    """

    number: int
    params: Params
    fidelity: Fidelity
    folds: Callable[..., Iterator[Any]]
    refusal: Exception | None = None
    timeout: float | None = None
    should_prune: Callable[[list[FoldOutcome]], bool] | None = None
    complete_scores: Sequence[FoldScores] = ()
    limits: TrialLimits | None = None
    curve_race: FoldCurveRace | None = None
    counts_rounds: bool = False
    deadline: float | None = None
    duration: float = 0.0
    started: float | None = None
    # Seconds for starting processes, which do not count as duration of the trial.
    _waited: float = field(default=0.0, init=False)

    def __call__(self, parallel: Parallel) -> list[FoldOutcome]:
        """Run the trial; return one outcome per fold, fewer if it was pruned."""
        if self.refusal is not None:
            return []
        begin, self._waited = time.perf_counter(), 0.0
        self.started = time.time()
        try:
            if self._needs_groups(parallel.n_jobs):
                return self._run_in_groups(parallel)
            return self._run(parallel, self.folds(), 0.0)
        finally:
            self.duration = time.perf_counter() - begin - self._waited

    def _needs_groups(self, n_jobs: int) -> bool:
        """Return whether later folds depend on the outcomes of earlier ones."""
        if n_jobs == 1 and (self.counts_rounds or self.deadline is not None):
            return True
        limited = self.limits is not None and self.limits.limits.of_trials
        ends_early = self.should_prune is not None or self.timeout is not None
        return limited or ends_early

    def _run(
        self, parallel: Parallel, calls: Iterable[Any], seconds: float
    ) -> list[FoldOutcome]:
        """Run folds in parallel, after other folds have run for some seconds."""
        if self.limits is not None:
            calls = self.limits.after(seconds, list(calls))
        outcomes = list(parallel(calls))
        self._waited += max((outcome.waited for outcome in outcomes), default=0.0)
        return outcomes

    def _run_in_groups(self, parallel: Parallel) -> list[FoldOutcome]:
        """Run folds until the trial is pruned or its time limit is reached."""
        calls = list(self.folds())
        size = 1 if self.should_prune is not None else max(1, parallel.n_jobs)
        outcomes: list[FoldOutcome] = []
        seconds, has_ended = 0.0, False
        while len(outcomes) < len(calls):
            if has_ended or (self.timeout is not None and seconds > self.timeout):
                n_left = len(calls) - len(outcomes)
                return outcomes + [FoldOutcome(too_late=True)] * n_left
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise SearchTimeout
            begun = calls[len(outcomes) : len(outcomes) + size]
            if self.counts_rounds:
                begun = _to_shortest(begun, outcomes)
            group = self._run(parallel, begun, seconds)
            has_ended = any(outcome.ended is not None for outcome in group)
            # Measured in the workers, so that waiting for a worker does not count.
            seconds += max(outcome.seconds for outcome in group)
            outcomes += group
            if any(one.interrupted or one.is_hopeless for one in group):
                break
            if self.should_prune is not None and self.should_prune(outcomes):
                break
        return outcomes


@dataclass
class CandidateEvaluator:
    """Evaluator of configurations on the splits of a search.

    A trial is one parallel call of scikit-learn's own fit-and-score function over the
    splits. Scores, failures, weights, metadata routing and callbacks are therefore
    handled as in GridSearchCV.

    Parameters
    ----------
    run : SearchRun
        Estimator, splits, scorers and options of the search.
    transfer : DataTransfer
        Provides the fits with the data.
    catch_errors : bool
        Whether exceptions are returned from the workers before they are raised.
    n_planned : int
        Number of planned trials, for the progress messages of scikit-learn.
    assign : callable, default=on_full_data
        Maps the number of a trial and its proposal to the parameters to set and the
        :class:`~skbayes.evaluation.subsets.Fidelity` of the trial.
    limits : TrialLimits or None, default=None
        Limits at which running fits are aborted.
    deadline : float or None, default=None
        End of the timeout of the search, on the clock `time.monotonic`.

    Attributes
    ----------
    task : FoldTask
        Inputs that all fits share.
    kept : dict of int to list
        Fitted estimators by trial number.
    """

    run: SearchRun
    transfer: DataTransfer
    catch_errors: bool = False
    n_planned: int = 1
    assign: Callable[[int, Params], tuple[Params, Fidelity]] = on_full_data
    limits: TrialLimits | None = None
    deadline: float | None = None
    kept: dict[int, list] = field(default_factory=dict, init=False)
    _best: Trial | None = field(default=None, init=False)
    _complete_scores: list[FoldScores] = field(default_factory=list, init=False)
    _known_curves: KnownCurves = field(default_factory=KnownCurves, init=False)

    def __post_init__(self) -> None:
        options, objective = self.run.options, self.run.objective
        self._n_splits = len(self.run.splits)
        self.task = FoldTask(
            self.run.estimator,
            {
                "scorer": self.run.scorers,
                "error_score": options.error_score,
                "return_train_score": options.return_train_score,
                "return_estimator": options.keep_fits is not None
                and options.rounds is None,
                "return_n_test_samples": True,
                "return_times": True,
                "return_parameters": False,
                "verbose": options.verbose,
            },
            self.catch_errors,
            objective.measures,
            objective.separate_costs,
            None if self.run.constraints is None else self.run.constraints.measures,
            self.run.cache,
            options.rounds,
        )

    def end_after(self, seconds: float) -> None:
        """End all fits after some seconds, as far as this is possible."""
        self.deadline = time.monotonic() + seconds
        if self.limits is not None:
            self.limits.end_at(self.deadline)

    def prepare(self, number: int, params: Params) -> Evaluation:
        """Prepare the evaluation of a proposal; called in the main thread."""
        self.transfer.restore()
        params, fidelity = self.assign(number, params)
        refusal = _refusal(self.run.estimator, params)
        # All callback tasks are created before any of them is sent. Creating a task
        # while another one is being pickled would modify a dict during the iteration.
        n_fits = 0 if refusal else self._n_splits
        callback_tasks = self.run.tasks.begin_trial(number, n_fits)

        def folds() -> Iterator[Any]:
            progress = (number, self.n_planned)
            for i, callback_task in enumerate(callback_tasks):
                fold = Fold(i, params, callback_task, progress, fidelity)
                if i == 0 and curve_race is not None and risk is not None:
                    fold = dataclasses.replace(fold, race=curve_race, risk=risk)
                # The handle is replaced if the first one was lost.
                yield delayed(run_fold)(self.transfer.handle, self.task, fold)

        # Trials that finish later are excluded, because they depend on timing.
        scores = tuple(self._complete_scores)
        risk = self.run.options.pruning_risk
        curve_race = None if refusal else self._curve_race(params, fidelity)
        return Evaluation(
            number,
            params,
            fidelity,
            folds,
            refusal,
            self.run.options.trial_timeout,
            None if risk is None else self._pruning_test(scores, risk),
            scores,
            self.limits,
            curve_race,
            self.run.options.rounds is not None,
            self.deadline,
        )

    def _curve_race(self, params: Params, fidelity: Fidelity) -> FoldCurveRace | None:
        """Return the race for the first fold of a trial, if trials are pruned."""
        options = self.run.options
        if options.rounds is None or options.pruning_risk is None:
            return None
        cap = most_rounds(self.run.estimator, params, options.rounds)
        share = self.run.train_fraction(fidelity)
        return self._known_curves.race(cap, share, fidelity.subset)

    def _pruning_test(
        self, complete_scores: Sequence[FoldScores], risk: float
    ) -> Callable[[list[FoldOutcome]], bool]:
        constraints = self.run.constraints

        def should_prune(outcomes: list[FoldOutcome]) -> bool:
            scores = self._first_scores(outcomes)
            if scores is None or len(scores) == self._n_splits:
                return False
            if constraints is not None and len(complete_scores):
                folds = [outcome.result for outcome in outcomes if outcome.result]
                if constraints.surely_broken(folds, self._n_splits, risk):
                    return True
            return _race(complete_scores, range(len(scores))).chance(scores) < risk

        return should_prune

    def _first_scores(self, outcomes: list[FoldOutcome]) -> np.ndarray | None:
        """Return the guiding scores of the folds; None if one of them is missing."""
        results = [outcome.result for outcome in outcomes]
        if any(r is None or r.fit_error is not None for r in results):
            return None
        if self.run.options.rounds is not None:
            fits = [result for result in results if result is not None]
            settle_rounds(fits, self._metric(fits))
        scores = np.array([self.run.objective(r.test_scores) for r in results if r])
        return scores if np.all(np.isfinite(scores)) else None

    def conclude(
        self, evaluation: Evaluation, outcomes: list[FoldOutcome]
    ) -> Trial | None:
        """Create a trial from its folds, or None if interrupted; in the main thread.

        SearchTimeout is raised if the timeout of the search ended a fold.
        """
        if evaluation.refusal is not None:
            if self.run.options.error_score == "raise":
                raise evaluation.refusal
            text = "".join(traceback.format_exception(evaluation.refusal))
            return self.failed(evaluation, text)
        for outcome in outcomes:
            if outcome.exception is not None:
                raise _with_origin(outcome)
        if any(outcome.interrupted for outcome in outcomes):
            return None
        if any(one.ended is not None and one.ended.of_search for one in outcomes):
            raise SearchTimeout
        return self._trial(evaluation, outcomes)

    def failed(self, evaluation: Evaluation, text: str) -> Trial:
        """Create a trial without any fitted fold; `text` is the reason."""
        error_score = self.run.options.error_score
        scores: Any = error_score
        scorers = compat.public_scorers(self.run.scorers)
        if isinstance(scorers, dict):
            scores = dict.fromkeys(scorers, error_score)
            if not self.run.objective.separate_costs:
                scores |= dict.fromkeys(self.run.objective.measures, math.nan)
        folds = [self._no_fold(scores, text, 0) for _ in range(self._n_splits)]
        return self._make(evaluation, folds, math.nan, TrialState.FAILED)

    def _no_fold(self, scores: Any, error: str | None, size: int) -> FoldResult:
        """Return a placeholder for the result of a fold that was not fitted."""
        seconds = math.nan if error is None else 0.0
        train_scores = scores if self.run.options.return_train_score else None
        skipped = error is None
        return FoldResult(
            scores, seconds, seconds, size, train_scores, error, skipped=skipped
        )

    def _trial(self, evaluation: Evaluation, outcomes: list[FoldOutcome]) -> Trial:
        results = [outcome.result for outcome in outcomes]
        finished = [result for result in results if result is not None]
        keeps = self.run.options.keep_fits is not None
        keeps &= self.run.options.rounds is None
        if keeps and len(finished) == self._n_splits:
            fits = [outcome.estimator for outcome in outcomes]
            self.kept[evaluation.number] = fits
        stop = any(outcome.stop_requested for outcome in outcomes)
        for outcome in outcomes:
            if outcome.ended is not None and outcome.ended.state == TrialState.FAILED:
                return self.failed(evaluation, outcome.ended.text)
        if any(outcome.is_hopeless for outcome in outcomes):
            return self._stopped_trial(evaluation, finished)
        error_score = self.run.options.error_score
        rounds = settle_rounds(finished, self._metric(finished), error_score)
        if len(finished) == self._n_splits:
            score = self._mean(finished)
            state = TrialState.FAILED if math.isnan(score) else TrialState.COMPLETE
            trial = self._make(evaluation, finished, score, state, stop)
        else:
            trial = self._partial_trial(evaluation, outcomes, stop)
        return dataclasses.replace(trial, rounds=rounds) if rounds else trial

    def _stopped_trial(self, evaluation: Evaluation, fits: list[FoldResult]) -> Trial:
        """Create a trial that was stopped after the first rounds of its first fold."""
        assert evaluation.curve_race is not None
        (first,) = fits
        curve = guiding_curve(first.curves, self._metric(fits))
        assert curve is not None
        score, noise = evaluation.curve_race.estimate(curve)
        blank = self._blank_scores(first.test_scores)
        folds = [self._no_fold(blank, None, size) for size in self.run.test_sizes]
        folds[0].curves, folds[0].train_curves = first.curves, first.train_curves
        folds[0].max_rounds = first.max_rounds
        return self._make(evaluation, folds, score, TrialState.PRUNED, noise=noise)

    def _metric(self, folds: list[FoldResult]) -> str | None:
        """Return the metric that guides the search; None if there is only one."""
        for fold in folds:
            if fold.fit_error is None and isinstance(fold.test_scores, dict):
                # This sets the metric names if `scoring` is a callable.
                self.run.objective(fold.test_scores)
                return self.run.objective.name
        return None

    def _mean(self, folds: list[FoldResult]) -> float:
        """Return the mean score that guides the search; NaN if there is none."""
        # A numeric error_score would give a score to a trial whose fits all failed.
        if all(fold.fit_error is not None for fold in folds):
            return math.nan
        scores = [self.run.objective(fold.test_scores) for fold in folds]
        score = float(np.mean(scores))
        return score if math.isfinite(score) else math.nan

    def _partial_trial(
        self, evaluation: Evaluation, outcomes: list[FoldOutcome], stop: bool
    ) -> Trial:
        """Create a pruned or aborted trial from its finished folds."""
        begun = [outcome for outcome in outcomes if outcome.result is not None]
        known: Any = begun[0].result.test_scores if begun else None  # type: ignore
        blank = self._blank_scores(known)
        by_split = [outcome.result for outcome in outcomes]
        by_split += [None] * (self._n_splits - len(by_split))
        folds = [
            fold or self._no_fold(blank, None, size)
            for fold, size in zip(by_split, self.run.test_sizes, strict=True)
        ]
        states = {outcome.ended.state for outcome in outcomes if outcome.ended}
        for fold, outcome in zip(folds, outcomes, strict=False):
            if outcome.ended is not None:
                fold.fit_error = outcome.ended.text
        scores = self._first_scores(begun)
        score, noise = math.nan, None
        if begun:
            score = self._mean([fold for fold in by_split if fold is not None])
        if begun and scores is not None:
            places = [i for i, fold in enumerate(by_split) if fold is not None]
            race = _race(evaluation.complete_scores, places)
            score, noise = race.estimate(scores)
        timed_out = any(outcome.too_late for outcome in outcomes)
        state = TrialState.TIMED_OUT if timed_out else TrialState.PRUNED
        for one in (TrialState.TIMED_OUT, TrialState.OUT_OF_MEMORY):
            state = one if one in states else state
        return self._make(evaluation, folds, score, state, stop, noise)

    def _blank_scores(self, known: Any) -> Any:
        """Return placeholder scores in the format of another fold's scores."""
        if isinstance(known, dict):
            return dict.fromkeys(known, math.nan)
        scorers = compat.public_scorers(self.run.scorers)
        if known is None and isinstance(scorers, dict):
            separate = self.run.objective.separate_costs
            measures = [] if separate else self.run.objective.measures
            return dict.fromkeys([*scorers, *measures], math.nan)
        return math.nan

    def _make(
        self,
        evaluation: Evaluation,
        folds: list[FoldResult],
        score: float,
        state: TrialState,
        stop: bool = False,
        noise: float | None = None,
    ) -> Trial:
        errors = [f.fit_error for f in folds if f.fit_error is not None]
        fidelity = evaluation.fidelity
        stop |= self.run.tasks.end_trial(evaluation.number)
        return Trial(
            number=evaluation.number,
            params=evaluation.params,
            folds=folds,
            score=score,
            duration=evaluation.duration,
            state=state,
            error=errors[0] if errors else None,
            stop_requested=stop,
            noise=noise,
            stage=fidelity.stage,
            train_fraction=self.run.train_fraction(fidelity),
            subset=fidelity.subset,
            started=evaluation.started,
            violation=self._violation(folds, state),
        )

    def _violation(self, folds: list[FoldResult], state: TrialState) -> float | None:
        if self.run.constraints is None:
            return None
        failed = state == TrialState.FAILED
        return math.inf if failed else self.run.constraints.violation(folds)

    def recall(self, trial: Trial) -> Trial:
        """Return a trial from the journal, with the attributes of a new trial."""
        params, _ = self.assign(trial.number, trial.params)
        score = trial.score
        if trial.rounds is not None and trial.state == TrialState.COMPLETE:
            # Earlier releases scored all folds at the number of rounds of the trial.
            error_score = self.run.options.error_score
            settle_rounds(trial.folds, self._metric(trial.folds), error_score)
            score = self._mean(trial.folds)
        return dataclasses.replace(trial, params=params, score=score)

    def learn(self, trial: Trial) -> None:
        """Include a trial in comparisons with later trials, if it is complete."""
        complete = trial.state == TrialState.COMPLETE
        beaten: Trial | None = trial
        if complete and (self._best is None or _worth(trial) > _worth(self._best)):
            self._best, beaten = trial, self._best
        if self.run.options.keep_fits == "best" and beaten is not None:
            self.kept.pop(beaten.number, None)
        # Trials that violate constraints are excluded from races.
        if complete and trial.error is None and trial.feasible:
            scores = np.array([self.run.objective(f.test_scores) for f in trial.folds])
            metric = self._metric(trial.folds)
            self._complete_scores.append(FoldScores.of_trial(trial, scores, metric))
            if trial.rounds is not None:
                self._known_curves.add(trial, scores, metric)


def _race(complete: Sequence[FoldScores], places: Sequence[int]) -> Race:
    """Return the race of trials of which only the folds at `places` are finished."""
    first = list(places)
    rows = [
        np.concatenate([one.scores[first], np.delete(one.scores, first)])
        for one in complete
    ]
    return Race(rows, [one.of(first) for one in complete])


def _to_shortest(calls: list[Any], outcomes: list[FoldOutcome]) -> list[Any]:
    """Limit the rounds of folds to those of the shortest previous fold."""
    lengths = [last_round(outcome.result) for outcome in outcomes]
    shortest = min((length for length in lengths if length), default=None)
    return [
        (function, (*args[:-1], dataclasses.replace(args[-1], max_rounds=shortest)), {})
        for function, args, _ in calls
    ]


def _worth(trial: Trial) -> tuple[float, float]:
    """Return the key by which the best trial is the maximum."""
    return -(trial.violation or 0.0), trial.score


def _with_origin(outcome: FoldOutcome) -> BaseException:
    """Return the exception, with its traceback as a note if a worker raised it."""
    error = outcome.exception
    assert error is not None
    if error.__traceback__ is None:
        error.add_note(f"\nRaised in a worker:\n{outcome.traceback_text}")
    if isinstance(error, SystemExit):
        # Python exits without a message.
        logger.error("A fit called sys.exit:\n%s", outcome.traceback_text)
    return error
