"""Metric that guides a search, table of its trials, and choice of the best row."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import get_scorer_names

from skbayes import compat
from skbayes.evaluation.aspects.registry import aspects_of
from skbayes.evaluation.costs import parse_cost, trial_cost
from skbayes.evaluation.evaluator import CandidateEvaluator
from skbayes.evaluation.learning_curves import Guide
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.loop.stages import Stage
from skbayes.results.scores import corrected_best_score, fold_scores
from skbayes.space import Integer, Real, Space
from skbayes.space.dimensions import FloatArray, is_number, key_of
from skbayes.utils.optional import warn_user
from skbayes.utils.ranking import best_first, least_violating
from skbayes.utils.texts import one_line

# Maximum length of a configuration in a message.
MAX_TEXT = 300

# -- metric ---------------------------------------------------------------------------


class GuidingMetric:
    """Metric that guides the search, read from the scores of one fold.

    With a callable `scoring`, the names of the metrics are checked after the first fit,
    since they are not available earlier.

    `name` is "score" if there is only one, and None while it is not known. `metrics`
    are the names of all metrics. A ValueError is raised if a rule of `refit` chooses by
    another metric.
    """

    measures: Mapping[str, Any] = {}
    separate_costs = False

    def __init__(self, search: Any, scorers: Any) -> None:
        self._search = search
        self.name: str | None = None
        self.metrics: list[str] = []
        if compat.is_multimetric_scorer(scorers):
            self._resolve(list(compat.public_scorers(scorers)))
        elif not callable(search.scoring):
            self._resolve(["score"])

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics of a callable `scoring` from the scores of a fold."""
        if self.metrics or not scores:
            return
        refit = self._search.refit
        if list(scores) != ["score"]:
            compat.check_multimetric_refit(self._search, scores)
        elif isinstance(refit, str) and refit not in ("score", *get_scorer_names()):
            raise ValueError(
                f"refit must be True, False, 'ensemble', 'corrected' or a callable if "
                f"scoring returns a single number, got {refit!r}."
            )
        self._resolve(list(scores))

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the test scores of a fold."""
        if not scores:
            return float(self._search.error_score)
        assert self.name is not None
        return float(scores[self.name])

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""
        return Guide(self.name)

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""
        return trial.score

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""
        order = best_first([score for _, score, *_ in known])
        return [known[place][0] for place in order[:1]]

    def _resolve(self, names: list[str]) -> None:
        refit = self._search.refit
        # The metric by which a rule of :mod:`skbayes.results` chooses.
        metric = getattr(refit, "metric", None)
        if isinstance(metric, str) and metric not in names:
            raise ValueError(
                f"refit={refit!r} chooses by the metric {metric!r}, which is not among "
                f"those of scoring: {names}"
            )
        by_refit = refit if isinstance(refit, str) and refit in names else None
        self.name = by_refit or metric or names[0]
        self.metrics = names


class ScoreAndCost(GuidingMetric):
    """Score on the unit scale, and the negated cost of a trial."""

    separate_costs = True

    def __init__(self, search: Any, scorers: Any) -> None:
        self.cost, measure = parse_cost(search.cost)
        self.measures = {self.cost: measure}
        self._low, self._high = _bounds(search.score_range)
        super().__init__(search, scorers)
        error_score = search.error_score
        if not (isinstance(error_score, str) or np.isnan(error_score)):
            try:
                self.on_unit_scale(float(error_score))
            except ValueError as error:
                raise ValueError(f"error_score: {error}") from None

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the observation of a trial for the optimizer."""
        return [self.on_unit_scale(trial.score), -trial_cost(trial, self.cost)]

    def on_unit_scale(self, score: float) -> float:
        """Return a score relative to `score_range`; ValueError if it is required."""
        given = self._search.score_range is not None
        if not given and not np.isnan(score) and not 0 <= score <= 1:
            raise ValueError(
                f"A score of {score:.4g} is not between 0 and 1, so it cannot be "
                "compared with costs. Set score_range=(low, high), the scores that "
                "correspond to 0 and 1."
            )
        return (score - self._low) / (self._high - self._low)


def _bounds(score_range: Any) -> tuple[float, float]:
    """Return the scores that correspond to 0 and 1."""
    if score_range is None:
        return 0.0, 1.0
    bounds = list(score_range)
    if len(bounds) != 2 or not all(is_number(b) and np.isfinite(b) for b in bounds):
        raise ValueError(f"score_range must be a pair of numbers, got {score_range!r}.")
    if not bounds[0] < bounds[1]:
        raise ValueError(
            f"score_range must be (low, high) with low < high, got {score_range!r}."
        )
    return float(bounds[0]), float(bounds[1])


# -- table ----------------------------------------------------------------------------


