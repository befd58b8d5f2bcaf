"""Learning curves: the grid of rounds, early stopping, and the choice of the rounds.

A curve contains the scores (greater is better) at the first points of ``round_grid``.
The lengths of curves differ, because fits stop after a number of rounds without
improvement.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skbayes.trial.records import FoldResult, Trial

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray


IntArray = NDArray[np.int_]

# A step of the grid is the number of rounds before it, divided by this number.
STEP_DIVISOR = 10
# A fit stops after a number of rounds without improvement: the smaller one of a
# constant and a fraction of the cap, or a fraction of the best round if it is greater.
MIN_PATIENCE = 50
PATIENCE_OF_CAP = 1 / 3
PATIENCE_OF_BEST = 1 / 2


@dataclass(frozen=True)
class Guide:
    """Metric whose curves choose the number of rounds; None if there is only one."""

    metric: str | None = None
    sign: float = 1.0

    def curve(self, curves: Mapping[str, Sequence[float]]) -> FloatArray | None:
        """Return the curve of the metric, of which higher values are better."""
        name = next(iter(curves)) if len(curves) == 1 else self.metric
        if name is None or name not in curves:
            return None
        return self.sign * np.array(curves[name], dtype=np.float64)


@functools.lru_cache(maxsize=64)
def round_grid(cap: int) -> IntArray:
    """Return the numbers of rounds at which curves have scores.

    These are all numbers up to 20, and then steps of 10%. The last point of a grid is
    its cap. Grids of two caps are equal below the smaller cap.
    """
    rounds = []
    current = 1
    while current < cap:
        rounds.append(current)
        current += max(1, current // STEP_DIVISOR)
    grid = np.array([*rounds, cap])
    grid.flags.writeable = False  # shared by all callers
    return grid


def has_stalled(curve: FloatArray, rounds: IntArray) -> bool:
    """Return whether a fit can stop, because its score has not improved for long.

    A curve that is still at its first score has not stalled, because the accuracy
    equals the share of the most frequent class until there are enough trees. The last
    of the `rounds` is the cap.
    """
    curve = np.asarray(curve, dtype=np.float64)
    changed = np.flatnonzero(curve != curve[0])
    if not len(changed):
        return False
    best = rounds[max(int(np.argmax(curve)), int(changed[0]) - 1)]
    least = min(MIN_PATIENCE, PATIENCE_OF_CAP * rounds[-1])
    waited = rounds[len(curve) - 1] - best
    return bool(waited >= max(least, PATIENCE_OF_BEST * best))


def choose_rounds(fold_curves: Sequence[FloatArray]) -> int:
    """Return the index of the best point of the mean curve within all curves."""
    length = min(len(curve) for curve in fold_curves)
    return int(np.argmax(np.mean([curve[:length] for curve in fold_curves], axis=0)))


def choose_by_others(fold_curves: Sequence[FloatArray]) -> list[int]:
    """Return for each fold the index of the best mean of the other folds' curves.

    The score of a fold at this index is not biased by the choice. For a single fold, it
    is the index of its best score. Indices at which any fold has the score minus
    infinity are not chosen.
    """
    if len(fold_curves) == 1:
        return [choose_rounds(fold_curves)]
    length = min(len(curve) for curve in fold_curves)
    table = np.array([curve[:length] for curve in fold_curves])
    valid = np.all(table > -np.inf, axis=0)
    # Subtracting a curve from the sum of all curves would leave rounding errors.
    means = [np.mean(np.delete(table, i, axis=0), axis=0) for i in range(len(table))]
    return [int(np.argmax(np.where(valid, mean, -np.inf))) for mean in means]


# -- folds -----------------------------------------------------------------------------


def guiding_curves(folds: Sequence[FoldResult], guide: Guide) -> dict[int, FloatArray]:
    """Return the guiding curve of each fold with curves, by its place.

    NaN is minus infinity. Without the guiding metric, no curve is returned.
    """
    guiding: dict[int, FloatArray] = {}
    for place, fold in enumerate(folds):
        if "curves" in fold.extras:
            curve = guide.curve(fold.extras["curves"])
            if curve is None:
                return {}
            guiding[place] = np.where(np.isnan(curve), -np.inf, curve)
    return guiding


def rounds_at(fold: FoldResult, place: int) -> int:
    """Return the number of rounds at a place of the curves of a fold."""
    return int(round_grid(fold.extras["max_rounds"])[place])


def with_chosen_rounds(
    folds: Sequence[FoldResult], guide: Guide, missing: float = math.nan
) -> list[FoldResult]:
    """Return folds with the scores at the numbers of rounds that other folds choose.

    The choice therefore causes no bias. Folds without curves are unchanged. Scores of
    NaN are replaced by `missing`.
    """
    curves, chosen = guiding_curves(folds, guide), list(folds)
    places = choose_by_others([*curves.values()]) if curves else []
    for index, place in zip(curves, places, strict=True):
        fold = folds[index]
        # Costs have no curves.
        scores = fold.test_scores | {
            name: missing if math.isnan(curve[place]) else curve[place]
            for name, curve in fold.extras["curves"].items()
        }
        fold = fold.with_extras(rounds=rounds_at(fold, place))
        chosen[index] = replace(fold, test_scores=scores)
    return chosen


def curve_table(trials: Iterable[Trial]) -> dict[str, np.ndarray]:
    """Return the curves of all folds, cut to the shortest curve of each trial."""
    columns: dict[str, list[np.ndarray]] = {}
    for trial in trials:
        for name, values in _curve_columns(trial):
            columns.setdefault(name, []).append(np.asarray(values))
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _curve_columns(trial: Trial) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the columns of `learning_curves_`, by their names."""
    by_split = {
        split: fold.extras
        for split, fold in enumerate(trial.folds)
        if "curves" in fold.extras
    }
    lengths = (len(c) for e in by_split.values() for c in e["curves"].values())
    n = min(lengths, default=0)
    for split, extras in by_split.items():
        yield "trial", [trial.number] * n
        yield "split", [split] * n
        yield "rounds", round_grid(extras["max_rounds"])[:n]
        for metric, curve in extras["curves"].items():
            yield f"test_{metric}", curve[:n]
