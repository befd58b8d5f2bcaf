"""The look of a report: one HTML page that needs nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Markup",
    "code",
    "definitions",
    "details",
    "figure",
    "number",
    "page",
    "section",
    "shown",
    "table",
    "text",
]

# The most characters of a value in a table, and in its tool tip.
LENGTH, TIP_LENGTH = 48, 600

CSS = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #5c5c5c; --paper: #ffffff;
  --tint: #f3f5f7; --line: #d5d9de; --mark: #0060a0; --bad: #a8430a; --good: #e3eef6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a9b0b7;
  --paper: #16191c; --tint: #20252a; --line: #3a424a; --mark: #6cb8ee; --bad: #f0985c;
  --good: #1d3547; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans",
  sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .3rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.bad { color: var(--bad); }
.score { font-size: 1.4rem; font-weight: 600; overflow-wrap: anywhere; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 4px;
  padding: .7rem .8rem; margin: .6rem 0; overflow-x: auto; font-size: .85rem;
  font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
pre.copy { user-select: all; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem;
  margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; border: 1px solid var(--line); border-radius: 4px; padding: .8rem;
  background: #ffffff; color: #1b1b1b; break-inside: avoid; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
figure.wide div { overflow-x: auto; }
figure.wide img { min-width: 34rem; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { font-size: .9rem; margin: 0 0 .5rem; }
figcaption b { display: block; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; font-size: .875rem; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; vertical-align: top; }
thead th { background: var(--tint); }
tr.best td { background: var(--good); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--mark); }
th[aria-sort="ascending"] button::after { content: " \\2191"; }
th[aria-sort="descending"] button::after { content: " \\2193"; }
details summary { cursor: pointer; }
td details pre { max-width: 34rem; white-space: pre-wrap; overflow-wrap: anywhere; }
td.wrap { white-space: normal; min-width: 16rem; }
@media (max-width: 32rem) { dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .35rem; } figure { padding: .4rem; } }
@media print { main { max-width: none; padding: 0; }
  .scroll { overflow: visible; border: 0; }
  body { font-size: 10pt; } th, td { white-space: normal; padding: .1rem .3rem; }
  table { font-size: 8pt; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""

# Sorts a table by the column whose head is pressed; the page is complete without it.
SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[place].dataset.key ?? row.cells[place].textContent;
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((one, other) => {
        const a = key(one), b = key(other);
        if (a === "" || b === "") return (a === "") - (b === "");
        const x = Number(a), y = Number(b);
        const order = isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y;
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
}
"""


def text(value: Any) -> str:
    """Escape what is written on a page.

    Parameters
    ----------
    value : object
        Whatever it is.

    Returns
    -------
    html : str
        Its text, with no meaning as HTML.
    """
    # Characters that no document may hold, such as NUL, would end up as others.
    plain = "".join(
        c if c >= " " or c in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for c in str(value)
    )
    plain = plain.encode("utf-8", "replace").decode("utf-8")
    return html.escape(plain, quote=True)


