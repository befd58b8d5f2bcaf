"""Decision threshold of a search beside TunedThresholdClassifierCV.

The figure is the balanced accuracy (× 100) on test rows. The search and
TunedThresholdClassifierCV ("further fits") maximize it for the same configuration; the
threshold of the search needs no further fits, the other one five.

Example: python benchmarks/threshold.py run
"""

from __future__ import annotations

from functools import cache
from typing import Any

from harness import Record, Study, main
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV

TABLES = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    **{
        f"made, {100 * share:.0f}% rare": make_classification(
            2000, n_informative=6, weights=[1 - share], flip_y=0.05, random_state=0
        )
        for share in (0.05, 0.2)
    },
}
MODELS = {
    "logistic": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": (1e-3, 1e3, "log-uniform")},
    ),
    "tree": (
        DecisionTreeClassifier(random_state=0),
        {"max_depth": (1, 10), "min_samples_leaf": (1, 50)},
    ),
}


@cache
def searched(task: str, seed: int) -> tuple[Any, tuple]:
    """Return the search of a task, and its training and test rows."""
    table, model = task.split(":")
    X, y = TABLES[table]
    rows = train_test_split(X, y, stratify=y, random_state=seed)
    search = BayesSearchCV(
        *MODELS[model],
        n_iter=10,
        scoring="roc_auc",
        refit={"threshold": "balanced_accuracy"},
        random_state=seed,
    )
    return search.fit(rows[0], rows[2]), tuple(rows)


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the balanced accuracy on test rows."""
    search, (X, X_test, y, y_test) = searched(task, seed)
    model = search
    if method != "search":
        model = search.best_estimator_.estimator.estimator
    if method == "further fits":
        model = TunedThresholdClassifierCV(model, random_state=seed).fit(X, y)
    return {"figures": [100.0 * balanced_accuracy_score(y_test, model.predict(X_test))]}


STUDY = Study(
    name="threshold",
    tasks=lambda: [f"{table}:{model}" for table in TABLES for model in MODELS],
    methods=("search", "further fits", "default threshold"),
    run=run,
    columns=lambda options: ["balanced accuracy"],
    digits=2,
    smallest=("--tasks", "breast cancer:logistic", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
