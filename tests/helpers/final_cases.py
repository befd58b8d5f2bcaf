"""Searches with random options of `refit` and `return_folds`, and laws of their models.

A law is a function of a fitted case. A case whose options are refused has no model.
"""

import contextlib
import functools
import itertools
import pickle
import random
import tempfile
import warnings
from operator import attrgetter
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from fake_clock import CLOCK
from scipy import sparse
from simple_estimators import Unpicklable
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, log_loss, mean_squared_error
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GroupKFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TunedThresholdClassifierCV,
    check_cv,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import BayesSearchCV, MultiStageSearchCV

LADDER, FINAL_MODEL = "skbayes.stages.ladder", "skbayes.options.ensembles.final_model"
# With a time limit, stages on samples of 8 rows in place of 500.
SMALL_SAMPLES = {"TIMED": (8, 3), "ROWS_PER_CLASS": 2}
N_ROWS = 36
MAX_SIZE = 9000  # of the fits of a model in bytes
SMOOTH = (0.01, 100.0, "log-uniform")
TREES = {"max_depth": (1, 5), "min_samples_leaf": (1, 6)}


def first_of(metric, results):
    """Return the index of the best row by a metric."""
    return int(np.argmin(results[f"rank_test_{metric}"]))


class Reluctant(LogisticRegression):
    """Classifier whose own `predict` requires a high probability."""

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X) - [0.2, 0.0], axis=1)]


