"""Run of a search: all that one call of `fit` works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from skbayes import compat
from skbayes.evaluation.constraints import Constraints
from skbayes.evaluation.data_transfer import Inputs
from skbayes.evaluation.prefix import PrefixCache
from skbayes.evaluation.rounds.watched_fit import RoundLimits
from skbayes.evaluation.subsets import Fidelity, Subsets
from skbayes.evaluation.trial import History, Trial
from skbayes.space import Space
from skbayes.surrogates.transfer import Source

__all__ = ["FitOptions", "Objective", "SearchRun"]


class Objective(Protocol):
    """What trials are judged by: scores, and costs where a search has some."""

    @property
    def name(self) -> str | None:
        """Metric that guides the search; None while that is not known."""

    @property
    def measures(self) -> Mapping[str, Callable[[Any, dict], float]]:
        """Costs to measure of each fit, by name."""

    @property
    def separate_costs(self) -> bool:
        """Whether costs are kept apart from the scores."""

    def __call__(self, scores: Any) -> float:
        """Guiding score among the test scores of a fold."""

    def of_trial(self, trial: Trial) -> Any:
        """Return what the optimizer is told of a trial."""

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""


@dataclass(frozen=True)
class FitOptions:
    """Options of the fits, as the parameters of the search say.

    Parameters
    ----------
    error_score : "raise" or float
    return_train_score : bool
    verbose : int
    trial_timeout : float or None
        Seconds for the fits of a trial.
    pruning_risk : float or None
        Chance to become the best below which a trial is pruned; None: none is.
    keep_fits : {"best", "all"} or None
        Trials whose fitted estimators are kept.
    trial_memory : int or None
        Bytes that a fit may have in memory.
    rounds : RoundLimits or None
        How many rounds fits may have; None: rounds are not counted.
    """

    error_score: float | str = np.nan
    return_train_score: bool = False
    verbose: int = 0
    trial_timeout: float | None = None
    pruning_risk: float | None = None
    keep_fits: str | None = None
    trial_memory: int | None = None
    rounds: RoundLimits | None = None

    @property
    def ends_fits(self) -> bool:
        """Whether a running fit is ended at a limit."""
        return self.trial_timeout is not None or self.trial_memory is not None

    @property
    def cuts_trials(self) -> bool:
        """Whether some folds of a trial may be left out."""
        return self.ends_fits or self.pruning_risk is not None


@dataclass
class SearchRun:
    """Data, splits, scorers, seed and budget of a search.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit.
    objective : Objective
        What trials are judged by.
    scorers : callable
        Scores the fits, by one metric or several.
    X, y : array-like
        Data; `y` may be None.
    params : dict
        Fit parameters as they were given.
    fit_params, score_params, split_params, outcome_params : dict
        Their parts for the estimator, the scorers, the splitter, and the scorers of
        constrained outcomes.
    tasks : compat.TaskTree
        Tasks that callbacks see.
    space : Space
        Search space.
    options : FitOptions
        Options of the fits.
    seed : int
        Seed of the search.
    splits : list of (train, test)
        Index arrays, the same for all trials.
    subsets : Subsets or None
        Training subsets, if some trials are made on less than all rows.
    n_points : int
        Trials in flight.
    journal : Journal or NullJournal
        Record of proposals and results.
    context : ExecutionContext
        Workers and settings of the thread that called `fit`.
    known : list of tuple
        Observations of earlier searches: parameters, scores, noise.
    sources : list of Source
        Earlier searches on other data.
    cache : PrefixCache or None
        First steps of pipelines that the fits share.
    trial_data : context manager or None
        Gives, while the trials run, what they are made on in place of `X`, such as
        texts with their counts.
    ranked : History
        Trials in the rows of `cv_results_`.
    constraints : Constraints or None
        Bounds on outcomes of trials.
    limits : TrialLimits or None
        While the trials run, the limits at which fits are ended.
    """

    estimator: Any
    objective: Any  # an Objective, of the class that the search made
    scorers: Any
    X: Any
    y: Any
    params: dict[str, Any] = field(default_factory=dict)
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    split_params: dict[str, Any] = field(default_factory=dict)
    tasks: compat.TaskTree | Any = None
    space: Space | Any = None
    options: FitOptions = field(default_factory=FitOptions)
    seed: int = 0
    splits: list[tuple[Any, Any]] = field(default_factory=list)
    subsets: Subsets | None = None
    n_points: int = 1
    journal: Any = None
    context: Any = None
    known: list[tuple] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    cache: PrefixCache | None = None
    trial_data: AbstractContextManager | None = None
    ranked: History = field(default_factory=History)
    constraints: Constraints | None = None
    outcome_params: dict[str, Any] = field(default_factory=dict)
    limits: Any = None

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def test_sizes(self) -> list[int]:
        """Rows of each split's test set."""
        rows = np.arange(self.n_samples)
        return [len(rows[test]) for _, test in self.splits]

    def train_fraction(self, fidelity: Fidelity) -> float:
        """Return the share of the training rows that a trial is made on."""
        return 1.0 if self.subsets is None else self.subsets.fraction(fidelity)

    def constraint_values(self, trial: Trial) -> list[float] | None:
        """Return what the optimizer is told of the constraints of a trial."""
        return None if self.constraints is None else self.constraints.of_trial(trial)

    @property
    def inputs(self) -> Inputs:
        """What the fits need of it."""
        return Inputs(
            self.X,
            self.y,
            self.splits,
            self.fit_params,
            self.score_params,
            self.subsets,
            self.outcome_params,
        )
