"""Stopper for searches in which the data cause every fit to fail."""

from __future__ import annotations

import contextlib
import math
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.defaults.names import number_types
from skbayes.defaults.parts import owner_of
from skbayes.space import Real
from skbayes.space.dimensions import Dimension, FloatArray
from skbayes.trial.fold import Fold, configured
from skbayes.trial.records import FoldResult, Trial

if TYPE_CHECKING:
    from skbayes.trial.backend import Backend
    from skbayes.trial.plan import Plan, Stage


# Number of trials with the same failure after which the cause is tested.
N_TRIALS = 3

# Number of random configurations to choose from; the choice differs most from the
# failed ones.
N_CANDIDATES = 64

# Positions of values that are tested, which are not the bounds of a range: a float
# such as 3.0 may be accepted where 3.1 is not.
PLACES = np.array([0.04, 0.36, 0.68, 0.96])

# Number of rows in which strings are looked for.
N_ROWS = 1000

# Failure of a fit without a score.
UNSCORED = "unscored"

Params = dict[str, Any]


@dataclass(frozen=True)
class FailingStart:
    """Stopper that raises the exception of the first trials if the data cause it.

    If all fits of the first three trials fail in the same way, except for fits without
    a score, two fits on one split follow. One uses the estimator's own parameters, with
    the estimators that the search sets in the first trial. The other uses a
    configuration that differs as much as possible from the three. The exception is
    raised only if both fail in the same way; otherwise, the configurations were the
    cause and not the data. If the estimator's own parameters succeed, one fit for each
    searched parameter follows, with a value that differs as much as possible from the
    three, unless its values include the own one. Those that fail in the same way are
    named in a ValueError.

    The same applies if none of the fits of the three trials has a score. If all
    configurations of the space are tried, as by GridSearchCV, a score that is NaN is no
    error.
    """

    plan: Plan
    stage: Stage
    backend: Backend

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Return False, or raise the exception."""
        if len(trials) != N_TRIALS or trials[0].number != 0:
            return False
        fits = [
            {i: self._failure(fold) for i, fold in enumerate(t.folds) if fold.is_fitted}
            for t in trials
        ]
        failures = [failure for of_trial in fits for failure in of_trial.values()]
        errors = set(failures) - {UNSCORED}
        kinds = [*(errors if len(errors) == 1 else []), UNSCORED]
        kind = next((k for k in kinds if all(k in f.values() for f in fits)), None)
        if kind is None or None in failures:
            return False
        split = next(i for i, failure in fits[0].items() if failure == kind)
        own = self._own_parameters(trials[0])
        space = self.plan.space
        # The size of a training set, which is always active, is not a parameter here.
        first, *others = space.covering_sample()
        always = {n: first[n] for n in first if all(n in other for other in others)}
        chosen = [space.selection(always | trial.params) for trial in trials]
        tried = space.encode([params for params in chosen if params is not None])
        if len(tried) < N_TRIALS:
            return False
        error = self._error_of(own, split)
        if error is None:
            self._blame_parameters(own, trials[0].params, tried, kind, split)
            return False
        if kind not in (UNSCORED, _kind(error)):
            return False
        unlike = self._unlike(tried)
        if unlike and _kind(self._error_of(unlike, split)) != _kind(error):
            return False
        n_fits = n_failed = len(failures)
        what = "had no score"
        if kind != UNSCORED:
            n_failed, what = failures.count(kind), "failed in this way"
        which = f"All the {n_fits}" if n_failed == n_fits else f"{n_failed} of {n_fits}"
        error.add_note(
            f"\n{which} fits of the first {N_TRIALS} trials {what}, and so did a fit "
            "with very different parameters. The search was stopped, because the cause "
            "does not depend on the parameters that are searched."
        )
        raise error

    def _failure(self, fold: FoldResult) -> str | None:
        """Return the kind of exception of a fit, "unscored", or None if it has a score.

        A score is one of the metric that guides the search. The result is also None if
        the process of the fit died.
        """
        if fold.fit_error is not None:
            return _kind(fold.fit_error)
        try:
            score = float(self.plan.objective(fold.test_scores))
        except (KeyError, TypeError, ValueError):
            return UNSCORED
        is_score = math.isfinite(score) and score != self.plan.missing_score
        return None if is_score else UNSCORED

    def _error_of(self, params: Params, split: int) -> Exception | None:
        """Return the exception of a fit and its scoring, or None."""
        objective = self.plan.objective
        try:
            result = self.backend.fit_here(Fold(split, params, raises=True))
            if "exception" in result.kept:
                raise result.kept["exception"]
            if not result.is_fitted:
                return None  # aborted at a limit, which is no error
            objective.learn(result.test_scores)
            score = objective(result.test_scores)
            n_configurations = self.plan.space.n_configurations
            tries_all = n_configurations <= self.stage.n_trials < math.inf
            if not (math.isfinite(score) or tries_all):
                raise ValueError(
                    f"scoring: the score of each fit is {score}. Use a metric that is "
                    "defined for these data."
                )
        except Exception as error:
            return error
        return None

    def _own_parameters(self, trial: Trial) -> Params:
        """Return the changes of a fit with the estimator's own parameters.

        They are the parameters with a single value, and the searched steps. Their own
        values may be placeholders.
        """
        space = self.plan.space
        fixed = {space.columns[i].name for i, _ in space.tree}
        fixed -= {c.name for c in space.columns if c.dimension.n_values > 1}
        params = trial.params
        return {n: v for n, v in params.items() if n in fixed or hasattr(v, "fit")}

    def _unlike(self, tried: FloatArray) -> Params:
        """Return a configuration with as few values as possible of those tried.

        It is empty if the constraint rejects all that are drawn.
        """
        space = self.plan.space
        U = np.random.default_rng(0).random((N_CANDIDATES, space.n_columns))
        X = space.from_uniform(U)
        X = X[space.allowed(X)]
        if not len(X):
            return {}
        filled, tried = np.nan_to_num(X, nan=-1.0), np.nan_to_num(tried, nan=-1.0)
        n_same = (filled[:, None] == tried).sum(axis=2).max(axis=1)
        return self.stage.assign(0, space.decode(X[[n_same.argmin()]])[0])[0]

    def _blame_parameters(
        self,
        own: Params,
        failed: Params,
        tried: FloatArray,
        kind: str,
        split: int,
    ) -> None:
        """Raise ValueError if the values of single parameters cause the failures.

        The estimator can be fitted with its own parameters, but not with a value of one
        searched parameter that differs as much as possible from those that were tried.
        """
        estimator, columns = self.plan.estimator, self.plan.space.columns
        own_values = configured(estimator, own).get_params()
        parents = _parents(self.plan.space.tree)
        blamed: dict[str, Any] = {}
        cause, hint = None, ""
        for place, column in enumerate(columns):
            name, dimension = column.name or "", column.dimension
            known = tried[~np.isnan(tried[:, place]), place]
            if name not in failed or np.isnan(tried[0, place]):
                continue
            if dimension.n_values == 1 or hasattr(failed[name], "fit"):
                continue
            value = own_values.get(name)
            # Values of real dimensions are floats.
            of_type = isinstance(value, float) or not isinstance(dimension, Real)
            if of_type and dimension.contains(value):
                continue  # this value did not fail
            if dimension.is_categorical:
                places = np.setdiff1d(dimension.grid, known)
                if len(places) > 1:
                    continue  # one of these options may be valid
                places = places if len(places) else known[:1]
            else:
                places = dimension.snap(PLACES)
            gaps = np.abs(places[:, None] - known).min(axis=1)
            (value,) = dimension.decode(places[[gaps.argmax()]])
            names = [columns[parent].name for parent in parents[place]]
            above = {n: failed[n] for n in names if n in failed}
            error = self._error_of(own | above | {name: value}, split)
            if error is not None and kind in (UNSCORED, _kind(error)):
                blamed[name], cause = value, error
                hint = hint or self._hint_at_integers(name, dimension)
        if blamed:
            listed = " and ".join(map(repr, blamed))
            last = str(cause).strip().splitlines() or [repr(cause)]
            raise ValueError(
                f"search_spaces: the values of {listed} make the fits fail. With "
                f"{blamed} and otherwise its own parameters, "
                f"{type(estimator).__name__} raised {type(cause).__name__}: "
                f"{last[0].rstrip('. ')}.{hint} The fits of the first {N_TRIALS} "
                "trials failed in the same way."
            ) from cause

    def _hint_at_integers(self, name: str, dimension: Dimension) -> str:
        """Return a hint at a range of floats that could be meant as integers."""
        if isinstance(dimension, Real):
            low, high = dimension.low, dimension.high
            owner, leaf = owner_of(self.plan.estimator, name)
            types = {Integral} if owner is None else number_types(owner, leaf)
            is_whole = not types or Integral in types
            if is_whole and low.is_integer() and high.is_integer():
                return f" For integers, write ({low:.0f}, {high:.0f})."
        return ""


def _parents(tree: list, above: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Return the places of the columns on whose values each column depends."""
    found: dict[int, tuple[int, ...]] = {}
    for place, options in tree:
        found[place] = above
        for option in options:
            found |= _parents(option, (*above, place))
    return found


