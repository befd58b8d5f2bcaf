"""Final model of a search with ensembles: an ensemble, or the best configuration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skbayes import compat
from skbayes.search.combination import (
    EnsembleResult,
    FoldScorer,
    select,
    without_useless,
)
from skbayes.search.ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from skbayes.search.out_of_fold import fits_of_trial
from skbayes.trial.aspects.predictions import KeptPredictions, measured_response
from skbayes.trial.fast_metrics import name_of_metric
from skbayes.trial.fold import configured
from skbayes.trial.measure import COSTS
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial, TrialState
from skbayes.trial.responses import Response, Target, check_averaging
from skbayes.utils.optional import warn_or_log

# Number of trials whose folds are fitted again if there are no predictions.
N_REFITTED = 5

# Maximum number of members by default. The size of an ensemble is at most twice as many
# times that of the best configuration alone. If its predictions take longer than that
# multiple, the search warns. Measured times do not change the members.
MAX_MEMBERS = 5

# Shorter times for predictions, in seconds, count as this one.
LEAST_SECONDS = 0.005

# Ensembles of at most so many bytes satisfy the limit of size. Ten times the size of a
# linear model would forbid all other members.
LEAST_SIZE = 1e6

# Measures that add up over the members of an ensemble.
SUMS = ("fit_time", "score_time", "cpu_time", "model_size", "predict_time")


def check_final_model(plan: Plan, models: Sequence[Any]) -> None:
    """Check the options of an ensemble, before any fit."""
    options, given = plan.refit.options, f"refit={plan.settings['refit']!r}"
    for model in models:
        check_averaging(model, plan.y, given)
    if len(set(map(is_classifier, models))) > 1:
        raise ValueError(
            f"{given} is not possible if search_spaces contains classifiers and "
            "regressors. Use refit=True."
        )
    n = options.get("max_members", MAX_MEMBERS)
    if not isinstance(n, Integral) or n < 2:
        raise ValueError(f"refit: max_members must be an integer >= 2, got {n!r}.")
    sums = [COSTS[name] for name in SUMS]
    for name, measure in plan.constraints.measures.items() if plan.constraints else ():
        if measure not in sums:
            raise ValueError(
                f"{given} and constraints[{name!r}] cannot be combined: it is measured "
                "on one fitted estimator, and is unknown for an ensemble. Use "
                "refit=True."
            )


class FinalModel:
    """Ensemble of a search, or its best configuration alone if that is as good.

    The `model` for the refit is fitted if its members are the fits of the splits.
    """

    def __init__(
        self,
        plan: Plan,
        ranked: History,
        found: Mapping[str, Any],
        unfitted: Callable[[Plan, Mapping[str, Any]], Any],
    ) -> None:
        self.plan, self.ranked, self.found = plan, ranked, found
        self._unfitted = unfitted
        self.best = ranked[found["best_index_"]]
        self.n_folds, self.is_fitted = len(plan.splits), False
        self.responses: dict[int, list[Response]] = {}
        self.trials: dict[int, Trial] = {}
        self._outcome_scorers: dict[str, FoldScorer] = {}
        metric = None
        if found["multimetric_"]:
            plain = plan.refit.plain
            metric = plain if isinstance(plain, str) else found["target_metric_"]
        self.metric: str | None = metric
        folds = self.best.folds[: self.best.n_folds]
        if len(folds) == self.n_folds:
            self._find_predictions()
        # Whether members are fits of the splits.
        self.of_folds = _folds_suffice(plan, self.trials.values())
        self.scorer = self._scorer(metric)
        scores = [float(fold.test_scores[metric or "score"]) for fold in folds]
        self.result = EnsembleResult(
            weights={self.best.number: 1.0},
            members="refit",
            score=float(np.mean(scores)),
            score_cv=math.nan,
            best_score=float(np.mean(scores)),
            gain_std=math.nan,
            predict_cost=1.0,
            size_cost=1.0,
            reason=self._obstacle(),
        )
        if self.result.reason:
            warn_or_log(
                f"refit={plan.settings['refit']!r}: {self.result.reason}. The best "
                "configuration alone is the final model."
            )
        else:
            self._select()
        self._make()

    def _find_predictions(self) -> None:
        """Find the predictions of trials that can be compared with the best one."""
        plan, best = self.plan, self.best
        comparable = [
            trial
            for trial in self.ranked
            if trial.state == TrialState.COMPLETE
            and trial.error is None
            and trial.feasible
            and trial.fidelity == best.fidelity
        ]
        # With rounds, no predictions are kept.
        kept: KeptPredictions = plan.notes.get("predictions") or KeptPredictions()
        self.responses = kept.responses
        is_comparable = any(trial is best for trial in comparable)
        if best.number not in self.responses and is_comparable:
            # Predictions of earlier stages are not kept either.
            comparable = History(comparable).best_first()
            for trial in comparable[:N_REFITTED]:
                if trial.number not in self.responses:
                    self.responses[trial.number] = self._again(trial)
        self.trials = {t.number: t for t in comparable if t.number in self.responses}
        dropped = {trial.number for trial in comparable}.intersection(kept.dropped)
        if n_dropped := len(dropped - self.trials.keys()):
            warn_or_log(
                f"The ensemble is selected without {n_dropped} of {len(comparable)} "
                "trials, whose predictions were not kept: those of all trials exceed "
                "the memory for them, or they were not found beside the journal."
            )

    def _again(self, trial: Trial) -> list[Response]:
        """Fit the folds of a trial again, and return their predictions."""
        plan, target, parts = self.plan, Target.of(self.plan.model, self.plan.y), []
        for model, (train, test) in zip(
            fits_of_trial(plan, trial), plan.splits, strict=True
        ):
            X_test, _ = compat.safe_split(model, plan.X, None, test, train)
            parts.append(measured_response(model, X_test, target))
        return parts

    def _scorer(self, metric: str | None) -> FoldScorer:
        """Return the scorer of averages by one metric of the search."""
        plan, params = self.plan, self.plan.job.score_params
        scorers = compat.public_scorers(plan.scorers)
        if isinstance(scorers, Mapping):
            scorers = plan.scorers if params else scorers[metric]
        scoring, classifies = plan.settings["scoring"], is_classifier(plan.model)
        name = name_of_metric(scoring, metric, classifies)
        return FoldScorer(plan, self.responses, scorers, metric, params, name)

    def _obstacle(self) -> str:
        """Return why an ensemble cannot be selected; keep the usable trials."""
        best = self.best.number
        if self.best.n_folds < self.n_folds:
            return "no time was left to compare the best trials on all folds"
        if best not in self.trials:
            return "the best trial has a failed fit, no predictions, or broken bounds"
        method = self.responses[best][0].method
        self.trials = {
            number: trial
            for number, trial in self.trials.items()
            if all(part.method == method for part in self.responses[number])
        }
        for number, trial in list(self.trials.items()):
            try:
                same = self._is_reproduced(trial)
                text = "give other scores or outcomes than its fits"
            except Exception as error:
                same, text = False, f"cannot be scored ({error})"
            if not same and number == best:
                return f"the predictions of the best trial {text}"
            if not same:
                del self.trials[number]
        return ""

    def _is_reproduced(self, trial: Trial) -> bool:
        """Return whether the predictions of a trial have its scores and outcomes."""
        alone, key = {trial.number: 1.0}, self.metric or "score"
        names = self.plan.constraints.names if self.plan.constraints else ()
        found = [self.scorer.exact(place, alone) for place in range(self.n_folds)]
        found += [self._outcome(name, alone) for name in names]
        stored = [float(fold.test_scores[key]) for fold in trial.folds]
        stored += [trial.outcomes.get(name, math.nan) for name in names]
        return np.allclose(found, stored, rtol=1e-9, atol=1e-12, equal_nan=True)

    # -- selection ----------------------------------------------------------------

    def _select(self) -> None:
        folds, best = range(self.n_folds), self.best.number
        most = int(self.plan.refit.options.get("max_members", MAX_MEMBERS))
        growth = 1.0
        if not self.of_folds:
            # Fits on all rows may grow with the rows, and the best one may not.
            growth = self.plan.n_samples / min(len(t) for t, _ in self.plan.splits)

        def fits_limits(counts: Mapping[int, float], n_at_least: int = 0) -> bool:
            n = sum(self._fits(counts).values())
            factor = n_at_least / n if n_at_least else 1.0
            size = growth * factor * self._bytes(counts)
            largest = max(2 * most * self._size(best), LEAST_SIZE)
            # The sizes are NaN if the members cannot be pickled.
            return factor * n <= most and not size > largest

        def is_allowed(counts: Mapping[int, float]) -> bool:
            return fits_limits(counts) and self._keeps_bounds(counts)

        counts, left_out = select(
            *(self.scorer, self.n_folds, list(self.trials), most),
            may_fit=partial(fits_limits, n_at_least=2),
            is_allowed=is_allowed,
        )
        sizes = {k: self._size(k) for k in counts}
        if all(map(math.isfinite, sizes.values())):
            counts = without_useless(
                *(self.scorer, counts, best, folds, sizes, is_allowed)
            )
        gains = np.array(
            [self.scorer(k, counts) - self.scorer(k, {best: 1.0}) for k in folds]
        )
        std, reason = float(gains.std(ddof=1)) / math.sqrt(self.n_folds), ""
        if not is_allowed(counts):
            reason = "no ensemble satisfies the constraints"
        elif not is_better(float(gains.mean()), std):
            reason = "no ensemble is better by more than its standard error"
        if reason:
            counts = {best: 1}
        self.counts, total = counts, sum(counts.values())
        self.result = replace(
            self.result,
            weights={k: count / total for k, count in counts.items()},
            members="folds" if not reason and self.of_folds else "refit",
            score=self.scorer.mean(counts, folds),
            score_cv=float(left_out.mean()),
            gain_std=std,
            predict_cost=self._predict_cost(counts),
            size_cost=self._size_cost(counts),
            reason=reason,
        )
        if self.result.predict_cost > 2 * most:
            warn_or_log(
                f"refit={self.plan.settings['refit']!r}: predictions of the ensemble "
                f"take about {self.result.predict_cost:.0f} times as long as those of "
                "the best configuration alone. Bound them by constraints, such as "
                "{'predict_time': '<= 0.01'}, or use refit=True."
            )

    def _predict_cost(self, counts: Mapping[int, float]) -> float:
        """Return the time for predictions as a multiple of the best trial's time."""
        fits = self._fits(counts).items()
        return sum(n * self._seconds(k) for k, n in fits) / self._seconds(
            self.best.number
        )

    def _seconds(self, number: int) -> float:
        """Return the time for the predictions of a trial, on the fastest split."""
        return max(min(part.seconds for part in self.responses[number]), LEAST_SECONDS)

    def _size_cost(self, counts: Mapping[int, float]) -> float:
        """Return the size as a multiple of the best trial's size.

        It is the number of members if they cannot be pickled.
        """
        cost = self._bytes(counts) / self._size(self.best.number)
        return cost if math.isfinite(cost) else float(sum(self._fits(counts).values()))

    def _bytes(self, counts: Mapping[int, float]) -> float:
        return sum(n * self._size(k) for k, n in self._fits(counts).items())

    def _fits(self, counts: Mapping[int, float]) -> Mapping[int, float]:
        """Return the numbers of fits; a fit on all rows is one, with any weight."""
        return counts if self.of_folds else dict.fromkeys(counts, 1)

    def _size(self, number: int) -> float:
        return float(np.mean([part.size for part in self.responses[number]]))

    def _keeps_bounds(self, weights: Mapping[int, float]) -> bool:
        """Return whether an ensemble satisfies the bounds on outcomes."""
        constraints = self.plan.constraints
        if constraints is None:
            return True
        found = {name: self._outcome(name, weights) for name in constraints.names}
        return all(b.slack(found[b.name]) <= 0.0 for b in constraints.bounds)

    def _outcome(self, name: str, weights: Mapping[int, float]) -> float:
        """Return an outcome of an ensemble: a sum over members, or a mean score."""
        constraints, plan = self.plan.constraints, self.plan
        assert constraints is not None
        if name in constraints.measures:
            fits = self._fits(weights)
            return sum(n * self.trials[k].outcomes[name] for k, n in fits.items())
        if name not in self._outcome_scorers:
            if name in constraints.metrics:
                key = constraints.metrics[name]
                scorer = self._scorer(None if key == "score" else key)
            else:
                scorer = FoldScorer(
                    *(plan, self.responses, constraints.scorer(plan.model, True)),
                    metric=name,
                    score_params=constraints.params,
                )
            self._outcome_scorers[name] = scorer
        exact = partial(self._outcome_scorers[name].exact, weights=weights)
        return float(np.mean([exact(fold) for fold in range(self.n_folds)]))

    # -- model --------------------------------------------------------------------

    def _make(self) -> None:
        """Make the model; a model of the splits' fits is already fitted."""
        plan, result = self.plan, self.result
        if result.reason:
            self.model = self._unfitted(plan, self.found["best_params_"])
            return
        places = {trial.number: k for k, trial in enumerate(self.ranked)}
        params = self.found["cv_results_"]["params"]
        numbers, weights, cv = list(result.weights), None, None
        if result.members == "folds":
            numbers = [k for k, count in self.counts.items() for _ in range(count)]
            cv = _cv_of(plan)
        else:
            weights = list(result.weights.values())
        kind = WeightedEnsembleRegressor
        if is_classifier(plan.model):
            kind = WeightedEnsembleClassifier
        models = [self._unfitted(plan, params[places[number]]) for number in numbers]
        self.model = kind(models, weights, cv=cv)
        if result.members == "folds":
            fits = [
                fits_of_trial(plan, self.trials[number], [place % self.n_folds])[0]
                for place, number in enumerate(numbers)
            ]
            self.model._set_members(fits, plan.X, plan.y)
            self.is_fitted = True

    def attributes(self, fitted: Any) -> dict[str, Any]:
        """Return the attribute of an ensemble; let the fitted model vote if it must."""
        if not self.result.reason and self.scorer.votes(self.result.weights):
            fitted.votes_ = True
        return {"ensemble_": self.result}


def is_better(gain: float, std: float) -> bool:
    """Return whether an ensemble is worth its cost, by its gain and standard error."""
    return gain > std


def _folds_suffice(plan: Plan, trials: Iterable[Trial]) -> bool:
    """Return whether each row is in most training sets, and in equally many.

    Fits to a part of a square matrix cannot predict from all of its columns.
    """
    counts = np.zeros(plan.n_samples)
    for train, _ in plan.splits:
        counts[train] += 1
    if counts.min() != counts.max() or counts.min() <= len(plan.splits) / 2:
        return False
    models = (configured(plan.estimator, trial.params) for trial in trials)
    return not any(get_tags(model).input_tags.pairwise for model in models)


def _cv_of(plan: Plan) -> Any:
    """Return a value of `cv` with which a clone of the ensemble can be fitted."""
    cv = plan.settings["cv"]
    if cv is None or isinstance(cv, Integral):
        return cv or len(plan.splits)
    return cv if hasattr(cv, "split") else plan.splits
