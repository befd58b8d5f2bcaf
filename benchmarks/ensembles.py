"""Losses on new rows of `refit="ensemble"`, beside the best configuration alone.

One search of a task of `small_tables.py` makes both models. The columns are the
logarithm of the ratio (× 1000) of the loss on new rows to that of the best
configuration, refitted on all rows, whether it is smaller or greater (%), and the
number of members.

Example: python benchmarks/ensembles.py run --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import warnings
from typing import Any

import numpy as np
from harness import Record, Study, main
from methods import as_notation
from new_rows import space_of
from sklearn.base import clone
from small_tables import make_task

from skbayes import BayesSearchCV

TABLES = (
    *("breast_cancer", "ecoli", "german_credit", "haberman", "ionosphere"),
    *("mammography", "pima", "sonar", "diabetes", "wine_red"),
)
LEARNERS = ("boosting", "forest", "network")


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Compare the two models of one search."""
    warnings.simplefilter("ignore")
    task = make_task(name, seed)
    space = as_notation(space_of(name, task.estimator))
    common = {"scoring": task.scoring, "cv": task.folds(), "random_state": seed}
    search = BayesSearchCV(
        task.estimator, space, n_iter=options["trials"], refit=method, **common
    ).fit(task.X, task.y)
    single = clone(task.estimator).set_params(**search.best_params_)
    models = single.fit(task.X, task.y), search.best_estimator_
    losses = [task.loss(getattr(m, task.method)(task.X_test)) for m in models]
    ratio = float(np.log(losses[1] / losses[0]))
    n_members = len(getattr(models[1], "weights_", [1]))
    shares = [100.0 * (ratio < -1e-9), 100.0 * (ratio > 1e-9)]
    return {"figures": [1000.0 * ratio, *shares, n_members]}


STUDY = Study(
    name="ensembles",
    tasks=lambda: [f"{t}:{LEARNERS[i % 3]}" for i, t in enumerate(TABLES)],
    methods=("ensemble",),
    run=run,
    columns=lambda options: ["loss", "better %", "worse %", "members"],
    group=lambda task: task.split(":")[1],
    options={"trials": 25},
    seeds=3,
    smallest=("--tasks", "haberman", "--trials", "3", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
