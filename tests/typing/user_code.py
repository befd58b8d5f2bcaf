"""Example program that type checkers and Python itself must accept.

`mypy` and `pyright` check it, and tests/test_typing.py runs it.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skbayes
from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    Optimizer,
    ParetoSearchCV,
    TradeoffSearchCV,
)
from skbayes.evaluation.trial import History, Trial
from skbayes.inspection import (
    ConvergenceDisplay,
    PartialDependenceDisplay,
    importance,
)
from skbayes.loop.stopping import NoImprovement, TargetScore
from skbayes.results.scores import OneStandardError
from skbayes.space import Categorical, Choice, Integer, Ordinal, Real, Space
from skbayes.surrogates import GaussianProcess

X, y = load_iris(return_X_y=True)
pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])


def notations() -> list[float]:
    """Use all notations of a space."""
    choice = Choice({"poly": {"degree": [2, 3]}, "rbf": {"gamma": (0.01, 0.1)}})
    spaces = [
        {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]},
        {"C": np.logspace(-2, 2, 5)},
        {"C": (0.1, 10.0), "degree": (2, 4)},
        {"C": (0.1, 10.0, "log-uniform"), "gamma": loguniform(1e-3, 1e-1)},
        {"degree": randint(2, 5), "kernel": ("poly",)},
        {"C": Real(0.1, 10.0, "log-uniform"), "degree": Integer(2, 4)},
        {"kernel": Categorical(["poly", "rbf"]), "coef0": Ordinal([0.0, 0.5, 1.0])},
        {"kernel": choice},
        [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [0.01, 0.1]}],
        Space.from_notation({"C": (0.1, 10.0)}),
    ]
    scores = []
    for space in spaces:
        search = BayesSearchCV(SVC(), space, n_iter=1, cv=2, random_state=0)
        scores.append(float(search.fit(X, y).best_score_))
    return scores


def results() -> str:
    """Use the results of a search."""
    search = BayesSearchCV(
        pipeline,
        {"model__C": (0.1, 10.0, "log-uniform")},
        n_iter=3,
        scoring=["accuracy", "f1_macro"],
        refit="accuracy",
        cv=StratifiedKFold(2),
        surrogate=GaussianProcess(),
        stopper=[NoImprovement(5), TargetScore(1.1)],
        constraints=lambda params: params["model__C"] > 0.0,
        initial_points=[{"model__C": 1.0}],
        random_state=0,
    )
    search = search.fit(X, y)
    assert_type(search, BayesSearchCV)
    params: dict[str, object] = search.best_params_
    score: float = search.best_score_
    row: int = search.best_index_
    assert np.array_equal(search.best_estimator_.predict(X), search.predict(X))
    means = search.cv_results_["mean_test_accuracy"]
    assert_type(search.trials_, History)
    best = search.trials_.best
    assert_type(search.trials_[0], Trial)
    if best is not None:
        params = best.params
    lengths = [trial.duration for trial in search.trials_]
    reason: str = search.stop_reason_
    copy: Any = clone(search)
    text = f"{params} {score:.3f} {means[row]:.3f} {len(search.results_frame())}"
    return f"{text} {reason} {copy.n_iter} {sum(lengths):.3f}"


def other_searches() -> list[dict[str, object]]:
    """Use the other searches, and a warm start from a grid search."""
    space = {"C": (0.1, 10.0, "log-uniform"), "gamma": (1e-3, 1e-1, "log-uniform")}
    grid = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1]}, cv=2).fit(X, y)
    warm = BayesSearchCV(SVC(), space, n_iter=2, cv=2, warm_start_from=grid).fit(X, y)
    rule = BayesSearchCV(SVC(), space, n_iter=2, cv=2, refit=OneStandardError("C"))
    stages = MultiStageSearchCV(SVC(), space, stages=[0.5, 1.0], n_iter=2, cv=2)
    stages = stages.fit(X, y)
    assert_type(stages, MultiStageSearchCV)
    tradeoff = TradeoffSearchCV(SVC(), space, tradeoff=0.1, n_iter=2, cv=2).fit(X, y)
    cost: float = tradeoff.best_cost_
    objectives = {"accuracy": "max", "fit_time": "min"}
    pareto = ParetoSearchCV(SVC(), space, objectives, n_iter=2, cv=2).fit(X, y)
    assert_type(pareto, ParetoSearchCV)
    front: list[dict[str, object]] = pareto.pareto_params_
    hyper = HyperTuneSearchCV(
        SVC(), space, subset_fraction=0.5, n_subsets=1, n_small_iter=2, n_iter=4, cv=2
    ).fit(X, y)
    matters = importance(warm)
    assert cost >= 0 and rule.fit(X, y).best_index_ >= 0 and matters is not None
    return [*front, stages.best_params_, hyper.best_params_, warm.best_params_]


def pictures() -> int:
    """Use the displays, which follow scikit-learn's convention."""
    search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, n_iter=3, cv=2).fit(X, y)
    display = ConvergenceDisplay.from_search(search)
    assert_type(display, ConvergenceDisplay)
    display = display.plot(ax=display.ax_)
    dependence = PartialDependenceDisplay.from_history(search.trials_)
    display.figure_.clear()
    return len({type(display), type(dependence)})


def ask_and_tell() -> float:
    """Use the optimizer directly."""
    optimizer = Optimizer({"x": (-1.0, 1.0), "k": [1, 2, 3]}, random_state=0)
    for _ in range(4):
        for params in optimizer.ask(2):
            optimizer.tell(params, -(params["x"] ** 2) - params["k"])
    assert_type(optimizer.ask(), dict[str, Any])
    best = optimizer.best_params
    return float(best["x"])


if __name__ == "__main__":
    print(skbayes.__version__, notations(), results(), other_searches())
    print(pictures(), ask_and_tell())
