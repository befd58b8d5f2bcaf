"""Example program that type checkers and Python itself must accept.

`mypy` and `pyright` check it, and tests/test_typing.py runs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, make_scorer
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
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.acquisition import ExpectedImprovement
from skbayes.defaults import default_space
from skbayes.defaults.model_choice import models
from skbayes.inspection import ConvergenceDisplay, PartialDependenceDisplay, importance
from skbayes.loop.stopping import NoImprovement, TargetScore
from skbayes.results.scores import OneStandardError
from skbayes.space import Categorical, Choice, Integer, Ordinal, Real, Space
from skbayes.surrogates import GaussianProcess
from skbayes.trial.records import History, Trial

X, y = load_iris(return_X_y=True)
pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])


def notations() -> list[float]:
    """Use all notations of a space."""
    choice = Choice({"poly": {"degree": [2, 3]}, "rbf": {"gamma": (0.01, 0.1)}})
    spaces: list[Any] = [
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


def scorer(estimator: Any, X: Any, y: Any) -> float:
    """Return a score, as a function that scikit-learn calls."""
    return float(estimator.score(X, y))


def arguments() -> list[object]:
    """Construct each search with values of every type that it accepts."""
    space = {"C": [0.1, 1.0]}
    folds = StratifiedKFold(3)
    pairs = [(np.arange(100), np.arange(100, 150))]
    common: list[object] = [
        BayesSearchCV(SVC()),
        BayesSearchCV(pipeline, "auto", n_iter=None, timeout="5 min"),
        BayesSearchCV(SVC(), None, timeout=3, n_jobs=-1, verbose="progress"),
        BayesSearchCV(SVC(), [space, {"C": (1, 9)}], cv=folds.split(X, y)),
        BayesSearchCV(SVC(), Space([space]), cv=pairs, pre_dispatch=4),
        BayesSearchCV(SVC(), default_space(SVC()), cv=folds, journal=Path("run.db")),
        BayesSearchCV(*models(X, y), timeout=60.0, random_state=0),
        BayesSearchCV(SVC(), space, surrogate="tpe", verbose=2, error_score="raise"),
        BayesSearchCV(SVC(), space, surrogate=("gp-rbf", "ucb"), error_score=0),
        BayesSearchCV(
            SVC(), space, surrogate=(GaussianProcess(), ExpectedImprovement())
        ),
        BayesSearchCV(SVC(), space, scoring="roc_auc", refit="ensemble"),
        BayesSearchCV(SVC(), space, scoring=("f1", "recall"), refit="f1"),
        BayesSearchCV(SVC(), space, scoring={"a": "f1", "b": scorer}, refit=False),
        BayesSearchCV(SVC(), space, scoring=scorer, refit={"rule": "ensemble"}),
        BayesSearchCV(SVC(), space, scoring=make_scorer(accuracy_score)),
        BayesSearchCV(SVC(), space, refit=lambda results: 0, pruning=0.1),
        BayesSearchCV(SVC(), space, initial_points=[{"C": 1.0}, 5], pruning=True),
        BayesSearchCV(SVC(), space, initial_points=5, early_stopping="auto"),
        BayesSearchCV(SVC(), space, initial_points=None, early_stopping=100),
        BayesSearchCV(SVC(), space, constraints={"model_size": "<= 1e6"}),
        BayesSearchCV(SVC(), space, constraints=[lambda params: True, {"f1": ">= 0"}]),
        BayesSearchCV(SVC(), space, stopper=lambda trials: len(trials) > 3),
        BayesSearchCV(SVC(), space, return_folds=["estimators", "predict"]),
        BayesSearchCV(SVC(), space, return_folds="predict", return_train_score=True),
        BayesSearchCV(SVC(), space, trial_limits={"time": "5 min", "memory": 1e9}),
        BayesSearchCV(SVC(), space, random_state=np.random.RandomState(0)),
    ]
    limits: dict[str, str] = {"time": "5 min"}
    others: list[object] = [
        MultiStageSearchCV(SVC(), space, stages=[0.3, 1.0], n_iter=(9, 3)),
        MultiStageSearchCV(SVC(), space, stages=(100, 1.0), trial_limits=limits),
        MultiStageSearchCV(SVC(), space, multi_fidelity=True, best_of="all_stages"),
        HyperTuneSearchCV(SVC(), space, complexity={"C": +1}, n_small_iter=3),
        HyperTuneSearchCV(SVC(), space, complexity=None, surrogate=("gp", "ei")),
        TradeoffSearchCV(SVC(), space, cost=lambda model: 1.0, train_sizes=[50, 100]),
        TradeoffSearchCV(SVC(), space, surrogate=("gp", "paper"), score_range=(-1, 0)),
        ParetoSearchCV(SVC(), space, {"f1": "max", "n": ("min", scorer)}),
        ParetoSearchCV(
            SVC(), objectives={"f1": "max", "fit_time": "min"}, refit="knee"
        ),
        ParetoSearchCV(SVC(), space, {"f1": "max"}, refit={"f1": 1.0}),
        TextRepresentationSearchCV(),
        TextRepresentationSearchCV(SVC(), space, space=None, dev=(["a"], [1])),
        TextRepresentationSearchCV(dev=(["a"], None), stages=(0.5, 1.0)),
        TextRepresentationSearchCV(language=None, n_iter=(9, 3), stages="auto"),
    ]
    return common + others


if __name__ == "__main__":
    print(skbayes.__version__, notations(), results(), other_searches())
    print(pictures(), ask_and_tell(), len(arguments()))
