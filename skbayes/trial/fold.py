"""Fit and scores of one fold of a trial, possibly in another process."""

from __future__ import annotations

import contextlib
import functools
import inspect
import pickle
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import cloudpickle
import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring, get_scorer

from skbayes import compat
from skbayes.trial.records import FoldResult, FoldStatus
from skbayes.trial.subsets import ALL_ROWS, Sample, Subsets

# Each worker process imports this module. Modules that only some searches need are
# imported with their aspects.

# Scorers that only call methods of the whole estimator, such as `predict`.
PREDICTING = {type(get_scorer("accuracy")), type(check_scoring(DummyClassifier()))}


# Results of the folds of a trial so far, by number, in the order of their fits.
Results = Mapping[int, FoldResult]


def has_status(results: Iterable[FoldResult], status: FoldStatus) -> bool:
    """Return whether a fold has this status."""
    return any(result.status == status for result in results)


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


def n_rows(data: Any) -> int:
    """Return the number of rows; arrays of other libraries may have no length."""
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


@dataclass(frozen=True)
class Job:
    """Data, splits and options of all fits, which each process receives once.

    `options` are arguments of scikit-learn's fit-and-score function that are the same
    for all fits, such as the scorer.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    subsets: Subsets | None = None
    aspects: Sequence[FoldAspect] = ()

    @property
    def fit_params(self) -> Mapping[str, Any]:
        """Arguments of `fit` of the estimator."""
        return self.options.get("fit_params", {})

    @property
    def score_params(self) -> Mapping[str, Any]:
        """Arguments of the scorers."""
        return self.options.get("score_params", {})

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return n_rows(self.X)

    def seconds_on_all_rows(
        self, folds: Iterable[FoldResult], fraction: float = 1.0
    ) -> float:
        """Return the expected seconds of a fit on all rows, 0 if they are not known.

        They are those of the longest fit of some folds with a fraction of their
        training rows, in proportion to the rows.
        """
        seconds = [fold.fit_time for fold in folds if fold.is_fitted]
        n_rows = fraction * np.mean([len(train) for train, _ in self.splits])
        return float(np.nanmax([0.0, *seconds]) * self.n_samples / n_rows)

    def split(self, index: int, sample: Sample = ALL_ROWS) -> tuple[Any, Any]:
        """Return the training and test rows of one fold of a trial."""
        train, test = self.splits[index]
        if self.subsets is None:
            return train, test
        return self.subsets.rows(index, train, sample), test

    def raising(self) -> Job:
        """Return a job whose fits raise all errors, including errors of the scorers."""
        scorer = compat.raising_scorer(self.options["scorer"])
        options = {"error_score": "raise", "verbose": 0, "scorer": scorer}
        aspects = tuple(part for part in self.aspects if part.affects_errors)
        return replace(self, options={**self.options, **options}, aspects=aspects)


@dataclass(frozen=True)
class Fold:
    """One fold of one trial, with parts by name of the aspect.

    With `raises`, the fit is only repeated for its errors, see `Job.raising`.
    """

    index: int
    params: dict[str, Any]
    candidate_progress: tuple[int, float] = (0, 1)
    sample: Sample = ALL_ROWS
    parts: dict[str, Any] = field(default_factory=dict)
    raises: bool = False


class FoldCall:
    """Fit of a fold in a worker, which aspects may change.

    `options` are arguments of scikit-learn's fit-and-score function, and `state` has
    the state of each aspect by name.
    """

    def __init__(self, job: Job, fold: Fold) -> None:
        self._begin, self._begin_cpu = time.perf_counter(), time.process_time()
        self.job, self.fold = job.raising() if fold.raises else job, fold
        self.train, self.test = job.split(fold.index, fold.sample)
        self.estimator: Any = clone(job.estimator)
        self.options = dict(self.job.options)
        self.state: dict[str, Any] = {}
        self.cpu_seconds = 0.0

    @property
    def reads_steps(self) -> bool:
        """Whether a scorer may read fitted steps, instead of only predictions."""
        scorers = compat.public_scorers(self.job.options["scorer"])
        several = scorers.values() if isinstance(scorers, dict) else [scorers]
        return any(type(scorer) not in PREDICTING for scorer in several)

    @property
    def raises(self) -> bool:
        """Whether errors of measurements are raised."""
        return bool(self.options["error_score"] == "raise")

    def measured(self, result: FoldResult) -> dict[str, Any]:
        """Return the input of the measures of the fit, see `Measure`."""
        # The fit and scoring are assumed to use the processor equally.
        elapsed = result.fit_time + result.score_time
        share = result.fit_time / elapsed if elapsed > 0.0 else 1.0
        return {
            "fit_time": result.fit_time,
            "score_time": result.score_time,
            "cpu_time": float(self.cpu_seconds * share),
            "test_scores": result.test_scores,
            "fit_error": result.fit_error,
            "estimator": self.estimator,
            "test_rows": lambda: self.test_set()[0],
        }

    def test_set(self) -> tuple[Any, Any]:
        """Return the rows and targets of the test set."""
        return self.selected(self.test, self.train)

    def selected(self, rows: Any, others: Any = None) -> tuple[Any, Any]:
        """Return rows and targets; `others` are the training rows, for kernels.

        The parameters of the trial, which may set the kernel, must be set.
        """
        job = self.job
        X, y = compat.safe_split(self.estimator, job.X, job.y, rows, others)
        return X, y

    def run(self) -> FoldResult:
        """Fit and score in contexts of the aspects; add their measurements."""
        job, fold = self.job, self.fold
        with contextlib.ExitStack() as stack:
            for aspect in job.aspects:
                stack.enter_context(aspect.around(self))
            output = compat.fit_and_score(
                **compat.fit_and_score_arguments(
                    estimator=self.estimator,
                    X=job.X,
                    y=job.y,
                    train=self.train,
                    test=self.test,
                    parameters=fold.params,
                    split_progress=(fold.index, len(job.splits)),
                    candidate_progress=fold.candidate_progress,
                    return_times=True,
                    **self.options,
                )
            )
        self.cpu_seconds += time.process_time() - self._begin_cpu
        result = _result_of(output, self.options["error_score"])
        result = result.with_transient(seconds=time.perf_counter() - self._begin)
        for aspect in job.aspects:
            result = aspect.measure(self, result)
        return result


def _result_of(output: Mapping[str, Any], error_score: Any) -> FoldResult:
    """Return the result for the output of scikit-learn's fit-and-score function."""
    scores, train_scores = output["test_scores"], output.get("train_scores")
    named = named_scores(scores, error_score)
    # GridSearchCV distinguishes this scorer from one that returns a number.
    is_dict = isinstance(scores, dict) and named.keys() == {"score"}
    return FoldResult(
        named,
        output["fit_time"],
        output["score_time"],
        None if train_scores is None else named_scores(train_scores, error_score),
        output["fit_error"],
        extras={"multimetric": 1} if is_dict else {},
    )


