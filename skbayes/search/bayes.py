"""Bayesian search over hyper-parameters: `BayesSearchCV`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import ParameterGrid

from skbayes.acquisition.improvement import Acquisition
from skbayes.acquisition.influence import ExpectedInfluence
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.run import SearchRun
from skbayes.optimizer.observations import check_takes_noise
from skbayes.optimizer.optimizer import ACQUISITIONS, Optimizer
from skbayes.search._parameters import (
    ANY_SURROGATE,
    share_parameters,
    surrogate_parameter,
)
from skbayes.search._preparation import parse_initial_points
from skbayes.search.base import BaseBayesSearchCV
from skbayes.space import Space
from skbayes.space.dimensions import key_of
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.utils.optional import warn_user


@share_parameters
class BayesSearchCV(BaseBayesSearchCV):
    """Bayesian search over hyper-parameters with cross-validation.

    BayesSearchCV is a drop-in replacement for
    :class:`~sklearn.model_selection.GridSearchCV` and
    :class:`~sklearn.model_selection.RandomizedSearchCV`. It has the same methods and
    attributes, and accepts their grids and distributions as `search_spaces`. A
    surrogate, by default a Gaussian process, is fitted to the scores of all trials so
    far and selects the next configuration.

    Only `estimator` is required. After
    ``BayesSearchCV(estimator, search_spaces).fit(X, y)``, ``best_params_`` and
    ``best_score_`` describe the best of 50 configurations, and the search predicts with
    the refitted estimator. `n_iter` and `timeout` set the budget. `random_state` makes
    the search reproducible, also with another number of workers if `pre_dispatch` is an
    int. `scoring`, `cv` and `n_jobs` have the same meaning as for GridSearchCV.

    Parameters
    ----------
    {estimator}
    {search_spaces}
    {n_iter}
    {timeout}
    {parameters}

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. It can be
        converted to a pandas DataFrame. With `racing` or `trial_limits`,
        the column `state` shows which trials were pruned or aborted; their mean scores
        are NaN.
    {attributes}

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Exhaustive search over a grid.
    sklearn.model_selection.RandomizedSearchCV : Search over random configurations.
    MultiStageSearchCV : Search with most trials on a part of the training data.
    skbayes.Optimizer : Bayesian optimization of any Python function.

    Notes
    -----
    A trial is one configuration, fitted and scored on every split. It is evaluated by
    the same function as in GridSearchCV. Scores, failures, sample weights, metadata
    routing and callbacks therefore have the same meaning.

    If the search is interrupted by Ctrl-C, it starts no new fits, and ends with the
    trials that have finished. Running fits are aborted, except on a cluster, and in
    threads without a limit, where they are completed. The best configuration is
    refitted as usual. A second Ctrl-C raises KeyboardInterrupt, as does a first one
    before the first trial has finished or during the refit. If the refit ends with an
    error or an interrupt, ``cv_results_``, ``best_params_`` and the other attributes
    are kept. Only ``best_estimator_`` is then not fitted.

    If a worker process dies, for example because it runs out of memory, the trials that
    were running are repeated, one at a time. A trial is marked as failed if its worker
    dies twice while the trial runs alone.

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
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": (0.01, 100.0, "log-uniform"), "gamma": (1e-4, 1.0, "log-uniform")},
    ...     n_iter=20,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 18.8992, 'gamma': 0.01}
    >>> print(f"{search.best_score_:.3f}")
    0.980
    >>> search.predict(X[:3])
    array([0, 0, 0])

    Ranges, scipy distributions and lists can be combined:

    >>> from scipy.stats import loguniform
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": loguniform(1e-2, 1e3), "kernel": ["linear", "rbf"]},
    ...     n_iter=10,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 0.658263, 'kernel': 'linear'}
    >>> len(search.trials_), search.stop_reason_
    (10, 'n_iter')
    """

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        surrogate_parameter(
            [*ANY_SURROGATE, ParzenEstimator],
            ACQUISITIONS,
            (Acquisition, ExpectedInfluence),
        ),
    )

    def __init__(
        self, estimator: Any, search_spaces: Any = "auto", **shared: Any
    ) -> None:
        self._store(locals())

    def _model(self) -> tuple[Any, Any]:
        given = self.surrogate
        is_process = isinstance(given, str) and given.startswith("gp")
        if is_process and self.n_iter is None and self.timeout is not None:
            return given, "ei-per-second"
        return super()._model()

    def _make_optimizer(self, run: SearchRun) -> Optimizer:
        return self._optimizer_for(run, self._most_trials())

    def _optimizer_for(self, run: SearchRun, n_iter: float) -> Optimizer:
        """Make the optimizer of a search with `n_iter` trials."""
        points, space = list(run.initial_points), run.space
        # If all configurations are tried, their order is that of GridSearchCV, so that
        # ties have the same result.
        open_ended = self.timeout is not None or self.stopper is not None
        everything = not open_ended and space.n_configurations <= n_iter
        rest = _all_points(run.search_spaces, space) if everything else []
        if everything and parse_initial_points(self.initial_points)[0] is None:
            points = []  # included in the rest
        if run.cuts_trials:
            # Scores of unfinished trials are noisier than others.
            check_takes_noise(self._model()[0])
        settings = self._settings(run, initial_points=points + rest)
        optimizer = Optimizer(space, **settings)
        self._warn_of_untried(points, space, n_iter)
        return optimizer

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: float) -> None:
        """Warn of initial points that exceed the number of trials."""
        if not points:
            return
        n_different = len({row.tobytes() for row in space.encode(points)})
        if n_different > n_iter:
            warn_user(
                f"initial_points has {n_different} different configurations, of which "
                f"only the first {n_iter} are tried with n_iter={self.n_iter}."
            )


def _all_points(search_spaces: Any, space: Space) -> list[dict]:
    """Return all configurations of a finite space in GridSearchCV's order."""
    points = _grid_points(search_spaces, space)
    if points is None:
        points = space.decode(space.enumerate(np.arange(int(space.n_configurations))))
    return [point for point in points if space.allows(point)]


def _grid_points(search_spaces: Any, space: Space) -> list[dict] | None:
    """Return the points of a grid that GridSearchCV accepts; None for other spaces."""
    try:
        grid = list(ParameterGrid(search_spaces))
        # Encoding and decoding converts the values to plain Python.
        X = space.encode(grid)
        if not space.overlaps:
            # Repeated values of a list count once.
            _, first = np.unique([key_of(row) for row in X], return_index=True)
            X = X[np.sort(first)]
        points = space.decode(X)
    except (TypeError, ValueError):
        return None
    return points if len(points) == space.n_configurations else None
