"""Plan of a search: what it decides before its first fit, and its stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from skbayes.space import OptimumPrior, Space
from skbayes.space.candidates import Configuration
from skbayes.trial.aspect import Aspect, Bounds, Tasks
from skbayes.trial.fold import Job
from skbayes.trial.records import FoldResult, History, KnownTrial, Trial
from skbayes.trial.settings import RefitChoice, Settings
from skbayes.trial.subsets import ALL_ROWS, Sample, Subsets

# Purpose of a stage: "stage" if it has a number of trials. Otherwise, it measures the
# time of a configuration ("time"), tries many configurations ("search"), or compares
# the best ones ("final").
Role = Literal["stage", "time", "search", "final"]

AnyAspect = TypeVar("AnyAspect", bound=Aspect)

# Share of the remaining time that a stage gets if a later stage has no maximum number
# of trials.
SHARE_BEFORE_UNLIMITED = 0.25


# Function that returns the parameters to set and the sample of a trial, by its number
# and proposal.
Assignment = Callable[[int, dict[str, Any]], tuple[dict[str, Any], Sample]]


def on_all_rows(number: int, params: dict[str, Any]) -> tuple[dict[str, Any], Sample]:
    """Assign all training rows to a proposal."""
    return params, ALL_ROWS


class NullJournal(AbstractContextManager):
    """Journal without a file, which records nothing."""

    def __init__(self) -> None:
        # Configurations proposed by earlier runs, in order.
        self.proposals: list[dict[str, Any]] = []
        self.expected_improvements: list[float | None] = []
        # Their finished trials, by number.
        self.results: dict[int, Trial] = {}
        # Stages that have begun, in order.
        self.stages: list[StageStart] = []

    def record_stage(self, start: StageStart) -> None:
        """Record a stage before its first proposal, if it is new."""
        if start.stage == len(self.stages):
            self.stages.append(start)

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
class Stage:
    """Part of a search of at most `n_trials` with a separate optimizer.

    A stage begins after the end of the stage before, on the same workers and in the
    same journal. Its inputs (such as the best configurations so far, or a model of all
    trials) therefore do not depend on timing. Trials are numbered across stages.

    ``make_optimizer(plan, history)`` is called at its start with the trials of all
    earlier stages. ``assign(number, params)`` returns the parameters to set and
    the :class:`~skbayes.trial.subsets.Sample` of a trial of the search. `samples` are
    all that it can return. `n_folds` is the number of folds of a trial, which are the
    first ones; None means all. `weight` is the expected time of a trial, relative to
    the trials of other stages; None means the share of the training rows. `n_points` is
    the number of trials in parallel, if it is larger than the number of the search.
    `role` is the purpose of the stage.
    """

    make_optimizer: Callable[[Plan, History], Any]
    n_trials: float
    assign: Assignment = on_all_rows
    samples: Sequence[Sample] = (ALL_ROWS,)
    weight: float | None = None
    n_points: int = 1
    n_folds: int | None = None
    role: Role = "stage"

    def weight_in(self, plan: Plan) -> float:
        """Return the expected time of a trial, relative to those on all rows."""
        if self.weight is None:
            return plan.train_fraction(self.samples[0])
        return self.weight

    def amount(self, plan: Plan) -> tuple[float, int]:
        """Return the share of the training rows and the number of folds of a trial."""
        n_folds = len(plan.splits[: self.n_folds])
        return plan.train_fraction(self.samples[0]), n_folds

    def start(self, stage: int, first: int) -> StageStart:
        """Return the record of its start, as a stage of the search."""
        n_trials = self.n_trials if math.isfinite(self.n_trials) else None
        size = self.samples[0].train_size
        return StageStart(stage, first, n_trials, size, self.n_folds, self.role)


@dataclass(frozen=True)
class StageStart:
    """Start of a stage at its `first` trial, with the planned number of trials."""

    stage: int = 0
    first: int = 0
    n_trials: float | None = None
    train_size: float | int = 1.0
    n_folds: int | None = None
    role: Role = "stage"

    def is_of(self, stage: Stage) -> bool:
        """Return whether it is the start of a stage with these trials."""
        size = stage.samples[0].train_size
        expected = (size, stage.n_folds, stage.role)
        return (self.train_size, self.n_folds, self.role) == expected


@dataclass(frozen=True)
class Header:
    """Seed and splits of a search, its description, and the stages of earlier runs.

    `n_points` is the number of trials in flight, None if it is not given.
    """

    seed: int = 0
    splits: Sequence[tuple[Any, Any]] = ()
    stages: Sequence[StageStart] = ()
    n_points: int | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Progress(NamedTuple):
    """Progress of a search when the next stage is chosen.

    The `seconds` are those that are left, None without a limit. The last stage
    `is_open` if it can be continued: if a limit ended it, and it has new trials. It
    `is_full` if this limit was its number of trials.
    """

    plan: Plan
    history: History
    seconds: float | None
    n_workers: int
    is_open: bool
    is_full: bool


@dataclass(frozen=True)
class Allowance:
    """Maximum number of trials and seconds of a stage, and seconds of one trial."""

    n_trials: float
    seconds: float | None = None
    trial_seconds: float | None = None


@dataclass(frozen=True)
class Ladder:
    """Stages of a search in order, and what each of them gets.

    Each stage has its own number of trials. The time that is left when it begins is
    divided in proportion to the numbers of trials times their weights. Stages whose
    samples are too small are omitted, if the search chose the sizes (`is_chosen`).
    """

    stages: Sequence[Stage]
    is_chosen: bool = False

    @property
    def n_trials(self) -> float:
        """Maximum number of trials."""
        return sum(stage.n_trials for stage in self.stages)

    def share_of_time(self, trial: Trial, history: History) -> float:
        """Return the time of a fit of a trial relative to one on all training rows."""
        return trial.fidelity.train_fraction

    def without_small(self, subsets: Subsets) -> Ladder:
        """Return a ladder without samples that lack a class or a whole group.

        The next larger sample gets their trials.
        """
        stages: list[Stage] = []
        n_trials: float = 0
        for stage in self.stages:
            n_trials += stage.n_trials
            if all(map(subsets.is_large_enough, stage.samples)):
                stages.append(replace(stage, n_trials=n_trials))
                n_trials = 0
        return replace(self, stages=stages)

    def stage_of(self, start: StageStart) -> Stage:
        """Return the stage of an earlier run, also if it has another time limit now."""
        matching = [stage for stage in self.stages if start.is_of(stage)]
        if matching:
            planned = self.stages[min(start.stage, len(self.stages) - 1)]
            return planned if planned in matching else matching[0]
        sample = Sample(start.train_size)
        return replace(
            self.stages[0],
            n_trials=math.inf if start.n_trials is None else start.n_trials,
            assign=lambda number, params: (params, sample),
            samples=[sample],
            n_folds=start.n_folds,
            role=start.role,
        )

    def following(self, last: Stage | None, progress: Progress) -> Stage | None:
        """Return the stage after the last one; None at the end."""
        if last is None:
            return self.stages[0]
        if last in self.stages:
            return next(iter(self.stages[self.stages.index(last) + 1 :]), None)
        plan = progress.plan
        larger = (s for s in self.stages if s.amount(plan) > last.amount(plan))
        return next(larger, None)

    def allowance(
        self, stage: Stage, starts: Sequence[StageStart], progress: Progress
    ) -> Allowance:
        """Return what a stage gets, after the stages that have begun.

        If an earlier run is continued with more trials, its last stage gets the
        additional trials of the stages before it.
        """
        plan, seconds = progress.plan, progress.seconds
        if stage not in self.stages:
            is_last = stage.amount(plan) == self.stages[-1].amount(plan)
            return Allowance(math.inf if is_last else 0, seconds)
        place = self.stages.index(stage)
        planned = sum(earlier.n_trials for earlier in self.stages[:place])
        before = sum(start.n_trials or 0 for start in starts)
        n_trials = stage.n_trials + max(planned - before, 0)
        if seconds is None:
            return Allowance(n_trials)
        weights = [s.n_trials * s.weight_in(plan) for s in self.stages[place:]]
        share = 1.0
        if len(weights) > 1:
            is_open = math.isinf(sum(weights))
            share = SHARE_BEFORE_UNLIMITED if is_open else weights[0] / sum(weights)
        return Allowance(n_trials, share * seconds)


class ResolvedSpace(NamedTuple):
    """Search space for the data of a fit; its fields are those of `Plan`."""

    notation: Any
    untuned: list[str]
    space: Space
    current_values: Mapping[str, Any]
    initial_points: list[dict[str, Any]]
    prior: OptimumPrior | None
    known_trials: list[KnownTrial]


@dataclass(frozen=True)
class Plan:
    """Plan of a search: what it decides before its first fit.

    `current_values` are those of the estimator's parameters. `model` is the estimator
    with a configuration of the space. It has the kind and methods of the models in the
    trials, while the estimator may be a placeholder. `known_trials` come from earlier
    searches, and `untuned` are the parts that keep their values. `notation` is the
    space without "auto". `split_params` are the arguments of `fit` for the splitter.
    All stages share the `aspects`.
    """

    job: Job
    objective: Any  # an `Objective`, whose class the search knows
    settings: Settings = Settings()
    split_params: Mapping[str, Any] = field(default_factory=dict)
    tasks: Tasks = Tasks()
    aspects: Sequence[Aspect] = ()
    notation: Any = None
    space: Space | Any = None
    untuned: Sequence[str] = ()
    model: Any = None
    current_values: Mapping[str, Any] = field(default_factory=dict)
    initial_points: list[dict[str, Any]] = field(default_factory=list)
    prior: OptimumPrior | None = None
    known_trials: Sequence[KnownTrial] = ()
    ladder: Ladder = Ladder(())
    header: Header = Header()

    @property
    def seed(self) -> int:
        """Seed of all random numbers of the search."""
        return self.header.seed

    @property
    def estimator(self) -> Any:
        """Estimator to tune."""
        return self.job.estimator

    @property
    def scorers(self) -> Any:
        """Scorers of scikit-learn."""
        return self.job.options["scorer"]

    @property
    def verbose(self) -> int:
        """Verbosity; 0 with a progress bar."""
        return int(self.job.options["verbose"])

    @property
    def X(self) -> Any:
        """Data."""
        return self.job.X

    @property
    def y(self) -> Any:
        """Targets."""
        return self.job.y

    @property
    def splits(self) -> Sequence[tuple[Any, Any]]:
        """Training and test rows of each split."""
        return self.job.splits

    @property
    def fit_params(self) -> Mapping[str, Any]:
        """Arguments of `fit` of the estimator."""
        return self.job.fit_params

    @property
    def refit(self) -> RefitChoice:
        """Meaning of the parameter `refit`."""
        return self.settings.refit

    @property
    def constraints(self) -> Bounds | None:
        """Bounds on outcomes, if any."""
        return next((aspect.bounds for aspect in self.aspects if aspect.bounds), None)

    def aspect(self, kind: type[AnyAspect]) -> AnyAspect:
        """Return the aspect of a class, which is on."""
        return next(one for one in self.aspects if isinstance(one, kind))

    @property
    def skips_folds(self) -> bool:
        """Whether limits of trials or pruning may skip folds of a trial."""
        return self.settings.limits.of_trials or self.settings.pruning_risk is not None

    def train_fraction(self, sample: Sample) -> float:
        """Return the fraction of the training rows that a trial uses."""
        subsets = self.job.subsets
        return 1.0 if subsets is None else subsets.fraction(sample)

    def filled(self, fold: FoldResult, metrics: Sequence[str]) -> FoldResult:
        """Return a fold with missing scores by metric: NaN without a fit, or a cost."""
        wants_train = self.job.options["return_train_score"]
        if fold.test_scores and (fold.train_scores or not wants_train):
            return fold
        costs = () if self.objective.separate_costs else self.objective.measures
        missing = self.settings.missing_score if fold.is_fitted else np.nan
        filled = {name: np.nan if name in costs else missing for name in metrics}
        return replace(
            fold,
            test_scores=fold.test_scores or filled,
            train_scores=(fold.train_scores or filled) if wants_train else None,
        )

    def filled_history(self, history: History) -> History:
        """Return trials without missing scores.

        Before the first valid score, the metrics of a callable were not known.
        """
        if all(fold.test_scores for fold in history.folds):
            return history
        metrics = self.objective.metrics or ["score"]
        return History(
            [
                replace(trial, folds=[self.filled(f, metrics) for f in trial.folds])
                for trial in history
            ]
        )
