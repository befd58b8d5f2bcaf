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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel

from skbayes.evaluation.aspect import Aspect
from skbayes.evaluation.aspects.registry import aspects_of
from skbayes.evaluation.backend import Backend
from skbayes.evaluation.fold import (
    Fold,
    FoldOutcome,
    Job,
    Outcomes,
    configured,
    has_status,
)
from skbayes.evaluation.killable import KillableBackend
from skbayes.evaluation.limits import SearchTimeout
from skbayes.evaluation.pruning import Race
from skbayes.evaluation.run import SearchRun, on_full_data
from skbayes.evaluation.subsets import FULL_DATA, Fidelity
from skbayes.evaluation.trial import FoldResult, FoldStatus, Trial, TrialState
from skbayes.utils.did_you_mean import did_you_mean

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
        known = estimator.get_params()
        guesses = [name not in known and did_you_mean(name, known) for name in culprits]
        why = f"which the estimator refuses: {error}"
        if guesses and all(guesses):
            kind = type(estimator).__name__
            why = f"which {kind} does not have.{''.join(map(str, guesses))}"
        names = ", ".join(repr(name) for name in culprits or params)
        raise ValueError(f"search_spaces names {names}, {why}") from error


def _refusal(estimator: Any, params: Mapping[str, Any]) -> Exception | None:
    """Return the exception raised by setting `params` on a clone, or None."""
    try:
        configured(estimator, params)
    except Exception as error:
        return error
    return None


@dataclass
class Evaluation:
    """Prepared trial, which any thread can run.

    The `complete` trials at the time of preparation are given by their guiding scores
    by split and their folds. The estimator raised `refusal` when the parameters were
    set. `notes` are the states of aspects. Folds in parallel count once in `seconds`.
    """

    run: SearchRun
    number: int
    params: Params
    backend: Backend | Any
    fidelity: Fidelity = FULL_DATA
    aspects: Sequence[Aspect] = ()
    complete: Sequence[tuple[np.ndarray, Sequence[FoldResult]]] = ()
    n_planned: float = 1
    refusal: Exception | None = None
    notes: dict[str, Any] = field(default_factory=dict, init=False)
    outcomes: list[FoldOutcome] = field(default_factory=list, init=False)
    verdict: TrialState | None = field(default=None, init=False)
    seconds: float = field(default=0.0, init=False)
    duration: float = field(default=0.0, init=False)
    started: float | None = field(default=None, init=False)

    @property
    def n_folds(self) -> int:
        """Number of folds of the trial; 0 if the parameters are refused."""
        return 0 if self.refusal is not None else len(self.run.splits)

    @property
    def places(self) -> list[int]:
        """Folds in the order of their fits.

        With pruning, each trial begins with another fold. Similar configurations have
        similar residuals, and would all be pruned if the first fold disfavors them.
        """
        n_folds = len(self.run.splits)
        first = 0 if self.run.pruning_risk is None else self.number % n_folds
        return [*range(first, n_folds), *range(first)]

    def set_scores(
        self, folds: Sequence[FoldResult], missing: float = math.nan
    ) -> None:
        """Let the objective learn the metrics, and aspects set scores of the folds."""
        for fold in folds:
            self.run.objective.learn(fold.test_scores)
        for aspect in self.aspects:
            aspect.set_scores(folds, missing)

    def guiding_scores(self, outcomes: Outcomes) -> np.ndarray | None:
        """Return the guiding scores of some folds; None if one of them is missing."""
        results = [outcome.result for outcome in outcomes if outcome.result is not None]
        failed = any(result.fit_error is not None for result in results)
        if failed or len(results) < len(outcomes):
            return None
        scores = self._scores_of(results)
        return scores if np.all(np.isfinite(scores)) else None

    def _scores_of(self, folds: Sequence[FoldResult]) -> np.ndarray:
        """Set the scores of some folds, and return the guiding ones."""
        self.set_scores(folds)
        return np.array([self.run.objective(fold.test_scores) for fold in folds])

    def race(self, places: Sequence[int]) -> Race:
        """Return the race of trials of which only the folds at `places` are finished.

        The scores of a fold may depend on the other folds, such as with
        `early_stopping`. Those of the best trial are then computed again, without its
        other folds.
        """
        first = list(places)
        rows = [
            np.concatenate([scores[first], np.delete(scores, first)])
            for scores, _ in self.complete
        ]

        def first_of(best: int) -> np.ndarray:
            folds = self.complete[best][1]
            return self._scores_of([dataclasses.replace(folds[i]) for i in first])

        return Race(rows, first_of)

    def __call__(self, parallel: Parallel) -> list[FoldOutcome]:
        """Run the trial; return outcomes in the order of `places`, not all if pruned.

        Folds run in groups if an aspect requires it. The time of a group is that of its
        longest fold, measured in the workers.
        """
        outcomes: list[FoldOutcome] = []
        if self.refusal is not None:
            return outcomes
        self.verdict, self.seconds, self.started = None, 0.0, time.time()
        begin, waited = time.perf_counter(), 0.0
        sizes = [aspect.folds_at_a_time(parallel.n_jobs) for aspect in self.aspects]
        size = int(max(1, min([self.n_folds, *sizes])))
        while len(outcomes) < self.n_folds and self.verdict is None:
            places = self.places[len(outcomes) : len(outcomes) + size]
            folds = [self._fold(index, outcomes) for index in places]
            group = self.backend.run(parallel, folds, self.seconds)
            outcomes += group
            self.seconds += max(outcome.seconds for outcome in group)
            # Processes for fits were started in this time.
            waited += max(outcome.waited for outcome in group)
            is_complete = len(outcomes) == self.n_folds
            if is_complete or has_status(group, FoldStatus.INTERRUPTED):
                break
            verdicts = (aspect.verdict(self, outcomes) for aspect in self.aspects)
            self.verdict = next((state for state in verdicts if state), None)
        self.duration = time.perf_counter() - begin - waited
        return outcomes

    def _fold(self, index: int, earlier: Outcomes) -> Fold:
        parts = {
            aspect.name: part
            for aspect in self.aspects
            if (part := aspect.for_fold(self, index, earlier)) is not None
        }
        progress = (self.number, self.n_planned)
        return Fold(index, self.params, progress, self.fidelity, parts)