def _kind(error: Exception | str | None) -> str | None:
    """Return the type and first line of an exception, without numbers and quotations.

    Numbers and quotations differ between rows and parameters, as in "could not convert
    string to float: 'a'". Of a traceback without an exception, such as after a crash,
    None is returned.
    """
    if isinstance(error, Exception):
        error = "".join(traceback.format_exception(error))
    _, found, last = (error or "").rpartition("Traceback (most recent call last):\n")
    lines = [line for line in last.splitlines() if line[:1].strip()]
    if not found or not lines:
        return None
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\w.+-]*", "…", lines[0])


@contextlib.contextmanager
def naming_strings(X: Any) -> Iterator[None]:
    """Add the columns of strings to an error about a string that is not a number."""
    try:
        yield
    except Exception as error:
        if "could not convert string to float" in str(error):
            is_frame = hasattr(X, "columns")
            names = X.columns if is_frame else range(np.ndim(X) == 2 and X.shape[1])
            columns = [X[n] if is_frame else np.asarray(X)[:, n] for n in names]
            found = [
                repr(name)
                for name, column in zip(names, columns, strict=True)
                if any(isinstance(v, str) for v in np.asarray(column)[:N_ROWS])
            ]
            if found:
                error.add_note(
                    f"X contains strings in column {', '.join(found)}. Encode them, "
                    "such as by OneHotEncoder in a ColumnTransformer, or use models(X, "
                    "y)."
                )
        raise
