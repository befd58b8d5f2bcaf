"""Preparation of a search: initial configurations, options, splits and subsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import check_random_state

from skbayes import compat
from skbayes.space import Integer, Real, Space
from skbayes.space.dimensions import is_number
from skbayes.trial.fold import Job, n_rows
from skbayes.trial.plan import Header, Ladder
from skbayes.trial.settings import Settings
from skbayes.trial.subsets import Sample, Subsets
from skbayes.utils.estimators import owner_of
from skbayes.utils.optional import warn_user

# Assumed fraction of training rows if it is not known before splitting.
CAUTIOUS_SHARE = 0.5

# Stages with fewer folds have at least this share of the folds (one of five), and half
# of this share of the test rows. Their training sets have on average at least this
# fraction of the rows of all training sets.
SHARE_OF_FOLDS, MIN_TRAINING_SIZE = 0.2, 0.8


# -- search space ---------------------------------------------------------------------


def share_of_splits(cv: Any, n_samples: int) -> float:
    """Return the fraction of the rows in a training set, before splitting."""
    if isinstance(cv, list | tuple):
        train_sets = [np.asarray(split[0]) for split in cv]
        sizes = [np.sum(s) if s.dtype.kind == "b" else s.size for s in train_sets]
        return min(sizes, default=0) / n_samples or CAUTIOUS_SHARE
    if cv is None or isinstance(cv, Integral):
        cv = check_cv(5 if cv is None else int(cv))
    name = type(cv).__name__
    if name == "TimeSeriesSplit":
        return min(CAUTIOUS_SHARE, 1.0 / (int(cv.n_splits) + 1))
    # Groups may have different sizes.
    if hasattr(cv, "n_splits") and "Shuffle" not in name and "Group" not in name:
        return 1.0 - 1.0 / max(2, int(cv.n_splits))
    return CAUTIOUS_SHARE


def with_distinct_ones(estimator: Any, space: Space) -> Space:
    """Return a space in which 1 and 1.0 differ if they do for the estimator."""
    both = {Integral, compat.RealNotInt}
    ones = []
    for name in space.parameter_names:
        owner, leaf = owner_of(estimator, name)
        if compat.number_types(owner, leaf) >= both:
            # A number that the estimator refuses can only mean the other one.
            valid = [v for v in (1, 1.0) if not compat.refused_value(owner, leaf, v)]
            ones += [(name, type(value).__name__) for value in valid]
    return space.with_distinct_ones(ones)


def parse_initial_points(value: Any) -> tuple[list[Any] | None, int | None]:
    """Return the configurations to begin with, and the number of initial ones.

    The former is None for the default, the latter if it is not given.
    """
    if isinstance(value, Mapping):
        raise TypeError(
            "initial_points must be a list of dicts, one per configuration; write "
            f"initial_points=[{dict(value)!r}]."
        )
    if isinstance(value, str):
        return None, None
    points: list[Any] = [value] if isinstance(value, Integral) else list(value or [])
    number = points.pop() if points and isinstance(points[-1], Integral) else None
    if wrong := [point for point in points if not isinstance(point, Mapping)]:
        raise TypeError(
            f"initial_points: each configuration must be a dict, got {wrong[0]!r}."
        )
    if number is None:
        return points, None
    if isinstance(number, bool) or number < 0:
        raise ValueError(
            "initial_points: the number of configurations must be an int of 0 or more, "
            f"got {number!r}."
        )
    return None if isinstance(value, Integral) else points, int(number)


def points_to_begin_with(
    settings: Settings, space: Space, current_values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the configurations that a search tries first.

    By default, this is the current configuration of the estimator, or the nearest one
    of a space with ranges, unless results of an earlier search on the same data are
    given. `current_values` are those of the estimator.
    """
    if settings.initial_points is not None:
        return settings.initial_points
    if settings.warm_start_from is not None:
        return []
    point = space.selection(current_values)
    nearest = (
        _nearest_of(current_values.get(c.name or ""), c.dimension)
        for c in space.columns
    )
    if point is None and any(value is not None for value in nearest):
        point = nearest_point(space, current_values)
    return [point] if point is not None and space.allows(point) else []


