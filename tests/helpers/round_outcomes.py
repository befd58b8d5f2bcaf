"""Scores and measures of fitted models with rounds, which workers can import."""

import numpy as np


def likelihood_and_accuracy(estimator, X, y):
    """Return two metrics, the first of which has few ties."""
    proba = estimator.predict_proba(X)[:, 1]
    likelihood = np.log(
        np.where(y == 1, proba, 1.0 - proba).clip(np.finfo(float).eps)
    ).mean()
    return {"likelihood": likelihood, "accuracy": (estimator.predict(X) == y).mean()}


def loss(estimator, X, y):
    """Return a metric that is better if it is lower."""
    return -likelihood_and_accuracy(estimator, X, y)["likelihood"]


def n_fitted_trees(estimator):
    """Return the number of trees of a model, or of the last step of a pipeline."""
    model = estimator[-1] if hasattr(estimator, "steps") else estimator
    trees = getattr(model, "_predictors", getattr(model, "estimators_", None))
    return len(trees)


def n_trees_by_scorer(estimator, X, y):
    """Return the number of trees by the signature of a scorer."""
    return n_fitted_trees(estimator)


def last_row(results):
    """Return the last row of the results of a search."""
    return len(results["params"]) - 1


def rounds_of_folds(fitted, trial):
    """Return the number of rounds of each fold that is best for the other folds."""
    frame = fitted.learning_curves_
    table = frame[frame["trial"] == trial.number].pivot(
        index="rounds", columns="split", values=f"test_{fitted.target_metric_}"
    )
    return [
        table.drop(columns=i).dropna().mean(axis=1).idxmax()
        for i in range(len(trial.folds))
    ]
