"""Texts on axes."""

import matplotlib.pyplot as plt
import pytest

from skbayes.inspection.texts import label_of, name_label, plain, shorten
from skbayes.space import Real


def test_long_texts_are_cut_at_the_end_or_in_the_middle():
    assert label_of(len) == "len"
    assert label_of("word") == "word"
    assert label_of(Real(0, 10)) == "Real(0.0, 10.…"
    assert len(label_of("x" * 100)) == 14
    assert shorten("gamma", 5) == "gamma"
    assert shorten("gamma__rbf", 6) == "gamma…"
    name = "votingclassifier__svc__gamma"
    assert shorten(name, 20, middle=True) == "votingcla…vc__gamma"
    assert plain("a$b$\x00\ud800") == r"a\$b\$" + "\ufffd\ufffd"


@pytest.mark.parametrize("name", ["$\\no$", "x" * 12 + "$y_$" + "z" * 30, "$" * 60])
def test_names_are_cut_before_formulas_are_escaped(name):
    drawn = name_label(name, 20)
    assert drawn.count("$") == drawn.count(r"\$")
    figure, ax = plt.subplots()
    ax.set_title(drawn)
    figure.canvas.draw()
