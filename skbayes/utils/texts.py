"""Texts for terminals and notebooks: without control characters, and in tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape

# Characters that change the writing direction.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# Maximum number of lines of a cell that are not folded.
MAX_LINES = 20

# Colors of the surrounding page.
_PLAIN = "color:inherit;background:transparent;"
_TABLE = f"border-collapse:collapse;margin:0.5em 0;line-height:1.4;{_PLAIN}"
_CELL = (
    "padding:0.1em 0.8em 0.1em 0;border:none;text-align:left;vertical-align:top;"
    f"font-weight:normal;overflow-wrap:anywhere;{_PLAIN}"
)


def printable(text: str, except_for: str = "") -> str:
    """Replace control characters, `except_for` some, and those without an encoding."""
    if text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if c not in except_for and _is_control(c) else c
        for c in text
    )


def _is_control(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS


def one_line(text: str) -> str:
    """Return a string that is displayed in one line of a terminal."""
    return printable(" ".join(line.strip() for line in text.splitlines()))


def positive_name(metric: str) -> str:
    """Return the name of a metric without its negation, such as "log loss"."""
    return metric.removeprefix("neg_").replace("_", " ")


def html_table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table of rows that begin with a header; long cells are folded."""
    html = ""
    for name, *texts in rows:
        header = f'<th scope="row" style="{_CELL}opacity:0.75">{escape(name)}</th>'
        html += f'<tr style="background:transparent">{header}'
        for text in texts:
            lines = text.splitlines()
            cell = "<br/>".join(map(escape, lines))
            if len(lines) > MAX_LINES:
                summary = f"<summary>{len(lines)} lines</summary>"
                cell = f"<details>{summary}{cell}</details>"
            html += f'<td style="{_CELL}">{cell}</td>'
        html += "</tr>"
    caption = f'<caption style="{_CELL}">{escape(caption)}</caption>'
    table = f'<table style="{_TABLE}">{caption}<tbody>{html}</tbody></table>'
    return printable(table)
