"""Reports and figures with hostile texts, and reports written to hostile paths.

    python benchmarks/attacks/reports.py before|after

Searches whose parameters, options, metrics, errors and titles contain formulas, markup,
escape codes and newlines are plotted by every display. They are also shown in HTML,
printed and reported. A text passes if nothing fails, no figure is missing, and nothing
is interpreted as a formula or as markup. In addition, no control character may reach a
figure or the terminal. The paths are planted links, devices, pipes and files of other
modes.
"""

from __future__ import annotations

import contextlib
import html.parser
import io
import os
import stat
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from tally import save

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


class AnyNames(ClassifierMixin, BaseEstimator):
    """Classifier with parameters of any name."""

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
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the first class."""
        return np.full(len(X), self.classes_[0])

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


def searches(text: str) -> dict[str, Any]:
    """Return fitted searches with a text in every place."""
    name = text or "empty"
    options = ["", f"{text} ", f"{text} 2"]
    space = {name: (0.0, 1.0), f"b{text}": options, f"c {text}": [1, 2]}
    estimator = AnyNames(**dict.fromkeys(space, 0))
    shared: dict[str, Any] = {"cv": 2, "random_state": 0, "error_score": np.nan}
    metrics = {f"m{text}": first, f"n{text}": second}
    bayes = BayesSearchCV(
        estimator, space, n_iter=7, scoring=metrics, refit=f"m{text}", **shared
    )
    objectives = {metric: ("max", scorer) for metric, scorer in metrics.items()}
    pareto = ParetoSearchCV(estimator, space, objectives, n_iter=7, **shared)
    tradeoff = TradeoffSearchCV(estimator, space, scoring=first, n_iter=7, **shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "bayes": bayes.fit(X, Y),
            "pareto": pareto.fit(X, Y),
            "tradeoff": tradeoff.fit(X, Y),
        }


# -- figures --------------------------------------------------------------------------


def displays() -> list[Any]:
    """Return the classes of all displays."""
    return [
        getattr(inspection, name)
        for name in sorted(inspection.__all__)
        if name.endswith("Display")
    ]


def is_plain(drawn: Any) -> bool:
    """Return whether a text of a figure has neither a user's formula nor controls."""
    text, is_math = drawn._preprocess_math(drawn.get_text())
    own = is_math and text.startswith(("$10^{", "$\\mathdefault{", "$\\times"))
    if is_math and not own:
        return False
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cs") for c in text)


# Arguments of displays that need other searches than those with one objective.
OF_KIND = {
    "pareto": [inspection.ParetoDisplay],
    "tradeoff": [inspection.TradeoffDisplay],
}


def draw(display: Any, search: Any, text: str) -> bool:
    """Draw a display; return whether all of its texts are plain.

    Exceptions of the display are raised.
    """
    names = {"name": text} if display is inspection.ConvergenceDisplay else {}
    try:
        made = display.from_search(search, **names)
    except (TypeError, ValueError) as error:
        if _is_refusal(error):
            return True
        raise
    figure = made.figure_
    figure.canvas.draw()
    return all(map(is_plain, figure.findobj(mpl.text.Text)))


def _is_refusal(error: Exception) -> bool:
    """Return whether an error says that a display does not support a search."""
    said = ("objective", "stages", "TradeoffSearchCV", "Pareto", "tradeoff", "front")
    return any(word in str(error) for word in said)


