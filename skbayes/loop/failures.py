"""Tests for searches in which every fit fails, and for deaths of workers."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

import numpy as np

from skbayes import compat
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.space import Space
from skbayes.space.equality import same

__all__ = ["FailingStart", "is_death", "is_unreadable", "was_retried"]

# So many trials must fail alike before it is asked why.
N_TRIALS = 3

# From so many random configurations one is chosen that is unlike those that failed.
N_CANDIDATES = 64

Params = dict[str, Any]


class FailingStart:
    """Raises what all fits of the first trials raise, if the data are at fault.

    Called with the trials after each one, as a stopper. When all fits of the first
    three fail alike, but for fits without a score, two fits on one of the splits tell
    data that cannot be learned from unlucky configurations: one with the estimator's
    own parameters (unless estimators are searched, for which it may have a
    placeholder), and one with a configuration that differs from the three as much as
    possible. Only if these fail in the same way, the exception is raised.

    Parameters
    ----------
    space : Space
        What is searched.
    assigned : callable
        Given a configuration, returns the parameters that are set.
    fit : callable
        ``fit(params, split)`` fits the estimator with some parameters set, on the
        training rows of a split.
    """

    def __init__(
        self,
        space: Space,
        assigned: Callable[[Params], Params],
        fit: Callable[[Params, int], Any],
    ) -> None:
        self._space = space
        self._assigned = assigned
        self._fit = fit

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Return False, or raise."""
        if len(trials) != N_TRIALS or trials[0].number != 0:
            return False
        errors = [_errors(trial) for trial in trials]
        kinds = {_kind(text) for of_trial in errors for text in of_trial.values()}
        if not all(errors) or len(kinds) != 1 or None in kinds:
            return False
        split = next(iter(errors[0]))
        first = None
        for params in self._probes(trials):
            error = self._error_of(params, split)
            if error is None or _kind(_text(error)) not in kinds:
                return False
            first = first or error
        if first is None:  # there was nothing to try
            return False
        n_failed = sum(map(len, errors))
        n_fits = sum(len(_fitted(trial)) for trial in trials)
        which = f"All the {n_fits}" if n_failed == n_fits else f"{n_failed} of {n_fits}"
        first.add_note(
            f"\n{which} fits of the first {N_TRIALS} trials failed in this "
            "way, and so did a fit with very different parameters. The search was "
            "stopped: what is wrong does not depend on the parameters that are "
            "searched."
        )
        raise first

    def _error_of(self, params: Params, split: int) -> Exception | None:
        try:
            self._fit(params, split)
        except Exception as error:
            return error
        return None

    def _probes(self, trials: Sequence[Trial]) -> Iterator[Params]:
        if not self._sets_estimators():
            yield self._fixed()
        rows = np.random.default_rng(0).random((N_CANDIDATES, self._space.n_columns))
        candidates = [
            self._assigned(params)
            for params in self._space.decode(self._space.from_uniform(rows))
            if self._space.allows(params)
        ]
        if candidates:
            failed = [trial.params for trial in trials]
            yield max(
                candidates,
                key=lambda one: min(_n_unlike(one, other) for other in failed),
            )

    def _sets_estimators(self) -> bool:
        """Return whether a step is searched; the estimator's own is a placeholder."""
        return any(
            hasattr(value, "fit")
            for column in self._space.columns
            for value in getattr(column.dimension, "values", ())
        )

    def _fixed(self) -> Params:
        """Return the parameters for which there is one value in the whole space."""
        examples = [self._assigned(one) for one in self._space.covering_sample()]
        first, *others = examples
        varied = {c.name for c in self._space.columns if c.dimension.n_values > 1}
        return {
            name: value
            for name, value in first.items()
            if name not in varied
            and all(name in one and same(one[name], value) for one in others)
        }


def _fitted(trial: Trial) -> dict[int, FoldResult]:
    """Return the folds whose fits were made, by number."""
    return {i: fold for i, fold in enumerate(trial.folds) if not fold.skipped}


def _errors(trial: Trial) -> dict[int, str | None]:
    """Return the tracebacks of the fits by fold, None for those that worked.

    A fit that worked and has no score is left out: its training rows may lack the value
    that no fit can learn from, and its test rows have it.
    """
    return {
        i: fold.fit_error
        for i, fold in _fitted(trial).items()
        if fold.fit_error is not None or _has_score(fold.test_scores)
    }


def _has_score(scores: Any) -> bool:
    values = scores.values() if isinstance(scores, dict) else [scores]
    return any(np.isfinite(float(value)) for value in values)


def _text(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _kind(text: str | None) -> str | None:
    """Return the type and first line of an exception, without numbers and quotations.

    These differ by the rows and parameters: "could not convert string to float: 'a'".
    None if nothing was raised, as where a worker died.
    """
    _, found, last = (text or "").rpartition("Traceback (most recent call last):\n")
    lines = [line for line in last.splitlines() if line[:1].strip()]
    if not found or not lines:
        return None
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\w.+-]*", "…", lines[0])


def _n_unlike(one: Params, other: Params) -> int:
    """Count the parameters that one of two configurations lacks, or has otherwise."""
    names = one.keys() | other.keys()
    return sum(
        name not in one or name not in other or not same(one[name], other[name])
        for name in names
    )


# -- deaths of workers ---------------------------------------------------------------


def is_death(error: BaseException) -> bool:
    """Whether an exception says that the workers ended, not that the work failed.

    Dask cancels what it cannot compute any more as the data died with the workers. A
    call that fails shuts down loky's pool, under the calls of other threads too. An
    error raised while joblib cleans up after a death counts as that death.
    """
    if isinstance(error, BrokenExecutor | compat.ShutdownExecutorError):
        return True
    if _kind_of_dask(error) in ("KilledWorker", "FutureCancelledError"):
        return True
    return error.__context__ is not None and is_death(error.__context__)


def was_retried(error: BaseException) -> bool:
    """Whether Dask has run the work on several workers, and all of them died."""
    return _kind_of_dask(error) == "KilledWorker"


def _kind_of_dask(error: BaseException) -> str | None:
    kind = type(error)
    of_dask = kind.__module__.partition(".")[0] == "distributed"
    return kind.__qualname__ if of_dask else None


def is_unreadable(error: BaseException) -> bool:
    """Whether loky's pool broke because something could not be unpickled."""
    return isinstance(error, BrokenExecutor) and "un-serialize" in str(error)
