"""Search that weighs scores against costs: `TradeoffSearchCV`."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.acquisition.fronts import envelope
from skbayes.acquisition.tradeoff import RULES, relative_costs
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import Fidelity, Subsets, check_train_size
from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.loop.stages import Outcome, Stage
from skbayes.optimizer.tradeoff_optimizer import TradeoffOptimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.warm_start import known_results, known_trials
from skbayes.search._docs import share_parameters
from skbayes.search._preparation import journal_trials, known_source
from skbayes.search._selection import least_violating
from skbayes.search._validation import MODEL_CONSTRAINTS, SurrogateNames
from skbayes.search.base import BaseBayesSearchCV, best_row, rank
from skbayes.search.score_and_cost import ScoreAndCost
from skbayes.space import Ordinal, Space
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.space.notation import parse_spaces
from skbayes.surrogates.registry import capability, registry

__all__ = ["TradeoffSearchCV"]

# What the size of the training set is called among the proposed parameters.
SIZE = "train_size"


@share_parameters
class TradeoffSearchCV(BaseBayesSearchCV):
    r"""Bayesian search for the best score less a multiple of the cost.

    The size of the training set is one more thing to choose: with a fifth of the rows
    many models are nearly as good, and fitted in a fifth of the time. Each trial is
    scored, its cost is measured (the time of its fit, unless you name another one), and
    what is maximized is the score less `tradeoff` times the relative cost. The chosen
    configuration is fitted in the end on the chosen share of the data.
    `tradeoff_curve_` says what would have been chosen for any other `tradeoff`,
    and :meth:`select` fits it.

    It takes what :class:`~skbayes.BayesSearchCV` takes, and `tradeoff`: how much better
    the most expensive model must be than one that costs nothing. `cost` says what is
    expensive. All else can be left alone.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    tradeoff : float, default=0.5
        How much of the score the cost of a typical fit on all of the data is worth, 0
        or more: with 0.1, a configuration that costs nothing is preferred to one of
        cost 1 that scores 0.1 better. With 0 costs do not count.
    train_sizes : sequence of float or int, default=(0.2, 0.4, 0.6, 0.8, 1.0)
        The sizes of training sets to choose from: fractions in (0, 1] of each split's
        training set, or numbers of rows (no mixture). The rows are drawn once: all
        trials of a size see the same, and a larger size has those of the smaller ones.
        A classifier's are stratified; `groups` stay whole. All test rows are used.
    cost : str or callable, default="fit_time"
        What is measured of each fit and averaged over the splits:

        - "fit_time", "score_time": seconds of fitting, and of scoring;
        - "cpu_time": seconds of processor time that fitting took, with all threads of
          its process; it hardly depends on how busy the machine is;
        - "model_size": bytes of the pickled estimator;
        - "n_features": features that the fitted estimator uses, see
          :func:`skbayes.evaluation.n_features`;
        - a callable of the fitted estimator that returns a number, 0 or more.
    score_range : tuple of (float, float), default=None
        What stands for a score of 0 and of 1, such as ``(-1.0, 0.0)`` for a negated
        loss that is never above 1. None: scores have to lie between 0 and 1.
    n_iter : int, default=20
        The most configurations to try.
    {timeout}
    surrogate : str or surrogate object, default="gp"
        The model of the score, as for :class:`~skbayes.BayesSearchCV`, but for "tpe",
        which has none. Costs have a Gaussian process of their own.
    acquisition : {"ei-tradeoff", "paper"}, default="ei-tradeoff"
        What a trial is chosen for: the expected improvement of the score less the cost
        on the best one so far; or the expected improvement of the score less `tradeoff`
        times the expected excess of the cost over the smallest, as published, which
        takes the cheapest fits once no large improvement is expected.
    cost_scale : {"auto", "log", "raw"}, default="auto"
        Whether the logarithm of the cost, or the cost itself, is normal in the model.
        "auto": on whichever scale it predicts the known costs better.
    all_tradeoffs : bool, default=False
        Whether the trials are to serve all tradeoffs: each is then chosen for one that
        is drawn anew, from 0.001 to 1 and evenly on a logarithmic scale, and `tradeoff`
        only says which is chosen in the end.
    n_initial_points : int or "auto", default=3
        How many configurations are spread over the space before the models decide.
        "auto" is 3.
    {initial_points}
    constraint : callable or None, default=None
        ``constraint(params) -> bool``; combinations for which it is False are never
        tried. `params` holds "train_size", too.
    {constraints}
    {target_metric}
    {scoring}
    {n_jobs}
    refit : bool, str or callable, default=True
        Whether to fit the chosen configuration on the chosen share of all data. With
        several metrics the name of the one that counts, or False. A callable receives
        `cv_results_` and returns the row to choose.
    {cv}
    {verbose}
    {pre_dispatch}
    random_state : int, RandomState instance or None, default=None
        Makes the choice of configurations repeatable for the same costs; measured times
        are never quite the same again.
    {error_score}
    {return_train_score}
    {n_points}
    stopper : callable, list of callable or None, default=None
        Called with `trials_` so far after each trial; the search ends when one returns
        True. Ready-made ones are in :mod:`skbayes.loop`; they go by scores
        alone.
    {trial_timeout}
    {trial_memory}
    warm_start_from : search, dict, data frame, study, path or None, default=None
        What is known already: a fitted search, its `cv_results_`, a data frame of
        these, the path of a journal, or a study of Optuna with one objective (negated
        if it minimizes), scored by the same metric. Trials of a
        TradeoffSearchCV keep their sizes and, if it was the same, their cost (in a
        journal only one that has a name); those of another search count for the largest
        size, at unknown cost. The best by score is tried again first.
    {journal}
    {progress_bar}
    {return_fold_estimators}
    {return_oof}
    {cache}
    {cache_limit}

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        One row per trial, with the columns that GridSearchCV has, and `train_fraction`,
        the share of the training rows; `cost`, in its own unit; `relative_cost`, from 0
        to 1; `tradeoff_score`, the score (brought to the range from 0 to 1) less
        `tradeoff` times the relative cost, and `rank_tradeoff_score`.
    tradeoff_curve_ : DataFrame or dict of str to ndarray
        The trials that are the best for some tradeoff, from 0 upwards: `tradeoff_from`
        and `tradeoff_to`, between which it is the one; `trial` (row of `cv_results_`),
        `score`, `cost`, `relative_cost`, `train_fraction`, and `param_<name>` for each
        parameter. A dict of arrays without pandas.
    best_train_fraction_ : float
        The share of the rows that the chosen configuration was tried on, and is fitted
        on in the end.
    best_cost_ : float
        Its cost.
    best_estimator_ : estimator
        The estimator fitted on that share of all data with the best parameters. Not
        there with ``refit=False``.
    best_score_ : float
        Mean score of the chosen trial over the splits; not necessarily the highest. Not
        there if `refit` is callable, or with several metrics and ``refit=False``.
    best_params_ : dict
        Its parameters. Not there with several metrics and ``refit=False``.
    best_index_ : int
        Its row in `cv_results_`; the first one if several tie.
    train_fractions_ : list of float
        Share of the training rows of each size, from the smallest, the mean over the
        splits.
    {scorer_}
    {n_splits_}
    {refit_time_}
    {total_time_}
    {multimetric_}
    {classes_}
    {n_features_in_}
    {feature_names_in_}
    {search_spaces_}
    {untuned_}
    {initial_points_}
    {trials_}
    {optimizer_}
    {stop_reason_}
    {n_points_}
    {fold_estimators_}
    {oof_predictions_}
    {target_metric_}

    See Also
    --------
    BayesSearchCV : Searches for the best score, whatever it costs.
    ParetoSearchCV : Searches for the whole front of two or more objectives, without the
        size of the training set.
    MultiStageSearchCV : Saves time in the search, not in the final model.

    Notes
    -----
    The method is that of Wang et al. Let :math:`L` be the score and :math:`\sigma` the
    relative cost,

    .. math::

        \sigma = \min(1, \text{cost} / \text{median cost of the trials on the
        largest training sets}),

    which is computed anew before each trial; before there is such a trial, the median
    of the largest ones there are is divided by their relative size. Then
    :math:`L - \alpha \sigma` is maximized, :math:`\alpha` being `tradeoff`. With
    :math:`\alpha = 0` the trials are those of :class:`~skbayes.BayesSearchCV` on a
    space with the training size as a further parameter.

    Times are those of `cv_results_`, as far as they are known of an estimator that was
    fitted before: the first fit of its kind in a process, which loads libraries and
    fills caches, is left out of the trial's mean. A trial of which nothing is left has
    no cost for the model; in the end it counts as much as the median trial on as many
    rows. What else makes times noisy is learned by the model of the cost. Fits that
    share processors take longer than others: compare times of trials that ran alike.

    "cpu_time" divides the processor time of a fold between fitting and scoring as the
    clock does. Where fits run in threads of one process at the same time, it counts all
    of them; use processes.

    References
    ----------
    L. Wang, M. Feng, B. Zhou, B. Xiang and S. Mahadevan, "Efficient hyper-parameter
    optimization for NLP applications", EMNLP 2015, and their later work on the tradeoff
    of accuracy and efficiency.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbayes import TradeoffSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = TradeoffSearchCV(
    ...     SVC(),
    ...     {"C": (1e-1, 1e3, "log-uniform"), "gamma": (1e-4, 1e-2, "log-uniform")},
    ...     tradeoff=0.1,
    ...     cost="model_size",
    ...     n_iter=10,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_train_fraction_ in (0.2, 0.4, 0.6, 0.8, 1.0)
    True
    >>> bool(search.select(0.0, X, y).best_score_ == max(
    ...     search.cv_results_["mean_test_score"]
    ... ))
    True
    """

    # Sources have no models of costs and further objectives.
    _takes_sources = False

    _parameter_constraints: dict = {
        **BaseBayesSearchCV._parameter_constraints,
        **MODEL_CONSTRAINTS,
        "tradeoff": [compat.Interval(Real, 0, None, closed="left")],
        "train_sizes": [list, tuple, np.ndarray],
        "cost": [str, callable],
        "score_range": [tuple, list, None],
        "surrogate": [
            # Scores are weighed against costs, or not looked at.
            SurrogateNames(
                {
                    name
                    for name in registry
                    if capability(name, "predicts_scores")
                    or not capability(name, "needs_scores")
                }
            ),
            compat.HasMethods(["fit", "predict", "condition"]),
        ],
        "acquisition": [compat.StrOptions(set(RULES))],
        "cost_scale": [compat.StrOptions({"auto", "log", "raw"})],
        "all_tradeoffs": ["boolean"],
    }
    # A trial with a low score may have the best tradeoff, and costs are those of a fit
    # with all of its rounds.
    del _parameter_constraints["racing"], _parameter_constraints["rounds"]

    tradeoff_curve_ = FrameAttribute(with_params=True)

    _subset_parameter = "train_sizes"

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
        timeout: float | None = None,
        surrogate: Any = "gp",
        acquisition: str = "ei-tradeoff",
        cost_scale: str = "auto",
        all_tradeoffs: bool = False,
        n_initial_points: int | str = 3,
        initial_points: list[dict] | str | None = "default",
        constraint: Callable[[dict], bool] | None = None,
        constraints: Mapping[str, Any] | None = None,
        target_metric: str | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_points: int | str = "auto",
        stopper: Any = None,
        trial_timeout: float | None = None,
        trial_memory: int | str | None = None,
        warm_start_from: Any = None,
        journal: str | PathLike | None = None,
        progress_bar: bool = False,
        return_fold_estimators: bool = False,
        return_oof: str | None = None,
        cache: bool = True,
        cache_limit: float = 1e9,
    ) -> None:
        self._store(locals())

    # -- what may be proposed -----------------------------------------------------

    def _sizes(self) -> list[Any]:
        """Return the sizes of training sets, from the smallest."""
        sizes = [check_train_size(size, "train_sizes") for size in self.train_sizes]
        if not sizes or len({type(size) for size in sizes}) > 1:
            raise ValueError(
                "train_sizes must be fractions, or numbers of rows, one at least and "
                f"no mixture, got {self.train_sizes!r}."
            )
        if len(set(sizes)) < len(sizes):
            raise ValueError(f"train_sizes: one is repeated in {self.train_sizes!r}.")
        return sorted(sizes)

    def _make_space(self) -> Space:
        space, sizes = super()._make_space(), Ordinal(self._sizes())
        if SIZE in space.parameter_names:
            raise ValueError(
                f"search_spaces: {SIZE!r} is the size of the training set, which "
                "train_sizes is about; an estimator with a parameter of that name "
                "cannot be searched over it."
            )
        if isinstance(self.search_spaces_, Space):
            return space.extended(SIZE, sizes)
        # As if it had been written with the others.
        spaces = parse_spaces(self.search_spaces_)
        return Space([{**one, SIZE: sizes} for one in spaces], self.constraint)

    def _own_values(self) -> dict[str, Any]:
        return {**super()._own_values(), SIZE: self._sizes()[-1]}

    def _stages(self, run: SearchRun) -> list[Stage]:
        fidelities = [Fidelity(train_size=size) for size in self._sizes()]
        make = self._first_optimizer(run)
        return [Stage(make, int(self.n_iter), _split_size, fidelities, weight=1.0)]

    def _make_optimizer(self, space: Space, seed: int) -> TradeoffOptimizer:
        largest = self._sizes()[-1]
        points = [{SIZE: largest, **point} for point in self.initial_points_]
        return TradeoffOptimizer(
            space,
            None if self.all_tradeoffs else float(self.tradeoff),
            functools.partial(_relative_sizes, largest),
            surrogate=self.surrogate,
            acquisition=self.acquisition,
            cost_scale=self.cost_scale,
            n_initial_points=self.n_initial_points,
            initial_points=points or None,
            prior=self._prior,
            random_state=seed,
        )

    def _make_objective(self, scorers: Any) -> ScoreAndCost:
        return ScoreAndCost(self, scorers)

    # -- what is known already ----------------------------------------------------

    def _known_results(self, run: SearchRun) -> list[tuple]:
        source = self.warm_start_from
        if source is None:
            return []
        objective, n_outside = run.objective, 0
        if isinstance(source, str | PathLike):
            trials, n_outside = journal_trials(source, run.space)
            # It does not say which callable measured its costs.
            same_cost = isinstance(self.cost, str)
        else:
            trials = self._own_trials(source)
            same_cost = bool(trials) and source.cost == self.cost
        if not trials:
            return self._known_of_others(objective)
        known = []
        for trial in trials:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = known_results([trial], run.space, objective.name or "score")
            known += [
                (
                    params,
                    [
                        objective.on_unit_scale(score),
                        -objective.costs.of_trial(trial) if same_cost else np.nan,
                    ],
                    noise,
                )
                for params, score, noise in rows
            ]
        n_trials = len(trials) + n_outside
        if len(known) < n_trials:
            warnings.warn(
                f"warm_start_from: {n_trials - len(known)} of {n_trials} known "
                "configurations are ignored (outside search_spaces or train_sizes, or "
                "without a score).",
                UserWarning,
                stacklevel=3,
            )
        return known

    def _own_trials(self, source: Any) -> list[Trial]:
        """Return the trials of a search of this kind, with their sizes."""
        if not isinstance(source, TradeoffSearchCV):
            return []
        check_is_fitted(source, "trials_")
        sizes = dict(zip(source.train_fractions_, source._sizes(), strict=True))
        return [
            dataclasses.replace(
                trial,
                params={**trial.params, SIZE: sizes[trial.train_fraction]},
                train_fraction=1.0,
            )
            for trial in source.trials_
        ]

    def _known_of_others(self, objective: ScoreAndCost) -> list[tuple]:
        """Return what is known of the largest training sets, at unknown cost."""
        space = Space.from_notation(self.search_spaces_)
        largest = self._sizes()[-1]
        return [
            (
                {**one.params, SIZE: largest},
                [objective.on_unit_scale(one.score), np.nan],
                one.noise,
            )
            for one in known_trials(
                known_source(self, space), space, objective.name or "score"
            )
        ]

    # -- after the last trial -----------------------------------------------------

    def _tabulate(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        self.train_fractions_ = [
            run.train_fraction(Fidelity(train_size=size)) for size in self._sizes()
        ]
        return super()._tabulate(run, outcome)

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        fractions = np.array([trial.train_fraction for trial in history])
        relative = fractions / self.train_fractions_[-1]
        costs = run.objective.costs.of_all(history, relative)
        sigma = relative_costs(costs, relative)
        scores = np.array(
            [
                run.objective.on_unit_scale(trial.score)
                if trial.state == TrialState.COMPLETE
                else np.nan
                for trial in history
            ]
        )
        tradeoff = scores - self.tradeoff * sigma
        return {
            **super()._extra_columns(run, history),
            "train_fraction": list(fractions),
            "cost": list(costs),
            "relative_cost": list(sigma),
            "tradeoff_score": list(tradeoff),
            "rank_tradeoff_score": list(rank(tradeoff)),
        }

    def _select(
        self, run: SearchRun, results: dict[str, Any], refit_metric: Any
    ) -> None:
        unit_scores = self._unit_scores(results)
        if not np.any(np.isfinite(unit_scores)):
            raise ValueError(
                "No trial has both a score and a cost; cv_results_ and trials_ hold "
                "what there is."
            )
        self._subset_seed = run.seed
        self.tradeoff_curve_ = _curve(results, unit_scores, self.target_metric_)
        super()._select(run, results, refit_metric)
        if hasattr(self, "best_score_corrected_"):
            # It is about the best score, which this is not.
            del self.best_score_corrected_
        if hasattr(self, "best_index_"):
            self._describe_best()

    def _selection_scores(self, results: dict[str, Any]) -> FloatArray:
        # Of equal ones the cheapest, as in `tradeoff_curve_`.
        return _by_cost(results["tradeoff_score"], results["relative_cost"])

    def _unit_scores(self, results: Mapping[str, Any]) -> FloatArray:
        """Return scores from 0 to 1, NaN for trials that cannot be chosen."""
        scores = results["tradeoff_score"] + self.tradeoff * results["relative_cost"]
        violation = np.array([trial.violation or 0.0 for trial in self.trials_])
        allowed = least_violating(violation, np.isfinite(scores))
        return np.where(allowed, scores, np.nan)

    def _describe_best(self) -> None:
        best = self.best_index_
        self.best_train_fraction_ = float(self.cv_results_["train_fraction"][best])
        self.best_cost_ = float(self.cv_results_["cost"][best])

    def _refit_rows(self, run: SearchRun) -> Any:
        size = self._sizes()[self.train_fractions_.index(self.best_train_fraction_)]
        fidelity = Fidelity(train_size=size)
        everything = np.arange(run.n_samples)
        subsets = Subsets.draw(
            [(everything, everything[:0])],
            [fidelity],
            labels=run.y if is_classifier(self.estimator) else None,
            groups=run.split_params.get("groups"),
            seed=run.seed,
            parameter=self._subset_parameter,
        )
        rows = subsets.rows(0, everything, fidelity)
        return None if rows is everything else rows

    def select(self, tradeoff: float, X: Any, y: Any = None, **params: Any) -> Self:
        """Take what is best for another tradeoff, and fit it on its share of the data.

        Nothing is searched again: the `best_*` attributes are set anew, and the methods
        of the estimator are those of the new `best_estimator_`. What each tradeoff
        chooses is in `tradeoff_curve_`.

        Parameters
        ----------
        tradeoff : float
            0 or more.
        X : array-like of shape (n_samples, n_features)
            Training data, as for `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict of str to object
            As for `fit`.

        Returns
        -------
        self : object
            The search.

        Raises
        ------
        TypeError, ValueError
            If `tradeoff` is no number, or less than 0.
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
        scores = self._unit_scores(results) - tradeoff * costs
        self.best_index_ = best_row(_by_cost(scores, costs))
        self.best_params_ = results["params"][self.best_index_]
        self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self._describe_best()
        run.seed = self._subset_seed
        self._refit(run, self._refit_rows(run))
        return self


def _by_cost(values: FloatArray, costs: FloatArray) -> FloatArray:
    """Return keys by which the greatest value is chosen; of equal ones the cheapest."""
    return np.column_stack([values, -costs])


def _split_size(k: int, params: dict[str, Any]) -> tuple[dict[str, Any], Fidelity]:
    """Split a proposal into parameters of the estimator and the training size."""
    rest = {name: value for name, value in params.items() if name != SIZE}
    return rest, Fidelity(train_size=params[SIZE])


def _relative_sizes(largest: float, params: Sequence[Mapping[str, Any]]) -> FloatArray:
    return np.array([one[SIZE] / largest for one in params], dtype=float)


def _curve(
    results: Mapping[str, Any], scores: FloatArray, metric: str
) -> dict[str, np.ndarray]:
    """Describe the trials that are the best for some tradeoff."""
    rows, begins = envelope(scores, results["relative_cost"])
    table = {
        "tradeoff_from": begins,
        "tradeoff_to": np.append(begins[1:], np.inf),
        "trial": rows,
        "score": results[f"mean_test_{metric}"][rows],
    }
    columns = ("cost", "relative_cost", "train_fraction")
    return table | {name: np.asarray(results[name])[rows] for name in columns}
