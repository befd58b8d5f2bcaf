"""Texts on axes: short forms of values, scores and numbers."""

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

# Maximum length of the name of an option on an axis.
MAX_LABEL = 14

# Maximum length of the name of a hyper-parameter at a panel.
MAX_NAME = 40


def plain(text: str) -> str:
    """Escape a text for matplotlib: no formulas and no control characters."""
    return printable(text).replace("$", r"\$")


def shorten(text: str, length: int, middle: bool = False) -> str:
    """Shorten a text that is too long, at its end or in its middle."""
    if len(text) <= length:
        return text
    kept = (length - 1) // 2 if middle else length - 1
    return f"{text[:kept]}…{text[-kept:] if middle else ''}"


def label_of(value: Any, length: int = MAX_LABEL) -> str:
    """Return a short text for an option: its name, or else its `repr`."""
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else value
    text = text if isinstance(text, str) else " ".join(repr(text).split())
    return plain(shorten(text, length))


def name_label(name: str, length: int = MAX_NAME) -> str:
    """Return a short name of a hyper-parameter, which keeps its beginning and end."""
    # Shorten first: half of an escape sequence would start a formula.
    return plain(shorten(name, length, middle=True))


def score_label(label: str) -> str:
    """Return the label of a score on two lines: name and direction."""
    return plain(label).replace(" (", "\n(")


def score_name(label: str) -> str:
    """Return the name of a score from its label, without the direction."""
    return plain(label).split(" (")[0]


def number_texts(v: FloatArray) -> list[str]:
    """Format numbers with as few digits as needed to distinguish them."""
    for digits in range(4, 17):
        texts = [f"{value:.{digits}g}" for value in v]
        if len(set(texts)) == len(v):
            break
    return texts


def turn_if_crowded(labels: Sequence[str], room: int) -> dict[str, Any]:
    """Return keywords that rotate labels which do not fit into `room` letters."""
    lengths = list(map(len, labels))
    neighbors = [(a + b) / 2 for a, b in zip(lengths, lengths[1:], strict=False)]
    widest = max(neighbors or lengths, default=0)
    # At least half a letter between two labels.
    if len(labels) * widest + len(labels) / 2 <= room:
        return {}
    return {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
