"""Bayesian search in stages with growing training sets: `MultiStageSearchCV`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from skbayes import compat
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.subsets import Fidelity, check_train_size
from skbayes.evaluation.trial import History, TrialState
from skbayes.loop.stages import Outcome, Stage
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.stage_correlation import stage_correlation
from skbayes.results.warm_start import promising
from skbayes.search._parameters import COUNT, share_parameters
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.choice import results_table
from skbayes.space.candidates import Candidates
from skbayes.surrogates.registry import capability, check_surrogate, make_surrogate
from skbayes.surrogates.transfer import MultiFidelity
from skbayes.utils.optional import warn_user
from skbayes.utils.ranking import best_first

# Trials among which the best one is chosen.
BEST_OF = {"last_stage", "all_stages"}

# Share of trials in all stages before the last one.
CHEAP_SHARE = 0.75


@share_parameters
class MultiStageSearchCV(BayesSearchCV):
    r"""Bayesian search that evaluates most trials on a part of the training data.

    The search consists of stages with growing training sets. Each later stage starts
    with the best configurations of the previous stage, which are fitted and scored
    again on the larger training sets. The last stage uses all training rows. Most
    trials are therefore cheaper than in :class:`~skbayes.BayesSearchCV`, and the chosen
    configuration has been scored on the full training sets. With a single stage,
    ``stages=(1.0,)``, the trials are those of :class:`~skbayes.BayesSearchCV`.

    The parameters and attributes of :class:`~skbayes.BayesSearchCV` are available too.
    The most important additional parameter is `stages`: for very large data sets, use
    less than 0.3 of the rows in the first stage.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    stages : sequence of float or int, default=(0.3, 1.0)
        Training size of each stage: a fraction in (0, 1] of each split's training set,
        or a number of rows. Sizes must not decrease, and the last one is usually 1.0.
        The rows are drawn once, so all trials of a stage use the same rows. They are a
        subset of the rows of the next stage. Rows are stratified for classifiers, and
        whole groups are drawn with `groups`. All test rows are used in each stage.
    n_iter : int or sequence of int, default=50
        Maximum number of trials in all stages together, or a sequence with that of each
        stage. The stages before the last one share three quarters of an int evenly. A
        configuration that is tried in two stages counts twice.
    n_promoted : int, default=3
        Number of best configurations of a stage with which the next stage starts, best
        first.
    multi_fidelity : bool or "auto", default="auto"
        Whether the surrogate of a later stage is also fitted to the trials of earlier
        stages, with the fraction of the training rows as an additional input. With
        "auto", this is the case if the surrogate is a Gaussian process or "trees". True
        also enables it for a custom surrogate object, which must support an additional
        column. With False, each surrogate is fitted to the trials of its stage only, as
        published.
    best_of : {"last_stage", "all_stages"}, default="last_stage"
        Trials among which the best configuration is chosen, and which ``cv_results_``
        contains. "last_stage" is the last stage with a complete trial. "all_stages" is
        the rule of [1]_. It compares scores of different stages, although scores on
        larger training sets are usually higher.
    {timeout}

        No stage begins after the limit. Each stage gets a share of the time that
        remains when it begins, proportional to its number of trials times the size of
        its training sets. Time that it does not use is available to later stages.
        Except for its first trial, a stage does not start a trial that is expected to
        exceed its share.
    {surrogate}

        In a stage that also uses the trials of earlier stages, "gp" does not warp the
        inputs.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the first stage starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number is 3 unless an int is given. Later
        stages start with the promoted configurations instead.
    {stopper}
        With several stages, the trials are those of the current stage, and the next
        stage begins.
    warm_start_from : search, dict, data frame, study, path, list or None, default=None
        Results of an earlier search on the same data, scored by the same metric: a
        fitted search, its ``cv_results_``, the path of a journal, or any other source
        that :class:`~skbayes.BayesSearchCV` accepts. The `n_promoted` best known
        configurations are tried first, or after `initial_points`. With several stages,
        their scores are not used, since scores on smaller training sets differ.

        A list contains searches on other data; they are used in the first stage.
    {parameters}

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        Results with one row per trial of the last stage that has a complete trial, or
        of all stages with ``best_of="all_stages"``. The columns are those of
        GridSearchCV, `stage` and `train_fraction`.
    all_cv_results_ : dict of str to ndarray
        Results of all stages with one row per trial, in the order in which the trials
        were made. There are no columns of ranks: scores on fewer rows are lower.
    train_fractions_ : list of float
        Fraction of the training rows in each stage, averaged over the splits.
    stage_correlation_ : DataFrame or dict
        Agreement between consecutive stages, with one row for each pair of consecutive
        stages that have trials. Without pandas, a dict of arrays. Correlations are NaN
        if they are based on fewer than two trials, or if there is no model of the
        score. The columns are:

        - `stage`, `next_stage`: the two stages;
        - `train_fraction`, `next_train_fraction`: their fractions of the training rows;
        - `n_both`: number of configurations tried in both stages;
        - `rank_correlation`: Spearman correlation of the two scores of these
          configurations;
        - `n_next`: number of trials of the next stage;
        - `model_correlation`: Spearman correlation of the scores of these trials with
          the scores that the surrogate of the previous stage predicts.
    optimizer_ : Optimizer
        Optimizer of the last stage, with all of its observations.
    optimizers_ : list of Optimizer
        Optimizers of all stages that began.
    stop_reason_ : str
        Reason for the end of the last stage that began; the values are those of
        :class:`~skbayes.BayesSearchCV`: "n_iter", "timeout", "exhausted", "callback",
        "interrupted", or the reason of the stopper.
    {attributes}

    See Also
    --------
    BayesSearchCV : Bayesian search with all trials on all training rows.
    sklearn.model_selection.HalvingRandomSearchCV : Successive halving of
        random configurations, which do not depend on earlier scores.

    Notes
    -----
    The method is that of [1]_. Its experiments use two stages with 30% and 100% of
    the training data, and promote three configurations. Let
    :math:`T^1 \subseteq \dots \subseteq T^S` be the training sets of the stages and
    :math:`L(\lambda, T)` the cross-validated score of configuration :math:`\lambda`
    fitted on :math:`T`. Stage :math:`s` maximizes :math:`L(\lambda, T^s)` by Bayesian
    optimization, starting with

    .. math::

        \operatorname{top}_k \{ \lambda : \lambda \text{ tried in stage } s - 1 \}
        \text{ by } L(\lambda, T^{s-1}).

    The authors choose the best score of all stages. A score on a part of the data is
    biased, usually downwards, so the default here is the best score of the last stage.

    As in the next release of :class:`~sklearn.model_selection.HalvingGridSearchCV`,
    ``cv_results_`` contains the last stage only, so that the row ``best_index_`` has
    rank 1.

    If the best configuration depends on the amount of data (smaller samples need
    stronger regularization), promote more configurations or increase the first
    fraction. ``stage_correlation_`` shows whether this is the case.

    Subsets that are too small for the classes or groups raise an error before the first
    fit, which states the smallest possible size. Configurations that are valid only for
    larger training sets fail on smaller ones, and are then not promoted.

    Interrupts and the death of workers are handled as in
    :class:`~skbayes.BayesSearchCV`. If the search ends before the last stage has a
    complete trial, the best trial of the previous stage is chosen and refitted on all
    data.

    References
    ----------
    .. [1] L. Wang, M. Feng, B. Zhou, B. Xiang and S. Mahadevan, "Efficient
       hyper-parameter optimization for NLP applications", EMNLP 2015, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbayes import MultiStageSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = MultiStageSearchCV(
    ...     SVC(),
    ...     {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")},
    ...     stages=(0.2, 1.0),
    ...     n_iter=12,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> print(f"{search.best_score_:.3f}")
    0.976

    Of the 12 trials, 9 are fitted on 20% of the training rows, and 3 on all of them:

    >>> len(search.all_cv_results_["stage"]), len(search.cv_results_["stage"])
    (12, 3)
    """

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("stages", [list, tuple, np.ndarray]),
        Parameter("n_iter", [COUNT, list, tuple, np.ndarray], 50, changes_trials=False),
        Parameter("n_promoted", [COUNT]),
        Parameter("multi_fidelity", ["boolean", compat.StrOptions({"auto"})]),
        Parameter("best_of", [compat.StrOptions(BEST_OF)], changes_trials=False),
    )

    stage_correlation_ = FrameAttribute()

    _subset_parameter = "stages"
    _n_initial_points: int | str = 3

    def __init__(
        self,
        estimator: Any,
        search_spaces: Any = "auto",
        *,
        stages: Sequence[float | int] = (0.3, 1.0),
        n_promoted: int = 3,
        multi_fidelity: bool | str = "auto",
        best_of: str = "last_stage",
        **shared: Any,
    ) -> None:
        self._store(locals())

    # -- before the first fit -----------------------------------------------------

    def _sizes(self) -> list[float | int]:
        if len(self.stages) == 0:
            raise ValueError("stages must have at least one training size.")
        return [check_train_size(size, "stages") for size in self.stages]

    def _n_trials(self) -> list[int]:
        n_stages, given = len(self.stages), self.n_iter
        if isinstance(given, Integral):
            return _shares(int(given), n_stages)
        whole = all(
            isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1
            for n in given
        )
        if len(given) != n_stages or not whole:
            raise ValueError(
                "n_iter must be an int, or have an int of at least 1 for each of "
                f"the {n_stages} stages, got {given!r}."
            )
        return [int(n) for n in given]

    def _make_optimizer(self, run: SearchRun) -> Optimizer:
        return self._optimizer_for(run, self._n_trials()[0])

    def _mixes_fidelities(self) -> bool:
        """Return whether surrogates use earlier stages; ValueError if they cannot."""
        # None for a custom class, which is used only with multi_fidelity=True.
        takes_fidelity = capability(check_surrogate(self._model()[0]), "takes_fidelity")
        if self.multi_fidelity == "auto":
            return bool(takes_fidelity)
        if self.multi_fidelity and takes_fidelity is False:
            raise ValueError(
                "multi_fidelity=True needs a surrogate that learns from the share of "
                "the training rows as one more input: a Gaussian process or 'trees', "
                f"got {self.surrogate!r}."
            )
        return bool(self.multi_fidelity)

    # -- the stages ---------------------------------------------------------------

    def _stages(self, run: SearchRun) -> list[Stage]:
        sizes, n_trials = self._sizes(), self._n_trials()
        self._mixes_fidelities()
        first = self._first_on_samples if len(sizes) > 1 else self._first_optimizer
        stages = []
        for index, size in enumerate(sizes):
            fidelity = Fidelity(train_size=size)
            make = partial(self._next_optimizer, index, fidelity) if index else first
            stages.append(Stage(make, n_trials[index], _always(fidelity), [fidelity]))
        return stages

    def _first_on_samples(self, run: SearchRun, history: History) -> Optimizer:
        optimizer = self._make_optimizer(run)
        if run.sources:
            optimizer.transfer(run.sources)
        # Known scores are not used, since they are scores on all rows.
        known = promising(run)
        order = best_first([score for _, score, *_ in known])
        for place in order[: self.n_promoted]:
            optimizer.enqueue(known[place][0])
        return optimizer

    def _next_optimizer(
        self, index: int, fidelity: Fidelity, run: SearchRun, history: History
    ) -> Optimizer:
        """Make the optimizer of a later stage from the trials of earlier stages."""
        last = History([trial for trial in history if trial.stage == index - 1])
        best = last.best_first()[: self.n_promoted]
        promoted = [dict(trial.params) for trial in best]
        if not promoted:
            _warn_of_failure(last, index - 1, self.stages[index - 1])
        settings = self._settings(
            run,
            surrogate=self._informed_surrogate(run, fidelity, history),
            n_initial_points=len(promoted) or self._n_spread(),
            initial_points=promoted or run.initial_points,
            prior=run.prior and run.prior.densities_only(),
        )
        return Optimizer(run.space, **settings)

    def _informed_surrogate(
        self, run: SearchRun, fidelity: Fidelity, history: History
    ) -> Any:
        """Return the surrogate, which also uses earlier stages if possible."""
        seen = [trial for trial in history if trial.state == TrialState.COMPLETE]
        if not (seen and self._mixes_fidelities()):
            return self._model()[0]
        surrogate = check_surrogate(self._model()[0])
        candidates = Candidates(run.space)
        if surrogate == "gp" and not candidates.is_enumerated:
            # There are too few scores of this fidelity to fit a warping of the inputs.
            surrogate = "gp-matern52"
        return MultiFidelity(
            make_surrogate(surrogate, candidates, run.seed),
            run.space.encode([trial.params for trial in seen]),
            np.array([trial.score for trial in seen]),
            np.array([trial.train_fraction for trial in seen]),
            run.train_fraction(fidelity),
        )

    # -- after the last trial -----------------------------------------------------

    def _describe(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        history, optimizers = outcome.history, outcome.optimizers
        fractions = [
            run.train_fraction(Fidelity(train_size=size)) for size in self._sizes()
        ]
        return {
            "train_fractions_": fractions,
            "optimizers_": optimizers,
            "stage_correlation_": stage_correlation(history, optimizers, fractions),
            "all_cv_results_": {
                key: column
                for key, column in results_table(self, run, history).items()
                if not key.startswith("rank_test_")
            },
            "cv_results_": results_table(self, run, run.ranked),
        }

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        return super()._extra_columns(run, history) | {
            "stage": [trial.stage for trial in history],
            "train_fraction": [trial.train_fraction for trial in history],
        }

    def _ranked(self, history: History) -> History:
        """Return the trials among which the best is chosen."""
        if self.best_of == "all_stages" or not history:
            return history
        stage = (history.best or history[-1]).stage
        return History([trial for trial in history if trial.stage == stage])


def _shares(n_iter: int, n_stages: int) -> list[int]:
    if n_iter < n_stages:
        raise ValueError(
            f"n_iter must be at least the number of stages, {n_stages}, got {n_iter}."
        )
    if n_stages == 1:
        return [n_iter]
    n_cheap = n_stages - 1
    cheap = min(max(round(CHEAP_SHARE * n_iter), n_cheap), n_iter - 1)
    each, left = divmod(cheap, n_cheap)
    return [each + (stage < left) for stage in range(n_cheap)] + [n_iter - cheap]


def _always(fidelity: Fidelity) -> Callable[[int, dict], tuple[dict, Fidelity]]:
    return lambda number, params: (params, fidelity)


def _warn_of_failure(trials: History, stage: int, size: Any) -> None:
    errors = [trial.error for trial in trials if trial.error is not None]
    first = f" The first error:\n{errors[0]}" if errors else ""
    warn_user(
        f"Stage {stage + 1} has no complete trial. If fits failed because its training "
        f"sets, stages[{stage}]={size!r}, are too small for the estimator, make them "
        f"larger.{first}"
    )
