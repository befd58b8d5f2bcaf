"""Axes of hyper-parameters (linear, logarithmic, or options), and texts on axes.

Symbols: ``v`` are values as numbers, of shape (n_trials,): the values of a
hyper-parameter, or the positions of its options; NaN in trials without the
hyper-parameter. ``u`` are positions along the axis, from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.results.record import SearchRecord, dimensions_by_name
from skbayes.space import Distribution
from skbayes.space.dimensions import Dimension, FloatArray, is_number
from skbayes.space.lists import distinct, option_key
from skbayes.utils.texts import printable

# Maximum length of the name of an option on an axis.
MAX_LABEL = 14

# Maximum length of the name of a hyper-parameter at a panel.
MAX_NAME = 40

# Without a search space, the scale of positive values is logarithmic if the ratio of
# the largest to the smallest one is at least this, as in the notation of spaces.
LOG_SPAN = 100.0

# Maximum number of values of an ordered list that all have a tick.
MAX_LISTED = 6

# Maximum number of options at equal distances. If there are more options, adjacent
# numbers share the length of `NUMBER_SPAN` options.
MAX_OPTIONS, NUMBER_SPAN = 12, 8


@dataclass(frozen=True)
class ParameterScale:
    """Layout of one hyper-parameter along an axis."""

    name: str
    # "linear", "log" or "options".
    kind: str
    # Ends of the axis: values, or positions of options.
    low: float
    high: float
    # Ordered options; empty for numbers.
    options: list[Any]
    # Whether all values are integers.
    whole: bool = False
    # Values of the ticks, if there are few values.
    marks: list[float] = field(default_factory=list)

    def values(self, params: Sequence[dict[str, Any]]) -> FloatArray:
        """Return the values of some configurations as numbers."""
        if self.kind == "options":
            keys = map(option_key, self.options)
            places: Any = dict(zip(keys, option_places(self.options), strict=True))
            numbers = [
                places.get(option_key(row[self.name])) if self.name in row else None
                for row in params
            ]
            return np.array(numbers, dtype=float)
        values = [row.get(self.name) for row in params]
        return np.array([v if is_number(v) else math.nan for v in values], dtype=float)

    def positions(self, v: FloatArray) -> FloatArray:
        """Return positions along the axis; options have margins at both ends."""
        if self.kind == "options":
            return (v + 0.5) / (self.high + 1.0)
        ends = np.array([self.low, self.high])
        if self.kind == "log":
            v, ends = np.log(v), np.log(ends)
        if ends[0] == ends[1]:
            return np.where(np.isnan(v), np.nan, 0.5)
        return (v - ends[0]) / (ends[1] - ends[0])

    @property
    def gap(self) -> float:
        """Smallest distance between two options."""
        return float(np.min(np.diff(option_places(self.options)), initial=1.0))

    def ticks(self) -> tuple[FloatArray, list[str]]:
        """Return the values of a few ticks, and their labels."""
        if self.kind == "options":
            return option_ticks(self.options)
        v: Any
        if self.marks:
            v = np.array(self.marks)
        elif self.kind == "log":
            v = _round_numbers(self.low, self.high)
        else:
            from matplotlib.ticker import MaxNLocator

            v = MaxNLocator(4, integer=self.whole).tick_values(self.low, self.high)
            slack = 1e-9 * (self.high - self.low)
            v = v[(v >= self.low - slack) & (v <= self.high + slack)]
        if len(v) < 2:
            v = np.unique([self.low, self.high])
        as_power = self.kind == "log" and bool(np.any((v < 0.9e-3) | (v > 1.1e3)))
        if as_power and np.allclose(np.log10(v), np.rint(np.log10(v)), atol=1e-9):
            return v, [f"$10^{{{round(math.log10(value))}}}$" for value in v]
        return v, number_texts(v)


def option_places(options: Sequence[Any]) -> FloatArray:
    """Return the positions of options on an axis; many numbers are close together."""
    number = np.array([is_number(option) for option in options], dtype=bool)
    steps = np.ones(max(len(options) - 1, 0))
    if len(options) > MAX_OPTIONS:
        between = number[1:] & number[:-1]
        steps[between] = min(NUMBER_SPAN / max(between.sum(), 1), 1.0)
    return np.concatenate([[0.0], np.cumsum(steps)])


def option_ticks(options: Sequence[Any]) -> tuple[FloatArray, list[str]]:
    """Return the positions and the labels of the ticks of options."""
    labels = [label_of(option) for option in options]
    shown = list(range(len(options)))
    if len(options) > MAX_OPTIONS:
        numbers = [k for k in shown if is_number(options[k])]
        words = [k for k in shown if k not in numbers]
        numbers = _thinned(numbers, NUMBER_SPAN // 2)
        texts = number_texts(np.array([options[k] for k in numbers]))
        for k, text in zip(numbers, texts, strict=True):
            labels[k] = text
        shown = sorted([*_thinned(words, MAX_OPTIONS), *numbers])
    return option_places(options)[shown], [labels[k] for k in shown]


def _thinned(places: Sequence[int], most: int) -> list[int]:
    picks = np.linspace(0, len(places) - 1, min(most, len(places))).round()
    return [places[int(k)] for k in picks]


def _round_numbers(low: float, high: float) -> Any:
    """Return up to six powers of ten between the ends, or 1, 2 and 5 times these."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        step = math.ceil((last - first + 1) / 6)
        return 10.0 ** np.arange(first, last + 1, step)
    v = np.outer(10.0 ** np.arange(first - 1, last + 1), [1.0, 2.0, 5.0]).ravel()
    return v[(v >= low * (1 - 1e-9)) & (v <= high * (1 + 1e-9))]


