"""Fits that are watched after each round, as a search does."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression

from skbayes.evaluation.learning_curves import has_stalled
from skbayes.evaluation.rounds.lookup import learner_of

COMMON = {
    "LGBM": {"n_jobs": 1, "verbose": -1, "random_state": 0, "min_child_samples": 5},
    "XGB": {"n_jobs": 1, "random_state": 0},
    "CatBoost": {
        "thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_seed": 0,
    },
}  # fmt: skip
LIBRARIES = {"LGBM": "lightgbm", "XGB": "xgboost", "CatBoost": "catboost"}


def booster(prefix, kind="Classifier", **params):
    """Return an estimator of a library, such as ``booster("LGBM", "Regressor")``."""
    library = pytest.importorskip(LIBRARIES[prefix])
    return getattr(library, f"{prefix}{kind}")(**{**COMMON[prefix], **params})


def data_for(model, n_classes=3):
    """Return data with some classes, or positive targets."""
    if not is_classifier(model):
        X, y = make_regression(120, 5, noise=5.0, random_state=0)
        return X, np.abs(y) / 50.0
    shape = {"n_informative": 4, "n_classes": n_classes, "random_state": 0}
    X, y = make_classification(150, 6, **shape)
    is_booster = not type(model).__module__.startswith("sklearn")
    return X, y if is_booster else np.array(["b", "c", "a"])[y]


class Watch:
    """Callback that records its arguments, and ends a fit after some rounds."""

    def __init__(self, cap, X, y, end=None):
        self.sets, self.labels = [X, X[:20]], [y, y[:20]]
        self.grid = np.arange(1, cap + 1)
        self.end, self.seen = end, []

    def __call__(self, n_rounds, stages):
        assert (n_rounds, len(stages)) == (len(self.seen) + 1, 2)
        self.seen.append([{n: f() for n, f in stage().items()} for stage in stages])
        return n_rounds == self.end

    def is_stalled(self, curve):
        return has_stalled(curve, self.grid)


def with_rounds(model, rounds):
    """Return a clone with the settings for this number of rounds."""
    learner = learner_of(model)
    settings = {**learner.settings(model), learner.parameter(model): rounds}
    return clone(model).set_params(**settings)


def fitted_to(model, cap, X, y, end=None, **params):
    """Fit a clone, and return the recorded arguments."""
    watch = Watch(cap, X, y, end)
    learner_of(model).fit(with_rounds(model, cap), X, y, params, watch)
    return watch.seen


def assert_stages_are_fits(model, n_classes, rtol=1e-12, atol=1e-14, cap=14, **params):
    """Check predictions after some rounds against fits with as many; end early."""
    X, y = data_for(model, n_classes)
    seen = fitted_to(model, cap, X, y, **params)
    assert len(seen) == cap
    for n in (1, 11, cap):
        plain = with_rounds(model, n).fit(X, y, **params)
        for stage, rows in zip(seen[n - 1], (X, X[:20]), strict=True):
            assert "predict" in stage
            for name, found in stage.items():
                if not hasattr(plain, name):
                    continue
                assert np.asarray(found).dtype.kind in "fiU", name
                with np.errstate(divide="ignore"):
                    expected = getattr(plain, name)(rows)
                if name == "predict" and is_classifier(model):
                    np.testing.assert_array_equal(found, np.ravel(expected))
                else:
                    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    assert len(fitted_to(model, cap, X, y, end=5)) == 5
