"""Messages in the troubleshooting tables compared with the actual messages."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from sklearn.svm import SVC

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.rst"
ROW = re.compile(
    r"^   \* - (?P<words>.*\n(?: {7}.*\n)*)"
    r"     - ``(?P<code>.*\n(?: {7}.*\n)*)"
    r"     - ``(?P<message>.*\n(?: {7}.*\n)*)",
    re.MULTILINE,
)


class Row(NamedTuple):
    words: str
    code: str
    message: str


def _one_line(text):
    return " ".join(text.split())


def _rows():
    return [
        Row(*(_one_line(match[part]).removesuffix("``") for part in Row._fields))
        for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))
    ]


ROWS = _rows()


@pytest.fixture(scope="module")
def names():
    """Return the names that the page defines first."""
    page = PAGE.read_text(encoding="utf-8")
    (setup,) = re.findall(r"code-block:: python\n\n((?:(?: {3}.*)?\n)+)", page)
    namespace = {}
    exec("if True:\n" + setup, namespace)
    return namespace


def _pattern(message):
    """Return a pattern for a message, in which an ellipsis matches anything."""
    return ".*".join(map(re.escape, message.split("…")))


@pytest.fixture
def fits(monkeypatch):
    """Record the estimators that are fitted."""
    fitted = []
    fit = SVC.fit

    def counted(self, *args, **kwargs):
        fitted.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(SVC, "fit", counted)
    return fitted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words.replace(" ", "-"))
def test_the_message_is_that_of_the_page(row, names, fits, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as caught:
        exec(row.code, dict(names))
    # But for those of the first of two searches.
    assert bool(fits) == (".fit(X, y); " in row.code)
    text = _one_line(f"{caught.type.__name__}: {caught.value}")
    assert re.fullmatch(_pattern(row.message), text), text


def test_all_rows_are_read():
    page = PAGE.read_text(encoding="utf-8")
    headings = page.count("   * - Mistake\n")
    assert len(ROWS) == page.count("\n   * - ") - headings
    assert len(ROWS) >= 20
