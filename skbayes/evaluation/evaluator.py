"""One configuration becomes one trial: its fits on all splits, and what they gave.

A trial passes through three hands: the main thread prepares it (only there may callback
tasks be made), any thread runs it, and the main thread concludes what it gave.
"""

from __future__ import annotations

import dataclasses
import math
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skbayes import compat
from skbayes.evaluation.data_transfer import DataTransfer
from skbayes.evaluation.fold import Fold, FoldOutcome, Measure, run_fold
from skbayes.evaluation.racing import Race
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.evaluation.trial import Trial
from skbayes.utils.did_you_mean import did_you_mean

__all__ = ["CandidateEvaluator", "Evaluation", "check_candidates", "on_full_data"]


def check_candidates(estimator: Any, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Set each of `candidates` on a clone, to find wrong names before any fit.

    Parameters
    ----------
    estimator : estimator
        The estimator that is searched; it is not changed.
    candidates : sequence of dict
        Parameters to try.

    Raises
    ------
    TypeError
        If the estimator cannot be cloned.
    ValueError
        If the estimator refuses them; the message names the parameter.
    """
    clone(estimator)  # a wrong estimator is no mistake of the candidates
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
    """Return what the names were meant to be; nothing if that is not clear for all."""
    known = estimator.get_params()
    guesses = [
        did_you_mean(name, known) if name not in known else "" for name in culprits
    ]
    return "".join(guesses) if all(guesses) else ""


def on_full_data(
    number: int, params: dict[str, Any]
) -> tuple[dict[str, Any], Fidelity]:
    """Make a trial of what was proposed, on all training rows.

    Parameters
    ----------
    number : int
        The trial's number.
    params : dict
        What was proposed.

    Returns
    -------
    params : dict
        The same.
    setting : Fidelity
        Everything.
    """
    return params, FULL_DATA


def _refusal(estimator: Any, params: Mapping[str, Any]) -> Exception | None:
    """Return what setting `params` on a clone raises, if anything."""
    try:
        clone(estimator).set_params(**clone(dict(params), safe=False))
    except Exception as error:
        return error
    return None


@dataclass
class Evaluation:
    """A trial that is prepared, and can be run in any thread.

    Parameters
    ----------
    number : int
        The trial's number.
    params : dict
        Its parameters.
    folds : callable
        Given the deadline, yields for each split a call that joblib can make.
    n_splits : int
        How many there are.
    refusal : Exception or None
        Why the estimator refuses the parameters.
    limit : float or None
        Seconds after which no further fold is begun.
    should_prune : callable or None
        Given the outcomes of the first folds, whether the others can be spared. The
        folds are then run one after the other.
    table : sequence of ndarray
        Scores by split of the complete trials that were told when it was prepared.
    setting : Fidelity
        What it is made on.
    duration : float
        Seconds it took.
    started : float or None
        When it began, in seconds since 1970; None before.
    """

    number: int
    params: dict[str, Any]
    folds: Callable[[float | None], Iterator[Any]]
    n_splits: int
    refusal: Exception | None = None
    limit: float | None = None
    should_prune: Callable[[list[FoldOutcome]], bool] | None = None
    table: Sequence[np.ndarray] = ()
    setting: Fidelity = FULL_DATA
    duration: float = 0.0
    started: float | None = None

    def __call__(self, parallel: Parallel) -> list[FoldOutcome]:
        """Run it.

        Parameters
        ----------
        parallel : Parallel
            Where the fits run.

        Returns
        -------
        outcomes : list
            One for each fold, fewer if the others were spared.
        """
        if self.refusal is not None:
            return []
        begin = time.perf_counter()
        self.started = time.time()
        deadline = None if self.limit is None else self.started + self.limit
        calls = self.folds(deadline)
        try:
            if self.should_prune is None:
                return list(parallel(calls))
            outcomes: list[FoldOutcome] = []
            for call in calls:
                outcomes += parallel([call])
                if self.should_prune(outcomes):
                    break
            return outcomes
        finally:
            self.duration = time.perf_counter() - begin


@dataclass
class CandidateEvaluator:
    """Fits and scores configurations, all of them on the same splits.

    A trial is one parallel call of scikit-learn's own fit-and-score function over the
    splits, so that scores, failures, weights, routing and callbacks mean what they mean
    in GridSearchCV.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit.
    transfer : DataTransfer
        Leads the fits to their data: see :mod:`skbayes.evaluation.data_transfer`.
    test_sizes : list of int
        Rows of each split's test set.
    catch_errors : bool
        Whether exceptions are carried home from workers before they are raised.
    tasks : compat.TaskTree
        Makes the callback task of each fit.
    n_candidates : int
        How many trials are planned, for scikit-learn's progress messages.
    target : callable
        Given the test scores of one fold, returns the number that guides the search.
    scorer : callable
        Scores the fits, one metric or several.
    error_score : "raise" or number
        As for GridSearchCV.
    return_train_score : bool
        As for GridSearchCV.
    verbose : int, default=0
        As for GridSearchCV.
    limit : float or None, default=None
        Seconds after which no further fold of a trial is begun.
    risk : float or None, default=None
        A trial whose chance to become the best falls below this is given up; None:
        none is.
    keep_fits : {"best", "all"} or None, default=None
        Of which trials the fitted estimators are kept: the best so far, or all.
    measures : dict of str to callable, default={}
        What is measured of each fit: see :func:`skbayes.evaluation.fold.run_fold`.
    apart : bool, default=False
        Whether that stands apart from the scores.
    setting : callable, default=on_full_data
        Given a trial's number and what was proposed, returns the parameters to set and
        the :class:`~skbayes.evaluation.subsets.Fidelity` that the trial is made on.
    subsets : Subsets or None, default=None
        The training subsets, if there are any.

    Attributes
    ----------
    kept : dict of int to list
        The fitted estimators, by the trial's number.
    """

    estimator: Any
    transfer: DataTransfer
    test_sizes: Sequence[int]
    catch_errors: bool
    tasks: compat.TaskTree
    n_candidates: int
    target: Callable[[Any], float]
    scorer: Any
    error_score: float | str
    return_train_score: bool
    verbose: int = 0
    limit: float | None = None
    risk: float | None = None
    keep_fits: str | None = None
    measures: Mapping[str, Measure] = field(default_factory=dict)
    apart: bool = False
    setting: Callable[[int, dict[str, Any]], tuple[dict[str, Any], Fidelity]] = (
        on_full_data
    )
    subsets: Subsets | None = None
    kept: dict[int, list] = field(default_factory=dict, init=False)
    _best: Trial | None = field(default=None, init=False)
    _table: list[np.ndarray] = field(default_factory=list, init=False)

    def prepare(self, number: int, params: dict[str, Any]) -> Evaluation:
        """Get a trial ready to be run; in the main thread.

        Parameters
        ----------
        number : int
            The trial's number, from 0.
        params : dict of str to object
            What was proposed.

        Returns
        -------
        evaluation : Evaluation
            What a thread can run.
        """
        params, setting = self.setting(number, params)
        refusal = _refusal(self.estimator, params)
        n = len(self.test_sizes)
        # The tasks are made before any of them is sent off: making one while another
        # is being pickled changes a dict under the pickler's feet.
        tasks = [
            None if refusal else self.tasks.evaluation(number * n + index)
            for index in range(n)
        ]
        fixed = {
            "scorer": self.scorer,
            "error_score": self.error_score,
            "return_train_score": self.return_train_score,
            "return_estimator": self.keep_fits is not None,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "verbose": self.verbose,
        }

        def folds(deadline: float | None) -> Iterator[Any]:
            for index, task in enumerate(tasks):
                progress = (number, self.n_candidates)
                fold = Fold(index, params, task, deadline, progress, setting)
                # The handle is another one if the first was lost.
                yield delayed(run_fold)(
                    self.transfer.handle,
                    self.estimator,
                    self.catch_errors,
                    fixed,
                    fold,
                    self.measures,
                    self.apart,
                )

        # What is known now: what is told while it runs depends on the timing.
        table = tuple(self._table)
        should_prune = (
            None if self.risk is None else self._should_prune(table, self.risk)
        )
        return Evaluation(
            number, params, folds, n, refusal, self.limit, should_prune, table, setting
        )

    def _should_prune(
        self, table: Sequence[np.ndarray], risk: float
    ) -> Callable[[list[FoldOutcome]], bool]:
        """Return the test that ends a race."""
        race = Race(table)

        def should_prune(outcomes: list[FoldOutcome]) -> bool:
            scores = self._first_scores(outcomes)
            if scores is None or len(scores) == len(self.test_sizes):
                return False
            return race.chance(scores) < risk

        return should_prune

    def _first_scores(self, outcomes: list[FoldOutcome]) -> np.ndarray | None:
        """Return the guiding scores of the folds; None if one of them is no score."""
        results = [outcome.result for outcome in outcomes]
        if any(r is None or r["fit_error"] is not None for r in results):
            return None
        scores = np.array([self.target(r["test_scores"]) for r in results if r])
        return scores if np.all(np.isfinite(scores)) else None

    def conclude(
        self, evaluation: Evaluation, outcomes: list[FoldOutcome]
    ) -> Trial | None:
        """Make a trial of what its folds gave; in the main thread.

        Parameters
        ----------
        evaluation : Evaluation
            What was run.
        outcomes : list
            What it returned.

        Returns
        -------
        trial : Trial or None
            Failed if no fit succeeded or the mean score is not finite; None if it was
            interrupted.

        Raises
        ------
        Exception
            What a fit raises with `error_score="raise"`, or what a scorer raises that
            returns something other than numbers.
        """
        if evaluation.refusal is not None:
            if self.error_score == "raise":
                raise evaluation.refusal
            text = "".join(traceback.format_exception(evaluation.refusal))
            return self.failed(evaluation, text)
        for outcome in outcomes:
            if outcome.exception is not None:
                raise _with_origin(outcome)
        if any(outcome.interrupted for outcome in outcomes):
            return None
        return self._trial(evaluation, outcomes)

    def failed(self, evaluation: Evaluation, text: str) -> Trial:
        """Make a trial of which no fold could be fitted.

        Parameters
        ----------
        evaluation : Evaluation
            What could not be run.
        text : str
            Why.

        Returns
        -------
        trial : Trial
            Failed.
        """
        scores: Any = self.error_score
        scorers = compat.public_scorers(self.scorer)
        if isinstance(scorers, dict):
            scores = dict.fromkeys(scorers, self.error_score)
            if not self.apart:
                scores |= dict.fromkeys(self.measures, math.nan)
        folds = [self._no_fold(scores, text, 0) for _ in self.test_sizes]
        return self._make(evaluation, folds, math.nan, "failed")

    def _no_fold(self, scores: Any, error: str | None, size: int) -> dict[str, Any]:
        """Return what stands for the result of a fold that was not fitted."""
        fold = {"fit_error": error, "test_scores": scores, "n_test_samples": size}
        seconds = math.nan if error is None else 0.0
        fold |= {"fit_time": seconds, "score_time": seconds}
        if self.return_train_score:
            fold["train_scores"] = scores
        return fold

    def _trial(self, evaluation: Evaluation, outcomes: list[FoldOutcome]) -> Trial:
        results = [outcome.result for outcome in outcomes]
        finished = [result for result in results if result is not None]
        fits = [result.pop("estimator", None) for result in finished]
        if self.keep_fits is not None and len(fits) == len(self.test_sizes):
            self.kept[evaluation.number] = fits
        stop = any(outcome.stop_requested for outcome in outcomes)
        if len(finished) == len(self.test_sizes):
            score = self._mean(finished)
            state = "failed" if math.isnan(score) else "complete"
            return self._make(evaluation, finished, score, state, stop)
        return self._partial_trial(evaluation, outcomes, stop)

    def _mean(self, folds: list[dict[str, Any]]) -> float:
        """Mean score that guides the search; NaN if there is none."""
        # With a numeric error_score a wholly failed trial would look like a score.
        if all(fold["fit_error"] is not None for fold in folds):
            return math.nan
        score = float(np.mean([self.target(fold["test_scores"]) for fold in folds]))
        return score if math.isfinite(score) else math.nan

    def _partial_trial(
        self, evaluation: Evaluation, outcomes: list[FoldOutcome], stop: bool
    ) -> Trial:
        """Make a trial of its first folds: some were spared, or came too late."""
        first = next(o.result for o in outcomes if o.result is not None)
        blank: Any = math.nan
        if isinstance(first["test_scores"], dict):
            blank = dict.fromkeys(first["test_scores"], math.nan)
        by_split = [outcome.result for outcome in outcomes]
        by_split += [None] * (len(self.test_sizes) - len(by_split))
        folds = [
            fold or {**self._no_fold(blank, None, size), "skipped": True}
            for fold, size in zip(by_split, self.test_sizes, strict=True)
        ]
        begun = [outcome for outcome in outcomes if outcome.result is not None]
        scores = self._first_scores(begun)
        score, noise = self._mean([fold for fold in by_split if fold is not None]), None
        places = [i for i, fold in enumerate(by_split) if fold is not None]
        if scores is not None:
            race = Race([self._places_first(row, places) for row in evaluation.table])
            score, noise = race.estimate(scores)
        censored = any(outcome.too_late for outcome in outcomes)
        state = "censored" if censored else "raced"
        return self._make(evaluation, folds, score, state, stop, noise)

    @staticmethod
    def _places_first(row: np.ndarray, places: list[int]) -> np.ndarray:
        """Put the splits that were fitted first."""
        return np.concatenate([row[places], np.delete(row, places)])

    def _make(
        self,
        evaluation: Evaluation,
        folds: list[dict[str, Any]],
        score: float,
        state: str,
        stop: bool = False,
        noise: float | None = None,
    ) -> Trial:
        errors = [f["fit_error"] for f in folds if f["fit_error"] is not None]
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
            stage=evaluation.setting.stage,
            train_fraction=self._fraction(evaluation.setting),
            subset=evaluation.setting.subset,
            started=evaluation.started,
        )

    def _fraction(self, setting: Fidelity) -> float:
        return 1.0 if self.subsets is None else self.subsets.fraction(setting)

    def recall(self, trial: Trial) -> Trial:
        """Take a trial of an earlier run as if it had been made by this one.

        Parameters
        ----------
        trial : Trial
            As a journal kept it: its parameters are what was proposed.

        Returns
        -------
        trial : Trial
            With the parameters that were set.
        """
        params, _ = self.setting(trial.number, trial.params)
        return dataclasses.replace(trial, params=params)

    def learn(self, trial: Trial) -> None:
        """Compare later trials with this one, too; called when it is told.

        Parameters
        ----------
        trial : Trial
            Only a complete one without failed folds counts.
        """
        beaten: Trial | None = trial
        if trial.state == "complete":
            if self._best is None or trial.score > self._best.score:
                self._best, beaten = trial, self._best
        if self.keep_fits == "best" and beaten is not None:
            self.kept.pop(beaten.number, None)
        if trial.state == "complete" and trial.error is None:
            self._table.append(
                np.array([self.target(fold["test_scores"]) for fold in trial.folds])
            )


def _with_origin(outcome: FoldOutcome) -> Exception:
    """Return the exception; one from another process tells where it came from."""
    error = outcome.exception
    assert error is not None
    if error.__traceback__ is None:
        error.add_note(f"\nRaised in a worker:\n{outcome.traceback_text}")
    return error
