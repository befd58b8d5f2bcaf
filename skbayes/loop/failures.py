"""Check of the first trials of a search for a common failure."""

from __future__ import annotations

import contextlib
import math
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.space.lists import distinct
from skbayes.trial.fold import Fold
from skbayes.trial.records import History, Trial, TrialState
from skbayes.trial.subsets import Sample

if TYPE_CHECKING:
    from skbayes.trial.backend import Backend
    from skbayes.trial.plan import Plan


# Number of trials with the same failure after which the cause is tested.
N_TRIALS = 3

# Number of rows in which strings are looked for.
N_ROWS = 1000

# Failure of trials without an exception of a fit.
UNSCORED = "unscored"

Params = dict[str, Any]


@dataclass
class FailingStart:
    """Observer of trials that raises an error if the first ones fail in the same way.

    The first three configurations of the search are checked, and the first three of
    each stage that follows a success or another failure. If they fail in the same way,
    two fits test the cause, with the training rows of the last trial. The first fit has
    a configuration with other values. If it does not fail in the same way, the search
    continues. The second fit has the estimator's own values, with the estimators
    that the search sets. If it fails in the same way, its exception is raised.
    Otherwise, a ValueError names the values of the space as the cause. If all
    configurations are tried, as by GridSearchCV, neither such values nor scores of NaN
    are an error. The parameter `sizes` chooses the number of training rows.
    """

    plan: Plan
    backend: Backend
    sizes: str
    # Trials that failed so far; None after the check.
    _failed: list[Trial] | None = field(default_factory=list)
    _stage: int = 0

    def __call__(self, trial: Trial, history: History) -> None:
        """Observe the last trial of `history`."""
        if trial.state.is_partial:
            return
        kind, failed, stage = self._failure(trial), self._failed, trial.fidelity.stage
        is_alike = all(self._failure(earlier) == kind for earlier in failed or ())
        # With more folds, the same trials may fail in another way.
        if stage != self._stage and (failed is None or not is_alike):
            self._failed, is_alike = [], True
        self._stage = stage
        if self._failed is None:
            return
        trials = [*self._failed, trial]
        # The first configurations are timed before they are tried with more data.
        is_timed = self.plan.ladder.stages[0].role != "stage"
        n_different = len(distinct((t.params, is_timed or t.number) for t in trials))
        is_open = kind is not None and is_alike and n_different < N_TRIALS
        self._failed = trials if is_open else None
        if kind is not None and is_alike and n_different == N_TRIALS:
            self._check(trials, kind)

    def _failure(self, trial: Trial) -> str | None:
        """Return the kind of failure; None if there is a score or a process died."""
        missing = self.plan.settings.missing_score  # it hides failures of the scorer
        if trial.state != TrialState.FAILED and not math.isclose(trial.score, missing):
            return None
        return UNSCORED if trial.error is None else _kind(trial.error)

    def _check(self, trials: Sequence[Trial], kind: str) -> None:
        """Raise an error if other configurations fail in the same way."""
        n_trials = self.plan.ladder.stages[0].n_trials
        tries_all = self.plan.space.n_configurations <= n_trials < math.inf
        if tries_all and kind == UNSCORED:
            return
        last, share = trials[-1], trials[-1].fidelity.train_fraction
        objective = self.plan.objective
        failed = [
            fold.fit_error is not None or not math.isfinite(objective(fold.test_scores))
            for fold in last.folds
        ]
        first = int(np.argmax(last.fitted & failed))
        sample = Sample(share, last.fidelity.subset)
        fold = Fold(first, self._different_params(trials), sample=sample, raises=True)
        error = self._error_of(fold)
        if error is None or kind not in (UNSCORED, _kind(error)):
            return
        estimators = {name: v for name, v in last.params.items() if hasattr(v, "fit")}
        default_error = self._error_of(replace(fold, params=estimators))
        which, remedy = f"The first {N_TRIALS} trials", ""
        if share < 1.0:
            which += f" with {share:.1%} of the training rows"
            remedy = f" If these are too few rows, change {self.sizes}."
        if default_error is not None and kind in (UNSCORED, _kind(default_error)):
            default_error.add_note(
                f"\n{which} failed in this way, and so did a fit with very different "
                "parameters. The cause does not depend on the parameters that are "
                f"searched.{remedy}"
            )
            raise default_error
        if not tries_all:
            lines = str(error).strip().splitlines() or [repr(error)]
            name = type(self.plan.estimator).__name__
            raise ValueError(
                f"search_spaces: {which} failed in the same way, and so did {name} "
                f"with {fold.params}: {type(error).__name__}: {lines[0].rstrip('. ')}. "
                "Its current parameters did not fail. Remove values that fail, or pass "
                f"a configuration that does not fail in initial_points.{remedy}"
            ) from error

    def _error_of(self, fold: Fold) -> Exception | None:
        """Return the exception of a fit and its scoring, or None."""
        objective = self.plan.objective
        try:
            result = self.backend.fit_here(fold)
            if "exception" in result.transient:
                raise result.transient["exception"]
            if not result.is_fitted:
                return None  # a fit that is aborted at a limit is no error
            objective.learn(result.test_scores)
            if not math.isfinite(score := objective(result.test_scores)):
                raise ValueError(
                    f"scoring: the score on split {fold.index} is {score}. Use a "
                    "metric that is defined for its test rows."
                )
        except Exception as error:
            return error
        return None

    def _different_params(self, trials: Sequence[Trial]) -> Params:
        """Return a configuration that has the fewest values in common with trials."""
        space, assign = self.plan.space, self.plan.ladder.stages[0].assign
        sample = [assign(0, p)[0] for p in space.covering_sample() if space.allows(p)]
        tried = [(n, repr(v)) for trial in trials for n, v in trial.params.items()]
        return min(
            sample,
            key=lambda params: sum(repr(params.get(n)) == v for n, v in tried),
            default=trials[-1].params,
        )


def _kind(error: Exception | str | None) -> str | None:
    """Return the type and first line of an exception, without numbers and quotations.

    Numbers and quotations differ between rows and parameters, as in "could not convert
    string to float: 'a'". The result is None for a text without an exception, such as
    after a crash.
    """
    if isinstance(error, Exception):
        error = "".join(traceback.format_exception(error))
    _, heading, last = (error or "").rpartition("Traceback (most recent call last):\n")
    lines = [line for line in last.splitlines() if line[:1].strip()]
    if not heading or not lines:
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
            texts = [
                repr(name)
                for name, column in zip(names, columns, strict=True)
                if any(isinstance(v, str) for v in np.asarray(column)[:N_ROWS])
            ]
            if texts:
                error.add_note(
                    f"X contains strings in column {', '.join(texts)}. Encode them, "
                    "such as by OneHotEncoder in a ColumnTransformer, or use models(X, "
                    "y)."
                )
        raise
