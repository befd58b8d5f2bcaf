"""Final model of a search with ensembles: an ensemble, or the best configuration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skbayes import compat
from skbayes.options.ensembles.aspect import MAX_STORED, Predictions
from skbayes.options.ensembles.combination import (
    EnsembleResult,
    FoldScorer,
    Members,
    select,
)
from skbayes.options.ensembles.responses import (
    Array,
    Response,
    check_averaging,
    mean_outputs,
)
from skbayes.options.ensembles.weighted import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from skbayes.trial.fast_metrics import name_of_metric
from skbayes.trial.measure import COSTS
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial, TrialState
from skbayes.trial.settings import MAX_MEMBERS
from skbayes.utils.optional import warn_or_log

# Maximum size of all members, and maximum time for their predictions, as multiples of
# the values of the best configuration alone.
MAX_SIZE, MAX_TIME = 10.0, 5.0

# Size in bytes, and seconds for the predictions of a test set, that are always allowed:
# ten times the size of a linear model would exclude all other members. Shorter times of
# single members count as LEAST_SECONDS.
LEAST_SIZE, LEAST_TIME, LEAST_SECONDS = 1e6, 0.1, 0.005

# Measures that add up over the members of an ensemble.
SUMS = ("fit_time", "score_time", "cpu_time", "model_size", "predict_time")


def check_final_model(plan: Plan, models: Sequence[Any]) -> None:
    """Check the options and the splits of an ensemble, before any fit.

    Fits on a part of a square matrix cannot predict from all of its columns.
    """
    options, refit = plan.refit.options, f"refit={plan.refit.value!r}"
    for model in models:
        check_averaging(model, plan.y, refit)
        if get_tags(model).input_tags.pairwise:
            raise ValueError(
                f"{refit} averages fits of the splits, which cannot predict from the "
                f"square matrix of {type(model).__name__}. Use refit=True."
            )
    if len(set(map(is_classifier, models))) > 1:
        raise ValueError(
            f"{refit} is not possible if search_spaces contains classifiers and "
            "regressors. Use refit=True."
        )
    n = options.get("max_members", MAX_MEMBERS)
    if not isinstance(n, Integral) or not 2 <= int(n) <= MAX_MEMBERS:
        raise ValueError(
            f"refit: max_members must be an integer from 2 to {MAX_MEMBERS}, got {n!r}."
        )
    if plan.settings.scores_rounds:
        raise ValueError(
            f"{refit} and early_stopping cannot be combined: the fits of the splits "
            "have more rounds than their scores. Use early_stopping=None and search "
            "the number of rounds, or use refit=True."
        )
    sums = [COSTS[name] for name in SUMS]
    for name, measure in plan.constraints.measures.items() if plan.constraints else ():
        if measure not in sums:
            raise ValueError(
                f"{refit} and constraints[{name!r}] cannot be combined: it is measured "
                "on one fitted estimator, and is unknown for an ensemble. Use "
                "refit=True."
            )
    counts = np.zeros(plan.job.n_samples)
    for train, _ in plan.splits:
        counts[train] += 1
    if counts.min() != counts.max() or counts.min() <= len(plan.splits) / 2:
        raise ValueError(
            f"{refit} averages fits of the splits. All rows must be in equally many "
            "training sets, and in most of them, such as with cv=5. Use refit=True."
        )


@dataclass(frozen=True)
class Candidates:
    """Trials of one fidelity that can be averaged, with their outputs on each split."""

    plan: Plan
    best: Trial
    metric: str | None
    trials: Mapping[int, Trial]
    responses: Mapping[int, list[Response]]

    @property
    def method(self) -> str:
        """Method whose outputs are averaged."""
        return self.responses[self.best.number][0].method

    @cached_property
    def scorer(self) -> FoldScorer:
        """Scorer by the metric of the search."""
        return self._scorer_of(self.metric)

    @cached_property
    def outcome_scorers(self) -> dict[str, FoldScorer]:
        """Scorers of the outcomes with bounds that are scores, by name."""
        bounds, scorers = self.plan.constraints, {}
        if bounds is None:
            return {}
        for name, key in bounds.metrics.items():
            scorers[name] = self._scorer_of(None if key == "score" else key)
        for name in bounds.scorers:
            scorer = bounds.scorer(self.plan.model, True)
            scorers[name] = FoldScorer(
                self.plan, self.method, scorer, name, bounds.params
            )
        return scorers

    def _scorer_of(self, metric: str | None) -> FoldScorer:
        plan, params = self.plan, self.plan.job.score_params
        scorers = compat.public_scorers(plan.scorers)
        if isinstance(scorers, Mapping):
            scorers = plan.scorers if params else scorers[metric]
        scoring, classifies = plan.settings.scoring, is_classifier(plan.model)
        name = name_of_metric(scoring, metric, classifies)
        return FoldScorer(plan, self.method, scorers, metric, params, name)

    def mean(self, members: Members, fold: int) -> Array:
        """Return the average outputs of members on the test set of a split."""
        outputs = [self.responses[k][fold].values for k in members]
        return mean_outputs(outputs, None, self.method, self.scorer.target)

    def score(self, members: Members) -> float:
        """Return the mean score, by a fast formula if there is one."""
        folds = range(len(self.plan.splits))
        return float(
            np.mean([self.scorer.fast_score(k, self.mean(members, k)) for k in folds])
        )

    def scores(self, members: Members, scorer: FoldScorer | None = None) -> Array:
        """Return the scores on all splits."""
        scorer, folds = scorer or self.scorer, range(len(self.plan.splits))
        return np.array([scorer(fold, self.mean(members, fold)) for fold in folds])

    def outcome(self, name: str, members: Members) -> float:
        """Return an outcome of an ensemble: a sum over members, or a mean score."""
        if name in self.outcome_scorers:
            return float(np.mean(self.scores(members, self.outcome_scorers[name])))
        return sum(self.trials[k].outcomes[name] for k in members)

    def obstacle(self, number: int) -> str:
        """Return why a trial cannot be a member; empty if it can."""
        trial, parts = self.trials[number], self.responses[number]
        if any(part.method != self.method for part in parts):
            return "its predictions and those of the best trial differ in form"
        if not all(part.implies_predict for part in parts):
            return f"its predict does not follow from its {self.method}"
        names = self.plan.constraints.names if self.plan.constraints else ()
        key = self.metric or "score"
        try:
            computed = [*self.scores([number])]
            computed += [self.outcome(name, [number]) for name in names]
        except Exception as error:
            return f"its predictions cannot be scored ({error})"
        stored = [float(fold.test_scores[key]) for fold in trial.folds]
        stored += [trial.outcomes.get(name, math.nan) for name in names]
        if not np.allclose(computed, stored, rtol=1e-9, atol=1e-12, equal_nan=True):
            return "its predictions give other scores or outcomes than its fits"
        return ""

    # -- costs and bounds ---------------------------------------------------------

    def size(self, number: int) -> float:
        """Return the mean size of the fits of a trial in bytes."""
        return float(np.mean([part.size for part in self.responses[number]]))

    def seconds(self, number: int) -> float:
        """Return the time of a trial for predictions, on the fastest split."""
        return max(min(part.seconds for part in self.responses[number]), LEAST_SECONDS)

    def is_allowed(self, members: Members) -> bool:
        """Return whether members satisfy the limits and the constraints.

        Measured times vary, so their ratios to the time of the best trial are rounded
        to powers of two. A trial has one fit for each split, and cannot be a member
        more often.
        """
        best, seconds = self.best.number, [self.seconds(k) for k in members]
        ratios = np.array(seconds) / self.seconds(best)
        is_slow = np.sum(2.0 ** np.round(np.log2(ratios))) > MAX_TIME
        size = sum(map(self.size, members))
        if size > max(MAX_SIZE * self.size(best), LEAST_SIZE):
            return False
        if is_slow and sum(seconds) > LEAST_TIME:
            return False
        if max(Counter(members).values()) > len(self.plan.splits):
            return False
        bounds = self.plan.constraints.bounds if self.plan.constraints else ()
        return all(b.slack(self.outcome(b.name, members)) <= 0.0 for b in bounds)


def select_ensemble(
    plan: Plan, ranked: History, fitted: Mapping[str, Any]
) -> tuple[EnsembleResult, list[int]]:
    """Select an ensemble, or the best configuration alone; warn if none is possible.

    Return also the rows of the members in ``cv_results_``, grouped by configuration.
    """
    best, metric = ranked[fitted["best_index_"]], None
    if fitted["multimetric_"]:
        plain = plan.refit.plain
        metric = plain if isinstance(plain, str) else fitted["target_metric_"]
    scores = [
        fold.test_scores[metric or "score"] for fold in best.folds[: best.n_folds]
    ]
    score = float(np.mean(scores))
    candidates = _candidates(plan, ranked, best, metric)
    reason = _obstacle_of_best(candidates)
    if reason:
        warn_or_log(
            f"refit={plan.refit.value!r}: {reason}. The best configuration alone "
            "is the final model."
        )
        return EnsembleResult({best.number: 1.0}, score, score, reason=reason), []
    numbers = [k for k in candidates.trials if not candidates.obstacle(k)]
    max_members = int(plan.refit.options.get("max_members", MAX_MEMBERS))
    members = select(candidates.score, numbers, max_members, candidates.is_allowed)
    gains = candidates.scores(members) - candidates.scores([best.number])
    gain, std = float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains)))
    if not is_better(gain, std):
        reason = "no ensemble is better by more than its standard error"
        return EnsembleResult({best.number: 1.0}, score, score, std, reason=reason), []
    counts = Counter(members).most_common()
    rows = {trial.number: row for row, trial in enumerate(ranked)}
    size = sum(map(candidates.size, members)) / candidates.size(best.number)
    seconds = sum(map(candidates.seconds, members)) / candidates.seconds(best.number)
    result = EnsembleResult(
        weights={number: count / len(members) for number, count in counts},
        score=float(np.mean(candidates.scores(members))),
        best_score=score,
        gain_std=std,
        predict_cost=seconds,
        size_cost=size,
    )
    return result, [rows[number] for number, count in counts for _ in range(count)]


def is_better(gain: float, std: float) -> bool:
    """Return whether the gain of an ensemble exceeds its standard error."""
    return gain > std


def _candidates(
    plan: Plan, history: History, best: Trial, metric: str | None
) -> Candidates:
    """Return the best trials with predictions, of the same fidelity as the best one."""
    comparable = [
        trial
        for trial in history
        if trial.state == TrialState.COMPLETE
        and trial.error is None
        and trial.feasible
        and trial.fidelity == best.fidelity
    ]
    # The best trial comes first, even if other trials are equally good.
    others = [trial for trial in History(comparable).best_first() if trial is not best]
    ranked = [best, *others][:MAX_STORED]
    responses = plan.aspect(Predictions).store.responses
    trials = {trial.number: trial for trial in ranked if trial.number in responses}
    if best.number in trials and len(trials) < len(ranked):
        warn_or_log(
            f"The ensemble is selected from {len(trials)} of the best {len(ranked)} "
            "trials. The others were evaluated in an earlier run, or their predictions "
            "are too large or failed."
        )
    return Candidates(plan, best, metric, trials, responses)


def _obstacle_of_best(candidates: Candidates) -> str:
    """Return why the best trial cannot be a member; empty if it can."""
    best = candidates.best
    if best.n_folds < len(candidates.plan.splits):
        return "no time was left to compare the best trials on all folds"
    if best.error is not None or not best.feasible:
        return "the best trial has a failed fit or broken bounds"
    if best.number not in candidates.trials:
        return (
            "the predictions of the best trial are not in memory, because an earlier "
            "run evaluated it, because they are too large, or because they failed"
        )
    reason = candidates.obstacle(best.number)
    return reason and f"the best trial cannot be a member: {reason}"


def unfitted_ensemble(plan: Plan, models: list[Any]) -> Any:
    """Return an ensemble whose members are fits of the splits, in their order."""
    kind = WeightedEnsembleRegressor
    if is_classifier(plan.model):
        kind = WeightedEnsembleClassifier
    return kind(models, cv=plan.splits)


def cv_of(plan: Plan) -> Any:
    """Return a value of `cv` with which a clone of the ensemble can be fitted."""
    cv = plan.settings.cv
    if cv is None or isinstance(cv, Integral):
        return cv or len(plan.splits)
    return cv if hasattr(cv, "split") else plan.splits
