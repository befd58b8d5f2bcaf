"""Records of an optimizer: validation, arrays, and text and HTML forms."""

import math

import numpy as np

from skbayes import Optimizer
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
    # A failure has no uncertainty.
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

    predict = condition = None


class AnyNoise(NoNoise):
    def fit(self, X, y, **details):
        return self


def told(surrogate="gp", **arguments):
    """Return the observation of a trial that was told."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, surrogate=surrogate, random_state=0)
    optimizer.tell({"x": 0.5}, **{"score": 1.0, **arguments})
    return optimizer._observed[0]


def test_numbers_that_are_taken():
    for score in (1, True, np.float32(1.0), np.int8(1)):
        (value,) = told(score=score).scores
        assert type(value) is float and value == 1.0
    for failed in (math.nan, math.inf, -math.inf, 10**400):
        assert math.isnan(told(score=failed).scores[0])
    for censored in (True, False, np.True_):
        assert told(cost=np.float32(1e-6), censored=censored)
    for surrogate in ("gp", GaussianProcess(), AnyNoise(), NoNoise()):
        for none in (None, 0, 0.0):
            assert told(surrogate, noise=none).noise == [0.0]
        if not isinstance(surrogate, NoNoise):
            assert told(surrogate, noise=np.float64(0.5)).noise == [0.5]


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
