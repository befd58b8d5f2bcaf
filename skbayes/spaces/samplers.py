"""Search spaces of the samplers of imbalanced-learn."""

from __future__ import annotations

import dataclasses
from typing import Any

from skbayes.space import Ordinal
from skbayes.spaces.catalog import LOG, Instead, Notation, Params, known
from skbayes.spaces.facts import DataFacts

__all__ = ["facts_resampled"]

# Ratios of the number of rows of the smaller class to that of the larger one. A ratio
# must exceed that of the data by a margin, because the ratios of folds differ.
RATIOS = (0.1, 0.2, 0.3, 0.5, 0.7)
MARGIN = 1.2

# Samplers that leave as many rows of each class as the smallest one has.
UNDER_SAMPLERS = ("ClusterCentroids", "NearMiss", "RandomUnderSampler")


def _sampling_strategy(own: Params, facts: DataFacts) -> Notation:
    """Return the ratios of two classes that sampling can reach."""
    own_ratio = own["sampling_strategy"] not in ("auto", None)
    if facts.n_classes != 2 or facts.resampled or own_ratio:
        return {}
    ratio = facts.max_nu / (2.0 - facts.max_nu)
    reached = [one for one in RATIOS if one >= MARGIN * ratio]
    return {"sampling_strategy": Ordinal([*reached, "auto"])} if reached else {}


def _neighbors(name: str, own: Params, facts: DataFacts, high: int) -> Notation:
    """Return numbers of neighbors within the smallest class."""
    most = high if facts.smallest_class is None else facts.smallest_class - 1
    if not isinstance(own[name], int | None) or most < 1:
        return {}
    bounds = (1, min(high, most), LOG)
    return {name: Instead(bounds) if (own[name] or 1) > most else bounds}


@known("SMOTE", "SMOTENC", "SMOTEN", "KMeansSMOTE", package="imblearn")
def smote(own: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(own, facts),
        **_neighbors("k_neighbors", own, facts, 20),
    }


@known("BorderlineSMOTE", "SVMSMOTE", package="imblearn")
def border_smote(own: Params, facts: DataFacts) -> Notation:
    kinds = {"kind": ["borderline-1", "borderline-2"]}
    return {
        **smote(own, facts),
        **_neighbors("m_neighbors", own, facts, 30),
        **(kinds if "kind" in own else {}),
    }


@known("ADASYN", package="imblearn")
def adaptive_sampling(own: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(own, facts),
        **_neighbors("n_neighbors", own, facts, 20),
    }


@known("RandomOverSampler", package="imblearn")
def random_over_sampling(own: Params, facts: DataFacts) -> Notation:
    # Without shrinkage, rows need not be numeric.
    if isinstance(own["shrinkage"], int | float):
        return {**_sampling_strategy(own, facts), "shrinkage": (0.0, 2.0)}
    return _sampling_strategy(own, facts)


@known("RandomUnderSampler", package="imblearn")
def random_under_sampling(own: Params, facts: DataFacts) -> Notation:
    return {**_sampling_strategy(own, facts), "replacement": [False, True]}


@known("ClusterCentroids", "InstanceHardnessThreshold", package="imblearn")
@known("SMOTEENN", "SMOTETomek", package="imblearn")
def ratio_only(own: Params, facts: DataFacts) -> Notation:
    return _sampling_strategy(own, facts)


@known("NearMiss", package="imblearn")
def near_miss(own: Params, facts: DataFacts) -> Notation:
    return {
        **_sampling_strategy(own, facts),
        "version": [1, 2],
        **_neighbors("n_neighbors", own, facts, 20),
    }


@known("EditedNearestNeighbours", "AllKNN", package="imblearn")
@known("RepeatedEditedNearestNeighbours", package="imblearn")
def edited_neighbors(own: Params, facts: DataFacts) -> Notation:
    return {
        **_neighbors("n_neighbors", own, facts, 10),
        "kind_sel": ["all", "mode"],
    }


@known("NeighbourhoodCleaningRule", package="imblearn")
def neighborhood_cleaning(own: Params, facts: DataFacts) -> Notation:
    shares = {"threshold_cleaning": (0.1, 0.9)}
    return {**_neighbors("n_neighbors", own, facts, 10), **shares}


@known(
    *("CondensedNearestNeighbour", "OneSidedSelection", "TomekLinks"),
    "FunctionSampler",
    package="imblearn",
)
def nothing(own: Params, facts: DataFacts) -> Notation:
    return {}


def facts_resampled(sampler: Any, facts: DataFacts) -> DataFacts:
    """Return the facts about the rows that a sampler leaves."""
    n_rows = facts.n_rows
    if type(sampler).__name__ in UNDER_SAMPLERS and n_rows is not None:
        n_rows = min(n_rows, (facts.n_classes or 1) * (facts.smallest_class or 1))
    return dataclasses.replace(facts, n_rows=n_rows, resampled=True)
