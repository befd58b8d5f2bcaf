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
from skbayes.evaluation.fold import Fold, configured
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.space import Column, Real
from skbayes.space.dimensions import Dimension
from skbayes.space.lists import same

if TYPE_CHECKING:
    from skbayes.evaluation.backend import Backend
    from skbayes.evaluation.run import SearchRun
    from skbayes.loop.stages import Stage


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

    run: SearchRun
    stage: Stage
    backend: Backend

    def __call__(self, trials: Sequence[Trial]) -> bool:
        """Return False, or raise the exception."""
        if len(trials) != N_TRIALS or trials[0].number != 0:
            return False
        errors = [_errors(trial) for trial in trials]
        unscored = [self._unscored(trial) for trial in trials]
        n_fits = sum(len(_fitted(trial)) for trial in trials)
        kinds = {_kind(text) for of_trial in errors for text in of_trial.values()}
        if all(errors) and len(kinds) == 1 and None not in kinds:
            split, what = next(iter(errors[0])), "failed in this way"
            n_failed = sum(map(len, errors))
        elif all(unscored):
            kinds, split, what = set(), unscored[0][0], "had no score"
            n_failed = n_fits
        else:
            return False
        first = self._common_error(trials, kinds, split)
        if first is None:
            return False
        which = f"All the {n_fits}" if n_failed == n_fits else f"{n_failed} of {n_fits}"
        first.add_note(
            f"\n{which} fits of the first {N_TRIALS} trials {what}, and so did a fit "
            "with very different parameters. The search was stopped, because the cause "
            "does not depend on the parameters that are searched."
        )
        raise first

    def _common_error(
        self, trials: Sequence[Trial], kinds: set[str | None], split: int
    ) -> Exception | None:
        """Return the exception of all tests; None if it is not of one of the kinds.

        Without kinds, the exceptions only have to be of the same kind.
        """
        first = None
        for place, params in enumerate(self._probes(trials)):
            error = self._error_of(params, split)
            if error is None and place == 0:
                self._blame_parameters(params, trials, kinds, split)
            kind = None if error is None else _kind(_text(error))
            kinds = kinds or {kind}
            if error is None or kind not in kinds:
                return None
            first = first or error
        return first

    def _blame_parameters(
        self,
        own: Params,
        trials: Sequence[Trial],
        kinds: set[str | None],
        split: int,
    ) -> None:
        """Raise ValueError if the values of single parameters cause the failures.

        The estimator can be fitted with its own parameters, but not with a value of one
        searched parameter that differs as much as possible from those that were tried.
        """
        failed = trials[0].params
        own_values = configured(self.run.estimator, own).get_params()
        blamed: dict[str, Any] = {}
        cause = None
        for searched, column, parents in self._varied(failed):
            above = {name: failed[name] for name in parents}
            if _n_untried(column, trials) > 1:
                continue  # one of these options may be valid
            if _is_value(column.dimension, own_values.get(searched)):
                continue  # this value did not fail
            value = _unlike(column.dimension, [t.params.get(searched) for t in trials])
            error = self._error_of(own | above | {searched: value}, split)
            if error is not None and (not kinds or _kind(_text(error)) in kinds):
                blamed[searched] = value
                cause = error
        if blamed:
            names = " and ".join(map(repr, blamed))
            last = str(cause).strip().splitlines() or [repr(cause)]
            raise ValueError(
                f"search_spaces: the values of {names} make the fits fail. With "
                f"{blamed} and otherwise its own parameters, "
                f"{type(self.run.estimator).__name__} raised {type(cause).__name__}: "
                f"{last[0].rstrip('. ')}.{self._range_hint(blamed)} The fits of the "
                f"first {N_TRIALS} trials failed in the same way."
            ) from cause

    def _varied(self, params: Params) -> Iterator[tuple[str, Column, list[str]]]:
        """Yield names and varied columns of a configuration, and names of parents.

        Parents are the parameters on whose values a column depends.
        """
        columns, parents = self.run.space.columns, _parents(self.run.space.tree)
        seen = set()
        for place, column in enumerate(columns):
            above = [columns[parent].name for parent in parents[place]]
            value = params.get(column.name or "")
            if (
                column.name in params
                and column.name not in seen
                and column.dimension.n_values > 1
                and not hasattr(value, "fit")
                and column.dimension.contains(value)
            ):
                seen.add(column.name)
                yield str(column.name), column, [n for n in above if n in params]

    def _range_hint(self, blamed: Params) -> str:
        """Return a hint at ranges of floats that could be meant as integers."""
        for column in self.run.space.columns:
            dimension = column.dimension
            if column.name in blamed and isinstance(dimension, Real):
                low, high = dimension.low, dimension.high
                owner, leaf = owner_of(self.run.estimator, column.name)
                types = {Integral} if owner is None else number_types(owner, leaf)
                if types and Integral not in types:
                    continue
                if low.is_integer() and high.is_integer():
                    return f" For integers, write ({low:.0f}, {high:.0f})."
        return ""

    def _error_of(self, params: Params, split: int) -> Exception | None:
        objective = self.run.objective
        try:
            outcome = self.backend.fit_here(Fold(split, params, raises=True))
            if outcome.exception is not None:
                raise outcome.exception
            if outcome.result is None:
                return None  # aborted at a limit, which is no error
            objective.learn(outcome.result.test_scores)
            score = objective(outcome.result.test_scores)
            n_configurations = self.run.space.n_configurations
            tries_all = n_configurations <= self.stage.n_trials < math.inf
            if not (math.isfinite(score) or tries_all):
                raise ValueError(
                    f"scoring: the score of each fit is {score}. Use a metric that is "
                    "defined for these data."
                )
        except Exception as error:
            return error
        return None

    def _unscored(self, trial: Trial) -> list[int]:
        """Return the folds with a fit but no score; empty if any fold has a score."""
        fits = _fitted(trial)
        if any(self._has_score(fold) for fold in fits.values()):
            return []
        return [i for i, fold in fits.items() if fold.fit_error is None]

    def _has_score(self, fold: FoldResult) -> bool:
        """Return whether a fit was scored by the metric that guides the search."""
        if fold.fit_error is not None:
            return False
        try:
            score = float(self.run.objective(fold.test_scores))
        except (KeyError, TypeError, ValueError):
            return False
        return math.isfinite(score) and score != self.run.options.missing_score

    def _assigned(self, params: Params) -> Params:
        return self.stage.assign(0, params)[0]

    def _probes(self, trials: Sequence[Trial]) -> Iterator[Params]:
        space = self.run.space
        # A searched step has parameters of its own, and its own value may be a
        # placeholder.
        steps = {n: v for n, v in trials[0].params.items() if hasattr(v, "fit")}
        yield self._fixed() | steps
        rows = np.random.default_rng(0).random((N_CANDIDATES, space.n_columns))
        candidates = [
            self._assigned(params)
            for params in space.decode(space.from_uniform(rows))
            if space.allows(params)
        ]
        if candidates:
            failed = [trial.params for trial in trials]
            yield max(
                candidates,
                key=lambda params: min(_n_unlike(params, other) for other in failed),
            )

    def _fixed(self) -> Params:
        """Return the parameters with a single value in the whole space."""
        examples = [
            self._assigned(params) for params in self.run.space.covering_sample()
        ]
        first, *others = examples
        varied = {c.name for c in self.run.space.columns if c.dimension.n_values > 1}
        return {
            name: value
            for name, value in first.items()
            if name not in varied
            and all(name in other and same(other[name], value) for other in others)
        }


