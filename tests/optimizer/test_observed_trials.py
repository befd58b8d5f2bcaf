"""Records of an optimizer: validation, arrays, and text and HTML forms."""

import math

import numpy as np

from skbayes import Optimizer
from skbayes.surrogates import GaussianProcess


class NoNoise:
    def fit(self, X, y):
        return self

    predict = condition = None


class AnyNoise(NoNoise):
    def fit(self, X, y, **details):
        return self


def told(surrogate="gp", **arguments):
    """Return an optimizer that was told of a trial."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, surrogate=surrogate, random_state=0)
    optimizer.tell({"x": 0.5}, **{"score": 1.0, **arguments})
    return optimizer


def test_numbers_of_all_types_are_accepted():
    for score in (1, True, np.float32(1.0), np.int8(1)):
        ((_, (value,)),) = told(score=score).pareto_front
        assert type(value) is float and value == 1.0
    for censored in (True, False, np.True_):
        assert told(cost=np.float32(1e-6), censored=censored).n_told == 1
    for surrogate in ("gp", GaussianProcess(), AnyNoise(), NoNoise()):
        optimizers = [told(surrogate, noise=none) for none in (None, 0, 0.0)]
        assert [one.n_told for one in optimizers] == [1, 1, 1]
        if not isinstance(surrogate, NoNoise):
            assert told(surrogate, noise=np.float64(0.5)).n_told == 1


def test_repr_summarizes_the_observations():
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
