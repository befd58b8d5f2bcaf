"""Decision threshold of a search beside TunedThresholdClassifierCV.

Both maximize the balanced accuracy for the same configuration. The threshold of the
search needs no further fits, the other one five. The default is the reference.

    python benchmarks/threshold.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV

TASKS = {
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


def scores(task: str, model: str, seed: int) -> list[float]:
    """Return the test scores: default threshold, further fits, that of the search."""
    X, X_test, y, y_test = train_test_split(
        *TASKS[task], stratify=TASKS[task][1], random_state=seed
    )
    search = BayesSearchCV(
        *MODELS[model],
        n_iter=10,
        scoring="roc_auc",
        tune_threshold="balanced_accuracy",
        random_state=seed,
    ).fit(X, y)
    plain = search.best_estimator_.estimator.estimator
    further = TunedThresholdClassifierCV(plain, random_state=seed).fit(X, y)
    return [
        balanced_accuracy_score(y_test, found.predict(X_test))
        for found in (plain, further, search)
    ]


def main() -> None:
    """Print the means over ten seeds, and the paired difference."""
    print("balanced accuracy x 100: default, further fits, search, search - further")
    for task in TASKS:
        for model in MODELS:
            table = 100 * np.array([scores(task, model, seed) for seed in range(10)])
            gap = table[:, 2] - table[:, 1]
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            means = "".join(f"{value:8.1f}" for value in table.mean(axis=0))
            print(f"{task:20s}{model:10s}{means}{gap.mean():8.2f} ± {error:.2f}")


if __name__ == "__main__":
    main()
