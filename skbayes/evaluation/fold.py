"""Fit and scores of one fold of a trial, possibly in another process."""

from __future__ import annotations

import contextlib
import functools
import pickle
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring, get_scorer

from skbayes import compat
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.evaluation.trial import FoldResult, FoldStatus

# Each worker process imports this module. Modules that only some searches need are
# imported with their aspects.
if TYPE_CHECKING:
    from skbayes.evaluation.aspect import FoldAspect
    from skbayes.evaluation.backend import DataHandle
    from skbayes.evaluation.limits import AbortReason


# Scorers that only call methods of the whole estimator, such as `predict`.
PREDICTING = {type(get_scorer("accuracy")), type(check_scoring(DummyClassifier()))}


@dataclass
class FoldOutcome:
    """Outcome of running one fold.

    The result, the estimator and its response, the predictions on the test set, are
    None if the fold was not fitted or they are not kept. The fold `waited` seconds for
    its process; its own `seconds` are measured in the worker by `time.perf_counter`.
    """

    status: FoldStatus = FoldStatus.FITTED
    result: FoldResult | None = None
    estimator: Any = None
    response: Any = None
    stop_requested: bool = False
    exception: BaseException | None = None
    traceback_text: str = ""
    reason: AbortReason | None = None
    waited: float = 0.0
    seconds: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, to which some estimators cannot go."""
        state = dict(vars(self))
        try:
            state["estimator"] = cloudpickle.dumps(self.estimator)
        except Exception:
            state["estimator"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        with contextlib.suppress(Exception):
            self.estimator = state["estimator"] and pickle.loads(state["estimator"])
            return
        self.estimator = None


Outcomes = Sequence[FoldOutcome]


def has_status(outcomes: Outcomes, status: FoldStatus) -> bool:
    """Return whether a fold has this status."""
    return any(outcome.status == status for outcome in outcomes)


def scored(scorer: Any, estimator: Any, X: Any, y: Any, params: Any) -> Any:
    """Return the scores for rows and their targets, if there are any."""
    return scorer(estimator, *((X,) if y is None else (X, y)), **params)


def configured(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return a clone with parameters; estimators among the values are cloned too."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


@contextlib.contextmanager
def wrapped_fit(estimator: Any, wrapper: Callable[..., Any]) -> Iterator[None]:
    """Wrap the next call of an estimator's method `fit` in this context.

    ``wrapper(fit, X, y=None, **params)`` is called instead. Any number of wrappers can
    be nested, in any order. All of them are removed before the first one is called. The
    estimator can therefore be copied and pickled during its fit, and a wrapper can wrap
    the fit of the same estimator again.
    """
    wrapped = estimator.__dict__.setdefault("fit", _WrappedFit(estimator))
    wrapped.wrappers.append(wrapper)
    try:
        yield
    finally:
        wrapped.wrappers.remove(wrapper)
        if not wrapped.wrappers and estimator.__dict__.get("fit") is wrapped:
            del estimator.__dict__["fit"]


class _WrappedFit:
    """Method `fit` of an estimator with its wrappers, for one call."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self.wrappers: list[Callable[..., Any]] = []

    def __call__(self, *data: Any, **params: Any) -> Any:
        del self._estimator.__dict__["fit"]

        def fit(*data: Any, **params: Any) -> Any:
            return self._estimator.fit(*data, **params)

        for wrapper in reversed(self.wrappers):
            fit = functools.partial(wrapper, fit)
        return fit(*data, **params)


