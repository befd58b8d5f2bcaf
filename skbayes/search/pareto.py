"""Bayesian search for the Pareto front of several objectives: `ParetoSearchCV`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.acquisition.hypervolume import choose_point, hypervolumes, is_nondominated
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.objectives import Objectives
from skbayes.evaluation.options import RefitChoice, refit_choice
from skbayes.evaluation.run import SearchRun
from skbayes.loop.stages import Outcome
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.warm_start import KnownTrial, known_trials
from skbayes.search._parameters import OF_BEST_SCORE, share_parameters
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.choice import best_attributes, forget_choice, rank, warned_rows
from skbayes.utils.optuna_study import study_of


@share_parameters
class ParetoSearchCV(BaseBayesSearchCV):
    """Bayesian search for the Pareto front of several objectives.

    With several objectives, such as accuracy and prediction time, there is usually no
    single best configuration. The search looks for the Pareto front: the configurations
    for which no other one is at least as good in all objectives and better in one. Each
    objective is modeled by a separate surrogate. Trials are chosen by the expected
    hypervolume improvement, the volume that they are expected to add to the region
    dominated by the front.

    Specify the objectives as a dict, such as
    ``{"accuracy": "max", "fit_time": "min"}``. After `fit`, ``pareto_front_`` contains
    the best tradeoffs. By default, the knee of the front is refitted; :meth:`select`
    refits another point. All other parameters have defaults.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    objectives : dict of str to str or tuple
        Two or more objectives by name, each with its direction, "max" or "min". A name
        is that of a scorer, such as "accuracy" (at least one, always with "max"), or
        that of a cost that is measured for each fit:

        - "fit_time", "score_time": seconds of fitting, and of scoring by all scorers;
        - "cpu_time": seconds of processor time of fitting, in all threads of the
          process; it hardly depends on the load of the machine;
        - "predict_time": seconds that `predict` takes for one row;
        - "model_size": size of the pickled estimator in bytes;
        - "n_features": number of features that the fitted estimator uses, see
          :func:`skbayes.evaluation.n_features`.

        An objective with any other name needs a tuple ``(direction, measure)`` instead
        of the direction. The second element is one of the names above, a callable
        ``scorer(estimator, X, y)``, or a callable ``measure(estimator)`` that returns a
        number for a fitted estimator.
    surrogate : str or surrogate object, default="gp"
        Model of each objective, as for :class:`~skbayes.BayesSearchCV`. "gp" is a
        Gaussian process. "tpe" supports only a single objective. Trials are chosen by
        the expected hypervolume improvement.
    {n_jobs}
        If fits share a processor, measured times are longer and less comparable.
    refit : str, dict, callable or bool, default="knee"
        Point of the front that is fitted on all data and described by the ``best_*``
        attributes:

        - the name of an objective: the best point in this objective;
        - "knee" or True: the compromise that is closest to the best values of all
          objectives;
        - a dict of weights by objective: the point with the largest weighted sum;
        - a callable: receives ``cv_results_`` and returns the index of a row, which can
          be outside the front;
        - False: no refit; see :meth:`select`.

        The method `score` uses the scorer that is named, or else the first one.
    {verbose}
        The score of a trial is its first objective, negated if it is minimized.
    {random_state}
        See Notes for measured times.
    {error_score}
        A trial with a failed fit has no costs and is never on the front. An exception
        of the callable of a cost is raised with "raise", and otherwise a warning.
    {stopper}
        The score of a trial is its first objective, negated if it is minimized. Its
        expected improvement is that of the hypervolume, as a fraction of the box of
        ``hypervolume_``.
    warm_start_from : search, data frame, path or None, default=None
        Results of an earlier search for the same objectives: the fitted search, its
        ``cv_results_``, or the path of its journal. The known front is tried first.
    {parameters}

    Attributes
    ----------
    pareto_front_ : pandas.DataFrame or dict of str to ndarray
        Trials that are not dominated by another trial, sorted by the first objective
        with the best one first. The columns are `trial` (row of ``cv_results_``), one
        for each objective (mean over the splits), and ``param_<name>`` for each
        hyper-parameter. Without pandas, a dict of arrays.
    pareto_params_ : list of dict
        Configurations of the front, in the same order.
    hypervolume_ : ndarray of shape (n_trials,)
        Volume that is dominated by the front after each trial, as a fraction of the box
        between ``reference_point_`` and the best value of each objective.
    reference_point_ : ndarray of shape (n_objectives,)
        Reference point of the hypervolume, in the units of the objectives. It exceeds
        the worst value of each objective on the final front by a fifth of the front's
        range. Points beyond it do not count.
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. For each
        objective, these are ``split<k>_test_<name>``, ``mean_test_<name>``,
        ``std_test_<name>`` and ``rank_test_<name>``. Rank 1 is the best, which is the
        smallest value of a minimized objective.
    best_index_ : int
        Row of the chosen point of the front in ``cv_results_``. Like the other
        ``best_*`` attributes, it is available unless ``refit=False``; see
        :meth:`select`.
    best_params_ : dict
        Configuration of the chosen point.
    best_score_ : float
        Mean score of the chosen point, by the objective that :meth:`score` uses.
    target_metric_ : str
        First objective.
    {attributes}

    See Also
    --------
    skbayes.BayesSearchCV : Bayesian search for the best configuration by one objective.
    skbayes.TradeoffSearchCV : Bayesian search for the best score minus weighted cost.

    Notes
    -----
    Measured times differ from run to run. With a time among the objectives, the same
    `random_state` therefore does not give the same trials. A journal contains the
    times, so a search that is continued makes the same proposals as an uninterrupted
    one.

    For the surrogates and the hypervolume, the logarithm is used for costs, for all
    other minimized objectives that are never negative, and for scores that are never
    positive, such as "neg_log_loss". Halving the time of a slow model thus counts as
    much as halving the time of a fast one.

    The knee is the point of the front with the smallest Euclidean distance from the
    best values of all objectives. For this purpose, each objective is scaled to the
    range from 0 to 1 over the front, without logarithms. A dict of weights applies to
    the same scaled objectives.

    References
    ----------
    Emmerich, Deutz & Klinkenberg (2011), "Hypervolume-based expected improvement:
    monotonicity properties and exact computation".

    Yang, Emmerich, Deutz & Bäck (2019), "Efficient computation of expected hypervolume
    improvement using box decomposition algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import ParetoSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = ParetoSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": (1, 10), "min_samples_leaf": (1, 20)},
    ...     objectives={"accuracy": "max", "n_features": "min"},
    ...     n_iter=20,
    ...     random_state=1,
    ... ).fit(X, y)
    >>> columns = ["accuracy", "n_features", "param_max_depth"]
    >>> search.pareto_front_[columns].head(4).round(3)
       accuracy  n_features  param_max_depth
    0     0.935         4.4                3
    1     0.931         3.8                3
    2     0.930         2.8                2
    3     0.900         1.0                1

    The knee of the front is refitted. :meth:`select` refits another point instead:

    >>> search.best_params_
    {'max_depth': 2, 'min_samples_leaf': 10}
    >>> search.select("accuracy", X, y).best_params_
    {'max_depth': 3, 'min_samples_leaf': 9}
    """

    # Searches on other data have no models of additional objectives.
    _takes_sources = False

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        # `Objectives` shows the dict to write.
        Parameter("objectives", "no_validation"),
        Parameter("refit", ["boolean", str, Mapping, callable], changes_trials=False),
    )
    # These assume a single objective or a single best trial.
    _omitted: ClassVar[tuple[str, ...]] = (
        "scoring",
        "racing",
        "return_folds",
        *OF_BEST_SCORE,
    )

    pareto_front_ = FrameAttribute(with_params=True)

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any = "auto",
        objectives: Mapping[str, Any] | None = None,
        *,
        refit: Any = "knee",
        **shared: Any,
    ) -> None:
        self._store(locals())

    # -- what is scored -----------------------------------------------------------

    @property
    def scoring(self) -> Any:
        """Multi-metric scorer of all objectives that are scorers."""
        return Objectives(self.objectives).multi_scorer(
            self.estimator, raise_exc=self.error_score == "raise"
        )

    def _make_objective(self, scorers: Any) -> Objectives:
        objectives = Objectives(self.objectives)
        choice = self._refit_choice()
        _check_choice(choice.rule or choice.plain, objectives.names, "refit")
        return objectives

    def _make_optimizer(self, run: SearchRun) -> Optimizer:
        n = len(self.objectives)
        return Optimizer(run.space, **self._settings(run, n_objectives=n))

    def _known_results(self, run: SearchRun) -> list[KnownTrial]:
        source, objectives = self.warm_start_from, run.objective
        if study_of(source) is not None or hasattr(source, "x_iters"):
            raise ValueError(
                "warm_start_from: a study of Optuna or a result of scikit-optimize "
                "does not name its objectives; pass a search with the same objectives, "
                "its cv_results_ or its journal"
            )
        # Trials contain the scores of all objectives in any order.
        source = getattr(source, "trials_", source)
        rows: list[KnownTrial] = []
        scores: list[dict[int, float]] = []
        for name, sign in zip(objectives.names, objectives.signs, strict=True):
            with warnings.catch_warnings():
                if scores:
                    # The warnings are the same for each objective.
                    warnings.simplefilter("ignore")
                rows = known_trials(source, run.space, name, failures=False)
            scores.append({row.place: float(sign * row.score) for row in rows})
        return [
            row._replace(score=[column[row.place] for column in scores], noise=None)
            for row in rows
            if all(row.place in column for column in scores)
        ]

    # -- after the last trial -----------------------------------------------------

    def _describe(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        attributes = super()._describe(run, outcome)
        results = attributes["cv_results_"]
        objectives = run.objective
        for name, sign in zip(objectives.names, objectives.signs, strict=True):
            results[f"rank_test_{name}"] = rank(sign * results[f"mean_test_{name}"])
        # Costs have no values on the training set.
        for name in objectives.measures:
            for key in [k for k in results if k.endswith(f"_train_{name}")]:
                del results[key]
        return attributes

    def _select(self, run: SearchRun, found: Mapping[str, Any]) -> dict[str, Any]:
        objectives, results = run.objective, found["cv_results_"]
        if run.is_unfinished:
            return self._without_front(run, results)
        Y = objectives.of_results(results, found["trials_"])
        Y[~warned_rows(run, np.all(np.isfinite(Y), axis=1))] = np.nan
        if not np.any(np.all(np.isfinite(Y), axis=1)):
            raise ValueError(
                "No trial has a value for every objective; see cv_results_ and "
                "trials_ for the measured values."
            )
        volumes, reference = hypervolumes(Y)
        rows = np.flatnonzero(is_nondominated(Y))
        rows = rows[np.lexsort((rows, *-Y[rows].T[::-1]))]
        means = {n: results[f"mean_test_{n}"][rows] for n in objectives.names}
        attributes = {
            "hypervolume_": volumes,
            "reference_point_": objectives.signs * reference,
            "pareto_params_": [dict(results["params"][row]) for row in rows],
            "pareto_front_": {"trial": rows, **means},
        }
        choice = run.refit.plain
        if choice is not False:
            attributes |= self._chosen(choice, "refit", rows, found)
        return attributes

    def _without_front(
        self, run: SearchRun, results: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the attributes of a search without a finished trial."""
        names, choice = run.objective.names, run.refit.plain
        attributes = {
            "hypervolume_": np.zeros(len(run.ranked)),
            "reference_point_": np.full(len(names), np.nan),
            "pareto_params_": [],
            "pareto_front_": {
                "trial": np.array([], int),
                **{name: np.array([]) for name in names},
            },
        }
        if choice is False:
            return attributes
        return attributes | best_attributes(results, 0, self._scored_by(choice))

    def _chosen(
        self, choice: Any, parameter: str, rows: np.ndarray, found: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the ``best_*`` attributes of one of the trials on the front."""
        objectives, results = Objectives(self.objectives), found["cv_results_"]
        _check_choice(choice, objectives.names, parameter)
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
            Y = objectives.of_results(results, found["trials_"])[rows]
            index = int(rows[choose_point(Y, choice, objectives.names)])
        return best_attributes(results, index, self._scored_by(choice))

    def _scored_by(self, choice: Any) -> str:
        """Return the scorer that `choice` names, or else the first one."""
        scorers = list(Objectives(self.objectives).scorers)
        return choice if choice in scorers else scorers[0]

    def select(self, choice: Any, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose another point of the front, and fit it on all data.

        The point is chosen from the existing trials. The ``best_*`` attributes are
        replaced, and methods such as `predict` use the new ``best_estimator_``.

        Parameters
        ----------
        choice : str, dict, callable or int
            Point to choose: an objective, "knee", a dict of weights or a callable, as
            for `refit`, or the number of a trial, as in the column `trial` of
            ``pareto_front_``.
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
            If there is no such point, or the lengths of the data differ.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "pareto_params_")
        if isinstance(choice, float) and choice.is_integer():
            choice = int(choice)  # the row of a data frame may hold floats only
        run = self._run_of_refit(X, y, params)
        rows = vars(self)["pareto_front_"]["trial"]
        if not len(rows):
            raise ValueError("pareto_front_ is empty: no trial was finished in time.")
        chosen = self._chosen(choice, "choice", rows, vars(self))
        forget_choice(self)
        found = self._set(chosen)
        self._refit(self, run, found)
        return self

    def _refit_choice(self) -> RefitChoice:
        return refit_choice(self.refit, self.objectives)

    def _with_plain_refit(self) -> Any:
        choice = self._refit_choice().plain
        if choice is False:
            return self
        plain = copy.copy(self)
        plain.refit = self._scored_by(choice)
        return plain


def _check_choice(choice: Any, names: list[str], parameter: str) -> None:
    """Raise ValueError if a value does not choose a point of the front."""
    if callable(choice) or isinstance(choice, Integral | np.bool_):
        return
    if isinstance(choice, str) and (choice == "knee" or choice in names):
        return
    if isinstance(choice, Mapping) and choice and set(choice) <= set(names):
        weights = np.array(list(choice.values()), dtype=float)
        if np.all(weights >= 0.0) and 0.0 < np.sum(weights) < np.inf:
            return
    number = ", the number of a trial on the front" if parameter == "choice" else ""
    raise ValueError(
        f"{parameter} must be one of the objectives {names}, 'knee', a dict of weights "
        f">= 0 by objective{number}, or a callable, got {choice!r}."
    )
