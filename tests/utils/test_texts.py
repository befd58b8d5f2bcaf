"""Texts without control characters, and tables of HTML."""

from xml.etree import ElementTree

import pytest

from skbayes.utils.texts import html_table, one_line, printable


@pytest.mark.parametrize(
    "text, expected",
    [
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\x00\x07\x9b\ud800b", "a\ufffd\ufffd\ufffd\ufffdb"),
        ("abc\u202edef", "abc\ufffddef"),
        ("plain, é, \u00a0, 漢字, 🎉", "plain, é, \u00a0, 漢字, 🎉"),
    ],
)
def test_control_characters_are_replaced(text, expected):
    assert printable(text) == expected
    assert printable("a\n\tb\r", except_for="\n\t") == "a\n\tb\ufffd"
    assert one_line("Pipeline(steps=[1,\n      2])\r\n\x1b[A") == (
        "Pipeline(steps=[1, 2]) \ufffd[A"
    )


def test_texts_are_shown_as_they_are():
    rows = [("a & b", "<i>", '"'), ("c", "", "é")]
    table = ElementTree.fromstring(html_table("1 < 2", rows))
    assert table.find("caption").text == "1 < 2"
    cells = [[cell.text or "" for cell in row] for row in table.iter("tr")]
    assert cells == [list(row) for row in rows]
