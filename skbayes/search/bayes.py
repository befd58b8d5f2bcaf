"""BayesSearchCV: GridSearchCV's contract, with a model choosing what to try."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from skbayes import compat
from skbayes.acquisition.improvement import Acquisition
from skbayes.acquisition.influence import ExpectedInfluence
from skbayes.acquisition.registry import ACQUISITIONS
from skbayes.optimizer.optimizer import Optimizer
from skbayes.optimizer.validation import check_noise
from skbayes.search.base import BaseBayesSearchCV
from skbayes.space import Space
from skbayes.space.candidates import key_of
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.registry import registry

__all__ = ["BayesSearchCV"]


class BayesSearchCV(BaseBayesSearchCV):
    """Bayesian search for the best parameters of an estimator, by cross-validation.

    Takes the place of :class:`~sklearn.model_selection.GridSearchCV` and
    :class:`~sklearn.model_selection.RandomizedSearchCV`: same methods, same attributes,
    and their second argument is understood as it is. What to try next is decided by a
    model of all trials so far, instead of by a grid or by chance.

    ``BayesSearchCV(estimator, search_spaces).fit(X, y)`` is all it takes:
    `best_params_` and `best_score_` then say which of fifty settings was the best, and
    the search predicts with it. `n_iter` or `timeout` says what you can afford,
    `random_state` makes the search repeatable, and `scoring`, `cv` and `n_jobs` are
    GridSearchCV's. All else can be left alone.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune; it provides `score`, or `scoring` is given.
    search_spaces : dict, list of dict, or Space
        For each parameter name what it may be: a list or array of values, a scipy
        distribution, a tuple ``(low, high)`` or ``(low, high, "log-uniform")``, a
        dimension of :mod:`skbayes.space`, or a :class:`~skbayes.space.Choice` for
        parameters that exist only under an option. A list of dicts is one space: one
        model and one budget serve all of them.
    n_iter : int, default=50
        The most configurations to try. If the space has no more than that, each is
        tried once, and the search ends; the order is GridSearchCV's unless `timeout`,
        `stopper` or `journal` is set.
    timeout : float or None, default=None
        Seconds the search may take, without the refit. Times are modeled like scores,
        and no trial is started that is expected to overrun; the search ends there,
        cheaper trials are not looked for. The first trial always runs, and those that
        are running when the time is up are finished and count.
    surrogate : str or surrogate object, default="gp"
        The model of the scores: a Gaussian process ("gp", or one of "gp-additive",
        which "gp" is in small finite spaces, "gp-matern52", which it is in others,
        "gp-matern32", "gp-rbf"); for finite spaces "graph"; "trees" (needs LightGBM);
        "tpe", the tree-structured Parzen estimator; or none, "random" or "sobol". Or
        an instance of a class of :mod:`skbayes.surrogates`.
    acquisition : str or acquisition object, default="ei"
        What makes a configuration worth trying: "ei" (expected improvement), "pi"
        (probability of improvement), "ucb" (upper confidence bound), or with
        ``surrogate="graph"`` "eif" (expected influence).
    n_initial_points : int or "auto", default="auto"
        Number of configurations spread over the space before the model decides. "auto"
        is 3 to 8, depending on the number of ranges and options in the space, and 8
        for "tpe"; see :class:`~skbayes.Optimizer`.
    initial_points : list of dict or None, default=None
        Configurations to try first, each with all parameters it needs.
    constraint : callable or None, default=None
        ``constraint(params) -> bool``; combinations for which it is False are never
        tried. If it raises an exception, the search ends with a ValueError.
    target_metric : str or None, default=None
        With several metrics, the one that guides the search when `refit` does not name
        one. None stands for the first metric. With one metric None is all there is to
        say; its name in `scoring` is accepted too.
    scoring : str, callable, list, tuple, dict or None, default=None
        As for GridSearchCV: one metric, several, or a callable that returns either.
        None takes the estimator's own `score`.
    n_jobs : int or None, default=None
        How many fits run at the same time. None means 1 unless in a
        :obj:`joblib.parallel_config` context, which also says where (processes,
        threads, a Dask cluster); -1 means all processors. The trials are the same for
        every `n_jobs` if `n_points` is given.
    refit : bool, str or callable, default=True
        Whether to fit the best configuration on all data. With several metrics the
        name of the one to choose by, or False. A callable receives `cv_results_` and
        returns the row to choose.
    cv : int, splitter, iterable or None, default=None
        As for GridSearchCV. The splits are drawn once and shared by all trials, also
        those of a splitter that shuffles without a seed.
    verbose : int, default=0
        From 1 on, one line is printed per trial: its score, the best so far, the time
        elapsed and the time that is probably left. From 2 on, also its parameters, and
        GridSearchCV's lines per fit. Nothing is printed otherwise; the logger
        ``skbayes`` tells of each trial.
    pre_dispatch : int or str, default="2*n_jobs"
        How many fits are handed to the workers ahead of time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Makes the choice of configurations repeatable. Give an int for the same trials
        from every call of `fit`.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. "raise" passes its error on. A trial whose fits all
        fail is told to the model as failed; only if every fit of the search fails is
        that an error.
    return_train_score : bool, default=False
        Whether `cv_results_` holds scores on the training sets too.
    n_points : int or "auto", default="auto"
        Number of trials in flight. "auto" is 1 with one worker; with more workers it is
        the number that keeps them busy, ``ceil(1.5 * n_workers / n_splits_) + 1``, or
        with `trial_timeout` the number whose fits need not wait for a worker. The
        number used is `n_points_`. Trial k is proposed from the results of the trials
        up to k - `n_points_`, so that what is tried depends on that number and not on
        timing.
    stopper : callable, list of callable or None, default=None
        Called with `trials_` so far after each trial; the search ends when one returns
        True, and the trials under way are finished. Ready-made ones are in
        :mod:`skbayes.loop.stopping`.
    trial_timeout : float or None, default=None
        Seconds after which no further fit of a trial is begun, counted from when it was
        handed to the workers. Running fits are not cut short. What the finished ones
        promise is told to the model; the trial cannot be chosen. With it, what is tried
        depends on timing.
    racing : bool or float, default=False
        Whether a trial is given up when its first folds leave it practically no chance
        to become the best: a chance below 1 %, or below the number given. Its other
        folds are not fitted, and it cannot be chosen. The fits of a trial then run one
        after the other, so "auto" gives a larger `n_points_`, at most 16.
    warm_start_from : search, dict, data frame, study, path or None, default=None
        What is known already: a fitted search (also a GridSearchCV), its `cv_results_`,
        a data frame of these, the path of a journal, or a study of Optuna with one
        objective (negated if it minimizes), scored by the same metric. The space may be
        another one; what lies outside is ignored, with a warning. The best setting that
        is known is tried first, or after `initial_points`.
    journal : path or None, default=None
        A file in which every trial is recorded when it is finished. A search that is
        run again with the same journal, after a crash or with a larger `n_iter`, goes
        on where it was. The file of another search (estimator, space, data, splits,
        scoring, settings) is refused. See :func:`skbayes.load_history`.
    progress_bar : bool, default=False
        Whether a bar shows the progress, in notebooks a widget; needs tqdm.
    return_fold_estimators : bool, default=False
        Whether the estimators that were fitted on the splits with the best parameters
        are kept, as `fold_estimators_`. With a callable `refit` those of all trials are
        kept until the search ends.
    return_oof : str or None, default=None
        The name of a method such as "predict" or "predict_proba": what it gives for
        each sample, by the best parameters fitted on a split without it, becomes
        `oof_predictions_`. Needs a `cv` that tests each sample once.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        One row per trial, with the columns that GridSearchCV has. With `racing` or
        `trial_timeout` the column `state` says which trials were cut short; their mean
        scores are NaN.
    best_estimator_ : estimator
        The estimator fitted on all data with the best parameters. Not there with
        ``refit=False``.
    best_score_ : float
        Mean score of the best trial over the splits. Not there if `refit` is callable,
        or with several metrics and ``refit=False``.
    best_score_corrected_ : float
        `best_score_` less what it owes to having been chosen as the best, estimated by
        the method of Tibshirani & Tibshirani (2009); see
        :func:`skbayes.results.frame.corrected_best_score`. There whenever `best_score_`
        is.
    best_params_ : dict
        The best parameters. Not there with several metrics and ``refit=False``.
    best_index_ : int
        Their row in `cv_results_`; the first one if several tie.
    scorer_ : callable or dict of str to callable
        What scored the fits; a dict with several metrics.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds taken by the refit. Not there with ``refit=False``.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the best estimator has them.
    n_features_in_ : int
        Number of features seen during `fit`, if the best estimator has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the best estimator has them.
    trials_ : History
        The trials in the order they were made, as
        :class:`~skbayes.evaluation.trial.Trial`.
    optimizer_ : Optimizer
        The optimizer with everything it was told.
    stop_reason_ : str
        Why the search ended: "n_iter", "timeout", "exhausted" (every configuration
        was tried), "callback" (a callback returned True), "interrupted" (Ctrl-C
        after at least one trial), or what the stopper has for its `reason`, "stopper"
        if it has none.
    n_points_ : int
        Number of trials in flight.
    fold_estimators_ : list of estimators
        With `return_fold_estimators`, one for each split.
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        With `return_oof`, in the order of the samples.
    target_metric_ : str
        The metric that guided the search; "score" if there is one only.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Tries every configuration.
    skbayes.Optimizer : The same search for any Python function.

    Notes
    -----
    A trial is one configuration, fitted and scored on every split. It is evaluated by
    the function that GridSearchCV uses, so that scores, failures, weights, metadata
    routing and callbacks mean what they mean there.

    Interrupted by Ctrl-C, the search lets running fits end, and ends with the trials it
    has finished: the best is refitted as usual. A second Ctrl-C is passed on. Before
    the first trial has finished, and during the refit, so is the first. Whatever ends
    the refit, what the search found is kept in `cv_results_`, `best_params_` and the
    other attributes, except for `best_estimator_`, which is not fitted then.

    A worker that dies, out of memory perhaps, costs its trial, which counts as failed.

    References
    ----------
    Snoek, Larochelle & Adams (2012), "Practical Bayesian optimization of machine
    learning algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(SVC(), {"C": (0.01, 100.0, "log-uniform")}, n_iter=10)
    >>> bool(search.fit(X, y).best_score_ > 0.9)
    True
    >>> list(search.best_params_)
    ['C']
    >>> search.predict(X[:3])
    array([0, 0, 0])

    Ranges, distributions and lists go together, and a seed makes it repeatable:

    >>> from scipy.stats import loguniform
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": loguniform(1e-2, 1e3), "kernel": ["linear", "rbf"]},
    ...     n_iter=10,
    ...     random_state=0,
    ... )
    >>> search.fit(X, y).score(X, y) > 0.9
    True
    >>> len(search.trials_), search.stop_reason_
    (10, 'n_iter')
    """

    _parameter_constraints: dict = {
        **BaseBayesSearchCV._parameter_constraints,
        "surrogate": [
            compat.StrOptions(set(registry)),
            compat.HasMethods(["fit", "predict", "condition"]),
            ParzenEstimator,
        ],
        "acquisition": [
            compat.StrOptions(set(ACQUISITIONS)),
            Acquisition,
            ExpectedInfluence,
        ],
        "n_initial_points": [
            compat.Interval(Integral, 0, None, closed="left"),
            compat.StrOptions({"auto"}),
        ],
        "initial_points": [list, tuple, None],
    }

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any,
        *,
        n_iter: int = 50,
        timeout: float | None = None,
        surrogate: Any = "gp",
        acquisition: Any = "ei",
        n_initial_points: int | str = "auto",
        initial_points: list[dict] | None = None,
        constraint: Callable[[dict], bool] | None = None,
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
        racing: bool | float = False,
        warm_start_from: Any = None,
        journal: str | PathLike | None = None,
        progress_bar: bool = False,
        return_fold_estimators: bool = False,
        return_oof: str | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            search_spaces=search_spaces,
            n_iter=n_iter,
            timeout=timeout,
            constraint=constraint,
            target_metric=target_metric,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
            n_points=n_points,
            stopper=stopper,
            trial_timeout=trial_timeout,
            racing=racing,
            warm_start_from=warm_start_from,
            journal=journal,
            progress_bar=progress_bar,
            return_fold_estimators=return_fold_estimators,
            return_oof=return_oof,
        )
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.n_initial_points = n_initial_points
        self.initial_points = initial_points

    def _make_optimizer(self, space: Space, seed: int) -> Optimizer:
        return self._first_optimizer(space, seed, self.n_iter)

    def _first_optimizer(self, space: Space, seed: int, n_iter: int) -> Optimizer:
        """Make the optimizer of a search of so many trials."""
        points = list(self.initial_points or [])
        # Every configuration will be tried, so there is nothing to choose. In
        # GridSearchCV's order ties go to the same configuration as there.
        # What a journal holds must not depend on n_iter.
        budgets = (self.timeout, self.journal, self.stopper)
        open_ended = any(budget is not None for budget in budgets)
        everything = not open_ended and space.n_configurations <= n_iter
        rest = _all_points(self.search_spaces, space) if everything else []
        if self.racing or self.trial_timeout is not None:
            # Trials that are cut short are less certain than others.
            check_noise(1.0, self.surrogate)
        optimizer = Optimizer(
            space,
            surrogate=self.surrogate,
            acquisition=self.acquisition,
            n_initial_points=self.n_initial_points,
            initial_points=points + rest or None,
            random_state=seed,
        )
        self._warn_of_untried(points, space, n_iter)
        return optimizer

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: int) -> None:
        """Warn of initial points for which there are not enough trials."""
        n_different = len({row.tobytes() for row in space.encode(points)})
        if n_different > n_iter:
            warnings.warn(
                f"initial_points has {n_different} different settings, of which only "
                f"the first {n_iter} are tried with n_iter={self.n_iter}.",
                UserWarning,
                stacklevel=6,
            )


def _all_points(search_spaces: Any, space: Space) -> list[dict]:
    """Return every configuration of a finite space, in GridSearchCV's order."""
    points = _grid_points(search_spaces, space)
    if points is None:
        points = space.decode(space.cells(np.arange(int(space.n_configurations))))
    return [point for point in points if space.allows(point)]


def _grid_points(search_spaces: Any, space: Space) -> list[dict] | None:
    """Return the points of what GridSearchCV would accept too, else None."""
    try:
        grid = list(ParameterGrid(search_spaces))
        # Encoded and decoded, so that the values are plain Python.
        X = space.encode(grid)
        if not space.overlaps:
            # Repeated values of a list count once.
            _, first = np.unique([key_of(row) for row in X], return_index=True)
            X = X[np.sort(first)]
        points = space.decode(X)
    except (TypeError, ValueError):
        return None
    return points if len(points) == space.n_configurations else None