@dataclass(frozen=True)
class Job:
    """What all fits of a search share, and each process receives once.

    `options` are arguments of scikit-learn's fit-and-score function: scorer, error
    score, whether training rows are scored, and verbosity. `outcome_params` are those
    of the scorers of constrained outcomes.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)
    outcome_params: Mapping[str, Any] = field(default_factory=dict)
    subsets: Subsets | None = None
    aspects: Sequence[FoldAspect] = ()

    def split(self, index: int, fidelity: Fidelity = FULL_DATA) -> tuple[Any, Any]:
        """Return the training and test rows of one fold of a trial."""
        train, test = self.splits[index]
        if self.subsets is None:
            return train, test
        return self.subsets.rows(index, train, fidelity), test

    def raising(self) -> Job:
        """Return a job whose fits only raise their errors, such as those of scores."""
        scorer = compat.raising_scorer(self.options["scorer"])
        options = {"error_score": "raise", "verbose": 0, "scorer": scorer}
        aspects = tuple(part for part in self.aspects if part.affects_errors)
        return replace(self, options={**self.options, **options}, aspects=aspects)


@dataclass(frozen=True)
class Fold:
    """One fold of one trial, with parts by name of the aspect.

    If `raises`, only the errors of the fit are of interest, see `Job.raising`.
    """

    index: int
    params: dict[str, Any]
    candidate_progress: tuple[int, float] = (0, 1)
    fidelity: Fidelity = FULL_DATA
    parts: dict[str, Any] = field(default_factory=dict)
    raises: bool = False


@dataclass
class FoldCall:
    """Fit of a fold in a worker, which aspects may change.

    `result` is the return value of scikit-learn's fit-and-score function, and `options`
    its arguments. `state` is that of the aspects by name.
    """

    job: Job
    fold: Fold
    estimator: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    state: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.fold.raises:
            self.job = self.job.raising()
        self.train, self.test = self.job.split(self.fold.index, self.fold.fidelity)
        self._begin, self._begin_cpu = time.perf_counter(), time.process_time()

    @property
    def looks_inside(self) -> bool:
        """Whether fitted steps are used other than by predictions of the scorers."""
        scorers = compat.public_scorers(self.job.options["scorer"])
        several = scorers.values() if isinstance(scorers, dict) else [scorers]
        return any(type(scorer) not in PREDICTING for scorer in several)

    @property
    def timed_result(self) -> dict[str, Any]:
        """Result of scikit-learn's function, with what measures of the fit use."""
        # The fit and scoring are assumed to use the processor equally.
        elapsed = self.result["fit_time"] + self.result["score_time"]
        share = self.result["fit_time"] / elapsed if elapsed > 0.0 else 1.0
        cpu_time = float(self.cpu_seconds * share)
        more = {"cpu_time": cpu_time, "test_rows": lambda: self.test_set()[0]}
        return {**self.result, "estimator": self.estimator, **more}

    @property
    def raises(self) -> bool:
        """Whether errors of measurements are raised."""
        return bool(self.options["error_score"] == "raise")

    def test_set(self) -> tuple[Any, Any]:
        """Return the rows and targets of the test set."""
        return self.selected(self.test, self.train)

    def selected(self, rows: Any, others: Any = None) -> tuple[Any, Any]:
        """Return rows and targets; `others` are the training rows, for kernels."""
        job = self.job
        X, y = compat.safe_split(job.estimator, job.X, job.y, rows, others)
        return X, y

    @contextlib.contextmanager
    def arguments(self) -> Iterator[dict[str, Any]]:
        """Yield arguments of scikit-learn's function, in contexts of the aspects."""
        self.estimator = clone(self.job.estimator)
        aspects = self.job.aspects
        self.options = dict(self.job.options)
        with contextlib.ExitStack() as stack:
            for aspect in aspects:
                stack.enter_context(aspect.around(self))
            yield compat.fit_and_score_arguments(
                estimator=self.estimator,
                X=self.job.X,
                y=self.job.y,
                train=self.train,
                test=self.test,
                parameters=self.fold.params,
                fit_params=self.job.fit_params,
                score_params=self.job.score_params,
                split_progress=(self.fold.index, len(self.job.splits)),
                candidate_progress=self.fold.candidate_progress,
                return_n_test_samples=True,
                return_times=True,
                **self.options,
            )

    def outcome(self) -> FoldOutcome:
        """Return the outcome of the fit, with the measurements of the aspects."""
        self.cpu_seconds = time.process_time() - self._begin_cpu
        result, error_score = self.result, self.options["error_score"]
        train_scores = result.get("train_scores")
        fold = FoldResult(
            named_scores(result["test_scores"], error_score),
            result["fit_time"],
            result["score_time"],
            result["n_test_samples"],
            None if train_scores is None else named_scores(train_scores, error_score),
            result["fit_error"],
        )
        is_dict = isinstance(result["test_scores"], dict)
        if is_dict and fold.test_scores.keys() == {"score"}:
            # GridSearchCV distinguishes this scorer from one that returns a number.
            fold.extras["multimetric"] = 1
        seconds = time.perf_counter() - self._begin
        outcome = FoldOutcome(result=fold, seconds=seconds)
        for aspect in self.job.aspects:
            aspect.measure(self, outcome)
        return outcome


def run_folds(handle: DataHandle, folds: Sequence[Fold]) -> list[FoldOutcome]:
    """Fit and score folds of the job of `handle`, one after the other."""
    outcomes = []
    for fold in folds:
        try:
            with handle.room():
                if handle.stopped():
                    outcome = FoldOutcome(FoldStatus.INTERRUPTED)
                else:
                    call = FoldCall(handle.load(), fold)
                    with call.arguments() as arguments:
                        call.result = compat.fit_and_score(**arguments)
                    outcome = call.outcome()
        except BaseException as error:  # SystemExit would also make joblib end the pool
            if not handle.returns_errors:
                raise
            outcome = raised_outcome(error, traceback.format_exc())
        outcomes.append(outcome)
    return outcomes


def raised_outcome(error: BaseException, text: str) -> FoldOutcome:
    """Return the outcome of a fit with an exception and its traceback."""
    # A terminal sends Ctrl-C to the workers, too.
    if isinstance(error, KeyboardInterrupt):
        return FoldOutcome(FoldStatus.INTERRUPTED)
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:  # unpickling must not break the pool
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    return FoldOutcome(FoldStatus.RAISED, exception=error, traceback_text=text)


def named_scores(scores: Any, error_score: Any) -> dict[str, float]:
    """Return scores by metric, "score" for a single one; empty if they are unknown."""
    if isinstance(scores, dict):
        return {name: _as_float(score) for name, score in scores.items()}
    score = _as_float(scores)
    both_nan = score != score and error_score != error_score
    return {} if score == error_score or both_nan else {"score": score}


def _as_float(score: Any) -> float:
    """Convert a score to a float as GridSearchCV does, with a warning if complex."""
    if isinstance(score, int | float):
        return score
    return float(np.array([score]).astype(np.float64)[0])
