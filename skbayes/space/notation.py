"""Notations of the values of hyper-parameters, and their conversion to dimensions.

Search spaces of GridSearchCV, RandomizedSearchCV, scikit-optimize's BayesSearchCV and
OptunaSearchCV are accepted unchanged. The classes of the latter two are recognized by
their attributes, so neither library is imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space.dimensions import (
    Dimension,
    Integer,
    Real,
    is_finite_number,
    is_number,
    native,
)
from skbayes.space.distribution import Distribution
from skbayes.space.lists import Categorical, Ordinal
from skbayes.utils.optional import warn_user

PRIORS = ("uniform", "log-uniform")

# Maximum number of values of a list, or of a range with a step, which becomes a list.
MAX_LISTED = 100_000


class Choice:
    """Categorical hyper-parameter whose options have conditional hyper-parameters.

    Parameters
    ----------
    options : dict or list of (option, sub-space) pairs
        Options, all different, and their sub-spaces. A sub-space is the search space of
        the hyper-parameters that are active only with this option. It is written in any
        notation, with full parameter names. Use ``{}`` or None for an option without
        conditional hyper-parameters. Use pairs for options that cannot be keys of a
        dict.

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


def pairs_of(choice: Choice) -> list[tuple[Any, Any]]:
    """Return the options of a choice, each with its sub-space."""
    return list(zip(choice.dimension.values, choice.sub_spaces, strict=True))


