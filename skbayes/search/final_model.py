"""Ensemble of the trials of a search."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skbayes import compat
from skbayes.evaluation.aspects.predictions import KeptPredictions
from skbayes.evaluation.fast_metrics import name_of_metric
from skbayes.evaluation.responses import (
    Response,
    Target,
    check_averaging,
    respond,
)
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.search.combination import (
    MAX_MEMBERS,
    EnsembleResult,
    FoldScorer,
    select,
)
from skbayes.search.ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from skbayes.search.out_of_fold import fits_of_trial
from skbayes.utils.optional import warn_or_log

# Number of trials whose folds are fitted again if there are no predictions.
N_REFITTED = 5


def check_final_model(search: Any, y: Any) -> None:
    """Check the options of an ensemble, before any fit."""
    choice, estimator = search._refit_choice(), search.estimator
    if not search._has_ensembles:
        raise ValueError(
            f"refit={search.refit!r}: {type(search).__name__} chooses by score and "
            "cost. Use another search, such as BayesSearchCV, for an ensemble."
        )
    check_averaging(estimator, y, f"refit={search.refit!r}")
    _check_options(choice.options)
    pairwise = get_tags(estimator).input_tags.pairwise
    if choice.options.get("members") == "folds" and pairwise:
        raise ValueError(
            "refit: members='folds' is not possible for precomputed kernels; use "
            "members='refit'."
        )


def _check_options(options: Mapping[str, Any]) -> None:
    n = options.get("max_members", MAX_MEMBERS)
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"refit: max_members must be an integer >= 1, got {n!r}.")
    members = options.get("members", "auto")
    if members not in ("auto", "folds", "refit"):
        raise ValueError(
            f"refit: members must be 'auto', 'folds' or 'refit', got {members!r}."
        )
    for name in ("min_gain", "max_predict_cost", "memory_limit"):
        value = options.get(name, 0.0)
        if not isinstance(value, Real) or not float(value) >= 0.0:
            raise ValueError(f"refit: {name} must be a number >= 0, got {value!r}.")


class FinalModel:
    """Ensemble of a search.

    The `model` for the refit is fitted if its members are the fits of the splits.
    """

    def __init__(self, search: Any, run: SearchRun, found: Mapping[str, Any]) -> None:
        self.search, self.run, self.found = search, run, found
        self.best = run.ranked[found["best_index_"]]
        self.fits: dict[int, list[Any]] = {}
        self.responses: dict[int, list[Response]] = {}
        self.weights: dict[int, float] = {self.best.number: 1.0}
        self.candidates: list[int] = []
        self.ensemble: EnsembleResult | None = None
        self.is_fitted = False
        self._find_predictions()
        self._select()

    def _find_predictions(self) -> None:
        """Find the predictions of trials that can be compared with the best one."""
        run, best = self.run, self.best
        kept: KeptPredictions | None = run.notes.get("predictions")
        if kept is not None:
            self.responses, self.fits = kept.responses, kept.fits
        comparable = [
            trial
            for trial in run.ranked
            if trial.state == TrialState.COMPLETE
            and trial.error is None
            and (trial.feasible or trial is best)
            and (trial.stage, trial.train_fraction, trial.subset)
            == (best.stage, best.train_fraction, best.subset)
        ]
        ordered = History(comparable).best_first()
        if all(trial is not best for trial in ordered):
            # One of its fits failed, or its score is not finite.
            if not ordered:
                return
            self.best = best = ordered[0]
        if kept is None:  # rounds
            for trial in ordered[:N_REFITTED]:
                self._fit_again(trial)
        if best.number not in self.responses:
            self._fit_again(best)
        method = self.responses[best.number][0].method
        self.candidates = [
            trial.number
            for trial in comparable
            if trial.number in self.responses
            and all(part.method == method for part in self.responses[trial.number])
        ]
        dropped = [t for t in comparable if kept and t.number in kept.dropped]
        if kept and dropped:
            warn_or_log(
                f"The ensemble is selected without {len(dropped)} of "
                f"{len(comparable)} trials, whose predictions were not kept: those "
                f"of all trials exceed memory_limit={kept.limit:.3g} bytes, a fold "
                "failed, or they were not found beside the journal."
            )

    def _fit_again(self, trial: Trial) -> None:
        run = self.run
        fits = fits_of_trial(run, trial)
        target, parts = Target.of(run.estimator, run.y), []
        for model, (train, test) in zip(fits, run.splits, strict=True):
            X_test, _ = compat.safe_split(run.estimator, run.X, None, test, train)
            begin = time.perf_counter()
            parts.append(respond(model, X_test, target))
            parts[-1].seconds = time.perf_counter() - begin
        self.fits[trial.number], self.responses[trial.number] = fits, parts

    def _scorer(self) -> FoldScorer:
        run, metric = self.run, None
        if self.found["multimetric_"]:
            plain = self.search._with_plain_refit().refit
            metric = plain if isinstance(plain, str) else self.found["target_metric_"]
        scorers, params = compat.public_scorers(run.scorers), run.score_params
        if isinstance(scorers, Mapping):
            scorers = run.scorers if params else scorers[metric]
        name = name_of_metric(self.search.scoring, metric, is_classifier(run.estimator))
        return FoldScorer(run, self.responses, scorers, metric, params, name)

    def _select(self) -> None:
        if not self.candidates:
            self.ensemble = EnsembleResult(
                self.weights, "refit", math.nan, math.nan, math.nan, 1.0
            )
            self._make("refit")
            return
        options = dict(self.run.refit.options)
        options.pop("memory_limit", None)
        members = options.pop("members", "auto")
        if members == "auto":
            members = "folds" if _folds_suffice(self.run) else "refit"
        n_each = len(self.run.splits) if members == "folds" else 1
        limit = options.pop("max_predict_cost", math.inf)

        def cost(weights: Mapping[int, float]) -> float:
            return n_each * sum(map(self._seconds, weights)) / best_seconds

        best_seconds = max(self._seconds(self.best.number), 1e-9)
        scorer = self._scorer()
        n_folds = len(self.run.splits)
        weights, score, score_cv = select(
            scorer,
            n_folds,
            self.candidates,
            is_allowed=lambda weights: cost(weights) <= limit,
            **options,
        )
        if cost(weights) > limit:
            members, n_each = "refit", 1
        self.weights = weights
        best_score = [scorer(fold, {self.best.number: 1.0}) for fold in range(n_folds)]
        self.ensemble = EnsembleResult(
            weights, members, score, score_cv, float(np.mean(best_score)), cost(weights)
        )
        self._make(members)

    def _seconds(self, number: int) -> float:
        """Return the time for the predictions of a trial, on the fastest split."""
        return min(part.seconds for part in self.responses[number])

    def _make(self, members: str) -> None:
        """Make the ensemble; with fits of the splits, it is fitted."""
        search, run = self.search, self.run
        places = {trial.number: k for k, trial in enumerate(run.ranked)}
        params = self.found["cv_results_"]["params"]
        kind = WeightedEnsembleRegressor
        if is_classifier(run.estimator):
            kind = WeightedEnsembleClassifier
        self.model = kind(
            [search._unfitted(params[places[number]]) for number in self.weights],
            [float(weight) for weight in self.weights.values()],
            cv=_cv_of(search, run) if members == "folds" else None,
        )
        if members == "folds":
            fitted = []
            for number in self.weights:
                trial = run.ranked[places[number]]
                fitted += self.fits.get(number) or fits_of_trial(run, trial)
            self.model._set_members(fitted, run.X, run.y)
            self.is_fitted = True


def _folds_suffice(run: SearchRun) -> bool:
    """Return whether each row is in most training sets, and in equally many."""
    counts = np.zeros(run.n_samples)
    for train, _ in run.splits:
        counts[train] += 1
    pairwise = get_tags(run.estimator).input_tags.pairwise
    even = counts.min() == counts.max() and counts.min() >= len(run.splits) / 2
    return bool(even and len(run.splits) > 2 and not pairwise)


def _cv_of(search: Any, run: SearchRun) -> Any:
    """Return a value of `cv` with which a clone of the ensemble can be fitted."""
    if search.cv is None or isinstance(search.cv, Integral):
        return search.cv or len(run.splits)
    return search.cv if hasattr(search.cv, "split") else run.splits
