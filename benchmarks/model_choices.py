"""Searches among the models for a table, and among models whose scores are known.

The study "tables" compares `skbayes.spaces.models` with random search in the same space
and with histogram-based gradient boosting with its default values. The figures are the
losses on new rows after 6 and 25 trials, log loss or root mean squared error, and the
seconds of the search.

The study "pools" (model_pools.py) compares searches of several libraries.

Example: python benchmarks/model_choices.py tables --seeds 4 --jobs 2 --save tables
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import math
import time
import warnings
from typing import Any

import model_pools
import numpy as np
import pandas as pd
from harness import Record, Study, load, main
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from skbayes import BayesSearchCV
from skbayes.spaces import models as models_for

TABLES = (
    *("german_credit", "breast_cancer_yugoslavia", "pima", "ionosphere", "segment"),
    *("auto_mpg", "servo", "abalone"),
)
MOST_TRAINED, EARLY = 600, 6


def search_table(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Search a part of a table, and return losses on new rows and the seconds."""
    warnings.simplefilter("ignore")
    table = load().load_uci(task)
    X, y, classes = pd.DataFrame(table["data"]), table["target"], None
    if table["task"] == "classification":
        classes = y
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=min(MOST_TRAINED, int(0.7 * len(y))),
        stratify=classes,
        random_state=seed,
    )
    scoring = "neg_root_mean_squared_error" if classes is None else "neg_log_loss"
    split = KFold if classes is None else StratifiedKFold
    estimator, space = models_for(X, y, task=table["task"])
    begin = time.perf_counter()
    if method == "boosting":
        cls: Any = HistGradientBoostingClassifier
        if classes is None:
            cls = HistGradientBoostingRegressor
        _, sub = [o for o in space["model"].options if type(o[0]) is cls][0]
        columns = sub["columns"][0]
        chosen = [{"columns": columns, "model": cls(random_state=seed)}] * 2
    else:
        search = BayesSearchCV(
            estimator,
            space,
            n_iter=options["trials"],
            cv=split(options["folds"], shuffle=True, random_state=seed),
            scoring=scoring,
            random_state=seed,
            refit=False,
            pre_dispatch=1,
            **(
                {"surrogate": "random", "initial_points": []}
                if method == "random"
                else {}
            ),
        ).fit(X, y)
        scores = [-math.inf if t.score is None else t.score for t in search.trials_]
        sizes = (EARLY, len(scores))
        chosen = [search.trials_[int(np.argmax(scores[:n]))].params for n in sizes]
    seconds = time.perf_counter() - begin
    losses = [
        -get_scorer(scoring)(
            clone(estimator).set_params(**params).fit(X, y), X_test, y_test
        )
        for params in chosen
    ]
    return {"figures": [*losses, seconds]}


STUDIES = {
    "pools": model_pools.STUDY,
    "tables": Study(
        name="model_choices_tables",
        tasks=lambda: list(TABLES),
        methods=("models", "random", "boosting"),
        run=search_table,
        columns=lambda options: ["loss early", "loss", "seconds"],
        overall=False,
        options={"trials": 25, "folds": 3},
        seeds=4,
        digits=4,
        smallest=("--tasks", "servo", "--trials", "2", "--seeds", "1"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