def with_sub_spaces(notation: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Return a notation with ``change(option, sub_space)`` under options of a choice.

    Functions that edit all levels of a space call themselves in `change`.
    """
    if not isinstance(notation, Choice):
        return notation
    changed = [(opt, change(opt, sub)) for opt, sub in pairs_of(notation)]
    return Choice(dict(changed) if isinstance(notation.options, Mapping) else changed)


def parse_spaces(search_spaces: Any) -> list[Mapping[str, Any]]:
    """Return the alternatives of a dict or a list of dicts.

    The ints of scikit-optimize's pairs (dict, int) are ignored with a warning, because
    all alternatives share one budget.
    """
    if isinstance(search_spaces, Mapping):
        return [search_spaces]
    if not isinstance(search_spaces, Sequence) or isinstance(search_spaces, str):
        kind = type(search_spaces).__name__
        raise _no_spaces(f"{search_spaces!r} of type {kind}")
    if not search_spaces:
        raise ValueError(
            "search_spaces must have at least one dict, got an empty list."
        )
    spaces = []
    for item in search_spaces:
        pair = isinstance(item, tuple) and len(item) == 2 and is_number(item[1])
        spaces.append(item[0] if pair else item)
        if not isinstance(spaces[-1], Mapping):
            raise _no_spaces(f"a list with {item!r}")
    n_trials = [item[1] for item in search_spaces if isinstance(item, tuple)]
    if n_trials:
        dicts = "search_spaces=" + ("[space]" if len(spaces) == 1 else "[space, ...]")
        warn_user(
            "search_spaces: the numbers of trials in scikit-optimize's [(space, n)] "
            f"have no effect: all dicts share n_iter. Write {dicts} and "
            f"n_iter={sum(n_trials)}."
        )
    return spaces


def _no_spaces(got: str) -> TypeError:
    return TypeError(
        "search_spaces must be a dict from parameter names to their possible values, "
        f"or a list of such dicts, got {got}."
    )


def parse_dict(space: Mapping[str, Any]) -> dict[str, Dimension | Choice]:
    """Return the dimensions of a dict of notations, sorted by name."""
    for name in space:
        if not isinstance(name, str):
            raise TypeError(
                f"search_spaces: parameter names must be strings, got {name!r}."
            )
    return {name: parse_dimension(space[name], name) for name in sorted(space)}


def parse_dimension(value: Any, name: str) -> Dimension | Choice:
    """Return the dimension or choice of the notation of parameter `name`.

    TypeError if it is not a valid notation, ValueError if its bounds or values are
    invalid.
    """
    is_dimension = isinstance(value, Dimension | Choice | type) or _converter(value)
    # These messages begin like the messages of GridSearchCV.
    if not (is_dimension or _is_listing(value)):
        raise TypeError(
            f"Parameter grid for parameter {name!r} needs to be a list or a numpy "
            f"array, but got {value!r} (of type {type(value).__name__}) instead. "
            "Single values need to be wrapped in a list with one element. A "
            "distribution, a tuple (low, high) or a dimension is also accepted."
        )
    if not is_dimension and len(value) == 0:
        raise ValueError(
            f"Parameter grid for parameter {name!r} need to be a non-empty sequence, "
            f"got: {value!r}"
        )
    try:
        return _parse(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Parameter {name!r}: {error}") from error
    except OverflowError as error:
        raise ValueError(f"Parameter {name!r}: a number is too large.") from error
    except Exception as error:  # from the methods of a user's object
        raise ValueError(
            f"Parameter {name!r}: an object of class {type(value).__name__} raised "
            f"{error!r}."
        ) from error


def _is_listing(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping):
        return False
    array = hasattr(value, "__array__") and getattr(value, "ndim", 1) > 0
    return isinstance(value, Sequence) or array


def _parse(value: Any) -> Dimension | Choice:
    if isinstance(value, Dimension | Choice):
        return value
    if isinstance(value, type):
        name = value.__name__
        raise TypeError(f"got the class {name}; write {name}(...) with its arguments.")
    if isinstance(value, list | tuple):
        if _is_range(value):
            return _range(*value)
        _check_no_range(value)
    convert = _converter(value) or _listed
    return convert(value)


def _listed(values: Any) -> Dimension:
    """Return the dimension of a list: ordered if all values are numbers."""
    if len(values) > MAX_LISTED:
        raise ValueError(
            f"a list has at most {MAX_LISTED} values, got {len(values)}; write numbers "
            "as a range, (low, high)."
        )
    if not isinstance(values, Sequence):
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(
                f"the array of values should be one-dimensional, got {values!r} with "
                f"shape {array.shape}."
            )
        values = array
    items = [native(value) for value in values]
    for item in items:
        if isinstance(item, Dimension | Choice) or _converter(item):
            raise TypeError(
                "a list of values cannot contain a dimension or a distribution, got "
                f"{item!r}; write it without the list."
            )
    if all(map(is_finite_number, items)):
        return Ordinal(items)
    return Categorical(items)


# -- ranges -----------------------------------------------------------------------


def _is_range(value: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a value is a range: (low, high) with optional prior and base.

    Scikit-optimize uses the last form. It also accepts lists if they include the prior.
    """
    if len(value) == 2:
        return isinstance(value, tuple) and all(map(is_number, value))
    if len(value) not in (3, 4) or not isinstance(value[2], str):
        return False
    if isinstance(value, tuple):
        return is_number(value[0])
    return is_number(value[0]) and is_number(value[1]) and value[2] in PRIORS


def _check_no_range(value: list[Any] | tuple[Any, ...]) -> None:
    """Reject a list of options that was meant as a range."""
    strings = [item for item in value if isinstance(item, str)]
    n_numbers = sum(map(is_number, value))
    n_numerals = sum(map(_is_numeral, strings))
    pair = isinstance(value, tuple) and len(value) == 2
    if pair and n_numerals and n_numbers + n_numerals == 2:
        raise ValueError(
            f"{value!r} is not a range; write its numbers without quotes, or a list, "
            f"{list(value)!r}, if these are options."
        )
    if any(item in PRIORS for item in strings) and n_numbers + n_numerals > 0:
        raise ValueError(
            f"{value!r} is neither a range, (low, high) or (low, high, prior) with two "
            "numbers, nor clearly a list of options; write Categorical([...]) if it "
            "is one."
        )


def _is_numeral(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _range(low: Any, high: Any, prior: Any = None, base: Any = None) -> Dimension:
    """Return a range; "log" means "log-uniform", and the base has no effect."""
    low, high = native(low), native(high)
    n_items = 2 if prior is None else 3
    prior = {None: "uniform", "log": "log-uniform"}.get(prior, prior)
    if base is not None and not is_number(base):
        raise ValueError(
            f"a range has no fourth item, got {base!r}; write (low, high, prior)."
        )
    if base is not None:
        warn_user(
            f"The fourth item of a range, scikit-optimize's base, has no effect: "
            f"{base!r} is ignored. Write ({low!r}, {high!r}, {prior!r})."
        )
    kind = Integer if isinstance(low, int) and isinstance(high, int) else Real
    dimension = kind(low, high, prior)
    dimension.n_items = n_items
    return dimension


def _stepped(low: Any, high: Any, step: Any) -> Dimension:
    """Return the dimension of the values low, low + step, … up to high."""
    if not is_number(step) or not step > 0:
        raise ValueError(f"step must be a number > 0, got {step!r}.")
    # Decimal steps may miss high by a rounding error; half a thousandth of a step is
    # tolerated.
    count = math.floor((high - low) / step + 5e-4) + 1
    if count > MAX_LISTED:
        raise ValueError(f"at most {MAX_LISTED} steps, got {count}; increase step.")
    values = [low + place * step for place in range(count)]
    if isinstance(low, float) or isinstance(step, float):
        values = [float(f"{value:.12g}") for value in values]
    return Ordinal(values, scale="linear" if len(values) > 1 else "rank")


# -- other libraries' objects -----------------------------------------------------


def _distribution(value: Any) -> Dimension:
    if not hasattr(value, "ppf"):
        raise TypeError(
            f"{value!r} has no quantiles (ppf); write a list of values, or a "
            "distribution of scipy.stats."
        )
    if getattr(value, "numargs", 0) and hasattr(value, "freeze"):
        ends = value.name in ("loguniform", "reciprocal")
        shapes = "low, high" if ends else value.shapes
        raise TypeError(
            "the distribution has no parameters yet; freeze it: "
            f"{value.name}({shapes})."
        )
    frozen = getattr(value, "dist", None)
    if getattr(frozen, "name", None) == "randint" and not value.kwds.get("loc"):
        low, high = value.support()
        if low < high and high - low < 2**48:
            return Integer(int(low), int(high))
    return Distribution(value)


def _foreign_range(value: Any) -> Dimension:
    """Convert scikit-optimize's Real and Integer, Optuna's Float/IntDistribution."""
    low, high = native(value.low), native(value.high)
    step = getattr(value, "step", None)
    log = getattr(value, "log", False) or getattr(value, "prior", None) == "log-uniform"
    whole = "int" in type(value).__name__.lower()
    if not is_number(low) or not is_number(high):
        raise TypeError(f"low and high must be numbers, got {value!r}.")
    if low == high:
        return Ordinal([int(low) if whole else float(low)])
    if step is not None and not (whole and step == 1):
        return _stepped(low, high, step)
    kind = Integer if whole else Real
    return kind(low, high, "log-uniform" if log else "uniform")


# Attributes of the objects of other libraries, and the functions that convert them.
_CONVERTERS: dict[tuple[str, ...], Callable[[Any], Dimension]] = {
    ("low", "high"): _foreign_range,
    ("rvs",): _distribution,
    # Lists of options of scikit-optimize and of Optuna.
    ("categories",): lambda value: Categorical(value.categories),
    ("choices",): lambda value: Categorical(value.choices),
}


def _converter(value: Any) -> Callable[[Any], Dimension] | None:
    """Return the function that converts an object of another library, or None."""
    # Estimators and arrays may have some of the attributes.
    if any(hasattr(value, name) for name in ("__len__", "get_params", "mro")):
        return None
    for names, convert in _CONVERTERS.items():
        if all(hasattr(value, name) for name in names):
            return convert
    return None
