"""Advice on a search: ranges to widen, trials to add, gains that may be chance."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from skbayes import compat
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space import Integer, Ordinal, Real, Space
from skbayes.space.dimensions import is_number
from skbayes.space.lists import option_key
from skbayes.trial.fold import configured
from skbayes.utils.estimators import owner_of

# A real number is at an end of its range if it is closer than this share of the range.
MAX_END_DISTANCE = 0.01

# Minimum numbers of trials for reliable results: in total, and for each
# hyper-parameter.
MIN_TRIALS, MIN_TRIALS_EACH = 10, 5

# A gain of at most this multiple of its standard error may be chance.
MAX_CHANCE = 2.0


def advice(source: Any, *, search_spaces: Any = None) -> list[str]:
    """Suggest changes for the next search from the trials of a search.

    The advice reports best values at an end of their range, with a wider range to try.
    It also reports the gain and the cost of an ensemble, and too few trials for
    reliable plots and importances. It reports a corrected gain over the current
    parameters of the estimator that is at most twice its standard error.

    Parameters
    ----------
    source : estimator, History, dict, str or os.PathLike
        Fitted search of skbayes or scikit-learn, or any other source that
        :func:`skbayes.inspection.read_record` reads, such as a journal.
    search_spaces : dict, list of dict, Space or None, default=None
        Search space of the search. By default, the space of a fitted search. A journal
        has none, and without a space, there is no advice on ranges.

    Returns
    -------
    sentences : list of str
        Advice, the most important first; empty if there is none.

    Raises
    ------
    TypeError
        If `source` has an unsupported type.
    ValueError
        If `search_spaces` is invalid.
    sklearn.exceptions.NotFittedError
        If the search was not fitted.

    Notes
    -----
    A wider range is suggested only if the scikit-learn estimator accepts its values.
    :class:`ImportanceDisplay` shows which hyper-parameters affect the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import advice
    >>> space = {"C": [1e-6, 1e-5, 1e-4, 1e-3]}
    >>> search = BayesSearchCV(LogisticRegression(), space, scoring="neg_log_loss")
    >>> advice(search.fit(*load_iris(return_X_y=True)))[0]
    'The best C, 0.001, is at the upper end of its range, 1e-06 to 0.001: try up to \
0.01.'
    """
    record = read_record(source, search_spaces=search_spaces)
    if record.best is None:
        return []
    sentences: list[str] = []
    if record.space is not None and not record.directions:
        model = getattr(source, "estimator", None)
        with contextlib.suppress(TypeError, ValueError):
            if hasattr(model, "set_params"):
                model = configured(model, record.params[record.best])
        sentences += _edges(record, record.space, record.best, model)
    remarks = (
        _ensemble(getattr(source, "ensemble_", None), record.sign),
        few_trials(record),
        _gain(source),
    )
    return [*sentences, *filter(None, remarks)]


# -- ranges ---------------------------------------------------------------------------


def _edges(record: SearchRecord, space: Space, best: int, model: Any) -> Iterator[str]:
    """Yield a sentence for each hyper-parameter whose best value is at an end."""
    # All trials with the best score must be at the same end.
    tied = np.flatnonzero(record.eligible & (record.score == record.score[best]))
    rows = space.encode([record.params[i] for i in {best, *tied.tolist()}])
    for column, positions in zip(space.columns, rows.T, strict=True):
        name, ends = column.name, _ends(column.dimension)
        if name is None or ends is None:
            continue
        near = MAX_END_DISTANCE if isinstance(column.dimension, Real) else 0.0
        # The position of an integer is the center of its cell, not the border.
        places = column.dimension.encode(list(ends))
        for k, (side, to) in enumerate((("lower", "down"), ("upper", "up"))):
            # The position is NaN if the hyper-parameter is inactive.
            if not np.all(np.abs(positions - places[k]) <= near):
                continue
            wider = _wider(column.dimension, *ends, is_upper=to == "up")
            if wider != ends[k] and not _is_limit(model, name, ends[k], wider):
                numbers = record.params[best][name], *ends, wider
                value, low, high, new = map(_text, numbers)
                yield (
                    f"The best {name}, {value}, is at the {side} end of its range, "
                    f"{low} to {high}: try {to} to {new}."
                )


def _text(number: Any) -> str:
    return str(number) if isinstance(number, Integral) else f"{number:.4g}"


def _ends(dimension: Any) -> tuple[Any, Any] | None:
    """Return the ends of a range or of a list of three or more numbers."""
    if isinstance(dimension, Ordinal) and all(map(is_number, dimension.values)):
        ends = dimension.values[0], dimension.values[-1]
    elif isinstance(dimension, Real | Integer):
        ends = dimension.low, dimension.high
    else:
        return None
    return ends if dimension.n_values > 2 else None


def _wider(dimension: Any, low: Any, high: Any, is_upper: bool) -> Any:
    """Return a wider end; the same end for 0 and 1 of integers."""
    half = (high - low) / 2
    if dimension.is_log:
        factor = 10.0 if high / low >= 100 else 2.0
        wider = high * factor if is_upper else low / factor
    elif is_upper:
        wider = high + half
    else:
        wider = max(low - half, low / 2) if low >= 0 else low - half
    if all(isinstance(end, Integral) for end in (low, high)):
        wider = round(wider)
        if not is_upper and low >= 0:
            wider = max(wider, min(1, low))
    return wider


def _is_limit(model: Any, name: str, end: Any, wider: Any) -> bool:
    """Return whether values beyond an end of a range are invalid or meaningless."""
    owner, leaf = owner_of(model, name)
    if leaf == "degree" and wider < 2:  # not a polynomial
        return True
    if type(owner).__module__.startswith(("sklearn.", "skbayes.")):
        return compat.refused_value(owner, leaf, wider) is not None
    # 1 is the natural upper end of shares.
    return isinstance(end, float) and end == 1.0


# -- trials ---------------------------------------------------------------------------


def _ensemble(model: Any, sign: int) -> str | None:
    """Return a sentence on the gain and the cost of an ensemble, if there is one."""
    if model is None:
        return None
    if model.reason:
        return f"The best configuration alone is the final model: {model.reason}."
    n = len(model.weights)
    return (
        f"The ensemble of {n} configuration{'s' * (n > 1)} scores "
        f"{sign * model.score:.4g}, the best configuration "
        f"{sign * model.best_score:.4g}: it is better by "
        f"{model.score - model.best_score:.2g} ± {model.gain_std:.2g}; its predictions "
        f"take about {model.predict_cost:.2g} times as long, and its size is "
        f"{model.size_cost:.2g} times as large."
    )


def few_trials(record: SearchRecord) -> str | None:
    """Return a sentence if the trials are too few to learn effects from them."""
    n_trials, n = int(record.scored.sum()), len(_varied(record))
    needed = max(MIN_TRIALS, MIN_TRIALS_EACH * n)
    all_tried = record.space and len(record) >= record.space.n_configurations
    if n_trials >= needed or all_tried or not n:
        return None
    return (
        f"The search has only {n_trials} trial{'s' * (n_trials != 1)} with a score for "
        f"{n} hyper-parameter{'s' * (n != 1)}: importances and partial dependences are "
        f"unreliable with fewer than {needed} trials."
    )


def _varied(record: SearchRecord) -> list[str]:
    """Return the names of the hyper-parameters with several values."""
    if record.space is not None:
        columns = record.space.columns
        return sorted({c.name for c in columns if c.name and c.dimension.n_values > 1})
    tried = {
        (name, option_key(v)) for params in record.params for name, v in params.items()
    }
    counts = Counter(name for name, _ in tried)
    return sorted(name for name, n in counts.items() if n > 1)


def _gain(source: Any) -> str | None:
    """Return a sentence if the gain over the estimator's own values may be chance."""
    gain = getattr(source, "best_gain_", np.nan)
    error = getattr(source, "best_gain_std_", np.nan)
    if not gain <= MAX_CHANCE * error:
        return None
    if source.best_index_ == source.own_index_:
        return "The estimator's own values are the best choice."
    return (
        "No gain over the estimator's own values is visible: corrected for the choice "
        f"of the best trial, it is {gain:.2g} ± {error:.2g}."
    )
