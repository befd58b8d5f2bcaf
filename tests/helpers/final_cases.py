"""Random searches with options of `refit` and `return_folds`, and what must hold."""

import contextlib
import functools
import pickle
import random
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    get_scorer,
    log_loss,
    mean_squared_error,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GroupKFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import BayesSearchCV, MultiStageSearchCV
from skbayes.search import final_model

N_ROWS = 36
SMOOTH = (0.01, 100.0, "log-uniform")
TREES = {"max_depth": (1, 5), "min_samples_leaf": (1, 6)}


def first_of(metric, results):
    """Return the index of the best row by a metric."""
    return int(np.argmin(results[f"rank_test_{metric}"]))


class Reluctant(LogisticRegression):
    """Classifier whose own `predict` requires a high probability."""

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X) - [0.2, 0.0], axis=1)]


class Locked(DecisionTreeClassifier):
    """Tree whose fits cannot be pickled."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        self.lock_ = (step for step in ())
        return super().fit(X, y, sample_weight)


class Failing(DecisionTreeClassifier):
    """Tree that cannot be fitted with some depths."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        if self.max_depth in (2, 4):
            raise ValueError("this depth is impossible")
        return super().fit(X, y, sample_weight)


LOGISTIC = LogisticRegression(max_iter=50)
LEARNERS = {
    "logistic": ("binary", LOGISTIC, {"C": SMOOTH}),
    "tree": ("multiclass", DecisionTreeClassifier(random_state=0), TREES),
    "neighbors": ("multiclass", KNeighborsClassifier(), {"n_neighbors": (1, 9)}),
    "fixed threshold": (
        *("binary", FixedThresholdClassifier(LOGISTIC, threshold=0.7)),
        {"estimator__C": SMOOTH},
    ),
    "tuned threshold": (
        *("binary", TunedThresholdClassifierCV(LOGISTIC, thresholds=5, cv=2)),
        {"estimator__C": SMOOTH},
    ),
    "calibrated": (
        *("binary", CalibratedClassifierCV(SVC(), cv=2)),
        {"estimator__C": SMOOTH},
    ),
    "SVC": ("multiclass", SVC(), {"C": SMOOTH}),
    "one against one": (
        *("multiclass", SVC(decision_function_shape="ovo")),
        {"C": SMOOTH},
    ),
    "own predict": ("binary", Reluctant(max_iter=50), {"C": SMOOTH}),
    "locked": ("binary", Locked(random_state=0), TREES),
    "failing": ("binary", Failing(random_state=0), TREES),
    "labels": ("labels", DecisionTreeClassifier(random_state=0), TREES),
    "one label each": (
        "labels",
        OneVsRestClassifier(LOGISTIC),
        {"estimator__C": SMOOTH},
    ),
    "ridge": ("regression", Ridge(), {"alpha": SMOOTH}),
    "targets": ("targets", DecisionTreeRegressor(random_state=0), TREES),
    "neighbors of numbers": (
        *("regression", KNeighborsRegressor()),
        {"n_neighbors": (1, 9)},
    ),
    "boosting": (
        *("binary", HistGradientBoostingClassifier(random_state=0, max_iter=6)),
        {"learning_rate": (0.05, 0.5), "max_leaf_nodes": (2, 8)},
    ),
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
    more = {"n_samples": N_ROWS, "n_features": 5, "random_state": 1}
    if kind in ("regression", "targets"):
        return make_regression(n_targets=2 if kind == "targets" else 1, noise=9, **more)
    n_classes = 3 if kind == "multiclass" else 2
    X, y = make_classification(
        n_classes=n_classes, n_informative=3, n_redundant=0, flip_y=0.2, **more
    )
    return X, np.column_stack([y, X[:, 0] > 0]).astype(int) if kind == "labels" else y


class Case:
    """Search with options that are drawn at random."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.learner, self.refit = rng.choice([*LEARNERS]), rng.choice([*REFITS])
        # Some ensembles are chosen although they may be worse.
        self.is_better = rng.choice((final_model.is_better, lambda gain, std: True))
        self.kind, estimator, space = LEARNERS[self.learner]
        self.splits, self.returned = rng.choice([*SPLITS]), rng.choice(RETURNED)
        self.modifiers = set(rng.sample(MODIFIERS, rng.choice((0, 1, 2, 3))))
        self.classifies = is_classifier(estimator)
        n_rows = 16 if self.splits == "leave one out" else N_ROWS
        self.X, self.y = (part[:n_rows] for part in data_of(self.kind))
        self.metric = rng.choice(("accuracy", "neg_log_loss"))
        if not hasattr(estimator, "predict_proba") or self.kind == "labels":
            self.metric = "accuracy"
        if self.splits == "leave one out":
            self.metric = "accuracy"
        if not self.classifies:
            self.metric = "neg_mean_squared_error"
        self.params, self.options, self.is_routed = {}, {}, False
        if self.splits == "groups":
            self.params["groups"] = np.arange(N_ROWS) % 6
        self.options = {"scoring": self.metric, "refit": REFITS[self.refit]}
        self._modify(estimator)
        self.surrogate = rng.choice(SURROGATES)
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
        parts += (self.surrogate,)
        return ", ".join((*parts, *sorted(self.modifiers)))

    @property
    def is_modeled(self):
        """Whether a model proposes configurations."""
        return self.surrogate not in ("random", "sobol")

    @property
    def is_ensemble(self):
        """Whether the final model has several members."""
        return len(getattr(getattr(self.search, "ensemble_", None), "weights", ())) > 1

    def _modify(self, estimator):
        names, options = self.modifiers, self.options
        bounds = {}
        if "metric bound" in names and self.classifies:
            bounds["accuracy"] = ">= 0.5"
        if "size bound" in names:
            bounds["model_size"] = "<= 3500"
        if "model bound" in names:
            bounds["features"] = (n_inputs, ">= 1")
        rule = [even] if "constraint" in names else []
        if bounds or rule:
            options["constraints"] = [*rule, *([bounds] if bounds else [])]
        if names & {"weights", "routing"} and accepts_weights(estimator):
            self.params["sample_weight"] = np.linspace(0.5, 1.5, len(self.y))
            if "routing" in names:
                self.is_routed = True
                with config_context(enable_metadata_routing=True):
                    estimator = clone(estimator).set_fit_request(sample_weight=True)
        if self.is_routed:
            with config_context(enable_metadata_routing=True):
                scorer = get_scorer(self.metric)
                options["scoring"] = scorer.set_score_request(sample_weight=False)
        elif "several" in names:
            other = "balanced_accuracy" if self.classifies else "r2"
            if self.kind == "labels":
                other = "f1_micro"
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
        if "threads" in names or "processes" in names:
            options["n_jobs"] = 2
        if "sparse" in names and self.learner != "boosting":
            self.X = sparse.csr_matrix(self.X)
        elif "frame" in names:
            self.X = pd.DataFrame(self.X, columns=[*"abcde"])
        self.estimator = estimator

    def fit(self):
        """Fit, in two parts with a journal; return whether the search was refused."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(config_context(enable_metadata_routing=self.is_routed))
            changed = mock.patch.object(final_model, "is_better", self.is_better)
            stack.enter_context(changed)
            if "journal" in self.modifiers:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                self.search.set_params(journal=Path(folder) / "journal")
            try:
                if "journal" in self.modifiers:
                    first = clone(self.search).set_params(n_iter=3)
                    first.fit(self.X, self.y, **self.params)
                self.search.fit(self.X, self.y, **self.params)
            except ValueError as error:
                named = (
                    "refit",
                    "return_folds",
                    "constraints",
                    "early_stopping",
                    "pruning",
                )
                if hasattr(self.search, "trials_") or not any(
                    name in str(error) for name in named
                ):
                    raise
                return True
        return False

    def _same_predictions(self, other):
        found, expected = self.search.predict(self.X), other.predict(self.X)
        np.testing.assert_array_equal(found, expected)

    # -- what must hold -----------------------------------------------------------

    def check(self):
        """Fit the search, and check it; return whether it was refused by name."""
        if self.fit():
            return True
        search = self.search
        result = getattr(search, "ensemble_", None)
        if "mean_test_score" in search.cv_results_ and hasattr(search, "best_score_"):
            means = search.cv_results_["mean_test_score"]
            np.testing.assert_equal(means[search.best_index_], search.best_score_)
        if "ensemble" in str(search.refit):
            assert np.isclose(result.best_score, search.best_score_, rtol=1e-12)
            assert abs(sum(result.weights.values()) - 1.0) < 1e-9
            assert len(result.weights) <= 10
        self._check_bounds(result)
        if "early_stopping" not in search.get_params() or search.early_stopping is None:
            self._check_predictions(result)
            self._check_score(result)
        self._check_folds()
        clone(search)
        if self.learner != "locked":
            with config_context(enable_metadata_routing=self.is_routed):
                self._same_predictions(pickle.loads(pickle.dumps(search)))
        return False

    def _check_bounds(self, result):
        """Check that members satisfy what was promised, if a trial does."""
        search = self.search
        members = (
            [search.trials_[search.cv_results_["trial"][search.best_index_]]]
            if ("trial" in search.cv_results_)
            else []
        )
        if result is not None and not result.reason:
            members = [search.trials_[k] for k in result.weights]
            assert all(trial.feasible and trial.error is None for trial in members)
            assert {trial.state for trial in members} == {"complete"}
        if "constraint" in self.modifiers:
            assert all(even(trial.params) for trial in members)
        bounds = [part for part in search.constraints or () if isinstance(part, dict)]
        if result is None or result.reason or not bounds:
            return
        if "model_size" in bounds[0]:
            counts = [1.0] * len(members)
            if result.members == "folds":
                n = len(search.best_estimator_.estimators_)
                counts = [n * weight for weight in result.weights.values()]
            sizes = [trial.outcomes["model_size"] for trial in members]
            assert np.dot(counts, sizes) <= 3500 + 1e-6

    def _members(self, result):
        """Return the parameters and the weights of the members."""
        search = self.search
        if result is None or result.reason:
            return [search.best_params_], [1.0]
        return [search.trials_[k].params for k in result.weights], [
            *result.weights.values()
        ]

    def _fitted(self, params, rows):
        more = {k: v[rows] for k, v in self.params.items() if k != "groups"}
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        with config_context(enable_metadata_routing=self.is_routed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(self.estimator).set_params(**params)
                return model.fit(X, self.y[rows], **more)

    def _average(self, models, weights, X):
        """Return average outputs and predictions, by other code than the package."""
        if not self.classifies:
            mean = np.tensordot(weights, [m.predict(X) for m in models], axes=1)
            return mean, mean
        own = [m.predict(X) for m in models]
        if self.kind == "labels":
            votes = np.tensordot(weights, np.array(own, dtype=float), axes=1)
            return None, (votes > 0.5).astype(int)
        classes = np.unique(self.y)
        votes = np.zeros((len(own[0]), len(classes)))
        for one, weight in zip(own, weights, strict=True):
            votes += weight * (one[:, None] == classes)
        mean = None
        if hasattr(models[0], "predict_proba"):
            mean = np.zeros(votes.shape)
            for model, weight in zip(models, weights, strict=True):
                columns = np.searchsorted(classes, model.classes_)
                mean[:, columns] += weight * model.predict_proba(X)
        return mean, classes[np.argmax(votes, axis=1)]

    def _check_predictions(self, result):
        """Compare the final model with fits of its members on all rows."""
        search, (params, weights) = self.search, self._members(result)
        rows = np.arange(len(self.y))
        if result is not None and result.members == "folds":
            splits, models = self._splits(), []
            counts = len(search.best_estimator_.estimators_) * np.array(weights)
            for config, count in zip(params, counts.round().astype(int), strict=True):
                for _ in range(count):
                    train, _ = splits[len(models) % len(splits)]
                    models.append(self._fitted(config, train))
            weights = np.full(len(models), 1.0 / len(models))
        else:
            models = [self._fitted(p, rows) for p in params]
        mean, predicted = self._average(models, weights, self.X)
        votes = getattr(search.best_estimator_, "votes_", len(params) == 1)
        if mean is not None and self.classifies:
            found = search.predict_proba(self.X)
            np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-12)
            if not votes:
                predicted = search.classes_[np.argmax(mean, axis=1)]
        if not self.classifies or votes or mean is not None:
            found = search.predict(self.X)
            if self.classifies:
                np.testing.assert_array_equal(found, predicted)
            else:
                np.testing.assert_allclose(found, predicted, rtol=1e-9)

    def _splits(self):
        cv = SPLITS[self.splits]
        if cv == 3:
            from sklearn.model_selection import check_cv

            cv = check_cv(3, self.y, classifier=self.classifies)
        return list(cv.split(self.X, self.y, self.params.get("groups")))

    def _check_score(self, result):
        """Compare the scores of an ensemble with those of fits on each split."""
        if result is None or result.reason or "sample_weight" in self.params:
            return
        params, weights = self._members(result)
        scores = []
        for train, test in self._splits():
            models = [self._fitted(p, train) for p in params]
            X = self.X.iloc[test] if hasattr(self.X, "iloc") else self.X[test]
            mean, predicted = self._average(models, weights, X)
            if self.metric == "neg_log_loss":
                labels = np.unique(self.y)
                scores.append(-log_loss(self.y[test], mean, labels=labels))
            elif self.metric == "accuracy":
                if mean is not None and not self.search.best_estimator_.votes_:
                    predicted = np.unique(self.y)[np.argmax(mean, axis=1)]
                elif mean is None:
                    return  # decision values are averaged
                scores.append(accuracy_score(self.y[test], predicted))
            else:
                scores.append(-mean_squared_error(self.y[test], predicted))
        np.testing.assert_allclose(result.score, np.mean(scores), rtol=1e-9)

    def _check_folds(self):
        """Check that the results of the folds belong to the best configuration."""
        search = self.search
        fits = getattr(search, "fold_estimators_", None)
        if fits is not None:
            assert len(fits) == search.n_splits_
            for fit in fits:
                assert fit.get_params().items() >= search.best_params_.items()
        if "all" in (self.returned or ()):
            every = search.all_fold_estimators_
            assert len(every) == len(search.cv_results_["params"])
            assert every[search.best_index_] is not None


def accepts_weights(estimator):
    """Return whether all fits of an estimator accept weights."""
    return isinstance(
        estimator, DecisionTreeClassifier | LogisticRegression | SVC | Ridge
    ) or isinstance(estimator, DecisionTreeRegressor | HistGradientBoostingClassifier)


def with_metric(refit, metric):
    """Return a value of `refit` for several metrics."""
    if callable(refit):
        return functools.partial(first_of, metric)
    if refit is True:
        return metric
    rule = refit if isinstance(refit, dict) else {"rule": refit}
    return {**rule, "metric": metric}


def n_inputs(model):
    """Return the number of columns that a fitted model has seen."""
    return model.n_features_in_


def even(params):
    """Return whether the last digit of the first parameter is even."""
    return int(1000 * next(iter(params.values()))) % 2 == 0 or "max_depth" in params
