"""Reports and figures with hostile texts.

    python benchmarks/attacks/reports.py before|after

Searches whose parameters, options, metrics, errors and titles contain formulas, markup,
escape codes and newlines are plotted by every display. They are also shown in HTML,
printed and reported. A text passes if nothing fails, no figure is missing, and nothing
is interpreted as a formula or as markup. In addition, no control character may reach a
figure or the terminal. tests/inspection/test_report.py has hostile paths.
"""

from __future__ import annotations

import contextlib
import functools
import html.parser
import io
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import tally
from sklearn.base import BaseEstimator

from skbayes import BayesSearchCV, ParetoSearchCV, TradeoffSearchCV, inspection

mpl.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

X, Y = np.zeros((24, 1)), np.arange(24) % 2
ESCAPE = "\x1b[31m"
TEXTS = {
    "formula": "$x_$",
    "two formulas": "$a$ and $b_$",
    "fraction": r"$\frac{1$",
    "command": r"\frac{",
    "escaped": r"\$x_\$",
    "escape code": f"{ESCAPE}red",
    "markup": "<script>alert(1)</script>",
    "entity": "&lt;b&gt; \"'",
    "newline": "one\ntwo\r\nthree",
    "control": "a\x00b\x07c\x9b31md",
    "direction": "abc\u202edef",
    "template": "{{ 7 * 7 }}{% for x in y %}",
    "brackets": "a[0](+*",
    "underscore": "_nolegend_",
    "percent": "%s %(x)s {0}",
    "surrogate": "a\ud800b",
    "empty": "",
    "long": "$" + "x" * 300 + "$",
    "cut in a pair": "x" * 12 + "$y$" + "z" * 8 + "$w$",
}


class AnyNames(BaseEstimator):
    """Estimator with parameters of any name."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return []

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""
        return dict(self.params)

    def set_params(self, **params: Any) -> AnyNames:
        """Set parameters."""
        self.params.update(params)
        return self

    def fit(self, X: Any, y: Any) -> AnyNames:
        """Fit nothing, or raise an exception."""
        numbers = [v for v in self.params.values() if isinstance(v, float)]
        if numbers and max(numbers) > 0.95:
            raise ValueError(" ".join(map(str, self.params)))
        return self

    def worth(self) -> float:
        """Return the score of the parameters."""
        return sum(
            value if isinstance(value, float) else 0.1 * (len(str(value)) % 7)
            for value in self.params.values()
        ) / (1 + len(self.params))


def first(estimator: AnyNames, X: Any, y: Any) -> float:
    """Return the first metric."""
    return estimator.worth()


def second(estimator: AnyNames, X: Any, y: Any) -> float:
    """Return the second metric."""
    return 1.0 - estimator.worth() ** 2


@functools.cache
def searches(kind: str) -> dict[str, Any]:
    """Return fitted searches with a text in every place."""
    text = TEXTS[kind]
    name = text or "empty"
    options = ["", f"{text} ", f"{text} 2"]
    space = {name: (0.0, 1.0), f"b{text}": options, f"c {text}": [1, 2]}
    estimator = AnyNames(**dict.fromkeys(space, 0))
    shared: dict[str, Any] = {"cv": 2, "random_state": 0, "error_score": np.nan}
    metrics = {f"m{text}": first, f"n{text}": second}
    bayes = BayesSearchCV(
        estimator, space, n_iter=20, scoring=metrics, refit=f"m{text}", **shared
    )
    objectives = {metric: ("max", scorer) for metric, scorer in metrics.items()}
    pareto = ParetoSearchCV(estimator, space, objectives, n_iter=20, **shared)
    tradeoff = TradeoffSearchCV(estimator, space, scoring=first, n_iter=20, **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "bayes": bayes.fit(X, Y),
            "pareto": pareto.fit(X, Y),
            "tradeoff": tradeoff.fit(X, Y),
        }


def are_fitted(kind: str) -> bool:
    return len(searches(kind)) == 3


def strictly(check: Callable[..., bool], *arguments: Any) -> bool:
    """Return the result of a check in which warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Glyph")
        return check(*arguments)


# -- figures --------------------------------------------------------------------------


def is_plain(drawn: Any) -> bool:
    """Return whether a text of a figure has neither a user's formula nor controls."""
    text, is_math = drawn._preprocess_math(drawn.get_text())
    own = is_math and text.startswith(("$10^{", "$\\mathdefault{", "$\\times"))
    if is_math and not own:
        return False
    return is_printable(text, "\n")


# Displays of each kind of search.
DISPLAYS = {
    "bayes": ("Convergence", "Importance", "ParallelCoordinates", "PartialDependence"),
    "pareto": ("Pareto",),
    "tradeoff": ("Tradeoff",),
}


def draw(kind: str, which: str, name: str) -> bool:
    """Draw a display; return whether all of its texts are plain."""
    display = getattr(inspection, f"{name}Display")
    names = {"name": TEXTS[kind]} if name == "Convergence" else {}
    figure = display.from_search(searches(kind)[which], **names).figure_
    figure.canvas.draw()
    plt.close("all")
    return all(map(is_plain, figure.findobj(mpl.text.Text)))


# -- pages ----------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    """Parser that counts the tags of a page and collects its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Count the tag."""
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.texts.append(data)


def is_printable(text: str, allowed: str = "\n\t\r") -> bool:
    """Return whether a text has no control characters except for those allowed."""
    return all(
        c in allowed or unicodedata.category(c) not in ("Cc", "Cs") for c in text
    )


def is_harmless(page: str, n_scripts: int) -> bool:
    """Return whether a page has no additional scripts and no control characters."""
    parser = Tags()
    parser.feed(page)
    own = parser.tags.count("script") == n_scripts and "49" not in parser.texts
    return own and is_printable(page)


def report(kind: str, which: str) -> bool:
    """Write a report; return whether it is harmless and has all of its figures."""
    with tempfile.TemporaryDirectory() as folder:
        path, title = Path(folder) / "r.html", TEXTS[kind] or None
        page = searches(kind)[which].report(path, title=title)
        text = page.read_text(encoding="utf-8")
    return is_harmless(text, 1) and "Not drawn" not in text


def diagram(kind: str, which: str) -> bool:
    """Return whether the notebook representation of a search is harmless."""
    search = searches(kind)[which]
    pages = search._repr_html_(), search._repr_mimebundle_()["text/html"]
    return all(
        is_harmless(page, page.count("<script>")) and "<script>alert" not in page
        for page in pages
    )


def terminal(text: str) -> bool:
    """Return whether output and warnings of a search have no control characters."""
    name = text or "empty"
    search = tally.make_search(
        AnyNames(**{name: 0, "obj": 0}),
        {name: (0.0, 1.0), "obj": [Shown(text), Shown(f"{text}2")]},
        n_iter=5,
        verbose=2,
        scoring=first,
        surrogate="gp",
    )
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    ours = [line for line in out.getvalue().splitlines() if not line.startswith("[CV")]
    # The first line, two lines per trial, and an advice.
    return len(ours) <= 2 + 2 * 5 and all(is_printable(line, "") for line in ours)


class Shown:
    """Object with a given text as its repr."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def cases() -> Iterator[tuple]:
    for kind, text in TEXTS.items():
        yield "searches", are_fitted, kind
        for which, displays in DISPLAYS.items():
            for display in displays:
                yield "pictures", strictly, draw, kind, which, display
            yield "reports", strictly, report, kind, which
            yield "diagrams", strictly, diagram, kind, which
        yield "terminal", strictly, terminal, text


if __name__ == "__main__":
    tally.main(cases)
