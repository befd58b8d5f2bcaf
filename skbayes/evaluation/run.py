"""Run of a search: the inputs and the state of one call of `fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes import compat
from skbayes.evaluation.aspect import is_given
from skbayes.evaluation.fold import Job
from skbayes.evaluation.limits import FitLimits
from skbayes.evaluation.options import RefitChoice, refit_choice
from skbayes.evaluation.prefix_store import MachineStore, PrefixStore
from skbayes.evaluation.subsets import FULL_DATA, Fidelity, Subsets
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState
from skbayes.space import Space
from skbayes.space.candidates import Configuration

if TYPE_CHECKING:
    from skbayes.evaluation.constraints import Constraints
    from skbayes.evaluation.measure import Measure


# With pruning=True, the chance to become the best below which a trial is pruned.
PRUNING_RISK = 0.2


def on_full_data(
    number: int, params: dict[str, Any]
) -> tuple[dict[str, Any], Fidelity]:
    """Assign all training rows to a proposal."""
    return params, FULL_DATA


@dataclass(frozen=True)
class FitOptions:
    """Options of the fits, from the parameters of the search."""

    error_score: float | str = np.nan
    return_train_score: bool = False
    verbose: int = 0
    limits: FitLimits = FitLimits()

    @property
    def missing_score(self) -> float:
        """Score of a failed fit: `error_score`, or NaN instead of "raise"."""
        error_score = self.error_score
        return np.nan if isinstance(error_score, str) else float(error_score)


class NullJournal(AbstractContextManager):
    """Journal without a file, which records nothing."""

    # Values of the run that started the journal.
    seed: int | None = None
    n_points: int | None = None
    splits: list[tuple[Any, Any]] = []  # noqa: RUF012

    def __init__(self) -> None:
        # Configurations proposed by earlier runs, in order.
        self.proposals: list[dict[str, Any]] = []
        self.expected_improvements: list[float | None] = []
        # Their finished trials, by number.
        self.results: dict[int, Trial] = {}
        # First trial of each stage that has begun, except the first stage.
        self.stages: dict[int, int] = {}

    def record_stage(self, stage: int, first: int) -> None:
        """Record the number of the first trial of a stage, if it is new."""

    def record_proposal(
        self,
        number: int,
        params: Mapping[str, Any] | Configuration,
        expected_improvement: float | None,
    ) -> None:
        """Record a proposal before its evaluation begins."""

    def record_result(self, trial: Trial) -> None:
        """Record a finished trial, in the journal on return.

        It is called before the next proposal is made from the result.
        """

    def __exit__(self, *exc_info: object) -> None:
        """Close the journal."""


@dataclass(frozen=True)
class SearchRun:
    """Data, splits, scorers, seed and budget of a search.

    It is frozen: each step of `fit` that adds something makes a copy. `settings` are
    the parameters of the search, and `params` those of `fit`, which are for the
    estimator, the scorers, the splitter, and the scorers of constrained outcomes.
    `search_spaces` is the notation of `space`, with the default space in place of
    "auto". `known` are parameters, scores and noise of earlier searches, and `ranked`
    the trials in the rows of `cv_results_`. All stages share the `notes` of aspects and
    of the search.
    """

    estimator: Any
    objective: Any  # such as `Objectives`
    scorers: Any
    X: Any
    y: Any
    settings: Mapping[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    split_params: dict[str, Any] = field(default_factory=dict)
    tasks: compat.TaskTree | Any = None
    space: Space | Any = None
    search_spaces: Any = None
    untuned: list[str] = field(default_factory=list)
    initial_points: list[dict[str, Any]] = field(default_factory=list)
    prior: Any = None
    refit_metric: Any = None
    options: FitOptions = field(default_factory=FitOptions)
    seed: int = 0
    splits: list[tuple[Any, Any]] = field(default_factory=list)
    subsets: Subsets | None = None
    n_points: int = 1
    journal: NullJournal = field(default_factory=NullJournal)
    context: Any = None
    known: Sequence[Any] = ()
    cache: PrefixStore | MachineStore | None = None
    ranked: History = field(default_factory=History)
    outcome_params: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def costs(self) -> Mapping[str, Measure]:
        """Costs that are measured for each fit, by name."""
        measures: Mapping[str, Measure] = self.objective.measures
        return measures

    @cached_property
    def refit(self) -> RefitChoice:
        """Meaning of the parameter `refit`."""
        metrics = self.settings.get("objectives") or self.settings.get("scoring")
        return refit_choice(self.settings.get("refit"), metrics)

    @property
    def constraints(self) -> Constraints | None:
        """Bounds on outcomes, if any."""
        return self.notes.get("constraints")

    @property
    def is_observed(self) -> bool:
        """Whether callbacks observe the search."""
        return bool(self.tasks.is_observed)

    @property
    def pruning_risk(self) -> float | None:
        """Chance to become the best below which a trial is pruned; None: no pruning."""
        pruning = self.settings.get("pruning", False)
        if isinstance(pruning, bool | np.bool_):
            return PRUNING_RISK if pruning else None
        return float(pruning)

    @property
    def has_limits(self) -> bool:
        """Whether there are limits of a trial, or of the time of the search."""
        return self.options.limits != FitLimits()

    @property
    def keeps_fits(self) -> bool:
        """Whether fitted estimators of the folds are kept.

        With rounds, a fit has more rounds than its score. The fits of the best trial
        are then repeated after the search. The same applies to predictions.
        """
        return is_given(self.settings.get("return_folds")) and not self._has_rounds

    @property
    def keeps_predictions(self) -> bool:
        """Whether out-of-fold predictions are kept."""
        return self.refit.rule == "ensemble" and not self._has_rounds

    @property
    def _has_rounds(self) -> bool:
        return is_given(self.settings.get("early_stopping"))

    @property
    def is_unfinished(self) -> bool:
        """Whether time limits aborted all trials, so that none can be the best."""
        states = {trial.state for trial in self.ranked}
        return states == {TrialState.TIMED_OUT}

    @property
    def cuts_trials(self) -> bool:
        """Whether some folds of a trial may be skipped."""
        return self.options.limits.of_trials or self.pruning_risk is not None

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def test_sizes(self) -> list[int]:
        """Number of rows of each split's test set."""
        rows = np.arange(self.n_samples)
        return [len(rows[test]) for _, test in self.splits]

    def train_fraction(self, fidelity: Fidelity) -> float:
        """Return the fraction of the training rows that a trial uses."""
        return 1.0 if self.subsets is None else self.subsets.fraction(fidelity)

    def fill_scores(self, folds: Sequence[FoldResult], metrics: Sequence[str]) -> None:
        """Set missing scores by metric: NaN without a fit and for costs."""
        costs = () if self.objective.separate_costs else self.objective.measures
        for fold in folds:
            missing = self.options.missing_score if fold.is_fitted else np.nan
            filled = {name: np.nan if name in costs else missing for name in metrics}
            fold.test_scores = fold.test_scores or filled
            if fold.train_scores is not None:
                fold.train_scores = fold.train_scores or dict(filled)

    @property
    def job(self) -> Job:
        """What the fits share, without the parts of aspects."""
        options = {
            "scorer": self.scorers,
            "error_score": self.options.error_score,
            "return_train_score": self.options.return_train_score,
            "verbose": self.options.verbose,
        }
        return Job(
            *(self.estimator, self.X, self.y, self.splits, options),
            fit_params=self.fit_params,
            score_params=self.score_params,
            outcome_params=self.outcome_params,
            subsets=self.subsets,
        )
