"""Texts on axes: values, scores and numbers in few characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skbayes.space.dimensions import FloatArray
from skbayes.utils.texts import printable

__all__ = [
    "label_of",
    "name_label",
    "number_texts",
    "plain",
    "score_label",
    "score_name",
    "shorten",
    "turn_if_crowded",
]

# Longer names of options are cut on an axis.
MAX_LABEL = 14

# Longer names of parameters are cut beside a panel.
MAX_NAME = 40


def plain(text: str) -> str:
    """Let matplotlib draw a text as it is: without formulas and control characters."""
    return printable(text).replace("$", r"\$")


def shorten(text: str, length: int, middle: bool = False) -> str:
    """Cut a text that is too long, at its end or in its middle."""
    if len(text) <= length:
        return text
    kept = (length - 1) // 2 if middle else length - 1
    return f"{text[:kept]}…{text[-kept:] if middle else ''}"


def label_of(value: Any, length: int = MAX_LABEL) -> str:
    """Describe an option in a few characters: by its name, or else its text."""
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else value
    text = text if isinstance(text, str) else " ".join(repr(text).split())
    return plain(shorten(text, length))


def name_label(name: str, length: int = MAX_NAME) -> str:
    """Describe a parameter by its name, whose beginning and end tell the most."""
    # Cut first: half of an escaped character would begin a formula.
    return plain(shorten(name, length, middle=True))


def score_label(label: str) -> str:
    """Write the label of a score on two lines: what it is, and what is better."""
    return plain(label).replace(" (", "\n(")


def score_name(label: str) -> str:
    """Return what the score is, without what is better."""
    return plain(label).split(" (")[0]


def number_texts(v: FloatArray) -> list[str]:
    """Write numbers with as few digits as tell them apart."""
    for digits in range(4, 17):
        texts = [f"{value:.{digits}g}" for value in v]
        if len(set(texts)) == len(v):
            break
    return texts


def turn_if_crowded(labels: Sequence[str], room: int) -> dict[str, Any]:
    """Return keywords that turn labels if there is no room for so many letters."""
    lengths = list(map(len, labels))
    neighbors = [(a + b) / 2 for a, b in zip(lengths, lengths[1:], strict=False)]
    widest = max(neighbors or lengths, default=0)
    # Half a letter between two of them, at least.
    if len(labels) * widest + len(labels) / 2 <= room:
        return {}
    return {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
