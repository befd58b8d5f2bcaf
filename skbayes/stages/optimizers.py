"""Stages of a search, whose optimizers start with the best configurations so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from skbayes.optimizer.optimizer import Optimizer
from skbayes.search.outside import promising
from skbayes.space import OptimumPrior
from skbayes.space.candidates import Candidates
from skbayes.space.lists import same
from skbayes.stages.fidelity import MultiFidelity
from skbayes.stages.ladder import TimedLadder, best_of, n_models, with_fewer_folds
from skbayes.surrogates.registry import capability, check_surrogate, make_surrogate
from skbayes.trial.plan import Ladder, Plan, Stage
from skbayes.trial.records import History, Trial, succeeded
from skbayes.trial.settings import FoldRequest, Settings
from skbayes.trial.subsets import Sample
from skbayes.utils.optional import warn_user
from skbayes.utils.ranking import best_first

if TYPE_CHECKING:
    from skbayes.search.bayes import BayesSearchCV

# Minimum number of rows for models on one fold first (benchmarks/minutes.py).
LEAST_ROWS_OF_MODELS = 5000

# Number of the best configurations of a stage with which the next one starts.
N_PROMOTED = 3


@dataclass(frozen=True)
class StageFactory:
    """Factory of the stages of a search, and of their optimizers.

    A stage starts with the `n_promoted` best configurations of the stage before. Its
    surrogate also uses the scores of earlier stages, if it `mixes_fidelities`.
    """

    search: BayesSearchCV
    n_promoted: int
    mixes_fidelities: bool

    def timed(
        self,
        sizes: Sequence[float | int],
        settings: Settings,
        prior: OptimumPrior | None,
        y: Any,
    ) -> Ladder | None:
        """Return a ladder that is chosen by measured times.

        Without samples, it is None with a number of trials, an ensemble,
        `return_folds`, or a choice among models with few rows.
        """
        n_timed, most = n_models(prior), self.search._most_trials()
        is_whole = n_timed > 1 and np.shape(y)[:1] < (LEAST_ROWS_OF_MODELS,)
        is_whole |= settings.refit.rule == "ensemble"
        is_whole |= settings.return_folds != FoldRequest()
        if len(sizes) == 1 and (settings.n_iter is not None or is_whole):
            return None
        n_workers = effective_n_jobs(self.search.n_jobs)
        # Without samples, one fold before all gains 20 to 52% of the attainable gain
        # after 30 and 60 s (benchmarks/first_seconds.py).
        is_default = isinstance(self.search.pre_dispatch, str)
        n_points = n_workers + 1 if n_workers > 1 and is_default else 1
        one_fold = {"n_folds": 1, "n_points": n_points}
        stages: list[Stage] = []
        for size in sizes:
            if size < 1.0:
                stages.append(self.stage(size, 0, role="time"))
            stages.append(self.stage(size, 0, role="search", **one_fold))
        stages.append(self.stage(1.0, most, role="final"))
        return TimedLadder(stages, True, n_timed)

    def stage(self, size: float | int, n_trials: float, **options: Any) -> Stage:
        """Return a stage on samples of the training rows."""
        sample, role = Sample(size), options.get("role", "stage")
        return Stage(
            partial(self._optimizer, sample, role),
            n_trials,
            lambda number, params: (params, sample),
            [sample],
            **options,
        )

    def _optimizer(
        self, sample: Sample, role: str, plan: Plan, history: History
    ) -> Optimizer:
        """Make the optimizer of a stage from the trials of earlier stages."""
        if not history and len(plan.ladder.stages) == 1:
            return self.search._first_optimizer(plan, history)
        starts = self.starts(role, plan, history) if history else None
        if starts is None:
            # There may be no time for more than the best ones of those that were timed.
            best = [*filter(succeeded, history)][:1] + best_of(history, self.n_promoted)
            points = [dict(trial.params) for trial in best] + plan.initial_points
            return self._first_on_samples(replace(plan, initial_points=points))
        same = (s for s in plan.ladder.stages if s.role == role)
        stage = next(s for s in same if s.samples == [sample])
        options = self.search._optimizer_options(
            plan,
            surrogate=self._informed_surrogate(plan, stage.amount(plan), history),
            n_initial_points=len(starts) or self.search._initial_count(plan),
            initial_points=starts or plan.initial_points,
            prior=plan.prior and plan.prior.densities_only(),
        )
        return Optimizer(plan.space, **options)

    def _first_on_samples(self, plan: Plan) -> Optimizer:
        optimizer = self.search._make_optimizer(plan)
        # Known scores are not used, because they were computed on all rows.
        trials = promising(plan)
        for place in best_first([score for _, score, *_ in trials])[: self.n_promoted]:
            optimizer.enqueue(trials[place][0])
        return optimizer

    def starts(
        self, role: str, plan: Plan, history: History
    ) -> list[dict[str, Any]] | None:
        """Return the first configurations of a later stage; None for those of a search.

        With a `timeout`, the best ones are compared with the first configuration that
        succeeded, usually the estimator's own. The smallest sample does not exclude any
        model.
        """
        first = next(filter(succeeded, history), history[0]).params
        n_timed, searched = n_models(plan.prior), with_fewer_folds(history)
        is_searched = len(searched) > n_timed
        if role == "time":
            return [first]
        last, n_promoted = history[-1].fidelity.stage, self.n_promoted
        earlier = [trial for trial in history if trial.fidelity.stage == last]
        if role != "stage" and is_searched:
            earlier, n_promoted = searched, 2 * n_promoted
        elif role == "final" or (role != "stage" and n_timed == 1):
            return None
        elif role != "stage":
            earlier, n_promoted = list(history[:n_timed]), max(n_promoted, n_timed)
        promoted = [dict(trial.params) for trial in best_of(earlier, n_promoted)]
        if not promoted:
            _warn_of_failure(earlier)
        elif is_searched:
            promoted = [first, *(p for p in promoted if not same(p, first))]
        return promoted

    def _informed_surrogate(
        self, plan: Plan, amount: tuple[float, int], history: History
    ) -> Any:
        """Return the surrogate, which also uses earlier stages if possible."""
        seen = best_of(history, len(history))
        seen.sort(key=lambda trial: trial.number)
        if not (seen and self.mixes_fidelities):
            return self.search._model()[0]
        surrogate = check_surrogate(self.search._model()[0])
        candidates = Candidates(plan.space)
        if surrogate == "gp" and not candidates.is_enumerated:
            # There are too few scores of this fidelity to fit a warping of the inputs.
            surrogate = "gp-matern52"
        share, n_folds = amount
        return MultiFidelity(
            make_surrogate(surrogate, candidates, plan.seed),
            plan.space.encode([trial.params for trial in seen]),
            np.array([trial.score for trial in seen]),
            np.array([t.fidelity.train_fraction * np.mean(t.fitted) for t in seen]),
            share * n_folds / len(plan.splits),
        )


def _warn_of_failure(trials: Sequence[Trial]) -> None:
    errors = [trial.error for trial in trials if trial.error is not None]
    first = f" The first error:\n{errors[0]}" if errors else ""
    fidelity, remedy = trials[0].fidelity, ""
    if fidelity.train_fraction < 1.0:
        remedy = (
            " If fits failed because its training sets, "
            f"{fidelity.train_fraction:.2g} of the rows, are too small for the "
            "estimator, pass larger sizes in stages."
        )
    warn_user(f"Stage {fidelity.stage + 1} has no complete trial.{remedy}{first}")


def takes_fidelity(search: BayesSearchCV) -> bool | None:
    """Return whether the surrogate can use earlier stages, None if not known."""
    return capability(check_surrogate(search._model()[0]), "takes_fidelity")


def before_all_folds(
    search: BayesSearchCV, settings: Settings, prior: OptimumPrior | None, y: Any
) -> Ladder | None:
    """Return stages with one fold, and then all folds of the best configurations.

    It is None if all folds of each trial are needed.
    """
    # A stopper counts the trials of one stage, and known scores are those of all folds.
    is_whole = settings.stoppers or settings.pruning_risk is not None
    if is_whole or settings.warm_start_from is not None:
        return None
    factory = StageFactory(search, N_PROMOTED, bool(takes_fidelity(search)))
    return factory.timed((1.0,), settings, prior, y)
