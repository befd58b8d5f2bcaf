"""Evaluator of configurations: fits of a trial on all splits, and their results.

The main thread prepares a trial, because callback tasks can only be created there. Any
thread can run the trial. The main thread then creates its result.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel

from skbayes.trial.aspect import Evaluation
from skbayes.trial.backend import Backend
from skbayes.trial.fold import Fold, Job, Results, configured, has_status
from skbayes.trial.limits import SearchTimeout
from skbayes.trial.objectives import GuidingMetric
from skbayes.trial.option_table import killable
from skbayes.trial.plan import Assignment, Plan, Stage, on_all_rows
from skbayes.trial.pruning import first_scores, race_of
from skbayes.trial.records import (
    Fidelity,
    FoldResult,
    FoldStatus,
    Trial,
    TrialState,
)
from skbayes.utils.did_you_mean import did_you_mean

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray


logger = logging.getLogger("skbayes")

Params = dict[str, Any]


def check_clone(estimator: Any) -> None:
    """Raise a RuntimeError with a remedy if scikit-learn cannot clone an estimator."""
    try:
        clone(estimator)
    except RuntimeError as error:
        raise RuntimeError(f"{error}{_tuples_instead(estimator)}") from error


def _tuples_instead(estimator: Any) -> str:
    """Return a sentence with the tuples that can be cloned in place of lists, or ""."""
    parts = [estimator, *estimator.get_params().values()]
    for part in filter(lambda part: hasattr(part, "get_params"), parts):
        params = part.get_params(deep=False)
        lists = {n: v for n, v in params.items() if isinstance(v, list | np.ndarray)}
        tuples = {name: _as_tuple(value) for name, value in lists.items()}
        if _can_be_cloned(part, params) or not _can_be_cloned(part, params | tuples):
            continue
        needed = [
            f"{name}={value}"
            for name, value in tuples.items()
            if not _can_be_cloned(part, params | tuples | {name: lists[name]})
        ]
        return f". Write a tuple: {type(part).__name__}({', '.join(needed)})."
    return ""


def _can_be_cloned(part: Any, params: Mapping[str, Any]) -> bool:
    try:
        clone(type(part)(**params))
    except Exception:
        return False
    return True


def _as_tuple(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def check_candidates(estimator: Any, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Set each of `candidates` on a clone, to find invalid names before any fit."""
    check_clone(estimator)  # its errors are not errors of the candidates
    for params in candidates:
        error = _refusal(estimator, params)
        if error is None:
            continue
        culprits = [
            name
            for name, value in params.items()
            if _refusal(estimator, {name: value}) is not None
        ]
        valid = estimator.get_params()
        guesses = [name not in valid and did_you_mean(name, valid) for name in culprits]
        models = [v for k in culprits if hasattr(v := params[k], "get_params")]
        why = f"which the estimator refuses: {error}"
        why += "".join(map(_tuples_instead, models))
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


def make_backend(plan: Plan, job: Job, context: Any) -> Backend:
    """Make the backend of a search in an execution context."""
    if plan.settings.limits.trial_memory is not None and not context.ends_fits:
        kind = type(context.backend).__name__
        raise ValueError(
            "trial_limits['memory'] limits processes that the search starts on this "
            f"machine, on Linux and macOS, and not the workers of {kind}. Remove it, "
            "or run the search on one machine."
        )
    backend: Backend = context.kind(job, **context.backend_options)
    if context.ends_fits:
        return killable(backend, plan.settings.limits, context.environment)
    return backend


def can_end_fits(plan: Plan, context: Any) -> bool:
    """Return whether the fits run in processes that can be killed at a limit.

    If there is only a timeout, callbacks keep the fits in this process.
    """
    limits, kind = plan.settings.limits, context.kind
    stays = kind.is_here and plan.tasks.is_observed and not limits.of_trials
    return limits.is_set and kind.is_local and os.name == "posix" and not stays


def make_job(plan: Plan, X: Any) -> Job:
    """Return the job that all fits of a search on `X` share."""
    parts = []
    for aspect in plan.aspects:
        part = aspect.fold_aspect()
        if part is not None:
            part.name = aspect.name
            parts.append(part)
    return dataclasses.replace(plan.job, X=X, aspects=tuple(parts))


