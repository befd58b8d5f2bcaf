"""Text and HTML forms of optimizers."""

import math

from skbayes import Optimizer
from skbayes.surrogates import GaussianProcess


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