def _parents(tree: list, above: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Return the places of the columns on whose values each column depends."""
    found: dict[int, tuple[int, ...]] = {}
    for place, options in tree:
        found[place] = above
        for option in options:
            found |= _parents(option, (*above, place))
    return found


def _n_untried(column: Column, trials: Sequence[Trial]) -> int:
    """Return the number of options that were not tried; 0 for a range."""
    if not column.dimension.is_categorical:
        return 0
    tried = [trial.params.get(column.name or "") for trial in trials]
    options = column.dimension.decode(column.dimension.grid)
    return sum(not any(same(option, value) for value in tried) for option in options)


def _unlike(dimension: Dimension, tried: list[Any]) -> Any:
    """Return a value that differs as much as possible from those that were tried."""
    known = [v for v in tried if dimension.contains(v)]
    if dimension.is_categorical:
        values = dimension.decode(dimension.grid)
        return next((v for v in values if not any(same(v, w) for w in known)), known[0])
    places = dimension.snap(PLACES)
    gaps = np.abs(places[:, None] - dimension.encode(known)).min(axis=1)
    return dimension.decode(places[[int(np.argmax(gaps))]])[0]


@contextlib.contextmanager
def naming_strings(X: Any) -> Iterator[None]:
    """Add the columns of strings to an error about a string that is not a number."""
    try:
        yield
    except Exception as error:
        if "could not convert string to float" in str(error):
            names = getattr(X, "columns", range(X.shape[1] if np.ndim(X) == 2 else 0))
            found = [repr(name) for name in names if _has_strings(X, name)]
            if found:
                error.add_note(
                    f"X contains strings in column {', '.join(found)}. Encode them, "
                    "such as by OneHotEncoder in a ColumnTransformer, or use models(X, "
                    "y)."
                )
        raise


def _has_strings(X: Any, name: Any) -> bool:
    column = X[name] if hasattr(X, "columns") else np.asarray(X)[:, name]
    return any(isinstance(value, str) for value in np.asarray(column)[:N_ROWS])


def _fitted(trial: Trial) -> dict[int, FoldResult]:
    """Return the folds that were fitted, by number."""
    return {i: fold for i, fold in enumerate(trial.folds) if fold.is_fitted}


def _errors(trial: Trial) -> dict[int, str | None]:
    """Return the tracebacks of the fits by fold, None for successful fits.

    Successful fits without a score are omitted: their test rows may contain the value
    that makes the fits fail, and their training rows not.
    """
    return {
        i: fold.fit_error
        for i, fold in _fitted(trial).items()
        if fold.fit_error is not None
        or any(np.isfinite(float(score)) for score in fold.test_scores.values())
    }


def _text(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _is_value(dimension: Dimension, value: Any) -> bool:
    """Return whether a dimension has a value; those of real ones are floats."""
    is_of_type = isinstance(value, float) or not isinstance(dimension, Real)
    return is_of_type and dimension.contains(value)


def _kind(text: str | None) -> str | None:
    """Return the type and first line of an exception, without numbers and quotations.

    Numbers and quotations differ between rows and parameters, as in "could not convert
    string to float: 'a'". Returns None without an exception, such as after a crash.
    """
    _, found, last = (text or "").rpartition("Traceback (most recent call last):\n")
    lines = [line for line in last.splitlines() if line[:1].strip()]
    if not found or not lines:
        return None
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\w.+-]*", "…", lines[0])


def _n_unlike(params: Params, other: Params) -> int:
    """Count the parameters that differ between two configurations, or are missing."""
    names = params.keys() | other.keys()
    return sum(
        name not in params or name not in other or not same(params[name], other[name])
        for name in names
    )
