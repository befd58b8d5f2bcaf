"""Search for the Pareto front of several objectives: `ParetoSearchCV`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.acquisition.fronts import choose_point, hypervolumes, is_nondominated
from skbayes.evaluation.objectives import Objectives
from skbayes.evaluation.run import SearchRun
from skbayes.loop.stages import Outcome
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.warm_start import known_results, study_of
from skbayes.search._docs import share_parameters
from skbayes.search._preparation import known_source
from skbayes.search._selection import warned_rows
from skbayes.search._validation import MODEL_CONSTRAINTS
from skbayes.search.base import BaseBayesSearchCV, rank
from skbayes.space import Space
from skbayes.space.candidates import key_of

__all__ = ["ParetoSearchCV"]

# Arguments of the other searches that speak of one objective, or of one winner.
_NOT_HERE = (
    "scoring",
    "target_metric",
    "racing",
    "rounds",
    "return_fold_estimators",
    "return_oof",
)


@share_parameters
class ParetoSearchCV(BaseBayesSearchCV):
    """Bayesian search for the best tradeoffs between several objectives.

    Accuracy and the time that a prediction takes, for example: there is no best
    configuration, but a front of those that none is better than in everything. Each
    trial is chosen for the volume that it is expected to add to what the front
    dominates (expected hypervolume improvement), by one model for each objective.

    Say what counts by `objectives`, such as ``{"accuracy": "max", "fit_time": "min"}``:
    `pareto_front_` is then what there is to choose from. A point in the middle is
    fitted, and :meth:`select` takes another. All else can be left alone.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune.
    {search_spaces}
    objectives : dict of str to str or tuple
        Two or more; for each name whether it is to be large ("max") or small ("min").
        A name is that of a scorer, such as "accuracy" (one at least; always "max"), or
        of a cost that is measured with each fit:

        - "fit_time", "score_time": seconds of fitting, and of scoring by all scorers;
        - "cpu_time": seconds of processor time that fitting took, with all threads of
          its process; it hardly depends on how busy the machine is;
        - "model_size": bytes of the pickled estimator;
        - "n_features": features that the fitted estimator uses, see
          :func:`skbayes.evaluation.n_features`.

        Other objectives have any name, and in place of the direction a tuple
        ``(direction, what)``, with a callable of the fitted estimator that returns a
        number, a scorer (a callable of estimator, X and y), or one of the names above.
    n_iter : int, default=50
        The most configurations to try. If the space has no more than that, each is
        tried once.
    {timeout}
    surrogate : str or surrogate object, default="gp"
        The model of each objective, as for :class:`~skbayes.BayesSearchCV`: "gp" is a
        Gaussian process. "tpe" is for one objective only.
    n_initial_points : int or "auto", default="auto"
        Number of configurations spread over the space before the models decide, as for
        :class:`~skbayes.BayesSearchCV`.
    {initial_points}
    {constraint}
    {constraints}
    n_jobs : int or None, default=None
        How many fits run at the same time, as for GridSearchCV. Times are longer, and
        less comparable, where fits share a processor.
    refit : str, dict, callable or bool, default="knee"
        Which point of the front to fit on all data, and to describe by the `best_*`
        attributes: the name of an objective, which it is the best in; "knee", the
        compromise nearest to the best of each objective; a dict of weights by
        objective; a callable that receives `cv_results_` and returns a row, which need
        not be on the front. True stands for "knee". False: none. See :meth:`select`.
    cv : int, splitter, iterable or None, default=None
        As for GridSearchCV. The splits are drawn once and shared by all trials.
    verbose : int, default=0
        From 1 on, one line is printed per trial, whose score is the first objective
        (negated if it is to be small).
    {pre_dispatch}
    random_state : int, RandomState instance or None, default=None
        Makes the choice of configurations repeatable; see Notes.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. A trial with a failed fit has no costs, and is on no
        front. "raise" passes the error on, also that of a cost's callable; otherwise it
        is a warning.
    {return_train_score}
    {n_points}
    stopper : callable, list of callable or None, default=None
        Called with `trials_` so far after each trial; the search ends when one returns
        True. The score of a trial is its first objective (negated if it is to be
        small), its expected improvement that of the hypervolume, as a share of the box.
    trial_timeout : float or None, default=None
        Seconds for the fits of a trial. A fit that is running then is ended. None: no
        limit.
    trial_memory : int, str or None, default=None
        Memory for a fit, in bytes or as a text such as "2 GB". None: no limit.
    warm_start_from : search, data frame, path or None, default=None
        What is known already: a fitted search for the same objectives, its
        `cv_results_`, or the path of its journal. The front that is known is tried
        again first.
    journal : path or None, default=None
        A file in which every trial is recorded, as for
        :class:`~skbayes.BayesSearchCV`.
    progress_bar : bool, default=False
        Whether a bar shows the progress; needs tqdm.
    {cache}
    {cache_limit}

    Attributes
    ----------
    pareto_front_ : pandas.DataFrame or dict of str to ndarray
        The trials that no other one dominates, the best in the first objective first:
        columns `trial` (row of `cv_results_`), one for each objective (means over the
        splits), and one for each parameter, `param_<name>`. A dict of arrays if pandas
        is not installed.
    pareto_params_ : list of dict
        Their parameters, in the same order.
    hypervolume_ : ndarray of shape (n_trials,)
        After each trial, the volume that the front so far dominates, as a share of the
        box between `reference_point_` and the best of each objective.
    reference_point_ : ndarray of shape (n_objectives,)
        Where that box begins, in the units of the objectives: a fifth of the front's
        range beyond the worst of each objective on the final front. What is worse does
        not count.
    cv_results_ : dict of str to ndarray
        One row per trial, with the columns of GridSearchCV; for each objective
        `split<k>_test_<name>`, `mean_test_<name>`, `std_test_<name>` and
        `rank_test_<name>` (1 for the best: the smallest where less is better).
    best_index_, best_params_, best_estimator_, best_score_ : int, dict, estimator, \
