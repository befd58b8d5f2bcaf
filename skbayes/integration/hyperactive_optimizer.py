"""Optimizer of Hyperactive that uses the optimizer of skbayes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skbayes.optimizer import Optimizer, SpaceExhausted
from skbayes.utils.optional import import_optional

if TYPE_CHECKING:
    from hyperactive.base import BaseOptimizer
else:
    BaseOptimizer = import_optional(
        "hyperactive.base",
        extra="hyperactive",
        purpose="skbayes.integration.HyperactiveOptimizer",
    ).BaseOptimizer


class HyperactiveOptimizer(BaseOptimizer):
    """Optimizer of Hyperactive that uses the optimizer of skbayes.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space, default=None
        Search space, in any notation of skbayes. It is required by ``solve``.
    n_iter : int, default=50
        Number of configurations. It is smaller if the search space has fewer.
    surrogate : str or object, default="gp"
        Model of the objective, as for :class:`skbayes.Optimizer`.
    random_state : int, RandomState instance or None, default=None
        Seed of the search. Pass an int for reproducible configurations.
    experiment : experiment of Hyperactive or callable, default=None
        Objective, which is maximized. It is required by ``solve``.

    Attributes
    ----------
    best_params_ : dict
        The best configuration, after ``solve``.
    best_score_ : float
        Its score.

    Raises
    ------
    ImportError
        If Hyperactive is not installed.

    Examples
    --------
    >>> from skbayes.integration import HyperactiveOptimizer
    >>> def negative_square(params):
    ...     return -((params["x"] - 2) ** 2)
    >>> optimizer = HyperactiveOptimizer(
    ...     {"x": (-5.0, 5.0)}, n_iter=12, random_state=0, experiment=negative_square
    ... )
    >>> round(optimizer.solve()["x"], 1)
    2.0
    """

    def __init__(
        self,
        search_spaces: Any = None,
        n_iter: int = 50,
        surrogate: Any = "gp",
        random_state: Any = None,
        experiment: Any = None,
    ) -> None:
        self.search_spaces = search_spaces
        self.n_iter = n_iter
        self.surrogate = surrogate
        self.random_state = random_state
        self.experiment = experiment
        super().__init__()

    def _solve(
        self,
        experiment: Any,
        search_spaces: Any,
        n_iter: int,
        surrogate: Any,
        random_state: Any,
    ) -> dict[str, Any]:
        """Return the best configuration."""
        optimizer = Optimizer(
            search_spaces, surrogate=surrogate, random_state=random_state
        )
        results = []
        try:
            for _ in range(n_iter):
                params = optimizer.ask()
                score = float(experiment.score(params)[0])
                optimizer.tell(params, score)
                results.append((score, params))
        except SpaceExhausted:
            pass
        finite = [result for result in results if result[0] == result[0]]
        if not finite:
            raise ValueError("No configuration has a score; all are NaN.")
        self.best_score_, best = max(finite, key=lambda result: result[0])
        return best