def results_table(search: Any, run: SearchRun, history: History) -> dict[str, Any]:
    """Return `cv_results_` of some trials."""
    if not history:
        raise ValueError(
            f"The hook _ranked of {type(search).__name__} returned no trial; "
            "cv_results_ needs at least one row. The trials may have no scores."
        )
    more = search._extra_columns(run, history)
    params = [dict(trial.params) for trial in history]
    for aspect in aspects_of(run):
        # Parameters that an aspect sets, such as the number of rounds.
        for row, trial in zip(params, history, strict=True):
            row |= aspect.row_params(trial)
    folds = [fold.as_dict() for fold in history.folds]
    with warnings.catch_warnings():
        finished = [trial for trial in history if not trial.state.is_partial]
        tables = [t for trial in finished for t in (trial.scores, trial.train_scores)]
        if all(np.isfinite(row).all() for table in tables for row in table.values()):
            # Unfinished trials have no mean score by design.
            warnings.filterwarnings("ignore", "One or more of the t.* non-finite")
        return compat.format_results(search, params, len(run.splits), folds, more)


def rank(scores: FloatArray) -> np.ndarray:
    """Rank scores from 1, the greatest; rows without a score share the last rank.

    Infinite scores are ranked as in GridSearchCV.
    """
    order = np.nan_to_num(-scores, nan=np.inf)  # infinite ones become finite
    return rankdata(order, method="min").astype(np.int32)


# -- no finished trial ----------------------------------------------------------------


def untried(
    search: Any, run: SearchRun, stage: Stage, evaluator: CandidateEvaluator
) -> Trial:
    """Return a trial of the estimator's own configuration, which was not fitted.

    It is the result of a search whose timeout aborted its first trials. Instead of a
    configuration that is not in the space, the nearest one is used.
    """
    space, own = run.space, search._own_values()
    params = space.selection(own)
    if params is None:
        params = _nearest(space, own)
    if not space.allows(params):
        optimizer = stage.make_optimizer(run, History())
        params = optimizer.propose().params
    assign = functools.partial(stage.assigned, 0, 0)
    return dataclasses.replace(evaluator, assign=assign).untried(params)


def unfinished_text(run: SearchRun, params: Mapping[str, Any] | None) -> str:
    """Format the warning of a search in which no trial was finished."""
    chosen = ""
    if params is not None:
        shown = one_line(repr(dict(params)))[:MAX_TEXT]
        chosen = " is refitted" if run.refit.plain else " is best_params_"
        chosen = f" The configuration {shown}{chosen}, without a score."
        if run.constraints is not None:
            chosen += " Whether it satisfies the constraints is not known."
    if run.refit.rule == "ensemble":
        chosen += f" refit={run.settings['refit']!r} was not possible."
    return (
        f"No trial was finished within {run.options.limits}.{chosen} Increase the "
        "limit, or reduce cv or the number of rows."
    )


