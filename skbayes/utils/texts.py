"""Removal of control characters from strings that are displayed."""

from __future__ import annotations

import unicodedata

# Characters that change the writing direction.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, kept: str = "") -> str:
    """Replace control characters except `kept`, and characters without an encoding."""
    if text.isprintable():
        return text
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if c not in kept and _is_control(c) else c
        for c in text
    )


def _is_control(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS


def one_line(text: str) -> str:
    """Return a string that is displayed in one line of a terminal."""
    return printable(" ".join(line.strip() for line in text.splitlines()))
