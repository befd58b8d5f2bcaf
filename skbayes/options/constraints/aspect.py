"""Bounds on outcomes of trials: the dict of the parameter `constraints`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import check_scoring

from skbayes import compat
from skbayes.options.constraints.bounds import Constraints, parse_constraints
from skbayes.trial.aspect import Aspect, Evaluation, Tasks
from skbayes.trial.fold import FoldAspect, FoldCall, Job, Results
from skbayes.trial.measure import COSTS, check_metrics_suit
from skbayes.trial.pruning import first_scores
from skbayes.trial.records import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.trial.objectives import Objective
    from skbayes.trial.settings import Settings


# Number of complete trials after which unsatisfied constraints are reported.
N_FIRST = 10


class _FoldOutcomes(FoldAspect):
    """Measurement of the outcomes of a fit that have constraints."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.needs_estimator = constraints.needs_fit

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Measure the outcomes."""
        outputs, constraints = call.measured(result), self.constraints
        if not result.test_scores:
            # The error score stands for all metrics.
            metrics = constraints.metrics.values()
            outputs["test_scores"] = dict.fromkeys(metrics, call.options["error_score"])

        def test_set() -> tuple[Any, Any, Any]:
            params = constraints.params
            params = compat.check_fit_params(call.job.X, params, call.test)
            return *call.test_set(), params

        outcomes = constraints.measure(outputs, test_set, call.raises)
        return result.with_extras(outcomes=outcomes)


def _routed_params(routed: Any) -> dict[str, Any]:
    """Return the metadata for the scorers of constrained outcomes.

    Without metadata routing, they are the sample weights of the metrics of the search.
    """
    # Without metadata, scikit-learn returns an object that contains every key.
    if isinstance(routed, dict) and "constraints" in routed:
        return dict(routed["constraints"].score)
    weights = routed.scorer.score.get("sample_weight")
    return {} if weights is None else {"sample_weight": weights}


def _parsed(settings: Settings, objective: Objective) -> Constraints:
    """Return the bounds of a search; TypeError or ValueError if they are wrong."""
    metrics = {name: name for name in objective.metrics}
    scoring = settings.scoring
    if isinstance(scoring, str):
        metrics[scoring] = "score"
    measured = {*objective.measures, *COSTS}
    # The metrics of a callable are not known before the first fit.
    any_metric = callable(scoring)
    return parse_constraints(settings.bounds, metrics, measured, any_metric)


def outcome_scorer(parsed: Callable[[], tuple[Settings, Objective]]) -> Any:
    """Return the scorer of outcomes that are not metrics of the search, if any.

    Wrong parameters are reported by `fit`, not here.
    """
    try:
        settings, objective = parsed()
        if not settings.bounds:
            return None
        constraints = _parsed(settings, objective)
    except (TypeError, ValueError):
        return None
    if not constraints.scorers:
        return None
    return check_scoring(settings.estimator, constraints.scorers)


class OutcomeConstraints(Aspect):
    """Bounds on outcomes; feasible trials are preferred."""

    name = "constraints"

    def __init__(self, settings: Settings, objective: Objective, tasks: Tasks) -> None:
        super().__init__(settings, objective, tasks)
        self.bounds: Constraints = _parsed(settings, objective)

    def prepare(self, spaces: Any, routed: Any) -> Any:
        """Check that scores with bounds are those of the complete fit."""
        # Costs among the objectives belong to the complete fit.
        metrics, measures = self.bounds.metrics.items(), self.objective.measures
        scores = [name for name, metric in metrics if metric not in measures]
        scores += self.bounds.scorers
        if scores and self.settings.scores_rounds:
            raise ValueError(
                f"constraints[{scores[0]!r}]: early_stopping cannot be combined with "
                "bounds on scores. Use early_stopping=None, with the number of rounds "
                "in search_spaces."
            )
        self.bounds = replace(self.bounds, params=_routed_params(routed))
        return spaces

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Check the scorers on the target."""
        labels = {f"constraints[{k!r}]": v for k, v in self.bounds.scorers.items()}
        named = {k: v for k, v in labels.items() if isinstance(v, str)}
        if job.y is not None:
            check_metrics_suit(models, named, job.y)

    def fold_aspect(self) -> FoldAspect:
        """Return the part that measures the outcomes of a fit."""
        return _FoldOutcomes(self.bounds)

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Prune a trial if pruning is on and a bound is broken."""
        risk, objective = self.settings.pruning_risk, self.objective
        if risk is None or not evaluation.complete:
            return None
        folds = [*earlier.values()]
        if first_scores(folds, objective) is None:
            return None
        is_broken = self.bounds.surely_broken(folds, evaluation.n_folds, risk)
        return TrialState.PRUNED if is_broken else None

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Set the violation of the bounds."""
        failed = trial.state == TrialState.FAILED
        violation = math.inf if failed else self.bounds.violation(trial.folds)
        return replace(trial, extras=trial.extras | {"violation": violation})

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Return the slacks of the bounds."""
        return {"constraints": self.bounds.of_trial(trial)}

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return whether trials are feasible, and the outcomes that are not metrics."""
        metrics = self.bounds.metrics
        columns: dict[str, list] = {"feasible": [trial.feasible for trial in history]}
        for name in self.bounds.names:
            if metrics.get(name) not in ("score", name):
                columns[f"mean_constraint_{name}"] = [
                    trial.outcomes.get(name, np.nan) for trial in history
                ]
        return columns


def unreachable_text(constraints: Constraints, history: History) -> str | None:
    """Return the bounds that none of the first complete trials satisfies, if any.

    They are reported once, after the last of these trials.
    """
    finished = (trial for trial in history if trial.state == TrialState.COMPLETE)
    complete = list(itertools.islice(finished, N_FIRST + 1))
    if len(complete) != N_FIRST or complete[-1] is not history[-1]:
        return None
    sentences = constraints.unreachable(history)
    return f"constraints: {' '.join(sentences)}" if sentences else None