def measure_pictures(kinds: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Draw all displays of all searches."""
    tried = held = 0
    for kind, found in kinds.items():
        for which, search in found.items():
            for display in OF_KIND.get(which) or displays():
                tried += 1
                held += guarded(
                    f"{display.__name__} of {which}, {kind}",
                    lambda d=display, s=search, t=TEXTS[kind]: draw(d, s, t),
                )
                plt.close("all")
    return {"tried": tried, "held": held}


def guarded(what: str, act: Any) -> bool:
    """Call a function, and print its failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Glyph")
        try:
            if act():
                return True
            print(f"  {ascii(what)}: not plain")
        except Exception as error:
            print(f"  {ascii(what)}: {type(error).__name__}: {ascii(str(error))[:150]}")
    return False


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


def is_harmless(page: str, n_scripts: int) -> bool:
    """Return whether a page has no additional scripts and no control characters."""
    parser = Tags()
    parser.feed(page)
    own = parser.tags.count("script") == n_scripts and "49" not in parser.texts
    allowed = {"\n", "\t", "\r"}
    return own and not any(
        unicodedata.category(c) in ("Cc", "Cs") and c not in allowed for c in page
    )


def report(search: Any, title: str) -> bool:
    """Write a report; return whether it is harmless and has all of its figures."""
    with tempfile.TemporaryDirectory() as folder:
        page = search.report(Path(folder) / "r.html", title=title or None)
        text = page.read_text(encoding="utf-8")
    return is_harmless(text, 1) and "Not drawn" not in text


def diagram(search: Any, _: str) -> bool:
    """Return the notebook representation of a search."""
    bundle = search._repr_mimebundle_()
    pages = search._repr_html_(), bundle["text/html"]
    return all(is_harmless(page, page.count("<script>")) for page in pages) and (
        all("<script>alert" not in page for page in pages)
    )


def measure_pages(kinds: dict[str, dict[str, Any]], show: Any) -> dict[str, float]:
    """Write or show a page of every search."""
    tried = held = 0
    for kind, found in kinds.items():
        for which, search in found.items():
            tried += 1
            held += guarded(
                f"{show.__name__} of {which}, {kind}",
                lambda s=search, k=kind: show(s, TEXTS[k]),
            )
    return {"tried": tried, "held": held}


def terminal(text: str) -> bool:
    """Return whether output and warnings of a search have no control characters."""
    name = text or "empty"
    estimator = AnyNames(**{name: 0, "obj": 0})
    search = BayesSearchCV(
        estimator,
        {name: (0.0, 1.0), "obj": [Shown(text), Shown(f"{text}2")]},
        n_iter=5,
        cv=2,
        verbose=2,
        scoring=first,
        random_state=0,
    )
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    ours = [line for line in out.getvalue().splitlines() if not line.startswith("[CV")]
    return len(ours) <= 1 + 2 * 5 and not any(
        unicodedata.category(c) in ("Cc", "Cs") for line in ours for c in line
    )


class Shown:
    """Object with a given text as its repr."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


# -- paths ----------------------------------------------------------------------------


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a new temporary folder."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def place_link(search: Any, here: Path) -> bool:
    """Plant links under the names of temporary files that could be guessed."""
    victim = here / "victim"
    victim.write_text("precious")
    guesses = [f".r.html.{os.getpid()}.part", ".r.html.part", "r.html.tmp", "r.html~"]
    for guess in guesses:
        (here / guess).symlink_to(victim)
    with contextlib.suppress(OSError, ValueError):
        search.report(here / "r.html")
    return victim.read_text() == "precious"


def place_target_link(search: Any, here: Path) -> bool:
    """Write to a link to another file."""
    victim = here / "victim"
    victim.write_text("precious")
    (here / "r.html").symlink_to(victim)
    with contextlib.suppress(OSError, ValueError):
        search.report(here / "r.html")
    return victim.read_text() == "precious"


def place_device(search: Any, here: Path) -> bool:
    """Write to a device: one that is created here as root, otherwise /dev/null."""
    device = here / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:
        device = Path("/dev/null")
    return _refused(search, device, stat.S_ISCHR)


def place_pipe(search: Any, here: Path) -> bool:
    """Write to a pipe."""
    os.mkfifo(here / "pipe")
    return _refused(search, here / "pipe", stat.S_ISFIFO)


def _refused(search: Any, path: Path, is_kind: Any) -> bool:
    try:
        search.report(path)
    except (OSError, ValueError) as error:
        return is_kind(path.lstat().st_mode) and str(path) in str(error)
    return False


def place_mode(search: Any, here: Path) -> bool:
    """Replace a file that other users may not read."""
    path = here / "r.html"
    path.write_text("old")
    path.chmod(0o600)
    search.report(path)
    return stat.S_IMODE(path.stat().st_mode) == 0o600 and "old" != path.read_text()


def place_new_mode(search: Any, here: Path) -> bool:
    """Write a new file with the user's umask."""
    old = os.umask(0o027)
    try:
        path = search.report(here / "r.html")
    finally:
        os.umask(old)
    return stat.S_IMODE(path.stat().st_mode) == 0o640


def place_rest(search: Any, here: Path) -> bool:
    """Check that only the report remains in the folder, also after a failure."""
    search.report(here / "r.html")
    (here / "folder.html").mkdir()
    with contextlib.suppress(OSError, ValueError):
        search.report(here / "folder.html")
    return sorted(path.name for path in here.iterdir()) == ["folder.html", "r.html"]


def place_odd_names(search: Any, here: Path) -> bool:
    """Write to names that are long, empty, or contain a NUL character."""
    kinds = []
    for name in ("x" * 300, "a\0b", "x" * 250):
        try:
            search.report(here / name)
        except (OSError, ValueError) as error:
            kinds.append(type(error))
        else:
            kinds.append(None)
    return kinds[-1] is None and all(kinds[:2])


PLACES = [place_link, place_target_link, place_device, place_pipe, place_mode]
PLACES += [place_new_mode, place_rest, place_odd_names]


def measure_places(search: Any) -> dict[str, float]:
    """Write to all paths."""
    held = 0
    for place in PLACES:
        with folder() as here:
            held += guarded(place.__name__, lambda p=place, h=here: p(search, h))
    return {"tried": len(PLACES), "held": held}


def main(when: str) -> None:
    """Run all tests, and save the counts."""
    kinds = {}
    for kind, text in TEXTS.items():
        try:
            kinds[kind] = searches(text)
        except Exception as error:
            print(f"  no search of {kind}: {type(error).__name__}: {ascii(str(error))}")
    titled = measure_pages(kinds, report)
    shown = measure_pages(kinds, diagram)
    printed = [
        guarded(f"terminal, {kind}", lambda t=text: terminal(t))
        for kind, text in TEXTS.items()
    ]
    counts = {
        "searches": {"tried": len(TEXTS), "held": len(kinds)},
        "pictures": measure_pictures(kinds),
        "reports": titled,
        "diagrams": shown,
        "terminal": {"tried": len(printed), "held": sum(printed)},
        "places": measure_places(kinds["underscore"]["bayes"]),
    }
    save("reports", when, counts)


if __name__ == "__main__":
    main(sys.argv[1])
