"""Fits that are watched after each round, as a search does."""

import numpy as np
from sklearn.base import clone, is_classifier

from skbayes.evaluation.learning_curves import has_stalled
from skbayes.evaluation.rounds.lookup import learner_of


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


def assert_stages_are_fits(model, cap, X, y, rounds, rtol, atol):
    """Check predictions after some rounds against fits with as many; end early."""
    seen = fitted_to(model, cap, X, y)
    assert len(seen) == cap
    for n in rounds:
        plain = with_rounds(model, n).fit(X, y)
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