def _nearest(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the nearest values, which need not be allowed.

    Instead of other values that are not in the space, the middle of a range or the
    first option is used.
    """
    row = np.full(space.n_columns, np.nan)
    for place, column in enumerate(space.columns):
        value, dimension = values.get(column.name or ""), column.dimension
        if dimension.is_categorical:
            row[place] = dimension.grid[0]
        if is_number(value) and isinstance(dimension, Integer | Real):
            value = min(max(value, dimension.low), dimension.high)
        if dimension.contains(value):
            row[place] = dimension.encode([value])[0]
    return space.decode(space.snap(row[None]))[0]


# -- choice ---------------------------------------------------------------------------


def best_row(
    search: Any, run: SearchRun, found: Mapping[str, Any], metric: Any
) -> int | None:
    """Return the row that `refit` chooses, before rules; None if it chooses none."""
    refit, results = run.refit.plain, found["cv_results_"]
    if not refit and found["multimetric_"]:
        return None
    if run.is_unfinished:
        return 0  # by default, the current parameters of the estimator
    scores = None
    if not callable(refit):
        scores = search._selection_scores(run, results)
        if scores is None and run.constraints is not None:
            scores = results[f"mean_test_{metric}"]
    if scores is None:
        row: int = compat.select_best_index(refit, metric, results)
    else:
        row = _best_allowed_row(run, scores)
    best = run.ranked[row]
    if best.state.is_partial and callable(refit):
        raise ValueError(
            f"refit chose row {row}, a trial that was not finished: "
            f"cv_results_['state'] says it was {best.state}."
        )
    if best.state.is_partial:
        raise ValueError(
            f"No trial was finished within {run.options.limits}; see "
            "cv_results_ and trials_ for the unfinished trials."
        )
    return row


def best_attributes(
    results: Mapping[str, Any], row: int, metric: str | None = None
) -> dict[str, Any]:
    """Return `best_index_`, `best_params_`, and the score if there is a metric."""
    attributes = {"best_index_": row, "best_params_": results["params"][row]}
    if metric is not None:
        attributes["best_score_"] = results[f"mean_test_{metric}"][row]
    return attributes


def forget_choice(search: Any) -> None:
    """Remove what describes only the chosen configuration and its model."""
    for name in ("fold_estimators_", "oof_predictions_", "feature_names_in_"):
        search.__dict__.pop(name, None)


def choose_by_rule(
    search: Any, run: SearchRun, results: Mapping[str, Any], metric: str, best: int
) -> tuple[int, dict[str, Any]]:
    """Choose the best row or the own values; return it, and what describes its score.

    The rule "corrected" chooses the own values unless the score of the best row is
    still better after the correction of its optimism.
    """
    if run.is_unfinished:
        unknown = ("best_score_corrected_", "best_gain_", "best_gain_std_")
        return best, {**dict.fromkeys(unknown, math.nan), "own_index_": None}
    allowed = np.ones(len(run.ranked), dtype=bool)
    if run.constraints is not None:
        # Trials on small samples may satisfy bounds that those on all rows violate.
        complete = [
            trial.state == TrialState.COMPLETE and trial.stage == run.ranked[best].stage
            for trial in run.ranked
        ]
        allowed = least_violating(run.ranked.violations, complete)
    before, n_splits = int(np.sum(allowed[:best])), len(run.splits)
    table = {
        name: column[allowed]
        for name, column in results.items()
        if isinstance(column, np.ndarray)
    }
    corrected = corrected_best_score(table, before, n_splits, metric)
    scores = fold_scores(results, metric, n_splits)
    own = _own_row(search, run, allowed & np.isfinite(scores).all(axis=1), best)
    row = best
    if run.refit.rule == "corrected":
        if own is not None and not corrected > scores[own].mean():
            row = own
    score = float(results[f"mean_test_{metric}"][row])
    gain = std = math.nan
    if row == own:
        gain = std = 0.0
    elif own is not None:
        optimism = score - corrected
        gain, std = gain_of(scores[row], scores[own], n_splits, optimism)
    return row, {
        # The correction is for the selection of the greatest mean.
        "best_score_corrected_": corrected if row == best else score,
        "best_gain_": gain,
        "best_gain_std_": std,
        "own_index_": own,
    }


def _own_row(search: Any, run: SearchRun, usable: np.ndarray, best: int) -> int | None:
    """Return the usable row of the own values, with the training sets of the best."""
    selection = run.space.selection(search._own_values())
    if selection is None:
        return None
    chosen = run.ranked[best]
    rows = [
        row
        for row, trial in enumerate(run.ranked)
        if usable[row]
        and trial.state == TrialState.COMPLETE
        and (trial.stage, trial.train_fraction) == (chosen.stage, chosen.train_fraction)
        and trial.params in run.space
    ]
    wanted, *keys = map(
        key_of, run.space.encode([selection, *(run.ranked[r].params for r in rows)])
    )
    return next((r for r, key in zip(rows, keys, strict=True) if key == wanted), None)


def gain_of(
    scores: FloatArray, own: FloatArray, n_splits: int, optimism: float
) -> tuple[float, float]:
    """Return the corrected gain over the own values, and its standard error.

    The training sets of the splits overlap. The variance of the mean is therefore that
    of Nadeau and Bengio (2003): the variance of the differences on one fold times
    1 / n_folds + 1 / (n_splits - 1). The correction adds its square, because a pair of
    which one was chosen as the best of many differs more by chance than a fixed pair.
    """
    if n_splits < 2:
        return math.nan, math.nan
    difference = scores - own
    factor = 1.0 / len(difference) + 1.0 / (n_splits - 1)
    variance = factor * np.var(difference, ddof=1)
    gain = float(difference.mean() - optimism)
    return gain, math.hypot(math.sqrt(variance), optimism)


def warned_rows(run: SearchRun, usable: np.ndarray) -> np.ndarray:
    """Return which rows violate the constraints least; warn if none satisfies them."""
    allowed = least_violating(run.ranked.violations, usable)
    chosen = np.flatnonzero(allowed & usable)
    if len(chosen) and not run.ranked[chosen[0]].feasible:
        _warn(run, int(chosen[0]))
    return allowed


def _best_allowed_row(run: SearchRun, scores: FloatArray) -> int:
    """Return the best of the rows that violate constraints least; warn if they do."""
    chosen = int(best_first(scores, run.ranked.violations)[0])
    has_score = not np.isnan(np.ravel(scores[chosen])[0])
    if has_score and not run.ranked[chosen].feasible:
        _warn(run, chosen)
    return chosen


def _warn(run: SearchRun, chosen: int) -> None:
    assert run.constraints is not None
    trial = run.ranked[chosen]
    found = trial.outcomes
    broken = [
        f"{bound.name} is {found.get(bound.name, np.nan):.4g} (must be {bound.text})"
        for bound in run.constraints.bounds
        if not bound.slack(found.get(bound.name, np.nan)) <= 0.0
    ]
    warn_user(
        f"constraints: none of {len(run.ranked)} trials satisfies all of them; trial "
        f"{trial.number}, which violates them least, is chosen: {', '.join(broken)}."
    )
