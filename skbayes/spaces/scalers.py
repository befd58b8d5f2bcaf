"""Scalers, for which the search chooses the class of the step."""

from __future__ import annotations

from typing import Any

from skbayes.spaces.catalog import DataFacts

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
    """Return whether an estimator is one of scikit-learn's scalers."""
    return any(
        cls.__name__ in SCALERS and cls.__module__.startswith("sklearn.")
        for cls in type(estimator).__mro__
    )


def scaler_choice(scaler: Any, facts: DataFacts) -> list[Any]:
    """Return the scalers that can replace a scaler, beginning with the scaler itself.

    The list is empty if the others cannot replace it: for scalers of sparse data, which
    do not center, and for scalers with nonnegative output.
    """
    # Imported here, because the user's code has imported it already.
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
    return [scaler, *(other for other in others if type(other).__name__ != name)]