def _nearest_of(value: Any, dimension: Any) -> Any:
    """Return the nearest value of a range for a number, or None."""
    if not isinstance(dimension, Integer | Real) or not is_number(value):
        return None
    # A float may be a share, such as the share of all features.
    if isinstance(dimension, Integer) and not isinstance(value, Integral):
        return None
    return min(max(value, dimension.low), dimension.high)


def nearest_point(space: Space, current_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the nearest values, which need not be allowed.

    Numbers outside a range become its nearest end. Instead of other values that are not
    in the space, the middle of a range or the first option is used.
    """
    exact = space.selection(current_values)
    if exact is not None:
        return exact
    row = np.full(space.n_columns, np.nan)
    for place, column in enumerate(space.columns):
        value, dimension = current_values.get(column.name or ""), column.dimension
        if dimension.is_categorical:
            row[place] = dimension.grid[0]
        if (nearest := _nearest_of(value, dimension)) is not None:
            value = nearest
        if dimension.contains(value):
            row[place] = dimension.encode([value])[0]
    return space.decode(space.snap(row[None]))[0]


# -- run ------------------------------------------------------------------------------


def fit_options(settings: Settings, scorers: Any, routed: Any) -> dict[str, Any]:
    """Return arguments of scikit-learn's fit-and-score function."""
    error_score, verbose = settings.error_score, settings.verbose
    return {
        "scorer": scorers,
        "error_score": error_score if error_score == "raise" else float(error_score),
        "return_train_score": settings.return_train_score,
        "verbose": 0 if isinstance(verbose, str) else verbose,
        "fit_params": routed.estimator.fit,
        "score_params": routed.scorer.score,
    }


def draw_seed(random_state: Any) -> int:
    """Return `random_state` if it is an integer, or else an integer drawn from it."""
    if isinstance(random_state, Integral):
        return int(random_state)
    rng = check_random_state(random_state)
    return int(rng.randint(np.iinfo(np.int32).max))


def draw_splits(
    settings: Settings, X: Any, y: Any, split_params: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """Draw the splits, once for all trials."""
    value, no_groups = settings.cv, split_params.get("groups") is None
    try:
        cv = check_cv(value, y, classifier=is_classifier(settings.estimator))
        # Without groups, scikit-learn 1.6 returns empty test sets.
        if no_groups and isinstance(cv, StratifiedGroupKFold):
            raise ValueError("The 'groups' parameter should not be None.")
        n_splits = cv.get_n_splits(X, y, **split_params)
        splits = list(cv.split(X, y, **split_params))
    except (AttributeError, TypeError, ValueError) as error:
        number = value is None or isinstance(value, Integral)
        name = f"cv={value}" if number else "cv"
        remedy = ""
        if no_groups and "groups" in str(error):
            remedy = " Call fit(X, y, groups=groups)."
        raise type(error)(f"{name}: {error}{remedy}") from error
    if not splits:
        raise ValueError(
            "No fits were performed. Was the CV iterator empty? Were there no "
            "candidates? The parameter cv must yield at least one split."
        )
    if len(splits) != n_splits:
        # scikit-learn's tests match this message, which changed in version 1.9.
        verb = "return" if compat.HAS_CALLBACKS else "returned"
        raise ValueError(
            f"cv.split and cv.get_n_splits {verb} inconsistent results. Expected "
            f"{n_splits} splits, got {len(splits)}"
        )
    n_samples = n_rows(X)
    return [
        (_row_numbers(train, n_samples), _row_numbers(test, n_samples))
        for train, test in splits
    ]


def _row_numbers(rows: Any, n_samples: int) -> Any:
    """Return the rows of a split, those of a mask as numbers."""
    array = np.asarray(rows)
    if array.dtype.kind == "b" and len(array) == n_samples:
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu" or array.max(initial=0) >= n_samples:
        raise ValueError(
            "cv: the training rows and test rows of a split must be numbers of rows "
            f"below {n_samples}, got {array!r}."
        )
    return rows


def with_subsets(
    ladder: Ladder, header: Header, job: Job, model: Any, groups: Any, parameter: str
) -> tuple[Ladder, Job]:
    """Return the stages, and the job with the training subsets that all trials share.

    `parameter` is the name of the parameter that sets their sizes. A stage with fewer
    folds gets the number of first folds that represent all folds.
    """
    splits, stages = job.splits, ladder.stages
    stages = [replace(s, n_folds=s.n_folds and first_folds(splits)) for s in stages]
    ladder = replace(ladder, stages=stages)
    samples = [sample for stage in ladder.stages for sample in stage.samples]
    earlier = [Sample(start.train_size) for start in header.stages]
    if all(sample.is_whole for sample in [*samples, *earlier]):
        return ladder, job
    subsets = drawn_subsets(job, [*samples, *earlier], model, groups, header.seed)
    job = replace(job, subsets=subsets)
    if ladder.is_chosen:
        return ladder.without_small(subsets), job
    for sample in samples:
        subsets.check(sample, parameter)
    firsts = [stage.samples[0] for stage in ladder.stages]
    shares = list(map(subsets.fraction, firsts))
    if shares != sorted(shares):
        sizes = tuple(sample.train_size for sample in firsts)
        raise ValueError(
            f"{parameter}: training sets must not become smaller from stage to stage, "
            f"got {sizes!r}."
        )
    _warn_of_few_rows(parameter, samples, subsets)
    return ladder, job


def first_folds(splits: Sequence[tuple[Any, Any]]) -> int:
    """Return the number of the first folds that represent all folds.

    Splits such as those of TimeSeriesSplit differ in their numbers of training rows.
    """
    sizes = np.array([[len(rows) for rows in split] for split in splits], dtype=float)
    n_train, n_test = (sizes / sizes.sum(axis=0)).T.cumsum(axis=1)
    share = np.arange(1, len(splits) + 1) / len(splits)
    enough = (share >= SHARE_OF_FOLDS) & (n_test >= SHARE_OF_FOLDS / 2)
    return 1 + int(np.argmax(enough & (n_train >= MIN_TRAINING_SIZE * share)))


def drawn_subsets(
    job: Job, samples: Sequence[Sample], model: Any, groups: Any, seed: int
) -> Subsets:
    """Draw training subsets of the splits of a job."""
    return Subsets.draw(
        job.splits,
        samples,
        labels=job.y if is_classifier(model) else None,
        groups=groups,
        seed=seed,
    )


def _warn_of_few_rows(
    parameter: str, samples: Sequence[Sample], subsets: Subsets
) -> None:
    """Warn of sizes that are probably percentages, or that end below all rows."""
    numbers = sorted({sample.train_size for sample in samples})
    whole = all(isinstance(number, int) for number in numbers)
    if len(numbers) > 1 and whole and numbers[-1] == 100 < max(subsets.sizes):
        listed = ", ".join(map(str, numbers))
        shares = ", ".join(str(number / 100) for number in numbers)
        warn_user(
            f"{parameter}: integers are numbers of rows. With ({listed}), no trial is "
            f"fitted to more than 100 of the {max(subsets.sizes)} training rows. "
            f"For fractions of the rows, write ({shares})."
        )
    elif parameter == "stages" and len(samples) > 1 and not samples[-1].is_whole:
        share = subsets.fraction(samples[-1])
        if share < 1.0:
            last = samples[-1].train_size
            warn_user(
                f"stages ends at {last!r}, {share:.0%} of the training rows. The best "
                "trial is then chosen by fits to a part of the rows. To end with all "
                "rows, add the stage 1.0."
            )
