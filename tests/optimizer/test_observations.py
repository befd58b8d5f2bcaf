"""Records of an optimizer: validation, arrays, and text and HTML forms."""

import math
from decimal import Decimal

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.optimizer.observations import check_cost, check_noise, check_score
from skbayes.surrogates import GaussianProcess


def test_what_was_learned_comes_before_what_was_told():
    optimizer = Optimizer({"a": (0.0, 1.0), "b": (0.0, 1.0)}, random_state=0)
    known = optimizer._observations()
    assert known.X.shape == known.pending.shape == (0, 2)
    assert known.scores.shape == known.noise.shape == (0,)
    optimizer.tell({"a": 0.5, "b": 0.25}, 1.0, noise=0.2)
    optimizer.tell({"a": 0.75, "b": 0.0}, math.nan, noise=0.2)
    optimizer.learn({"a": 0.125, "b": 0.5}, 2.0, noise=0.4)
    optimizer.pend({"a": 1.0, "b": 1.0})
    known = optimizer._observations()
    np.testing.assert_array_equal(known.X, [[0.125, 0.5], [0.5, 0.25], [0.75, 0.0]])
    np.testing.assert_array_equal(known.scores, [2.0, 1.0, np.nan])
    # Of a failure nothing is uncertain.
    np.testing.assert_array_equal(known.noise, [0.4, 0.2, 0.0])
    np.testing.assert_array_equal(known.pending, [[1.0, 1.0]])


def test_a_failure_told_before_the_number_of_objectives_was_known():
    optimizer = Optimizer({"a": (0.0, 1.0)}, random_state=0)
    optimizer.tell({"a": 0.5}, math.nan)
    optimizer.tell({"a": 0.6}, [1.0, 2.0], noise=[0.0, 0.1])
    known = optimizer._observations()
    np.testing.assert_array_equal(known.scores, [[np.nan, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(known.noise, [[0.0, 0.0], [0.0, 0.1]])


def test_arrays_that_grow_are_those_of_all_trials():
    rng = np.random.default_rng(0)
    asked, other = (
        Optimizer({"a": (0.0, 1.0), "m": ["u", "v"]}, random_state=0) for _ in range(2)
    )
    for step in range(40):
        params = {"a": float(rng.random()), "m": "uv"[step % 2]}
        # The numbers of scores and constraints are known after some failures.
        score = math.nan if step < 3 else [step, -1.0]
        constraints = [0.1 * step, math.nan] if step > 5 and step % 2 else None
        add = "learn" if step % 13 == 5 else "tell"
        for optimizer in (asked, other):
            getattr(optimizer, add)(params, score, constraints=constraints)
            if step % 4 == 0:
                optimizer.pend({"a": step / 40, "m": "u"})
        asked._observations()
    found, expected = asked._observations(), other._observations()
    assert len(found.X) == 40 and found.slacks.shape == (40, 2)
    for name in ("X", "scores", "noise", "slacks", "pending"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


class NoNoise:
    def fit(self, X, y):
        return self


class AnyNoise:
    def fit(self, X, y, **details):
        return self


def test_scores_are_floats_or_nan():
    for score in (1, 1.0, True, np.float32(1.0), np.int8(1)):
        value = check_score(score)
        assert type(value) is float and value == 1.0
    for failed in (math.nan, math.inf, -math.inf, 10**400):
        assert math.isnan(check_score(failed))
    for wrong in (None, "1", [1.0], np.ones(1), 1j):
        with pytest.raises(TypeError, match="score must be a number"):
            check_score(wrong)


@pytest.mark.parametrize(
    ("cost", "censored", "error", "message"),
    [
        ("1 s", False, TypeError, "cost must be a number, got '1 s'"),
        (Decimal(1), False, TypeError, "cost must be a number"),
        (0.0, False, ValueError, "cost must be > 0 and finite.*got 0.0"),
        (-1, False, ValueError, "cost must be > 0"),
        (math.nan, False, ValueError, "cost must be > 0"),
        (math.inf, True, ValueError, "cost must be > 0"),
        (10**400, False, ValueError, "cost must be > 0 and finite"),
        (None, True, ValueError, "cost must be given with censored=True"),
        (1.0, 1, TypeError, "censored must be True or False, got 1"),
        (1.0, None, TypeError, "censored must be True or False"),
    ],
)
def test_costs_that_are_refused(cost, censored, error, message):
    with pytest.raises(error, match=message):
        check_cost(cost, censored)
    assert check_cost(None, False) is None
    for accepted in (True, False, np.True_):
        assert check_cost(2, accepted) == 2.0
        assert check_cost(np.float32(1e-6), accepted) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("noise", "error", "message"),
    [
        ("much", TypeError, "noise must be a number, got 'much'"),
        (-0.1, ValueError, "noise must be >= 0 and finite.*got -0.1"),
        (math.nan, ValueError, "noise must be >= 0 and finite"),
        (math.inf, ValueError, "noise must be >= 0 and finite"),
    ],
)
def test_noise_that_is_refused(noise, error, message):
    with pytest.raises(error, match=message):
        check_noise(noise, "gp")
    for surrogate in ("gp", GaussianProcess(), AnyNoise()):
        assert check_noise(None, surrogate) == check_noise(0, surrogate) == 0.0
        assert check_noise(np.float64(0.5), surrogate) == 0.5
    assert check_noise(None, NoNoise()) == check_noise(0.0, NoNoise()) == 0.0
    with pytest.raises(ValueError, match="the surrogate .*NoNoise.* no parameter"):
        check_noise(0.1, NoNoise())


def test_a_line_says_what_was_told():
    optimizer = Optimizer({"x": (0.0, 1.0), "<b>": ["u", "v"]}, random_state=0)
    assert repr(optimizer) == (
        "<Optimizer of <b>, x: surrogate gp, observed 0, pending 0>"
    )
    optimizer.learn({"x": 0.75, "<b>": "u"}, 0.5)
    optimizer.tell({"x": 0.25, "<b>": "v"}, 2.0)
    optimizer.tell({"x": 0.5, "<b>": "v"}, math.nan)
    optimizer.ask(3)
    assert repr(optimizer) == (
        "<Optimizer of <b>, x: surrogate gp, observed 2 (1 failed), pending 3, "
        "learned 1, best score 2, best params {'<b>': 'v', 'x': 0.25}>"
    )
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for x in (0.0, 0.5, 1.0):
        optimizer.tell({"x": x}, [x, min(x, 1 - x)])
    assert repr(optimizer).endswith("observed 3, pending 0, Pareto front 2>")


def test_notebooks_show_a_table():
    optimizer = Optimizer({"<x>": (0.0, 1.0)}, surrogate=GaussianProcess())
    optimizer.tell({"<x>": 0.25}, -1.5)
    page = optimizer._repr_html_()
    assert "Optimizer of &lt;x&gt;" in page and "<x>" not in page
    for text in ("GaussianProcess", "-1.5", "{&#x27;&lt;x&gt;&#x27;: 0.25}"):
        assert f">{text}</td>" in page
