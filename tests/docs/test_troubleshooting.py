"""Messages in the troubleshooting tables compared with the actual messages."""

import re
from pathlib import Path

import pytest
from sklearn.svm import SVC

# Mistake, code and message.
ROW = re.compile(
    r"^   \* - (.*\n(?: {7}.*\n)*)"
    r"     - ``(.*\n(?: {7}.*\n)*)"
    r"     - ``(.*\n(?: {7}.*\n)*)",
    re.MULTILINE,
)


def _one_line(text):
    return " ".join(text.split())


PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.rst").read_text("utf-8")
ROWS = [
    [_one_line(part).removesuffix("``") for part in match.groups()]
    for match in ROW.finditer(PAGE)
]


@pytest.fixture(scope="module")
def names():
    """Return the names that the page defines first."""
    (setup,) = re.findall(r"code-block:: python\n\n((?:(?: {3}.*)?\n)+)", PAGE)
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


@pytest.mark.parametrize(
    "code, message", [pytest.param(*row, id=words) for words, *row in ROWS]
)
def test_the_message_is_that_of_the_page(
    code, message, names, fits, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as caught:
        exec(code, dict(names))
    # But for those of the first of two searches.
    assert bool(fits) == (".fit(X, y); " in code)
    text = _one_line(f"{caught.type.__name__}: {caught.value}")
    assert re.fullmatch(_pattern(message), text), text


def test_all_rows_are_read():
    assert len(ROWS) == PAGE.count("\n   * - ") - PAGE.count("   * - Mistake\n")
    assert len(ROWS) >= 20
