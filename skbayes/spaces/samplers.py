"""Search spaces of the samplers of imbalanced-learn."""

from __future__ import annotations

import dataclasses
from typing import Any

from skbayes.space.lists import Ordinal
from skbayes.spaces.catalog import LOG, DataFacts, Fallback, Notation, Params, known

__all__ = ["facts_resampled"]

# Ratios of the number of rows of the smaller class to that of the larger one. A ratio
# must exceed that of the data by a margin, because the ratios of folds differ.
RATIOS = (0.1, 0.2, 0.3, 0.5, 0.7)
MARGIN = 1.2

# Samplers that leave as many rows of each class as the smallest one has.
UNDER_SAMPLERS = ("ClusterCentroids", "NearMiss", "RandomUnderSampler")


def _sampling_strategy(params: Params, facts: DataFacts) -> Notation:
    """Return the ratios of two classes that sampling can reach."""
    own_ratio = params["sampling_strategy"] not in ("auto", None)
    if facts.n_classes != 2 or facts.resampled or own_ratio:
        return {}
    ratio = facts.max_nu / (2.0 - facts.max_nu)
    reached = [target for target in RATIOS if target >= MARGIN * ratio]
    return {"sampling_strategy": Ordinal([*reached, "auto"])} if reached else {}


def _neighbors(name: str, params: Params, facts: DataFacts, high: int) -> Notation:
    """Return numbers of neighbors within the smallest class."""
    most = high if facts.smallest_class is None else facts.smallest_class - 1
    if not isinstance(params[name], int | None) or most < 1:
        return {}
    bounds = (1, min(high, most), LOG)
    return {name: Fallback(bounds) if (params[name] or 1) > most else bounds}


@known("SMOTE", "SMOTENC", "SMOTEN", "KMeansSMOTE", package="imblearn")
def smote(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        **_neighbors("k_neighbors", params, facts, 20),
    }


@known("BorderlineSMOTE", "SVMSMOTE", package="imblearn")
def border_smote(params: Params, facts: DataFacts) -> Notation:
    kinds = {"kind": ["borderline-1", "borderline-2"]}
    return {
        **smote(params, facts),
        **_neighbors("m_neighbors", params, facts, 30),
        **(kinds if "kind" in params else {}),
    }


@known("ADASYN", package="imblearn")
def adaptive_sampling(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        **_neighbors("n_neighbors", params, facts, 20),
    }


@known("RandomOverSampler", package="imblearn")
def random_over_sampling(params: Params, facts: DataFacts) -> Notation:
    # Without shrinkage, rows need not be numeric.
    if isinstance(params["shrinkage"], int | float):
        return {**_sampling_strategy(params, facts), "shrinkage": (0.0, 2.0)}
    return _sampling_strategy(params, facts)


@known("RandomUnderSampler", package="imblearn")
def random_under_sampling(params: Params, facts: DataFacts) -> Notation:
    return {**_sampling_strategy(params, facts), "replacement": [False, True]}


@known("ClusterCentroids", "InstanceHardnessThreshold", package="imblearn")
@known("SMOTEENN", "SMOTETomek", package="imblearn")
def ratio_only(params: Params, facts: DataFacts) -> Notation:
    return _sampling_strategy(params, facts)


@known("NearMiss", package="imblearn")
def near_miss(params: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(params, facts),
        "version": [1, 2],
        **_neighbors("n_neighbors", params, facts, 20),
    }


@known("EditedNearestNeighbours", "AllKNN", package="imblearn")
@known("RepeatedEditedNearestNeighbours", package="imblearn")
def edited_neighbors(params: Params, facts: DataFacts) -> Notation:
    return {
        **_neighbors("n_neighbors", params, facts, 10),
        "kind_sel": ["all", "mode"],
    }


@known("NeighbourhoodCleaningRule", package="imblearn")
def neighborhood_cleaning(params: Params, facts: DataFacts) -> Notation:
    shares = {"threshold_cleaning": (0.1, 0.9)}
    return {**_neighbors("n_neighbors", params, facts, 10), **shares}


@known(
    *("CondensedNearestNeighbour", "OneSidedSelection", "TomekLinks"),
    "FunctionSampler",
    package="imblearn",
)
def nothing(params: Params, facts: DataFacts) -> Notation:
    return {}


def facts_resampled(sampler: Any, facts: DataFacts) -> DataFacts:
    """Return the facts about the rows that a sampler leaves."""
    n_rows = facts.n_rows
    if type(sampler).__name__ in UNDER_SAMPLERS and n_rows is not None:
        n_rows = min(n_rows, (facts.n_classes or 1) * (facts.smallest_class or 1))
    return dataclasses.replace(facts, n_rows=n_rows, resampled=True)