def make_backend(run: SearchRun, job: Job, context: Any) -> Backend:
    """Make the backend of a search in an execution context."""
    backend: Backend = context.kind(job, **context.backend_options)
    limits = run.options.limits
    if run.has_limits and (limits.of_trials or aborts_at_timeout(run, context)):
        return KillableBackend(backend, limits)
    return backend


def aborts_at_timeout(run: SearchRun, context: Any) -> bool:
    """Return whether fits are aborted at a timeout; callbacks may keep them here."""
    kind = context.kind
    return kind.is_local and not (kind.is_here and run.is_observed)


def make_job(run: SearchRun, X: Any) -> Job:
    """Return what all fits of a search on `X` share."""
    parts = []
    for aspect in aspects_of(run):
        part = aspect.fold_aspect()
        if part is not None:
            part.name = aspect.name
            parts.append(part)
    return dataclasses.replace(run.job, X=X, aspects=tuple(parts))


@dataclass
class CandidateEvaluator:
    """Evaluator of configurations on the splits of a search.

    scikit-learn's own fit-and-score function is called for each split. Scores,
    failures, weights, metadata routing and callbacks are therefore handled as in
    GridSearchCV. `assign` maps the number of a trial and its proposal to the parameters
    to set and the fidelity of the trial.
    """

    run: SearchRun
    backend: Backend
    n_planned: float = 1
    assign: Callable[[int, Params], tuple[Params, Fidelity]] = on_full_data
    _complete: list[tuple[np.ndarray, Sequence[FoldResult]]] = field(
        default_factory=list, init=False
    )

    def __post_init__(self) -> None:
        self.aspects = aspects_of(self.run)

    def prepare(self, number: int, params: Params) -> Evaluation:
        """Prepare the evaluation of a proposal; called in the main thread."""
        self.backend.restore()
        params, fidelity = self.assign(number, params)
        plan = Evaluation(
            self.run,
            number,
            params,
            self.backend,
            fidelity,
            self.aspects,
            # Trials that finish later are excluded, because they depend on timing.
            tuple(self._complete),
            self.n_planned,
            _refusal(self.run.estimator, params),
        )
        for aspect in self.aspects:
            aspect.begin(plan)
        return plan

    def conclude(self, plan: Evaluation, outcomes: list[FoldOutcome]) -> Trial | None:
        """Create a trial from its folds, or None if interrupted; in the main thread."""
        if plan.refusal is not None:
            if self.run.options.error_score == "raise":
                raise plan.refusal
            text = "".join(traceback.format_exception(plan.refusal))
            return self.failed(plan, text)
        for outcome in outcomes:
            if outcome.status == FoldStatus.RAISED:
                raise _with_origin(outcome)
        if has_status(outcomes, FoldStatus.INTERRUPTED):
            return None
        reasons = [fold.reason for fold in outcomes if fold.reason is not None]
        if any(reason.of_search for reason in reasons):
            raise SearchTimeout
        by_place = dict(zip(plan.places, outcomes, strict=False))
        skipped = FoldOutcome(FoldStatus.SKIPPED)
        plan.outcomes = [by_place.get(i, skipped) for i in range(plan.n_folds)]
        for reason in reasons:
            if reason.state == TrialState.FAILED:
                return self.failed(plan, reason.text)
        finished = [fold.result for fold in plan.outcomes if fold.result is not None]
        plan.set_scores(finished, self.run.options.missing_score)
        if len(finished) < len(self.run.splits):
            return self._partial_trial(plan, finished)
        score = self._mean(finished)
        state = TrialState.FAILED if math.isnan(score) else TrialState.COMPLETE
        return self._make(plan, finished, score, state)

    def failed(self, plan: Evaluation, text: str) -> Trial:
        """Create a trial without any fitted fold; `text` is the reason."""
        folds = [self._no_fold(0, text) for _ in self.run.splits]
        return self._make(plan, folds, math.nan, TrialState.FAILED)

    def untried(self, params: Params) -> Trial:
        """Create a trial that stands for those that the timeout aborted."""
        plan = self.prepare(0, params)
        folds = [self._no_fold(size) for size in self.run.test_sizes]
        return self._make(plan, folds, math.nan, TrialState.TIMED_OUT)

    def _no_fold(self, size: int, error: str | None = None) -> FoldResult:
        """Return a placeholder for the result of a fold that was not fitted."""
        seconds = math.nan if error is None else 0.0
        train_scores: dict | None = {} if self.run.options.return_train_score else None
        status = FoldStatus.SKIPPED if error is None else FoldStatus.FITTED
        return FoldResult({}, seconds, seconds, size, train_scores, error, status)

    def _mean(self, folds: list[FoldResult]) -> float:
        # A numeric error_score would give a score to a trial whose fits all failed.
        if all(fold.fit_error is not None for fold in folds):
            return math.nan
        score = float(np.mean([self.run.objective(f.test_scores) for f in folds]))
        return score if math.isfinite(score) else math.nan

    def _partial_trial(self, plan: Evaluation, finished: list[FoldResult]) -> Trial:
        folds = [self._no_fold(size) for size in self.run.test_sizes]
        places, states = [], set()
        for i, outcome in enumerate(plan.outcomes):
            if outcome.result is not None:
                places.append(i)
                folds[i] = outcome.result
            if outcome.reason is not None:
                states.add(outcome.reason.state)
                folds[i].fit_error = outcome.reason.text
                folds[i].status = FoldStatus.ABORTED
        score, noise = math.nan, None
        if finished:
            score = self._mean(finished)
            scores = plan.guiding_scores([plan.outcomes[i] for i in places])
            if scores is not None:
                score, noise = plan.race(places).estimate(scores)
        limits = (TrialState.OUT_OF_MEMORY, TrialState.TIMED_OUT)
        exceeded = next((limit for limit in limits if limit in states), None)
        state = exceeded or plan.verdict or TrialState.PRUNED
        return self._make(plan, folds, score, state, noise)

    def _make(
        self,
        plan: Evaluation,
        folds: list[FoldResult],
        score: float,
        state: TrialState,
        noise: float | None = None,
    ) -> Trial:
        errors = [fold.fit_error for fold in folds if fold.fit_error is not None]
        self.run.fill_scores(folds, self.run.objective.metrics)
        more: dict[str, Any] = {}
        for aspect in self.aspects:
            more |= aspect.conclude(plan, folds, state)
        stop = any(outcome.stop_requested for outcome in plan.outcomes)
        trial = Trial(
            number=plan.number,
            params=plan.params,
            folds=folds,
            score=score,
            duration=plan.duration,
            state=state,
            error=errors[0] if errors else None,
            noise=noise,
            stage=plan.fidelity.stage,
            train_fraction=self.run.train_fraction(plan.fidelity),
            subset=plan.fidelity.subset,
            started=plan.started,
            extras={name: value for name, value in more.items() if value is not None},
        )
        stop |= self.run.tasks.end_trial(trial)
        return dataclasses.replace(trial, stop_requested=stop)

    def recall(self, trial: Trial) -> Trial:
        """Return a trial from the journal, with the values of its parameters."""
        params, _ = self.assign(trial.number, trial.params)
        return dataclasses.replace(trial, params=params)

    def observation(self, trial: Trial) -> dict[str, Any]:
        """Return the arguments of `Optimizer.tell` in addition to the score."""
        more: dict[str, Any] = {"censored": trial.state.is_partial}
        if trial.duration > 0.0:
            more["cost"] = trial.duration
        if trial.noise is not None:
            more["noise"] = trial.noise
        if trial.state == TrialState.OUT_OF_MEMORY:
            more["ended"] = True
        for aspect in self.aspects:
            more |= aspect.observation(trial)
        return more

    def learn(self, trial: Trial) -> None:
        """Include a trial in comparisons with later trials, if it is complete."""
        complete = trial.state == TrialState.COMPLETE
        # Trials that violate constraints are excluded from races.
        if complete and trial.error is None and trial.feasible:
            scores = [self.run.objective(fold.test_scores) for fold in trial.folds]
            self._complete.append((np.array(scores), trial.folds))
        for aspect in self.aspects:
            aspect.learn(trial)


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
