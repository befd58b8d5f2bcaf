import copy

import numpy as np

from skbayes.stages.fidelity import MultiFidelity
from skbayes.surrogates import GaussianProcess

RNG = np.random.default_rng(0)
EARLIER = RNG.random((12, 2))
X, NEW = RNG.random((5, 2)), RNG.random((7, 2))


def f(X):
    return np.sin(5 * X[:, 0]) + X[:, 1]


def with_fidelity(inner=None, fidelity=1.0):
    inner = GaussianProcess(n_options=[0, 0]) if inner is None else inner
    return MultiFidelity(inner, EARLIER, f(EARLIER), np.full(12, 0.4), fidelity)


def with_column(X, fidelity):
    return np.column_stack([X, np.full(len(X), fidelity)])


def test_the_fidelity_is_an_additional_column():
    wrapped = with_fidelity().fit(X, f(X) + 1)
    plain = GaussianProcess(n_options=[0, 0, 0]).fit(
        np.vstack([with_column(X, 1.0), with_column(EARLIER, 0.4)]),
        np.concatenate([f(X) + 1, f(EARLIER)]),
    )
    for one, other in zip(
        wrapped.predict(NEW), plain.predict(with_column(NEW, 1.0)), strict=True
    ):
        np.testing.assert_allclose(one, other)
    pending = wrapped.condition(NEW[:2])
    expected = plain.condition(with_column(NEW[:2], 1.0))
    np.testing.assert_allclose(
        pending.predict(NEW)[1], expected.predict(with_column(NEW, 1.0))[1]
    )
    # The model itself has no pending configurations.
    np.testing.assert_allclose(
        wrapped.predict(NEW)[1], plain.predict(with_column(NEW, 1.0))[1]
    )


def test_the_original_is_not_changed_and_copies_are_independent():
    inner = GaussianProcess(n_options=[0, 0])
    one = with_fidelity(inner)
    other = copy.deepcopy(one)
    one.fit(X, f(X))
    assert inner.n_options == [0, 0] and not hasattr(inner, "thetas_")
    assert not hasattr(other.surrogate, "thetas_")
