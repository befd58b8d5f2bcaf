"""HTML tables for notebooks, in the colors of the surrounding page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_TABLE = (
    "border-collapse:collapse;margin:0.5em 0;color:inherit;background:transparent;"
    "line-height:1.4"
)
_CELL = (
    "padding:0.1em 0.8em 0.1em 0;border:none;text-align:left;vertical-align:top;"
    "color:inherit;background:transparent;font-weight:normal;overflow-wrap:anywhere"
)


def html_table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table of strings; the first one in each row is its header."""
    lines = []
    for name, *texts in rows:
        cells = "".join(f'<td style="{_CELL}">{escape(text)}</td>' for text in texts)
        header = f'<th scope="row" style="{_CELL};opacity:0.75">{escape(name)}</th>'
        lines.append(f'<tr style="background:transparent">{header}{cells}</tr>')
    return (
        f'<table style="{_TABLE}"><caption style="{_CELL}">{escape(caption)}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