# -- choice of the scale --------------------------------------------------------------


def parameter_scales(
    record: SearchRecord, names: Sequence[str] | None = None
) -> list[ParameterScale]:
    """Return the scales of the hyper-parameters of a search."""
    tried = [*record.params, *(trial.params for trial in record.running)]
    dimensions = dimensions_by_name(record.space)
    for row in tried:
        for name in row:
            dimensions.setdefault(name, [])
    if names is None:
        scales = [_scale(n, branches, tried) for n, branches in dimensions.items()]
        several = [s for s in scales if s.low != s.high or len(s.options) > 1]
        return several or scales
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    chosen = list(names) if is_list else []
    if not chosen or any(name not in dimensions for name in chosen):
        raise ValueError(
            f"params must be a list of names among {list(dimensions)}, got {names!r}."
        )
    return [_scale(name, dimensions[name], tried) for name in chosen]


def _scale(
    name: str, dimensions: Sequence[Dimension], tried: Sequence[dict[str, Any]]
) -> ParameterScale:
    values_tried = [row[name] for row in tried if name in row]
    listed = [list(getattr(dimension, "values", ())) for dimension in dimensions]
    possible = [value for values in listed for value in values]
    kinds = set(map(scale_of, dimensions))
    numbers = all(is_number(value) and math.isfinite(value) for value in values_tried)
    if not numbers or "options" in kinds:
        # Sorted by type and value, so that the plot is independent of the order.
        values_tried.sort(key=lambda v: (type(v).__name__, _number_of(v), label_of(v)))
        options = distinct([*possible, *values_tried])
        if len(options) > MAX_OPTIONS:
            options.sort(key=lambda v: (is_number(v), _number_of(v)))
        return ParameterScale(name, "options", 0.0, option_places(options)[-1], options)
    ends = [*map(float, values_tried), *(end for d in dimensions for end in _ends(d))]
    low, high = min(ends), max(ends)
    log = low > 0 and "log" in kinds if dimensions else are_log(ends)
    whole = all(float(value).is_integer() for value in values_tried)
    has_marks = all(listed) and len(set(possible)) <= MAX_LISTED
    marks = sorted(map(float, set(possible))) if has_marks else []
    return ParameterScale(name, "log" if log else "linear", low, high, [], whole, marks)


def _number_of(value: Any) -> Any:
    return value if is_number(value) else 0


def scale_of(dimension: Dimension) -> str:
    """Return the type of axis of a dimension: "linear", "log" or "options"."""
    values = dimension.decode(np.array([0.0, 0.5, 1.0]))
    if dimension.is_categorical or not all(map(is_number, values)):
        return "options"
    low, high = _ends(dimension)
    # A logarithmic axis spans a factor of ten at least.
    return "log" if dimension.is_log and 0.0 < 10.0 * low <= high else "linear"


def _ends(dimension: Dimension) -> list[float]:
    """Return the bounds; for a distribution, the ends of nearly all of its mass."""
    tail = 0.01 if isinstance(dimension, Distribution) else 0.0
    return [float(v) for v in dimension.decode(np.array([tail, 1.0 - tail]))]


def are_log(values: Sequence[float]) -> bool:
    """Return whether values without a search space are shown on a log scale."""
    low, high = min(values), max(values)
    return low > 0 and high / low >= LOG_SPAN


# -- texts ----------------------------------------------------------------------------


def plain(text: str) -> str:
    """Escape a text for matplotlib: no formulas and no control characters."""
    return printable(text).replace("$", r"\$")


def shorten(text: str, length: int, middle: bool = False) -> str:
    """Shorten a text that is too long, at its end or in its middle."""
    if len(text) <= length:
        return text
    n_kept = (length - 1) // 2 if middle else length - 1
    return f"{text[:n_kept]}…{text[-n_kept:] if middle else ''}"


def label_of(value: Any, length: int = MAX_LABEL) -> str:
    """Return a short text for an option: its name, or else its `repr`."""
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else value
    text = text if isinstance(text, str) else " ".join(repr(text).split())
    # The end of a number may be its exponent.
    return plain(shorten(text, length, middle=isinstance(value, float)))


def name_label(name: str, length: int = MAX_NAME) -> str:
    """Return a short name of a hyper-parameter, which keeps its beginning and end."""
    # Shorten first, because half of an escape sequence would start a formula.
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


def turn_if_crowded(labels: Sequence[str], n_letters: int) -> dict[str, Any]:
    """Return keywords that rotate labels if they are longer than `n_letters`."""
    lengths = list(map(len, labels))
    neighbors = [(a + b) / 2 for a, b in zip(lengths, lengths[1:], strict=False)]
    widest = max(neighbors or lengths, default=0)
    # At least half a letter between two labels.
    if len(labels) * widest + len(labels) / 2 <= n_letters:
        return {}
    return {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
