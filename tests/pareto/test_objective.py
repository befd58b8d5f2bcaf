import math

import numpy as np
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.tree import DecisionTreeClassifier

from skbayes.pareto.objective import Objectives
from skbayes.trial.records import FoldResult, Trial

X, y = load_iris(return_X_y=True)


def test_objectives_are_sorted_among_scorers_and_costs():
    objectives = Objectives(
        {
            "accuracy": "max",
            "slow": ("min", "fit_time"),
            "own": ("min", lambda estimator, X, y: 0.0),
            "made": ["max", make_scorer(accuracy_score)],
            "n_features": "max",
            "depth": ("min", DecisionTreeClassifier.get_depth),
        }
    )
    assert list(objectives.scorers) == ["accuracy", "own", "made"]
    assert list(objectives.measures) == ["slow", "n_features", "depth"]
    np.testing.assert_array_equal(objectives.signs, [1, -1, -1, 1, 1, -1])
    assert objectives.measures["slow"]({"fit_time": 2.5}) == 2.5
    scorer = objectives.multi_scorer(DummyClassifier(), raise_exc=True)
    assert set(scorer(DummyClassifier().fit(X, y), X, y)) == {"accuracy", "own", "made"}


def fold(a, b, **fields):
    return FoldResult({"accuracy": a, "fit_time": b}, **fields)


def test_the_objectives_of_a_trial_are_means_over_its_folds():
    objectives = Objectives({"fit_time": "min", "accuracy": "max"})
    folds = [fold(0.5, 2.0), fold(0.7, 4.0)]
    assert objectives.of_trial(Trial(0, {}, folds, score=-3.0)) == [-3.0, 0.6]
    assert objectives(folds[0].test_scores) == -2.0
    folds.append(fold(math.nan, math.nan, status="skipped"))
    timed_out = Trial(0, {}, folds, score=-3.0, state="timed_out")
    assert objectives.of_trial(timed_out) == [-3.0, 0.6]
    failed = Trial(0, {}, folds, score=math.nan, state="failed")
    assert all(map(math.isnan, objectives.of_trial(failed)))


def test_only_complete_trials_are_compared():
    objectives = Objectives({"accuracy": "max", "fit_time": "min"})
    results = {
        "mean_test_accuracy": np.array([0.5, 0.9, 0.7, 0.8]),
        "mean_test_fit_time": np.array([1.0, 2.0, np.nan, 3.0]),
    }
    states = ["complete", "timed_out", "complete", "complete"]
    trials = [Trial(i, {}, [], 0.0, state=state) for i, state in enumerate(states)]
    Y = objectives.of_results(results, trials)
    expected = [[0.5, -1.0], [np.nan] * 2, [np.nan] * 2, [0.8, -3.0]]
    np.testing.assert_array_equal(Y, expected)
