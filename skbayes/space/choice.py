"""Choices between options with conditional hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skbayes.space.lists import Categorical

__all__ = ["Choice"]


class Choice:
    """Categorical hyper-parameter whose options have conditional hyper-parameters.

    Parameters
    ----------
    options : dict or list of (option, sub-space) pairs
        Options and their sub-spaces. A sub-space is the search space of the
        hyper-parameters that are active only with this option. It is written in any
        notation, with full parameter names. Use ``{}`` or None for an option without
        conditional hyper-parameters. Use pairs for options that cannot be keys of a
        dict.

    Raises
    ------
    TypeError
        If `options` is neither a dict nor a list of pairs.
    ValueError
        If there are no options, or an option occurs twice.

    Examples
    --------
    >>> from skbayes.space import Choice, Space
    >>> kernel = Choice({"rbf": {"gamma": (1e-3, 1e3, "log-uniform")}, "linear": {}})
    >>> space = Space.from_notation({"kernel": kernel, "C": [1, 10]})
    >>> {"C": 1, "kernel": "linear"} in space
    True
    >>> {"C": 1, "kernel": "linear", "gamma": 1.0} in space
    False
    """

    def __init__(self, options: Mapping[Any, Any] | Sequence[tuple[Any, Any]]) -> None:
        self.options = options
        pairs = list(options.items()) if isinstance(options, Mapping) else options
        if not isinstance(pairs, Sequence) or isinstance(pairs, str):
            raise TypeError(
                f"Choice: options must be a dict or a list of pairs, got {options!r}."
            )
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Choice: each option must be a pair (option, sub-space), "
                    f"got {pair!r}."
                )
        self.dimension = Categorical([option for option, _ in pairs])
        if self.dimension.repeated:
            # It is ambiguous which of its sub-spaces is meant.
            raise ValueError(
                f"Choice: the option {self.dimension.repeated[0]!r} occurs twice."
            )
        self.sub_spaces = [{} if sub is None else sub for _, sub in pairs]

    def __repr__(self) -> str:
        return f"Choice({self.options!r})"