float
        The chosen point of the front. `best_score_` is its mean of the objective that
        `score` scores by. Not there with ``refit=False``; see :meth:`select`.
    scorer_ : dict of str to callable
        The scorers among the objectives.
    {n_splits_}
    {refit_time_}
    {total_time_}
    multimetric_ : bool
        True.
    target_metric_ : str
        The first objective.
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

    See Also
    --------
    skbayes.BayesSearchCV : Searches for the best by one objective.

    Notes
    -----
    Measured times differ from run to run. With "fit_time" or "score_time" among the
    objectives, the same `random_state` therefore does not give the same trials; with
    others it does. A journal holds the times, so that a search that is continued
    proposes what it would have proposed.

    Costs, and all other objectives that are small at best and never negative (and
    scores that are never positive, such as "neg_log_loss"), count by their logarithm,
    for the models and the hypervolume: to halve a time is worth as much for a slow
    model as for a fast one.

    The knee is the point of the front with the least Euclidean distance from the best
    of each objective, every objective being scaled to range from 0 to 1 over the front
    (as it is, without logarithms). Weights multiply the same scaled objectives, and the
    largest sum wins.

    References
    ----------
    Emmerich, Deutz & Klinkenberg (2011), "Hypervolume-based expected improvement:
    monotonicity properties and exact computation".

    Yang, Emmerich, Deutz & Bäck (2019), "Efficient computation of expected hypervolume
    improvement using box decomposition algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> from skbayes import ParetoSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = ParetoSearchCV(
    ...     Lasso(),
    ...     {"alpha": (1e-3, 1e2, "log-uniform")},
    ...     objectives={"r2": "max", "n_features": "min"},
    ...     n_iter=12,
    ...     random_state=0,
    ... )
    >>> front = search.fit(X, y).pareto_front_
    >>> bool(front["r2"].is_monotonic_decreasing)
    True
    >>> bool(front["n_features"].is_monotonic_decreasing)
    True
    >>> bool(search.select("r2", X, y).best_score_ == front["r2"][0])
    True
    """

    # Sources have no models of costs and further objectives.
    _takes_sources = False

    _parameter_constraints: dict = {
        **BaseBayesSearchCV._parameter_constraints,
        **MODEL_CONSTRAINTS,
        "objectives": [Mapping],
        "refit": ["boolean", str, Mapping, callable],
    }
    for _not_here in _NOT_HERE:
        del _parameter_constraints[_not_here]
    del _not_here

    pareto_front_ = FrameAttribute(with_params=True)

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any = "auto",
        objectives: Mapping[str, Any] | None = None,
        *,
        n_iter: int = 50,
        timeout: float | None = None,
        surrogate: Any = "gp",
        n_initial_points: int | str = "auto",
        initial_points: list[dict] | str | None = "default",
        constraint: Callable[[dict], bool] | None = None,
        constraints: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        refit: Any = "knee",
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
        cache: bool = True,
        cache_limit: float = 1e9,
    ) -> None:
        self._store(locals())

    # -- what is scored -----------------------------------------------------------

    @property
    def scoring(self) -> Any:
        """What scores by the scorers among the objectives, all at once."""
        return Objectives(self.objectives).multi_scorer(
            self.estimator, raise_exc=self.error_score == "raise"
        )

    @scoring.setter
    def scoring(self, scoring: None) -> None:
        """Nothing to set: it follows from `objectives`."""

    def _make_objective(self, scorers: Any) -> Objectives:
        objectives = Objectives(self.objectives)
        _check_choice(self.refit, objectives.names, "refit")
        return objectives

    def _make_optimizer(self, space: Space, seed: int) -> Optimizer:
        return Optimizer(
            space,
            surrogate=self.surrogate,
            n_initial_points=self.n_initial_points,
            initial_points=self.initial_points_ or None,
            n_objectives=len(self.objectives),
            prior=self._prior,
            random_state=seed,
        )

    def _known_results(self, run: SearchRun) -> list[tuple]:
        space, objectives = run.space, run.objective
        source = known_source(self, space)
        if source is None:
            return []
        if study_of(source) is not None or hasattr(source, "x_iters"):
            raise ValueError(
                "warm_start_from: a study of Optuna or a result of scikit-optimize "
                "does not name its objectives; pass a search with the same objectives, "
                "its cv_results_ or its journal"
            )
        # Trials are scored by each of their objectives, whichever was the first.
        source = getattr(source, "trials_", source)
        columns: list[dict[bytes, tuple]] = []
        for name in objectives.names:
            with warnings.catch_warnings():
                if columns:
                    # It warns of what it leaves out, which is much the same for each.
                    warnings.simplefilter("ignore")
                rows = known_results(source, space, name)
            keys = [key_of(row) for row in space.encode([one[0] for one in rows])]
            columns.append(dict(zip(keys, rows, strict=True)))
        known = [key for key in columns[0] if all(key in one for one in columns)]
        return [
            (
                columns[0][key][0],
                [
                    float(objectives.signs[j] * one[key][1])
                    for j, one in enumerate(columns)
                ],
                None,
            )
            for key in known
        ]

    # -- after the last trial -----------------------------------------------------

    def _tabulate(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        results = super()._tabulate(run, outcome)
        objectives = run.objective
        for name, sign in zip(objectives.names, objectives.signs, strict=True):
            results[f"rank_test_{name}"] = rank(sign * results[f"mean_test_{name}"])
        # A cost is not measured on the training set.
        for name in objectives.measures:
            for key in [k for k in results if k.endswith(f"_train_{name}")]:
                del results[key]
        return results

    def _select(
        self, run: SearchRun, results: dict[str, Any], refit_metric: Any
    ) -> None:
        objectives = run.objective
        Y = objectives.of_results(results, self.trials_)
        Y[~warned_rows(run, np.all(np.isfinite(Y), axis=1))] = np.nan
        if not np.any(np.all(np.isfinite(Y), axis=1)):
            raise ValueError(
                "No trial has a value for every objective; cv_results_ and trials_ "
                "hold what there is."
            )
        self.hypervolume_, reference = hypervolumes(Y)
        self.reference_point_ = objectives.signs * reference
        rows = np.flatnonzero(is_nondominated(Y))
        rows = rows[np.lexsort((rows, *-Y[rows].T[::-1]))]
        self.pareto_params_ = [dict(results["params"][row]) for row in rows]
        means = {n: results[f"mean_test_{n}"][rows] for n in objectives.names}
        self.pareto_front_ = {"trial": rows, **means}
        if self.refit is not False:
            self._choose(self.refit, "refit")

    def _choose(self, choice: Any, parameter: str) -> None:
        """Make one of the trials the best one."""
        objectives, results = Objectives(self.objectives), self.cv_results_
        _check_choice(choice, objectives.names, parameter)
        rows = vars(self)["pareto_front_"]["trial"]
        if callable(choice):
            index = compat.select_best_index(choice, None, results)
        elif isinstance(choice, Integral) and not isinstance(choice, bool):
            if choice not in rows:
                raise ValueError(
                    f"{parameter}={choice!r} is not on the front; trials "
                    f"{rows.tolist()} are."
                )
            index = int(choice)
        else:
            Y = objectives.of_results(results, self.trials_)[rows]
            index = int(rows[choose_point(Y, choice, objectives.names)])
        self.best_index_ = index
        self.best_params_ = results["params"][index]
        name = self._scored_by(choice)
        self.best_score_ = results[f"mean_test_{name}"][index]

    def _scored_by(self, choice: Any) -> str:
        """Return the scorer that was chosen by, else the first one."""
        scorers = Objectives(self.objectives).scorers
        return (
            choice if isinstance(choice, str) and choice in scorers else [*scorers][0]
        )

    def select(self, choice: Any, X: Any, y: Any = None, **params: Any) -> Self:
        """Take another point of the front, and fit it on all data.

        Nothing is searched again: the `best_*` attributes are set anew, and the methods
        of the estimator are those of the new `best_estimator_`.

        Parameters
        ----------
        choice : str, dict, callable or int
            As for `refit`: an objective, "knee", weights, or a callable; or the number
            of a trial, as in the column `trial` of `pareto_front_`.
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
            If there is no such point, or the lengths of the data differ.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "pareto_params_")
        run = self._run_of_refit(X, y, params)
        self._choose(choice, "choice")
        self._refit(run, None)
        return self

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Score the best estimator by the objective that `refit` names.

        If that is none of the scorers, by the first scorer among the objectives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict of str to object
            Passed on to the scorer.

        Returns
        -------
        score : float
            The score.
        """
        # The inherited method looks up a scorer by the name in `refit`.
        named = copy.copy(self)
        if self.refit is not False:
            named.refit = self._scored_by(self.refit)
        return super(ParetoSearchCV, named).score(X, y, **params)


def _check_choice(choice: Any, names: list[str], parameter: str) -> None:
    """Refuse what chooses no point of a front."""
    if callable(choice) or isinstance(choice, Integral | np.bool_):
        return
    if isinstance(choice, str) and (choice == "knee" or choice in names):
        return
    if isinstance(choice, Mapping) and choice and set(choice) <= set(names):
        weights = np.array(list(choice.values()), dtype=float)
        if np.all(weights >= 0.0) and 0.0 < np.sum(weights) < np.inf:
            return
    raise ValueError(
        f"{parameter} must be one of the objectives {names}, 'knee', a dict of weights "
        f">= 0 by objective, or a callable, got {choice!r}."
    )
