"""Searches for tests of displays, one of each kind, and histories without fits."""

import functools
import math
import tempfile
import time
import warnings

import numpy as np
from priced_classifier import Priced
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TradeoffSearchCV,
)
from skbayes.space import Choice, Space
from skbayes.trial.plan import Header
from skbayes.trial.records import Fidelity, FoldResult, History, Trial

X, y = load_iris(return_X_y=True)

SPACES = {
    "C": (1e-2, 1e3, "log-uniform"),
    "kernel": Choice(
        {
            "rbf": {"gamma": (1e-4, 1e1, "log-uniform")},
            "poly": {"degree": [2, 3], "coef0": (0.0, 1.0)},
            "linear": {},
        }
    ),
    "shrinking": [True, False],
}


C = {"C": (1e-2, 1e3, "log-uniform")}
RATES = {"learning_rate": (0.02, 1.0, "log-uniform"), "max_depth": (1, 3)}
BOOSTING = GradientBoostingClassifier(n_estimators=40, random_state=0)
METRICS = {"scoring": ["accuracy", "neg_log_loss"], "refit": "neg_log_loss"}
GOALS = {"objectives": {"model_size": "min", "accuracy": "max"}}
SMALL = {"n_iter": 16, "n_subsets": 3, "n_small_iter": 4}
KINDS = {
    "bayes": (BayesSearchCV, SVC(), SPACES, {"n_iter": 12}),
    "metrics": (BayesSearchCV, LogisticRegression(), C, {"n_iter": 5, **METRICS}),
    "failures": (
        BayesSearchCV,
        Priced(fails_above=0.5),
        {"x": (0.0, 1.0)},
        {"n_iter": 8},
    ),
    "pareto": (ParetoSearchCV, SVC(), C, {"n_iter": 6, **GOALS}),
    "tradeoff": (TradeoffSearchCV, SVC(), C, {"n_iter": 8, "tradeoff": 0.2}),
    "stages": (MultiStageSearchCV, SVC(), SPACES, {"n_iter": 16, "stages": (0.3, 1.0)}),
    "hypertune": (
        HyperTuneSearchCV,
        SVC(),
        {**C, "gamma": (1e-4, 1e1, "log-uniform")},
        SMALL,
    ),
    "rounds": (
        BayesSearchCV,
        BOOSTING,
        RATES,
        {"n_iter": 4, "early_stopping": 4, **METRICS},
    ),
}


FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def search(kind="bayes"):
    """Return a fitted search of a kind, which has a journal."""
    cls, estimator, spaces, params = KINDS[kind]
    journal = f"{FOLDER.name}/{kind}"
    model = cls(estimator, spaces, cv=3, random_state=0, journal=journal, **params)
    with warnings.catch_warnings():
        # Some fits fail on purpose.
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def fold(score, **kwargs):
    times = {"fit_time": 0.5, "score_time": 0.1}
    return FoldResult(**{"test_scores": {"score": score}, **times, **kwargs})


def trial(number, score=None, params=None, stage=0, train_fraction=1.0, **kwargs):
    """Return a made-up trial; without a score it is a failed one."""
    failed = score is None
    folds = [fold(math.nan if failed else score + d) for d in (-0.01, 0.01)]
    folds = kwargs.pop("folds", folds)
    kwargs = {"state": "failed" if failed else "complete", "duration": 1.0} | kwargs
    kwargs = {"fidelity": Fidelity(stage, train_fraction)} | kwargs
    params = {"C": 10.0**number} if params is None else params
    return Trial(number, params, folds, math.nan if failed else score, **kwargs)


def history(*scores, begin=1000.0, **kwargs):
    """Return sequential trials with these scores, of one second each."""
    return History(
        [trial(k, s, started=begin + k, **kwargs) for k, s in enumerate(scores)]
    )


def legend(display):
    """Return the texts of the legend."""
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def running_journal(path, n_done=2, n_running=2):
    """Write the journal of a running search; return the data of the search."""
    from skbayes.options.journal.journal import Journal

    space = Space.from_notation({"C": (1e-2, 1e3, "log-uniform"), "k": ["a", "b"]})
    params = space.decode(space.from_uniform(np.random.default_rng(0).random((9, 2))))
    header = Header(
        splits=[(np.arange(4), np.arange(4, 6))] * 2,
        n_points=n_running,
        metadata={"scoring": "neg_root_mean_squared_error"},
    )
    with Journal(path, space, header) as journal:
        for number in range(n_done + n_running):
            journal.record_proposal(number, params[number], None)
            if number < n_done:
                result = trial(
                    number, -1.0 / (number + 1), params[number], started=time.time()
                )
                journal.record_result(result)
    return space, params
