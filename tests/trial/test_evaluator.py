"""Evaluation of one configuration on all splits."""

import math
import sys

import numpy as np
import pytest
from simple_estimators import Sometimes
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel

from skbayes import BayesSearchCV
from skbayes.trial.aspect import Tasks
from skbayes.trial.backend import Backend, ThreadBackend
from skbayes.trial.evaluator import (
    CandidateEvaluator,
    Evaluation,
    check_candidates,
    make_job,
)
from skbayes.trial.fold import Job
from skbayes.trial.learning_curves import Guide
from skbayes.trial.limits import FitLimits
from skbayes.trial.option_table import aspects_of
from skbayes.trial.plan import Plan
from skbayes.trial.records import FoldResult, Trial
from skbayes.trial.settings import Settings

X, y = load_iris(return_X_y=True)
SPLITS = list(StratifiedKFold(3).split(X, y))


class Score:
    """Objective with one score."""

    name, metrics, measures, separate_costs = "score", ["score"], {}, False
    guide = Guide("score")

    def learn(self, scores):
        pass

    def __call__(self, scores):
        return scores.get("score", np.nan)


def evaluator(estimator, catch_errors=False, settings=None, limit=None, **options):
    parameters = {"trial_limits": limit and {"time": limit}, **(settings or {})}
    search = BayesSearchCV(estimator, {}, **parameters)
    parsed, tasks = search._settings(), Tasks()
    aspects = aspects_of(parsed, Score(), tasks)
    for aspect in aspects:
        aspect.prepare({}, None)
    fits = {"scorer": get_scorer("accuracy"), "error_score": np.nan, "verbose": 0}
    fits |= {"return_train_score": False, **options}
    job = Job(estimator, X, y, SPLITS, {"fit_params": {}, "score_params": {}, **fits})
    plan = Plan(job, Score(), parsed, tasks=tasks, aspects=aspects)
    kind = Backend if catch_errors else ThreadBackend
    return CandidateEvaluator(plan, kind(make_job(plan, X)))


def trial_of(plan, number, params):
    evaluation = plan.prepare(number, params)
    return plan.conclude(evaluation, plan.run(evaluation, Parallel()))


@pytest.mark.parametrize(
    "params, culprit",
    [
        ({"svc__C": 2, "svc__nonsense": 3}, "'svc__nonsense'"),
        ({"nonsense": 2}, "'nonsense'"),
        ({"svc": "passthrough", "svc__C": 3}, "'svc', 'svc__C'"),
    ],
)
def test_check_candidates_names_the_culprit(params, culprit):
    model = make_pipeline(StandardScaler(), SVC())
    check_candidates(model, [{"svc__C": 2}, {"svc": Sometimes(), "svc__bad": 2}, {}])
    with pytest.raises(ValueError, match=f"search_spaces names {culprit}, which"):
        check_candidates(model, [{"svc__C": 1}, params])
    assert isinstance(model[-1], SVC) and model[-1].C == 1.0


class Workers:
    """Backend that takes a given time for each fold."""

    end = None

    def __init__(self, n_workers, seconds):
        self.n_workers = n_workers
        self.seconds = dict(enumerate(seconds))

    def run(self, parallel, folds, spent):
        seconds = [self.seconds.pop(fold.index) for fold in folds]
        return [FoldResult(transient={"seconds": one}) for one in seconds]


@pytest.mark.parametrize(
    "n_workers, seconds, limit, n_run",
    [
        (1, [1, 1, 1, 1, 1], 5, 5),
        (1, [1, 1, 1, 1, 1], 2, 3),  # a size equal to the limit is allowed
        (1, [1, 1, 1, 1, 1], 1.9, 2),
        (1, [9, 1, 1, 1, 1], 1, 1),
        (2, [1, 1, 1, 1, 1], 1.5, 4),
        (2, [1, 3, 1, 1, 1], 2.9, 2),  # a group takes as long as its longest
        (2, [1, 3, 1, 1, 1], 3.9, 4),
        (8, [9, 9, 9, 9, 9], 1, 5),  # all are begun at once
    ],
)
def test_a_limit_counts_the_time_that_folds_run(n_workers, seconds, limit, n_run):
    from skbayes.options.limits.aspect import Limits

    job = Job(None, X, y, [()] * 5)
    settings = Settings(limits=FitLimits(limit))
    limits = Limits(settings, Score(), Tasks())
    plan = Plan(job, Score(), settings, aspects=[limits])
    backend = Workers(n_workers, seconds)
    runner = CandidateEvaluator(plan, backend)
    evaluation = Evaluation(backend, job, 0, {}, groups=[[0, 1, 2, 3, 4]])
    limits.begin(evaluation)
    trial = runner.run(evaluation, None)
    assert trial.fitted.sum() == n_run
    assert trial.state == ("timed_out" if n_run < 5 else "complete")


def complete(number, folds):
    results = [FoldResult({"score": score}) for score in folds]
    return Trial(number, {}, results, float(np.mean(folds)))


def test_a_race_prunes_a_trial_without_a_chance():
    plan = evaluator(SVC(), settings={"pruning": 0.01})
    for number in range(4):
        plan.observe(complete(number, [0.96, 0.95 + 0.001 * number, 0.96]))
    best = [0.96, 0.953, 0.96]
    # Each trial begins with another split.
    for number, place in [(4, 1), (5, 2), (6, 0)]:
        pruned = trial_of(plan, number, {"C": 1e-9, "kernel": "linear"})
        assert pruned.state == "pruned"
        assert [fold.is_fitted for fold in pruned.folds] == list(np.arange(3) == place)
        assert pruned.noise > 0
        # It is compared on the split that both used.
        shift = pruned.folds[place].test_scores["score"] - best[place]
        assert pruned.score == pytest.approx(np.mean(best) + shift)
    good = trial_of(plan, 7, {"C": 1.0})
    assert good.state == "complete"
    np.testing.assert_array_equal(
        good.scores["score"], cross_val_score(SVC(C=1.0), X, y, cv=SPLITS)
    )


def test_a_race_compares_with_the_trials_before_its_preparation():
    plan = evaluator(SVC(), settings={"pruning": 0.01})
    evaluation = plan.prepare(0, {"C": 1e-9, "kernel": "linear"})
    for number in range(1, 5):
        plan.observe(complete(number, [0.99, 0.97, 0.99]))
    assert (
        plan.conclude(evaluation, plan.run(evaluation, Parallel())).state == "complete"
    )
    # Failed folds are not compared.
    failed = evaluator(Sometimes(bad="fit"), settings={"pruning": 0.01})
    for number in range(4):
        failed.observe(complete(number, [0.99, 0.97, 0.99]))
    trial = trial_of(failed, 4, {"quality": 1})
    assert trial.state == "failed" and math.isnan(trial.score)
    assert trial.error.rstrip().endswith("RuntimeError: cannot be fitted")
    assert [fold.fit_error is not None for fold in trial.folds] == [True] * 3


class Leaves(Sometimes):
    """Estimator that ends the program in its fit."""

    def fit(self, X, y):
        sys.exit("enough")


@pytest.mark.parametrize("catch_errors", [False, True])
def test_a_fit_that_calls_sys_exit_ends_the_search(catch_errors, caplog):
    with pytest.raises(SystemExit, match="enough"):
        trial_of(evaluator(Leaves(), catch_errors), 0, {})
    assert ("A fit called sys.exit" in caplog.text) == catch_errors


def test_a_stopped_backend_interrupts():
    plan = evaluator(SVC())
    plan.backend.stop()
    assert trial_of(plan, 0, {"C": 1.0}) is None