def check_hooks(kind: type, base: type) -> None:
    """Raise TypeError for a public method that is not a hook, and is never called."""

    def methods(owner: type) -> dict[str, list[str]]:
        functions = {n: getattr(f, "__func__", f) for n, f in vars(owner).items()}
        return {
            name: [*inspect.signature(function).parameters]
            for name, function in functions.items()
            if inspect.isfunction(function) and not name.startswith("_")
        }

    hooks = methods(base)
    for name, parameters in methods(kind).items():
        if parameters != hooks.get(name):
            listed = ", ".join(f"{n}({', '.join(hooks[n])})" for n in hooks)
            raise TypeError(
                f"{kind.__name__}.{name}({', '.join(parameters)}) is not a hook of "
                f"{base.__name__}. Its hooks are {listed}; the names of other methods "
                "begin with an underscore."
            )


class FoldAspect:
    """Part of an aspect that is sent to the workers; all hooks have no effect.

    One object serves all fits of a process, also in parallel threads. The state of a
    fit is ``call.state[name]``, and ``call.fold.parts[name]`` is the return value of
    `Aspect.for_fold`. The evaluator sets `name` to the name of the aspect.
    """

    name: str = ""
    needs_estimator: bool = False
    """Whether `measure` uses the fitted estimator."""
    affects_errors: bool = True
    """Whether it also applies to fits that are repeated for their errors."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_hooks(cls, FoldAspect)

    def around(self, call: FoldCall) -> AbstractContextManager[Any]:
        """Return a context of the fit and of scoring; it may change `call`."""
        return contextlib.nullcontext()

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Return the result of a fit with measurements, for example in its extras."""
        return result


class Handle(Protocol):
    """Handle of a job, which is sent to a worker with the folds."""

    returns_errors: bool

    def load(self) -> Job:
        """Return the job."""

    def fit_context(self) -> AbstractContextManager[Any]:
        """Return a context in which a fit may run."""

    def stopped(self) -> bool:
        """Return whether the search was stopped."""


def run_folds(handle: Handle, folds: Sequence[Fold]) -> list[FoldResult]:
    """Fit and score folds of the job of `handle`, one after the other."""
    results = []
    for fold in folds:
        try:
            with handle.fit_context():
                if handle.stopped():
                    result = FoldResult(status=FoldStatus.INTERRUPTED)
                else:
                    result = FoldCall(handle.load(), fold).run()
        except BaseException as error:  # SystemExit would also make joblib end the pool
            if not handle.returns_errors:
                raise
            result = raised_result(error, traceback.format_exc())
        results.append(result)
    return results


def raised_result(error: BaseException, text: str) -> FoldResult:
    """Return the result of a fit with an exception and its traceback."""
    # A terminal sends Ctrl-C to the workers, too.
    if isinstance(error, KeyboardInterrupt):
        return FoldResult(status=FoldStatus.INTERRUPTED)
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:  # unpickling must not break the pool
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    transient = {"exception": error, "traceback": text}
    return FoldResult(status=FoldStatus.RAISED, transient=transient)


def named_scores(scores: Any, error_score: Any) -> dict[str, float]:
    """Return scores by metric, "score" for a single metric; empty if unknown."""
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
