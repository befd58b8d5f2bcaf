"""Bayesian search that uses small samples of the data: `HyperTuneSearchCV`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.acquisition.improvement import Acquisition
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.constraints import rule_and_bounds
from skbayes.evaluation.evaluator import check_candidates
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import Fidelity
from skbayes.evaluation.trial import History, TrialState
from skbayes.loop.stages import Outcome, Stage
from skbayes.optimizer.optimizer import Optimizer
from skbayes.optimizer.random_streams import make_seeds
from skbayes.results.scores import metrics_of
from skbayes.search._parameters import COUNT, share_parameters, surrogate_parameter
from skbayes.search._preparation import parse_initial_points
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.choice import rank
from skbayes.search.monotonicity import check_monotonicity
from skbayes.search.small_samples import (
    MonotonicityPlan,
    RoundRobinOptimizer,
    plan_monotonicity,
)
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.robust_monotonic import RobustMonotonicGP
from skbayes.utils.optional import warn_or_log, warn_user

logger = logging.getLogger("skbayes")

# Trials on each small sample, and their maximum share of all trials.
N_SMALL_ITER, SMALL_SHARE = 15, 0.75

# Number of initial configurations on each small sample, and on all data after them.
N_INITIAL_POINTS = 3

# Minimum number of rows per class in a small sample, up to half of the training set.
MIN_ROWS = 10

# Kernels of the models with signs by the name of the surrogate.
SIGNED = {"gp": "matern52", "gp-matern52": "matern52", "gp-rbf": "rbf"}


@share_parameters
class HyperTuneSearchCV(BayesSearchCV):
    """Bayesian search that uses small samples to guide the search on all data.

    The best model for a small sample is usually simpler than the best model for all
    data. The score on all data therefore increases from the simple end of each range up
    to the best configuration of the small samples. HyperTuneSearchCV first searches
    several small samples. The Gaussian process of the search on all data then uses
    these directions in addition to the scores, so the search avoids models that are too
    simple.

    The parameters and attributes of :class:`~skbayes.BayesSearchCV` are available too.
    For common estimators, the hyper-parameters that increase the complexity of the
    model are known. Specify them by `complexity` for other estimators.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    n_iter : int, default=100
        Maximum number of trials, including the trials on small samples.
    complexity : {"auto"}, dict or None, default="auto"
        Direction in which the best value of each hyper-parameter moves as the amount of
        data grows. For most hyper-parameters, it is the direction that makes the model
        more complex. It is given as a dict of signs, +1 or -1, by name, such as
        ``{"svc__C": +1, "svc__gamma": +1}``. Hyper-parameters that are missing or 0
        have no sign.

        "auto" uses the signs that
        :func:`skbayes.search.monotonicity.known_monotonicity` returns for the estimator
        and its parts. To change some of them, modify this dict. With None, there are no
        signs. Without signs, the search is the same as
        :class:`~skbayes.BayesSearchCV`.
    subset_fraction : float, default=0.1
        Size of a small sample as a fraction of each training set, in (0, 1). A sample
        has at least 10 rows per class (10 rows in total for other targets), but this
        minimum never exceeds half of the training set.
    n_subsets : int, default=5
        Number of small samples. Each is searched independently.
    n_small_iter : int or "auto", default="auto"
        Number of trials on each small sample. "auto" is 15, or fewer if all trials on
        small samples would exceed three quarters of `n_iter`.
    {timeout}

        Each part of the search gets the share of the time that its trials would need if
        durations were proportional to the number of rows.
    surrogate : {"gp", "gp-matern52", "gp-rbf"} or tuple, default="gp"
        Model of the scores: a Gaussian process with a twice differentiable kernel,
        which is Matérn-5/2 ("gp", "gp-matern52") or the squared exponential of the
        paper ("gp-rbf"). If there are no signs, as on the small samples, it is the
        surrogate of :class:`~skbayes.BayesSearchCV` with the same name. A tuple
        consists of the model and the acquisition function "ei", "pi", "ucb" or an
        acquisition object.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search on all data starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number on each small sample, and on all
        data after small samples, is 3 unless an int is given. With "default" or an int,
        the first one on all data is ``small_optimum_``.
    {pre_dispatch}
        On small samples, it is at least `n_subsets`, one trial per sample, if `n_jobs`
        provides workers for them.
    {stopper}
        The trials are those of the current part of the search, on small samples or on
        all data, and only this part ends.
    {warm_start_from}
        The results of earlier searches are used on all data.
    {parameters}

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. Trials on small
        samples share the last rank. The additional columns are:

        - `stage`: 0 on small samples, 1 on all data;
        - `train_fraction`: fraction of the training rows;
        - `subset`: number of the small sample, -1 for all data.
    best_params_ : dict
        Best configuration among the trials on all data. Available unless
        ``refit=False`` with several metrics.
    signs_ : dict of str to int
        Signs from `complexity`.
    small_optimum_ : dict or None
        Robust center of the best configurations on the small samples: the median in the
        encoded space, or the most frequent option. None if no small samples were
        searched.
    small_optima_ : list of dict
        Best configuration on each small sample.
    sign_points_ : list of dict
        Configurations between the simple end of the ranges and ``small_optimum_`` at
        which the signs were assumed.
    disagreement_ : dict of str to float
        Median distance of ``small_optima_`` from ``small_optimum_`` for each
        hyper-parameter with a sign, as a fraction of its range.
    weakened_ : list of str
        Hyper-parameters whose signs have less weight, because the small samples
        strongly disagree about them (by more than 0.15). The logger ``skbayes`` issues
        a warning.
    signs_in_force_ : dict of str to int
        Signs of ``signs_`` that the scores on all data do not contradict at the end of
        the search.
    {attributes}

    See Also
    --------
    BayesSearchCV : Bayesian search without small samples.
    skbayes.search.monotonicity.known_monotonicity : Known signs of an estimator.

    Notes
    -----
    A trial is one configuration, fitted and scored on every split. On a small sample,
    it is fitted on some of the training rows and scored on all test rows.

    Signs can be wrong. The signs of a hyper-parameter are dropped as soon as the scores
    are ten times less probable with them than without (``signs_in_force_``). Every
    fourth trial on all data is chosen without any signs, so scores are also observed in
    regions that the signs exclude.

    If the space has at most `n_iter` configurations, or if `n_iter` is too small for
    two trials on each small sample, all trials are made on all data without signs.

    References
    ----------
    Joy, Rana, Gupta & Venkatesh (2019), "Fast hyperparameter tuning using Bayesian
    optimization with directional derivatives"; Riihimaki & Vehtari (2010), "Gaussian
    processes with monotonicity information".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbayes import HyperTuneSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = HyperTuneSearchCV(
    ...     SVC(),
    ...     {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-6, 1e0, "log-uniform")},
    ...     subset_fraction=0.2,
    ...     n_subsets=3,
    ...     n_iter=24,
    ...     cv=2,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> print(f"{search.best_score_:.3f}")
    0.964

    Larger values of both hyper-parameters make the model more complex. 18 of the 24
    trials are made on small samples (stage 0), and 6 on all data (stage 1):

    >>> search.signs_
    {'C': 1, 'gamma': 1}
    >>> [int(sum(search.cv_results_["stage"] == stage)) for stage in (0, 1)]
    [18, 6]
    """

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("complexity", [compat.StrOptions({"auto"}), dict, None]),
        Parameter("subset_fraction", [compat.Interval(Real, 0, 1, closed="neither")]),
        Parameter("n_iter", [COUNT], changes_trials=False),
        Parameter("n_subsets", [COUNT]),
        Parameter("n_small_iter", [COUNT, compat.StrOptions({"auto"})]),
        surrogate_parameter(
            [compat.StrOptions(set(SIGNED))], {"ei", "pi", "ucb"}, (Acquisition,)
        ),
    )

    _subset_parameter = "subset_fraction"

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any = "auto",
        *,
        n_iter: int = 100,
        complexity: Any = "auto",
        subset_fraction: float = 0.1,
        n_subsets: int = 5,
        n_small_iter: int | str = "auto",
        **shared: Any,
    ) -> None:
        self._store(locals())

    # -- the two parts of the search ----------------------------------------------

    def _on_small_samples(self, run: SearchRun, history: History) -> Any:
        Optimizer(run.space, **self._settings(run))  # detects errors early
        start = {"n_initial_points": self._n_initial(), "initial_points": None}
        return RoundRobinOptimizer(
            [
                Optimizer(
                    run.space,
                    **self._settings(run, prior=None, random_state=int(seed), **start),
                )
                for seed in make_seeds(run.seed, self.n_subsets)
            ]
        )

    def _n_initial(self) -> int:
        """Return the number of initial configurations, with small samples."""
        given = self._n_spread()
        return N_INITIAL_POINTS if isinstance(given, str) else given

    def _n_small(self, run: SearchRun) -> int:
        """Return the number of trials on each small sample; 0 if none are searched."""
        if not run.notes["signs"] or run.space.n_configurations <= self.n_iter:
            return 0
        most = int(SMALL_SHARE * self.n_iter) // self.n_subsets
        if self.n_small_iter == "auto":
            return min(N_SMALL_ITER, most) if most > 1 else 0
        n_small = int(self.n_small_iter)
        if n_small * self.n_subsets >= self.n_iter:
            raise ValueError(
                f"n_iter={self.n_iter} leaves no trial on all data after n_small_iter="
                f"{n_small} on each of n_subsets={self.n_subsets} small samples."
            )
        return n_small

    def _stages(self, run: SearchRun) -> list[Stage]:
        check_candidates(self.estimator, run.space.covering_sample())
        signs = check_monotonicity(self.complexity, self.estimator, run.space)
        run.notes["signs"] = signs
        if self.complexity == "auto" and not signs:
            warn_user(
                "complexity='auto' finds no sign for any parameter in search_spaces. "
                "No small samples are searched, and the search is that of "
                "BayesSearchCV. Set complexity to a dict of signs by name."
            )
        n_small = self._n_small(run) * self.n_subsets
        if n_small == 0:
            return super()._stages(run)
        size, min_rows = float(self.subset_fraction), self._min_rows(run)
        samples = [
            Fidelity(train_size=size, subset=subset, min_rows=min_rows)
            for subset in range(self.n_subsets)
        ]
        small = Stage(
            self._on_small_samples,
            n_small,
            lambda k, params: (params, samples[k % self.n_subsets]),
            samples,
            weight=self.subset_fraction,
            n_points=self.n_subsets,
        )
        return [small, Stage(self._on_all_data, self.n_iter - n_small)]

    def _min_rows(self, run: SearchRun) -> int:
        classes = ("binary", "multiclass")
        if is_classifier(self.estimator) and type_of_target(run.y) in classes:
            return MIN_ROWS * len(np.unique(run.y))
        return MIN_ROWS

    def _on_all_data(self, run: SearchRun, history: History) -> Optimizer:
        signs = run.notes["signs"]
        plan = plan_monotonicity(run.space, signs, history, run.seed)
        run.notes["monotonicity"] = plan
        if plan is None:
            warn_user(
                "No trial on a small sample has a score; the search on all data "
                "continues without signs."
            )
        elif plan.weakened:
            names = ", ".join(
                f"{name!r} ({plan.disagreement[name]:.2f} of the range)"
                for name in plan.weakened
            )
            # Logged instead of a Python warning: if the scores hardly depend on a
            # parameter, small samples disagree although nothing is wrong.
            logger.warning(
                f"The small samples disagree strongly about {names}; the signs of "
                "these parameters carry less weight."
            )
        changes = {} if plan is None else self._with_signs(run, plan)
        optimizer = Optimizer(run.space, **self._settings(run, **changes))
        self._warm_start(optimizer, run)
        return optimizer

    def _with_signs(self, run: SearchRun, plan: MonotonicityPlan) -> dict[str, Any]:
        """Return the arguments of the optimizer that depend on the small samples."""
        points, space = list(run.initial_points), run.space
        (center,) = space.decode(plan.center[None, :])
        if space.allows(center):
            default = parse_initial_points(self.initial_points)[0] is None
            points.insert(0 if default else len(points), center)
        return {
            "surrogate": self._signed_model(space, plan, run.seed),
            "n_initial_points": self._n_initial(),
            "initial_points": points,
        }

    def _signed_model(
        self, space: Space, plan: MonotonicityPlan, seed: int
    ) -> RobustMonotonicGP:
        return RobustMonotonicGP(
            SIGNED[self._model()[0]],
            sign_points=plan.points,
            signs=plan.signs,
            nu=plan.nu,
            n_options=space.n_options,
            random_state=seed,
        )

    # -- after the last trial -----------------------------------------------------

    def _describe(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        history = outcome.history
        attributes = super()._describe(run, outcome)
        attributes |= self._describe_signs(run, history)
        results = attributes["cv_results_"]
        whole = results["stage"] > 0
        if not np.any(whole):
            if not run.is_unfinished:
                warn_or_log(
                    "The search ended before the first trial on all data; the best "
                    "trial is on a small sample."
                )
            return attributes
        for metric in metrics_of(results):
            ranks = np.full(len(whole), np.sum(whole) + 1, dtype=np.int32)
            ranks[whole] = rank(results[f"mean_test_{metric}"][whole])
            results[f"rank_test_{metric}"] = ranks
        return attributes

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        # 0 on small samples, and 1 on all data.
        has_two = self._n_small(run) > 0
        stages = [trial.stage if has_two else 1 for trial in history]
        subsets = [-1 if s else t.subset for s, t in zip(stages, history, strict=True)]
        return super()._extra_columns(run, history) | {
            "stage": stages,
            "train_fraction": [trial.train_fraction for trial in history],
            "subset": subsets,
        }

    def _describe_signs(self, run: SearchRun, history: History) -> dict[str, Any]:
        """Return the attributes that describe the results on small samples."""
        plan, decode = run.notes.get("monotonicity"), run.space.decode
        return {
            "signs_": run.notes["signs"],
            "small_optimum_": plan and decode(plan.center[None])[0],
            "small_optima_": decode(plan.optima) if plan else [],
            "sign_points_": decode(plan.points) if plan else [],
            "disagreement_": plan.disagreement if plan else {},
            "weakened_": plan.weakened if plan else [],
            "signs_in_force_": self._signs_in_force(run, history, plan) if plan else {},
        }

    def _signs_in_force(
        self, run: SearchRun, history: History, plan: MonotonicityPlan
    ) -> dict[str, int]:
        space = run.space
        scored = [t for t in history if t.stage and t.state == TrialState.COMPLETE]
        if not scored:
            return {}
        model = self._signed_model(space, plan, 0)
        X = space.encode([trial.params for trial in scored])
        model.fit(X, np.array([trial.score for trial in scored]))
        names = {space.columns[column].name for column in model.columns_in_force_}
        return {n: s for n, s in run.notes["signs"].items() if n in names}

    def _selection_scores(
        self, run: SearchRun, results: Mapping[str, Any]
    ) -> FloatArray | None:
        if not rule_and_bounds(self.constraints)[1]:
            return None
        # Trials on small samples are chosen only if there are no others.
        whole = np.asarray(results["stage"]) > 0
        scores = results[f"mean_test_{run.objective.name}"]
        return np.where(whole | ~np.any(whole), scores, np.nan)[:, None]

    def _select(self, run: SearchRun, found: Mapping[str, Any]) -> dict[str, Any]:
        attributes, stages = super()._select(run, found), found["cv_results_"]["stage"]
        chosen = attributes.get("best_index_")
        if callable(run.refit.plain) and stages[chosen] < stages.max():
            raise ValueError(
                f"refit chose row {chosen}, a trial on a small sample. Trials on all "
                "data have 1 in cv_results_['stage']."
            )
        return attributes
