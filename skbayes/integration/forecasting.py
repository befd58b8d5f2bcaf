"""Search of the parameters of a forecaster of sktime."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import joblib

from skbayes.optimizer import Optimizer, SpaceExhausted
from skbayes.utils.optional import import_optional

if TYPE_CHECKING:
    from sktime.forecasting.model_selection import ForecastingRandomizedSearchCV
    from sktime.utils.validation.forecasting import check_scoring
else:
    _import = partial(
        import_optional,
        extra="forecasting",
        purpose="skbayes.integration.ForecastingSkbayesSearchCV",
    )
    ForecastingRandomizedSearchCV = _import(
        "sktime.forecasting.model_selection"
    ).ForecastingRandomizedSearchCV
    check_scoring = _import("sktime.utils.validation.forecasting").check_scoring


class ForecastingSkbayesSearchCV(ForecastingRandomizedSearchCV):
    """Bayesian search of the parameters of a forecaster of sktime.

    It replaces ``sktime.forecasting.model_selection.ForecastingRandomizedSearchCV``,
    and has the same parameters, methods and attributes. A :class:`skbayes.Optimizer`
    chooses each configuration from the scores of the previous ones.

    Parameters
    ----------
    forecaster : forecaster of sktime
        The forecaster to tune.
    cv : splitter of sktime
        Splits of the time series, such as ``SlidingWindowSplitter()``.
    param_distributions : dict, list of dicts, or Space
        Search space, in any notation of skbayes.
    n_iter : int, default=10
        Number of configurations. It is smaller if the search space has fewer.
    scoring : metric of sktime, str or callable, default=None
        Metric; the mean absolute percentage error by default.
    strategy : {"refit", "update", "no-update_params"}, default="refit"
        Method that passes the next training window to a forecaster.
    update_behaviour : {"full_refit", "inner_only", "no_update"}, default="full_refit"
        Behavior of ``update`` of the fitted search.
    refit : bool, default=True
        Whether the best forecaster is fitted to the whole time series.
    tune_by_instance, tune_by_variable : bool, default=False
        Whether each instance of a panel, or each variable, has a separate search.
    verbose : int, default=0
        Verbosity.
    return_n_best_forecasters : int, default=1
        Number of forecasters in ``n_best_forecasters_``; -1 for all.
    error_score : "raise" or float, default=nan
        Score of a forecaster that cannot be fitted.
    backend : str, default="loky"
        Backend of sktime for parallel fits.
    backend_params : dict, default=None
        Parameters of the backend. The number of configurations that are chosen and
        evaluated at a time is its ``n_jobs``, 1 by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the search. Pass an int for reproducible trials.
    n_jobs : "deprecated"
        Parameter of earlier versions of sktime, without effect.

    Raises
    ------
    ImportError
        If sktime is not installed.

    Examples
    --------
    >>> from skbayes.integration import ForecastingSkbayesSearchCV
    >>> from sklearn.linear_model import Ridge
    >>> from sktime.datasets import load_airline
    >>> from sktime.forecasting.compose import make_reduction
    >>> from sktime.split import ExpandingWindowSplitter
    >>> forecaster = make_reduction(Ridge())
    >>> cv = ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=108, step_length=12)
    >>> space = {
    ...     "window_length": (2, 24),
    ...     "estimator__alpha": (1e-3, 1e5, "log-uniform"),
    ... }
    >>> search = ForecastingSkbayesSearchCV(
    ...     forecaster, cv, space, n_iter=12, backend=None, random_state=0
    ... )
    >>> print(f"{search.fit(load_airline()).best_score_:.3f}")
    0.046
    """

    def _run_search(
        self, evaluate_candidates: Callable[[list[dict[str, Any]]], list[Any]]
    ) -> list[Any]:
        """Return the results of `n_iter` configurations."""
        scoring = check_scoring(self.scoring, obj=self)
        lower = scoring.get_tag("lower_is_better")
        optimizer = Optimizer(
            self.param_distributions,
            direction="minimize" if lower else "maximize",
            random_state=self.random_state,
        )
        n_at_once = joblib.effective_n_jobs(
            (self.backend_params or {}).get("n_jobs", 1)
        )
        results: list[Any] = []
        while len(results) < self.n_iter:
            try:
                proposed = optimizer.ask(min(n_at_once, self.n_iter - len(results)))
            except SpaceExhausted:
                break
            found = evaluate_candidates(proposed)
            for params, result in zip(proposed, found, strict=True):
                optimizer.tell(params, result[f"mean_test_{scoring.name}"])
            results += found
        return results