@dataclass
class CandidateEvaluator:
    """Evaluator of configurations on the splits of a search.

    scikit-learn's own fit-and-score function is called for each split. Scores,
    failures, weights, metadata routing and callbacks are therefore handled as in
    GridSearchCV. `assign` maps the number of a trial and its proposal to the parameters
    to set and the sample of its rows. The trials belong to a `stage` of the search, and
    have `n_folds`.
    """

    plan: Plan
    backend: Backend
    n_planned: float = 1
    assign: Assignment = on_all_rows
    stage: int = 0
    n_folds: int | None = None
    _complete: list[tuple[FloatArray, Sequence[FoldResult]]] = field(
        default_factory=list, init=False
    )

    def of_stage(self, index: int, stage: Stage) -> CandidateEvaluator:
        """Begin a stage, and return the evaluator of its trials."""
        for aspect in self.plan.aspects:
            aspect.begin_stage(stage.role)
        return dataclasses.replace(
            self, assign=stage.assign, stage=index, n_folds=stage.n_folds
        )

    def prepare(self, number: int, params: Params) -> Evaluation:
        """Prepare the evaluation of a proposal; called in the main thread."""
        self.backend.restore()
        params, sample = self.assign(number, params)
        fraction = self.plan.train_fraction(sample)
        evaluation = Evaluation(
            *(self.backend, self.plan.job, number, params),
            fidelity=Fidelity(self.stage, fraction, sample.subset, self.n_folds),
            sample=sample,
            # Trials that finish later are excluded, because they depend on timing.
            complete=tuple(self._complete),
            refusal=_refusal(self.plan.estimator, params),
            groups=[list(range(len(self.plan.splits)))[: self.n_folds]],
        )
        for aspect in self.plan.aspects:
            aspect.begin(evaluation)
        return evaluation

    def run(self, evaluation: Evaluation, parallel: Parallel) -> Trial:
        """Run the trial, and return it before it is closed; its score is unknown."""
        started, begin, waited = time.time(), time.perf_counter(), 0.0
        results: dict[int, FoldResult] = {}
        state = None
        for group in [] if evaluation.refusal is not None else evaluation.groups:
            folds = [self._fold(evaluation, index, results) for index in group]
            finished = self.backend.run(parallel, folds, evaluation.seconds(results))
            results |= zip(group, finished, strict=True)
            # Processes for fits were started in this time.
            waited += max(result.transient.get("waited", 0.0) for result in finished)
            is_complete = len(results) == evaluation.n_folds
            if is_complete or has_status(finished, FoldStatus.INTERRUPTED):
                break
            aspects = self.plan.aspects
            verdicts = (aspect.verdict(evaluation, results) for aspect in aspects)
            state = next(filter(None, verdicts), None)
            if state is not None:
                break
        skipped = FoldResult(status=FoldStatus.SKIPPED)
        return _trial(
            evaluation,
            [results.get(i, skipped) for i in range(len(self.plan.splits))],
            state=state or TrialState.COMPLETE,
            duration=time.perf_counter() - begin - waited,
            started=started,
        )

    def _fold(self, evaluation: Evaluation, index: int, earlier: Results) -> Fold:
        parts = {
            aspect.name: part
            for aspect in self.plan.aspects
            if (part := aspect.for_fold(evaluation, index, earlier)) is not None
        }
        progress = (evaluation.number, self.n_planned)
        return Fold(index, evaluation.params, progress, evaluation.sample, parts)

    def conclude(self, evaluation: Evaluation, trial: Trial) -> Trial | None:
        """Close a trial after its folds, in the main thread; None if interrupted."""
        if evaluation.refusal is not None:
            if self.plan.job.options["error_score"] == "raise":
                raise evaluation.refusal
            text = "".join(traceback.format_exception(evaluation.refusal))
            return self.failed(evaluation, text)
        for fold in trial.folds:
            if fold.status == FoldStatus.RAISED:
                raise _with_origin(fold)
        if has_status(trial.folds, FoldStatus.INTERRUPTED):
            return None
        values = [fold.transient for fold in trial.folds]
        reasons = [value["reason"] for value in values if "reason" in value]
        if any(reason.of_search for reason in reasons):
            raise SearchTimeout
        by_state = {reason.state: reason.text for reason in reasons}
        if TrialState.FAILED in by_state:
            times = {"duration": trial.duration, "started": trial.started}
            return self.failed(evaluation, by_state[TrialState.FAILED], **times)
        for state in (TrialState.OUT_OF_MEMORY, TrialState.TIMED_OUT):
            if state in by_state:
                trial = dataclasses.replace(trial, state=state)
                break
        return self._closed(evaluation, trial)

    def failed(self, evaluation: Evaluation, text: str, **fields: Any) -> Trial:
        """Create a trial without any fitted fold; `text` is the reason."""
        fold = FoldResult(fit_time=0.0, score_time=0.0, fit_error=text)
        skipped = FoldResult(status=FoldStatus.SKIPPED)
        splits = range(len(self.plan.splits))
        folds = [
            fold if split in splits[: self.n_folds] else skipped for split in splits
        ]
        return self._closed(evaluation, _trial(evaluation, folds, **fields))

    def untried(self, params: Params) -> Trial:
        """Create a trial that replaces the trials aborted by the timeout."""
        evaluation = self.prepare(0, params)
        folds = [FoldResult(status=FoldStatus.SKIPPED)] * len(self.plan.splits)
        trial = _trial(evaluation, folds, state=TrialState.TIMED_OUT)
        return self._closed(evaluation, trial)

    def _closed(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Return a trial with its score and aspects, without transient values."""
        for fold in trial.folds:
            if fold.is_fitted:
                self.plan.objective.learn(fold.test_scores)
        metrics = self.plan.objective.metrics
        folds = [self.plan.filled(fold, metrics) for fold in trial.folds]
        trial = self._scored(evaluation, dataclasses.replace(trial, folds=folds))
        for aspect in self.plan.aspects:
            closed = aspect.close(evaluation, trial)
            is_same = closed.folds is trial.folds
            trial = closed if is_same else self._scored(evaluation, closed)
        folds = [dataclasses.replace(fold, transient={}) for fold in trial.folds]
        return dataclasses.replace(trial, folds=folds)

    def _scored(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Return a trial with the score of its folds."""
        fitted = [i for i, fold in enumerate(trial.folds) if fold.is_fitted]
        folds = [trial.folds[i] for i in fitted]
        score, noise, state = self._mean(folds), None, trial.state
        if len(fitted) >= trial.n_folds:
            state = TrialState.FAILED if math.isnan(score) else TrialState.COMPLETE
        elif math.isnan(score) and state == TrialState.PRUNED:
            state = TrialState.FAILED
        elif fitted:
            scores = first_scores(folds, self.plan.objective)
            if scores is not None:
                race = race_of(evaluation.complete, fitted, self.plan.objective)
                score, noise = race.estimate(scores)
        return dataclasses.replace(trial, score=score, noise=noise, state=state)

    def _mean(self, folds: Sequence[FoldResult]) -> float:
        # With a numeric error_score, a trial whose fits all failed would have a score.
        if all(fold.fit_error is not None for fold in folds):
            return math.nan
        score = float(np.mean([self.plan.objective(f.test_scores) for f in folds]))
        return score if math.isfinite(score) else math.nan

    def recall(self, trial: Trial) -> Trial:
        """Return a trial from the journal, with the values of its parameters."""
        params, _ = self.assign(trial.number, trial.params)
        return dataclasses.replace(trial, params=params)

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Observe a finished trial, in the order of the trials without a timeout.

        Return the arguments of `Optimizer.tell` in addition to the score.
        """
        details: dict[str, Any] = {"censored": trial.state.is_partial}
        if trial.duration > 0.0:
            details["cost"] = trial.duration
        # The means of several objectives are not predicted from the first folds.
        if trial.noise is not None and isinstance(self.plan.objective, GuidingMetric):
            details["noise"] = trial.noise
        if trial.state == TrialState.OUT_OF_MEMORY:
            details["aborted"] = True
        for aspect in self.plan.aspects:
            details |= aspect.observe(trial)
        complete = trial.state == TrialState.COMPLETE
        # Trials that violate constraints are excluded from races.
        if complete and trial.error is None and trial.feasible:
            folds = trial.folds[: trial.n_folds]
            scores = [self.plan.objective(fold.test_scores) for fold in folds]
            self._complete.append((np.array(scores), folds))
        return details


def _trial(evaluation: Evaluation, folds: Sequence[FoldResult], **fields: Any) -> Trial:
    """Return a trial with some folds, whose score is unknown."""
    return Trial(
        *(evaluation.number, evaluation.params, folds, math.nan),
        fidelity=evaluation.fidelity,
        **fields,
    )


def _with_origin(fold: FoldResult) -> BaseException:
    """Return the exception, with its traceback as a note if a worker raised it."""
    error: BaseException = fold.transient["exception"]
    text = fold.transient["traceback"]
    if error.__traceback__ is None:
        error.add_note(f"\nRaised in a worker:\n{text}")
    if isinstance(error, SystemExit):
        # Python exits without a message.
        logger.error("A fit called sys.exit:\n%s", text)
    return error
