"""Texts without control characters."""

import pytest

from skbayes.utils.texts import one_line, printable


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
    assert printable("a\n\tb\r", kept="\n\t") == "a\n\tb\ufffd"
    assert one_line("Pipeline(steps=[1,\n      2])\r\n\x1b[A") == (
        "Pipeline(steps=[1, 2]) \ufffd[A"
    )
