import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes import Optimizer
from skbayes.surrogates import GaussianProcess, MonotonicGP
from skbayes.surrogates.base import compress_low_tail, winsorize_low
from skbayes.surrogates.gp.robust_monotonic import RobustMonotonicGP

N = 10


def make(signs=(1, 1), low=0.0, high=0.5, **kwargs):
    points = low + (high - low) * np.random.default_rng(0).random((N, 2))
    return RobustMonotonicGP(sign_points=points, signs=np.tile(signs, (N, 1)), **kwargs)


def make_data(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, -((X - [0.8, 0.6]) ** 2).sum(axis=1), rng.random((9, 2))


def test_the_floor_is_that_of_the_model_that_predicts():
    X, y, _ = make_data()
    y[0] -= 100.0
    # One of four fits omits the signs; the others compress all scores.
    plain, signed = make().fit(X[:11], y[:11]), make().fit(X, y)
    assert plain.looks_without_signs_ and not signed.looks_without_signs_
    assert plain.floor_ == pytest.approx(np.min(winsorize_low(y[:11])))
    assert signed.columns_in_force_ and signed.floor_ is None


def test_signs_that_hold_stay_in_force():
    X, y, candidates = make_data()
    model = make().fit(X, y)
    assert model.columns_in_force_ == [0, 1] and not model.looks_without_signs_
    assert all(one > -1 for one in model.log_bayes_factors_.values())
    same = MonotonicGP(
        "matern52",
        sign_points=model._signed.sign_points,
        signs=model.signs,
        winsorize_scores=False,
    ).fit(X, compress_low_tail(y))
    np.testing.assert_array_equal(model.predict(candidates), same.predict(candidates))


def test_a_column_whose_sign_is_wrong_is_left_out_alone():
    X, y, _ = make_data()
    model = make((-1, 1)).fit(X, y)
    assert model.columns_in_force_ == [1]
    assert model.log_bayes_factors_[0] < -5


def test_without_a_sign_in_force_it_is_the_plain_process():
    X, y, candidates = make_data()
    model, plain = make((-1, -1)).fit(X, y), GaussianProcess("matern52").fit(X, y)
    assert model.columns_in_force_ == []
    for one, other in (
        (model, plain),
        (model.condition(candidates[:2]), plain.condition(candidates[:2])),
    ):
        np.testing.assert_array_equal(
            one.predict(candidates, gradient=True)[2],
            other.predict(candidates, gradient=True)[2],
        )


def test_scores_that_say_nothing_have_a_bayes_factor_of_one():
    model = make((1, 0)).fit(np.array([[0.9, 0.9]]), np.array([1.0]))
    assert abs(model.log_bayes_factors_[0]) < 0.1
    assert model.log_bayes_factors_.keys() == {0}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_compressing_keeps_the_order_and_the_good_scores(values):
    y = np.array(values)
    z = compress_low_tail(y)
    order = np.argsort(y, kind="stable")
    assert np.all(np.diff(z[order]) >= -1e-12 * np.max(np.abs(y)))
    good = winsorize_low(y) == y
    np.testing.assert_array_equal(z[good], y[good])
    rounding = 1e-12 * np.max(np.abs(y))
    assert np.all(z <= winsorize_low(y) + rounding) and np.all(z >= y - rounding)


def test_compressing_draws_in_a_long_tail_but_keeps_it_apart():
    z = compress_low_tail(np.array([0.9, 0.91, 0.92, 0.93, -5.0, -6.0]))
    assert -1.0 < z[5] < z[4] < 0.8


def test_every_fourth_time_it_looks_without_signs():
    X, y, candidates = make_data(12)
    model = make()
    looks = []
    for n in (2, 3, 4, 7, 8):
        model.fit(X[:n], y[:n])
        looks.append(model.looks_without_signs_)
        plain = GaussianProcess("matern52").fit(X[:n], y[:n]).predict(candidates)[0]
        assert np.array_equal(model.predict(candidates)[0], plain) == looks[-1]
    assert looks == [False, True, False, True, False]


def test_fits_do_not_depend_on_earlier_ones():
    X, y, candidates = make_data(30)
    model = make()
    for n in (5, 23, 24, 25):
        model.fit(X[:n], y[:n])
    fresh = make().fit(X[:25], y[:25])
    np.testing.assert_array_equal(model.predict(candidates), fresh.predict(candidates))
    again = pickle.loads(pickle.dumps(model)).fit(X, y)
    np.testing.assert_array_equal(
        again.predict(candidates), make().fit(X, y).predict(candidates)
    )


def test_a_wrong_sign_costs_a_search_no_more_than_fifteen_trials():
    """The sign is negative, but the score increases from 0.4 to 0.8."""
    space = {"x": (0.0, 1.0), "z": (0.0, 1.0)}
    model, start = make((-1, -1), 0.4, 1.0), {"x": 0.4, "z": 0.4}
    optimizer = Optimizer(
        space, surrogate=model, initial_points=[start], random_state=0
    )
    for _ in range(15):
        params = optimizer.ask()
        score = -((params["x"] - 0.8) ** 2) - (params["z"] - 0.7) ** 2
        optimizer.tell(params, score)
    best = optimizer.best_params
    assert abs(best["x"] - 0.8) < 0.1 and abs(best["z"] - 0.7) < 0.1
