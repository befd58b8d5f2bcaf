"""Scalers, which are tuned as a choice of the step and not by their parameters."""

from __future__ import annotations

from typing import Any

from skbayes.spaces.facts import DataFacts

__all__ = ["is_scaler", "scaler_choice"]

SCALERS = (
    "MaxAbsScaler",
    "MinMaxScaler",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
)


def is_scaler(estimator: Any) -> bool:
    """Whether an estimator is one of scikit-learn's scalers."""
    return any(
        cls.__name__ in SCALERS and cls.__module__.startswith("sklearn.")
        for cls in type(estimator).__mro__
    )


def scaler_choice(scaler: Any, facts: DataFacts) -> list[Any]:
    """Return the scalers that may take a scaler's place, the own one first.

    None of them where the place asks for what others do not: for sparse data, which
    are not centered, and for numbers that are not negative.
    """
    # Only here: the user has imported them.
    from sklearn import preprocessing

    name = type(scaler).__name__
    dense = getattr(scaler, "with_mean", True) and getattr(
        scaler, "with_centering", True
    )
    if name in ("MaxAbsScaler", "MinMaxScaler") or not dense:
        return []
    n_quantiles = min(1000, facts.n_rows or 100)
    quantiles = preprocessing.QuantileTransformer(
        n_quantiles=n_quantiles, output_distribution="normal"
    )
    others = [
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(),
        preprocessing.RobustScaler(),
        quantiles,
    ]
    return [scaler, *(one for one in others if type(one).__name__ != name)]
