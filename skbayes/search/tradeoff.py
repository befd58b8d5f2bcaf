"""Bayesian search for the best tradeoff of score and cost: `TradeoffSearchCV`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.acquisition.tradeoff import RULES, envelope, relative_costs
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.costs import trial_cost, trial_costs
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import Fidelity, check_train_size
from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.loop.stages import Outcome, Stage
from skbayes.optimizer.tradeoff_optimizer import TradeoffOptimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.warm_start import KnownTrial, journal_trials, known_trials
from skbayes.search._parameters import (
    ANY_SURROGATE,
    OF_BEST_SCORE,
    share_parameters,
    surrogate_parameter,
)
from skbayes.search._preparation import drawn_from
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.choice import (
    ScoreAndCost,
    best_attributes,
    best_row,
    forget_choice,
    rank,
)
from skbayes.space import Ordinal, Space
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.space.notation import parse_spaces
from skbayes.utils.ranking import best_first, least_violating

# Name of the training size among the proposed parameters.
SIZE = "train_size"


@share_parameters
class TradeoffSearchCV(BaseBayesSearchCV):
    r"""Bayesian search for the best score minus a multiple of the cost.

    The size of the training set is tuned together with the hyper-parameters. With a
    fifth of the rows, many models are nearly as good and are fitted in a fifth of the
    time. Each trial has a score and a cost, which is the fit time by default. The
    search maximizes the score minus `tradeoff` times the
    relative cost. The chosen configuration is then fitted on the chosen fraction of the
    data. ``tradeoff_curve_`` lists the best configuration for every other value of
    `tradeoff`, and :meth:`select` fits it.

    Most parameters and attributes are those of :class:`~skbayes.BayesSearchCV`.
    Set `tradeoff` to the additional score that justifies the cost of a typical fit on
    all data. `cost` selects the type of cost.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    tradeoff : float, default=0.5
        Weight of the relative cost, 0 or more. A typical fit on all of the data has a
        relative cost of 1. For example, with 0.1 a configuration of cost 0 is preferred
        to a configuration of cost 1 unless the score of the latter is higher by more
        than 0.1. With 0, costs are ignored.
    train_sizes : sequence of float or int, default=(0.2, 0.4, 0.6, 0.8, 1.0)
        Training sizes to choose from: either fractions in (0, 1] of each split's
        training set, or numbers of rows. The rows are drawn once: all trials of a size
        use the same rows, and larger sizes include the rows of smaller ones. Rows are
        stratified for classifiers, and `groups` are kept together. All test rows are
        used.
    cost : str or callable, default="fit_time"
        Cost that is measured for each fit and averaged over the splits:

        - "fit_time", "score_time": seconds of fitting and of scoring;
        - "cpu_time": seconds of processor time of fitting, in all threads of the
          process; it hardly depends on the load of the machine;
        - "predict_time": seconds that `predict` takes for one row;
        - "model_size": size of the pickled estimator in bytes;
        - "n_features": number of features that the fitted estimator uses, see
          :func:`skbayes.evaluation.n_features`;
        - a callable ``cost(estimator)`` that returns a number, 0 or more, for a fitted
          estimator.
    score_range : tuple of (float, float), default=None
        Scores that correspond to 0 and 1, such as ``(-1.0, 0.0)`` for a negated loss
        that is never above 1. With None, all scores must be between 0 and 1.
    {n_iter}
    surrogate : str, surrogate object or tuple, default="gp"
        Model of the scores, as for :class:`~skbayes.BayesSearchCV`. "tpe" is not
        supported, since it does not predict scores. Costs are modeled by a separate
        Gaussian process. A tuple consists of the model and the acquisition function:

        - "ei-tradeoff": expected improvement of the score minus the weighted cost over
          the best trial so far, the default;
        - "paper": expected improvement of the score minus `tradeoff` times the expected
          excess of the cost over the smallest one, as published. It selects the
          cheapest fits once no large improvement is expected.
    cost_scale : {"auto", "log", "raw"}, default="auto"
        Scale on which the model of the cost assumes a normal distribution: the
        logarithm ("log") or the cost itself ("raw"). "auto" uses the scale that
        predicts the known costs better.
    all_tradeoffs : bool, default=False
        Whether to choose trials for all tradeoffs. Each trial is then chosen for a
        random tradeoff, drawn from 0.001 to 1 uniformly on a logarithmic scale.
        `tradeoff` determines only the configuration that is chosen at the end.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number is 3 unless an int is given.
    {constraints}
        The dict that a rule receives includes "train_size".
    refit : bool, str, dict or callable, default=True
        Whether to fit the chosen configuration on the chosen fraction of all data. With
        several metrics, it is the name of the metric that determines the best
        configuration, or False. A callable receives ``cv_results_`` and returns the
        index of the row to choose.
    {random_state}
        The costs must be the same, too, which is not the case for measured times.
    {stopper}
        They use only the scores.
    warm_start_from : search, dict, data frame, study, path or None, default=None
        Results of an earlier search, scored by the same metric: a fitted search, its
        ``cv_results_``, a data frame of these, the path of a journal, or an Optuna
        study with one objective. The values of a study that minimizes are negated.

        Trials of a TradeoffSearchCV keep their training sizes. They also keep their
        costs if the `cost` was the same; in a journal, only costs with a name are kept.
        Trials of other searches are used as trials on the largest size with unknown
        cost. The configuration with the best score is tried first.
    {parameters}

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. The additional
        columns are:

        - `train_fraction`: fraction of the training rows;
        - `cost`: cost in its own unit;
        - `relative_cost`: relative cost, from 0 to 1;
        - `tradeoff_score`: score, scaled to the range from 0 to 1, minus `tradeoff`
          times the relative cost;
        - `rank_tradeoff_score`: rank of the tradeoff score, 1 for the best.
    tradeoff_curve_ : DataFrame or dict of str to ndarray
        Trials that are the best for some tradeoff, in the order of the tradeoff from 0
        upwards. `tradeoff_from` and `tradeoff_to` are the limits between which the
        trial is the best. The other columns are `trial` (row of ``cv_results_``),
        `score`, `cost`, `relative_cost`, `train_fraction`, and ``param_<name>`` for
        each hyper-parameter. Without pandas, a dict of arrays.
    best_train_fraction_ : float
        Fraction of the rows of the chosen trial, which is also used for the refit.
    best_cost_ : float
        Cost of the chosen trial.
    best_estimator_ : estimator
        Estimator with the chosen configuration, fitted on this fraction of all data.
        Available unless ``refit=False``.
    train_fractions_ : list of float
        Fraction of the training rows for each size in ascending order, averaged over
        the splits.
    {attributes}

    See Also
    --------
    BayesSearchCV : Bayesian search for the best score, regardless of the cost.
    ParetoSearchCV : Bayesian search for the Pareto front of two or more objectives.
    MultiStageSearchCV : Bayesian search that is faster, with a final model on all data.

    Notes
    -----
    The method is that of Wang et al. Let :math:`L` be the score and :math:`\sigma` the
    relative cost,

    .. math::

        \sigma = \min(1, \text{cost} / \text{median cost of the trials on the
        largest training sets}).

    It is computed again before each trial. If there is no trial on the largest training
    sets yet, the median cost of the largest ones so far is divided by their relative
    size. The search maximizes :math:`L - \alpha \sigma`, where :math:`\alpha` is
    `tradeoff`. With :math:`\alpha = 0`, the trials are those of
    :class:`~skbayes.BayesSearchCV` on a space with the training size as an additional
    dimension.

    Times are those of ``cv_results_`` with one exception: the first fit of its kind in
    a process also loads libraries and fills caches, and is excluded from the mean of
    its trial. If no fit of a trial remains, its cost is unknown to the surrogate. For
    the final choice, it then has the median cost of the trials with the same number of
    rows. The model of the cost estimates all other noise. Fits that share processors
    take longer than others, so compare only times of trials that ran under the same
    conditions.

    "cpu_time" divides the processor time of a fold between fitting and scoring in
    proportion to their wall times. If fits run in threads of one process at the same
    time, it includes all of them; use processes in this case.

    References
    ----------
    L. Wang, M. Feng, B. Zhou, B. Xiang and S. Mahadevan, "Efficient hyper-parameter
    optimization for NLP applications", EMNLP 2015.
    L. Wang, F. Dernoncourt and T. Bui, "Bayesian optimization for selecting efficient
    machine learning models", 2020, arXiv:2008.00386.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes import TradeoffSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = TradeoffSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": (1, 20), "weights": ["uniform", "distance"]},
    ...     tradeoff=0.1,
    ...     cost="model_size",
    ...     n_iter=10,
    ...     cv=3,
    ...     random_state=2,
    ... ).fit(X, y)
    >>> search.best_params_
    {'n_neighbors': 4, 'weights': 'distance'}
    >>> print(f"{search.best_score_:.3f}, {search.best_train_fraction_:.0%} of rows")
    0.963, 60% of rows

    The best trials for other tradeoffs are also available. With a tradeoff of 0, the
    cost is ignored:

    >>> columns = ["tradeoff_from", "score", "train_fraction", "param_n_neighbors"]
    >>> search.tradeoff_curve_[columns].round(3)
       tradeoff_from  score  train_fraction  param_n_neighbors
    0          0.000  0.964             0.8                  4
    1          0.006  0.963             0.6                  4
    2          0.106  0.942             0.4                  7
    3          0.240  0.894             0.2                 11
    >>> search = search.select(0.0, X, y)
    >>> print(f"{search.best_score_:.3f}, {search.best_train_fraction_:.0%} of rows")
    0.964, 80% of rows
    """

    # Searches on other data have no models of the cost.
    _takes_sources = False

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("tradeoff", [compat.Interval(Real, 0, None, closed="left")]),
        Parameter("train_sizes", [list, tuple, np.ndarray]),
        Parameter("cost", [str, callable]),
        Parameter("score_range", [tuple, list, None]),
        surrogate_parameter(ANY_SURROGATE, RULES),
        Parameter("cost_scale", [compat.StrOptions({"auto", "log", "raw"})]),
        Parameter("all_tradeoffs", ["boolean"]),
    )
    # A trial with a low score can have the best tradeoff. A corrected score would have
    # to be that of the tradeoff.
    _omitted: ClassVar[tuple[str, ...]] = ("racing", *OF_BEST_SCORE)

    tradeoff_curve_ = FrameAttribute(with_params=True)

    _kind_of_metric = ScoreAndCost
    _has_ensembles = False
    _subset_parameter = "train_sizes"
    _n_initial_points = 3
    _acquisition = "ei-tradeoff"

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any = "auto",
        *,
        tradeoff: float = 0.5,
        train_sizes: Sequence[float | int] = (0.2, 0.4, 0.6, 0.8, 1.0),
        cost: str | Callable[[Any], float] = "fit_time",
        score_range: tuple[float, float] | None = None,
        n_iter: int = 20,
        cost_scale: str = "auto",
        all_tradeoffs: bool = False,
        **shared: Any,
    ) -> None:
        self._store(locals())

    # -- what may be proposed -----------------------------------------------------

    def _sizes(self) -> list[Any]:
        """Return the training sizes in ascending order."""
        sizes = [check_train_size(size, "train_sizes") for size in self.train_sizes]
        if len(set(map(type, sizes))) != 1:
            raise ValueError(
                "train_sizes must contain either fractions or numbers of rows, at "
                f"least one, got {self.train_sizes!r}."
            )
        if len(set(sizes)) < len(sizes):
            raise ValueError(f"train_sizes has duplicates: {self.train_sizes!r}.")
        return sorted(sizes)

    def _make_space(self, notation: Any) -> Space:
        space, sizes = super()._make_space(notation), Ordinal(self._sizes())
        if SIZE in space.parameter_names:
            raise ValueError(
                f"search_spaces must not contain {SIZE!r}, which is the name of the "
                "training size that train_sizes defines. A parameter of the estimator "
                "with the same name cannot be tuned."
            )
        if isinstance(notation, Space):
            return space.extended(SIZE, sizes)
        # Add the training size to each space.
        spaces = parse_spaces(notation)
        return Space([{**by_name, SIZE: sizes} for by_name in spaces], self._rule())

    def _own_values(self) -> dict[str, Any]:
        return {**super()._own_values(), SIZE: self._sizes()[-1]}

    def _stages(self, run: SearchRun) -> list[Stage]:
        sizes = [Fidelity(train_size=size) for size in self._sizes()]
        first, most = self._first_optimizer, self._most_trials()
        return [Stage(first, most, _split_size, sizes, weight=1.0)]

    def _make_optimizer(self, run: SearchRun) -> TradeoffOptimizer:
        largest = self._sizes()[-1]
        points = [{SIZE: largest, **point} for point in run.initial_points]
        return TradeoffOptimizer(
            run.space,
            None if self.all_tradeoffs else float(self.tradeoff),
            functools.partial(_relative_sizes, largest),
            cost_scale=self.cost_scale,
            **self._settings(run, initial_points=points),
        )

    # -- what is known already ----------------------------------------------------

    def _known_results(self, run: SearchRun) -> list[KnownTrial]:
        source, objective = self.warm_start_from, run.objective
        metric = objective.name or "score"
        trials, n_others, same_cost = self._trials_with_sizes(source, run.space)
        if not trials:
            # The results of other searches are on the largest size, at unknown cost.
            largest, space = self._sizes()[-1], Space.from_notation(run.search_spaces)
            space = space.with_ones(run.space.ones)
            return [
                known._replace(
                    params={**known.params, SIZE: largest},
                    score=[objective.on_unit_scale(known.score), np.nan],
                    cost=None,
                )
                for known in known_trials(source, space, metric)
            ]
        # The scores on all sizes are used.
        whole = [dataclasses.replace(trial, train_fraction=1.0) for trial in trials]
        costs = [trial_cost(t, objective.cost) if same_cost else np.nan for t in trials]
        return [
            known._replace(
                score=[objective.on_unit_scale(known.score), -costs[known.place]]
            )
            for known in known_trials(whole, run.space, metric, False, n_others)
        ]

    def _trials_with_sizes(
        self, source: Any, space: Space
    ) -> tuple[Sequence[Trial], int, bool]:
        """Return trials with training sizes, and the number of others.

        The last value is whether they have the same cost.
        """
        if isinstance(source, str | PathLike):
            # The journal does not identify a callable cost.
            return *journal_trials(source, space), isinstance(self.cost, str)
        if not isinstance(source, TradeoffSearchCV):
            return [], 0, False
        check_is_fitted(source, "trials_")
        sizes = dict(zip(source.train_fractions_, source._sizes(), strict=True))
        trials = [
            dataclasses.replace(t, params={**t.params, SIZE: sizes[t.train_fraction]})
            for t in source.trials_
        ]
        return trials, 0, source.cost == self.cost

    # -- after the last trial -----------------------------------------------------

    def _describe(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        described = super()._describe(run, outcome)
        return described | {"train_fractions_": self._fractions(run)}

    def _fractions(self, run: SearchRun) -> list[float]:
        """Return the training sizes as shares of the training rows."""
        return [run.train_fraction(Fidelity(train_size=size)) for size in self._sizes()]

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        fractions = np.array([trial.train_fraction for trial in history])
        relative = fractions / self._fractions(run)[-1]
        costs = trial_costs(history, run.objective.cost, relative)
        sigma = relative_costs(costs, relative)
        complete = [trial.state == TrialState.COMPLETE for trial in history]
        scores = np.where(complete, [trial.score for trial in history], np.nan)
        unit_scores = np.array(list(map(run.objective.on_unit_scale, scores)))
        tradeoff = unit_scores - self.tradeoff * sigma
        return {
            **super()._extra_columns(run, history),
            "train_fraction": list(fractions),
            "cost": list(costs),
            "relative_cost": list(sigma),
            "tradeoff_score": list(tradeoff),
            "rank_tradeoff_score": list(rank(tradeoff)),
        }

    def _select(self, run: SearchRun, found: Mapping[str, Any]) -> dict[str, Any]:
        results = found["cv_results_"]
        unit_scores = self._unit_scores(results, found["trials_"])
        if not np.any(np.isfinite(unit_scores)) and not run.is_unfinished:
            raise ValueError(
                "No trial has both a score and a cost; see cv_results_ and trials_ "
                "for the measured values."
            )
        attributes = {
            "_subset_seed": run.seed,
            "tradeoff_curve_": _curve(results, unit_scores, found["target_metric_"]),
        }
        metric = self._metric_of_refit(run, found)
        if (row := best_row(self, run, found, metric)) is not None:
            metric = None if callable(run.refit.plain) else metric
            attributes |= _best(results, row, metric)
        return attributes

    def _selection_scores(
        self, run: SearchRun, results: Mapping[str, Any]
    ) -> FloatArray:
        # The cheapest of ties, as in `tradeoff_curve_`.
        return _by_cost(results["tradeoff_score"], results["relative_cost"])

    def _unit_scores(self, results: Mapping[str, Any], trials: History) -> FloatArray:
        """Return scores from 0 to 1, NaN for trials that cannot be chosen."""
        scores = results["tradeoff_score"] + self.tradeoff * results["relative_cost"]
        allowed = least_violating(trials.violations, np.isfinite(scores))
        return np.where(allowed, scores, np.nan)

    def _refit_rows(self, run: SearchRun, found: Mapping[str, Any]) -> Any:
        place = found["train_fractions_"].index(found["best_train_fraction_"])
        fidelity = Fidelity(train_size=self._sizes()[place])
        everything = np.arange(run.n_samples)
        split = everything, everything[:0]
        subsets = drawn_from(self, run, [split], [fidelity])
        rows = subsets.rows(0, everything, fidelity)
        return None if rows is everything else rows

    def select(self, tradeoff: float, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose the best trial for another tradeoff, and refit it.

        The trial is chosen from the existing ones, and fitted on its fraction of the
        data. The ``best_*`` attributes are replaced, and methods such as `predict` use
        the new ``best_estimator_``. ``fold_estimators_`` and ``oof_predictions_`` are
        removed.
        ``tradeoff_curve_`` lists the chosen trial for each tradeoff.

        Parameters
        ----------
        tradeoff : float
            Weight of the relative cost, 0 or more.
        X : array-like of shape (n_samples, n_features)
            Training data, as for `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict of str to object
            Metadata, as for `fit`.

        Returns
        -------
        self : object
            Search with the new choice.

        Raises
        ------
        TypeError, ValueError
            If `tradeoff` is not a number, or is negative.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "tradeoff_curve_")
        if not is_number(tradeoff):
            raise TypeError(f"tradeoff must be a number, got {tradeoff!r}.")
        if not 0.0 <= tradeoff < np.inf:
            raise ValueError(f"tradeoff must be 0 or more, got {tradeoff!r}.")
        run = self._run_of_refit(X, y, params)
        results, metric = self.cv_results_, self.target_metric_
        costs = results["relative_cost"]
        scores = self._unit_scores(results, self.trials_) - tradeoff * costs
        row = int(best_first(_by_cost(scores, costs))[0])
        forget_choice(self)
        self._set(_best(results, row, metric))
        run = dataclasses.replace(run, seed=self._subset_seed)
        self._refit(self, run, vars(self))
        return self


def _best(results: Mapping[str, Any], row: int, metric: Any) -> dict[str, Any]:
    return best_attributes(results, row, metric) | {
        "best_train_fraction_": float(results["train_fraction"][row]),
        "best_cost_": float(results["cost"][row]),
    }


def _by_cost(values: FloatArray, costs: FloatArray) -> FloatArray:
    """Return keys that choose the greatest value, and the cheapest one of ties."""
    return np.column_stack([values, -costs])


def _split_size(k: int, params: dict[str, Any]) -> tuple[dict[str, Any], Fidelity]:
    rest = {name: value for name, value in params.items() if name != SIZE}
    return rest, Fidelity(train_size=params[SIZE])


def _relative_sizes(largest: float, params: Sequence[Mapping[str, Any]]) -> FloatArray:
    return np.array([by_name[SIZE] / largest for by_name in params], dtype=float)


def _curve(
    results: Mapping[str, Any], scores: FloatArray, metric: str
) -> dict[str, np.ndarray]:
    """Describe the trials that are the best for some tradeoff."""
    rows, begins = envelope(scores, results["relative_cost"])
    table = {
        "tradeoff_from": begins,
        "tradeoff_to": np.append(begins, np.inf)[1:],
        "trial": rows,
        "score": results[f"mean_test_{metric}"][rows],
    }
    columns = ("cost", "relative_cost", "train_fraction")
    return table | {name: np.asarray(results[name])[rows] for name in columns}