class Failing(DecisionTreeClassifier):
    """Tree that cannot be fitted with some depths."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        if self.max_depth in (2, 4):
            raise ValueError("this depth is impossible")
        return super().fit(X, y, sample_weight)


def every_member(score, candidates, n_members, is_allowed):
    """Take one candidate after the other, the worst one first, if it is allowed."""
    members = [candidates[0]]
    for number in itertools.islice(itertools.cycle(candidates[::-1]), n_members - 1):
        members += [number] if is_allowed([*members, number]) else []
    return members


def slow(fit):
    """Return a function that fits, and takes the time of 24 rows per second."""

    @functools.wraps(fit)
    def timed(model, X, *args, **kwargs):
        CLOCK.now += X.shape[0] / 24
        return fit(model, X, *args, **kwargs)

    return timed


TAKE_WEIGHTS = DecisionTreeClassifier | LogisticRegression | SVC | Ridge
TAKE_WEIGHTS |= DecisionTreeRegressor | HistGradientBoostingClassifier
LOGISTIC, INNER = LogisticRegression(max_iter=50), {"estimator__C": SMOOTH}
BOOSTING = HistGradientBoostingClassifier(random_state=0, max_iter=6)
ROUNDS = {"learning_rate": (0.05, 0.5), "max_leaf_nodes": (2, 8)}
FIXED = FixedThresholdClassifier(LOGISTIC, threshold=0.7)
TUNED = TunedThresholdClassifierCV(LOGISTIC, thresholds=5, cv=2)
ONE_VS_ONE = SVC(decision_function_shape="ovo")
NEAR = {"n_neighbors": (1, 9)}
LEARNERS = {
    "logistic": ("binary", LOGISTIC, {"C": SMOOTH}),
    "tree": ("multiclass", DecisionTreeClassifier(random_state=0), TREES),
    "neighbors": ("multiclass", KNeighborsClassifier(), NEAR),
    "fixed threshold": ("binary", FIXED, INNER),
    "tuned threshold": ("binary", TUNED, INNER),
    "calibrated": ("binary", CalibratedClassifierCV(SVC(), cv=2), INNER),
    "SVC": ("multiclass", SVC(), {"C": SMOOTH}),
    "one against one": ("multiclass", ONE_VS_ONE, {"C": SMOOTH}),
    "own predict": ("binary", Reluctant(max_iter=50), {"C": SMOOTH}),
    "locked": ("binary", Unpicklable(random_state=0), TREES),
    "failing": ("binary", Failing(random_state=0), TREES),
    "labels": ("labels", DecisionTreeClassifier(random_state=0), TREES),
    "one label each": ("labels", OneVsRestClassifier(LOGISTIC), INNER),
    "ridge": ("regression", Ridge(), {"alpha": SMOOTH}),
    "targets": ("targets", DecisionTreeRegressor(random_state=0), TREES),
    "neighbors of numbers": ("regression", KNeighborsRegressor(), NEAR),
    "boosting": ("binary", BOOSTING, ROUNDS),
}
REFITS = {
    "plain": True,
    "corrected": "corrected",
    "callable": functools.partial(first_of, "score"),
    "ensemble": "ensemble",
    "two members": {"rule": "ensemble", "max_members": 2},
    "nine members": {"rule": "ensemble", "max_members": 9},
}
RETURNED = (
    *(False, False, "estimators", "predict", "predict_proba"),
    *(["estimators", "predict"], ["all", "estimators", "predict"]),
)
SPLITS = {
    "folds": 3,
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "shuffled": ShuffleSplit(4, random_state=0),
    "single": ShuffleSplit(1, random_state=0),
    "leave one out": LeaveOneOut(),
    "groups": GroupKFold(3),
}
MODIFIERS = (
    *("constraint", "metric bound", "size bound", "model bound", "weights", "routing"),
    *("several", "pruning", "rounds", "timeout", "stages", "journal", "sparse"),
    *("frame", "threads", "processes"),
)
# A model proposes the configurations in half of the searches.
SURROGATES = ("random", "random", "sobol", "gp", "trees", "tpe")


def data_of(kind):
    """Return rows and targets of a kind of task."""
    kwargs = {"n_samples": N_ROWS, "n_features": 5, "random_state": 1}
    if kind in ("regression", "targets"):
        return make_regression(n_targets=1 + (kind == "targets"), noise=9, **kwargs)
    n_classes = 3 if kind == "multiclass" else 2
    X, y = make_classification(
        n_classes=n_classes, n_informative=3, n_redundant=0, flip_y=0.2, **kwargs
    )
    return X, np.column_stack([y, X[:, 0] > 0]).astype(int) if kind == "labels" else y


class Case:
    """Search with options that are drawn at random.

    With `is_timed`, the time limit of `CLOCK` ends it, and chooses its stages.
    """

    def __init__(self, seed, is_timed=False):
        rng = random.Random(seed)
        self.learner, self.refit = rng.choice([*LEARNERS]), rng.choice([*REFITS])
        # Most ensembles are taken although they may be worse.
        self.is_taken = rng.random() < 0.7
        self.kind, self.estimator, space = LEARNERS[self.learner]
        self.splits = rng.choice([*SPLITS, *["folds", "repeated", "groups"] * 2])
        self.returned = rng.choice(RETURNED)
        self.modifiers = set(rng.sample(MODIFIERS, rng.choice((0, 1, 2, 3))))
        self.modifiers -= {"threads", "processes"} if is_timed else set()
        self.is_timed, self.seconds, self.messages = is_timed, 0.0, []
        self.classifies = is_classifier(self.estimator)
        n_rows = 16 if self.splits == "leave one out" else N_ROWS
        self.X, self.y = (part[:n_rows] for part in data_of(self.kind))
        self.metric = rng.choice(("accuracy", "neg_log_loss"))
        is_whole = self.kind != "labels" and self.splits != "leave one out"
        if not (is_whole and hasattr(self.estimator, "predict_proba")):
            self.metric = "accuracy"
        if not self.classifies:
            self.metric = "neg_mean_squared_error"
        self.params, self.is_routed = {}, False
        if self.splits == "groups":
            self.params["groups"] = np.arange(N_ROWS) % 6
        self.options = {"scoring": self.metric, "refit": REFITS[self.refit]}
        self._modify()
        self.surrogate = rng.choice(SURROGATES)
        if is_timed:
            timeout = rng.choice((2, 5, 12)) * len(self.all_splits())
            self.options |= {"n_iter": None, "timeout": timeout}
            self.options |= {"stages": "auto"} if "stages" in self.modifiers else {}
        chosen = MultiStageSearchCV if "stages" in self.modifiers else BayesSearchCV
        self.search = chosen(
            self.estimator,
            space,
            **{"n_iter": 6, "pre_dispatch": 2, "random_state": 0, **self.options},
            surrogate=self.surrogate,
            cv=SPLITS[self.splits],
            return_folds=self.returned,
        )

    def __repr__(self):
        returned = f"return_folds={self.returned!r}"
        parts = (self.learner, self.refit, self.splits, self.metric, returned)
        return ", ".join((*parts, self.surrogate, *sorted(self.modifiers)))

    @property
    def is_modeled(self):
        """Whether a model proposes configurations."""
        return self.surrogate not in ("random", "sobol")

    @property
    def result(self):
        """Result of the selection of an ensemble; None without one."""
        return getattr(self.search, "ensemble_", None)

    @property
    def is_ensemble(self):
        """Whether the final model is an average."""
        return self.result is not None and not self.result.reason

    def _modify(self):
        names, options, bounds = self.modifiers, self.options, {}
        # With routing, the scorer of a bound would have to request the weights.
        if "metric bound" in names and "routing" not in names and self.classifies:
            bounds["accuracy"] = ">= 0.5"
        if "size bound" in names:
            bounds["model_size"] = f"<= {MAX_SIZE}"
        if "model bound" in names:
            bounds["features"] = (attrgetter("n_features_in_"), ">= 1")
        rule = [even] if "constraint" in names else []
        if bounds or rule:
            options["constraints"] = [*rule, *([bounds] if bounds else [])]
        if names & {"weights", "routing"} and isinstance(self.estimator, TAKE_WEIGHTS):
            self.params["sample_weight"] = np.linspace(0.5, 1.5, len(self.y))
            if "routing" in names:
                self.is_routed = True
                with self.routing():
                    estimator = clone(self.estimator)
                    self.estimator = estimator.set_fit_request(sample_weight=True)
                    scorer = get_scorer(self.metric)
                    options["scoring"] = scorer.set_score_request(sample_weight=False)
        if "several" in names and not self.is_routed:
            other = "balanced_accuracy" if self.classifies else "r2"
            other = "f1_micro" if self.kind == "labels" else other
            options["scoring"] = [other, self.metric]
            options["refit"] = with_metric(options["refit"], self.metric)
        if "pruning" in names:
            options["pruning"] = True
        if "rounds" in names and self.learner == "boosting":
            options["early_stopping"] = "auto"
        if "timeout" in names:
            options["timeout"] = 600
        if "stages" in names:
            options |= {"stages": (0.7, 1.0), "n_iter": 8}
        if names & {"threads", "processes"}:
            options["n_jobs"] = 2
        if "sparse" in names and self.learner != "boosting":
            self.X = sparse.csr_matrix(self.X)
        elif "frame" in names:
            self.X = pd.DataFrame(self.X, columns=[*"abcde"])

    @property
    def compared(self):
        """Trials among which the best one is chosen."""
        return [self.search.trials_[k] for k in self.search._ranked_numbers]

    @property
    def best(self):
        """Best trial."""
        return self.compared[self.search.best_index_]

    def routing(self):
        """Return a context with metadata routing if the case uses it."""
        return config_context(enable_metadata_routing=self.is_routed)

    def fit(self):
        """Fit, in two parts with a journal; return whether the search was refused."""
        with contextlib.ExitStack() as stack:
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            stack.enter_context(self.routing())
            if self.is_timed:
                stack.enter_context(mock.patch.multiple(LADDER, **SMALL_SAMPLES))
                fit = slow(type(self.estimator).fit)
                stack.enter_context(mock.patch.object(type(self.estimator), "fit", fit))
            if self.is_taken:
                changes = {"is_better": lambda gain, std: True, "select": every_member}
                stack.enter_context(mock.patch.multiple(FINAL_MODEL, **changes))
            if "journal" in self.modifiers:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                self.search.set_params(journal=Path(folder) / "journal")
            try:
                if "journal" in self.modifiers:
                    short = {"timeout": 3} if self.is_timed else {"n_iter": 3}
                    first = clone(self.search).set_params(**short)
                    first.fit(self.X, self.y, **self.params)
                    caught.clear()
                begin = CLOCK.now
                self.search.fit(self.X, self.y, **self.params)
                self.seconds = CLOCK.now - begin
                self.messages = [str(warning.message) for warning in caught]
            except ValueError as error:
                is_early = not hasattr(self.search, "trials_")
                if not is_early or not any(name in str(error) for name in REFUSED):
                    raise
                return True
        return False

    def check(self):
        """Fit the search, and check it; return whether it was refused by name."""
        if self.fit():
            return True
        for law in LAWS:
            law(self)
        return False

    # -- independent computations -------------------------------------------------

    def rows(self, data, rows):
        """Return some rows of the data."""
        return data.iloc[rows] if hasattr(data, "iloc") else data[rows]

    def rows_of(self, rows):
        """Return some rows of the data, and their targets."""
        return self.rows(self.X, rows), self.y[rows]

    def fitted(self, params, rows):
        """Return a fit of a configuration on some rows."""
        metadata = {k: v[rows] for k, v in self.params.items() if k != "groups"}
        with self.routing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(self.estimator).set_params(**params)
            return model.fit(*self.rows_of(rows), **metadata)

    def all_splits(self):
        """Return the training and test rows of the search."""
        cv = check_cv(SPLITS[self.splits], self.y, classifier=self.classifies)
        return list(cv.split(self.X, self.y, self.params.get("groups")))

    def outputs(self, model, X):
        """Return the outputs of a fit that are averaged, with a column per class."""
        if not self.classifies:
            return model.predict(X)
        if self.kind == "labels":
            parts = model.predict_proba(X)
            if not isinstance(parts, list):
                return parts
            pairs = zip(parts, model.classes_, strict=True)
            return np.column_stack([p @ (labels == 1) for p, labels in pairs])
        classes = np.unique(self.y)
        if not hasattr(model, "predict_proba"):
            if self.learner == "one against one":
                return model.predict(X)[:, None] == classes
            return model.decision_function(X)
        proba = np.zeros((X.shape[0], len(classes)))
        proba[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
        return proba

    def average(self, models, X):
        """Return the average outputs and the predictions of several fits."""
        mean = np.mean([self.outputs(model, X) for model in models], axis=0)
        if not self.classifies:
            return mean, mean
        if self.kind == "labels":
            return mean, (mean > 0.5).astype(int)
        return mean, np.unique(self.y)[np.argmax(mean, axis=1)]

    def members(self):
        """Return the configuration of each member, in the order of the fits."""
        if not self.is_ensemble:
            return [self.search.best_params_]
        n_fits = len(self.search.best_estimator_.estimators_)
        members = []
        for number, weight in self.result.weights.items():
            members += [self.search.trials_[number].params] * round(n_fits * weight)
        return members


# -- laws ---------------------------------------------------------------------------


def best_score_is_that_of_independent_fits(case):
    """A score on fewer folds or rows than all is announced."""
    search, splits, best = case.search, case.all_splits(), case.best
    is_whole = (best.fidelity.train_fraction, best.n_folds) == (1.0, len(splits))
    assert is_whole != any("best_score_ is the score on" in m for m in case.messages)
    name = case.metric if search.multimetric_ else "score"
    score = search.cv_results_[f"mean_test_{name}"][search.best_index_]
    np.testing.assert_equal(getattr(search, "best_score_", score), score)
    differs = {"early_stopping", "sample_weight"} & {*case.options, *case.params}
    if is_whole and np.isfinite(score) and not differs:
        scorer = get_scorer(case.metric)
        scores = [
            scorer(case.fitted(best.params, train), *case.rows_of(test))
            for train, test in splits
        ]
        np.testing.assert_allclose(score, np.mean(scores), rtol=1e-9)


def best_is_chosen_among_trials_of_one_fidelity(case):
    """The first configuration of the search, usually the current one, is compared."""
    trials = [t for t in case.compared if t.state == "complete"]
    if not trials:
        return
    assert {trial.fidelity for trial in trials} == {case.best.fidelity}
    if "n_folds" in case.search.cv_results_:
        n_folds = [trial.n_folds for trial in case.compared]
        np.testing.assert_array_equal(case.search.cv_results_["n_folds"], n_folds)
    first = case.search.trials_[0].params
    assert first in [trial.params for trial in case.compared]
    is_bound = case.refit != "callable"
    violations = [(t.violation or 0.0) if is_bound else 0.0 for t in trials]
    allowed = np.equal(violations, min(violations))
    scores = np.where(allowed, [trial.score for trial in trials], -np.inf)
    is_own = case.refit == "corrected" and case.best.params == first
    assert is_own or case.best is trials[np.argmax(scores)]


def searches_end_in_time(case):
    """A running fit is completed. Drawn ensembles have more members than planned."""
    if case.is_timed and not case.is_ensemble:
        assert case.seconds <= case.search.timeout + case.X.shape[0] / 24


def ensembles_start_from_the_best_score(case):
    if "ensemble" in str(case.search.refit):
        assert np.isclose(case.result.best_score, case.search.best_score_, rtol=1e-12)
        assert abs(sum(case.result.weights.values()) - 1.0) < 1e-9


def ensembles_keep_the_limits(case):
    if not case.is_ensemble:
        return
    fits = case.search.best_estimator_.estimators_
    most = {"two members": 2, "nine members": 9}.get(case.refit, 10)
    assert len(case.members()) == len(fits) <= most
    if case.learner != "locked":
        assert sum(len(pickle.dumps(fit)) for fit in fits) < 1.1e6


def members_are_complete_trials_of_one_fidelity(case):
    if case.is_ensemble:
        trials = [case.search.trials_[number] for number in case.result.weights]
        assert all(trial.feasible and trial.error is None for trial in trials)
        assert {trial.state for trial in trials} == {"complete"}
        assert len({trial.fidelity for trial in trials}) == 1


def rules_and_bounds_hold(case):
    bounds = [b for b in case.search.constraints or () if isinstance(b, dict)]
    if "constraint" in case.modifiers:
        assert all(map(even, case.members()))
    if case.is_ensemble and bounds and "model_size" in bounds[0]:
        n, trials = len(case.members()), case.search.trials_
        sizes = [
            n * weight * trials[k].outcomes["model_size"]
            for k, weight in case.result.weights.items()
        ]
        assert sum(sizes) <= MAX_SIZE + 1e-6


def predictions_are_those_of_independent_fits(case):
    """Members are fits of different splits, a single model is fitted on all rows."""
    search, all_rows = case.search, np.arange(len(case.y))
    if search.get_params().get("early_stopping") is not None:
        return
    if not case.is_ensemble:
        model = case.fitted(search.best_params_, all_rows)
        np.testing.assert_array_equal(search.predict(case.X), model.predict(case.X))
        return
    splits = itertools.cycle(case.all_splits())
    pairs = zip(case.members(), splits, strict=False)
    models = [case.fitted(params, train) for params, (train, _) in pairs]
    mean, predicted = case.average(models, case.X)
    if case.classifies and case.kind != "labels" and hasattr(search, "predict_proba"):
        actual = search.predict_proba(case.X)
        np.testing.assert_allclose(actual, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(search.predict(case.X), predicted, rtol=1e-9)


def scores_are_those_of_independent_fits(case):
    """Each split is predicted by the configurations that were fitted without it."""
    if not case.is_ensemble or "sample_weight" in case.params:
        return
    scores, metric = [], SCORES[case.metric]
    for train, test in case.all_splits():
        models = [case.fitted(params, train) for params in case.members()]
        mean, predicted = case.average(models, case.rows(case.X, test))
        scores.append(metric(case.y[test], mean, predicted, np.unique(case.y)))
    np.testing.assert_allclose(case.result.score, np.mean(scores), rtol=1e-9)


def folds_belong_to_the_best_configuration(case):
    search = case.search
    fits = getattr(search, "fold_estimators_", None)
    if fits is not None:
        assert len(fits) == search.n_splits_
        for fit in fits:
            assert fit.get_params().items() >= search.best_params_.items()
    if "all" in (case.returned or ()):
        every = search.all_fold_estimators_
        assert len(every) == len(search.cv_results_["params"])
        assert every[search.best_index_] is not None


def pickles_predict_the_same(case):
    if case.learner != "locked":
        with case.routing():
            again = pickle.loads(pickle.dumps(case.search))
            expected = case.search.predict(case.X)
            np.testing.assert_array_equal(again.predict(case.X), expected)


def clones_can_be_fitted_again(case):
    clone(case.search)
    if case.is_ensemble and case.learner != "failing":
        with case.routing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = clone(case.search.best_estimator_)
            again.fit(case.X, case.y, **case.params)
            np.testing.assert_allclose(
                again.predict(case.X), case.search.predict(case.X), rtol=1e-9
            )


LAWS = (
    best_score_is_that_of_independent_fits,
    best_is_chosen_among_trials_of_one_fidelity,
    searches_end_in_time,
    ensembles_start_from_the_best_score,
    ensembles_keep_the_limits,
    members_are_complete_trials_of_one_fidelity,
    rules_and_bounds_hold,
    predictions_are_those_of_independent_fits,
    scores_are_those_of_independent_fits,
    folds_belong_to_the_best_configuration,
    pickles_predict_the_same,
    clones_can_be_fitted_again,
)
SCORES = {
    "accuracy": lambda y, mean, y_pred, labels: accuracy_score(y, y_pred),
    "neg_log_loss": lambda y, mean, y_pred, labels: -log_loss(y, mean, labels=labels),
    "neg_mean_squared_error": lambda y, mean, y_pred, labels: (
        -mean_squared_error(y, y_pred)
    ),
}
# Parameters that errors before the first fit may name.
REFUSED = ("refit", "return_folds", "constraints", "early_stopping", "pruning")


def with_metric(refit, metric):
    """Return a value of `refit` for several metrics."""
    if callable(refit):
        return functools.partial(first_of, metric)
    if refit is True:
        return metric
    rule = refit if isinstance(refit, dict) else {"rule": refit}
    return {**rule, "metric": metric}


def even(params):
    """Return whether the last digit of the first parameter is even."""
    return int(1000 * next(iter(params.values()))) % 2 == 0 or "max_depth" in params
