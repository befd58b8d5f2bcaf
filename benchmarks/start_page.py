"""Table of the start page: a grid, a random search and BayesSearchCV on one task.

The figures are the number of fits, the seconds of processor time, and the log loss of
the best configuration in cross-validation. The task and the ranges are those of
examples/quickstart.py. The seed is that of the model and of the search.

Example: python benchmarks/start_page.py run --save start_page
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before NumPy

# isort: split
import time
from functools import cache
from typing import Any

from harness import Record, Study, main
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from skbayes import BayesSearchCV

GRID = {
    "learning_rate": [0.01, 0.1, 1.0],
    "max_depth": [1, 2, 4],
    "subsample": [0.4, 0.7, 1.0],
}
DISTRIBUTIONS = {
    "learning_rate": loguniform(0.01, 1.0),
    "max_depth": randint(1, 5),
    "subsample": uniform(0.4, 0.6),
}
RANGES = {
    "learning_rate": (0.01, 1.0, "log-uniform"),
    "max_depth": (1, 4),
    "subsample": (0.4, 1.0),
}
COMMON = {"scoring": "neg_log_loss", "cv": 3}
# Number of configurations of the grid and of the random search, and of BayesSearchCV.
N_GRID, N_BAYES = 27, 12


def _search(method: str, seed: int, n_estimators: int) -> Any:
    model = GradientBoostingClassifier(n_estimators=n_estimators, random_state=seed)
    if method == "GridSearchCV":
        return GridSearchCV(model, GRID, **COMMON)
    kind, space, n = RandomizedSearchCV, DISTRIBUTIONS, N_GRID
    if method == "BayesSearchCV":
        kind, space, n = BayesSearchCV, RANGES, N_BAYES
    return kind(model, space, n_iter=n, random_state=seed, **COMMON)


@cache
def _data() -> tuple[Any, Any]:
    return load_breast_cancer(return_X_y=True)


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the number of fits, the seconds and the loss of a search."""
    search = _search(method, seed, options["trees"])
    begin = time.process_time()
    search.fit(*_data())
    seconds = time.process_time() - begin
    n_fits = len(search.cv_results_["params"]) * search.n_splits_
    return {"figures": [n_fits, seconds, -search.best_score_]}


STUDY = Study(
    name="start_page",
    tasks=lambda: ["breast cancer"],
    methods=("BayesSearchCV", "GridSearchCV", "RandomizedSearchCV"),
    run=run,
    columns=lambda options: ["fits", "seconds", "log loss"],
    options={"trees": 200},
    seeds=10,
    digits=4,
    smallest=("--seeds", "1", "--trees", "2"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