def shown(value: Any) -> str:
    """Return the Python expression for a value, as well as that can be.

    Parameters
    ----------
    value : object
        Whatever it is.

    Returns
    -------
    expression : str
        Its `repr`; that of its type where it has none.
    """
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def number(value: float, digits: int = 5) -> str:
    """Write a number.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default=5
        How many significant digits.

    Returns
    -------
    text : str
        Empty for NaN.
    """
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def section(title: str, *parts: str) -> str:
    """Return a part of a page.

    Parameters
    ----------
    title : str
        Its title, not yet escaped.
    *parts : str
        HTML.

    Returns
    -------
    html : str
        The section.
    """
    return f"<section>\n<h2>{text(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def code(source: str, copy: bool = False) -> str:
    """Return a block of code.

    Parameters
    ----------
    source : str
        The code, not yet escaped.
    copy : bool, default=False
        Whether one press selects all of it.

    Returns
    -------
    html : str
        The block.
    """
    kind = ' class="copy" title="One press selects it all."' if copy else ""
    return f"<pre{kind}><code>{text(source)}</code></pre>"


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with what they stand for.

    Parameters
    ----------
    pairs : iterable of (str, str)
        Names and values, not yet escaped.

    Returns
    -------
    html : str
        The list.
    """
    items = (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs)
    return "<dl>" + "\n".join(items) + "</dl>"


@dataclass(frozen=True)
class Markup:
    """A cell of a table that is HTML already; no value of a parameter is one.

    Parameters
    ----------
    html : str
        What is in the cell.
    key : str
        The text by which it is sorted, not yet escaped.
    """

    html: str
    key: str


def details(summary: str, source: str) -> str:
    """Return a text that is hidden until it is asked for.

    Parameters
    ----------
    summary : str
        What is seen at once, not yet escaped.
    source : str
        The text, not yet escaped.

    Returns
    -------
    html : str
        Both.
    """
    return f"<details><summary>{text(summary)}</summary>{code(source)}</details>"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    marked: Sequence[bool] = (),
    sortable: bool = True,
) -> str:
    """Return a table that scrolls within its own box.

    Parameters
    ----------
    heads : sequence of str
        Titles of the columns, not yet escaped.
    rows : iterable of sequence
        Cells. Numbers stand to the right, NaN is left out; :class:`Markup` is taken as
        it is, everything else is escaped.
    marked : sequence of bool, default=()
        Which rows to set off.
    sortable : bool, default=True
        Whether the table can be sorted by pressing the titles.

    Returns
    -------
    html : str
        The table.
    """
    kind = ' class="sortable"' if sortable else ""
    lines = [f'<div class="scroll" tabindex="0"><table{kind}><thead><tr>']
    lines += [f'<th scope="col">{text(head)}</th>' for head in heads]
    lines.append("</tr></thead><tbody>")
    for i, row in enumerate(rows):
        best = ' class="best"' if i < len(marked) and marked[i] else ""
        lines.append(f"<tr{best}>{''.join(map(_cell, row))}</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return f'<td class="wrap" data-key="{text(value.key)}">{value.html}</td>'
    if isinstance(value, str):
        return _short_cell(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        key = "" if math.isnan(value) else repr(float(value))
        written = str(value) if isinstance(value, int) else number(value)
        return f'<td class="number" data-key="{key}">{text(written)}</td>'
    return _short_cell(shown(value))


def _short_cell(value: str) -> str:
    if len(value) <= LENGTH:
        return f"<td>{text(value)}</td>"
    tip = text(value[:TIP_LENGTH])
    return f'<td title="{tip}">{text(value[: LENGTH - 1])}…</td>'


def figure(svg: bytes, title: str, alt: str, wide: bool = False) -> str:
    """Return a picture.

    Parameters
    ----------
    svg : bytes
        The picture. Inside an image nothing of it can run.
    title : str
        Its title, not yet escaped.
    alt : str
        What it says, in words, not yet escaped.
    wide : bool, default=False
        Whether it needs the whole width.

    Returns
    -------
    html : str
        The picture with its title.
    """
    data = base64.b64encode(svg).decode("ascii")
    kind = ' class="wide"' if wide else ""
    return (
        f"<figure{kind}><figcaption><b>{text(title)}</b></figcaption><div>"
        f'<img alt="{text(alt)}" src="data:image/svg+xml;base64,{data}"></div></figure>'
    )


def page(title: str, body: str) -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Its title, not yet escaped.
    body : str
        HTML.

    Returns
    -------
    html : str
        The document. It is forbidden to load anything, and to run any other script
        than its own.
    """
    digest = hashlib.sha256(SCRIPT.encode()).digest()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{base64.b64encode(digest).decode()}'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>{CSS}</style>
</head>
<body>
<main>
{body}
</main>
<script>{SCRIPT}</script>
</body>
</html>
"""
